"""Ask the server for the character set that new tables of a database get, if the log does not say it.

A table map leaves out character sets unless ``binlog_row_metadata`` is FULL, and CREATE TABLE does if they are the
database's. A CREATE DATABASE in the log says it; one that is older than the log does not.
"""

from __future__ import annotations

from mirrorlake.core.ddl.effect.override import set_charset
from mirrorlake.core.schema.history import Definitions
from mirrorlake.lake.bronze.ingest import IngestProgress
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.silver.definitions import recorded
from mirrorlake.lake.silver.overrides import give, read_answers
from mirrorlake.mysql.connection import ServerConnection, log_end
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.source_tables import database_charsets


def note_charsets(lake: Lake, login: ServerLogin) -> None:
    """Record an ALTER DATABASE for each database whose character set is not known, at the end of the source's log.

    An ALTER DATABASE that the source runs meanwhile comes from the log. Raises what ``ServerConnection`` raises;
    RefusedError ``lake-source``, ``lake-writer``.
    """
    answers, definitions = read_answers(lake), Definitions(change for _, change in recorded(lake))
    answered = {answer.database for answer in answers if answer.is_of_database}
    known = {name for name in definitions.databases() if (home := definitions.database(name)) and home.charset}
    connection = ServerConnection(login)
    try:
        before = database_charsets(connection.query)
        position = log_end(connection.login, connection.query(connection.log_status_sql))
        after = database_charsets(connection.query)
        lsn = IngestProgress.read(lake).lsn_before(connection.identity, position)
    finally:
        connection.close()
    unchanged = ((name, charset) for name, charset in after.items() if before.get(name) == charset)
    charsets = {lake.name_case.fold(name): charset for name, charset in unchanged}
    news = sorted(charsets.keys() - answered - known)
    if news:
        give(lake, *(set_charset(n, lsn, name, charsets[name]) for n, name in enumerate(news, len(answers) + 1)))
