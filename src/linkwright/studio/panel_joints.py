"""The tab Joints: a slider for each coordinate of a model or robot, with its limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.studio.takes import limits_of, resting

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_MOST = 60


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where the first take has a scene with joints.

    Args:
        studio: what it controls.
        tabs: where it goes.
        name: of the tab.
    """
    stage = studio.stage
    if stage is None or not stage.scene.poses.coordinates:
        return
    scene, gui = stage.scene, studio.server.gui
    limits, start = limits_of(scene), resting(scene)
    units = scene.robot.mechanism.units
    q = start.copy()
    with tabs.add_tab(name):
        gui.add_markdown("Move a slider to pose the model; playing goes on from the recording.")
        reset = gui.add_button("Back to the start")
        sliders: dict[int, Any] = {}
        for k, label in enumerate(scene.poses.coordinates[:_MOST]):
            low, high = _bounds(limits[k], float(start[k]), stage.size, units.get(label, "rad"))
            shown = units.get(label, "")
            sliders[k] = gui.add_slider(
                f"{label}, {shown}" if shown not in ("", "?", "1") else label,
                min=low,
                max=high,
                step=(high - low) / 1000,
                initial_value=float(np.clip(start[k], low, high)),
                hint=_told(limits[k], shown),
            )

    def pose() -> None:
        studio.player.playing = False
        stage.show(scene.poses(q))

    def listen(k: int, slider: Any) -> None:
        @slider.on_update  # type: ignore[untyped-decorator]
        def _(event: Any) -> None:
            q[k] = float(slider.value)
            if event.client is not None:
                pose()

    for k, slider in sliders.items():
        listen(k, slider)

    @reset.on_click  # type: ignore[untyped-decorator]
    def _(_: Any) -> None:
        for k, slider in sliders.items():
            slider.value = float(np.clip(start[k], slider.min, slider.max))
        q[:] = start
        pose()


def _bounds(limits: Any, at: float, size: float, unit: str) -> tuple[float, float]:
    """Return the ends of a slider: the limits, or as far as makes sense where there are none."""
    low, high = map(float, limits)
    reach = math.pi if unit == "rad" else 1.0 if unit == "1" else 2 * size
    low = min(low, at) if math.isfinite(low) else at - reach
    high = max(high, at) if math.isfinite(high) else at + reach
    return (low, high) if high > low else (low - reach, low + reach)


def _told(limits: Any, unit: str) -> str:
    low, high = map(float, limits)
    if not (math.isfinite(low) or math.isfinite(high)):
        return "no limits are known"
    return f"limits {low:g} to {high:g} {unit}"
