"""Where the nodes of a scene are: one kernel for all of them, from coordinates.

A frame is seven numbers for each node: its origin in the world (x, y, z, m) and the unit quaternion
(w, x, y, z) from its axes to the world's. A node hangs in a body at a constant place, or spans two
points: then it sits at the first, its z axis toward the second. The kernel also gives the mass
center of all. It takes no notice of constraints: coordinates that violate them show gaps. Where
there are many bodies, the kernel says how each stands against its parent, and the rest is done by
NumPy (`linkwright.scene.pose_chain`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ONE, ZERO, Expr, constant, sqrt, total
from linkwright.algebra.functions import maximum, where
from linkwright.algebra.triples import Triple, add, apply, dot, subtract
from linkwright.base.errors import InputError, ShapeError
from linkwright.base.forking import cached_property
from linkwright.equations.tree import Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Point
from linkwright.mechanism.kinematics import stands_still
from linkwright.program import Program
from linkwright.robots import Robot
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.kinematics import ON_GROUND, Stance, placed, quaternion, stances
from linkwright.robots.quantity import Quantity
from linkwright.scene.pose_chain import MANY, Fixed, chained, fixed_parts, joints_program

Array: TypeAlias = NDArray[np.float64]
Hanging: TypeAlias = "FixedFrame | tuple[Point, Point]"
_TINY = constant(1e-18)


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """How nodes stand in the world at some times."""

    poses: Array
    center: Array


@dataclass(eq=False)
class Poses:
    """The kernel of a scene's poses; it is compiled when it is first called.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("swing")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> robot = Robot(m)
    >>> poses = Poses(robot, [robot.spot("rod")])
    >>> poses([np.pi]).poses.round(3)
    array([[0., 0., 0., 0., 0., 0., 1.]])
    """

    robot: Robot
    hanging: Sequence[Hanging]
    values: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def tree(self) -> Tree:
        """The bodies without their constraints; joints that follow others have no coordinate."""
        mechanism = self.robot.mechanism
        known: dict[Expr, Expr | float] = {
            joint.coordinates[0]: joint.follows[1] * joint.follows[0] + joint.follows[2]
            for joint in self.robot.assembled.joints
            if joint.follows is not None
        }
        known.update(dict.fromkeys(mechanism.inputs.values(), 0.0))
        return Tree(mechanism.kinematics(), values=known or None)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates, in order."""
        return tuple(q.name for q in self.tree.coordinates)

    @cached_property
    def start(self) -> Array:
        """The mechanism's own start, quaternions of unit length."""
        own = self.robot.mechanism.initial
        made = np.array([float(own.get(name, 0.0)) for name in self.coordinates])
        index = {name: k for k, name in enumerate(self.coordinates)}
        for body in self.robot.mechanism.bodies.values():
            turn = [index[q.name] for q in body.rotations if q.name in index]
            if len(turn) == 4 and not made[turn].any():
                made[turn[0]] = 1.0
        return made

    @cached_property
    def _quantity(self) -> Quantity:
        return Quantity("poses", self._derived, values=lambda: self._numbers)

    @property
    def _numbers(self) -> dict[str, float]:
        return {**self.robot.mechanism.values, **self.values}

    @cached_property
    def _parameters(self) -> tuple[Array, ...]:
        if not any(name == "p" for name, _ in self._quantity.inputs):
            return ()
        names, numbers = self._quantity.parameters, self._numbers
        missing = [name for name in names if name not in numbers]
        if missing:
            raise InputError(
                f"{self.robot.mechanism.name!r} cannot be drawn without values for "
                f"{', '.join(missing)}",
                remedy="give the parameters defaults",
            )
        return (np.array([numbers[name] for name in names]),)

    def with_parameters(self, values: Mapping[str, float]) -> Poses:
        """Return the same kernel with other values of parameters; nothing is compiled again."""
        made = Poses(self.robot, self.hanging, {**self.values, **values})
        made.__dict__.update(tree=self.tree, _quantity=self._quantity, _many=self._many)
        return made

    def __call__(self, q: ArrayLike) -> Where:
        """Return where the nodes are, for one vector of coordinates or for rows of them."""
        rows = np.asarray(q, float)
        if rows.shape[-1:] != (len(self.coordinates),):
            raise ShapeError(
                f"{len(self.coordinates)} coordinates are needed, not {rows.shape[-1:]}",
                remedy=", ".join(self.coordinates),
            )
        given = (np.ascontiguousarray(rows), *self._parameters)
        found = self._quantity(*given) if self.coordinates else self._still(rows)
        if not self._many:
            flat, center = found
            return Where(np.asarray(flat).reshape(*rows.shape[:-1], len(self.hanging), 7), center)
        lead = rows.shape[:-1]
        turns, arms = (np.reshape(x, (-1, np.shape(x)[-1])) for x in found)
        poses, center = chained(self._fixed, turns, arms)
        return Where(poses.reshape(*lead, -1, 7), center.reshape(*lead, 3))

    def _still(self, rows: Array) -> tuple[Array, Array]:
        from linkwright.backends.kernel import compile as compiled

        first, second = compiled(self._quantity.program)(*self._parameters)
        lead = rows.shape[:-1]
        return (
            np.broadcast_to(first, (*lead, *first.shape)),
            np.broadcast_to(second, (*lead, *second.shape)),
        )

    @cached_property
    def _many(self) -> bool:
        """Whether there are so many bodies that NumPy puts their poses together."""
        return len(self.robot.mechanism.bodies) > MANY

    @cached_property
    def _fixed(self) -> Fixed:
        return fixed_parts(self.robot.mechanism, self.hanging, self._numbers)

    def _derived(self) -> Program:
        bodies = self.robot.mechanism.depth_first()
        takes = ["q"] if self.coordinates else []
        return joints_program(self.tree, bodies, takes) if self._many else self.program()

    def program(self) -> Program:
        """Return one Program of all frames and the mass center, from `q` and parameters `p`."""
        bodies = self.robot.mechanism.depth_first()
        takes = ["q"] if self.coordinates else []

        def write(writer: Writer) -> dict[str, list[Expr]]:
            found = stances(writer, bodies)
            frames: list[Expr] = []
            for each in self.hanging:
                if isinstance(each, FixedFrame):
                    stance = placed(writer, found.get(each.body, ON_GROUND), each)
                    frames += [*stance.position, *quaternion(writer, stance.rotation)]
                else:
                    frames += _span(writer, found, *each)
            return {"poses": frames, "center": _center(writer, found)}

        return self.tree.program("poses", takes, write)


def _point(writer: Writer, found: Mapping[Body, Stance], point: Point) -> Triple:
    stance = found.get(point.body, ON_GROUND)
    local = point.local.components(point.body.frame)
    return writer.triple(add(stance.position, apply(stance.rotation, local)))


def _span(writer: Writer, found: Mapping[Body, Stance], first: Point, second: Point) -> list[Expr]:
    """Return a point, and the shortest turn of z into the direction to another point."""
    start, end = _point(writer, found, first), _point(writer, found, second)
    x, y, z = subtract(end, start)
    long = writer.hold(sqrt(maximum(dot((x, y, z), (x, y, z)), _TINY)))
    x, y, z = (writer.hold(v / long) for v in (x, y, z))
    # (1 + z, -y, x, 0) has the length sqrt(2 (1 + z)); upside down it is a turn about x.
    w = writer.hold(ONE + z)
    safe = writer.hold(w > constant(1e-9))
    scale = writer.hold(ONE / sqrt(maximum(constant(2) * w, constant(1e-9))))
    turn = [
        where(safe, w * scale, ZERO),
        where(safe, -y * scale, ONE),
        where(safe, x * scale, ZERO),
        ZERO,
    ]
    return [*start, *(writer.hold(v) for v in turn)]


def _center(writer: Writer, found: Mapping[Body, Stance]) -> list[Expr]:
    """Return the mass center of the bodies that can move; the origin where nothing has mass."""
    moments: list[Triple] = []
    masses: list[Expr] = []
    for body, stance in found.items():
        mass = body.inertia.mass
        if mass is ZERO or stands_still(body):
            continue
        at = writer.triple(add(stance.position, apply(stance.rotation, body.inertia.center)))
        masses.append(mass)
        moments.append((mass * at[0], mass * at[1], mass * at[2]))
    if not masses:
        return [ZERO, ZERO, ZERO]
    whole = writer.hold(total(masses))
    return [writer.hold(total(m[k] for m in moments) / whole) for k in range(3)]
