"""The servers' own test files as Debian packages them, and the DDL statements in them, in order.

Nothing of them is kept: they are unpacked into a cache folder of the checkout. A test file is a script of mysqltest:
statements up to a delimiter, commands of its own on lines that begin with ``--`` or with a word such as ``let``.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / ".cache/server-tests"
_FETCH = Path(__file__).with_name("fetch_server_tests.sh")

_DDL = re.compile(
    r"\s*(/\*!\d*\s*)?(create|alter|drop|rename|truncate)\s+(or\s+replace\s+|online\s+|offline\s+|ignore\s+|unique\s+"
    r"|fulltext\s+|spatial\s+)*(table|tables|index|database|schema|sequence)\b|\s*use\s+\w+\s*$"
    r"|\s*set\s+(session\s+|local\s+|@@session\.|@@)?(sql_mode|explicit_defaults_for_timestamp|storage_engine"
    r"|default_storage_engine|foreign_key_checks|collation_database|character_set_database)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(let|eval|evalp|if|while|source|connect|connection|disconnect|echo|exec|error|disable_\w+|enable_\w+|sleep|send|reap"
    r"|inc|dec|die|skip|exit|perl|write_file|append_file|remove_file\w*|cat_file|sync_\w+|save_\w+|replace_\w+|sorted_result"
    r"|horizontal_results|vertical_results|query_\w+|change_user|character_set|copy_file|move_file|mkdir|rmdir|result_format"
    r"|shutdown_server|dirty_close|reset_connection|ping|system|real_sleep|expr|assert|wait_for_slave_to_stop|delimiter)\b",
    re.IGNORECASE,
)
_DANGEROUS = re.compile(
    r"\b(mysql|sys|information_schema|performance_schema)`?\s*\.|use\s+`?(mysql|sys|inf|perf)|start\s+transaction", re.I
)


def test_files(flavor: str) -> list[Path]:
    """Every .test file of the flavor's package, unpacked on first use."""
    folder = CACHE / flavor
    if not folder.exists():
        subprocess.run([str(_FETCH), flavor, str(folder)], check=True)
    return sorted(folder.rglob("*.test"))


def ddl_statements(path: Path) -> list[str]:
    """Those a session can run as they are: without variables of mysqltest, and not on the server's own tables."""
    text = path.read_bytes().decode("utf-8", "replace")
    found = (statement for statement in _statements(text) if _DDL.match(statement))
    return [s for s in found if not ("$" in s or "\ufffd" in s or _DANGEROUS.search(s) or len(s) > 20_000)]


def _statements(text: str) -> Iterator[str]:
    delimiter, at = ";", 0
    while at < len(text):
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        line = text[at:line_end].strip()
        command = _COMMAND.match(line.removeprefix("--").strip())
        if not line or line[0] in "#{}" or line.startswith("--") or (command and line.startswith(("if", "while"))):
            if command and command[1].lower() == "delimiter":
                delimiter = _new_delimiter(line, delimiter)
            at = line_end + 1
            continue
        end = _end_of_statement(text, at, delimiter)
        statement = text[at:end].strip()
        if command and command[1].lower() == "delimiter":
            delimiter = _new_delimiter(line, delimiter)
            end = line_end
        elif not command:
            yield statement
        at = end + (len(delimiter) if text.startswith(delimiter, end) else 1)


def _new_delimiter(line: str, old: str) -> str:
    word = line.removeprefix("--").strip()[len("delimiter") :].strip()
    return word.removesuffix(old).strip() or word or old


def _end_of_statement(text: str, at: int, delimiter: str) -> int:
    quote = None
    while at < len(text):
        letter = text[at]
        if quote:
            if letter == "\\" and quote != "`":
                at += 1
            elif letter == quote:
                quote = None
        elif text.startswith(delimiter, at):
            return at
        elif letter in "'\"`":
            quote = letter
        at += 1
    return at
