"""Bronze events -> silver changes, as Arrow batches: the pure core of the assemble hop.

The input is whole transactions in log order, prepared XA transactions where they commit (``xa``); the output is one row
per BEGIN, row change, DDL, refusal and COMMIT, in the same order. It runs the same in a Spark worker and in the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.binlog.framing import HEADER_BYTES
from mirrorlake.core.binlog.rows import decode, row_image
from mirrorlake.core.binlog.rows.decode import ChangeArrays, EventArrays
from mirrorlake.core.binlog.rows.layout import RowLayouts
from mirrorlake.core.binlog.rows.partial_json import plain_after_image
from mirrorlake.core.binlog.rows.table_map_cache import TableSlots
from mirrorlake.core.binlog.tagged_gtid import read_tagged_gtid
from mirrorlake.core.changes.bronze_events import BronzeEvents
from mirrorlake.core.changes.conditions import conditions_of
from mirrorlake.core.changes.kept_text import is_kept, with_kept_reasons
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import Undone, UndoneMask
from mirrorlake.core.constants import EventType
from mirrorlake.core.ddl.effect.interpret import interpret
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.kernels.compiling import address_of
from mirrorlake.core.kernels.memory import addresses
from mirrorlake.core.schema.column_patterns import NO_COLUMNS, ColumnPatterns
from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.core.values import variant
from mirrorlake.errors import RefusedError

CHANGE_SCHEMA = pa.schema(
    [
        ("lsn", pa.int64()),
        ("tx_lsn", pa.int64()),
        ("ordinal", pa.int32()),
        ("op", pa.string()),
        ("gtid", pa.string()),
        ("commit_ts", pa.timestamp("us", "UTC")),
        ("database", pa.string()),
        ("table", pa.string()),
        ("schema_id", pa.int64()),
        ("before", variant.ARROW_TYPE),
        ("after", variant.ARROW_TYPE),
        ("statement", pa.string()),
        ("changes", pa.int64()),
        ("checksum", pa.int64()),
        ("refusal", pa.string()),
        ("partial", pa.bool_()),
        ("invalid", pa.int32()),
        ("may_cascade", pa.bool_()),
    ]
)
"""One row of ``silver_changes``. changes, checksum: on COMMIT, the number of the transaction's row changes and the
XXH64 of their encoded images: of each (before, then after, in order) with the previous one as its seed, 0 at the start,
as a signed number. statement: on COMMIT the text COMMIT if the changes are of an engine without transactions. refusal:
``code: reason`` on REFUSED rows; on row changes, their ``conditions``. partial: an UPDATE whose ``after`` lacks
columns, which keep their values; generated ones do not count. invalid: number of invalid values of ``after``: a mirror
holds NULL for them. may_cascade: with it, foreign keys may have changed rows of other tables that the log does not
have."""

IMAGE_BYTES = 32 << 20
"""Room for the images of a batch, before and after each; the unused part takes no memory."""
NAMES_BYTES = 32 << 20
"""About how many bytes of column names a batch has: each image has those of its table, also if it logs one column."""
MAX_IMAGE_BYTES = (1 << 30) + (1 << 20)
"""Room for one image, and the most of a batch. No server writes a row event of more than 1 GiB, and the form here needs
little more; but columns that MariaDB compresses may claim a thousand times as much. The ends of images are int32."""
_ROWS_FLAGS_AT = HEADER_BYTES + 6
"""Offset of the flags of a row event: after the header and the table id."""
_NO_FOREIGN_KEY_CHECKS_F, _USE_SQL_FOREIGN_KEY_F = 2, 16
"""Flags of ``Rows_log_event``: MySQL's and MariaDB's; since MySQL 9.6, which then logs what foreign keys change."""
_COMMIT_TEXT = np.frombuffer(b"\0COMMIT", np.uint8)
"""The end of a QUERY event that is COMMIT: after the 0 that ends its database's name."""
OPS = pa.array(["BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT", "DDL", "REFUSED"])
_REFUSALS = {
    decode.REFUSED_MALFORMED: "row-event: a row event does not match its table map",
    decode.REFUSED_TOO_LARGE: "row-event: a row takes more than 1 GiB",
    decode.REFUSED_NO_OLD_VALUE: "binlog-row-value-options: an UPDATE logs a part of a JSON value, and not the old "
    "value",
    decode.REFUSED_MAYBE_BY_TRIGGER: "binlog-row-value-options: an UPDATE logs a part of a JSON value, and not what a "
    "BEFORE UPDATE trigger may have made of it",
    decode.REFUSED_UNCLEAR: "row-event: a ROLLBACK TO names a savepoint that its transaction does not have, or two by "
    "their accents, so which of its row changes hold is not known",
}
_INCOMPLETE = {
    row_image.NO_KEY: "a row event does not log column {}, which names the row",
    row_image.NO_INSERTED_VALUE: "an INSERT does not log column {}, and what it stored there is not known",
    row_image.NO_NEW_VALUE: "a row event does not log column {}, which MariaDB may have changed",
}
_SAVEPOINT_WORDS = ("SAVEPOINT", "RELEASE", "XA END")


class Assembler:
    """Decodes the events of one source; keeps table maps and the open transaction between batches."""

    def __init__(
        self,
        flavor: str,
        timeline: Timeline | None = None,
        undone: Undone | None = None,
        *,
        name_case: NameCase = AS_WRITTEN,
        hidden: ColumnPatterns = NO_COLUMNS,
        rows_per_batch: int = 32_768,
        image_bytes: int = IMAGE_BYTES,
        max_image_bytes: int = MAX_IMAGE_BYTES,
    ):
        """timeline: definitions for what table maps leave out; none: tables without full metadata are refused. undone:
        changes that the events' own statements roll back; a rollback that it lacks is an error. hidden: see
        ``mapped_table.describe``; if it has patterns, texts that may hold a value are left out."""
        self._flavor, self._name_case, self._hidden = flavor, name_case, hidden
        self._layouts = RowLayouts(hidden.key)
        self._slots = TableSlots(flavor, self._layouts, timeline or Timeline(), name_case, hidden)
        self._undone = undone or Undone()
        self._mask = UndoneMask(self._undone)
        self._created: tuple[int, int, set[TableName]] = (-1, -1, set())  # tx_lsn, lsn and tables of a CREATE
        self._state = np.zeros(decode.STATE_SIZE, np.int64)
        self._state[decode.NOTE] = decode.NO_NOTE
        self._note = pa.array([], pa.binary())  # the text of EARLIER_NOTE
        self._rows_per_batch, self._max_image_bytes = rows_per_batch, max_image_bytes
        self._image_bytes = min(image_bytes, max_image_bytes)

    def assemble(self, events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of ``CHANGE_SCHEMA`` for bronze batches (``BRONZE_COLUMNS``), in log order.

        Raises RefusedError if the log cannot be decoded further.
        """
        for batch in open_events(events):
            if batch.num_rows:
                yield from self._assemble_batch(BronzeEvents(batch))
            del batch  # it may be long, as the next one

    def _assemble_batch(self, events: BronzeEvents) -> Iterator[pa.RecordBatch]:
        arrays = self._event_arrays(events)
        state, n_rows, image_bytes = self._state, self._rows_per_batch, self._image_bytes
        state[[decode.NEXT, decode.CUT_AT]] = 0
        status = decode.FULL
        while status == decode.FULL:
            out = ChangeArrays.empty(n_rows, image_bytes)
            state[[decode.N_ROWS, decode.N_BEFORE, decode.N_AFTER]] = 0
            status = self._decode(arrays, out)
            if status == decode.MALFORMED_EVENT:
                position = events.position(int(state[decode.NEXT]))
                raise RefusedError("log-event", "an event is shorter than its fields", position=position)
            n = int(state[decode.N_ROWS])
            if n:
                yield from (self._record_batch(events, part, len(part.ops)) for part in self._parts(out, n))
            elif status == decode.FULL:  # one event needs more room
                n_rows, image_bytes = 2 * n_rows, min(2 * image_bytes, self._max_image_bytes)
                del out
                pa.default_memory_pool().release_unused()
        if state[decode.NOTE] >= 0:
            self._note = events.texts(state[decode.NOTE : decode.NOTE + 1])
            state[decode.NOTE] = decode.EARLIER_NOTE

    def _event_arrays(self, events: BronzeEvents) -> EventArrays:
        slot = self._slots.resolve(
            events.buf, events.offset, events.length, events.trailer, events.event_type, events.lsn
        )
        kinds = self._mask.event_types(events)
        return EventArrays(events.buf, events.offset, events.length, kinds, events.timestamp, events.trailer, slot)

    def _decode(self, events: EventArrays, out: ChangeArrays) -> int:
        state = self._state
        if (events.event_type == EventType.PARTIAL_UPDATE_ROWS).any():
            state[decode.PLAIN_AFTER_IMAGE] = address_of(plain_after_image)
        if (events.event_type == EventType.GTID_TAGGED).any():
            state[decode.READ_TAGGED_GTID] = address_of(read_tagged_gtid)
        state[decode.MAX_ROWS] = len(out.ops) - 2
        state[decode.IMAGE_ROOM] = len(out.before) - 64
        state[decode.IS_LARGEST] = len(out.before) >= self._max_image_bytes
        return decode.decode_events(
            len(events.offset), addresses(events), *map(addresses, self._layouts.arrays), state, addresses(out)
        )

    def _parts(self, out: ChangeArrays, n: int) -> Iterator[ChangeArrays]:
        """Cut n rows into parts of about ``NAMES_BYTES``."""
        name_bytes = np.array([0, *map(len, self._layouts.metadata)])[out.slots[:n] + 1]
        n_images = 1 + (out.ops[:n] == decode.UPDATE)
        cuts = np.flatnonzero(np.diff(np.cumsum(name_bytes * n_images) // NAMES_BYTES)) + 1
        for first, stop in pairwise([0, *cuts.tolist(), n]):
            yield out.rows(first, stop)

    def _record_batch(self, events: BronzeEvents, out: ChangeArrays, n: int) -> pa.RecordBatch:
        event, ops, slot = out.row_event[:n], out.ops[:n], out.slots[:n]
        tables = self._layouts.tables
        by_slot = pa.array(np.where(slot < 0, 0, slot), mask=slot < 0)
        is_commit = ops == decode.COMMIT
        columns = {
            "lsn": pa.array(events.lsn[event]),
            "tx_lsn": pa.array(events.tx_lsn[event]),
            "ordinal": pa.array(out.ordinals[:n]),
            "op": OPS.take(pa.array(ops)),
            "gtid": events.gtid.take(pa.array(event)),
            "commit_ts": pa.array(out.commit_us[:n]).cast(CHANGE_SCHEMA.field("commit_ts").type),
            "database": pa.array([t.map.database for t in tables], pa.string()).take(by_slot),
            "table": pa.array([t.map.table for t in tables], pa.string()).take(by_slot),
            "schema_id": pa.array([t.schema_id for t in tables], pa.int64()).take(by_slot),
            "before": self._images(out.before, out.before_ends, slot, (ops == decode.UPDATE) | (ops == decode.DELETE)),
            "after": self._images(out.after, out.after_ends, slot, (ops == decode.UPDATE) | (ops == decode.INSERT)),
            "statement": _with_commits(self._statements(events, out.notes[:n]), events, event, is_commit),
            "changes": pa.array(out.amounts[:n], mask=~is_commit),
            "checksum": pa.array(out.checksums[:n], mask=~is_commit),
            "refusal": self._conditions(slot, out.partial[:n]),
            "partial": pa.array(out.partial[:n] & row_image.INCOMPLETE != 0),
            "invalid": pa.array(out.invalid[:n]),
            "may_cascade": pa.array(_may_cascade(events, event, ops)),
        }
        special = np.flatnonzero((ops == decode.STATEMENT) | (ops == decode.REFUSED))
        if not len(special):
            return pa.RecordBatch.from_arrays(list(columns.values()), schema=CHANGE_SCHEMA)
        return self._with_statements(columns, events, out, special)

    def _conditions(self, slot: np.ndarray, bits: np.ndarray) -> pa.Array:
        """The conditions of each row change that the log has only in part."""
        has_some = bits > row_image.INCOMPLETE
        if not has_some.any():
            return pa.nulls(len(slot), pa.string())
        pairs, indexes = np.unique(slot[has_some].astype(np.int64) << 8 | bits[has_some], return_inverse=True)
        texts = [conditions_of(int(pair) & 0xFF, self._layouts.tables[int(pair) >> 8].schema) for pair in pairs]
        by_row = np.zeros(len(slot), np.int64)
        by_row[has_some] = indexes
        return pa.array(texts, pa.string()).take(pa.array(by_row, mask=~has_some))

    def _statements(self, events: BronzeEvents, notes: np.ndarray) -> pa.Array:
        """The logged text of each statement, at its first row."""
        is_noted = notes != decode.NO_NOTE
        if self._hidden.are_any or not is_noted.any():
            return pa.nulls(len(notes), pa.string())
        found = events.texts(notes[notes >= 0])
        if (notes == decode.EARLIER_NOTE).any():
            found = pa.concat_arrays([self._note, found])  # it can only be the first
        _, ends, text = _as_text(found).buffers()
        n_before = np.concatenate([[0], np.cumsum(is_noted)])
        offsets = np.frombuffer(ends, np.int32)[n_before]
        noted = np.packbits(is_noted, bitorder="little")
        return pa.Array.from_buffers(pa.string(), len(notes), [pa.py_buffer(noted), pa.py_buffer(offsets), text])

    def _images(self, data: np.ndarray, ends: np.ndarray, slot: np.ndarray, present: np.ndarray) -> pa.StructArray:
        n = len(slot)
        values = pa.Array.from_buffers(
            pa.binary(), n, [None, pa.py_buffer(ends[: n + 1]), pa.py_buffer(data[: ends[n]])]
        )
        dictionary = pa.array([b"", *self._layouts.metadata], pa.binary())
        metadata = dictionary.take(pa.array(np.where(present, slot + 1, 0)))
        return pa.StructArray.from_arrays([values, metadata], fields=list(variant.ARROW_TYPE), mask=pa.array(~present))

    def _with_statements(
        self, columns: dict, events: BronzeEvents, out: ChangeArrays, special: np.ndarray
    ) -> pa.RecordBatch:
        """Fill in the few rows that are read one at a time: statements and refusals."""
        n = len(columns["lsn"])
        found = {
            int(r): self._statement(events, out, r) if out.ops[r] == decode.STATEMENT else self._refusal(events, out, r)
            for r in special
        }
        for name in ("op", "database", "table", "statement", "refusal"):
            cells = {r: cell[name] for r, cell in found.items() if cell and name in cell}
            columns[name] = pc.replace_with_mask(
                columns[name], _marked(n, cells), pa.array(list(cells.values()), pa.string())
            )
        lsns = {r: cell["lsn"] for r, cell in found.items() if cell and "lsn" in cell}
        columns["lsn"] = pc.replace_with_mask(
            columns["lsn"], _marked(n, lsns), pa.array(list(lsns.values()), pa.int64())
        )
        batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=CHANGE_SCHEMA)
        dropped = [r for r, cell in found.items() if cell is None]
        return batch.filter(pc.invert(_marked(n, dropped))) if dropped else batch

    def _refusal(self, events: BronzeEvents, out: ChangeArrays, r: int) -> dict:
        cause, slot, i = int(out.amounts[r]), int(out.slots[r]), int(out.row_event[r])
        if slot < 0:  # nobody knows whose rows these are
            raise RefusedError("log-event", "a row event has no table map", position=events.position(i))
        table = self._layouts.tables[slot]
        lsn = self._refused_at(int(events.tx_lsn[i]), TableName(table.map.database, table.map.table))
        if cause == decode.REFUSED_TABLE:
            return {"lsn": lsn, "refusal": ": ".join(table.refusal)}
        if cause & 0xFF == decode.REFUSED_ROW_IMAGE:
            column = table.schema.columns[cause >> 16].name
            return {"lsn": lsn, "refusal": f"row-image: {_INCOMPLETE[cause >> 8 & 0xFF].format(column)}"}
        return {"lsn": lsn, "refusal": _REFUSALS[cause]}

    def _refused_at(self, tx_lsn: int, name: TableName) -> int:
        """The lsn of a refusal: before the whole transaction, so that gold cuts none; but after the table's own
        CREATE."""
        created_in, created_at, names = self._created
        return created_at + 1 if created_in == tx_lsn and name in names else tx_lsn

    def _statement(self, events: BronzeEvents, out: ChangeArrays, r: int) -> dict | None:
        i = int(out.row_event[r])
        query = parse_query(events.body_view(i))
        if not query.is_in_force:
            return None
        kept = query.kept if is_kept(query.statement, self._hidden) else None
        inside_transaction = bool(out.amounts[r])
        if not inside_transaction:
            return {"op": "DDL", "database": query.database or None, "statement": kept}
        text = query.statement.lstrip().upper()
        if text.startswith("ROLLBACK"):
            if out.ordinals[r] > 0 and int(events.tx_lsn[i]) not in self._undone:
                message = "row changes that a ROLLBACK undoes were not found"
                raise RefusedError("log-event", message, position=events.position(i))
            return {"op": "ROLLBACK", "statement": query.kept}
        if text.startswith(_SAVEPOINT_WORDS):
            return None
        server = SourceServer(self._flavor, name_case=self._name_case)
        session = LoggedSession(query.database, query.sql_mode or 0)
        changes = interpret(query.statement, server, session, Definitions())
        changes = with_kept_reasons(changes, query.statement, self._hidden)
        refused = next((c for c in changes if c.action == "refuse"), None)
        if refused is None or text.startswith("CREATE"):  # CREATE TABLE .. SELECT: the CREATE, then its rows
            names = {change.name for change in changes if change.concerns_table}
            self._created = int(events.tx_lsn[i]), int(events.lsn[i]), names
            return {"op": "DDL", "database": query.database or None, "statement": kept}
        cause = f"{refused.code}: {refused.reason}"
        name = {"database": refused.database, "table": refused.table}
        return {"op": "REFUSED", "lsn": int(events.tx_lsn[i]), **name, "refusal": cause}


def _marked(n: int, chosen: Iterable[int]) -> pa.BooleanArray:
    marks = np.zeros(n, bool)
    marks[list(chosen)] = True
    return pa.array(marks)


def _with_commits(statements: pa.Array, events: BronzeEvents, event: np.ndarray, is_commit: np.ndarray) -> pa.Array:
    """Add the statement COMMIT where the log has it; a transaction of an engine ends with an XID event."""
    ends = np.flatnonzero(is_commit & (events.event_type[event] == EventType.QUERY))
    if not len(ends):
        return statements
    last = event[ends]
    first_byte = events.offset[last] + events.length[last] - events.trailer[last] - len(_COMMIT_TEXT)
    is_text = (events.buf[first_byte[:, None] + np.arange(len(_COMMIT_TEXT))] == _COMMIT_TEXT).all(axis=1)
    return pc.if_else(_marked(len(statements), ends[is_text]), "COMMIT", statements)


def _may_cascade(events: BronzeEvents, event: np.ndarray, ops: np.ndarray) -> np.ndarray:
    """May the row have cascaded? False for rows that are no row change."""
    is_change = (decode.INSERT <= ops) & (ops <= decode.DELETE)
    flags = events.buf[np.where(is_change, events.offset[event] + _ROWS_FLAGS_AT, 0)]
    return is_change & (flags & (_NO_FOREIGN_KEY_CHECKS_F | _USE_SQL_FOREIGN_KEY_F) == 0)


def _as_text(statements: pa.BinaryArray) -> pa.StringArray:
    """Decode statements whose character set the log does not have: as UTF-8, with U+FFFD for invalid bytes."""
    try:
        return statements.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([text.decode("utf-8", "replace") for text in statements.to_pylist()], pa.string())
