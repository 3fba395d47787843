"""Drives: load, temperature and margin of each driven joint, live."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.elements.drives import Drive
from linkwright.recording import Recording
from linkwright.studio.state import PanelState, panels_of
from linkwright.system import System

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

Array = NDArray[np.float64]
_TIGHT, _WINDOW = 0.1, 10.0  # a margin that is told in bold; seconds that the RMS is taken over
_HEAD = (
    "| joint | torque (N·m, N) | load | speed (rad/s, m/s) | winding | margin |\n"
    "|:--|--:|--:|--:|--:|--:|\n"
)
_WORDS = (
    "*Load*: RMS torque of the motor over the last 10 s, of what it can do without end. *Margin*: "
    "the smallest that is left of load, peak torque, speed and temperature. A dash: the drive has "
    "no rating, or no thermal model."
)


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where joints have drives."""
    panels = panels_of(studio)
    source = panels.motions[0].system
    if source is not None and drives_of(source):
        with tabs.add_tab(name):
            DrivesPanel(panels, source)


def drives_of(system: System) -> dict[str, Drive]:
    """Return the drives of a System by the names of their members."""
    return {n: m.block for n, m in system.members.items() if isinstance(m.block, Drive)}


@dataclass(frozen=True, slots=True)
class DriveState:
    """What a drive does at one moment."""

    joint: str  # its name
    torque: float  # at the joint, N*m or N
    speed: float  # of the joint, rad/s or m/s
    load: float | None  # RMS torque of the motor over its continuous one; None without a rating
    winding: float | None  # temperature in degrees Celsius; None without a thermal model
    margin: float | None  # the smallest that is left; None without a rating


def states_of(drives: Mapping[str, Drive], recording: Recording, at: int = -1) -> list[DriveState]:
    """Return what each drive does at a sample of a recording."""
    found = []
    now = float(recording.times[at])
    window = (recording.times <= now) & (recording.times >= now - _WINDOW)
    for name, drive in drives.items():
        values = {c: recording[f"{name}.{c}"] for c in _CHANNELS if f"{name}.{c}" in recording}
        torque, speed = values.get("motor.torque"), values.get("load.speed")
        if torque is None or speed is None:
            continue
        winding = float(values["thermal.winding"][at]) if "thermal.winding" in values else None
        load = margin = None
        rating = drive.rating
        if rating is not None:
            load = _rms(recording.times[window], torque[window]) / rating.continuous
            turns = float(speed[at]) * drive.parts.train.ratio
            margin = min(1 - load, rating.margin(float(torque[at]), turns, winding))
        joint = drive.doc.removeprefix("drive of ")
        at_joint = values.get("tau", torque)
        found.append(
            DriveState(joint, float(at_joint[at]), float(speed[at]), load, winding, margin)
        )
    return found


def _rms(times: Array, values: Array) -> float:
    """Return the root of the mean square over time, by the trapezium rule."""
    if len(times) < 2:
        return float(np.abs(values).max())
    squares = values**2
    area = np.diff(times) @ (squares[1:] + squares[:-1]) / 2
    return math.sqrt(float(area / (times[-1] - times[0])))


_CHANNELS = ("motor.torque", "load.speed", "thermal.winding", "tau")


def table_of(states: list[DriveState]) -> str:
    """Return the states as a table in Markdown.

    >>> print(table_of([DriveState("q1", 12.0, 0.5, 0.25, None, 0.75)]).splitlines()[-1])
    | q1 | 12.0 | 25 % | 0.50 | – | 75 % |
    """
    return _HEAD + "\n".join(
        f"| {s.joint} | {s.torque:.1f} | {_percent(s.load)} | {s.speed:.2f} | "
        f"{'–' if s.winding is None else f'{s.winding:.0f} °C'} | {_margin(s.margin)} |"
        for s in states
    )


def _percent(part: float | None) -> str:
    return "–" if part is None else f"{100 * part:.0f} %"


def _margin(part: float | None) -> str:
    return f"**{_percent(part)}**" if part is not None and part < _TIGHT else _percent(part)


class DrivesPanel:
    """The table of the tab, made anew twice a second."""

    def __init__(self, panels: PanelState, system: System) -> None:
        self.panels, self.drives = panels, drives_of(system)
        self.table = panels.server.gui.add_markdown(
            "*Press **Run** in the tab Live, or play a recording.*"
        )
        panels.server.gui.add_markdown(_WORDS)
        panels.every(0.5, self.refresh)

    def refresh(self) -> None:
        """Show the newest state of what moves the scene."""
        shown = self.panels.sample()
        states = [] if shown is None else states_of(self.drives, *shown)
        if states:
            self.table.content = table_of(states)
