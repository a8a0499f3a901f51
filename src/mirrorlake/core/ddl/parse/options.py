"""Read options of a table and of a database."""

from __future__ import annotations

from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.statements import TableOptions
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.ddl.parse.types import read_charset, read_collation
from mirrorlake.core.schema.table_name import TableName

_VALUE_OPTIONS = frozenset(
    """AUTO_INCREMENT AUTOEXTEND_SIZE AVG_ROW_LENGTH CHECKSUM TABLE_CHECKSUM COMPRESSION CONNECTION
    DELAY_KEY_WRITE ENCRYPTION ENCRYPTED ENCRYPTION_KEY_ID ENGINE_ATTRIBUTE IETF_QUOTES INSERT_METHOD
    KEY_BLOCK_SIZE MAX_ROWS MIN_ROWS PACK_KEYS PAGE_CHECKSUM PAGE_COMPRESSED PAGE_COMPRESSION_LEVEL PASSWORD
    ROW_FORMAT SECONDARY_ENGINE SECONDARY_ENGINE_ATTRIBUTE STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES
    TABLESPACE TRANSACTIONAL""".split()
)


def read_table_options(tokens: Tokens) -> TableOptions:
    """Read all options, with or without commas."""
    options = TableOptions()
    while read_table_option(tokens, options):
        tokens.accept(",")
    return options


def read_table_option(tokens: Tokens, options: TableOptions) -> bool:
    """Read one table option into ``options``. False: none comes."""
    at_default = tokens.sees("DEFAULT")
    if at_default:
        tokens.next()
    if charset := read_charset(tokens):
        options.charset = charset
        return True
    if collation := read_collation(tokens):
        options.collation = collation.lower()
        return True
    if at_default:
        raise tokens.unexpected()
    return _read_plain_option(tokens, options)


def _read_plain_option(tokens: Tokens, options: TableOptions) -> bool:
    if tokens.accept("WITH", "SYSTEM", "VERSIONING"):
        options.is_versioned = True
    elif tokens.accept("START", "TRANSACTION"):
        options.has_rows_to_come = True
    elif tokens.accept_any("ENGINE", "TYPE"):
        tokens.accept("=")
        options.engine = tokens.next().text.lower()
    elif tokens.accept("COMMENT"):
        tokens.accept("=")
        options.comment = tokens.comment()
    elif tokens.accept("SEQUENCE"):
        tokens.accept("=")
        options.is_sequence = tokens.next().text not in ("0", "no")
    elif tokens.accept("UNION"):
        tokens.accept("=")
        options.unsupported, options.union = "UNION", _read_union(tokens)
    else:
        return _accept_value_option(tokens)
    return True


def _read_union(tokens: Tokens) -> tuple[TableName, ...]:
    return () if tokens.accept("(", ")") else tokens.enclosed(tokens.table_name)


def _accept_value_option(tokens: Tokens) -> bool:
    if tokens.accept("DATA", "DIRECTORY") or tokens.accept("INDEX", "DIRECTORY"):
        pass
    elif tokens.accept("STORAGE"):
        tokens.name()
        return True
    elif tokens.peek().kind is Kind.WORD and tokens.peek().text.upper() in _VALUE_OPTIONS:
        tokens.next()
    elif tokens.peek().kind in (Kind.WORD, Kind.QUOTED) and tokens.peek(1).is_symbol("="):
        tokens.next()  # an option that a storage engine defines
    else:
        return False
    tokens.accept("=")
    tokens.next()
    return True


def sees_database_option(tokens: Tokens) -> bool:
    words = ("DEFAULT", "CHARSET", "COLLATE", "ENCRYPTION", "COMMENT", "UPGRADE")
    return any(tokens.sees(word) for word in words) or tokens.sees("CHARACTER", "SET") or tokens.sees("READ", "ONLY")


def read_database_options(tokens: Tokens) -> TableOptions:
    """Read options to the end of the statement."""
    options = TableOptions()
    while not tokens.at_end:
        if tokens.accept("READ", "ONLY") or tokens.accept("UPGRADE") or tokens.accept("DEFAULT", "ENCRYPTION"):
            while not (tokens.at_end or tokens.sees("DEFAULT")):
                tokens.next()
        elif not read_table_option(tokens, options):
            raise tokens.unexpected()
    return options
