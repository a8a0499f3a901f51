"""Counts of row changes per transaction and table, as the server's own binlog tool reads its log."""

from __future__ import annotations

import re
from collections import Counter

_GTID = re.compile(
    r"^(?:#\d{6} .*\tGTID (?P<mariadb>\d+-\d+-\d+)|SET @@SESSION\.GTID_NEXT=\s*'(?P<mysql>[0-9a-f-]{36}:\d+)')"
)
_CHANGE = re.compile(r"^### (INSERT INTO|UPDATE|DELETE FROM) `(.+)`\.`(.+)`$")
_OPS = {"INSERT INTO": "INSERT", "UPDATE": "UPDATE", "DELETE FROM": "DELETE"}


def count_logged_changes(text: str) -> dict[str, Counter]:
    """{gtid: {(database, table, op): changes}} of ``mysqlbinlog -v --base64-output=decode-rows`` output."""
    transactions: dict[str, Counter] = {}
    current: Counter = Counter()
    for line in text.splitlines():
        if match := _GTID.match(line):
            current = transactions.setdefault(match["mariadb"] or match["mysql"], Counter())
        elif match := _CHANGE.match(line):
            current[match[2], match[3], _OPS[match[1]]] += 1
    return {gtid: changes for gtid, changes in transactions.items() if changes}
