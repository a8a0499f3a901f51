"""Random ALTER TABLE statements that are about columns, keys and character sets."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.support.random_columns import another_type, family, random_attributes, random_column
from tests.support.random_tables import quoted
from tests.support.source_schema import SourceColumn, SourceTable

_NAMES = ("amount", "Name", "größe", "order", "a b", "note_2", "createdAt", "x", "price", "Price2", "flag", "memo")
_CHARSETS = ("latin1", "utf8mb4", "utf8mb4 COLLATE utf8mb4_bin", "utf8mb3")
_KEY_FAMILIES = ("integer", "decimal", "text", "date")
_EXPRESSIONS = ("(1 + 2)", "(CONCAT('a', 'b'))", "(UPPER('x'))")


def random_alter(random: Random, table: SourceTable, flavor: str) -> str:
    clauses = [random.choice(_CLAUSES)(random, table, flavor) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    modes = ("", "", ", ALGORITHM=COPY") if flavor == "mysql" else ("", "", ", ALGORITHM=COPY", ", FORCE")
    return f"ALTER TABLE {quoted(table.database, table.name)} {', '.join(filter(None, clauses)) or 'FORCE'}" + (
        random.choice(modes)
    )


def unused_name(random: Random, table: SourceTable) -> str:
    taken = {column.name.casefold() for column in table.columns}
    free = [name for name in _NAMES if name.casefold() not in taken]
    return random.choice(free) if free else f"c{random.randrange(1000)}"


def _place(random: Random, table: SourceTable) -> str:
    if random.random() < 0.6:
        return ""
    return random.choice((" FIRST", f" AFTER {quoted(random.choice(table.columns).name)}"))


def _some(random: Random, table: SourceTable) -> SourceColumn:
    """A column outside the primary key; at times one of the key."""
    plain = table.plain_columns
    return random.choice(plain if plain and random.random() < 0.93 else list(table.columns))


def _as_it_is(column: SourceColumn) -> str:
    charset = f" CHARACTER SET {column.charset}" if column.charset else ""
    return f"{column.type}{charset}{'' if column.nullable else ' NOT NULL'}"


def _converted(random: Random, column: SourceColumn) -> str:
    type_sql = another_type(random, column.kind)
    return type_sql + random_attributes(random, type_sql)


def _add(random: Random, table: SourceTable, flavor: str) -> str:
    name, definition = quoted(unused_name(random, table)), random_column(random)
    if random.random() < 0.07:
        definition = f"{random.choice(('VARCHAR(20)', 'VARCHAR(9)'))} DEFAULT {random.choice(_EXPRESSIONS)}"
    return f"ADD COLUMN {name} {definition}{_place(random, table)}"


def _add_generated(random: Random, table: SourceTable, flavor: str) -> str:
    numbers = [c for c in table.plain_columns if family(c.kind) in ("integer", "decimal")]
    if not numbers or random.random() < 0.5:
        return _add(random, table, flavor)
    expression = random.choice(("{} + 1", "{} * 2", "{} - 7", "COALESCE({}, 5)"))
    source = quoted(random.choice(numbers).name)
    kind = random.choice(("VIRTUAL", "STORED"))
    return f"ADD {quoted(unused_name(random, table))} DECIMAL(30,6) AS ({expression.format(source)}) {kind}"


def _drop(random: Random, table: SourceTable, flavor: str) -> str:
    return f"DROP COLUMN {quoted(_some(random, table).name)}" if len(table.columns) > 3 else ""


def _modify(random: Random, table: SourceTable, flavor: str) -> str:
    column = _some(random, table)
    return "" if column.is_generated else (
        f"MODIFY COLUMN {quoted(column.name)} {_converted(random, column)}{_place(random, table)}"
    )  # fmt: skip


def _change(random: Random, table: SourceTable, flavor: str) -> str:
    column = _some(random, table)
    definition = _as_it_is(column) if random.random() < 0.5 else _converted(random, column)
    return "" if column.is_generated else (
        f"CHANGE {quoted(column.name)} {quoted(unused_name(random, table))} {definition}{_place(random, table)}"
    )  # fmt: skip


def _rename(random: Random, table: SourceTable, flavor: str) -> str:
    return f"RENAME COLUMN {quoted(_some(random, table).name)} TO {quoted(unused_name(random, table))}"


def _swap(random: Random, table: SourceTable, flavor: str) -> str:
    if len(table.plain_columns) < 2:
        return ""
    one, other = (quoted(column.name) for column in random.sample(table.plain_columns, 2))
    return f"RENAME COLUMN {one} TO {other}, RENAME COLUMN {other} TO {one}"


def _default(random: Random, table: SourceTable, flavor: str) -> str:
    column = quoted(_some(random, table).name)
    return f"ALTER {column} {random.choice(('DROP DEFAULT', 'SET DEFAULT 1', 'SET DEFAULT NULL'))}"


def _key(random: Random, table: SourceTable, flavor: str) -> str:
    others = [name for name in table.keys if name != "PRIMARY"]
    if others and random.random() < 0.4:
        return f"DROP KEY {quoted(random.choice(others))}"
    column = random.choice(table.columns)
    length = "(3)" if column.kind.endswith(("text", "blob")) else ""
    kind = random.choice(("KEY", "KEY", "UNIQUE KEY"))
    return f"ADD {kind} k{random.randrange(1000)} ({quoted(column.name)}{length})"


def _primary_key(random: Random, table: SourceTable, flavor: str) -> str:
    if table.partitions and random.random() < 0.8:
        return ""
    more = [c for c in table.plain_columns if family(c.kind) in _KEY_FAMILIES and not c.kind.endswith("text")]
    if more and len(table.primary_key) == 1:
        names = [table.primary_key[0], random.choice(more).name]
        random.shuffle(names)
    else:
        names = table.primary_key[: random.choice((1, 2))]
    return f"DROP PRIMARY KEY, ADD PRIMARY KEY ({', '.join(map(quoted, names))})"


def _charset(random: Random, table: SourceTable, flavor: str) -> str:
    return random.choice(("CONVERT TO CHARACTER SET ", "CONVERT TO CHARACTER SET ", "CHARACTER SET ")) + random.choice(
        _CHARSETS
    )


def _other(random: Random, table: SourceTable, flavor: str) -> str:
    return random.choice(("COMMENT 'x'", "ENGINE=InnoDB", "ROW_FORMAT=DYNAMIC", "AUTO_INCREMENT=100", "FORCE"))


_CLAUSES: tuple[Callable[[Random, SourceTable, str], str], ...] = (
    *(_add,) * 5, *(_add_generated,), *(_drop,) * 3, *(_modify,) * 7, *(_change,) * 3, *(_rename,) * 2, *(_swap,),
    *(_default,), *(_key,) * 2, *(_primary_key,), *(_charset,), *(_other,),
)  # fmt: skip
