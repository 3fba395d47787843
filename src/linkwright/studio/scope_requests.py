"""What the scope's page asks for, answered from the recordings or the live run at hand.

A page sends what it wants as plain data, and gets plain data back: the layout, the names of the
channels, the time that the scene shows, and, where something has changed, the curves within the
window. The layout stands here, so that a page may be closed and opened again, and so that several
pages show the same. Pages ask at their own pace; nothing is kept for a page, and nothing waits.
"""

from __future__ import annotations

import base64
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.pages.charts import layout_picture
from linkwright.pages.scope import (
    MOST_POINTS,
    Columns,
    ScopeLayout,
    first_layout,
    kept,
    layout_from,
    lowest_and_highest,
    value_at,
    within,
)
from linkwright.recording import Channel, Recording, read_recording
from linkwright.recording.files import FORMATS, is_recording
from linkwright.recording.numbering import save_next
from linkwright.recording.spread import spread
from linkwright.scene.channels import nothing_matches
from linkwright.scene.motions import SceneMotion, recorded_story, scene_motion
from linkwright.studio.link import StudioLink
from linkwright.studio.live import Live
from linkwright.studio.playback import Track, player_for
from linkwright.studio.side_pages import finite
from linkwright.studio.state import PLAYED, RUN, PanelState

Array: TypeAlias = NDArray[np.float64]
Window: TypeAlias = tuple[float, float]
_PHASE_POINTS = 4000
_WIDEST = 4000  # points of a curve that a page may ask for


@dataclass(eq=False)
class ScopeState:
    """The scope of a studio."""

    panels: PanelState = field(repr=False)

    def __post_init__(self) -> None:
        self._turn = threading.RLock()
        self.layout: ScopeLayout | None = None
        self.number = 1  # of the layout; grows with each change
        self._columns: list[Columns] = []
        self._sampled: tuple[tuple[int, int, float], Recording] | None = None
        self._held: float | None = None  # the cursor in a live run, where a user has put it
        self._held_at: tuple[int, int] = (0, 0)

    # -- what there is -----------------------------------------------------------------------------
    @property
    def run(self) -> Live | StudioLink | None:
        """What goes on now and moves the scene: a cell, or the live run; None for recordings."""
        link = self.panels.studio.link
        if link is not None:
            return link
        return self.panels.live if self.panels.mode == RUN else None

    def recordings(self) -> list[tuple[str, Recording]]:
        """Return the recordings that are shown, with their names: the live run, or the takes."""
        run = self.run
        if run is not None:
            return [("live", self._live_samples(run))]
        return [(motion.name, motion.recording) for motion in self.panels.motions]

    def _live_samples(self, live: Live | StudioLink) -> Recording:
        """Return what is shown of a live run: while it rolls by, its last seconds; else all."""
        now, layout = live.latest, self.layout
        last = layout.last if layout is not None and layout.window is None else 0.0
        key = (now.tick, now.epoch, last if now.running else 0.0)
        if self._sampled is None or self._sampled[0] != key:
            t, rows = live.samples(key[2] or None)
            self._sampled = key, Recording(t, live.channels, rows)
        return self._sampled[1]

    def columns(self) -> list[Columns]:
        """Return the channels of what is shown, with those that the layout derives."""
        layout = self._layout()
        found = [r for _, r in self.recordings()]
        old = self._columns if len(self._columns) == len(found) else [None] * len(found)
        self._columns = [_renewed(c, r, layout) for c, r in zip(old, found, strict=True)]
        return self._columns

    def _layout(self) -> ScopeLayout:
        if self.layout is None:
            link = self.panels.studio.link
            first = None if link is None else link.first_layout()
            self.layout = first or first_layout(self.recordings()[0][1])
        return self.layout

    @property
    def running(self) -> bool:
        """Whether a live run moves the scene and goes on."""
        return self.run is not None and self.run.latest.running

    @property
    def time(self) -> float:
        """Where the cursor stands, s."""
        held, live = self._held, self.run
        if held is not None and live is not None:
            now, layout = live.latest, self._layout()
            stands = (now.tick, now.epoch) == self._held_at
            if stands or (now.running and now.time - held < (layout.last or np.inf)):
                return held
        self._held = None
        link = self.panels.studio.link
        return float(self.panels.time) if link is None else link.latest.time

    # -- answers -----------------------------------------------------------------------------------
    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what a page wants, and return what it shows."""
        with self._turn:
            if asked.get("layout") is not None:
                self.layout = layout_from(asked["layout"])
                self.number += 1
            if asked.get("time") is not None:
                self.go_to(finite(asked["time"], "time"))
            return self._told(asked)

    def _told(self, asked: dict[str, Any]) -> dict[str, Any]:
        layout, columns = self._layout(), self.columns()
        window, span = self._window(columns)
        ahead = self.run is not None  # its ticks are finer than its samples
        time = min(self.time, span[1]) if ahead else self.time
        names = [name for name, _ in self.recordings()]
        channels = self._channels(columns)
        lens = asked.get("lens")
        close = (finite(lens[0], "lens"), finite(lens[1], "lens")) if lens else None
        points = int(min(_WIDEST, max(50, finite(asked.get("points", MOST_POINTS), "points"))))
        known = hash(tuple(tuple(c) for c in channels))
        info: dict[str, Any] = {
            "number": self.number,
            "time": time,
            "playing": bool(self.panels.studio.player.playing),
            "running": self.running,
            "live": ahead,
            "span": span,
            "window": window,
            "takes": names,
            "known": str(known),
            "values": self._values(columns, layout, time),
        }
        if asked.get("number") != self.number:
            info["layout"] = layout.plain()
        if asked.get("known") != str(known):
            info["channels"] = channels
            info["title"] = self.panels.name
        stamp = repr(
            [(len(c.times), c.times[-1:].tolist(), id(c.recording)) for c in columns]
            + [self.number, window, close, points]
        )
        if asked.get("stamp") != stamp:
            info["stamp"] = stamp
            info["data"] = self._data(columns, layout, window, close, points)
        return info

    def _channels(self, columns: list[Columns]) -> list[list[str]]:
        found: dict[str, Channel] = {}
        for c in columns:
            for channel in c.recording.channels:
                found.setdefault(channel.name, channel)
        return [[c.name, c.unit, c.long, c.generic, c.body] for c in found.values()]

    def _window(self, columns: list[Columns]) -> tuple[Window, Window]:
        """Return the stretch that is shown, and all that there is."""
        ends = [t for c in columns if len(c.times) for t in (float(c.times[0]), float(c.times[-1]))]
        span = (min(ends), max(ends)) if ends else (0.0, 1.0)
        layout = self._layout()
        if layout.window is not None:
            return layout.window, span
        if self.running and layout.last:
            start = max(span[0], span[1] - layout.last)
            return (start, start + layout.last), span
        return span, span

    def _values(self, columns: list[Columns], layout: ScopeLayout, time: float) -> dict[str, Any]:
        """Return unit, and for each take the values at the cursor and at the mark."""
        made: dict[str, Any] = {}
        names = {n for g in layout.graphs for n in (*g.traces, *([g.across] if g.across else []))}
        for name in sorted(names | {d.name for d in layout.derived}):
            rows: list[list[float | None]] = []
            unit, words = "?", ""
            for c in columns:
                try:
                    channel, values = c.channel(name), c.values(name)
                except Error as error:
                    words = words or str(error)
                    rows.append([None, None])
                    continue
                unit = channel.unit
                at = (time, layout.mark)
                rows.append(
                    [None if t is None else _json(value_at(c.times, values, t)) for t in at]
                )
            missing = all(r == [None, None] for r in rows) and words
            made[name] = {"unit": unit, "at": rows, "error": words if missing else ""}
        return made

    def _data(
        self,
        columns: list[Columns],
        layout: ScopeLayout,
        window: Window,
        lens: Window | None,
        points: int,
    ) -> list[list[Any]]:
        """Return the curves as [across, name, one for each take], each once."""
        wanted = dict.fromkeys((g.across, name) for g in layout.graphs for name in g.traces)
        return [
            [across, name, [_curve(c, across, name, window, lens, points) for c in columns]]
            for across, name in wanted
        ]

    # -- acts --------------------------------------------------------------------------------------
    def go_to(self, time: float) -> None:
        """Move the cursor, and the scene with it where that can be."""
        live = self.run
        if live is None:
            self.panels.studio.player.go_to(time)
            return
        self._held, self._held_at = time, (live.latest.tick, live.latest.epoch)
        if live.latest.running or self.panels.scene is None or self.panels.studio.link is not None:
            return
        t, rows = live.samples()
        names = [c.name for c in live.channels]
        places = self.panels.scene.poses.coordinates
        if len(t) and all(n in names for n in places):
            k = int(np.abs(t - time).argmin())
            self.panels.show(rows[k, [names.index(n) for n in places]])

    def picture(self) -> str:
        """Return all graphs as one picture, SVG."""
        with self._turn:
            columns, layout = self.columns(), self._layout()
            names = [name for name, _ in self.recordings()]
            window, _ = self._window(columns)
        shown = list(zip(names, columns, strict=True))
        return layout_picture(shown, layout, window, self.panels.name)

    def save_next(self) -> Path:
        """Save as SL does: the next dNNNNN of the folder, names without blanks."""
        made = self.whole()
        channels = [
            replace(c, name="_".join(c.name.split()), unit="_".join(c.unit.split()))
            for c in made.channels
        ]
        return save_next(self.folder, Recording(made.times, channels, made.data, made.metadata))

    @property
    def folder(self) -> Path:
        """Of the recording that the studio was opened with, else the current one."""
        return self.panels.studio.folder or Path.cwd()

    def whole(self) -> Recording:
        """Return the first recording with all derived channels, to be saved."""
        with self._turn:
            if self.run is not None:
                return Columns(self.run.recording(), self._layout().derived).whole()
            return self.columns()[0].whole()

    def open(self, path: Path) -> str:
        """Show another recording with the same layout, and return its name."""
        if self.panels.studio.link is not None:
            raise InputError(
                f"{path.name} is not what runs here",
                remedy="open it by itself: linkwright studio FILE",
            )
        recording = read_recording(path)
        with self._turn:
            show_instead(self.panels, path.name, recording)
            self._columns = []
        return path.name

    def open_last(self, folder: Path | None = None) -> str:
        """Show the newest recording of a folder, and return its name."""
        home = folder or self.folder
        found = [p for p in home.iterdir() if p.is_file() and is_recording(p.name)]
        for path in sorted(found, key=lambda p: (p.stat().st_mtime_ns, p.name), reverse=True)[:20]:
            try:
                return self.open(path)
            except Error:  # a table of something else
                continue
        raise InputError(
            "there is no recording in the folder",
            file=home,
            remedy=f"recordings end in {', '.join(sorted(FORMATS))}",
        )


def _renewed(old: Columns | None, recording: Recording, layout: ScopeLayout) -> Columns:
    """Return columns for a layout, with what is computed already where more is derived."""
    if old is None or old.recording is not recording:
        return Columns(recording, layout.derived)
    if old.derived == layout.derived:
        return old
    grown = layout.derived[: len(old.derived)] == old.derived
    return Columns(recording, layout.derived, dict(old.computed) if grown else {})


def show_instead(panels: PanelState, name: str, recording: Recording) -> None:
    """Let a recording take the place of the first one, in the scene too where it has its motion."""
    studio = panels.studio
    motion = SceneMotion(name, recording)
    if panels.scene is not None:
        motion = scene_motion(name, recording, panels.scene)
        known = {c.name for c in studio.motions[0].recording.channels}
        if motion.q is None and not known & {c.name for c in recording.channels}:
            raise InputError(
                f"{name} does not fit what is shown: {nothing_matches(panels.scene, recording)}",
                remedy="open it by itself: linkwright studio FILE",
            )
    story = f"{name}. {recorded_story(recording)}"
    motion = replace(motion, system=studio.motions[0].system, story=story)
    studio.motions[0] = motion
    if studio.stages:
        studio.tracks[0] = Track(motion) if motion.q is not None and len(motion.q) else None
    panels.take_over(PLAYED)
    player, new = studio.player, player_for(studio.motions)
    player.start, player.end, player.rate = new.start, new.end, new.rate
    for refit in studio.spans:
        refit(player.start, player.end)
    player.go_to(player.start)


def _curve(
    columns: Columns, across: str, name: str, window: Window, lens: Window | None, points: int
) -> dict[str, Any]:
    """Return a curve as a page draws it: thinned, with its lowest and highest value."""
    try:
        values = columns.values(name)
        if across:
            return _phase(columns, columns.values(across), values, window)
    except Error as error:
        return {"error": str(error)}
    made = _stretch(columns.times, values, window, points)
    if lens is not None:
        made["lens"] = _stretch(columns.times, values, lens, points)
    return made


def _stretch(times: Array, values: Array, window: Window, points: int) -> dict[str, Any]:
    part = within(times, window)
    t, v = times[part], values[part]
    which = kept(v, points)
    low, high = lowest_and_highest(v[which])  # which keeps them
    start = float(t[0]) if len(t) else 0.0
    return {
        "start": start,
        "t": _packed(t[which] - start),
        "v": _packed(v[which]),
        "low": _json(low),
        "high": _json(high),
        "count": len(t),
    }


def _phase(columns: Columns, across: Array, up: Array, window: Window) -> dict[str, Any]:
    part = within(columns.times, window)
    x, y = across[part], up[part]
    which = spread(len(x), _PHASE_POINTS)
    if len(x) > _PHASE_POINTS:
        which = np.union1d(which, np.union1d(kept(x, 200), kept(y, 200)))
    return {"x": _packed(x[which]), "y": _packed(y[which]), "count": len(x)}


def _packed(values: Array) -> str:
    """Return numbers as text: 32 bits each, the lowest byte first."""
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _json(value: float) -> float | None:
    return value if np.isfinite(value) else None
