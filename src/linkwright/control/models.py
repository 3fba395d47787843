"""What controllers know of the mechanism: its inverse dynamics as expressions.

The forces that a motion takes are one recursion over the bodies (RNEA), put
into the controller's own block as statements, so that what it shares with the equations of motion
is computed once where both run at the same instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from linkwright.algebra import ZERO, Expr, as_expr, total, where
from linkwright.algebra.triples import dot
from linkwright.blocks import Block, BlockError, Element, joint_of
from linkwright.equations.background import split_dynamics
from linkwright.equations.kernels import mass_matrix_of, quick_inverse
from linkwright.equations.tree import Tree, tree_of
from linkwright.mechanism import Mechanism
from linkwright.program import Program, gated, program
from linkwright.program.derivatives import jacobian_vector


def inverse_dynamics(
    element: Element,
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr] | None = None,
    a: Mapping[Expr, Expr] | None = None,
    *,
    values: Mapping[str, float] | None = None,
) -> dict[Expr, Expr]:
    """Return the torque on each joint that accelerations take, by coordinate.

    Args:
        element: that computes them; its mechanism is the model.
        q: coordinates as they are measured or wanted; others are the mechanism's own.
        u: their speeds, by coordinate; others are zero.
        a: their accelerations, by coordinate; others are zero, also those of a tool that hangs on
            a wrist beyond the joints.
        values: numbers of parameters where the controller's model differs from the mechanism.

    >>> import linkwright as lw
    >>> servo = lw.control.PD(lw.load("pendulum"), kp=10, kd=1)
    >>> [joint.name for joint in inverse_dynamics(servo, {})]
    ['phi']
    """
    tree = tree_of(element.mechanism)
    place = _places(element, tree, q, values, beyond=True)
    found = efforts_of(
        element,
        tree,
        {x: q.get(x, x) for x in tree.coordinates},
        _by_speed(tree, place, u),
        _by_speed(tree, place, a),
        values=values,
    )
    return {place[s]: tau for s, tau in found.items() if s in place}


def _by_speed(
    tree: Tree, place: Mapping[Expr, Expr], given: Mapping[Expr, Expr] | None
) -> dict[Expr, Expr]:
    """Return values by speed from those by coordinate; zero for all others."""
    return {x: (given or {}).get(place.get(x, x), ZERO) for x in tree.speeds}


def efforts_of(
    block: Block,
    tree: Tree,
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr],
    a: Mapping[Expr, Expr],
    *,
    values: Mapping[str, Expr | float] | None = None,
) -> dict[Expr, Expr]:
    """Return the efforts that a motion takes, by speed, as partial results of any block.

    >>> import linkwright as lw
    >>> from linkwright.equations.tree import tree_of
    >>> tree, block = tree_of(lw.load("pendulum")), Block("servo")
    >>> q, u = tree.coordinates, tree.speeds
    >>> still = {u[0]: block.expr(0)}
    >>> [x.name for x in efforts_of(block, tree, {q[0]: block.input("q")}, still, still)]
    ['phi_dot']
    """
    program = quick_inverse(tree)
    arguments: dict[str, list[Expr]] = {}
    for port in program.inputs:
        if port.name == "p":
            arguments["p"] = [as_expr((values or {}).get(x.name, x)) for x in port.entries]
    arguments |= {
        "q": [q[x] for x in tree.coordinates],
        "u": [u[x] for x in tree.speeds],
        "a": [a[x] for x in tree.speeds],
    }
    known = {port.name for port in program.inputs}
    found = block.embed(program, {key: x for key, x in arguments.items() if key in known})["tau"]
    return dict(zip(tree.speeds, found, strict=True))


def mass_matrix(
    element: Element, q: Mapping[Expr, Expr], *, values: Mapping[str, float] | None = None
) -> dict[tuple[Expr, Expr], Expr]:
    """Return the mass matrix of the joints, by pairs of coordinates."""
    tree = tree_of(element.mechanism)
    place = _places(element, tree, q, values, beyond=True)
    made = mass_matrix_of(tree)
    found = element.embed(made, _measured(made, place, q, None, values))["M"]
    order = [place.get(x) for x in tree.speeds]
    rows = zip(((x, y) for x in order for y in order), found, strict=True)
    return {(x, y): entry for (x, y), entry in rows if x is not None and y is not None}


def momentum(
    element: Element,
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr],
    *,
    values: Mapping[str, float] | None = None,
) -> tuple[dict[Expr, Expr], dict[Expr, Expr]]:
    """Return the generalized momentum M u of each joint, and its rate without efforts in joints.

    The rate is M' u - b(q, u), with b the nonlinear effects: what remains of the equations of
    motion, (M u)' = tau + M' u - b, when nothing drives the joints.
    """
    tree = tree_of(element.mechanism)
    place = _places(element, tree, q, values, beyond=True)
    speeds = {x: u.get(place[x], x) if x in place else x for x in tree.speeds}
    places = {x: q.get(x, x) for x in tree.coordinates}
    made = jacobian_vector(_momentum_program(tree), "momentum", "q", values=True)
    arguments = _measured(made, place, q, None, values)
    arguments["u"] = [speeds[x] for x in tree.speeds]
    rates = tree.kinematics.rates
    arguments["d_q"] = [speeds.get(rates[x], rates[x]) for x in tree.coordinates]
    found = element.embed(made, arguments)
    still = dict.fromkeys(tree.speeds, ZERO)
    taken = efforts_of(element, tree, places, speeds, still, values=values)
    rows = zip(tree.speeds, found["momentum"], found["d_momentum"], strict=True)
    own = [(place[x], p, rate - taken[x]) for x, p, rate in rows if x in place]
    return {x: p for x, p, _ in own}, {x: flow for x, _, flow in own}


def kinetic_energy(
    element: Element,
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr],
    *,
    values: Mapping[str, float] | None = None,
) -> Expr:
    """Return the kinetic energy u' M u / 2 of the whole mechanism."""
    tree = tree_of(element.mechanism)
    place = _places(element, tree, q, values, beyond=True)
    made = _momentum_program(tree)
    arguments = _measured(made, place, q, None, values)
    arguments["u"] = [u.get(place[x], x) if x in place else x for x in tree.speeds]
    found = element.embed(made, arguments)["momentum"]
    return total([0.5 * p * x for p, x in zip(found, arguments["u"], strict=True)])


def _momentum_program(tree: Tree) -> Program:
    """Return the Program of M(q) u."""
    mass, u = mass_matrix_of(tree), tree.speeds
    n = len(u)
    entries = mass.port("M").entries
    rows = [entries[n * i : n * (i + 1)] for i in range(n)]
    inputs = {port.name: list(port.entries) for port in mass.inputs}
    products = [dot(row, u) for row in rows]
    outputs = {"momentum": products}
    return program("momentum", inputs | {"u": list(u)}, outputs, statements=mass.statements)


def split_law(
    element: Element,
    due: Expr,
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr],
    wanted: Mapping[str, Mapping[Expr, Expr]],
    *,
    speeds: str = "auto",
    values: Mapping[str, float] | None = None,
) -> dict[Expr, Expr]:
    """Return the torques of computed torque with held terms of the model, by coordinate."""
    tree = tree_of(element.mechanism)
    place = _places(element, tree, q, values)
    silent = dict.fromkeys(element.mechanism.inputs.values(), 0.0)
    split = split_dynamics(replace(tree, values=silent), speeds)
    background = gated(split.background, "due")
    arguments = _measured(background, place, q, u, values)
    made = element.embed(background, {**arguments, "due": [due]})["terms"]
    terms: list[Expr] = []
    for k, x in enumerate(made):
        held = element.discrete_state(f"term{k}", doc=f"{split.names[k]} of the background")
        terms.append(element.intermediate(where(due, x, held)))
        element.update(held, terms[-1])
    arguments = _measured(split.foreground, place, q, u, values)
    for name, by in wanted.items():
        arguments[name] = [by.get(place[x], ZERO) for x in tree.speeds]
    found = element.embed(split.foreground, {**arguments, "terms": terms})["tau"]
    return {place[s]: tau for s, tau in zip(tree.speeds, found, strict=True)}


def _places(
    element: Element,
    tree: Tree,
    q: Mapping[Expr, Expr],
    values: Mapping[str, float] | None,
    *,
    beyond: bool = False,
) -> dict[Expr, Expr]:
    """Return the coordinate of each speed; reject what inverse dynamics cannot give by joint.

    With `beyond`, what none of the joints is carried by may have speeds without a coordinate.
    """
    m = element.mechanism
    rates = tree.kinematics.rates
    place = {rates[x]: x for x in tree.coordinates}
    carried = _beyond(m, q) if beyond else set()
    free = [s for s in tree.speeds if s not in place and s not in carried]
    driven = {rates[x] for x in m.actuators}
    if m.constraints and driven and not driven.issuperset(tree.speeds):
        left = ", ".join(s.name for s in tree.speeds if s not in driven)
        raise BlockError(
            f"{m.name!r} has {len(tree.speeds)} degrees of freedom, of which its actuators "
            f"({', '.join(x.name for x in m.actuators)}) drive {len(driven)}; {left} is left to "
            "itself, so that its inverse dynamics cannot be given by actuator",
            remedy="name more actuators, or use a PD controller without gravity",
        )
    if free:
        raise BlockError(
            f"{', '.join(s.name for s in free)} of {m.name!r} belongs to no joint of its own, so "
            "its inverse dynamics cannot be given by joint",
            remedy="use a PD controller for the joints that are driven",
        )
    tied = sorted(x.name for x in q if x not in place.values() or rates[x] not in tree.speeds)
    if tied:
        raise BlockError(
            f"{', '.join(tied)} of {m.name!r} follows other joints and takes no torque by itself",
            remedy="leave it out of joints=...",
        )
    unknown = sorted(set(values or {}) - set(m.parameters))
    if unknown:
        raise BlockError(f"{m.name!r} has no parameter {', '.join(unknown)}")
    return place


def _beyond(m: Mechanism, q: Mapping[Expr, Expr]) -> set[Expr]:
    """Return the speeds of bodies that carry none of the joints, as of a tool on a wrist."""
    if not q:
        return set()
    carrying = {body for x in q for body in joint_of(m, x).body.ancestors()}
    motions = m.kinematics().motions
    return {s.symbol for b, motion in motions.items() if b not in carrying for s in motion.speeds}


def _measured(
    program: Program,
    place: Mapping[Expr, Expr],
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr] | None,
    values: Mapping[str, float] | None,
) -> dict[str, list[Expr]]:
    """Return what is measured and what is believed, as arguments of a Program."""
    arguments: dict[str, list[Expr]] = {}
    for port in program.inputs:
        if port.name == "q":
            arguments["q"] = [q.get(x, x) for x in port.entries]
        elif port.name == "u":
            arguments["u"] = [(u or {}).get(place.get(x, x), ZERO) for x in port.entries]
        elif port.name == "p" and values:
            arguments["p"] = [as_expr(values.get(x.name, x)) for x in port.entries]
    return arguments
