"""The privileges of the own user, from SHOW GRANTS, which lists those of active roles too."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirrorlake.mysql.source_tables import Ask

_GRANT = re.compile(r"GRANT (?P<names>.+?) ON (?P<on>\S+)")
_COLUMNS = re.compile(r" \((?:`[^`]*`|[^`()])*\)")
_ALL = "ALL PRIVILEGES"


@dataclass(frozen=True, slots=True)
class Grants:
    """everywhere: privileges ON ``*.*``. somewhere: on whatever it is, a table or all of them."""

    everywhere: frozenset[str]
    somewhere: frozenset[str]

    @classmethod
    def of_user(cls, ask: Ask) -> Grants:
        """Ask the server. Raises what ``ask`` raises."""
        everywhere, somewhere = set[str](), set[str]()
        for row in ask("SHOW GRANTS"):
            if found := _GRANT.match(str(row[0])):
                names = set(_COLUMNS.sub("", found["names"]).split(", "))
                somewhere |= names
                everywhere |= names if found["on"] == "*.*" else set()
        return cls(frozenset(everywhere), frozenset(somewhere))

    def has(self, *privileges: str) -> bool:
        """Is one of these granted on the whole server?"""
        return not self.everywhere.isdisjoint((*privileges, _ALL))

    @property
    def may_select(self) -> bool:
        """May the user read any table?"""
        return not self.somewhere.isdisjoint(("SELECT", _ALL))
