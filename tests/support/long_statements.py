"""Statements as long as you like, of every kind whose reading could take longer than their length explains."""

from __future__ import annotations


def columns(n: int) -> str:
    return ", ".join(f"c{i} int" for i in range(n))


LONG = {
    "parentheses": lambda n: "create table n (a int as (" + "(" * n,
    "parentheses in a default": lambda n: "create table n (a int default " + "(" * n,
    "signs": lambda n: "alter table t add c int default " + "-" * n + "1",
    "texts": lambda n: "alter table t comment '" + "\\'" * n + "'",
    "quotes": lambda n: "alter table t comment '" + "''" * n + "'",
    "texts next to each other": lambda n: "alter table t add g text as (concat('a'" + " 'b'" * n + ", a))",
    "a default of texts": lambda n: "alter table t add g text default 'a'" + " 'b'" * n,
    "an open quote": lambda n: "alter table t comment '" + "''" * n,
    "digits": lambda n: "alter table t add c decimal(" + "9" * n + ")",
    "a word": lambda n: "alter table t add " + "x" * n + " int",
    "comments": lambda n: "alter table t " + "/* x */" * n + " add c int",
    "versioned comments": lambda n: "alter table t " + "/*!50000 x " * n,
    "clauses": lambda n: "alter table t " + ", ".join(f"alter b set default {i}" for i in range(n // 20)),
    "added columns": lambda n: "alter table t " + ", ".join(f"add c{i} timestamp" for i in range(n // 10)),
    "options": lambda n: "alter table t " + "comment 'a' " * (n // 20),
    "columns": lambda n: f"create table n ({columns(n // 10)})",
    "keys": lambda n: "create table n (a int, " + ", ".join(f"key k{i} (a)" for i in range(n // 20)) + ")",
    "partitions": lambda n: "alter table t partition by range (id) ("
    + ", ".join(f"partition p{i} values less than ({i})" for i in range(n // 50)) + ")",
    "labels": lambda n: "alter table t add c enum (" + ", ".join(f"'{i}'" for i in range(n // 5)) + ")",
    "renames": lambda n: "rename table " + ", ".join(f"t{i} to t{i + 1}" for i in range(n // 10)),
    "drops": lambda n: "drop table " + ", ".join(f"t{i}" for i in range(n // 10)),
    "words of nothing known": lambda n: "frobnicate " + "t0 " * n,
}  # fmt: skip
"""By kind: n -> some n to 10 n characters, about the table ``t``."""
