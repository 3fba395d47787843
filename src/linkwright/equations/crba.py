"""CRBA, the composite rigid body algorithm: the mass matrix of a tree of bodies.

Composite moments, gathered from the tips inward, give M(q) column by column (Walker and Orin 1982);
`composite` adds f of the recursion (`linkwright.equations.rnea`), so that M u' = f for the speeds
of the tree, constraints not yet applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwright.algebra import ZERO, Expr
from linkwright.algebra.triples import Triple, add, apply, cross, dot, times, transposed
from linkwright.equations.choices import Choices
from linkwright.equations.inertia import NO_MASS, Moments
from linkwright.equations.links import RecursionLink, make_links, turned_back
from linkwright.equations.rnea import armature_inertias, recursion
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics


@dataclass(frozen=True, slots=True)
class TreeDynamics:
    """Mass matrix and right side for the speeds of the tree, in order: M (u' + shift) = right.

    `shift` is what the accelerations of free bodies have besides the rates of their speeds, by
    index of speed, where the right side leaves it out.
    """

    mass: tuple[tuple[Expr, ...], ...]
    right: tuple[Expr, ...]
    shift: Mapping[int, Expr] = field(default_factory=dict)


def composite(
    kinematics: Kinematics, writer: Writer, choices: Choices | None = None
) -> TreeDynamics:
    """Return M and f of the tree."""
    chosen = choices or Choices()
    links = make_links(kinematics, writer, chosen)
    right, shift = recursion(kinematics, writer, links, chosen.shift)
    mass = _mass_matrix(kinematics, writer, links)
    return TreeDynamics(mass, right, shift)


def mass_matrix(
    kinematics: Kinematics, writer: Writer, choices: Choices | None = None
) -> tuple[tuple[Expr, ...], ...]:
    """Return M of the tree."""
    mass = _mass_matrix(kinematics, writer, make_links(kinematics, writer, choices))
    return with_armatures(kinematics, TreeDynamics(mass, ())).mass


def with_armatures(kinematics: Kinematics, tree: TreeDynamics) -> TreeDynamics:
    """Return M with the inertia of geared rotors on its diagonal, and f for the same unknowns."""
    if not kinematics.mechanism.armatures:
        return tree
    extra = armature_inertias(kinematics)
    mass = tuple(
        tuple(x + extra[i] if i == j else x for j, x in enumerate(row))
        for i, row in enumerate(tree.mass)
    )
    right = tuple(
        f + extra[i] * tree.shift[i] if i in tree.shift else f for i, f in enumerate(tree.right)
    )
    return TreeDynamics(mass, right, tree.shift)


def _mass_matrix(
    kinematics: Kinematics, writer: Writer, links: dict[Body, RecursionLink]
) -> tuple[tuple[Expr, ...], ...]:
    n = len(kinematics.speeds)
    mass: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
    collected: dict[Body, Moments] = {}
    for body in reversed(list(links)):
        link = links[body]
        whole = (link.moments + collected.get(body, NO_MASS)).held(writer)
        tensor = None
        for position, (k, omega, velocity) in enumerate(link.speeds):
            if tensor is None:
                tensor = whole.tensor()
            force = writer.triple(add(times(whole.mass, velocity), cross(omega, whole.first)))
            moment = writer.triple(add(apply(tensor, omega), cross(whole.first, velocity)))
            for j, other_omega, other_velocity in link.speeds[: position + 1]:
                entry = writer.hold(dot(other_omega, moment) + dot(other_velocity, force))
                mass[k][j] = mass[j][k] = entry
            _along_chain(kinematics, writer, links, body, k, force, moment, mass)
        parent = body.parent
        assert parent is not None
        if parent.parent is not None and not whole.is_nothing:
            seen = turned_back(writer, whole, link.rotation)
            moved = seen.moved(link.arm)
            collected[parent] = collected.get(parent, NO_MASS) + moved
    return tuple(tuple(row) for row in mass)


def _along_chain(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    body: Body,
    k: int,
    force: Triple,
    moment: Triple,
    mass: list[list[Expr]],
) -> None:
    """Carry the force of one speed's unit acceleration to the joints nearer the root."""
    while True:
        link = links[body]
        parent = body.parent
        if parent is None or parent.parent is None or kinematics.motions[body].absolute:
            return
        back = transposed(link.rotation)
        force_above = writer.triple(apply(back, force))
        moment = writer.triple(add(apply(back, moment), cross(link.arm, force_above)))
        force = force_above
        for j, omega, velocity in links[parent].speeds:
            entry = writer.hold(dot(omega, moment) + dot(velocity, force))
            mass[k][j] = mass[j][k] = entry
        body = parent
