"""Frames that are fixed in bodies, as expressions."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.algebra import as_expr
from linkwright.algebra.triples import Matrix, Triple
from linkwright.formats.robot.description import Place
from linkwright.mechanism import Body


@dataclass(frozen=True, slots=True, eq=False)
class FixedFrame:
    """A frame that is fixed in a body."""

    body: Body
    rotation: Matrix
    position: Triple


def spot_in(body: Body, place: Place) -> FixedFrame:
    """Return a frame from its place in a body."""
    a, b, c = ((as_expr(x), as_expr(y), as_expr(z)) for x, y, z in place.rotation)
    x, y, z = (as_expr(v) for v in place.position)
    return FixedFrame(body, (a, b, c), (x, y, z))
