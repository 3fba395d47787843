"""The forces of inverse dynamics as a matrix times the inertial parameters.

tau = Y(q, u, a) p. Each body has ten parameters, in Pinocchio's order: mass; first moments x, y, z;
Ixx, Ixy, Iyy, Ixz, Iyz, Izz of the inertia tensor about the origin of its first link's frame, along
the axes of that frame. After the bodies come, where they are asked for, three parameters for each
joint with one coordinate: the inertia of the geared rotor, viscous and dry friction.

A column is the virtual power of a body's inertia force with one parameter 1 and the others 0, for
the unit speed of each joint that carries the body (Atkeson, An and Hollerbach 1986).

Not all parameters can be distinguished by forces and motion:
`linkwright.equations.independent_columns` finds those that can from Y at many states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr, evaluate_all, sign
from linkwright.algebra.triples import Triple, add, apply, cross, dot, subtract, transposed
from linkwright.equations.bodies import swung
from linkwright.equations.independent_columns import ColumnBasis as ColumnBasis, base_of as base_of
from linkwright.equations.inertia import own_moments, turned
from linkwright.equations.links import rotation_between
from linkwright.equations.rnea import spread
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body
from linkwright.program import Program, ProgramPort
from linkwright.program.passes.liveness import liveness
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.kinematics import movements

Array: TypeAlias = NDArray[Any]

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten inertial parameters of a body, in order."""

JOINT = ("rotor", "viscous", "dry")
"""The three parameters of a joint, in order."""


def regressor(
    writer: Writer, tree: Tree, links: Sequence[FixedFrame], rates: Mapping[Expr, Expr]
) -> list[list[Expr]]:
    """Return the rows of Y for the inertial parameters, ten columns for each link frame."""
    mechanism = tree.kinematics.mechanism
    gravity = mechanism.gravity_vector.components(mechanism.ground.frame)
    lift = (-gravity[0], -gravity[1], -gravity[2])
    bodies = mechanism.depth_first()
    moving = movements(writer, tree, bodies, rates, lift)
    twists = _twists(writer, tree, bodies)
    rows: dict[Expr, list[Expr]] = {
        s.symbol: [ZERO] * (10 * len(links)) for s in tree.kinematics.speeds
    }
    for n, link in enumerate(links):
        m = moving[link.body]
        axes, r = transposed(link.rotation), link.position
        omega = writer.triple(apply(axes, m.omega))
        alpha = writer.triple(apply(axes, m.alpha))
        raised = add(m.acceleration, swung(m.omega, m.alpha, r))
        acceleration = writer.triple(apply(axes, raised))
        table = _Table(writer, omega, alpha, acceleration)
        for u, (turn, push) in twists[link.body].items():
            spin = writer.triple(apply(axes, turn))
            slide = writer.triple(apply(axes, add(push, cross(turn, r))))
            rows[u][10 * n : 10 * n + 10] = table.powers(spin, slide)
    return tree.on_independent(writer, rows, 10 * len(links))


def joint_columns(
    tree: Tree, writer: Writer, rates: Mapping[Expr, Expr], jointed: Sequence[Expr]
) -> list[list[Expr]]:
    """Return the rows of Y for rotor inertia, viscous and dry friction of joints."""
    rows: dict[Expr, list[Expr]] = {}
    for k, u in enumerate(jointed):
        row: list[Expr] = [ZERO] * (3 * len(jointed))
        row[3 * k : 3 * k + 3] = [rates[u], u, sign(u)]
        rows[u] = row
    return tree.on_independent(writer, rows, 3 * len(jointed))


class _Table:
    """Virtual powers of one body's inertia forces, by parameter."""

    def __init__(self, writer: Writer, omega: Triple, alpha: Triple, raised: Triple) -> None:
        hold = writer.hold
        self.hold = hold
        self.raised = raised
        self.spread = spread(writer, omega, alpha)
        x, y, z = omega
        a, b, c = alpha
        xx, yy, zz = hold(x * x), hold(y * y), hold(z * z)
        xy, yz, zx = hold(x * y), hold(y * z), hold(z * x)
        self.moments = (
            (a, zx, -xy),
            (hold(b - zx), hold(a + yz), hold(xx - yy)),
            (-yz, b, xy),
            (hold(c + xy), hold(zz - xx), hold(a - yz)),
            (hold(yy - zz), hold(c - xy), hold(b + zx)),
            (yz, -zx, c),
        )

    def powers(self, spin: Triple, slide: Triple) -> list[Expr]:
        """Return the virtual powers for one joint's unit speed, seen in the link."""
        carried = apply(transposed(self.spread), slide)
        first = add(carried, cross(self.raised, spin))
        values = [
            dot(slide, self.raised),
            *first,
            *(dot(spin, moment) for moment in self.moments),
        ]
        return [self.hold(x) for x in values]


Twist: TypeAlias = tuple[Triple, Triple]


def _twists(writer: Writer, tree: Tree, bodies: Iterable[Body]) -> dict[Body, dict[Expr, Twist]]:
    """Return what unit speeds make of each body: turn, and velocity of its origin, in its axes."""
    found: dict[Body, dict[Expr, Twist]] = {}
    for body in bodies:
        parent, motion = body.parent, tree.kinematics.motions[body]
        assert parent is not None
        turn = rotation_between(body.frame, parent.frame)
        arm = body.from_parent.components(parent.frame)
        own: dict[Expr, Twist] = {}
        for u, (spin, slide) in found.get(parent, {}).items():
            moved = writer.triple(add(slide, cross(spin, arm)))
            own[u] = writer.triple(apply(turn, spin)), writer.triple(apply(turn, moved))
        reference = motion.reference.components(body.frame)
        for speed in motion.speeds:
            omega = speed.omega.components(body.frame)
            push = subtract(speed.velocity.components(body.frame), cross(omega, reference))
            own[speed.symbol] = omega, writer.triple(push)
        found[body] = own
    return found


# -- Programs --------------------------------------------------------------------------------------
def regressor_of(tree: Tree, links: Sequence[FixedFrame]) -> Program:
    """Return the Program of Y for the inertial parameters, n x 10 for each link frame."""

    def write(writer: Writer) -> Results:
        return {"Y": regressor(writer, tree, links, tree.all_rates(writer, tree.accelerations))}

    return tree.program("regressor", ["q", "u", "a"], write)


def joint_regressor_of(tree: Tree, links: Sequence[FixedFrame], jointed: Sequence[Expr]) -> Program:
    """Return the Program of Y with the columns of rotors and friction after the others."""

    def write(writer: Writer) -> Results:
        rates = tree.all_rates(writer, tree.accelerations)
        left = regressor(writer, tree, links, rates)
        right = joint_columns(tree, writer, rates, jointed)
        return {"Y": [[*a, *b] for a, b in zip(left, right, strict=True)]}

    return tree.program("joint_regressor", ["q", "u", "a"], write)


def jointed_speeds(tree: Tree) -> tuple[Expr, ...]:
    """Return the independent speeds of joints with one coordinate."""
    free = set(tree.speeds)
    return tuple(
        s.symbol
        for s in tree.kinematics.speeds
        if len(s.body.coordinates) == 1 and s.symbol in free
    )


def columns_of(program: Program, columns: Sequence[int], name: str) -> Program:
    """Return the Program of some columns of a matrix."""
    (port,) = program.outputs
    rows, width = port.shape
    kept = tuple(port.entries[width * i + k] for i in range(rows) for k in columns)
    made = replace(
        program, name=name, outputs=(ProgramPort(port.name, (rows, len(columns)), kept),)
    )
    return liveness(made)


def inertial_parameters(
    tree: Tree, links: Sequence[FixedFrame], values: Mapping[str, float]
) -> Array:
    """Return the ten parameters of each body, in the order of the regressor's columns."""
    numbers = {
        p: values[name]
        for name, p in tree.kinematics.mechanism.parameters.items()
        if name in values
    }
    wanted: list[Expr] = []
    for link in links:
        x, y, z = link.position
        moved = own_moments(link.body).moved((-x, -y, -z))
        seen = turned(moved, transposed(link.rotation))
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = seen.tensor()
        wanted += [seen.mass, *seen.first, xx, xy, yy, xz, yz, zz]
    return np.array([float(v) for v in evaluate_all(wanted, numbers)])


def random_states(tree: Tree, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return random coordinates, speeds and accelerations; quaternions have length one."""
    rng = np.random.default_rng(seed)
    place = {q: k for k, q in enumerate(tree.coordinates)}
    q = rng.uniform(-2.0, 2.0, (count, len(place)))
    for body in tree.kinematics.mechanism.bodies.values():
        if body.joint.quaternion:
            k = [place[e] for e in body.rotations]
            q[:, k] = rng.normal(size=(count, 4))
            q[:, k] /= np.linalg.norm(q[:, k], axis=1, keepdims=True)
    n = len(tree.speeds)
    return q, rng.normal(size=(count, n)), rng.normal(size=(count, n))
