"""Which privileges of Unity Catalog a user has on what a lake needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound, PermissionDenied
from databricks.sdk.service.catalog import EffectivePrivilegeAssignment

from mirrorlake.core.sql_text import quote
from mirrorlake.jobs.workspace.findings import ERROR, WARNING, Finding, ok

EVERYBODY = "account users"
_PAGE = 0
"""Lets the workspace choose how many assignments a page has; without it, it sends no pages."""


@dataclass(frozen=True, slots=True)
class User:
    """name: a mail address, or the application id of a service principal. groups: that the user is in."""

    name: str
    groups: frozenset[str]

    @classmethod
    def read(cls, client: WorkspaceClient) -> User:
        me = client.current_user.me()
        return cls(me.user_name, frozenset(group.display for group in me.groups or []))

    def is_one_of(self, principal: str | None) -> bool:
        return principal in (self.name, EVERYBODY) or principal in self.groups


def check_grants(
    client: WorkspaceClient, user: User, kind: str, name: tuple[str, ...], owner: str | None, wanted: tuple[str, ...]
) -> Finding:
    """Check privileges on one securable. kind: ``catalog``, ``schema``, ``volume`` or ``external_location``."""
    title = f"grants on {_spelled(kind)} {'.'.join(name)}"
    if user.is_one_of(owner):
        return ok(title, f"{user.name} owns it")
    had, sees_all = _privileges(client, user, kind, ".".join(name))
    missing = () if "ALL_PRIVILEGES" in had else tuple(one for one in wanted if one not in had)
    if not missing:
        return ok(title, ", ".join(_spelled(one) for one in wanted))
    of = user.name if sees_all else f"{user.name} alone, whose groups cannot be seen"
    grant = (
        f"GRANT {', '.join(map(_spelled, missing))} ON {_spelled(kind).upper()} {quote(*name)} TO {quote(user.name)}"
    )
    found = f"missing {', '.join(map(_spelled, missing))} of {of}"
    return Finding(title, ERROR if sees_all else WARNING, found, grant)


def _spelled(name: str) -> str:
    return name.replace("_", " ")


def _privileges(client: WorkspaceClient, user: User, kind: str, name: str) -> tuple[set[str], bool]:
    """Privileges, with those of the user's groups if they can be seen; whether they could be."""
    try:
        assignments, sees_all = list(_assignments(client, kind, name, None)), True
    except (PermissionDenied, NotFound):  # only an owner sees what others have
        assignments, sees_all = list(_assignments(client, kind, name, user.name)), False
    mine = (assignment for assignment in assignments if user.is_one_of(assignment.principal))
    return {one.privilege.value for each in mine for one in each.privileges or [] if one.privilege}, sees_all


def _assignments(
    client: WorkspaceClient, kind: str, name: str, principal: str | None
) -> Iterator[EffectivePrivilegeAssignment]:
    token = None
    while True:
        page = client.grants.get_effective(kind, name, max_results=_PAGE, page_token=token, principal=principal)
        yield from page.privilege_assignments or []
        token = page.next_page_token
        if not token:
            return
