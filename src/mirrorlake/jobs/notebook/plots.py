"""Plots for notebooks, of the tables that answer a question."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import pandas as pd

from mirrorlake.shown import as_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TABLES = 8
"""Each has a colour of its own; all other tables share one more."""
OTHERS = "other tables"
SHAPES = ((600, "%H:%M:%S"), (86_400, "%H:%M"), (864_000, "%m-%d %H:%M"), (float("inf"), "%Y-%m-%d"))
"""Seconds that a plot shows at most, and how it writes a time."""
FEWEST_INTERVALS = 8
LINE = 120
"""Characters of a line of text in a plot."""
UNITS = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
INTERVALS = {86_400: "day", 3600: "hour", 600: "10 minutes", 60: "minute", 10: "10 seconds", 1: "second"}


def plot_activity(activity: pd.DataFrame) -> Figure:
    """Row changes over the source's time, a bar for each interval, in a colour for each table. activity: see
    ``inspect.questions.activity``."""
    if "changes" not in activity or activity.empty:
        return _nothing(activity, "silver has no row changes in this time")
    figure, axes = _axes()
    seconds = int(activity.seconds.iloc[0])
    most = activity.groupby("table_name").changes.sum().nlargest(MOST_TABLES).index
    names = activity.table_name.where(activity.table_name.isin(most), OTHERS)
    bars = activity.assign(table_name=names).pivot_table(
        index="at", columns="table_name", values="changes", aggfunc="sum", fill_value=0
    )
    bottom = pd.Series(0, index=bars.index)
    shown = [name for name in [*most, OTHERS] if name in bars]
    for number, name in enumerate(shown):
        width = pd.Timedelta(seconds=0.9 * seconds)
        axes.bar(bars.index, bars[name], width=width, bottom=bottom, align="edge", label=str(number))
        bottom = bottom + bars[name]
    axes.set_ylim(0, 1.05 * bottom.max())
    _over_time(axes, "commit on the source", bars.index.min(), bars.index.max(), seconds)
    axes.set_ylabel(f"row changes per {INTERVALS[seconds]}")
    _name_bars(axes, shown)
    return figure


def plot_lag(epochs: pd.DataFrame) -> Figure:
    """How much later each epoch was done than its last transaction was committed. epochs: see
    ``inspect.questions.epoch_lags``."""
    if "lag_s" not in epochs or epochs.empty:
        return _nothing(epochs, "gold has no epoch with a transaction yet")
    figure, axes = _axes()
    size, unit = next((known for known in UNITS if epochs.lag_s.max() >= 2 * known[0]), UNITS[-1])
    axes.plot(epochs.applied_at, epochs.lag_s / size, marker="o", markersize=4)
    axes.set_ylim(0, 1.1 * max(epochs.lag_s.max() / size, 1e-3))
    _over_time(axes, "end of the epoch", epochs.applied_at.min(), epochs.applied_at.max(), 1)
    axes.set_ylabel(f"lag in {unit}")
    return figure


def _axes() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _name_bars(axes: Axes, names: list[str]) -> None:
    """Names are no formulas, whatever ``$`` they have, and may begin with an underscore, which hides a label."""
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(as_line(name))


def _over_time(axes: Axes, label: str, first: pd.Timestamp, last: pd.Timestamp, seconds: int) -> None:
    """Show times that can be read alone: the hour and minute at each tick, the days in the label."""
    from matplotlib.dates import AutoDateLocator, DateFormatter

    spare = max(pd.Timedelta(seconds=seconds), (pd.Timedelta(seconds=FEWEST_INTERVALS * seconds) - (last - first)) / 2)
    axes.set_xlim(first - spare, last + spare)
    shape = next(shape for span_s, shape in SHAPES if (last - first).total_seconds() <= span_s)
    axes.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=9))
    axes.xaxis.set_major_formatter(DateFormatter(shape, tz="UTC"))
    days = " to ".join(dict.fromkeys(f"{day:%Y-%m-%d}" for day in (first, last)))
    axes.set_xlabel(f"{label}, {days} (UTC)")


def _nothing(problem: pd.DataFrame, why: str) -> Figure:
    """problem: an answer; if it says what happened, that is shown."""
    figure, axes = _axes()
    axes.set_axis_off()
    why = problem.what_happened.iloc[0] if "what_happened" in problem else why
    lines = fill(as_line(f"Nothing to plot: {why}"), LINE)  # with wrap, matplotlib looks for formulas in any case
    axes.text(0.5, 0.5, lines, ha="center", va="center", transform=axes.transAxes, parse_math=False)
    return figure
