"""Row images that lack columns: what silver holds of them, and what gold makes of it."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.changes.conditions import read_conditions
from mirrorlake.core.changes.images import CHANGE_COLUMNS, REMOVED, with_shared_names
from mirrorlake.core.changes.incomplete_images import LOGGED, base_column, partial_net_effect
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.variant import decode_metadata
from mirrorlake.core.values.variant_columns import decode_images
from mirrorlake.errors import InternalError
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.histories import random_history
from tests.support.partial_rows import with_partial_rows
from tests.support.pure_hops import silver
from tests.support.reduce import DELETED, Patch, reduce
from tests.support.row_change import RowChange, identity
from tests.support.silver_rows import arrow_types

HISTORIES = 6
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
T = TableSchema("d", "t", tuple(Column(name, ColumnType("int"), name != "id") for name in ("id", "b", "a")), ("id",))


def apply(mirror: dict, net: pa.Table, key) -> None:
    """What the MERGE does: bases are read before anything is written."""
    rows = net.to_pylist()
    before = dict(mirror)
    for row in sorted(rows, key=lambda row: not row[REMOVED]):
        values = {name: value for name, value in row.items() if not name.startswith("_")}
        if row[REMOVED]:
            mirror.pop(identity(key, values), None)
            continue
        if row[LOGGED] is not None:
            base = before[tuple(row[base_column(i)] for i in range(len(key)))]
            values = {
                name: value if is_logged == "1" else base[name]
                for (name, value), is_logged in zip(values.items(), row[LOGGED], strict=True)
            }
        mirror[identity(key, values)] = values


def test_images_share_the_names_of_a_wide_table(tmp_path):
    """Each comes with all of them, and 30,000 changes would need more room than Arrow has for one column."""
    names = ["id", *(f"{i:064}" for i in range(500))]
    wide = TableSchema("d", "w", tuple(Column(name, ColumnType("int"), name != "id") for name in names), ("id",))
    rows = [({"id": n}, {names[1]: n}) for n in range(300)]
    (batch,) = silver(tmp_path, Log("mysql", [Transaction([Update(wide, rows)])])).to_batches()
    shared = with_shared_names(batch)
    assert batch.nbytes > 10 << 20 and shared.nbytes < 1 << 20
    updates = pc.indices_nonzero(pc.equal(batch["op"], "UPDATE")).to_numpy()
    found = (decode_images(each["after"], {names[1]: pa.int32()}, updates) for each in (batch, shared))
    assert next(found) == next(found) == [pa.array(range(300), pa.int32())]


@FLAVORS
def test_mirrors_are_the_same_whatever_the_images_have(tmp_path, seed, flavor, history_number):
    random = Random(f"{seed} {history_number}")
    history = random_history(seed + history_number, tables=2)
    tables = {name: schema for name, schema in history.schemas.items() if not altered(history, name)}
    log = Log(flavor, with_partial_rows(history.items, random, flavor))
    found = silver(tmp_path, log)
    assert not pc.any(pc.equal(found["op"], "REFUSED")).as_py()
    for name, schema in tables.items():
        mine = pc.and_(pc.equal(found["database"], name[0]), pc.equal(found["table"], name[1]))
        changes = found.filter(mine).select(list(CHANGE_COLUMNS))
        mirror: dict = {}
        start = 0
        while start < len(changes):
            size = random.choice((1, 3, 10, 1000))
            part = changes.slice(start, size)
            batches = part.to_batches(max_chunksize=random.choice((2, 1000)))
            net = partial_net_effect(batches[::-1], arrow_types(schema), schema.primary_key)
            assert effects(net, schema.primary_key) == oracle(part, schema)
            apply(mirror, net, schema.primary_key)
            start += size
        expected = [canonical_row(row) for row in history.tables[name].values()]
        assert sorted(map(canonical_row, mirror.values())) == sorted(expected)


def effects(net: pa.Table, key) -> dict:
    """Key -> what is in ``net``, as ``reduce`` says it."""
    found = {}
    for row in net.to_pylist():
        values = {name: value for name, value in row.items() if not name.startswith("_")}
        logged = row[LOGGED] or "1" * len(values)
        changed = canonical_row({name: values[name] for name, t in zip(values, logged, strict=True) if t == "1"})
        base = None if row[LOGGED] is None else tuple(row[base_column(i)] for i in range(len(key)))
        found[identity(key, values)] = DELETED if row[REMOVED] else (base, changed)
    return found


def oracle(changes: pa.Table, schema: TableSchema) -> dict:
    found = {}
    rows = (changes.slice(i, 1).combine_chunks().to_batches()[0] for i in range(len(changes)))
    for key, effect in reduce([row_change(row, schema) for row in rows], schema.primary_key).items():
        if isinstance(effect, Patch) and len(effect.changed) < len(schema.columns):
            found[key] = (effect.base, canonical_row(effect.changed))
        else:
            row = effect.changed if isinstance(effect, Patch) else effect
            found[key] = DELETED if effect is DELETED else (None, canonical_row(row))
    return found


def row_change(row: pa.RecordBatch, schema: TableSchema) -> RowChange:
    before, after = (image(row, side, schema) for side in ("before", "after"))
    op, tx_lsn, ordinal = (row.column(name)[0].as_py() for name in ("op", "tx_lsn", "ordinal"))
    is_partial = op == "UPDATE" and len(after) < len(schema.columns)
    return RowChange(op, schema.database, schema.table, before, after, tx_lsn, ordinal, is_partial)


def image(row: pa.RecordBatch, side: str, schema: TableSchema) -> dict | None:
    names = fields(pa.chunked_array([row.column(side)]))[0]
    if names is None:
        return None
    types = {name: kind for name, kind in arrow_types(schema).items() if name in names}
    return {name: a[0].as_py() for name, a in zip(types, decode_images(row.column(side), types), strict=True)}


def altered(history, name) -> bool:
    """Of such a table rows change without row events."""
    return any(
        getattr(item, "old", None) is not None and (item.old.database, item.old.table) == name for item in history.items
    )


@FLAVORS
def test_silver_has_what_the_log_tells(tmp_path, flavor):
    parts = [
        Insert(T, [{"id": 1, "a": 1, "b": None}]),
        Update(T, [({"id": 1}, {"b": 2})]),
        Update(T, [({"id": 1, "a": 1, "b": 2}, {"a": 3})]),
        Delete(T, [{"id": 1}]),
    ]
    found = silver(tmp_path, Log(flavor, [*created(), Transaction(parts)]))
    rows = found.filter(pc.is_in(found["op"], pa.array(["INSERT", "UPDATE", "DELETE"])))
    assert fields(rows["before"]) == [None, ["id"], ["a", "b", "id"], ["id"]]
    assert fields(rows["after"]) == [["a", "b", "id"], ["b", "id"], ["a", "b", "id"], None]
    assert rows["partial"].to_pylist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("change", "flavor", "reason"),
    [
        (Delete(T, [{"a": 1}]), "mysql", "a row event does not log column id, which names the row"),
        (Update(T, [({"b": 1}, {"b": 2})]), "mysql", "a row event does not log column id, which names the row"),
        (Insert(T, [{"a": 1}]), "mysql",
         "an INSERT does not log column id, and what it stored there is not known"),
    ],
)  # fmt: skip
def test_what_the_log_does_not_tell_is_refused(tmp_path, change, flavor, reason):
    text = "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, b INT, a INT DEFAULT 7)"
    found = silver(tmp_path, Log(flavor, [*created(text), Transaction([change])]))
    assert found.filter(pc.equal(found["op"], "REFUSED"))["refusal"].to_pylist() == [f"row-image: {reason}"]


GENERATED = TableSchema("d", "t", (*T.columns, Column("v", ColumnType("int"))), ("id",))
KEYLESS = TableSchema("d", "t", GENERATED.columns, ())
LACKS_V = "generated-column: the log leaves out values of generated columns: v"
MAYBE_REPLACE = (
    "row-image: an UPDATE with some of the columns may be a REPLACE, of which MariaDB does not log all; "
    "--partial-images replica trusts that columns without a value keep theirs, as a replica does"
)
BASE = {"id": 1, "b": 2, "a": 3}
BY_KEY, BY_ROW = (
    f"create table d.t (id int{key}, b int, a int, v int as (a + b))" for key in (" primary key", " not null")
)


@pytest.mark.parametrize(
    ("text", "change", "fields_before", "fields_after", "partial", "refusal"),
    [
        # MariaDB 11.8, FULL images
        (BY_KEY, Insert(GENERATED, [BASE | {"v": 5}]), None, ["a", "b", "id", "v"], False, None),
        (BY_KEY, Update(GENERATED, [(BASE, BASE | {"a": 4})]), ["a", "b", "id"], ["a", "b", "id"], False, LACKS_V),
        (BY_KEY, Delete(GENERATED, [BASE]), ["a", "b", "id"], None, False, None),
        (BY_ROW, Update(KEYLESS, [(BASE, BASE | {"a": 4})]), ["a", "b", "id"], ["a", "b", "id"], False, LACKS_V),
        (BY_ROW, Delete(KEYLESS, [BASE]), ["a", "b", "id"], None, False, LACKS_V),
        # FULL_NODUP and MINIMAL
        (BY_KEY, Update(GENERATED, [(BASE, {"a": 4})]), ["a", "b", "id"], ["a", "b", "id"], False, LACKS_V),
        (BY_KEY, Update(GENERATED, [({"id": 1}, {"a": 4})]), ["id"], ["a", "id"], True, LACKS_V),
        (BY_KEY, Update(GENERATED, [({"id": 1}, {"id": 1, "a": 4})]), ["id"], ["a", "id"], True,
         f"{LACKS_V}\n{MAYBE_REPLACE}"),
        (BY_KEY, Insert(GENERATED, [{"id": 1}]), None, ["a", "b", "id"], False, LACKS_V),
        (BY_KEY, Update(GENERATED, [({"id": 1}, {"id": 1, "v": 2})]), ["id"], ["id", "v"], True, MAYBE_REPLACE),
    ],
)  # fmt: skip
def test_what_mariadb_does_not_log_is_a_condition_of_the_change(
    tmp_path, text, change, fields_before, fields_after, partial, refusal
):
    found = silver(tmp_path, Log("mariadb", [*created(text), Transaction([change])]))
    rows = found.filter(pc.is_in(found["op"], pa.array(["INSERT", "UPDATE", "DELETE", "REFUSED"])))
    assert (fields(rows["before"]), fields(rows["after"])) == ([fields_before], [fields_after])
    assert (rows["partial"].to_pylist(), rows["refusal"].to_pylist()) == ([partial], [refusal])
    assert read_conditions(refusal) == {
        line.split(": ", 1)[0]: line.split(": ", 1)[1] for line in (refusal or "").splitlines()
    }


@FLAVORS
def test_a_column_that_an_insert_leaves_out_has_its_default(tmp_path, flavor):
    found = silver(tmp_path, Log(flavor, [*created(), Transaction([Insert(T, [{"id": 1}, {"id": 2}])])]))
    inserts = found.filter(pc.equal(found["op"], "INSERT")).select(list(CHANGE_COLUMNS))
    net = partial_net_effect(inserts.to_batches(), arrow_types(T), T.primary_key)
    assert net.select(["id", "b", "a", LOGGED]).to_pylist() == [
        {"id": 1, "b": None, "a": 7, LOGGED: None}, {"id": 2, "b": None, "a": 7, LOGGED: None},
    ]  # fmt: skip


def test_a_change_of_a_row_that_is_gone_is_a_contradiction(tmp_path):
    log = Log("mysql", [*created(), Transaction([Delete(T, [{"id": 1}]), Update(T, [({"id": 1}, {"a": 1})])])])
    found = silver(tmp_path, log)
    rows = found.filter(pc.is_in(found["op"], pa.array(["UPDATE", "DELETE"]))).select(list(CHANGE_COLUMNS))
    with pytest.raises(InternalError, match="is of a row that is gone"):
        partial_net_effect(rows.to_batches(), arrow_types(T), T.primary_key)


def created(text: str = "CREATE TABLE d.t (id INT PRIMARY KEY, b INT, a INT DEFAULT 7)"):
    return [Ddl("CREATE DATABASE d", "d"), Ddl(text, "d")]


def fields(images: pa.ChunkedArray) -> list:
    found = []
    for image in images.to_pylist():
        names = image and decode_metadata(image["metadata"])
        n = image and image["value"][1]
        found.append(image and [names[k] for k in image["value"][2 : 2 + n]])
    return found
