"""Views of the newest syncpoint, kept in Spark's catalog: all tables at one moment, under the same names for good."""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import TableNews
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.views.keeper import ViewKeeper
from mirrorlake.lake.gold.views.wanted import LeftOut


class NewestSyncpointViews:
    """A catalog replaces one view after another: until the last of them, a query of several views may read both the
    syncpoint before and this one. The comment of each view names its syncpoint."""

    def __init__(self, lake: Lake, template: str, report: Callable[[LeftOut], None], *, parses_json: bool = False):
        """See ``ViewKeeper``."""
        self._lake, self._news = lake, TableNews(lake.spark, lake.names.control_syncpoints)
        self._keeper = ViewKeeper(lake, template, report, parses_json=parses_json, of_syncpoints=True)

    def keep_if_new(self) -> None:
        """Move the views if any process has recorded a syncpoint. Looks every few seconds at most."""
        if self._news.has_come():
            self.keep()

    def keep(self) -> None:
        """Show the syncpoint that is the newest in the log. Views that show it already are left alone."""
        if points := syncpoints.published(self._lake):
            self._keeper.keep(TableRegister.read(self._lake, up_to=points[-1].lsn), points[-1])
