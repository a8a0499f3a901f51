"""Describe the rows after a table map: the map's own data, completed by the definition in force.

    binlog_row_metadata        from the map                          from the definition
    FULL                       all                                   what the log cannot express: UUID, INET6, INET4
    MINIMAL (MySQL's default)  signedness, character sets            names, ENUM and SET labels, key
    NO_LOG (MariaDB's default) wire types, sizes, nullability only   the rest

Both must agree where they overlap; a table whose map and definition differ is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirrorlake.core.binlog.rows.table_map import BEFORE_5_6, TableMap, column_type, decode_labels
from mirrorlake.core.binlog.rows.table_map_metadata import ENUM, SET
from mirrorlake.core.schema.charsets import BINARY, OTHER, charset_of_collation_id
from mirrorlake.core.schema.column_patterns import NO_COLUMNS, ColumnPatterns
from mirrorlake.core.schema.tables import Column, TableSchema, may_be_utf8mb4, same_definition, why_not_mirrored
from mirrorlake.core.schema.timeline import LEFT_OUT, LeftOut
from mirrorlake.core.schema.types import ColumnType, label_bytes

UNDEFINED = "needs-first-copy"
"""Code for rows that need a definition, and none is known."""
_LOGGED_AS = {
    "uuid": ColumnType("binary", length=16),
    "inet6": ColumnType("binary", length=16),
    "inet4": ColumnType("binary", length=4),
}
"""MariaDB's types that the log shows as another type. It also shows VECTOR as VARBINARY of 4 bytes per dimension."""


@dataclass(frozen=True, slots=True)
class MappedTable:
    """schema: None if it is not known. refusal: (code, reason) why the rows are not decoded. is_defined: the schema
    has what only a definition has, such as defaults. With neither schema nor refusal the rows are left out."""

    map: TableMap
    flavor: str
    schema: TableSchema | None
    refusal: tuple[str, str] | None
    is_defined: bool

    @property
    def schema_id(self) -> int | None:
        return self.schema.schema_id if self.schema else None


class _Unknown(Exception):
    """Neither the map nor a definition has the value."""


def describe(
    seen: TableMap, known: TableSchema | LeftOut | None, flavor: str, hidden: ColumnPatterns = NO_COLUMNS
) -> MappedTable:
    """Describe a table. known: the definition in force, None if there is none. hidden: a table with such columns needs
    a definition, because only that says what is generated from them."""
    if known is LEFT_OUT:
        return MappedTable(seen, flavor, None, None, False)
    if known is not None and len(known.columns) != len(seen.wire_types):
        reason = f"the table map has {len(seen.wire_types)} columns, the definition {len(known.columns)}"
        return MappedTable(seen, flavor, None, ("definition-mismatch", reason), True)
    try:
        schema = _schema(seen, known, flavor)
        if known is None and any(column.is_hidden or column.is_hashed for column in hidden.marked(schema).columns):
            raise _Unknown("it has hidden columns, and no definition is known")
    except _Unknown as unknown:
        code = UNDEFINED if known is None else "row-metadata"
        return MappedTable(seen, flavor, None, (code, str(unknown)), known is not None)
    refusal = why_not_mirrored(schema)
    difference = None if refusal or known is None else _difference(seen, schema, known)
    if difference:
        refusal = ("definition-mismatch", difference)
    return MappedTable(seen, flavor, schema, refusal, known is not None)


def _schema(seen: TableMap, known: TableSchema | None, flavor: str) -> TableSchema:
    if known is None:
        if not seen.fields.is_complete:
            raise _Unknown("the table map lacks column names, signedness or character sets, and no definition is known")
        blank = Column("", ColumnType(""))
        known = TableSchema(seen.database, seen.table, (blank,) * len(seen.wire_types), ())
    columns = tuple(_column(seen, i, column, flavor) for i, column in enumerate(known.columns))
    has_names = bool(seen.fields.names)
    key = tuple(columns[i].name for i in seen.fields.key) if has_names else known.primary_key
    if columns == known.columns and key == known.primary_key:
        return known
    return replace(known, columns=columns, primary_key=key)


def _column(seen: TableMap, i: int, known: Column, flavor: str) -> Column:
    fields = seen.fields
    name = fields.names[i] if fields.names else known.name
    unsigned = fields.unsigned.get(i, known.type.unsigned)
    charset = _charset(seen, i, known, flavor)
    labels = decode_labels(fields.labels[i], charset) if i in fields.labels else known.type.labels
    kind = column_type(
        seen.wire_types[i], seen.metadata[i], unsigned, OTHER if labels is None else charset, labels or ()
    )
    is_vector = flavor == "mariadb" and known.type.name == "vector" and kind.name == "varbinary"
    is_old = _is_old_with_fraction(seen.wire_types[i], known.type, flavor)
    if is_vector or is_old or _LOGGED_AS.get(known.type.name) == kind:
        kind = known.type
    if (name, kind, seen.nullable[i]) == (known.name, known.type, known.nullable):
        return known
    return replace(known, name=name, type=kind, nullable=seen.nullable[i])


def _is_old_with_fraction(wire_type: int, known: ColumnType, flavor: str) -> bool:
    """Is it MariaDB's storage before 10.1 with a fraction, which no table map shows?"""
    return flavor == "mariadb" and bool(known.fraction_digits) and BEFORE_5_6.get(wire_type) == known.name


def _charset(seen: TableMap, i: int, known: Column, flavor: str) -> str:
    if i in seen.fields.collations:
        return charset_of_collation_id(seen.fields.collations[i], flavor)
    if known.type.has_charset and known.type.charset is None:
        raise _Unknown(f"neither the table map nor a definition has the character set of column {known.name}")
    if may_be_utf8mb4(known.type) and known.type.length and seen.metadata[i] == 4 * known.type.length:
        return "utf8mb4"
    return known.type.charset or BINARY


def _difference(seen: TableMap, schema: TableSchema, known: TableSchema) -> str | None:
    for column, kind, n_bytes in zip(schema.columns, seen.wire_types, seen.metadata, strict=True):
        if kind in (ENUM, SET) and n_bytes != label_bytes(column.type.name, len(column.type.labels)):
            return f"{n_bytes} bytes of column {column.name} do not fit its {len(column.type.labels)} labels"
    return same_definition(schema, known)
