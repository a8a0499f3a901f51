"""List the statements that refused their tables, and record the operator's overrides."""

from __future__ import annotations

from typing import Any

from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.gold.control.epochs import EpochLog
from mirrorlake.lake.gold.control.register import (
    MIRROR_CHANGED,
    MIRROR_DIVERGED,
    NEEDS_FIRST_COPY,
    REFUSED,
    TableRegister,
)
from mirrorlake.lake.silver.amendment import amend
from mirrorlake.lake.silver.definitions import recorded
from mirrorlake.lake.silver.overrides import give, read_answers, read_given

_NOT_BY_ITSELF = (MIRROR_CHANGED, NEEDS_FIRST_COPY, MIRROR_DIVERGED)
"""Codes of refusals that no override of a statement can end."""


def list_refused(lake: Lake) -> list[dict[str, Any]]:
    """``{database, table, lsn, position, at, code, reason, statement}`` of every table that a statement refused, in log
    order; at: when the source committed it. position: None if bronze has deleted it."""
    refusals = _refusals(lake)
    lsns = ", ".join(str(lsn) for lsn, _, _ in refusals.values()) or "NULL"
    statements = lake.spark.sql(
        f"""SELECT c.lsn, concat(b.log_file, ':', b.log_pos) AS position, c.commit_ts, c.statement
            FROM {lake.names.silver_changes} c LEFT JOIN {lake.names.bronze_events} b ON b.lsn = c.lsn
            WHERE c.op = 'DDL' AND c.lsn IN ({lsns})"""
    ).toArrow()
    logged = {row["lsn"]: row for row in statements.to_pylist()}
    found = [
        {
            "database": database, "table": table, "lsn": lsn, "position": logged[lsn]["position"],
            "at": logged[lsn]["commit_ts"].isoformat(), "code": code, "reason": reason,
            "statement": logged[lsn]["statement"],
        }
        for (database, table), (lsn, code, reason) in refusals.items()
        if lsn in logged
    ]  # fmt: skip
    return sorted(found, key=lambda refused: (refused["lsn"], refused["database"], refused["table"]))


def list_answers(lake: Lake) -> list[dict[str, Any]]:
    """``{number, database, table, lsn, answer, statement, by, at, state}`` in the order in which they were given.

    answer: skip, replace, copy or character set (for a database: table is empty). by: user of the operating system.
    state: waiting (for the next run) or done.
    """
    n_done = EpochLog(lake).answers
    return [
        {
            "number": given.answer.number, "database": given.answer.database, "table": given.answer.table,
            "lsn": given.answer.lsn, "answer": _kind(given.answer),
            "statement": given.answer.text, "by": given.given_by, "at": given.at.isoformat(),
            "state": "done" if given.answer.number <= n_done else "waiting",
        }
        for given in read_given(lake)
    ]  # fmt: skip


def _kind(answer: Answer) -> str:
    if answer.copy_id:
        return "copy"
    if answer.is_of_database:
        return "character set"
    return "skip" if answer.text is None else "replace"


def give_answer(lake: Lake, table: str, lsn: int | None, text: str | None) -> dict[str, Any]:
    """Record an override of the statement that refused a table (``database.table``), and return the refusal.

    lsn: of the statement, to be certain which one it is. text: a statement; None: it has no effect on the table.
    Raises UsageError ``ddl-answer`` for an override that cannot be accepted; then nothing is recorded.
    """
    name = lake.name_case.fold(table)
    refused = next((r for r in list_refused(lake) if f"{r['database']}.{r['table']}" == name), None)
    if refused is None or lsn not in (None, refused["lsn"]):
        raise UsageError("ddl-answer", f"no statement{f' at lsn {lsn}' if lsn else ''} has refused it", table=table)
    answers, silver = read_answers(lake), read_progress(lake.spark, lake.names.silver_changes)
    answer = Answer(len(answers) + 1, refused["lsn"], refused["database"], refused["table"], text)
    if any((other.lsn, other.name) == (answer.lsn, answer.name) for other in answers[EpochLog(lake).answers :]):
        raise UsageError("ddl-answer", "it has an answer, which the next run takes", table=table)
    assert silver is not None, "a refusal is in silver"
    try:
        objection = amend(lake, [*answers, answer], silver.lsn).objection
    except RefusedError as error:  # a text that names no table
        objection = error.message
    if objection:
        raise UsageError("ddl-answer", objection, position=refused["position"], table=table)
    give(lake, answer)
    return refused


def _refusals(lake: Lake) -> dict[TableName, tuple[int, str | None, str | None]]:
    """Return table name -> (lsn of the statement that refused it, code and reason), from silver's definitions and from
    gold."""
    found, statements = dict[TableName, tuple[int, str | None, str | None]](), set()
    for lsn, change in recorded(lake):
        name = change.name
        if not change.concerns_table:
            continue
        statements.add((lsn, name))
        if change.action != "refuse":
            found.pop(name, None)
        else:
            found.setdefault(name, (lsn, change.code, change.reason))
    for entry in TableRegister.read(lake):
        if entry.state != REFUSED:
            continue
        found.pop(entry.name, None)
        if (entry.lsn, entry.name) in statements and entry.code not in _NOT_BY_ITSELF:
            found[entry.name] = (entry.lsn, entry.code, entry.reason)
    return found
