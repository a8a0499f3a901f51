"""Hashed columns (``columns: hash``): no file of silver or gold has a value of them, and equal values stay equal."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.hmac_sha256 import digest_key
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.jobs.run import column_secret
from mirrorlake.jobs.source_look import defined, differences
from mirrorlake.lake.bronze.snapshots import new_snapshot_id, write_snapshot
from mirrorlake.lake.bronze.table import end_lsn
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.delta.types import cell_types
from mirrorlake.lake.silver.overrides import give
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row
from tests.support.crash import apply_with_kills
from tests.support.digests import digest_of
from tests.support.files_of_lake import files_with
from tests.support.lake_runs import LakeRun

SECRET = "the secret of the tests"
COLUMNS = {"shop.*.mail": "hash", "shop.accounts.number": "hash", "shop.*.code": "hash", "shop.older.[!i]*": "hash"}
TYPES = {
    "id": ColumnType("int"), "mail": ColumnType("varchar", length=40, charset="latin1"), "v": ColumnType("int"),
    "number": ColumnType("int"), "code": ColumnType("varbinary", length=9), "rate": ColumnType("float"),
}  # fmt: skip
PHRASE = "Jürgen.Müller@example.org"


def table(name: str, *columns: str) -> TableSchema:
    return TableSchema("shop", name, tuple(Column(c, TYPES[c], c != columns[0]) for c in columns), columns[:1])


PEOPLE, ACCOUNTS = table("people", "id", "mail", "v"), table("accounts", "number", "v")
UTF8 = TableSchema(
    "shop", "people", (*PEOPLE.columns[:1], Column("mail", ColumnType("varchar", length=90, charset="utf8mb4")),
                       PEOPLE.columns[2], Column("code", TYPES["code"])), ("id",),
)  # fmt: skip
LOG = Log("mysql", [
    Ddl("CREATE DATABASE shop CHARACTER SET latin1"),
    Ddl("CREATE TABLE people (id INT NOT NULL PRIMARY KEY, mail VARCHAR(40), v INT)", "shop"),
    Ddl("CREATE TABLE accounts (number INT NOT NULL PRIMARY KEY, v INT)", "shop"),
    Ddl("CREATE TABLE texts (id INT NOT NULL PRIMARY KEY, mail VARCHAR(40))", "shop"),
    Transaction([Insert(PEOPLE, [{"id": n, "mail": mail, "v": n} for n, mail in ((1, PHRASE), (2, None), (3, PHRASE))]),
                 Insert(ACCOUNTS, [{"number": 4711, "v": 1}, {"number": -5, "v": 2}, {"number": 6, "v": 3}])]),
    Transaction([Update(ACCOUNTS, [({"number": 4711, "v": 1}, {"number": 4711, "v": 10}),
                                   ({"number": 6, "v": 3}, {"number": 7, "v": 3})]),
                 Delete(ACCOUNTS, [{"number": -5, "v": 2}])]),
    Ddl("ALTER TABLE people CONVERT TO CHARACTER SET utf8mb4, MODIFY mail VARCHAR(90), ADD code VARBINARY(9)", "shop"),
    Transaction([Insert(UTF8, [{"id": 4, "mail": PHRASE, "v": 4, "code": b"\xff\x00"}])]),
    Ddl("ALTER TABLE people RENAME COLUMN mail TO address", "shop"),
    Ddl("ALTER TABLE texts MODIFY mail INT", "shop"),
])  # fmt: skip
OLDER = ("id", "mail", "a`b${c}", "price", "ratio", "rate", "day")
CREATE = """CREATE TABLE `older` (
  `id` int NOT NULL,
  `mail` varchar(40) CHARACTER SET latin1 DEFAULT NULL,
  `a``b${c}` int(5) unsigned zerofill DEFAULT NULL,
  `price` decimal(9,2) unsigned zerofill DEFAULT NULL,
  `ratio` double DEFAULT NULL,
  `rate` float DEFAULT NULL,
  `day` date DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"""

pytestmark = pytest.mark.xdist_group("hashed")


def digest(value: bytes | str | float) -> str | None:
    return digest_of(SECRET, value)


def give_secret(monkeypatch, secret: str | None) -> None:
    monkeypatch.setattr(column_secret, "_taken", secret)


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory, is_long) -> LakeRun:
    """All hops, killed after each commit, or in the short form after every fifth one."""
    folder, every = tmp_path_factory.mktemp("hashed"), 1 if is_long else 5
    write_logs(folder / "logs", LOG)
    with pytest.MonkeyPatch.context() as patch:
        give_secret(patch, SECRET)
        run = LakeRun(spark, folder / "logs", folder / "lake", columns=COLUMNS)
        run.ingest()
        take_snapshot(run)
        run.assemble()
        assert apply_with_kills(run, patch, every) >= 20 // every
    return run


def take_snapshot(run: LakeRun) -> None:
    place = end_lsn(read_progress(run.spark, run.lake.names.bronze_events)) - 1
    schema, reason = defined(CREATE, ("shop", "older"), "mysql", run.lake.name_case, run.lake.hidden)
    assert reason is None
    copy_id, types = new_snapshot_id(schema, place), cell_types(schema)
    values = (["1", "2"], [PHRASE, None], ["00042", None], ["0000000.50", None], ["-0", "0.1"], ["0.5", None],
              [None, "2024-02-00"])  # fmt: skip
    cells = list(map(pa.array, values))
    write_snapshot(run.lake, copy_id, schema, [pa.RecordBatch.from_arrays(cells, schema=types)], place)
    give(run.lake, Answer(1, place, "shop", "older", CREATE, copy_id))


@pytest.mark.heavy
def test_mirrors_have_digests_and_rows_are_found_by_them(run):
    """Those of a snapshot, too: of texts in another character set, and of numbers without the zeros of ZEROFILL."""
    rate = digest_of(SECRET, 0.5, TYPES["rate"])
    people = [
        {"id": n, "address": mail and digest(mail), "v": n, "code": code}
        for n, mail, code in ((1, PHRASE, None), (2, None, None), (3, PHRASE, None), (4, PHRASE, digest(b"\xff\x00")))
    ]
    assert run.gold() == {
        ("shop", "people"): sorted(map(canonical_row, people)),
        ("shop", "accounts"): sorted(
            canonical_row({"number": digest(number), "v": v}) for number, v in ((4711, 10), (7, 3))
        ),
        ("shop", "older"): [
            canonical_row(dict(zip(OLDER, row, strict=True)))
            for row in (
                (1, digest(PHRASE), digest(42), digest("0.50"), digest(0.0), rate, None),
                (2, None, None, None, digest(0.1), None, digest("2024-02-00")),
            )
        ],
    }
    refused = run.register.get(("shop", "texts"))
    reason = "column mail is hashed, and the statement may change its values"
    assert (refused.state, refused.code, refused.reason) == ("refused", "needs-resync", reason)


def test_no_file_of_silver_or_gold_has_a_value_and_none_has_the_secret(run):
    assert files_with(run.folder, PHRASE) == []
    states = digest_key(SECRET.encode()).states
    assert files_with(run.folder, SECRET) == files_with(run.folder, str(states[0])) == []


def test_a_definition_of_the_source_is_that_of_the_mirror(run):
    """``verify`` compares them so."""
    now = replace(UTF8, columns=tuple(replace(c, name="address" if c.name == "mail" else c.name) for c in UTF8.columns))
    assert differences(now, run.register.get(("shop", "people")).schema) == []


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (None, UsageError, "column-secret: `columns` hashes columns, and there is no secret"),
        ("short", UsageError, "column-secret: the secret of hashed columns has fewer than 16 characters"),
        (
            SECRET + "!",
            RefusedError,
            "lake-column-secret: the secret of hashed columns is not the one that the lake has",
        ),
    ],
)
def test_no_secret_a_short_one_or_another_one_stops_a_run(run, monkeypatch, given, error, said):
    give_secret(monkeypatch, given)
    with pytest.raises(error) as raised:
        LakeRun(run.spark, run.logs, run.folder, columns=COLUMNS)
    assert str(raised.value).startswith(said)
