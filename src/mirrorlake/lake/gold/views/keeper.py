"""Views in Spark's catalog, kept in step with the register.

The catalog is compared with what the register wants. So every step may be repeated, and a run that begins makes good
what a killed one left. Views that show a mirror under a former name are dropped before any view is made: during a
circle of renames a reader finds the tables as before it or as after it, never some of each; some may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.view_names import ViewName, view_name
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.lake.gold.views.catalog import VIEW_FAILED, VIEW_TAKEN, ViewCatalog, folded
from mirrorlake.lake.gold.views.wanted import LeftOut, View, wanted_views


class ViewKeeper:
    """The views of one lake, in the process that applies its changes."""

    def __init__(
        self, lake: Lake, template: str, report: Callable[[LeftOut], None], *, parses_json: bool = False,
        of_syncpoints: bool = False,
    ):  # fmt: skip
        """report: called once for each mirror whose view is not as it should be, and why. parses_json: see
        ``wanted_views``. of_syncpoints: the views show syncpoints, not the present."""
        self._catalog = ViewCatalog(lake, of_syncpoints=of_syncpoints)
        self._template, self._report = template, report
        self._parses_json = parses_json
        self._has_looked = False
        self._reported: set[LeftOut] = set()

    def keep(self, register: TableRegister, at: Syncpoint | None = None) -> None:
        """Drop, replace and make views until the catalog has those that the register wants.

        at: the syncpoint to show, with ``register`` as it was there.

        Looks at the catalog in the first call, and again after a call in which something failed. What Spark refuses is
        reported, not raised, and tried again in the next call.
        """
        views, left_out = wanted_views(
            register, self._template, self._catalog.sql.objection, at, parses_json=self._parses_json
        )
        wanted, tables = {folded(view.name): view for view in views}, self._tables(register)
        if not self._has_looked:
            self._catalog.look(set(tables))
        left_out += self._take_steps(wanted, tables)
        self._has_looked = not any(left.code in (VIEW_TAKEN, VIEW_FAILED) for left in left_out)
        for left in left_out:
            if left not in self._reported:
                self._reported.add(left)
                self._report(left)

    def _tables(self, register: TableRegister) -> dict[ViewName, TableName]:
        """Every table of the source that is or was mirrored, by the name of its view."""
        names = ((view_name(self._template, entry.name), entry.name) for entry in register)
        return {folded(name): table for name, table in names if self._catalog.sql.objection(name) is None}

    def _take_steps(self, wanted: Mapping[ViewName, View], tables: Mapping[ViewName, TableName]) -> Iterator[LeftOut]:
        catalog = self._catalog
        mirrors = {name: catalog.shown_by(view)[0] for name, view in wanted.items()}
        for name in outdated({name: mirror for name, (mirror, _) in catalog.shown.items()}, mirrors):
            if reason := catalog.drop(name):
                yield LeftOut(tables[name], VIEW_FAILED, f"its view is outdated: {reason}")
        for name, view in wanted.items():
            if catalog.shown.get(name) != catalog.shown_by(view) and (left := self._make(name, view)):
                yield left

    def _make(self, name: ViewName, view: View) -> LeftOut | None:
        if name.schema in self._catalog.closed:
            return LeftOut(view.table, VIEW_FAILED, self._catalog.closed[name.schema])
        mirror, _ = self._catalog.shown_by(view)
        if any(shown == mirror and other != name for other, (shown, _) in self._catalog.shown.items()):
            return LeftOut(view.table, VIEW_FAILED, "the view of its former name is still there")
        return self._catalog.make(view)


def outdated(shown: Mapping[ViewName, str], wanted: Mapping[ViewName, str]) -> list[ViewName]:
    """The views to drop: those whose mirror has another name now, and those whose name has no mirror.

    Both: name -> mirror. A view whose mirror is gone is no such view if its name has another mirror: it is replaced.
    """
    names = {mirror: name for name, mirror in wanted.items()}
    kept = {name: names.get(mirror, name if name in wanted else None) for name, mirror in shown.items()}
    return sorted(name for name, other in kept.items() if other != name)
