"""The whole-body controller: efforts of all joints from one program of least squares at each tick.

Unknown are the accelerations a and the contact forces f along the world's axes. They obey

    the rows of M a + h = S^T tau + J^T f that no joint drives,
    contacts at rest, J a + J' u = -J u / settling,
    forces in the pyramids of friction, normal forces up to the limit,
    efforts within their limits, and joints that do not run into their stops,

and, level by level, come as near as they can to what the tasks ask for. Points of compliant ground
move a little; `settling` is the time in which a foot comes to rest. A joint at q with speed u gets
an acceleration that lets it stop before its limit in `braking` seconds: the position that
q + T u + T^2 a / 2 stands for stays within. What cannot be kept gives way by as little as possible,
and is counted and named in the solution, and in the output `relaxed` of a run.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.blocks import Block, BlockError, Element, Foreign, Rate, checked
from linkwright.blocks.foreign import NativeFunction
from linkwright.blocks.rates import Continuous
from linkwright.control.joints import driven_joints
from linkwright.wholebody import native_tick, tasks, tick
from linkwright.wholebody.balance import gravity_of
from linkwright.wholebody.body_forces import BodyForces
from linkwright.wholebody.contact_dynamics import driven_speeds
from linkwright.wholebody.contacts import (
    FlatContact,
    checked_contacts,
    checked_robot,
    finite_state,
)
from linkwright.wholebody.tasks import BodyTask
from linkwright.wholebody.tick_program import rows_in, target_size, terms_of

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]

_SMALL = 1e-8
"""Weight of accelerations that no task decides; forces have a hundredth over the weight squared."""
_HEAVY = 10.0
"""A contact without a limit carries up to so many times the weight."""
_TICK = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)


class Controller(Block):
    """Efforts of all joints of a robot, for tasks of the whole body.

    Tasks are added by `track`, `posture`, `momentum` and `force`. `s.add(controller, rate=500)`
    puts it into a System; `solve` asks it in one state.

    Args:
        robot: with a free base, or fixed to the ground.
        contacts: frames that rest on something, or `FlatContact`s.
        friction: the coefficient of contacts that name none of their own.
        settling: the time in which a contact point comes to rest, s.
        braking: the time in which a joint stops before its limit, s; None leaves limits out.
        effort_weight: of efforts, as a task of the lowest priority.
        name: of the element.

    >>> from linkwright import load
    >>> dog = load("tests/robots/quadruped.urdf", friction=False)
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
    >>> body = Controller(dog, feet, friction=0.6)
    >>> body.track("trunk", position=dog.position(dog.neutral, "trunk"))
    >>> body.posture({}, weight=0.1)
    >>> standing = body.solve(dog.neutral, 0 * dog.neutral[1:])
    >>> round(float(sum(f[0, 2] for f in standing.forces.values()) / dog.mass), 1)
    9.8
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Sequence[str | FlatContact] = (),
        *,
        friction: float = 0.8,
        settling: float = 0.05,
        braking: float | None = 0.1,
        effort_weight: float = 0.0,
        name: str = "wholebody",
    ) -> None:
        super().__init__(name, doc="efforts for tasks of the whole body")
        self.robot = checked_robot(robot)
        checked(friction, "friction of a whole-body controller", above=0)
        self.contacts = checked_contacts(robot, contacts, friction)
        self.settling = checked(settling, "settling", above=0)
        self.braking = None if braking is None else checked(braking, "braking", above=0)
        self.effort_weight = checked(effort_weight, "effort_weight", least=0)
        self.tasks: list[BodyTask] = []
        pairs = driven_joints(robot.mechanism)
        self.joints = tuple(q.name for q, _ in pairs)
        self._speeds = driven_speeds(robot)
        places = {name: k for k, name in enumerate(robot.coordinates)}
        self._coordinates = [places[name] for name in self.joints]
        self._undriven = np.setdiff1d(np.arange(len(robot.speeds)), self._speeds)
        self._places = [c.frame for c in self.contacts]
        self._made: tuple[Any, Any, _Tick] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: native memory is its own."""
        return {**vars(self), "_made": None}

    # -- tasks -------------------------------------------------------------------------------------
    def track(
        self,
        frame: str,
        *,
        pose: Any = None,
        position: Any = None,
        orientation: Any = None,
        weight: float = 1.0,
        priority: int = 1,
        kp: float = 100.0,
        kd: float | None = None,
        name: str = "",
    ) -> None:
        """Ask a frame, or the center of mass, to follow a target.

        Args:
            frame: the name of a frame, or `wholebody.center_of_mass`.
            pose: a homogeneous 4 x 4 matrix; or a function of the time in s that returns it.
            position: x, y, z in m; or a function that returns it, or a tuple of position, velocity
                and acceleration.
            orientation: a 3 x 3 matrix, or a function that returns it.
            weight: among the tasks of one priority.
            priority: 1 comes first; a later one takes only what is left.
            kp: acceleration for an error, 1/s².
            kd: acceleration for an error of the rate, 1/s; critical by default.
            name: of the task; the frame's by default.
        """
        damping = _damping(kp, kd)
        given = {"pose": pose, "position": position, "orientation": orientation}
        asked = [(word, value) for word, value in given.items() if value is not None]
        if len(asked) != 1:
            raise InputError(
                f"track of {frame!r} has {len(asked)} targets",
                remedy="give one of pose, position, orientation",
            )
        ((word, target),) = asked
        of = frame
        if frame == tasks.center_of_mass:
            if word != "position":
                raise InputError(f"the center of mass has no {word}", remedy="give a position")
            word, of = "center", ""
        else:
            self.robot.point(frame)  # which says what is wrong
        order = _order(weight, priority)
        self._add(BodyTask(name or frame, word, of, target, *order, kp, damping))

    def posture(
        self,
        target: Mapping[str, float] | Sequence[float],
        *,
        weight: float = 0.1,
        priority: int = 1,
        kp: float = 100.0,
        kd: float | None = None,
    ) -> None:
        """Ask the driven joints for angles.

        Args:
            target: a number for each of `joints`, or by name; those left out are neutral.
            weight: among the tasks of one priority.
            priority: 1 comes first.
            kp: acceleration for an error, 1/s².
            kd: acceleration for a speed, 1/s; critical by default.
        """
        neutral = self.robot.neutral[self._coordinates]
        values = tasks.named_targets(target, self.joints, list(neutral))
        of = (*self._coordinates, *self._speeds)
        damping, order = _damping(kp, kd), _order(weight, priority)
        self._add(BodyTask("posture", "posture", of, values, *order, kp, damping))

    def momentum(self, *, gain: float = 5.0, weight: float = 1.0, priority: int = 1) -> None:
        """Let the angular momentum about the center of mass fade.

        Args:
            gain: its rate for its amount, 1/s.
            weight: among the tasks of one priority.
            priority: 1 comes first.
        """
        checked(gain, "gain of momentum", least=0)
        order = _order(weight, priority)
        self._add(BodyTask(tasks.SPIN, "momentum", "", None, *order, gain))

    def force(
        self,
        contact: str,
        value: Sequence[float],
        *,
        weight: float = 1.0,
        priority: int = 1,
    ) -> None:
        """Ask for the force on the robot at a contact, the sum over its points.

        Args:
            contact: the name of its frame.
            value: along the world's axes, N.
            weight: among the tasks of one priority, for an error in N.
            priority: 1 comes first.
        """
        if contact not in {c.frame for c in self.contacts}:
            known = [c.frame for c in self.contacts]
            raise InputError(
                f"{contact!r} is not a contact of the controller",
                remedy=suggestion(contact, known, f"it has {', '.join(known) or 'none'}"),
            )
        wanted, _, _ = tasks.target_at(value, 0.0, 3)
        order = _order(weight, priority)
        self._add(BodyTask(f"force on {contact}", "force", contact, wanted, *order))

    def _add(self, task: BodyTask) -> None:
        if task.name in {t.name for t in self.tasks}:
            raise InputError(
                f"there are two tasks {task.name!r}", remedy="give one a name of its own"
            )
        self.tasks.append(task)

    # -- one state ---------------------------------------------------------------------------------
    def solve(self, q: ArrayLike, u: ArrayLike, t: float = 0.0) -> BodyForces:
        """Return efforts, accelerations and contact forces for a state.

        Args:
            q: coordinates of the robot.
            u: its speeds.
            t: the time, for targets and contacts that change, s.
        """
        place, rate = finite_state(self.robot, q=q, u=u)
        return self._own().solve(place, rate, t)

    def _own(self) -> _Tick:
        """Return the tick of q and u side by side; made anew after each change."""
        options = self.settling, self.braking, self.effort_weight
        robot, key = self.robot, (len(self.tasks), options)
        if self._made is None or self._made[0] is not robot.kept or self._made[1] != key:
            count, n = len(robot.coordinates), len(robot.speeds)
            tick_of = _Tick(self, range(count), range(count, count + n), count + n)
            self._made = robot.kept, key, tick_of
        return self._made[2]

    @property
    def varies(self) -> bool:
        """Whether something that it is asked for is a function of time."""
        return any(c.share for c in self.contacts) or any(x.varies for x in self.tasks)

    # -- in a System -------------------------------------------------------------------------------
    def at_rate(self, rate: Rate) -> Block:
        """Return the element that puts the efforts on the joints, with the program behind it."""
        if isinstance(rate, Continuous):
            raise BlockError(
                f"{self.name!r} solves a program at each tick, and runs at a rate",
                remedy="add it with rate=500, say",
            )
        return _Efforts(self, rate)


class _Efforts(Element):
    """Efforts on the joints of a robot, from a whole-body controller that runs at a rate."""

    def __init__(self, controller: Controller, rate: Rate | float | Fraction) -> None:
        super().__init__(controller.name, controller.robot, rate=rate, doc=controller.doc)
        kinematics = controller.robot.mechanism.kinematics()
        states = {s.symbol for s in controller.robot.mechanism.states}
        coordinates = [q.name for q in kinematics.rates if q not in states]
        speeds = [s.symbol.name for s in kinematics.speeds]
        own_q = [coordinates.index(name) for name in controller.robot.coordinates]
        own_u = [speeds.index(name) for name in controller.robot.speeds]
        points = sum(len(c.points) for c in controller.contacts)
        own_u = [len(coordinates) + k for k in own_u]

        def solve(t: float, q: Array, u: Array) -> dict[str, Any]:
            made = controller._own()
            results = made.results(np.concatenate([q[own_q], np.r_[q, u][own_u]]), t)
            joints = len(controller.joints)
            found = {"effort": results[:joints], "relaxed": float(results[joints])}
            return {**found, "forces": results[joints + 1 :]} if points else found

        def native(results_at: int) -> NativeFunction | None:
            if controller.varies:
                return None
            made = _Tick(controller, own_q, own_u, results_at)
            return made.address, made.memory.fields.ctypes.data, made

        outputs: dict[str, int | None] = {"effort": len(controller.joints), "relaxed": None}
        if points:
            outputs["forces"] = 3 * points
        solver = Foreign(
            solve, outputs=outputs, inputs={"q": len(coordinates), "u": len(speeds)},
            rate=rate, name=f"{controller.name}_program",
            units={"forces": "N", "relaxed": "1"}, doc="least squares over the whole body",
            native=native,
        )  # fmt: skip
        tau = self.input_vector("effort", len(controller.joints), doc="of each driven joint")
        self.default_source("effort", solver, "effort")
        for joint, value in zip(controller.joints, tau, strict=True):
            self.effort(f"tau_{joint}", joint, value)


class _Tick:
    """The tick of a controller as it is now, for one array of arguments and results.

    Args:
        controller: whose contacts, tasks and limits it takes.
        own_q: where the coordinates of the robot are in the array.
        own_u: where its speeds are.
        out: where results begin: efforts, how many limits gave way, forces.
    """

    def __init__(
        self, controller: Controller, own_q: Sequence[int], own_u: Sequence[int], out: int
    ) -> None:
        robot, contacts, asked = controller.robot, controller.contacts, controller.tasks
        self.controller, self.tasks, self.contacts = controller, list(asked), contacts
        n, driven = len(robot.speeds), controller._speeds
        plan = tuple((x.kind, "" if x.kind == "force" else x.of) for x in asked)
        rows = [rows_in(kind, of) for kind, of in plan]
        self.first = [0, *np.cumsum(rows, dtype=int).tolist()]
        sizes = [target_size(kind, count) for (kind, _), count in zip(plan, rows, strict=True)]
        self.at = [0, *np.cumsum(sizes, dtype=int).tolist()]
        effort = [(controller.effort_weight, max((x.priority for x in asked), default=1))]
        order = [*((x.weight, x.priority) for x in asked), *effort]
        weighs = [p for w, p in order if w > 0] or [1]
        levels = {p: k for k, p in enumerate(sorted(set(weighs)))}
        counted = [len(c.points) for c in contacts]
        weight = gravity_of(robot) * robot.mass
        most = np.asarray(robot.effort_limits, dtype=float)[driven]
        bounds = np.asarray(robot.limits, dtype=float)[controller._coordinates]
        self.groups = [f"effort of {name}" for name in controller.joints]
        for c in contacts:
            self.groups += [f"friction of {c.frame}", f"greatest force of {c.frame}"]
        self.groups += [f"limit of {name}" for name in controller.joints]
        gain = [1.0 / controller.settling, *(g for x in asked for g in (x.kp, x.kd))]
        heavy = [c.max_force if math.isfinite(c.max_force) else _HEAVY * weight for c in contacts]
        self.memory = native_tick.TickMemory(
            {
                "coordinates": len(own_q), "n": n, "undriven": len(controller._undriven),
                "driven": len(driven), "contacts": len(contacts), "tasks": len(asked),
                "rows": self.first[-1], "levels": len(levels), "groups": len(self.groups),
                "out": out,
            },
            {
                "small_a": _SMALL, "small_f": 0.01 / max(weight, 1.0) ** 2,
                "braking": controller.braking or 0.0,
            },
            {
                "own_q": own_q, "own_u": own_u, "own_c": controller._coordinates,
                "rest": controller._undriven.tolist(), "own": driven,
                "begin": [0, *np.cumsum([3 * k for k in counted], dtype=int).tolist()],
                "points": counted, "first": [*self.first, self.first[-1]],
                "contact": [
                    controller._places.index(str(x.of)) if x.kind == "force" else -1 for x in asked
                ],
                "level": [levels.get(p, -1) for _, p in order],
            },
            {
                "target": np.zeros(self.at[-1]), "gain": gain, "share": np.ones(len(contacts)),
                "slope": [(c.friction or 0.0) / math.sqrt(2.0) for c in contacts],
                "heavy": heavy, "axes": np.array([c.axes() for c in contacts]),
                "most": np.where(np.isfinite(most), most, 2 * tick.FREE),
                "low": np.maximum(bounds[:, 0], -tick.FREE),
                "high": np.minimum(bounds[:, 1], tick.FREE),
                "root": [math.sqrt(w) for w, _ in order],
            },
        )  # fmt: skip
        quantity = terms_of(robot, contacts, plan)
        self.memory.use(*quantity.code, quantity.usual_parameters)
        for k, task in enumerate(self.tasks):
            if not task.varies:
                self._ask(k, 0.0)
        self.o = np.zeros(out + len(driven) + 1 + 3 * sum(counted))
        self.out, self.code = out, native_tick.tick_code()
        self.address = self.code.address(native_tick.TICK)
        self._call = _TICK(self.address)
        self._varying = [k for k, x in enumerate(self.tasks) if x.varies]
        self._shares = [k for k, c in enumerate(contacts) if c.share is not None]
        self._places = self.memory.fields.ctypes.data, 0, self.o.ctypes.data

    def _ask(self, k: int, t: float) -> None:
        self.memory["target"][self.at[k] : self.at[k + 1]] = self.tasks[k].numbers(t)

    def results(self, state: Array, t: float) -> Array:
        """Return efforts, how many limits gave way, and forces, for q and u side by side."""
        for k in self._varying:
            self._ask(k, t)
        share = self.memory["share"]
        for k in self._shares:
            share[k] = self.contacts[k].part(t)
        self.o[: self.out] = state
        if self._call(*self._places):
            raise Error(
                "the quadratic program of a whole-body controller ended with DAQP's flag "
                f"{self.memory['flag']}"
            )
        return self.o[self.out :].copy()

    def solve(self, q: Array, u: Array, t: float) -> BodyForces:
        """Return all that was chosen."""
        results, memory = self.results(np.concatenate([q, u]), t), self.memory
        joints, n = len(self.controller.joints), len(u)
        share, begin = memory["share"], memory["begin"]
        points = results[joints + 1 :].reshape(-1, 3)
        forces = {
            c.frame: points[begin[k] // 3 : begin[k + 1] // 3]
            for k, c in enumerate(self.contacts)
            if share[k] > 0
        }
        error, first = memory["error"], self.first
        errors = {
            x.name: float(error[first[k] : first[k + 1]].max(initial=0.0))
            for k, x in enumerate(self.tasks)
            if x.kind != "force" or x.of in forces
        }
        relaxed = {}
        if results[joints]:
            if memory["miss"] > tick.CONTRADICTION:
                relaxed["contacts at rest"] = memory["miss"]
            amounts = zip(self.groups, memory["amount"].tolist(), strict=False)
            relaxed |= {name: amount for name, amount in amounts if amount > 0}
        return BodyForces(memory["x"][:n].copy(), results[:joints], forces, errors, relaxed)


def _damping(kp: float, kd: float | None) -> float:
    checked(kp, "kp", least=0)
    return 2.0 * math.sqrt(kp) if kd is None else checked(kd, "kd", least=0)


def _order(weight: float, priority: int) -> tuple[float, int]:
    level = checked(priority, "priority", least=1)
    if level != int(level):
        raise InputError(f"priority is {level:g}", remedy="give a whole number, 1 comes first")
    return checked(weight, "weight", above=0), int(level)
