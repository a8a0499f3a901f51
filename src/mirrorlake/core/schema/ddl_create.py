"""CREATE TABLE: columns, keys, table options, and what may follow them."""

from __future__ import annotations

from mirrorlake.core.schema.charsets import charset_of_collation_name
from mirrorlake.core.schema.ddl_columns import read_column, read_reference, skip_check
from mirrorlake.core.schema.ddl_lexer import Kind
from mirrorlake.core.schema.ddl_statements import CreateTable, KeySpec
from mirrorlake.core.schema.ddl_tokens import ParseError, Tokens
from mirrorlake.core.schema.ddl_types import read_charset, read_collation

_LOSSLESS_ENGINES = frozenset(
    ("innodb", "myisam", "aria", "memory", "heap", "rocksdb", "tokudb", "ndb", "ndbcluster", "archive", "csv")
)
_VALUE_OPTIONS = frozenset(
    """AUTO_INCREMENT AUTOEXTEND_SIZE AVG_ROW_LENGTH CHECKSUM TABLE_CHECKSUM COMMENT COMPRESSION CONNECTION
    DELAY_KEY_WRITE ENCRYPTION ENCRYPTED ENCRYPTION_KEY_ID ENGINE_ATTRIBUTE IETF_QUOTES INSERT_METHOD
    KEY_BLOCK_SIZE MAX_ROWS MIN_ROWS PACK_KEYS PAGE_CHECKSUM PAGE_COMPRESSED PAGE_COMPRESSION_LEVEL PASSWORD
    ROW_FORMAT SECONDARY_ENGINE SECONDARY_ENGINE_ATTRIBUTE STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES
    TABLESPACE TRANSACTIONAL""".split()
)
_SELECT_WORDS = ("AS", "SELECT", "IGNORE", "REPLACE", "WITH", "VALUES", "TABLE")


def read_create_table(tokens: Tokens, or_replace: bool) -> CreateTable:
    """Behind CREATE TABLE."""
    if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
    table = CreateTable(tokens.table_name(), if_not_exists, or_replace)
    try:
        _read_definition(tokens, table)
    except ParseError as error:
        table.unsupported = str(error)
    return table


def _read_definition(tokens: Tokens, table: CreateTable) -> None:
    skip_wait(tokens)
    if tokens.sees("LIKE") or tokens.sees("(", "LIKE"):
        table.unsupported = "CREATE TABLE ... LIKE"
        return
    if tokens.sees("("):
        _read_items(tokens, table)
        if table.unsupported:
            return
    _read_table_options(tokens, table)
    if tokens.accept("PARTITION", "BY"):
        _skip_partitions(tokens, table)
    if tokens.accept("START", "TRANSACTION") or any(tokens.sees(word) for word in _SELECT_WORDS) or tokens.sees("("):
        table.unsupported = "CREATE TABLE ... SELECT"
    elif not tokens.at_end:
        raise tokens.unexpected()


def skip_wait(tokens: Tokens) -> None:
    """WAIT n or NOWAIT behind a table's name, if there."""
    if tokens.accept("WAIT"):
        tokens.number()
    else:
        tokens.accept("NOWAIT")


def _read_items(tokens: Tokens, table: CreateTable) -> None:
    tokens.expect("(")
    if tokens.sees("SELECT") or tokens.sees("WITH"):
        table.unsupported = "CREATE TABLE ... SELECT"
        return
    _read_item(tokens, table)
    while tokens.accept(","):
        _read_item(tokens, table)
    tokens.expect(")")


def _read_item(tokens: Tokens, table: CreateTable) -> None:
    if read_key(tokens, table):
        return
    if tokens.accept("PERIOD", "FOR"):
        table.unsupported = f"PERIOD FOR {tokens.name()}"
        tokens.skip_parentheses()
        return
    column = read_column(tokens)
    table.columns.append(column)
    table.cascade = table.cascade or column.cascade
    table.unsupported = table.unsupported or column.unsupported
    if column.is_primary or column.is_unique:
        table.keys.append(KeySpec((column.name,), column.is_primary))


def read_key(tokens: Tokens, table: CreateTable) -> bool:
    """A key, constraint or check, into ``table.keys`` or ``table.cascade``. False: a column comes instead."""
    has_constraint = tokens.accept("CONSTRAINT")
    if has_constraint:
        tokens.accept("IF", "NOT", "EXISTS")
    if has_constraint and not _sees_constraint_kind(tokens):
        tokens.name()
    if tokens.accept("PRIMARY", "KEY"):
        _read_key_parts(tokens, table, is_primary=True)
    elif tokens.accept("UNIQUE"):
        tokens.accept_any("INDEX", "KEY")
        _read_key_parts(tokens, table, is_primary=False)
    elif tokens.accept("FOREIGN", "KEY"):
        _skip_key_name(tokens)
        tokens.skip_parentheses()
        tokens.expect("REFERENCES")
        table.cascade = read_reference(tokens) or table.cascade
    elif tokens.sees("CHECK", "("):
        tokens.next()
        skip_check(tokens)
    elif not has_constraint and _accept_plain_index(tokens):
        _read_key_parts(tokens, None, is_primary=False)
    elif has_constraint:
        raise tokens.unexpected()
    else:
        return False
    return True


def _sees_constraint_kind(tokens: Tokens) -> bool:
    patterns = (("PRIMARY", "KEY"), ("UNIQUE",), ("FOREIGN", "KEY"), ("CHECK", "("))
    return any(tokens.sees(*pattern) for pattern in patterns)


def _accept_plain_index(tokens: Tokens) -> bool:
    for word in ("FULLTEXT", "SPATIAL"):
        if tokens.accept(word):
            tokens.accept_any("INDEX", "KEY")
            return True
    for pattern in (("VECTOR", "INDEX"), ("VECTOR", "KEY"), ("INDEX",), ("KEY",)):
        if tokens.accept(*pattern):
            return True
    return False


def _skip_key_name(tokens: Tokens) -> None:
    tokens.accept("IF", "NOT", "EXISTS")
    if not (tokens.sees("(") or tokens.sees("USING") or tokens.sees("TYPE")):
        tokens.name()
    while tokens.accept("USING") or tokens.accept("TYPE"):
        tokens.name()


def _read_key_parts(tokens: Tokens, table: CreateTable | None, is_primary: bool) -> None:
    """table None: an index that is no key, only to be stepped over."""
    _skip_key_name(tokens)
    if table is None:
        tokens.skip_parentheses()
    else:
        table.keys.append(read_unique_key(tokens, is_primary, table))
    while not (tokens.at_end or tokens.sees(",") or tokens.sees(")")):
        tokens.next()


def read_unique_key(tokens: Tokens, is_primary: bool, table: CreateTable) -> KeySpec:
    """The parenthesised parts of a PRIMARY KEY or UNIQUE."""
    names, is_whole = [], True
    tokens.expect("(")
    while True:
        if tokens.sees("("):
            tokens.skip_parentheses()
            is_whole = False
        else:
            names.append(tokens.name())
        if tokens.sees("("):
            tokens.skip_parentheses()
            is_whole = False
        if tokens.accept("WITHOUT", "OVERLAPS"):
            table.unsupported = "WITHOUT OVERLAPS"
        tokens.accept_any("ASC", "DESC")
        if tokens.accept(")"):
            return KeySpec(tuple(names), is_primary, is_whole)
        tokens.expect(",")


def _read_table_options(tokens: Tokens, table: CreateTable) -> None:
    while True:
        option = read_table_option(tokens)
        if option is None:
            return
        table.charset = option.get("charset", table.charset)
        table.unsupported = option.get("unsupported", table.unsupported)
        tokens.accept(",")


def read_table_option(tokens: Tokens) -> dict | None:
    """One table option: {} when rows do not depend on it, else its ``charset`` or why it is ``unsupported``.

    None: what comes is no table option.
    """
    at_default = tokens.sees("DEFAULT")
    if at_default:
        tokens.next()
    if charset := read_charset(tokens):
        return {"charset": None if charset == "default" else charset}
    if collation := read_collation(tokens):
        if collation.lower() == "default":
            return {"charset": None}
        charset = charset_of_collation_name(collation)
        return {"charset": charset} if charset else {}
    if at_default:
        raise tokens.unexpected()
    if tokens.accept("WITH", "SYSTEM", "VERSIONING"):
        return {"unsupported": "system versioning"}
    if tokens.accept_any("ENGINE", "TYPE"):
        tokens.accept("=")
        engine = tokens.next().text
        return {} if engine.lower() in _LOSSLESS_ENGINES else {"unsupported": f"ENGINE={engine}"}
    if tokens.accept("SEQUENCE"):
        return {"unsupported": "SEQUENCE"}
    if tokens.accept("UNION"):
        tokens.accept("=")
        tokens.skip_parentheses()
        return {"unsupported": "UNION"}
    return {} if _accept_value_option(tokens) else None


def _accept_value_option(tokens: Tokens) -> bool:
    if tokens.accept("DATA", "DIRECTORY") or tokens.accept("INDEX", "DIRECTORY"):
        pass
    elif tokens.accept("STORAGE"):
        tokens.name()
        return True
    elif tokens.peek().kind is Kind.WORD and tokens.peek().text.upper() in _VALUE_OPTIONS:
        tokens.next()
    elif tokens.peek().kind in (Kind.WORD, Kind.QUOTED) and tokens.peek(1).is_symbol("="):
        tokens.next()  # an option that a storage engine defines
    else:
        return False
    tokens.accept("=")
    tokens.next()
    return True


def _skip_partitions(tokens: Tokens, table: CreateTable) -> None:
    while not tokens.at_end and not tokens.sees("START") and not any(tokens.sees(word) for word in _SELECT_WORDS):
        if tokens.sees("SYSTEM_TIME"):
            table.unsupported = "system versioning"
        if tokens.sees("("):
            tokens.skip_parentheses()
        else:
            tokens.next()
