"""No text of a source becomes SQL: every statement of the source code is followed back to its parts (``sql_flow``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sql_flow import Flow, source_of

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "mirrorlake"
BEGIN = """
from mirrorlake.core.sql_text import Sql, literal, quote
WORD, TEMPLATE = "DELETE", "a = {}"
Ask = Callable[[Sql], list[tuple]]
@dataclass
class Column:
    name: str
    n: int
    labels: tuple[str, ...]
@dataclass
class Step:
    sql: Sql
    why: str
    fails: Sql | None = None
def takes(sql: Sql, why: str) -> Sql:
    return f"({sql})"
def types(columns: list[Column]) -> dict[str, Sql]:
    return {c.name: "int" for c in columns}
def f(session, column: Column, name: str, columns: list[Column], steps: list[Step], sql: Sql, ask: Ask):
"""
BAD = [
    'session.sql(f"SELECT {name}")',
    'session.sql(f"SELECT \'{column.name}\'")',
    'session.sql("SELECT " + name)',
    'session.sql("SELECT " + "a = \'" + column.name + "\'")',
    'session.sql("SELECT %s" % name)',
    'session.sql("SELECT %s, %d" % (name, 1))',
    'session.sql("SELECT {}".format(name))',
    'session.sql(TEMPLATE.format(column.name))',
    'session.sql("SELECT {x}".format(x=name))',
    'session.sql(", ".join(c.name for c in columns))',
    'session.sql(", ".join([quote(name), name]))',
    'session.sql(f"SELECT {quote(name)}, {name}")',
    'session.sql(f"SELECT {quote(name) if name else name}")',
    'session.sql(f"SELECT {sql}".replace("{}", name))',
    'session.sql(name)',
    'session.sql(column.labels[0])',
    "session.sql(f\"{', '.join(map(str, column.labels))}\")",
    'text = f"SELECT {name}"\n    session.sql(text)',
    'text = "SELECT "\n    text += name\n    session.sql(text)',
    'text = "SELECT "\n    for label in column.labels:\n        text = text + label\n    session.sql(text)',
    'for kind in types(columns):\n        session.sql(kind)',
    'session.table("t").where(f"a = \'{name}\'")',
    'session.table("t").filter("a = " + name)',
    'session.table("t").selectExpr("a", name)',
    'session.table("t").selectExpr(*column.labels)',
    'F.expr(f"max({name})")',
    'F.col(name)',
    'session.table(f"delta.{name}")',
    'session.createDataFrame([], f"{name} INT")',
    'session.mapInArrow(f, name)',
    'connection.query(f"SHOW VARIABLES LIKE \'{name}\'")',
    'cursor.execute("SELECT " + name)',
    'ask(name)',
    'takes(name, name)',
    'takes(why="x", sql=f"{name}")',
    'Step(name, "x")',
    'Step("x", "x", fails=name)',
    'replace(steps[0], sql=name)',
    'session.sql(steps[0].why)',
    'def inner() -> Sql:\n        return name',
    'def inner() -> list[Sql]:\n        return [c.name for c in columns]',
    'def inner() -> tuple[str, Sql]:\n        return "x", name',
    'def inner():\n        session.sql(name)',
    'text: Sql = name',
    '[session.sql(label) for label in column.labels]',
    'session.sql(f"SELECT {(found := name)}")',
    'with open(name) as text:\n        session.sql(text.read())',
    'session.sql(unknown(name))',
    'session.sql(f"SELECT {unknown(name)}")',
    '(lambda: session.sql(name))()',
]  # fmt: skip
GOOD = [
    'session.sql(f"SELECT {quote(name)} = {literal(name)}, {column.n}, {len(name)}, {WORD}")',
    'session.sql("SELECT " + quote(name) + TEMPLATE.format(literal(name)))',
    'session.sql(", ".join(quote(c.name) for c in columns))',
    'session.sql(", ".join(map(quote, column.labels)))',
    "session.sql(', '.join(f'{quote(n)} {kind}' for n, kind in types(columns).items()))",
    'session.sql(" OR ".join(step.sql for step in steps) or "true")',
    'text = "SELECT "\n    for label in column.labels:\n        text = text + literal(label)\n    session.sql(text)',
    'session.table("t").where(steps[0].fails).where(F.col("a") == name)',
    'raise ValueError(f"column {name}")',
    'Step(takes(sql, name), f"why {name}", fails=f"NOT {sql}")',
    'replace(steps[0], why=name, sql=takes(steps[0].sql, name))',
    'ask("SELECT %d" % column.n)',
    'cursor.execute("SELECT %s", (name,))',
]  # fmt: skip


def offences(sample: str) -> list[str]:
    quoting = (PACKAGE / "core" / "sql_text.py").read_text()
    return list(Flow({"core.sql_text": quoting, "lake.sample": f"{BEGIN}    {sample}\n"}).offences())


@pytest.mark.parametrize("sample", BAD)
def test_raw_text_in_sql_is_found(sample):
    assert offences(sample)


@pytest.mark.parametrize("sample", GOOD)
def test_quoted_text_in_sql_is_no_offence(sample):
    assert offences(sample) == []


def test_a_function_of_another_module_is_found_by_its_own_annotations():
    """Another class has a method of that name, which takes SQL where this function takes a name."""
    reader = "def read(name: str, sql: Sql) -> Sql:\n    return sql\n"
    other = "class Other:\n    def read(self, sql: Sql, name: str): ...\n"
    use = "from mirrorlake.lake import reader\ndef f(name: str, sql: Sql):\n    reader.read({})\n"
    found = {
        given: list(Flow({"lake.reader": reader, "lake.other": other, "lake.use": use.format(given)}).offences())
        for given in ("name, sql", "sql, name")
    }
    assert found == {"name, sql": [], "sql, name": ["lake.use:3: name"]}


def test_no_statement_of_the_source_code_has_raw_text_in_it():
    assert list(Flow(source_of(PACKAGE)).offences()) == []


FORGOTTEN = {
    "lake.gold.ddl.columns": ("quote(before.name)", "before.name"),
    "lake.gold.convert.labels": ("join(map(literal, texts))", "join(texts)"),
    "lake.gold.convert.column_values": ("literal(text.rstrip", "(text.rstrip"),
    "lake.gold.partition.rows": ("literal(found[1])", "found[1]"),
    "lake.gold.ddl.steps": ("AS {quote(name)}", "AS {name}"),
    "lake.gold.control.table": ("{quote(name)} {kind}", "{name} {kind}"),
    "lake.gold.merge.merge": ("join(map(quote, columns))", "join(columns)"),
    "lake.gold.syncpoint.syncpoints": ("literal(point.name)", "point.name"),
    "lake.delta.names": ("literal(table[0])", "table[0]"),
    "lake.bronze.snapshots": (".format(quote(column.name))", ".format(column.name)"),
    "jobs.inspect.trace": ("{quote(self.name)}", "{self.name}"),
    "mysql.source_tables": ("{quote(*name)}", "{name[1]}"),
    "mysql.binlog_dump": ("{server_literal(end.log_file)}", "'{end.log_file}'"),
}


def test_it_is_found_where_the_source_code_forgets_to_quote():
    sources = source_of(PACKAGE)
    for module, (quoted, raw) in FORGOTTEN.items():
        assert quoted in sources[module], module
        sources[module] = sources[module].replace(quoted, raw, 1)
    assert {where.split(":")[0] for where in Flow(sources).offences()} == set(FORGOTTEN)
