"""What commands change: each is looked at, rejected by name, or becomes values of inputs.

The queue knows nothing of time or threads. It keeps what it has put before the loop: how many
commands are in the ring of each arm, and the counts that stand for events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from linkwright.base.errors import suggestion
from linkwright.control.axis import AxisMode
from linkwright.motion.trajectory import through
from linkwright.server.axis_blocks import GAINS
from linkwright.server.cell import CAUSES, Cell, CellArm
from linkwright.server.face import ArmFace, Command, RefusedError
from linkwright.server.reach import ArmReach, pose_matrix
from linkwright.server.supervisor import SLOTS, width
from linkwright.server.verbs import (
    VERBS,
    ArmQueue,
    Inputs,
    Order,
    check_command,
    check_goal,
    number_of,
)


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
        self._queues = {arm.name: ArmQueue() for arm in cell.arms}
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
            raise RefusedError(
                "arm",
                f"{self.cell.name!r} has no arm {name!r}",
                remedy=suggestion(name, self.arms, f"it has {', '.join(self.arms)}"),
            )
        return self.arms[name]

    def command(self, name: str, command: Command, state: Mapping[str, float], now: int) -> Inputs:
        """Return the inputs that a command changes, all at one tick; the state is of the arm."""
        arm, queue = self.arm(name), self._queues[name]
        check_command(self.faces[name], command, now)
        verb, knots, queue.knots = VERBS[command.kind], queue.knots, []  # any other forgets them
        stands = self._place(arm, state) if verb.moves else None
        order = Order(arm, self.faces[name], command, state, self.cell.rate, queue, stands, knots)
        queue.enabling &= queue.head > state["tail"]
        if verb.moves:
            _check_life(order, verb.modes)
        if verb.waits and queue.head - state["tail"] >= SLOTS:
            raise RefusedError("full", f"{SLOTS} commands of {name!r} wait already")
        if verb.becomes is not None:
            verb.becomes(order)
        if verb.moves == "leg":
            check_goal(order, verb.goal)
        if verb.moves:
            queue.ends = self._end(order, verb.goal)
        self.faces[name] = order.face
        return {**order.inputs, **self._slot(order)} if verb.waits else order.inputs

    def _slot(self, order: Order) -> Inputs:
        """Return the inputs of the ring of an arm, with an order in its next slot."""
        own, slot, command = f"{order.arm.name}_supervisor", order.queue.head % SLOTS, order.command
        order.queue.head += 1
        wide = width(order.arm)
        values = [*order.values, *[0.0] * wide][:wide]
        return {
            **{f"{own}.slot_goal[{slot},{i}]": float(x) for i, x in enumerate(values)},
            f"{own}.slot_kind[{slot}]": float(number_of(command.kind)),
            f"{own}.slot_speed[{slot}]": float(command.speed),
            f"{own}.slot_blend[{slot}]": float(command.blend),
            f"{own}.slot_frame[{slot}]": float(order.face.frames.index(command.frame)),
            f"{own}.slot_sequence[{slot}]": float(command.sequence),
            f"{own}.head": float(order.queue.head),
        }

    def _end(self, order: Order, goal: str) -> tuple[float, ...] | None:
        """Return the joints at the end of a motion; reject a pose that the tool cannot come to."""
        arm, command = order.arm, order.command
        known = {frame.name: frame for frame in self.cell.frames if frame.kind == "constant"}
        if goal != "pose" or not (command.frame == "base" or command.frame in known):
            return order.values if goal == "joints" else None
        pose = pose_matrix(order.values)
        if command.frame != "base":
            mount = pose_matrix(arm.mount) if arm.mount else np.eye(4)
            pose = np.linalg.inv(mount) @ pose_matrix(known[command.frame].pose) @ pose
        if arm.name not in self._reach:
            self._reach[arm.name] = ArmReach(arm)
        return self._reach[arm.name].to(order.stands, pose)

    def _place(self, arm: CellArm, state: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return the joints at which an arm will stand as the next command begins, if known."""
        queue = self._queues[arm.name]
        if not state["moves"] and queue.head <= state["tail"]:
            return tuple(state[f"target{i}"] for i in range(len(arm.axes)))
        return None if state["braking"] else queue.ends

    def beat(self, name: str, holder: int, silence: float) -> Inputs:
        """Return the inputs that a sign of life of a lease's holder changes."""
        arm, queue = self.arm(name), self._queues[name]
        if holder and not 0 < silence < 3600:
            raise RefusedError("silence", f"a silence of {silence} s is not above 0")
        queue.beats += 1
        own = f"{arm.name}_supervisor"
        return {
            f"{own}.beats": float(queue.beats),
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


def _check_life(order: Order, modes: tuple[str, ...]) -> None:
    """Reject a motion of an arm that is not active, or whose axes are in other modes."""
    name, state = order.arm.name, order.state
    if order.life != "active":
        why = CAUSES[int(state["cause"])]
        raise RefusedError(
            "life",
            f"{name!r} is {order.life}" + (f" ({why})" if why != "none" else ""),
            remedy="clear and enable it first" if order.life == "fault" else "enable it first",
        )
    if state["braking"] == 1 and not order.queue.enabling:
        raise RefusedError(
            "life",
            f"{name!r} brakes, and is switched off then",
            remedy="enable it when it stands",
        )
    for axis, mode in order.queue.modes.items():
        if AxisMode(int(mode)).name not in modes:
            raise RefusedError(
                "mode",
                f"{axis} of {name!r} is in mode {AxisMode(int(mode)).name} and takes no "
                f"{order.command.kind!r}",
                remedy=f"disable the arm, then give it mode {AxisMode.POS.value}",
            )


def _gains(arm: CellArm) -> tuple[str, ...]:
    """Return the names of the numbers that each axis has."""
    more = ("gain",) if arm.law.kind == "hybrid" else ()
    return GAINS if arm.law.kind == "axes" else ("kp", "kd", *more)
