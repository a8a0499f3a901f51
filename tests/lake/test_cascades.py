"""Rows that foreign keys change without a row event, however the log is cut and wherever it is decoded."""

from __future__ import annotations

import json
from random import Random

import pytest

from mirrorlake.core.changes.parent_keys import LACKS_REFERENCED
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.jobs.run.replicate import run_all
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.cascade.matches import SET_ABOVE, UPDATED
from mirrorlake.lake.gold.control.register import REFUSED
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.net_effect import Sizes
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Delete, Log, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.ddl_log import ddl, insert, table
from tests.support.foreign_keys import ForeignKeyHistory
from tests.support.lake_runs import QUIET, LakeRun

TRANSACTIONS, TRANSACTIONS_LONG = 12, 1200
EPOCHS, EPOCHS_LONG = 2, 6
SIZES = {"driver": Sizes(), "workers": Sizes(local=0)}


@pytest.fixture(scope="module")
def history(seed, is_long) -> ForeignKeyHistory:
    return ForeignKeyHistory(f"{seed} cascades", TRANSACTIONS_LONG if is_long else TRANSACTIONS)


@pytest.mark.parametrize("where", [pytest.param("driver", marks=pytest.mark.long), "workers"])
def test_children_are_what_foreign_keys_left_of_them(spark, tmp_path, seed, is_long, history, where):
    run = LakeRun.up_to_silver(spark, Log("mariadb", history.items), tmp_path)
    commits = (
        spark.table(run.lake.names.silver_changes).where("op = 'COMMIT'").select("lsn").toArrow()["lsn"].to_pylist()
    )
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=1_000_000, sizes=SIZES[where])
    for lsn in sorted(Random(seed).sample(commits, (EPOCHS_LONG if is_long else EPOCHS) - 1)):
        list(hop.apply(up_to=lsn))
    list(hop.apply())
    hop.flush()
    assert run.gold() == history.rows()


@pytest.mark.parametrize("where", ["driver", pytest.param("workers", marks=pytest.mark.long)])
@pytest.mark.heavy
def test_a_parent_that_does_not_log_what_is_referenced_refuses_its_child(spark, tmp_path, where):
    parent, child = table("p", "id", "u"), table("c", "id", "u")
    items = (
        ddl("create database shop"),
        ddl("create table p (id int primary key, u int unique)"),
        ddl("create table c (id int primary key, u int, foreign key (u) references p (u) on delete cascade)"),
        insert(parent, (1, 1)), insert(child, (1, 1)), ddl("alter table p comment 'later', add w int"),
        Transaction([Delete(table("p", "id", "u", "w"), [{"id": 1}])]),
    )  # fmt: skip
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=1_000_000, sizes=SIZES[where])
    list(hop.apply())
    hop.flush()
    refused = {entry.table: (entry.code, entry.reason) for entry in run.register if entry.state == REFUSED}
    assert refused == {"c": ("foreign-key-cascade", LACKS_REFERENCED)}
    assert run.gold() == {("shop", "p"): []}


CHAINS = {"moved": "on update cascade", "nulled": "on update set null", "freed": "on delete set null"}
"""Of each, c references p, and g references what c's foreign key sets."""


@pytest.mark.long
def test_a_set_column_that_is_referenced_itself_refuses_the_lower_table(spark, tmp_path):
    both = "on delete cascade on update cascade"
    actions = {**CHAINS, "unchanged": "on update cascade", "removed": both}
    changes = {name: update_of(f"p_{name}", 1, 3) for name in ("moved", "nulled")}
    changes |= {name: Transaction([Delete(of_ints(f"p_{name}"), [{"id": 1, "v": 1}])]) for name in ("freed", "removed")}
    items = [ddl("create database shop")]
    for name, action in actions.items():
        lower, columns = both if action == both else "on update cascade", "id int primary key, v int unique"
        items += [
            ddl(f"create table p_{name} ({columns})"),
            ddl(f"create table c_{name} ({columns}, foreign key (v) references p_{name} (id) {action})"),
            ddl(f"create table g_{name} ({columns}, foreign key (v) references c_{name} (v) {lower})"),
            *(insert(of_ints(f"{level}_{name}"), (1, 1), (2, 2)) for level in "pcg"),
        ]
    items += [update_of("p_unchanged", 2, 2), *changes.values()]
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    run.apply()
    refused = {entry.table: (entry.code, entry.reason) for entry in run.register if entry.state == REFUSED}
    reasons = {"moved": UPDATED, "nulled": SET_ABOVE, "freed": SET_ABOVE}
    assert refused == {f"g_{name}": ("foreign-key-cascade", reason) for name, reason in reasons.items()}
    held = {name.table: [(row["id"], row["v"]) for row in map(json.loads, rows)] for name, rows in run.gold().items()}
    both_rows, second = [("1", "1"), ("2", "2")], [("2", "2")]
    assert held == {
        "p_moved": [("2", "2"), ("3", "1")], "c_moved": [("1", "3"), ("2", "2")],
        "p_nulled": [("2", "2"), ("3", "1")], "c_nulled": [("1", None), ("2", "2")],
        "p_freed": second, "c_freed": [("1", None), ("2", "2")],
        "p_removed": second, "c_removed": second, "g_removed": second,
        "p_unchanged": both_rows, "c_unchanged": both_rows, "g_unchanged": both_rows,
    }  # fmt: skip


GONE = "on delete cascade"
IN_ORDER = (
    ("p0", "id int primary key"), ("q0", "id int primary key"),
    ("p", f"id int primary key, a int, v int unique, foreign key (a) references p0 (id) {GONE}"),
    ("c", f"id int primary key, v int, foreign key (v) references p (v) {GONE} on update cascade"),
    ("s", "id int primary key, v int, foreign key (v) references p (v) on delete set null on update cascade"),
    ("d", f"id int primary key, a int, b int, u int, key (u), foreign key (a) references p0 (id) {GONE},"
          f" foreign key (b) references q0 (id) {GONE}"),
    ("g", f"id int primary key, u int, foreign key (u) references d (u) {GONE}"),
    ("nulled", f"id int primary key, v int unique, q int, foreign key (v) references p0 (id) on delete set null,"
               f" foreign key (q) references q0 (id) {GONE}"),
    ("moved", f"id int primary key, v int unique, q int, foreign key (v) references p0 (id) on update cascade,"
              f" foreign key (q) references q0 (id) {GONE}"),
    ("of_nulled", f"id int primary key, v int, foreign key (v) references nulled (v) {GONE}"),
    ("of_moved", f"id int primary key, v int, foreign key (v) references moved (v) {GONE}"),
)  # fmt: skip


@pytest.mark.heavy
def test_a_removed_row_gives_up_the_key_that_it_then_has_and_once(spark, tmp_path):
    """A MariaDB 10.11 has these rows after these changes."""
    p, d, nulled = table("p", "id", "a", "v"), table("d", "id", "a", "b", "u"), table("nulled", "id", "v", "q")

    def gone(name: str, number: int) -> Transaction:
        return Transaction([Delete(table(name, "id"), [{"id": number}])])

    def new_v(number: int, a: int, old: int, new: int) -> Transaction:
        before = {"id": number, "a": a, "v": old}
        return Transaction([Update(p, [(before, before | {"v": new})])])

    items = [
        ddl("create database shop"), *(ddl(f"create table {name} ({columns})") for name, columns in IN_ORDER),
        *(insert(table(name, "id"), *((n,) for n in range(1, 8))) for name in ("p0", "q0")),
        insert(p, (1, 1, 1), (2, 2, 2)), insert(table("c", "id", "v"), (1, 1)),
        insert(table("s", "id", "v"), (1, 1), (2, 2)), insert(d, (1, 3, 3, 5), (2, 4, 4, 5)),
        insert(table("g", "id", "u"), (1, 5)), insert(nulled, (1, 5, 5)),
        insert(table("moved", "id", "v", "q"), (1, 6, 6)),
        ddl("create table the_end_of_an_epoch (id int)"),
        new_v(1, 1, 1, 3), gone("p0", 1), gone("p0", 2), insert(p, (7, 7, 2)), new_v(7, 7, 2, 4),
        gone("p0", 3), insert(table("g", "id", "u"), (2, 5)), gone("q0", 3),
        gone("p0", 5), insert(table("p0", "id"), (5,)), insert(nulled, (2, 5, 7)),
        insert(table("of_nulled", "id", "v"), (1, 5)), gone("q0", 5),
        Transaction([Update(table("p0", "id"), [({"id": 6}, {"id": 9})])]),
        insert(table("of_moved", "id", "v"), (1, 9)), gone("q0", 6),
    ]  # fmt: skip
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    run.apply()
    refused = {entry.table: (entry.code, entry.reason) for entry in run.register if entry.state == REFUSED}
    reasons = {"of_nulled": SET_ABOVE, "of_moved": UPDATED}
    assert refused == {name: ("foreign-key-cascade", reason) for name, reason in reasons.items()}
    held = {name.table: [tuple(json.loads(row).values()) for row in rows] for name, rows in run.gold().items()}
    assert (held["c"], held["s"], held["p"]) == ([], [("1", None), ("2", None)], [("7", "7", "4")])
    assert (held["d"], held["g"]) == ([("4", "4", "2", "5")], [("2", "5")])
    assert (held["nulled"], held["moved"]) == ([("2", "7", "5")], [])


@pytest.mark.heavy
def test_a_reference_between_types_that_write_values_in_other_bytes_refuses_the_child(spark, tmp_path):
    """InnoDB takes the year 2001, stored as 101, for the number 101."""
    years = TableSchema("shop", "y", (Column("id", ColumnType("year"), nullable=False),), ("id",))
    numbers = TableSchema("shop", "n", (Column("id", ColumnType("tinyint", unsigned=True), nullable=False),), ("id",))
    items = (
        ddl("create database shop"), ddl("create table y (id year primary key)"),
        ddl("create table n (id tinyint unsigned primary key, foreign key (id) references y (id) on delete cascade)"),
        insert(years, (2001,)), insert(numbers, (101,)), Transaction([Delete(years, [{"id": 2001}])]),
    )  # fmt: skip
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    run.apply()
    assert {entry.table: entry.code for entry in run.register if entry.state == REFUSED} == {"n": "foreign-key-cascade"}


def of_ints(name: str) -> TableSchema:
    return table(name, "id", "v")


def update_of(name: str, old: int, new: int) -> Transaction:
    return Transaction([Update(of_ints(name), [({"id": old, "v": old}, {"id": new, "v": old})])])


def test_children_are_the_same_where_changes_are_still_in_memory(spark, tmp_path, history):
    write_logs(tmp_path / "logs", Log("mariadb", history.items))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run_all(run.lake, FileSource(run.logs), run.options(), QUIET)
    assert run.gold() == history.rows()
