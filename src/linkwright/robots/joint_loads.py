"""What joints carry: efforts, and force and moment in each joint, from one recursion.

RNEA (`linkwright.equations.rnea`) sums the inertia forces of all that hangs on a joint, inward from
the tips; the sum is the force and moment that the joint puts on its link, and its component along
the joint's axis is the effort, before friction and the inertia of a geared rotor. Nothing is
regrouped between bodies here: that would leave the efforts alone and change the other components.

Beside coordinates, speeds and accelerations a Program can take, each where it is asked for:

- `wrench`: force and moment that a frame puts on its surroundings, about the frame's origin, along
  the axes of the world; the joints carry it, so that a robot at rest has J^T wrench more effort;
- `payload`: the ten inertial parameters of a body that is fixed to the frame, about the frame's
  origin along its axes, in the order of `Robot.inertial_parameters`;
- `base`: the acceleration of the ground, along the axes of the world.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import ZERO, Expr, constant, symbol
from linkwright.algebra.triples import (
    NOTHING,
    Matrix,
    add,
    apply,
    cross,
    subtract,
    times,
    transposed,
)
from linkwright.base.errors import InputError
from linkwright.equations.choices import NO_SHIFT, Choices
from linkwright.equations.inertia import Moments, own_moments, symmetric, turned
from linkwright.equations.links import RecursionLink, make_links, rotation_between
from linkwright.equations.rnea import armature_inertias, recursion
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Mechanism
from linkwright.program import Program
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.kinematics import product
from linkwright.robots.loaded_quantity import LOADS
from linkwright.robots.loop_forces import LoopForces

_HALF = constant(0.5)
_MINUS = constant(-1)


def load_symbols(loads: Sequence[str]) -> dict[str, tuple[Expr, ...]]:
    """Return the symbols of the inputs for some of the `LOADS`.

    >>> [len(v) for v in load_symbols(["wrench", "base"]).values()]
    [6, 3]
    """
    return {
        name: tuple(symbol(f"{name}[{k}]", "input", owner="loads") for k in range(LOADS[name]))
        for name in loads
    }


def joint_loads(
    tree: Tree,
    writer: Writer,
    accelerations: Sequence[Expr],
    links: Sequence[FixedFrame],
    spot: FixedFrame | None,
    loads: dict[str, tuple[Expr, ...]],
) -> tuple[list[Expr], list[list[Expr]], list[list[Expr]]]:
    """Return efforts of the independent speeds, and force and moment on each link and loop."""
    kinematics = tree.kinematics
    _refuse_loads(kinematics.mechanism)
    own = {body: own_moments(body) for body in kinematics.mechanism.bodies.values()}
    if "payload" in loads and spot is not None:
        carried = _payload(writer, loads["payload"], spot)
        own[spot.body] = own.get(spot.body, Moments(ZERO, NOTHING, (NOTHING,) * 3)) + carried
    made = make_links(kinematics, writer, Choices(regroup=False), own)
    if "wrench" in loads and spot is not None:
        _push(writer, made, spot, loads["wrench"])
    rates = tree.all_rates(writer, accelerations)
    order = [s.symbol for s in kinematics.speeds]
    given = [rates[u] for u in order]
    x, y, z = loads.get("base", NOTHING)
    right, _ = recursion(kinematics, writer, made, NO_SHIFT, given, (x, y, z))
    rotors = armature_inertias(kinematics)
    columns = {
        u: [writer.hold(j * a - f)] for u, j, a, f in zip(order, rotors, given, right, strict=True)
    }
    efforts = [column[0] for column in tree.on_independent(writer, columns, 1)]
    closing: list[list[Expr]] = []
    if tree.reduction is not None:
        needed = {u: column[0] for u, column in columns.items()}
        forces = LoopForces(tree, writer, made, needed)
        made = make_links(kinematics, writer, Choices(regroup=False), own)
        if "wrench" in loads and spot is not None:
            _push(writer, made, spot, loads["wrench"])
        forces.push(made)
        recursion(kinematics, writer, made, NO_SHIFT, given, (x, y, z))
        closing = forces.on_second()
    return efforts, [_on_link(writer, made[link.body], link) for link in links], closing


def _refuse_loads(mechanism: Mechanism) -> None:
    """Reject mechanisms in which a load goes around the joints of the tree."""
    pairs = [(f.name, f.point.body, f.reaction) for f in mechanism.forces]
    pairs += [(m.name, m.body, m.reaction) for m in mechanism.moments]
    around = [
        name
        for name, one, other in pairs
        if None not in (one.parent, other.parent) and other not in (one, one.parent)
        if other.parent is not one
    ]
    if around:
        raise InputError(
            f"force goes around the joints, through {around[0]!r}",
            remedy="ask lw.reactions for the forces in joints",
            code="R210",
        )


def _payload(writer: Writer, given: Sequence[Expr], spot: FixedFrame) -> Moments:
    """Return the moments of a payload about the origin of its body, along the body's axes."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = given
    half = writer.hold(_HALF * (xx + yy + zz))
    inertia = {(0, 0): xx, (0, 1): xy, (1, 1): yy, (0, 2): xz, (1, 2): yz, (2, 2): zz}
    second = symmetric(lambda i, j: half - inertia[i, j] if i == j else -inertia[i, j])
    here = turned(Moments(m, (hx, hy, hz), second), spot.rotation)
    return here.held(writer).moved(spot.position).held(writer)


def _push(
    writer: Writer, links: dict[Body, RecursionLink], spot: FixedFrame, wrench: Sequence[Expr]
) -> None:
    """Let the recursion carry what a frame puts on its surroundings, given in the world's axes."""
    link = links.get(spot.body)
    if link is None:
        return
    chain = [b for b in spot.body.ancestors()[::-1] if b in links]
    down: Matrix | None = None  # from the world's axes to those of the link
    for body in chain:
        rotation = links[body].rotation
        down = rotation if down is None else product(writer, rotation, down)
    assert down is not None
    force = writer.triple(apply(down, wrench[:3]))
    moment = writer.triple(apply(down, wrench[3:]))
    arm = spot.position
    if link.frame is not link.body.frame:
        arm = apply(rotation_between(link.body.frame, link.frame), arm)
    arm = subtract(arm, link.reference.components(link.frame))
    link.force.append(force)
    link.moment.append(writer.triple(add(moment, cross(arm, force))))


def _on_link(writer: Writer, link: RecursionLink, spot: FixedFrame) -> list[Expr]:
    """Return force and moment about a frame of a link, along that frame's axes."""
    moment, force = link.carried
    if not link.reference.is_zero:
        moment = add(moment, cross(link.reference.components(link.frame), force))
    if link.frame is not link.body.frame:
        back = rotation_between(link.body.frame, link.frame)
        moment, force = apply(back, moment), apply(back, force)
    force, moment = writer.triple(force), writer.triple(moment)
    moment = writer.triple(add(moment, times(_MINUS, cross(spot.position, force))))
    axes = transposed(spot.rotation)
    return [*writer.triple(apply(axes, force)), *writer.triple(apply(axes, moment))]


def loads_program(
    tree: Tree,
    links: Sequence[FixedFrame],
    spot: FixedFrame | None,
    loads: Sequence[str],
    results: Sequence[str],
) -> Program:
    """Return the Program of efforts `tau`, of force and moment in each joint, `reactions`, and in
    what closes each loop, `loops`."""
    symbols = load_symbols(loads)

    def write(writer: Writer) -> Results:
        efforts, found, loops = joint_loads(tree, writer, tree.accelerations, links, spot, symbols)
        made = {"tau": efforts, "reactions": found, "loops": loops}
        return {name: made[name] for name in results}

    return tree.program("_".join(results), ["q", "u", "a"], write, symbols)
