"""What commands change: each is looked at, refused by name, or becomes values of inputs.

The desk knows nothing of time or threads. It keeps what it has put before the loop: how many
commands lie in the ring of each arm, and the counts that stand for events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from linkwright.base.errors import nearest
from linkwright.control.axis import AxisMode
from linkwright.motion.trajectory import Trajectory, through
from linkwright.server.axis_blocks import GAINS, MODES
from linkwright.server.cell import CAUSES, Cell, CellArm, largest_gain
from linkwright.server.face import (
    KINDS,
    LIVES,
    MOTIONS,
    POINTS,
    ArmFace,
    Command,
    RefusedError,
    check_command,
)
from linkwright.server.probe import check_excitation
from linkwright.server.reach import ArmReach, pose_matrix
from linkwright.server.supervisor import SLOTS, width
from linkwright.server.timed import inputs_of, planned

Inputs = dict[str, float]


@dataclass(slots=True)
class _Counts:
    head: int = 0
    stops: int = 0
    beats: int = 0
    enabling: bool = False  # whether an `enable` waits in the ring
    ends: tuple[float, ...] | None = None  # joints at the end of the motions so far, if known
    modes: dict[str, float] = field(default_factory=dict)  # of axes, other than position
    knots: list[tuple[float, ...]] = field(default_factory=list)  # of a trajectory to come


class Desk:
    """Turns commands into changes of a cell's inputs.

    >>> from linkwright.server.cell_file import read_cell
    >>> desk = Desk(read_cell("axes2"))
    >>> desk.beat("plane", 7, 0.1)["plane_supervisor.silence"]
    50.0
    """

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.arms = {arm.name: arm for arm in cell.arms}
        self.faces = {arm.name: face_of(cell, arm) for arm in cell.arms}
        self._counts = {arm.name: _Counts() for arm in cell.arms}
        self._halts = 0
        self._seen: dict[str, int] = {}
        self._reach: dict[str, ArmReach] = {}

    def prepare(self) -> None:
        """Make ready what looks at poses and trajectories, which takes a while the first time."""
        through([0.0, 1.0], [0.0, 1.0])  # the library of splines, which no client waits for
        self._reach = {name: ArmReach(arm) for name, arm in self.arms.items() if arm.tool}

    def arm(self, name: str) -> CellArm:
        """Return an arm by its name."""
        if name not in self.arms:
            near = nearest(name, list(self.arms))
            raise RefusedError(
                "arm",
                f"{self.cell.name!r} has no arm {name!r}",
                remedy=f"did you mean {near!r}?" if near else f"it has {', '.join(self.arms)}",
            )
        return self.arms[name]

    def command(self, name: str, command: Command, state: Mapping[str, float], now: int) -> Inputs:
        """Return the inputs that a command changes, all at one tick."""
        arm, counts = self.arm(name), self._counts[name]
        changed: Inputs = {}
        check_command(self.faces[name], command, now)
        knots, counts.knots = counts.knots, []  # any other command forgets them
        if command.kind == "knot":
            counts.knots = [*knots, command.values][-POINTS:]
            return {}
        if command.kind == "home":
            command = replace(command, values=arm.start)
        if command.kind == "pose" and not arm.tool:
            raise RefusedError(
                "kind", f"{name!r} has no tool", remedy="name one in its [[arm]] table"
            )
        own = f"{name}_supervisor"
        if command.kind == "stop":
            counts.stops, counts.ends = counts.stops + 1, None
            return {
                f"{own}.stops": float(counts.stops),
                f"{own}.flush": float(counts.head),
                f"{own}.stop_sequence": float(command.sequence),
            }
        if command.kind == "excite":
            check_excitation(arm, command, self._place(arm, state))
        if counts.head <= state[f"{name}.tail"]:
            counts.enabling = False
        if command.kind == "mode":
            _check_mode(arm, command, counts.enabling or LIVES[int(state[f"{name}.life"])])
        if command.kind == "set":
            _check_gain(arm, command, self.cell.rate)
        if command.kind in (*MOTIONS, "excite"):
            life = LIVES[int(state[f"{name}.life"])]
            if life != "active" and not counts.enabling:
                why = CAUSES[int(state[f"{name}.cause"])]
                raise RefusedError(
                    "life",
                    f"{name!r} is {life}" + (f" ({why})" if why != "none" else ""),
                    remedy="clear and enable it first" if life == "fault" else "enable it first",
                )
            if state[f"{name}.braking"] == 1 and not counts.enabling:
                raise RefusedError(
                    "life",
                    f"{name!r} brakes, and is switched off then",
                    remedy="enable it when it stands",
                )
            _check_modes(name, command.kind, counts.modes)
            if command.kind == "trajectory":
                motion = self._motion(arm, int(command.values[0]), knots, state)
                command = replace(command, values=tuple(map(float, motion.end)))
                changed = inputs_of(arm, motion)
            counts.ends = self._end(arm, command, state)
        if counts.head - state[f"{name}.tail"] >= SLOTS:
            raise RefusedError("full", f"{SLOTS} commands of {name!r} wait already")
        slot, wide = counts.head % SLOTS, width(arm)
        counts.head += 1
        counts.enabling |= command.kind == "enable"
        if command.kind == "excite":
            command = replace(command, values=_experiment(arm, command, self.cell.rate))
        values = [*command.values, *[0.0] * wide][:wide]
        changed |= {f"{own}.slot_goal[{slot},{i}]": float(x) for i, x in enumerate(values)}
        frames = self.faces[name].frames
        changed |= {
            f"{own}.slot_kind[{slot}]": float(KINDS.index(command.kind)),
            f"{own}.slot_speed[{slot}]": float(command.speed),
            f"{own}.slot_blend[{slot}]": float(command.blend),
            f"{own}.slot_frame[{slot}]": float(frames.index(command.frame)),
            f"{own}.slot_sequence[{slot}]": float(command.sequence),
            f"{own}.head": float(counts.head),
        }
        if command.kind == "mode":
            place, mode = self.faces[name].axes.index(command.name), float(command.values[0])
            changed[f"{name}_control.mode[{place}]"] = mode
            counts.modes[command.name] = mode
        if command.kind == "set":
            value, face = float(command.values[0]), self.faces[name]
            changed[_parameters(arm)[command.name]] = value
            now_set = {**face.parameters, command.name: value}  # for clients that come later
            self.faces[name] = replace(face, parameters=now_set)
        return changed

    def _motion(
        self,
        arm: CellArm,
        count: int,
        knots: list[tuple[float, ...]],
        state: Mapping[str, float],
    ) -> Trajectory:
        """Return the trajectory through the last points; refuse one that cannot begin now."""
        if not 2 <= count <= len(knots):
            raise RefusedError(
                "values", f"a trajectory has 2 to {POINTS} points, not {count} of {len(knots)}"
            )
        name, own = arm.name, self._counts[arm.name]
        waits = own.head > state[f"{name}.tail"] or state[f"{name}.goals"] > state[f"{name}.over"]
        if waits or state[f"{name}.moves"] or state[f"{name}.braking"]:
            raise RefusedError(
                "moving",
                f"{name!r} moves, and a trajectory begins where it stands",
                remedy="wait() for the motion before",
            )
        here = [state[f"{name}.target{i}"] for i in range(len(arm.axes))]
        return planned(arm, knots[-count:], here)

    def _end(
        self, arm: CellArm, command: Command, state: Mapping[str, float]
    ) -> tuple[float, ...] | None:
        """Return the joints at the end of a motion; refuse a pose that the tool cannot come to."""
        if command.kind in ("joints", "track", "home", "trajectory"):
            return command.values
        pose = pose_matrix(command.values) if command.kind == "pose" else None
        known = {frame.name: frame for frame in self.cell.frames if frame.kind == "constant"}
        if pose is None or not (command.frame == "base" or command.frame in known):
            return None
        if command.frame != "base":
            mount = pose_matrix(arm.mount) if arm.mount else np.eye(4)
            pose = np.linalg.inv(mount) @ pose_matrix(known[command.frame].pose) @ pose
        if arm.name not in self._reach:
            self._reach[arm.name] = ArmReach(arm)
        return self._reach[arm.name].to(self._place(arm, state), pose)

    def _place(self, arm: CellArm, state: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return the joints at which an arm will stand as the next command begins, if known."""
        counts = self._counts[arm.name]
        if not state[f"{arm.name}.moves"] and counts.head <= state[f"{arm.name}.tail"]:
            return tuple(state[f"{arm.name}.target{i}"] for i in range(len(arm.axes)))
        return None if state[f"{arm.name}.braking"] else counts.ends

    def beat(self, name: str, holder: int, silence: float) -> Inputs:
        """Return the inputs that a sign of life of a lease's holder changes."""
        arm, counts = self.arm(name), self._counts[name]
        if holder and not 0 < silence < 3600:
            raise RefusedError("silence", f"a silence of {silence} s is not above 0")
        counts.beats += 1
        own = f"{arm.name}_supervisor"
        return {
            f"{own}.beats": float(counts.beats),
            f"{own}.lease": float(holder),
            f"{own}.silence": float(max(1, round(silence * self.cell.rate))),
        }

    def halt(self) -> Inputs:
        """Return the inputs that a halt changes."""
        self._halts += 1
        return {f"{name}_supervisor.halts": float(self._halts) for name in self.arms}

    def place_frame(
        self, name: str, pose: tuple[float, ...], twist: tuple[float, ...], age: float
    ) -> Inputs:
        """Return the inputs that a sight of a frame changes.

        Units: `twist` in m/s and rad/s, `age` in s.
        """
        sensed = [frame.name for frame in self.cell.frames if frame.kind == "sensed"]
        if name not in sensed:
            raise RefusedError("frame", f"{self.cell.name!r} has no sensed frame {name!r}")
        if len(pose) != 7 or len(twist) != 6 or not all(map(math.isfinite, (*pose, *twist, age))):
            raise RefusedError("values", f"{name!r} is placed by 7 and 6 finite numbers")
        size = math.hypot(*pose[3:])
        if abs(size - 1) > 1e-3:
            raise RefusedError("values", f"the quaternion of {name!r} has the length {size:.6g}")
        self._seen[name] = self._seen.get(name, 0) + 1
        own, scaled = f"frame_{name}", (*pose[:3], *(x / size for x in pose[3:]))
        return {
            **{f"{own}.seen[{i}]": float(x) for i, x in enumerate(scaled)},
            **{f"{own}.speed[{i}]": float(x) for i, x in enumerate(twist)},
            f"{own}.count": float(self._seen[name]),
            f"{own}.delay": max(0.0, age),
        }


def face_of(cell: Cell, arm: CellArm) -> ArmFace:
    """Return what is known of an arm before it moves."""
    parameters = {
        f"{key}.{i + 1}": value
        for key in _gains(arm)
        for i, value in enumerate(getattr(arm.law, key))
    }
    return ArmFace(
        arm.name,
        tuple(axis.joint for axis in arm.axes),
        tuple(axis.unit for axis in arm.axes),
        tuple((axis.low, axis.high) for axis in arm.axes),
        tuple(axis.name for axis in arm.axes),
        ("base", *(frame.name for frame in cell.frames)),
        parameters,
        arm.model if arm.file is None else str(Path(arm.file).resolve()),
        arm.values,
        tuple(axis.speed for axis in arm.axes),
        arm.mount,
    )


def _check_mode(arm: CellArm, command: Command, life: str | bool) -> None:
    """Refuse a mode that an axis cannot take."""
    if arm.law.kind != "axes":
        raise RefusedError(
            "kind",
            f"{arm.name!r} has no axis controller, and its axes have no modes",
            remedy='give its [[arm]] table control = {kind = "axes", ...}',
        )
    known = [mode.value for mode in MODES]
    if command.values[0] not in known:
        listed = ", ".join(f"{mode.value} ({mode.name})" for mode in MODES)
        raise RefusedError(
            "values",
            f"an axis of a cell takes no mode {command.values[0]:g}",
            remedy=f"there are {listed}; to switch it off, disable the arm",
        )
    if life in (True, "active"):
        raise RefusedError(
            "life", f"{arm.name!r} is active, and modes change at rest", remedy="disable it first"
        )


def _check_modes(name: str, kind: str, modes: Mapping[str, float]) -> None:
    """Refuse motions of an arm whose axes do not follow positions."""
    fine = (AxisMode.POS, AxisMode.VEL) if kind == "jog" else (AxisMode.POS,)
    for axis, mode in modes.items():
        if mode not in fine:
            raise RefusedError(
                "mode",
                f"{axis} of {name!r} is in mode {AxisMode(int(mode)).name} and takes no {kind!r}",
                remedy=f"disable the arm, then give it mode {AxisMode.POS.value}",
            )


def _experiment(arm: CellArm, command: Command, rate: float) -> tuple[float, ...]:
    """Return what an arm's probe takes, in the order of `linkwright.server.probe.WORDS`."""
    kind, size, w, seconds, width = command.values
    axis = [one.name for one in arm.axes].index(command.name)
    return kind, size, w, float(round(seconds * rate)), width, float(axis)


def _check_gain(arm: CellArm, command: Command, rate: float) -> None:
    """Refuse a gain that the cell's file could not have either."""
    key, value = command.name.split(".")[0], command.values[0]
    high, zero = largest_gain(arm.law.kind, key, rate), key not in ("kp", "kd")
    if not 0 <= value <= high or (value == 0 and not zero):
        low = "at least 0" if zero else "above 0"
        raise RefusedError(
            "range",
            f"{command.name} of {arm.name!r} is {low} and at most {high:.6g}, not {value:.6g}",
            remedy="give another gain; this one has not changed",
        )


def _parameters(arm: CellArm) -> dict[str, str]:
    """Return the input of each parameter that can be set while an arm runs."""
    return {
        f"{key}.{i + 1}": f"{arm.name}_control.{key}[{i}]"
        for key in _gains(arm)
        for i in range(len(arm.axes))
    }


def _gains(arm: CellArm) -> tuple[str, ...]:
    """Return the names of the numbers that each axis has."""
    return GAINS if arm.law.kind == "axes" else ("kp", "kd")
