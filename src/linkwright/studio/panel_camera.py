"""Camera: the picture that a camera of the model sees, where targets should be, and the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr
from linkwright.blocks import Block
from linkwright.elements import PictureMaker, PinholeCamera
from linkwright.recording import Recording
from linkwright.recording.spread import spread
from linkwright.studio.state import PanelState, panels_of
from linkwright.system import System

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_DARK, _LIGHT = (24, 28, 36), (236, 233, 226)
_SEEN, _WANTED, _LOST = (56, 140, 214), (214, 158, 46), (205, 70, 60)
_WIDE = 360  # pixels of the picture in the panel
_WANTED_ARM, _SEEN_ARM = 11, 5  # pixels of crosses: goals reach out of what lies on them
_WORDS = (
    "*Blue*: centroids that were seen; *gold*: where they should be. A red edge: a target is not "
    "whole in the picture, so that nothing new is known of it."
)
_HEAD = "| target | seen at (pixels) | error | visible |\n|:--|--:|--:|:-:|\n"


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where the model has a camera."""
    panels = panels_of(studio)
    source = panels.motions[0].system
    cameras = {} if source is None else cameras_of(source)
    if source is not None and cameras:
        with tabs.add_tab(name):
            for label, camera in cameras.items():
                CameraPanel(panels, label, camera, wanted_in(source, len(camera.targets)))


def cameras_of(system: System) -> dict[str, PinholeCamera]:
    """Return the cameras of a System by the names of their members."""
    return {n: m.block for n, m in system.members.items() if isinstance(m.block, PinholeCamera)}


def wanted_in(system: System, targets: int) -> list[tuple[float, float]]:
    """Return where a law of the System wants its targets in the picture; nothing without one."""
    for member in system.members.values():
        goals = _goals(member.block)
        if len(goals) == targets:
            return goals
    return []


def _goals(block: Block) -> list[tuple[float, float]]:
    if "wanted_u" in block.inputs and "wanted_v" in block.inputs:
        pairs = zip(block.inputs["wanted_u"].values, block.inputs["wanted_v"].values, strict=True)
        return [(_number(u), _number(v)) for u, v in pairs]
    if "wanted" in block.inputs and "variance" in block.inputs:
        u, v, *_ = block.inputs["wanted"].values
        return [(_number(u), _number(v))]
    return []


def _number(value: Expr) -> float:
    return float(value.data) if value.op == "num" else float("nan")


@dataclass(frozen=True, slots=True)
class CameraMoment:
    """What a camera saw at one moment."""

    picture: NDArray[np.bool_]  # a row for each line
    places: NDArray[np.floating[Any]]  # centroids, one row for each target, pixels
    visible: NDArray[np.bool_]  # which of them are whole in the picture
    fields: int  # how many have arrived


def sighting_of(
    maker: PictureMaker, name: str, recording: Recording, at: int
) -> CameraMoment | None:
    """Return what a camera saw at a sample of a recording; None where that was not recorded."""
    n = len(maker.shapes)
    names = [f"{name}.outline[{i}]" for i in range(9 * n)]
    if any(x not in recording for x in (*names, f"{name}.count")):
        return None
    fields = int(recording[f"{name}.count"][at])
    outline = [float(recording[x][at]) for x in names]
    empty = np.zeros((maker.height, maker.width), dtype=np.bool_)
    return CameraMoment(
        maker.frame(outline) if fields else empty,
        np.array([[recording[f"{name}.{c}[{i}]"][at] for c in "uv"] for i in range(n)]),
        np.array([recording[f"{name}.visible[{i}]"][at] > 0.5 for i in range(n)]),
        fields,
    )


def colored(seen: CameraMoment, wanted: Sequence[tuple[float, float]]) -> NDArray[np.uint8]:
    """Return a picture in colors with crosses where targets are and should be.

    >>> dark = CameraMoment(np.zeros((8, 8), bool), np.zeros((0, 2)), np.zeros(0, bool), 1)
    >>> colored(dark, []).shape
    (360, 360, 3)
    """
    high, wide = seen.picture.shape
    share = panel_scale(wide)
    rows, columns = (
        np.minimum(np.arange(round(n * share)) / share, n - 1).astype(int) for n in (high, wide)
    )
    small = seen.picture[rows][:, columns]
    made = np.where(small[:, :, None], np.array(_LIGHT), np.array(_DARK)).astype(np.uint8)
    for place in wanted:
        _cross(made, np.array(place) * share, _WANTED, _WANTED_ARM)
    if seen.fields:
        for place in seen.places[seen.visible]:
            _cross(made, place * share, _SEEN, _SEEN_ARM)
        if not seen.visible.all():
            made[:2], made[-2:], made[:, :2], made[:, -2:] = (_LOST,) * 4
    return made


def panel_scale(width: int) -> float:
    """Return how many pixels of the panel one of a picture takes.

    >>> panel_scale(720)
    0.5
    """
    return _WIDE / width


def _cross(made: NDArray[np.uint8], place: NDArray[np.floating[Any]], color: Any, arm: int) -> None:
    if not np.isfinite(place).all():
        return
    u, v = (int(x) for x in place)
    for lower, upper, left, right in ((1, 1, arm, arm), (arm, arm, 1, 1)):
        top, side = max(v - lower, 0), max(u - left, 0)
        made[top : max(v + upper, 0), side : max(u + right, 0)] = color


def error_history(
    name: str, recording: Recording, wanted: Sequence[tuple[float, float]]
) -> NDArray[np.floating[Any]]:
    """Return the mean distance of targets from where they should be, pixels; NaN where unknown."""
    rows = []
    for i, (u, v) in enumerate(wanted):
        away = np.hypot(recording[f"{name}.u[{i}]"] - u, recording[f"{name}.v[{i}]"] - v)
        rows.append(np.where(recording[f"{name}.visible[{i}]"] > 0.5, away, np.nan))
    return np.mean(rows, axis=0) if rows else np.full(len(recording), np.nan)


def error_plot(
    times: NDArray[np.floating[Any]], error: NDArray[np.floating[Any]], now: float
) -> str:
    """Return a plot of an error over time, as SVG, with a line at the time that is shown.

    >>> error_plot(np.array([0.0, 1.0]), np.array([2.0, 1.0]), 0.5).count("polyline")
    1
    """
    known = np.isfinite(error)
    if not known.any():
        return "<p>nothing has been seen yet</p>"
    wide, high, left = 300, 90, 34
    top = max(float(np.nanmax(error)), 1e-9)
    begin, end = float(times[0]), float(max(times[-1], times[0] + 1e-9))
    keep = spread(len(times), 400)

    def x(t: Any) -> Any:
        return left + (wide - left) * (t - begin) / (end - begin)

    def y(e: Any) -> Any:
        return high - 14 - (high - 22) * e / top

    rows = zip(times[keep], error[keep], strict=True)
    line = " ".join(f"{x(t):.1f},{y(e):.1f}" for t, e in rows if np.isfinite(e))
    style = 'font-size="10" fill="currentColor" opacity="0.8"'
    return (
        f'<svg viewBox="0 0 {wide} {high}" style="width: calc(100% - 1.6em); margin: 0 0.8em" '
        f'role="img" aria-label="mean error of all targets over time, pixels">'
        f'<polyline points="{line}" fill="none" stroke="#388cd6" stroke-width="1.5"/>'
        f'<line x1="{x(now):.1f}" x2="{x(now):.1f}" y1="4" y2="{high - 14}" stroke="#d69e2e"/>'
        f'<text x="0" y="12" {style}>{top:.0f} px</text>'
        f'<text x="0" y="{high - 14}" {style}>0</text>'
        f'<text x="{wide}" y="12" text-anchor="end" {style}>mean error</text>'
        f'<text x="{left}" y="{high - 2}" {style}>{begin:.3g} s</text>'
        f'<text x="{wide}" y="{high - 2}" text-anchor="end" {style}>{end:.3g} s</text></svg>'
    )


class CameraPanel:
    """Picture, table and error of a camera, made anew ten times a second."""

    def __init__(
        self,
        panels: PanelState,
        name: str,
        camera: PinholeCamera,
        wanted: Sequence[tuple[float, float]],
    ) -> None:
        self.panels, self.name, self.wanted = panels, name, list(wanted)
        self.maker = PictureMaker(camera)
        gui = panels.server.gui
        still = CameraMoment(
            np.zeros((self.maker.height, self.maker.width), dtype=np.bool_),
            np.zeros((0, 2)),
            np.zeros(0, dtype=np.bool_),
            0,
        )
        self.image = gui.add_image(colored(still, self.wanted), label=name, format="png")
        self.plot = gui.add_html("")
        self.table = gui.add_markdown("*Play the motion, or press **Run** in the tab Live.*")
        gui.add_markdown(_WORDS)
        self._shown: tuple[int, int] | None = None
        panels.every(0.1, self.refresh)

    def refresh(self) -> None:
        """Show what the camera saw of what is shown now."""
        shown = self.panels.sample()
        if shown is None:
            return
        recording, at = shown
        key = (id(recording), at)
        if key == self._shown:
            return
        seen = sighting_of(self.maker, self.name, recording, at)
        if seen is None:
            return
        self.image.image = colored(seen, self.wanted)
        self.table.content = table_of(seen, self.wanted)
        error = error_history(self.name, recording, self.wanted)
        self.plot.content = error_plot(recording.times, error, float(recording.times[at]))
        self._shown = key  # last: where two threads refresh, the one that wrote last is known


def table_of(seen: CameraMoment, wanted: Sequence[tuple[float, float]]) -> str:
    """Return what is seen of each target as a table in Markdown.

    >>> dark = CameraMoment(
    ...     np.zeros((8, 8), bool), np.array([[3.0, 4.0]]), np.array([False]), 1
    ... )
    >>> print(table_of(dark, [(3.0, 3.0)]).splitlines()[-1])
    | 1 | – | – | **no** |
    """
    if not seen.fields:
        return "*No field has arrived yet.*"
    lines = []
    for i, ((u, v), sees) in enumerate(zip(seen.places, seen.visible, strict=True)):
        if not sees:
            lines.append(f"| {i + 1} | – | – | **no** |")
            continue
        goal = wanted[i] if i < len(wanted) else None
        error = "–" if goal is None else f"{np.hypot(u - goal[0], v - goal[1]):.1f}"
        lines.append(f"| {i + 1} | {u:.1f}, {v:.1f} | {error} | yes |")
    return _HEAD + "\n".join(lines)
