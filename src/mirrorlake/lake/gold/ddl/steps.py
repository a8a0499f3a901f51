"""The commits by which a DDL changes one mirror, and making each of them once.

Every commit's note says which step of which DDL it is. A mirror's commits are made in log order, so its newest note
is its progress: a step at or before it is not taken again.

An ALTER carries its note in a setting of the session. One commit that writes all rows does the work of a statement's
ALTERs where a session takes no settings (Databricks serverless), or a catalog does not take the ALTER (RENAME COLUMN
in Unity Catalog's open-source connector). Notes say which of the two it is: a statement ends in the way it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.creation import UNBORN, remove_unborn, require_born, require_own
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import table_exists
from mirrorlake.lake.delta.notes import read_commits
from mirrorlake.lake.delta.progress import HARMLESS, append_once, repeatable_ddl, replace_once, run_ddl
from mirrorlake.lake.delta.refusals import is_unsupported
from mirrorlake.lake.delta.session import takes_settings
from mirrorlake.lake.gold.control.failures import DAMAGED, condition_of_table, damage_of
from mirrorlake.lake.gold.control.features import CHANGE_DATA_FEED, Feature, provide, suspend_feed, turn_on
from mirrorlake.lake.gold.control.register import MIRROR_CHANGED, MIRROR_DIVERGED, NEEDS_RESYNC, SPARK_REFUSED
from mirrorlake.lake.gold.control.table import LSN_COLUMN, comments, create_mirror_statement, own_columns
from mirrorlake.lake.gold.ddl.classes import DdlClass, strongest
from mirrorlake.lake.gold.ddl.digests import with_digests

HOP = "apply/ddl"
RENAME = "RENAME COLUMN"
UNCLEAR = "a row may be in one partition or another"
_CREATED = "CREATE TABLE"  # not CREATE TABLE AS SELECT, with rows
_IMPOSSIBLE_VALUES = ("CAST_OVERFLOW", "CAST_INVALID_INPUT", "ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE")
Pinned: TypeAlias = Mapping[str, int | None]
"""Mirror id -> the Delta version at which the mirror is read; None: its history cannot be read."""


@dataclass(frozen=True, slots=True)
class Check:
    """A row that matches ``where`` stops the statement for this mirror: its new value cannot be derived, or stored."""

    where: Sql
    reason: str
    code: str = NEEDS_RESYNC


@dataclass(frozen=True, slots=True)
class Create:
    """more: features that the mirror gets besides those that its columns need."""

    schema: TableSchema
    more: frozenset[Feature] = frozenset()


@dataclass(frozen=True, slots=True)
class Alter:
    """clause: the text after ALTER TABLE and the name. needs: features that the mirror must have for it.
    may_repeat: a second time it changes nothing, nor does it change a row or a column's name, type or position. So it
    moves no progress: a process that others have overtaken may run it when the mirror is far past the statement."""

    clause: Sql
    needs: frozenset[Feature] = frozenset()
    may_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """where None: every row."""

    where: Sql | None = None


@dataclass(frozen=True, slots=True)
class Overwrite:
    """columns: name -> expression over the mirror's own columns. needs: features of a mirror with the new columns.
    schema: the mirror's, with their comments."""

    columns: tuple[tuple[str, Sql], ...]
    schema: TableSchema
    needs: frozenset[Feature] = frozenset()


@dataclass(frozen=True, slots=True)
class ExchangeRows:
    """in_partition, unclear: of the partitioned mirror's rows; see ``PartitionRows``. columns: this mirror's names and
    theirs, pairwise, also of what is not the source's.

    is_partitioned: this mirror keeps its rows outside the partition and takes all of the other's; else it takes the
    partitioned mirror's rows inside the partition.
    """

    other_id: str
    columns: tuple[tuple[str, str], ...]
    in_partition: Sql
    unclear: Sql | None
    is_partitioned: bool


@dataclass(frozen=True, slots=True)
class AppendRows:
    """Append the rows of another mirror that match ``where``; None: all. columns, unclear: as for an exchange."""

    other_id: str
    columns: tuple[tuple[str, str], ...]
    where: Sql | None = None
    unclear: Sql | None = None


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """columns: name -> expression over the snapshot's cells. checks: of the snapshot's rows. invalid: of each column,
    true for a value that is NULL in the mirror because no mirror can hold it. hashed: the columns of whose values, in
    bytes, the mirror gets digests."""

    copy_id: str
    columns: tuple[tuple[str, Sql], ...]
    checks: tuple[Check, ...] = ()
    invalid: tuple[Sql, ...] = ()
    hashed: tuple[str, ...] = ()


MirrorStep = Create | Alter | Delete | Overwrite | ExchangeRows | AppendRows | TakeSnapshot
_CLASSES: dict[type, DdlClass] = {
    Create: DdlClass.COMPARED,
    Alter: DdlClass.COMPARED,
    Overwrite: DdlClass.REBUILT,
    Delete: DdlClass.DESTRUCTIVE,
    ExchangeRows: DdlClass.SELF_INVERSE,
    AppendRows: DdlClass.SELF_INVERSE,
    TakeSnapshot: DdlClass.REBUILT,
}


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one DDL on one mirror. More than one step: ALTERs, also after an overwrite, or a CREATE and its first
    rows. None: it is only checked. in_one: what does the same as those ALTERs that may not be repeated."""

    mirror_id: str
    steps: tuple[MirrorStep, ...]
    checks: tuple[Check, ...] = ()
    in_one: Overwrite | None = None

    @property
    def steps_in_one(self) -> tuple[MirrorStep, ...]:
        """The steps where ALTERs are not possible."""
        kept = tuple(step for step in self.steps if not isinstance(step, Alter) or step.may_repeat)
        return (self.in_one, *kept) if self.in_one else kept

    def may_repeat_after(self, number: int) -> bool:
        """May all steps after this number of them be repeated?"""
        return all(isinstance(step, Alter) and step.may_repeat for step in self.steps[number:])

    @property
    def renames_among_others(self) -> bool:
        """Would a refused RENAME COLUMN leave a part of the statement done?"""
        alters = [step.clause for step in self.steps if isinstance(step, Alter) and not step.may_repeat]
        return len(alters) > 1 and any(clause.startswith(RENAME) for clause in alters)

    @property
    def ddl_class(self) -> DdlClass:
        return strongest(_CLASSES[type(step)] for step in self.steps)


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the mirror does not follow the DDL: code and reason of a refusal. Nothing was written, except the
    steps that a diverged mirror already has."""

    code: str
    reason: str


def carry_out(session: SparkSession, lake: Lake, lsn: int, work: Work, pinned: Pinned) -> Stop | int:
    """Take the steps that the mirror does not have yet. Return how many values of a snapshot these made NULL."""
    try:
        return _carry_out(session, lake, lsn, work, pinned)
    except Exception as error:
        stop = _why_stopped(session, lake, lsn, work, error)
        if stop is None:
            raise
        return stop


def _why_stopped(session: SparkSession, lake: Lake, lsn: int, work: Work, error: Exception) -> Stop | None:
    """Why the mirror stops; None: the failure is not this mirror's alone."""
    mirror, creates = lake.names.mirror(work.mirror_id), any(isinstance(step, Create) for step in work.steps)
    if creates and lake.names.is_unity and isinstance(error, RefusedError) and error.code == UNBORN:
        return Stop(MIRROR_CHANGED, "something else has the name that the mirror would have")
    if isinstance(error, AnalysisException) and not creates and not table_exists(session, mirror):
        return Stop(MIRROR_CHANGED, "the mirror table is gone")
    if damage := damage_of(session, mirror, error):
        return Stop(MIRROR_CHANGED, damage)
    others = [step.other_id for step in work.steps if isinstance(step, ExchangeRows | AppendRows)]
    if any(damage_of(session, lake.names.mirror(other_id), error) for other_id in others):
        return Stop(NEEDS_RESYNC, "it takes rows of another mirror, which is damaged or gone")
    if _is_about_values(error):  # steps that read values are one commit, and no other step goes before them
        return Stop(NEEDS_RESYNC, "a value of an existing row does not fit its new type")
    condition = condition_of_table(error)
    if condition is None:
        return None
    done, _ = _steps_done(session, mirror, lsn, len(work.steps))
    if done and done.number:
        return Stop(MIRROR_DIVERGED, f"it has a part of the statement, and Spark does not take the rest: {condition}")
    return Stop(SPARK_REFUSED, f"Spark does not take the statement's work: {condition}")


def _carry_out(
    session: SparkSession, lake: Lake, lsn: int, work: Work, pinned: Pinned, *, refuses_alter: bool = False
) -> Stop | int:
    """refuses_alter: the catalog has refused the statement's first ALTER."""
    in_one = refuses_alter or not takes_settings(session) or (lake.names.is_unity and work.renames_among_others)
    steps = work.steps_in_one if in_one else work.steps
    done, changed_by = _steps_done(session, lake.names.mirror(work.mirror_id), lsn, len(steps))
    if changed_by:
        return Stop(MIRROR_CHANGED, f"others changed the mirror table: {', '.join(changed_by)}")
    if done is None or done.is_all:
        return 0
    if done.in_one:
        in_one, steps = True, work.steps_in_one
    elif done.number and work.may_repeat_after(done.number):
        in_one, steps = False, work.steps
    if done.number and (done.of != len(steps) or done.in_one not in (None, in_one)):
        return Stop(MIRROR_DIVERGED, "it has a part of the statement, by a session that takes other settings")
    if done.number == 0:
        stop = _failed_check(session, lake, work, pinned)
        if stop:
            return stop
    missing, mirror = steps[done.number :], lake.names.mirror(work.mirror_id)
    needs = {feature for step in missing if isinstance(step, Alter | Overwrite) for feature in step.needs}
    provide(session, mirror, needs)
    rewritten = next((step for step in missing if isinstance(step, Overwrite)), None)
    after = rewritten or work.in_one
    has_feed = after is not None and suspend_feed(session, mirror, dict(after.columns), rewrites=rewritten is not None)
    n_invalid = 0
    for number, step in enumerate(missing, done.number + 1):
        payload = lake.payload(HOP, ddl_lsn=lsn, step=number, of=len(steps), in_one=in_one)
        if isinstance(step, TakeSnapshot):
            n_invalid += _take_snapshot(session, lake, lsn, work.mirror_id, step, payload)
            continue
        try:
            _take(session, lake, lsn, work.mirror_id, step, payload, pinned)
        except Exception as error:
            if number > 1 or in_one or not work.in_one or not is_unsupported(error):
                raise
            return _carry_out(session, lake, lsn, work, pinned, refuses_alter=True)
    if has_feed:
        turn_on(session, mirror, [CHANGE_DATA_FEED])
    return n_invalid


def _is_about_values(error: Exception) -> bool:
    """Is the error about values? Spark names the condition itself, or as the cause of a failed task."""
    return any(f"[{condition}" in str(error) for condition in _IMPOSSIBLE_VALUES)


@dataclass(frozen=True, slots=True)
class _Done:
    """The mirror has this number of a DDL's steps. in_one: see ``Work.steps_in_one``; None: nobody has noted it."""

    number: int
    of: int
    in_one: bool | None = None

    @property
    def is_all(self) -> bool:
        return 0 < self.number == self.of


def _steps_done(session: SparkSession, mirror: Sql, lsn: int, n_steps: int) -> tuple[_Done | None, list[str]]:
    """Return (which of this DDL's steps the mirror has, None: it is past the DDL; what others did to it since).

    n_steps: what a note means that does not say of how many steps.
    """
    changed_by = []
    for commit in read_commits(session, mirror):
        if commit.note is None:
            is_created = commit.version == 0 and commit.operation == _CREATED  # the note is still missing
            changed_by += [] if is_created or commit.operation in HARMLESS else [commit.operation]
        elif commit.note["lsn"] is not None and not commit.is_undone:
            if commit.note["lsn"] == lsn:
                payload = commit.note["payload"]
                return _Done(payload["step"], payload.get("of", n_steps), payload.get("in_one")), changed_by
            return None if commit.note["lsn"] > lsn else _Done(0, 0), changed_by
    return _Done(0, 0), changed_by


def _failed_check(session: SparkSession, lake: Lake, work: Work, pinned: Pinned) -> Stop | None:
    for check in work.checks:
        if session.table(lake.names.mirror(work.mirror_id)).where(check.where).limit(1).collect():
            return Stop(check.code, check.reason)
    step = work.steps[-1] if work.steps else None
    if isinstance(step, TakeSnapshot):
        return _failed_snapshot(session, lake, step)
    if not isinstance(step, ExchangeRows | AppendRows):
        return None
    is_partitioned = isinstance(step, ExchangeRows) and step.is_partitioned
    partitioned = _pinned(lake, work.mirror_id if is_partitioned else step.other_id, pinned)
    if step.unclear and session.sql(f"SELECT 1 FROM {partitioned} WHERE {step.unclear} LIMIT 1").collect():
        return Stop(NEEDS_RESYNC, UNCLEAR)
    if isinstance(step, ExchangeRows) and step.is_partitioned:
        strangers = f"SELECT 1 FROM ({_theirs(lake, step, pinned)}) WHERE NOT {step.in_partition} LIMIT 1"
        if session.sql(strangers).collect():
            return Stop(NEEDS_RESYNC, "rows came into a partition that they are not of (WITHOUT VALIDATION)")
    return None


def _failed_snapshot(session: SparkSession, lake: Lake, step: TakeSnapshot) -> Stop | None:
    copy = lake.names.snapshot(step.copy_id)
    if not table_exists(session, copy):
        return Stop(NEEDS_RESYNC, "its copy is gone")
    for check in step.checks:
        if session.table(copy).where(check.where).limit(1).collect():
            return Stop(check.code, check.reason)
    return None


def _take(session, lake: Lake, lsn: int, mirror_id: str, step: MirrorStep, payload: dict, pinned: Pinned):
    mirror, app_id = lake.names.mirror(mirror_id), lake.app_id(mirror_id)
    note_id = f"{app_id}/ddl/{payload['step']}"
    match step:
        case Create(schema, more):
            made_by = lake.names.root if lake.names.mirrors_schema else None
            remove_unborn(mirror)
            require_own(session, mirror, made_by)
            statement = create_mirror_statement(mirror, schema, more, lake.names.location(mirror), made_by)
            repeatable_ddl(session, mirror, statement, app_id=note_id, lsn=lsn, payload=payload)
            require_born(session, mirror)
        case Alter(clause, may_repeat=may_repeat):
            run_ddl(session, f"ALTER TABLE {mirror} {clause}", payload, lsn=None if may_repeat else lsn)
        case Delete(where):
            nothing = session.table(mirror).limit(0)
            replace_once(session, mirror, nothing, where=where, app_id=app_id, lsn=lsn, payload=payload)
        case Overwrite(columns, schema):
            rows = session.sql(f"SELECT {_selected(columns, own_columns(schema))} FROM {mirror}")
            replace_once(session, mirror, rows, new_comments=comments(schema), app_id=app_id, lsn=lsn, payload=payload)
        case ExchangeRows():
            query = _exchanged(lake, mirror_id, step, pinned)
            replace_once(session, mirror, session.sql(query), app_id=app_id, lsn=lsn, payload=payload)
        case AppendRows(where=where):
            query = _theirs(lake, step, pinned) + (f" WHERE {where}" if where else "")
            append_once(session, mirror, session.sql(query), app_id=app_id, lsn=lsn, payload=payload)


def _take_snapshot(session, lake: Lake, lsn: int, mirror_id: str, step: TakeSnapshot, payload: dict) -> int:
    """Append the snapshot's rows; return how many of their values became NULL."""
    copy, n_invalid = lake.names.snapshot(step.copy_id), 0
    if step.invalid:
        counts = " + ".join(f"count_if({condition})" for condition in step.invalid)
        n_invalid = session.sql(f"SELECT {counts} FROM {copy}").collect()[0][0]
    cells = ", ".join(f"{expression} AS {quote(name)}" for name, expression in step.columns)
    rows = session.sql(f"SELECT {cells}, {lsn}L AS {LSN_COLUMN} FROM {copy}")
    if step.hashed:
        lake.check_column_secret()
        rows = with_digests(rows, step.hashed, lake.hidden.key)
    noted = {**payload, "invalid": n_invalid}
    append_once(session, lake.names.mirror(mirror_id), rows, app_id=lake.app_id(mirror_id), lsn=lsn, payload=noted)
    return n_invalid


def _exchanged(lake: Lake, mirror_id: str, step: ExchangeRows, pinned: Pinned) -> Sql:
    if not step.is_partitioned:
        return f"{_theirs(lake, step, pinned)} WHERE {step.in_partition}"
    kept = _selected(tuple((name, quote(name)) for name, _ in step.columns))
    own = _pinned(lake, mirror_id, pinned)
    return f"SELECT {kept} FROM {own} WHERE NOT {step.in_partition} UNION ALL {_theirs(lake, step, pinned)}"


def _theirs(lake: Lake, step: ExchangeRows | AppendRows, pinned: Pinned) -> Sql:
    """The other mirror's rows under this one's names."""
    taken = _selected(tuple((name, quote(theirs)) for name, theirs in step.columns))
    return f"SELECT {taken} FROM {_pinned(lake, step.other_id, pinned)}"


def _pinned(lake: Lake, mirror_id: str, pinned: Pinned) -> Sql:
    mirror, version = lake.names.mirror(mirror_id), pinned[mirror_id]
    if version is None:
        raise RefusedError(DAMAGED, "its history could not be read", table=mirror)
    return _at(mirror, version)


def _at(mirror: Sql, version: int) -> Sql:
    return f"{mirror} VERSION AS OF {version}"


def _selected(columns: Sequence[tuple[str, Sql]], own: Iterable[str] = ()) -> Sql:
    return ", ".join([*(f"{expression} AS {quote(name)}" for name, expression in columns), *map(quote, own)])
