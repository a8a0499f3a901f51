"""What statements of the log decide about mirrors and register, without either."""

from __future__ import annotations

from mirrorlake.core.ddl.effect.hidden_columns import with_hidden
from mirrorlake.core.schema.column_patterns import NO_COLUMNS
from mirrorlake.core.schema.history import Definitions
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.ddl.outcomes import ACTIONS, Outcome, outcomes
from tests.support.interpreting import interpret

STRICT = 1 << 21
"""The sql_mode STRICT_TRANS_TABLES."""
RULES = TableRules(is_wanted=lambda _, table: not table.startswith("hidden"))


class Replay:
    """Statements of a server one after another, on definitions and a register that follow them."""

    flavor, server_version, time_zone, hidden = "mysql", 90704, "+01:00", NO_COLUMNS

    def __init__(self, *statements: str, rules: TableRules = RULES):
        self.definitions, self.register, self.lsn, self.rules = Definitions(), TableRegister(), 0, rules
        for sql in statements:
            self.run(sql)

    def run(self, sql: str, sql_mode: int = STRICT, rules: TableRules | None = None) -> list[Outcome]:
        """rules: for this statement alone."""
        self.lsn += 1
        changes = interpret(
            sql, database="d", sql_mode=sql_mode, flavor=self.flavor, server_charset="utf8mb4",
            definitions=self.definitions, version=self.server_version, now="2026-01-02 03:04:05",
            time_zone=self.time_zone,
        )  # fmt: skip
        changes = [with_hidden(change, self.definitions.get(*change.name), self.hidden) for change in changes]
        self.definitions.apply(changes)
        known = [change for change in changes if change.action in ACTIONS]
        found = outcomes(self.lsn, known, self.register, rules or self.rules)
        self.register.put(outcome.entry for outcome in found if outcome.entry)
        return found
