"""Which ALTER TABLE MariaDB carries out by copying the rows, as far as it matters to a NULL outside strict mode.

What is expected here was seen on MariaDB 10.11 and 11.8: rows with NULL got the zero (True) or the old DEFAULT (False).
"""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.row_steps import ServerMode
from tests.support.interpreting import interpret

COLUMNS = (
    "id int not null, v int default 5, w int, s varchar(20) charset utf8mb4, t timestamp null, e enum('a','b'),"
    " x varchar(9) compressed, b varbinary(9), f float(5,2), u int unsigned, c char(5), g point"
)
T = f"create table t ({COLUMNS}, primary key (id), key kw (w)) charset utf8mb4"
UNIQUE = f"create table t ({COLUMNS}, unique key (id)) charset utf8mb4"
BY_HASH, BY_KEY = f"{T} partition by hash (id) partitions 3", f"{T} partition by key () partitions 3"
VERSIONED = f"{T} with system versioning"
V = "modify v int not null default 6"


def copies_rows(create: str, alter: str, version: int = 101119, sql_mode: int = 0, flavor: str = "mariadb"):
    definitions = Definitions()
    for text in (create, f"alter table t {alter}"):
        changes = interpret(
            text, database="d", sql_mode=sql_mode, flavor=flavor, server_charset="utf8mb4", definitions=definitions,
            version=version, explicit_timestamps=True,
        )  # fmt: skip
        definitions.apply(changes)
    return next(step for step in changes[0].steps if isinstance(step, ServerMode)).copies_rows


@pytest.mark.parametrize(
    ("create", "alter", "expected"),
    [
        *((create, V, False) for create in (T, UNIQUE, BY_HASH, BY_KEY, VERSIONED)),
        (T, "change v vv int not null default 6 first", False),
        (T, f"{V}, add n int not null default 3 first, drop w, rename column s to s2, alter e set default 'a'", False),
        (T, f"{V}, add n datetime default current_timestamp", False),
        (T, f"{V}, add n int default (1 + 2), add key (n), drop key kw", False),
        (T, f"{V}, add n varchar(36) default (uuid())", None),
        (T, f"{V}, add n int as (w + 1) virtual", None),
        (T, f"{V}, modify s varchar(30) charset utf8mb4, modify b varbinary(20)", False),
        (T, f"{V}, modify s varchar(64) charset utf8mb4", None),
        (T, f"{V}, modify s varchar(19) charset utf8mb4", True),
        (T, f"{V}, modify s varchar(20) charset utf8mb4 collate utf8mb4_bin", None),
        (T, f"{V}, modify s text charset utf8mb4", True),
        (T, f"{V}, modify c char(6)", True),
        (T, f"{V}, modify e enum('a','b','c')", False),
        (T, f"{V}, modify e enum('A','b','c')", None),
        (T, f"{V}, modify e enum('b','a')", True),
        (T, f"{V}, modify x varchar(9)", True),
        (T, f"{V}, modify x varchar(9) compressed comment 'y'", False),
        (T, f"{V}, modify f float(6,3), modify u int(5) unsigned zerofill", False),
        (T, f"{V}, modify g geometry", None),
        (T, f"{V}, modify w bigint", True),
        (T, f"{V}, modify w int unsigned", True),
        (T, f"{V}, modify t timestamp not null", True),
        (T, f"{V}, modify id int not null auto_increment", True),
        (T, "modify v bigint not null default 6", True),
        (T, f"{V}, algorithm=copy", True),
        (T, f"{V}, algorithm inplace", False),
        (T, f"{V}, algorithm=default, lock=none, force, comment 'x', row_format=compact", False),
        (T, f"{V}, order by w", True),
        (T, f"{V}, disable keys", True),
        (T, f"{V}, add constraint k check (id > 0)", True),
        (T, f"{V}, drop constraint k", False),
        (T, f"{V}, engine=aria", True),
        (f"{T} engine=myisam", V, True),
        (T, f"{V}, engine=innodb", False),
        (f"{T} engine=rocksdb", V, None),
        (T, f"{V}, add foreign key (w) references p (id)", None),
        (T, f"{V}, add fulltext key (s)", None),
        (T, f"{V}, convert to charset utf8mb3", None),
        (T, f"{V}, default charset latin1", False),
        (T, f"{V}, add system versioning", None),
        (VERSIONED, f"{V}, drop system versioning", None),
        (VERSIONED, f"{V}, drop w", False),
        (T, f"{V} partition by hash (id) partitions 2", None),
        (BY_HASH, f"{V} remove partitioning", None),
        (BY_HASH, f"{V}, drop w", False),
        (T, "drop primary key, add primary key (id, v)", False),
        (BY_HASH, "drop primary key, add primary key (id, v)", None),
        (T, f"{V}, drop primary key", None),
        (UNIQUE, f"{V}, drop key id", None),
        (UNIQUE, f"{V}, add primary key (id)", None),
        (T, "modify w int not null, modify v bigint", True),
        (T, "modify v bigint", None),
    ],
)  # fmt: skip
def test_what_mariadb_copies(create, alter, expected):
    assert copies_rows(create, alter) is expected


@pytest.mark.parametrize("given", [{"version": 101000}, {"sql_mode": 1 << 21}, {"flavor": "mysql", "version": 90704}])
def test_it_is_not_told_where_it_was_not_measured_or_does_not_matter(given):
    create = T.replace(" compressed", "")
    assert copies_rows(create, V, **given) is None
