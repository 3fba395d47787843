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

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import InputError, suggestion
from linkwright.blocks import Block, BlockError, Element, Foreign, Rate, checked
from linkwright.blocks.rates import Continuous
from linkwright.control.joints import driven_joints
from linkwright.wholebody import tasks
from linkwright.wholebody.contact_dynamics import driven_speeds
from linkwright.wholebody.contacts import (
    Cones,
    FlatContact,
    checked_contacts,
    checked_robot,
    cones_of,
    finite_state,
    inward,
)
from linkwright.wholebody.programs import (
    BodyForces,
    Inequalities,
    solve_equalities,
    solve_levels,
)
from linkwright.wholebody.tasks import BodyTask, TickState
from linkwright.wholebody.tick_program import Terms, terms_of

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]

_SMALL = 1e-8
"""Weight of accelerations that no task decides; forces have a hundredth over the weight squared."""
_HEAVY = 10.0
"""A contact without a limit carries up to so many times the weight."""
CONTRADICTION = 1e-6
"""Rates of contact points, m/s², that their equations may miss before the contacts contradict."""


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
        self._terms: tuple[Any, Callable[[Array, Array], Terms]] | None = None
        self._kept_cones: dict[tuple[bool, ...], Cones] = {}
        self._read()

    def _read(self) -> None:
        """Take limits and mass of the robot as it is now."""
        robot = self.robot
        self._as_read = robot.kept  # another one once the robot has been changed
        limits = np.asarray(robot.effort_limits, dtype=float)[self._speeds]
        self._efforts = np.stack([-limits, limits])
        self._bounds = np.asarray(robot.limits, dtype=float)[self._coordinates]
        self._weight = 9.81 * robot.mass
        self._bounded = np.isfinite(limits)
        given = zip(self.joints, self._bounded, strict=True)
        self._effort_names = tuple(f"effort of {name}" for name, bounded in given if bounded)

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
        if frame == tasks.center_of_mass:
            if word != "position":
                raise InputError(f"the center of mass has no {word}", remedy="give a position")
            rows = tasks.center_rows(target, kp, damping)
        else:
            self.robot.point(frame)  # which says what is wrong
            make = {
                "pose": tasks.pose_rows,
                "position": tasks.position_rows,
                "orientation": tasks.orientation_rows,
            }[word]
            rows = make(frame, target, kp, damping)
        self._add(BodyTask(name or frame, rows, *_order(weight, priority), of=frame))

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
        pairs = list(zip(self._coordinates, self._speeds, strict=True))
        rows = tasks.posture_rows(pairs, values, kp, _damping(kp, kd))
        self._add(BodyTask("posture", rows, *_order(weight, priority)))

    def momentum(self, *, gain: float = 5.0, weight: float = 1.0, priority: int = 1) -> None:
        """Let the angular momentum about the center of mass fade.

        Args:
            gain: its rate for its amount, 1/s.
            weight: among the tasks of one priority.
            priority: 1 comes first.
        """
        rows = tasks.momentum_rows(checked(gain, "gain of momentum", least=0))
        self._add(BodyTask("angular momentum", rows, *_order(weight, priority), of=tasks.SPIN))

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

        def rows(_state: TickState) -> tasks.Rows:
            return np.eye(3), wanted

        name = f"force on {contact}"
        self._add(BodyTask(name, rows, *_order(weight, priority), over="force", of=contact))

    def _add(self, task: BodyTask) -> None:
        if task.name in {t.name for t in self.tasks}:
            raise InputError(
                f"there are two tasks {task.name!r}", remedy="give one a name of its own"
            )
        self.tasks.append(task)

    # -- one state ---------------------------------------------------------------------------------
    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that tasks ask for, in their order."""
        own = [t.of for t in self.tasks if t.over == "acceleration" and t.of in self.robot.frames]
        return tuple(dict.fromkeys(own))

    def _evaluate(self) -> Callable[[Array, Array], Terms]:
        """Return the function that gives all terms of a state; made anew after each change."""
        if self.robot.kept is not self._as_read:
            self._read()
            self._terms = None
        asked = {t.of for t in self.tasks}
        key = (self.frames, tasks.center_of_mass in asked, tasks.SPIN in asked)
        if self._terms is None or self._terms[0] != key:
            made = terms_of(self.robot, self.contacts, key[0], center=key[1], spin=key[2])
            self._terms = (key, made)
        return self._terms[1]

    def _cones(self, closed: tuple[bool, ...]) -> Cones:
        if closed not in self._kept_cones:
            self._kept_cones[closed] = cones_of(self.contacts, closed)
        return self._kept_cones[closed]

    def solve(self, q: ArrayLike, u: ArrayLike, t: float = 0.0) -> BodyForces:
        """Return efforts, accelerations and contact forces for a state.

        Args:
            q: coordinates of the robot.
            u: its speeds.
            t: the time, for targets and contacts that change, s.
        """
        place, rate = finite_state(self.robot, q=q, u=u)
        terms = self._evaluate()(place, rate)
        state = TickState(place, rate, t, terms)
        n, driven, rest = len(rate), self._speeds, self._undriven
        parts = [c.part(t) for c in self.contacts]
        cones = self._cones(tuple(part > 0 for part in parts))
        J, slowing = np.zeros((0, n)), np.zeros(0)
        if self.contacts:
            J = terms["J"][cones.rows]
            moving = J @ rate
            slowing = -terms["drift"][cones.rows] - moving / self.settling
            places = terms["x"].ravel()[cones.rows].reshape(-1, 3)
            for rows in cones.places.values():
                own = places[rows.start // 3 : rows.stop // 3]
                slowing[rows] += inward(moving[rows], own)
        m = len(slowing)
        motion = np.hstack([terms["M"], -J.T])  # what efforts have to give, less h
        h = terms["h"]
        still = np.hstack([J, np.zeros((m, m))])
        first, Z, miss = solve_equalities(
            np.concatenate([motion[rest], still]),
            np.concatenate([-h[rest], slowing]),
        )
        levels, rows_of = self._levels(state, cones, motion[driven], h[driven])
        limits = self._limits(state, cones, parts, motion[driven], h[driven])
        small = np.full(n + m, _SMALL)
        small[n:] = 0.01 / max(self._weight, 1.0) ** 2
        x, relaxed = solve_levels(first, Z, levels, limits, small)
        if miss > CONTRADICTION:
            relaxed = {"contacts at rest": miss, **relaxed}
        errors = {
            name: float(np.max(np.abs(A @ x - b), initial=0.0)) for name, (A, b) in rows_of.items()
        }
        forces = {name: x[n:][rows].reshape(-1, 3) for name, rows in cones.places.items()}
        return BodyForces(x[:n], motion[driven] @ x + h[driven], forces, errors, relaxed)

    def _levels(
        self, state: TickState, cones: Cones, motion: Array, h: Array
    ) -> tuple[list[tasks.Rows], dict[str, tasks.Rows]]:
        """Return weighted rows by priority, and those of each task as they are."""
        n, width = len(state.u), motion.shape[1]
        levels: dict[int, list[tasks.Rows]] = {}
        single: dict[str, tasks.Rows] = {}
        for task in self.tasks:
            A, b = task.rows(state)
            wide = np.zeros((len(b), width))
            if task.over == "acceleration":
                wide[:, :n] = A
            else:
                place = cones.places.get(task.of)
                if place is None:
                    continue  # an open contact has no force
                wide[:, n:][:, place] = np.tile(A, (place.stop - place.start) // 3)
            single[task.name] = (wide, b)
            root = math.sqrt(task.weight)
            levels.setdefault(task.priority, []).append((root * wide, root * b))
        if self.effort_weight > 0 or not levels:
            root = math.sqrt(self.effort_weight)
            levels.setdefault(max(levels, default=1), []).append((root * motion, -root * h))
        joined = [
            (np.concatenate([A for A, _ in levels[k]]), np.concatenate([b for _, b in levels[k]]))
            for k in sorted(levels)
        ]
        return joined, single

    def _limits(
        self, state: TickState, cones: Cones, parts: Sequence[float], motion: Array, h: Array
    ) -> Inequalities:
        """Return what efforts, forces and joints keep to."""
        n, m = len(state.u), len(cones.rows)
        low, high = self._efforts
        bounded = self._bounded
        made = [
            Inequalities(
                motion[bounded], (low - h)[bounded], (high - h)[bounded], self._effort_names
            )
        ]
        if m:
            wide = np.zeros((len(cones.cone) + len(cones.normal), n + m))
            wide[:, n:] = np.concatenate([cones.cone, cones.normal])
            upper = np.full(len(wide), math.inf)
            closed = [(c, part) for c, part in zip(self.contacts, parts, strict=True) if part > 0]
            upper[len(cones.cone) :] = [
                part * (c.max_force if math.isfinite(c.max_force) else _HEAVY * self._weight)
                for c, part in closed
            ]
            names = [f"friction of {name}" for name in cones.names]
            names += [f"greatest force of {c.frame}" for c, _ in closed]
            made.append(Inequalities(wide, np.zeros(len(wide)), upper, tuple(names)))
        if self.braking is not None:
            made.append(self._stops(state, n + m, self.braking))
        return Inequalities.joined(made)

    def _stops(self, state: TickState, width: int, T: float) -> Inequalities:
        """Return the accelerations with which joints stop before their limits."""
        q, u = state.q[self._coordinates], state.u[self._speeds]
        low, high = (2.0 * (bound - q - T * u) / T**2 for bound in self._bounds.T)
        some = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        rows = np.zeros((len(some), width))
        rows[np.arange(len(some)), np.array(self._speeds)[some]] = 1.0
        names = tuple(f"limit of {self.joints[k]}" for k in some)
        return Inequalities(rows, low[some], high[some], names)

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
        names = [f"{c.frame}.{k}" for c in controller.contacts for k in range(len(c.points))]

        def solve(t: float, q: Array, u: Array) -> dict[str, Any]:
            found = controller.solve(q[own_q], u[own_u], t)
            forces = np.zeros((points, 3))
            for k, name in enumerate(names):
                frame, _, number = name.rpartition(".")
                if frame in found.forces:
                    forces[k] = found.forces[frame][int(number)]
            result = {"effort": found.effort, "relaxed": float(len(found.relaxed))}
            return {**result, "forces": forces.ravel()} if points else result

        outputs: dict[str, int | None] = {"effort": len(controller.joints), "relaxed": None}
        if points:
            outputs["forces"] = 3 * points
        solver = Foreign(
            solve, outputs=outputs, inputs={"q": len(coordinates), "u": len(speeds)},
            rate=rate, name=f"{controller.name}_program",
            units={"forces": "N", "relaxed": "1"}, doc="least squares over the whole body",
        )  # fmt: skip
        tau = self.input_vector("effort", len(controller.joints), doc="of each driven joint")
        self.default_source("effort", solver, "effort")
        for joint, value in zip(controller.joints, tau, strict=True):
            self.effort(f"tau_{joint}", joint, value)


def _damping(kp: float, kd: float | None) -> float:
    checked(kp, "kp", least=0)
    return 2.0 * math.sqrt(kp) if kd is None else checked(kd, "kd", least=0)


def _order(weight: float, priority: int) -> tuple[float, int]:
    level = checked(priority, "priority", least=1)
    if level != int(level):
        raise InputError(f"priority is {level:g}", remedy="give a whole number, 1 comes first")
    return checked(weight, "weight", above=0), int(level)
