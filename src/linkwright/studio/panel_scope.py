"""Scope: channels stacked over time, live or recorded, with rates, filter, sums, phase plot."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.recording import Recording
from linkwright.studio.charts import phase_plot, stacked_plot
from linkwright.studio.desk import RUN, Desk, desk_of, guarded
from linkwright.studio.inspecting import table
from linkwright.studio.scope import Curve, View, curves, derived, thinned, value_at

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_MOST = 6  # graphs
_SUMS = {"none": "", "first + second": "+", "first − second": "-"}
_NONE = "none"
_FORMATS = (".csv", ".npz", ".parquet", ".mcap", ".erd")


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where it applies.

    Args:
        studio: what it shows.
        tabs: where it goes.
        name: of the tab.
    """
    desk = desk_of(studio)
    with tabs.add_tab(name):
        fill(desk)


def fill(desk: Desk) -> None:
    """Fill the tab."""
    gui = desk.server.gui
    gui.add_markdown("Drag over a graph to zoom, double-click for all of it.")
    scope = _Scope(desk, desk.recording())
    desk.every(0.2, scope.refresh)


class _Scope:
    """The graphs and their controls."""

    def __init__(self, desk: Desk, recording: Recording) -> None:
        self.desk, gui = desk, desk.server.gui
        self.names = list(first_channels(recording))
        self.plots: list[Any] = []
        self.span = -1.0
        self.shown: list[Curve] = []
        self._cursor = -1.0
        self.stale = True
        self._drawn: tuple[Any, ...] = ()
        listed = list(recording.names)
        self.channel = gui.add_dropdown("Channel", listed, initial_value=listed[0])
        rows = gui.add_button_group("Graphs", ("Add", "Remove", "Clear"))
        self.values = gui.add_markdown("")
        self.place = gui.add_folder(None)
        with gui.add_folder("Rates, filter, sums", expand_by_default=False):
            self.rate = gui.add_checkbox("Rate of change (d/dt)", False)
            self.cutoff = gui.add_slider(
                "Low-pass [%]", 0, 99, 1, 0, hint="Percent of half the sampling rate; 0: none"
            )
            self.sum = gui.add_dropdown("Sum of two", list(_SUMS), initial_value="none")
            self.last = gui.add_slider(
                "Window [s]", 0, 60, 1, 20, hint="Of a live run; 0: all that is kept"
            )
        with gui.add_folder("Phase plot", expand_by_default=False):
            self.across = gui.add_dropdown("Across", [_NONE, *listed], initial_value=_NONE)
            self.up = gui.add_dropdown("Up", [_NONE, *listed], initial_value=_NONE)
            self.phase = gui.add_html("")
        with gui.add_folder("Save", expand_by_default=False):
            form = gui.add_dropdown("Format", _FORMATS, initial_value=".csv")
            picture = gui.add_button("Save as picture", icon="photo")
            saved = gui.add_button("Save as recording", icon="download")

        def change(event: Any) -> None:
            guarded(desk, lambda: self._change(rows.value))(event)

        rows.on_click(change)

        for control in (self.rate, self.cutoff, self.sum, self.last, self.across, self.up):
            control.on_update(self._mark)
        picture.on_click(lambda event: self._send(event, "scope.svg", self._picture))
        saved.on_click(
            lambda event: self._send(event, f"scope{form.value}", lambda: self._file(form.value))
        )
        self.refresh()

    def _mark(self, _event: Any) -> None:
        self.stale = True

    def _change(self, action: str) -> None:
        if action == "Add" and self.channel.value not in self.names:
            self.names = [*self.names, self.channel.value][-_MOST:]
        elif action == "Remove":
            self.names = self.names[:-1]
        elif action == "Clear":
            self.names = []
        self.stale = True

    @property
    def view(self) -> View:
        """What is asked for now."""
        live = self.desk.mode == RUN
        return View(
            tuple(self.names),
            bool(self.rate.value),
            float(self.cutoff.value),
            _SUMS[self.sum.value],
            float(self.last.value) if live else 0.0,
        )

    # -- drawing -----------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Draw again where something has changed."""
        recording = self.desk.recording()
        state = (self.desk.mode, len(recording), recording.times[-1:].tolist())
        if not self.stale and state == self._drawn and self.desk.mode == RUN:
            return
        if self.stale or state != self._drawn:
            self._drawn, self.stale = state, False
            self.made = curves(recording, self.view)
            self._draw(self.made)
            self._draw_phase(recording)
        elif self.desk.time != self._cursor:
            self._mark_now()
        self._cursor = self.desk.time
        self._tell(self.made)

    def _mark_now(self) -> None:
        """Move the dot on each graph to the time that the scene shows."""
        for plot, curve in zip(self.plots, self.shown, strict=True):
            plot.data = _data(curve, self.desk.time)

    def _tell(self, made: list[Curve]) -> None:
        """Show the values at the time that the scene shows."""
        now = self.desk.time
        rows = []
        for curve in made:
            good = curve.values[np.isfinite(curve.values)]
            low, high = (good.min(), good.max()) if len(good) else (np.nan, np.nan)
            rows.append((curve.label, f"{value_at(curve, now):.5g}", f"{low:.4g}", f"{high:.4g}"))
        text = table(("", f"at {now:.2f} s", "lowest", "highest"), rows, numbers=True)
        if not rows:
            text = "*No graph: choose a channel and add it.*"
        if text != self.values.content:
            self.values.content = text

    def _draw(self, made: list[Curve]) -> None:
        shown = [thinned(c) for c in made]
        rolls = self.desk.mode == RUN
        if rolls:  # like an oscilloscope: seconds before now, so that a zoom stays where it is
            now = self.desk.time
            shown = [Curve(c.label, c.times - now, c.values, c.colour) for c in shown]
        self.shown = shown
        span = self.view.last if rolls else -1.0
        if len(shown) != len(self.plots) or span != self.span:
            self.span = span
            for plot in self.plots:
                plot.remove()
            with self.place:
                self.plots = [self._plot(c) for c in shown]
            return
        for plot, curve in zip(self.plots, shown, strict=True):
            plot.data = _data(curve, 0.0 if rolls else self.desk.time)
            if plot.series[1].get("label") != curve.label:
                plot.series = _series(curve)

    def _plot(self, curve: Curve) -> Any:
        from viser import uplot

        grey, pale = "rgba(128,128,128,0.95)", "rgba(128,128,128,0.18)"
        grid, ticks = uplot.Axis_Grid(stroke=pale), uplot.Axis_Ticks(stroke=pale, size=4)
        axis = uplot.Axis(stroke=grey, size=26, grid=grid, ticks=ticks)
        side = uplot.Axis(stroke=grey, size=50, grid=grid, ticks=ticks)
        time = uplot.Scale(time=False, auto=True)
        if self.span > 0:
            time = uplot.Scale(time=False, range=(-self.span, 0.0))
        return self.desk.server.gui.add_uplot(
            _data(curve, self.desk.time),
            _series(curve),
            scales={"x": time},
            axes=(axis, side),
            height=150,
            padding=(12, 14, 0, 0),
            legend=uplot.Legend(show=True),
            cursor=uplot.Cursor(
                sync=uplot.Cursor_Sync(key="scope"),
                drag=uplot.Cursor_Drag(x=True, y=False, setScale=True),
            ),
        )

    def _draw_phase(self, recording: Recording) -> None:
        pair = (self.across.value, self.up.value)
        if _NONE in pair:
            text = ""
        else:
            view = View(pair, bool(self.rate.value), float(self.cutoff.value), "", self.view.last)
            found = curves(recording, view)
            if pair[0] == pair[1]:
                found = found * 2
            text = phase_plot(found[0], found[1])
        if text != self.phase.content:
            self.phase.content = text

    # -- saving ------------------------------------------------------------------------------------
    def _send(self, event: Any, name: str, make: Callable[[], bytes]) -> None:
        try:
            content = make()
        except Exception as error:
            self.desk.report(str(error))
            return
        if event.client is not None:
            event.client.send_file_download(name, content, save_immediately=True)

    def _picture(self) -> bytes:
        return stacked_plot(self.made, title=self.desk.name).encode()

    def _file(self, suffix: str) -> bytes:
        live = self.desk.live
        running = live is not None and self.desk.mode == RUN
        recording = live.recording() if running and live else self.desk.recording()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"scope{suffix}"
            derived(recording, [self.view]).save(path)
            return path.read_bytes()


def first_channels(recording: Recording) -> tuple[str, ...]:
    """Return the channels that are shown first: the first few that change.

    Args:
        recording: any.
    """
    spread = np.ptp(recording.data, axis=0) if len(recording) > 1 else np.ones(len(recording.names))
    moving = [n for n, s in zip(recording.names, spread, strict=True) if s > 0]
    return tuple((moving or list(recording.names))[:2])


def _data(curve: Curve, now: float) -> tuple[Any, ...]:
    """Return times, values, and the value now alone, for a dot."""
    dot = np.full(len(curve.times), np.nan)
    if len(dot):
        k = int(np.abs(curve.times - now).argmin())
        dot[k] = curve.values[k]
    return (np.asarray(curve.times), np.asarray(curve.values), dot)


def _series(curve: Curve) -> tuple[Any, ...]:
    from viser import uplot

    return (
        uplot.Series(label="t [s]"),
        uplot.Series(
            label=curve.label,
            stroke=curve.colour,
            width=1.6,
            points=uplot.Series_Points(show=False),
        ),
        uplot.Series(
            label="now",
            auto=False,
            stroke=curve.colour,
            width=0,
            points=uplot.Series_Points(show=True, size=9, fill=curve.colour),
        ),
    )
