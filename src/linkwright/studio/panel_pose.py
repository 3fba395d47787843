"""Joints: a slider for each coordinate within its limits, and the tool dragged to a place."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.robot.transforms import quaternion_rotation, rotation_quaternion
from linkwright.scene.default_shapes import tuple3
from linkwright.scene.previews import limits_of
from linkwright.studio.joint_control import (
    Posed,
    Poser,
    dragged,
    freedoms,
    pose_of,
    quaternion_of,
    tools,
    within,
    yaw_pitch_roll,
)
from linkwright.studio.live_system import target_of
from linkwright.studio.messages import only_words, shown_unit, with_unit
from linkwright.studio.rows import Control, Rows, live_tab
from linkwright.studio.state import RUN, PanelState, guarded

if TYPE_CHECKING:
    from linkwright.scene.scene import Scene

_MANY = 60
_LENGTHS = ("m", "mm", "cm", "in", "ft")


@live_tab
def add(panels: PanelState) -> None:
    """Fill the tab."""
    gui, rows, scene = panels.server.gui, Rows(panels.studio), panels.scene
    assert scene is not None
    words = gui.add_markdown("Move a slider to set a joint. *Run* starts from this pose.")
    joints = _Joints(panels, words)
    frames = tools(scene)
    if frames:
        _tool(panels, rows, joints, frames)
    rows.button("Reset pose", joints.home, icon="home")
    units = {scene.robot.mechanism.units.get(n, "?") for n in scene.poses.coordinates}
    if "rad" in units or joints.poser.quaternions:
        rows.box("Angles in degrees", joints.degrees, joints.turn_to_degrees)
    with gui.add_folder("Coordinates") as joints.folder:
        pass
    joints.add_sliders()
    panels.every(0.2, joints.follow)


class _Joints:
    """The sliders of the coordinates.

    A body that turns by a quaternion has three angles here: about the world's z, then y, then x.
    """

    def __init__(self, panels: PanelState, words: Any) -> None:
        assert panels.scene is not None
        self.panels, self.words, self.scene = panels, words, panels.scene
        self.start = panels.q.copy()
        self.degrees = False
        self.folder: Any = None
        self.sliders: dict[str, _Slider] = {}
        self.turn = threading.Lock()
        self._poser = Poser(panels.scene)

    @property
    def poser(self) -> Poser:
        """What sets coordinates, with the parameters of now."""
        values = self.panels.values
        if self._poser.values != values:
            self._poser = Poser(self.scene, values)
        return self._poser

    def turn_to_degrees(self, on: bool) -> None:
        """Show angles in degrees, or in rad."""
        self.degrees = on
        self.add_sliders()

    def add_sliders(self) -> None:
        """Add a slider for each coordinate, in place of those that there are."""
        with self.turn:
            for slider in self.sliders.values():
                if slider.control is not None:
                    slider.control.handle.remove()
            self.sliders = {s.name: s for s in self._wanted()}
        with self.folder:
            for slider in self.sliders.values():
                slider.control = self._add(slider)

    def _wanted(self) -> list[_Slider]:
        m, limits = self.scene.robot.mechanism, limits_of(self.scene)
        names, made = self.scene.poses.coordinates, []
        turned = {k: places for places in self.poser.quaternions for k in places}
        for k, name in enumerate(names[:_MANY]):
            unit = m.units.get(name, "?")
            if k not in turned:
                size = self.panels.studio.size
                low, high = ends(self.start[k], unit, *map(float, limits[k]), size=size)
                bounded = bool(np.isfinite(limits[k]).all())
                made.append(_Slider(name, name, unit, low, high, bounded, (k,)))
            elif k == turned[k][0]:
                body = next(b for b in m.bodies.values() if name in {q.name for q in b.rotations})
                for angle, high in (("yaw", math.pi), ("pitch", math.pi / 2), ("roll", math.pi)):
                    where = f"{body.name} {angle}"
                    made.append(_Slider(where, where, "rad", -high, high, False, tuple(turned[k])))
        return made

    def _add(self, each: _Slider) -> Control:
        scale, unit = self._scale(each)
        low, high = round(scale * each.low, 4), round(scale * each.high, 4)
        info = "limits" if each.bounded else "unlimited (slider range"
        value = float(np.clip(scale * self._value(each), low, high))
        handle = self.panels.server.gui.add_slider(
            with_unit(each.label, unit),
            low,
            high,
            (high - low) / 400,
            value,
            marks=((low, f"{low:.3g}"), (high, f"{high:.3g}")) if each.bounded else None,
            hint=f"{info} {low:.4g} to {high:.4g} {shown_unit(unit)}{'' if each.bounded else ')'}",
        )
        control = Control(handle, self.panels.server.get_event_loop())

        def moved(event: Any) -> None:
            if event.client is not None:  # what we set ourselves is no wish of a user's
                value = control.take() / scale
                guarded(self.panels, lambda: self.slide(each.name, value))(event)

        handle.on_update(moved)
        return control

    def _scale(self, each: _Slider) -> tuple[float, str]:
        """Return what a value is multiplied by to be shown, and its unit then."""
        if self.degrees and each.unit == "rad":
            return 180 / math.pi, "deg"
        return 1.0, each.unit

    def _value(self, each: _Slider) -> float:
        """Return where the scene stands, or where a servo of the live run brings it."""
        live = self.panels.live
        if len(each.places) == 1:
            target = target_of(each.name)
            if self.panels.mode == RUN and live is not None and target in live.values:
                return live.values[target]
            return float(self.panels.q[each.places[0]])
        angles = yaw_pitch_roll(self.panels.q[list(each.places)])
        return angles[("yaw", "pitch", "roll").index(each.name.rpartition(" ")[2])]

    def slide(self, name: str, value: float) -> None:
        """Take a slider's value: as the servo's target in a run, else as the coordinate itself."""
        live, each = self.panels.live, self.sliders[name]
        target = target_of(name)
        if self.panels.mode == RUN and live is not None:
            if target in live.values:
                live.set_value(target, value)
                scale, unit = self._scale(each)
                shown = f"{scale * value:.4g} {shown_unit(unit)}".rstrip()
                self.words.content = f"Target of **{only_words(name)}**: {shown}"
                return
            live.pause()
        with self.turn:
            if len(each.places) == 1:
                self.motion(self.poser.slid(self.panels.q, name, float(value)))
                return
            turn = list(each.places)
            angles = list(yaw_pitch_roll(self.panels.q[turn]))
            angles[("yaw", "pitch", "roll").index(name.rpartition(" ")[2])] = value
            self.motion(self.poser.turned(self.panels.q, turn, quaternion_of(*angles)))

    def motion(self, posed: Posed) -> None:
        """Show coordinates that were found, and say what there is to say."""
        self.panels.pose(posed.q)
        mark = "" if posed.fine else "⚠ "
        self.words.content = f"{mark}{only_words(posed.words)}" if posed.words else "&nbsp;"
        self.follow()

    def home(self) -> None:
        """Stand as at the start."""
        self.motion(Posed(self.start.copy(), *within(self.scene, self.start)))

    def follow(self) -> None:
        """Let the sliders show where the scene stands, whatever moves it."""
        for each in tuple(self.sliders.values()):
            if each.control is None:
                continue
            slider = each.control.handle
            at = min(max(self._scale(each)[0] * self._value(each), slider.min), slider.max)
            if abs(at - slider.value) > slider.step:
                each.control.show(round(at, 4) + 0.0)  # not -0.000


@dataclass(eq=False)
class _Slider:
    """A slider of the tab: of one coordinate, or of an angle of a body that turns freely."""

    name: str
    label: str
    unit: str
    low: float
    high: float
    bounded: bool
    places: tuple[int, ...]
    control: Control | None = None


def ends(
    value: float, unit: str, low: float, high: float, *, size: float = 1.0
) -> tuple[float, float]:
    """Return the ends of a slider: the limits, or a fair reach about a value.

    >>> ends(0.0, "m", -math.inf, 0.5)
    (-1.0, 0.5)
    >>> ends(0.0, "in", -math.inf, math.inf, size=113.0)  # a car
    (-100.0, 100.0)
    """
    usual = float(f"{size:.1g}") if unit in _LENGTHS else 1.0
    reach = math.pi if unit == "rad" else max(usual, 2 * abs(value))
    first = low if math.isfinite(low) else min(value, high) - reach
    last = high if math.isfinite(high) else value + reach
    first, last = (first, last) if last > first else (first - reach, first + reach)
    return round(first, 4), round(last, 4)


def _tool(panels: PanelState, rows: Rows, joints: _Joints, frames: list[str]) -> None:
    gui, handle = panels.server.gui, _Tool(panels, joints)
    assert panels.scene is not None

    def change(_: object) -> None:
        handle.remove()
        if show.value:
            handle.add(frame.value, lambda: bool(turn.value))

    with gui.add_folder("Move the tool"):
        frame = rows.choice("Tool frame", frames, frames[0], change)
        show = rows.box("Show tool handle", False, change, hint="Drag to move the tool")
        turn = gui.add_checkbox("Lock orientation", freedoms(panels.scene, frames[0]) >= 6)
    panels.every(0.05, handle.refresh)


class _Tool:
    """The handle of the tool."""

    def __init__(self, panels: PanelState, joints: _Joints) -> None:
        self.panels, self.joints = panels, joints
        self.control: Any = None
        self.frame = ""
        self._seen: tuple[float, ...] = ()  # where the handle was last
        self._q = np.zeros(0)  # where the scene stood when the handle was put to the tool

    def add(self, frame: str, turns: Any) -> None:
        """Show it at a frame."""
        scene = self.joints.scene
        self.frame, self._q = frame, self.panels.q.copy()
        position, wxyz = self._place()
        self._seen = (*position, *wxyz)
        self.control = self.panels.server.scene.add_transform_controls(
            "/tool", scale=0.2 * self.panels.size, depth_test=False, position=position, wxyz=wxyz
        )

        def moved() -> None:
            """Follow the handle to where it is by now: steps between may come in any order."""
            with self.joints.turn:
                control = self.control
                if control is None:
                    return
                now = (*map(float, control.position), *map(float, control.wxyz))
                if self._seen == now:
                    return
                self._seen = now
                goal = np.eye(4)
                goal[:3, 3] = now[:3]
                goal[:3, :3] = quaternion_rotation(list(now[3:]))
                goal = _turned(scene).T @ goal
                self.joints.motion(dragged(scene, self.panels.q, frame, goal, turn=turns()))
                self._q = self.panels.q.copy()

        self.control.on_update(guarded(self.panels, moved))

    def _place(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return where the tool is in the picture: a point and a quaternion."""
        scene = self.joints.scene
        pose = _turned(scene) @ pose_of(scene, self._q, self.frame)
        first, second, third = (tuple3(row) for row in pose[:3, :3])
        return tuple3(pose[:3, 3]), rotation_quaternion((first, second, third))

    def refresh(self) -> None:
        """Keep the handle at a tool that moves by itself, or by a slider."""
        with self.joints.turn:
            if self.control is None or np.array_equal(self._q, self.panels.q):
                return
            self._q = self.panels.q.copy()
            position, wxyz = self._place()
            self._seen = (*position, *wxyz)
            self.control.position, self.control.wxyz = position, wxyz

    def remove(self) -> None:
        """Take it away."""
        if self.control is not None:
            self.control.remove()
        self.control = None


def _turned(scene: Scene) -> NDArray[np.float64]:
    """Return the turn from the world's axes to those of the picture, 4 x 4."""
    turned = np.eye(4)
    turned[:3, :3] = scene.upright
    return turned
