"""Forces and moments in joints, and the forces of constraints, on request.

Kane's method never meets them: they do no work. They follow afterward from the accelerations, by
the balance of each body from the leaves to the root (Luh, Walker and Paul 1980). The multipliers λ
of the constraints J u + b = 0 solve the rows of the eliminated speeds in M u' = f + Jᵀ λ, where
M u' - f is what the balance would need in those joints; then each constraint acts on its bodies
where its `works` say, or in the joints of its speeds where they say nothing.

The expressions hold coordinates, speeds and the symbols of the speeds' rates, as outputs may.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.algebra import (
    ZERO,
    Expr,
    Vector,
    free_symbols,
    linear_coefficients,
    substitute,
)
from linkwright.algebra.triples import (
    NOTHING,
    Triple,
    add,
    apply,
    cross,
    dot,
    subtract,
    times,
    transposed,
)
from linkwright.base.arguments import worded
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.bodies import BodyTerms, body_terms, own_tensor, swung
from linkwright.equations.closure import closed_samples, with_exact_rates
from linkwright.equations.constraints import choose, nonzero_rows, sampled_rows
from linkwright.equations.pivots import Array, solve_in_safe_order
from linkwright.equations.writer import Writer
from linkwright.mechanism import (
    Body,
    Constraint,
    Force,
    Kinematics,
    Mechanism,
    MechanismError,
    ModelLike,
    Moment,
    Point,
    mechanism_of,
)
from linkwright.mechanism.parts import Output
from linkwright.program import Namer

Wrench = tuple[Triple, Triple]
_NONE: Wrench = (NOTHING, NOTHING)


@one_line
@dataclass(frozen=True, slots=True)
class Reactions(Result):
    """What joints and constraints do.

    Args:
        joints: force, and moment about the body's origin, that the parent puts on each body through
            its joint, along the body's axes.
        multipliers: λ of each constraint, such that λ times the constraint is its power; None for
            one that the others imply, whose share cannot be determined.

    >>> m = Mechanism("hanging")
    >>> b = m.body("b", rotate="z", mass="m", inertia=0)
    >>> m.gravity(along=-m.z)
    >>> reactions(m).joints[b][0][2]
    9.81*m
    """

    joints: dict[Body, Wrench]
    multipliers: dict[str, Expr | None]


@worded
def reactions(model: ModelLike, parameters: Mapping[str, float] | None = None) -> Reactions:
    """Return the forces in all joints and constraints as expressions.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model.
        parameters: numbers of parameters to choose speeds by, beside the mechanism's.

    >>> m = Mechanism("hanging")
    >>> b = m.body("b", rotate="z", mass="m", inertia=0)
    >>> m.gravity(along=-m.z)
    >>> reactions(m).joints[b][0]
    (0, 0, 9.81*m)
    """
    model = mechanism_of(model, "reactions")
    known = {**model.values, **(parameters or {})}
    samples = closed_samples(model, known, None)
    model = with_exact_rates(model, samples)
    kinematics = model.kinematics()
    chosen = choose(kinematics, known, samples)
    terms = body_terms(kinematics)
    pushes = _loads(model, terms)
    needed = _balance(model, terms, pushes)
    active = [(e.constraint, e.speed) for e in chosen if e.speed is not None]
    found = _multipliers(kinematics, active, _joint_forces(kinematics, needed), known, samples)
    multipliers: dict[str, Expr | None] = {e.constraint.name: None for e in chosen}
    for (constraint, _), value in zip(active, found, strict=True):
        multipliers[constraint.name] = value
        for work in constraint.works:
            for point, sign in ((work.point, 1), (work.reaction, -1)):
                force = work.direction * (value * sign)
                _push(pushes, terms, point, force, turns=work.turns)
    joints = _balance(model, terms, pushes) if active else needed
    return Reactions(joints, multipliers)


def carried_by_joint(mechanism: Mechanism, body: Body) -> Wrench:
    """Return the force, and the moment about its origin, by which a body's parent carries it.

    The bodies beyond it come with it. A motor in its joint (a couple, or a force along a sliding
    axis, whose reaction is on the parent) acts through the joint; other loads are taken off. Closed
    loops may lie on either side, but not across.

    >>> m = Mechanism("hanging")
    >>> b = m.body("b", rotate="z", mass="m", inertia=0)
    >>> m.gravity(along=-m.z)
    >>> carried_by_joint(m, b)[0]
    (0, 0, 9.81*m)
    """
    kinematics = mechanism.kinematics()
    for constraint in mechanism.constraints:
        if len({body in on.ancestors() for on in _tied(kinematics, constraint)}) != 1:
            raise MechanismError(
                f"the constraint {constraint.name!r} acts across the joint of {body.name!r}, so "
                "its share of the force there cannot be distinguished",
                remedy="ask for the reactions of the mechanism",
            )
    terms = body_terms(kinematics)
    outside = copy.copy(mechanism)
    outside.forces = [x for x in mechanism.forces if not _in_joint(x, body)]
    outside.moments = [x for x in mechanism.moments if not _in_joint(x, body)]
    return _balance(mechanism, terms, _loads(outside, terms))[body]


def shifted(frame: Point, wrench: Wrench) -> Wrench:
    """Return a wrench about a body's origin, along its axes, as one of a frame of the body.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> shifted(m.point("p", b, (0, 2, 0)), (m.exprs((1, 0, 0)), NOTHING))
    ((1, 0, 0), (0, 0, 2))
    """
    force, moment = wrench
    arm = frame.local.components(frame.body.frame)
    return frame.inward(force), frame.inward(subtract(moment, cross(arm, force)))


def _tied(kinematics: Kinematics, constraint: Constraint) -> list[Body]:
    """Return the bodies on which the force of a constraint acts."""
    if constraint.works:
        return [p.body for work in constraint.works for p in (work.point, work.reaction)]
    used = set(free_symbols(constraint.speed))
    return [
        on for s in kinematics.speeds if s.symbol in used for on in (s.body, s.body.parent) if on
    ]


def _in_joint(load: Force | Moment, body: Body) -> bool:
    """Return whether a load is a motor in a body's joint: along its axis, against the parent."""
    if load.reaction is not body.parent:
        return False
    if isinstance(load, Moment):
        return load.body is body and bool(body.rotations)
    along = any(load.direction is axis for _, axis in body.translations)
    return load.point is body.origin and along


def load_on_branch(load: Force | Moment, body: Body) -> Wrench | None:
    """Return what a load puts on a body and those beyond it; None where that is nothing.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> x, p = b.vector(1, 0, 0), m.point("p", b, (0, 2, 0))
    >>> load_on_branch(Force("f", m.input("f"), x, p, m.ground), b)
    ((f, 0, 0), (0, 0, -2*f))
    """
    on = load.point.body if isinstance(load, Force) else load.body
    sign = (body in on.ancestors()) - (body in load.reaction.ancestors())
    if not sign:
        return None
    x, y, z = (load.direction * (load.magnitude * sign)).components(body.frame)
    if isinstance(load, Moment):
        return NOTHING, (x, y, z)
    arm = (load.point.position - body.origin.position).components(body.frame)
    return (x, y, z), cross(arm, (x, y, z))


def _push(
    pushes: dict[Body, Wrench],
    terms: Mapping[Body, BodyTerms],
    point: Point,
    vector: Vector,
    *,
    turns: bool = False,
    body: Body | None = None,
) -> None:
    """Add a force at a point, or a couple, to what acts on a body."""
    on = point.body if body is None else body
    if on not in terms:
        return
    parts = vector.components(on.frame)
    force, moment = pushes.get(on, _NONE)
    if turns:
        pushes[on] = force, add(moment, parts)
        return
    local = point.local if on is point.body else point.position - on.origin.position
    pushes[on] = add(force, parts), add(moment, cross(local.components(on.frame), parts))


def _loads(mechanism: Mechanism, terms: Mapping[Body, BodyTerms]) -> dict[Body, Wrench]:
    pushes: dict[Body, Wrench] = {}
    for load in mechanism.forces:
        force = load.direction * load.magnitude
        _push(pushes, terms, load.point, force)
        _push(pushes, terms, load.point, -force, body=load.reaction)
    for couple in mechanism.moments:
        moment = couple.direction * couple.magnitude
        _push(pushes, terms, couple.body.origin, moment, turns=True)
        _push(pushes, terms, couple.reaction.origin, -moment, turns=True)
    return pushes


def _balance(
    mechanism: Mechanism, terms: Mapping[Body, BodyTerms], pushes: Mapping[Body, Wrench]
) -> dict[Body, Wrench]:
    """Return what each joint has to put on its body, given the loads."""
    carried: dict[Body, Wrench] = {}
    result: dict[Body, Wrench] = {}
    for body in reversed(mechanism.depth_first()):
        own, c = terms[body], body.inertia.center
        fall = mechanism.gravity_vector.components(body.frame)
        moved = add(own.acceleration, swung(own.omega, own.alpha, c))
        inertia_force = times(body.inertia.mass, subtract(moved, fall))
        tensor = own_tensor(body)
        spin = add(apply(tensor, own.alpha), cross(own.omega, apply(tensor, own.omega)))
        below, turned = carried.get(body, _NONE)
        applied, twisted = pushes.get(body, _NONE)
        force = subtract(add(inertia_force, below), applied)
        moment = subtract(add(spin, cross(c, inertia_force), turned), twisted)
        result[body] = force, moment
        parent = body.parent
        assert parent is not None
        if parent.parent is not None:
            back = transposed(own.rotation)
            up = apply(back, force)
            old_force, old_moment = carried.get(parent, _NONE)
            carried[parent] = (
                add(old_force, up),
                add(old_moment, apply(back, moment), cross(own.arm, up)),
            )
    return result


def _joint_forces(kinematics: Kinematics, needed: Mapping[Body, Wrench]) -> dict[Expr, Expr]:
    """Return M u' - f by speed: the needed wrench along each joint's freedom."""
    result: dict[Expr, Expr] = {}
    armatures = kinematics.mechanism.armatures
    for speed in kinematics.speeds:
        frame = speed.body.frame
        force, moment = needed[speed.body]
        reference = kinematics.motions[speed.body].reference.components(frame)
        moment = subtract(moment, cross(reference, force))
        value = dot(speed.omega.components(frame), moment)
        value = value + dot(speed.velocity.components(frame), force)
        if speed.body in armatures:
            value = value + armatures[speed.body] * kinematics.accelerations[speed.symbol]
        result[speed.symbol] = value
    return result


def _multipliers(
    kinematics: Kinematics,
    active: Sequence[tuple[Constraint, Expr]],
    needed: Mapping[Expr, Expr],
    values: Mapping[str, float],
    samples: Mapping[Expr, Array] | None,
) -> list[Expr]:
    if not active:
        return []
    speeds = [s.symbol for s in kinematics.speeds]
    rows = [linear_coefficients(c.speed, speeds)[0] for c, _ in active]
    dependent = [speeds.index(u) for _, u in active]
    right = [needed[speeds[k]] for k in dependent]
    if all(x is ZERO for x in right):
        return [ZERO] * len(active)
    writer = Writer("reactions")
    table = nonzero_rows(rows, speeds)
    matrix = [[writer.hold(row[k]) for row in table] for k in dependent]
    sampled = sampled_rows(rows, speeds, values, samples)[:, :, dependent].transpose(0, 2, 1)
    statements, solutions = solve_in_safe_order(matrix, [right], Namer(None, "lambda"), sampled)
    meaning: dict[Expr, Expr] = {}
    for s in (*writer.statements, *statements):
        meaning[s.target] = substitute(s.value, meaning)
    return [substitute(x, meaning) for x in solutions[0]]


def told_reactions(mechanism: Mechanism, channels: Iterable[str]) -> list[str | dict[str, Any]]:
    """Return the bodies whose joints' forces are recorded, for pictures that show them.

    A body whose link is elsewhere in it, or turned, comes with place and rows of axes in the body.

    >>> m = Mechanism("hanging")
    >>> b = m.body("b", rotate="z", mass=1, inertia=0)
    >>> m.output_all("reactions")
    >>> told_reactions(m, ["b", "b.Fx", "b.Fy", "b.Fz"]), told_reactions(m, ["b"])
    (['b'], [])
    """
    there = set(channels)
    made = {o.name for o in mechanism.outputs if o.made == "reactions"} & there
    found: list[str | dict[str, Any]] = []
    for body in mechanism.depth_first():
        if made.issuperset(f"{body.name}.F{c}" for c in "xyz"):
            _, frame = mechanism.link_of(body)
            rows = [frame.local, *frame.axes]
            at, *axes = ([float(x.data) for x in v.components(body.frame)] for v in rows)
            own = frame is body.origin
            found.append(body.name if own else {"body": body.name, "at": at, "axes": axes})
    return found


def reaction_outputs(mechanism: Mechanism) -> tuple[Output, ...]:
    """Return outputs for forces and moments in all joints, and multipliers of constraints.

    >>> m = Mechanism("hanging")
    >>> b = m.body("b", rotate="z", mass="m", inertia=0)
    >>> [o.name for o in reaction_outputs(m)]
    ['b.Fx', 'b.Fy', 'b.Fz', 'b.Mx', 'b.My', 'b.Mz']
    """
    found = reactions(mechanism)
    kinds = (("F", "force", "along", "N"), ("M", "moment", "about", "N*m"))
    made: list[Output] = []
    for body in mechanism.depth_first():
        link, frame = mechanism.link_of(body)
        rows = zip(kinds, shifted(frame, found.joints[body]), strict=True)
        for (symbol, what, way, unit), wrench in rows:
            for letter, x in zip("xyz", wrench, strict=True):
                doc = f"{what} in the joint of {link} {way} its axis {letter}"
                name = f"{body.name}.{symbol}{letter}"
                made.append(Output(name, x, unit, doc, body.name, "reactions"))
    for name, value in found.multipliers.items():
        if value is not None:
            doc = f"multiplier of {name}"
            made.append(Output(f"force of {name}", value, "?", doc, made="reactions"))
    return tuple(made)
