"""The text of a logged statement, which stands in the character set of the client that sent it."""

from __future__ import annotations

from mirrorlake.core.schema.charsets import OTHER, charset_of_collation_id, decode_text

_CODECS = {
    1: "big5", 4: "cp850", 7: "koi8_r", 9: "iso8859_2", 12: "euc_jp", 13: "shift_jis", 16: "iso8859_8", 18: "tis_620",
    19: "euc_kr", 22: "koi8_u", 24: "gb2312", 25: "iso8859_7", 26: "cp1250", 28: "gbk", 30: "iso8859_9", 36: "cp866",
    39: "mac_roman", 40: "cp852", 41: "iso8859_13", 51: "cp1251", 57: "cp1256", 59: "cp1257", 95: "cp932", 97: "euc_jp",
    248: "gb18030",
}  # fmt: skip
"""Other client character sets by their default collation, the one SET NAMES logs (information_schema.COLLATIONS)."""


def decode_statement(statement: bytes, client_collation_id: int | None) -> str:
    """Never fails: a byte without a meaning becomes U+FFFD. None = not logged, which the servers take for UTF-8."""
    if client_collation_id is None or statement.isascii():
        return statement.decode("utf-8", "replace")
    charset = charset_of_collation_id(client_collation_id, "mysql")
    if charset == OTHER:  # the two flavors' numbers never contradict each other
        charset = charset_of_collation_id(client_collation_id, "mariadb")
    text = decode_text(statement, charset)
    return statement.decode(_CODECS.get(client_collation_id, "utf-8"), "replace") if text is None else text
