"""Choices for the bodies of a robot that need few operations, found in a few trials.

Of all that may be chosen (`linkwright.equations.choices`), two things pay for robots whose
parameters are numbers: to let the origin of a body slide along its joint's axis to where the
parent's origin is nearest, which brings axes that meet to one point; and to write a last link along
the axes of the one that carries it. Each is tried body by body and kept where the operations become
fewer, as long as few were counted in all, so that a first result does not have to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from linkwright.algebra import Expr
from linkwright.equations.choices import ABOVE, DEFAULT, Choices, places
from linkwright.equations.search import weight
from linkwright.equations.writer import Writer
from linkwright.robots.tree import Tree

_BUDGET = 9_000  # operations counted in all trials together

Roots = Callable[[Writer, Choices], Sequence[Expr]]


def price(tree: Tree, roots: Roots, choices: Choices | None = None) -> int:
    """Return the operations of some expressions as they are written."""
    writer = Writer(tree.kinematics.mechanism.name, tree.statements, len(tree.statements))
    found = roots(writer, choices or Choices())
    return weight(writer.statements, found)


def chosen(tree: Tree, roots: Roots) -> Choices:
    """Return choices with which some expressions need few operations."""
    found = Choices()
    best: int | None = None
    left = _BUDGET
    for name, changed in _changes(tree):
        if best is None:
            best = price(tree, roots, found)
            left -= 2 * best
        if left < 0:
            break
        trial = found.with_body(name, replace(found.bodies.get(name, DEFAULT), **changed))
        cost = price(tree, roots, trial)
        left -= cost
        if cost < best:
            found, best = trial, cost
    return found


def _changes(tree: Tree) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield body and settings to try, from the ground outward."""
    kinematics = tree.kinematics
    at = places(kinematics)
    bodies = kinematics.mechanism.depth_first()
    for body in bodies:
        if body.parent is not None and body.parent.parent is not None and len(at[body]) > 1:
            yield body.name, {"place": len(at[body]) - 1}
    for body in bodies:
        alone = not kinematics.motions[body].absolute and len(body.rotations) == 1
        if alone and not kinematics.mechanism.children(body):
            yield body.name, {"axes": ABOVE}
