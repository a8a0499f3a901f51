"""ALTER TABLE's clauses about partitions: their text -> values."""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.core.ddl.parse.partitions import read_count, read_partition, read_partitioning, read_partitions
from mirrorlake.core.ddl.parse.statements import (
    AddPartitions,
    ChangeTablespace,
    Clause,
    CoalescePartitions,
    DropPartitions,
    ExchangePartition,
    PartitionBy,
    PartitionToTable,
    RemovePartitioning,
    ReorganizePartitions,
    TableToPartition,
    TruncatePartitions,
)
from mirrorlake.core.ddl.parse.tokens import Tokens


def _skip_log_word(tokens: Tokens) -> None:
    tokens.accept_any("NO_WRITE_TO_BINLOG", "LOCAL")


def _skip_names(tokens: Tokens) -> list[Clause]:
    """Skip a maintenance clause: names or ALL, and options in words."""
    _skip_log_word(tokens)
    tokens.names()
    while not (tokens.at_end or tokens.sees(",")):
        tokens.next()
    return []


def _read_names(tokens: Tokens) -> tuple[str, ...]:
    return () if tokens.accept("ALL") else tokens.names()


def _read_partition_by(tokens: Tokens) -> list[Clause]:
    return [PartitionBy(read_partitioning(tokens))]


def _read_add(tokens: Tokens) -> list[Clause]:
    if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
    _skip_log_word(tokens)
    if tokens.accept("PARTITIONS"):
        return [AddPartitions(count=read_count(tokens), if_not_exists=if_not_exists)]
    return [AddPartitions(read_partitions(tokens), if_not_exists=if_not_exists)]


def _read_drop(tokens: Tokens) -> list[Clause]:
    if_exists = tokens.accept("IF", "EXISTS")
    return [DropPartitions(tokens.names(), if_exists)]


def _read_truncate(tokens: Tokens) -> list[Clause]:
    return [TruncatePartitions(_read_names(tokens))]


def _read_coalesce(tokens: Tokens) -> list[Clause]:
    _skip_log_word(tokens)
    return [CoalescePartitions(read_count(tokens))]


def _read_reorganize(tokens: Tokens) -> list[Clause]:
    _skip_log_word(tokens)
    if tokens.at_end or tokens.sees(","):
        return [ReorganizePartitions((), ())]
    names = tokens.names()
    tokens.expect("INTO")
    return [ReorganizePartitions(names, read_partitions(tokens))]


def _read_exchange(tokens: Tokens) -> list[Clause]:
    name = tokens.name()
    tokens.expect("WITH", "TABLE")
    table = tokens.table_name()
    if tokens.accept_any("WITH", "WITHOUT"):
        tokens.expect("VALIDATION")
    return [ExchangePartition(name, table)]


def _read_partition_to_table(tokens: Tokens) -> list[Clause]:
    name = tokens.name()
    tokens.expect("TO", "TABLE")
    return [PartitionToTable(name, tokens.table_name())]


def _read_table_to_partition(tokens: Tokens) -> list[Clause]:
    if_exists = tokens.accept("IF", "EXISTS")
    table = tokens.table_name()
    tokens.expect("TO")
    partition = read_partition(tokens)
    is_validated = not tokens.accept("WITHOUT", "VALIDATION")
    tokens.accept("WITH", "VALIDATION")
    return [TableToPartition(table, partition, if_exists, is_validated)]


def _read_tablespace(action: str) -> Callable[[Tokens], list[Clause]]:
    def read(tokens: Tokens) -> list[Clause]:
        _read_names(tokens)
        tokens.expect("TABLESPACE")
        return [ChangeTablespace(action)]

    return read


def _remove(tokens: Tokens) -> list[Clause]:
    return [RemovePartitioning()]


def _nothing(tokens: Tokens) -> list[Clause]:
    return []


PARTITION_CLAUSES: dict[tuple[str, ...], Callable[[Tokens], list[Clause]]] = {
    ("PARTITION", "BY"): _read_partition_by,
    ("ADD", "PARTITION"): _read_add,
    ("DROP", "PARTITION"): _read_drop,
    ("TRUNCATE", "PARTITION"): _read_truncate,
    ("COALESCE", "PARTITION"): _read_coalesce,
    ("REORGANIZE", "PARTITION"): _read_reorganize,
    ("EXCHANGE", "PARTITION"): _read_exchange,
    ("CONVERT", "PARTITION"): _read_partition_to_table,
    ("CONVERT", "TABLE"): _read_table_to_partition,
    ("REMOVE", "PARTITIONING"): _remove,
    ("UPGRADE", "PARTITIONING"): _nothing,
    ("DISCARD", "PARTITION"): _read_tablespace("DISCARD"),
    ("IMPORT", "PARTITION"): _read_tablespace("IMPORT"),
    **dict.fromkeys(
        [(word, "PARTITION") for word in ("ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR")], _skip_names
    ),
}
