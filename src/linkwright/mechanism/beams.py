"""Beams as chains of rigid segments with springs between them.

The finite-segment method (Winget and Huston, Computers and Structures 6, 1976): a beam of length L
is cut into n rigid parts of length h = L/n that turn relative to each other about one axis. A joint
between two parts has the stiffness EI/h, the clamped end 2 EI/h, since half a part bends there;
all are larger by 1/(2 n^2), with which the deflection under a load at the tip is that of the beam.
Parts turn as far as they like, so that the stiffening of a beam that is spun up comes out by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from linkwright.algebra.expr import constant
from linkwright.base.reprs import brief
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Value
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

_MOST = 100


@builder
def beam(
    m: Mechanism,
    name: str,
    parent: Body | str | None = None,
    *,
    length: Value,
    mass: Value,
    bending: Value,
    segments: int = 10,
    at: Sequence[Value] = (0, 0, 0),
    bends: str = "z",
    doc: str = "",
) -> list[Body]:
    """Add an elastic beam that is clamped at one end and lies along x of its parent.

    Args:
        name: of its segments, with their numbers.
        parent: the body that it is clamped to; the ground by default.
        length: m.
        mass: of the whole beam, kg.
        bending: stiffness in bending EI, N*m^2.
        segments: how many rigid parts it is cut into.
        at: its clamped end on the parent, m.
        bends: the parent's axis about which it bends, "y" or "z".
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("board")
    >>> parts = m.beam("b", length=2, mass=8, bending="EI", segments=4)
    >>> [p.name for p in parts], m.moments[1].magnitude
    (['b1', 'b2', 'b3', 'b4'], -2.0625*EI*b2)
    """
    if type(segments) is not int or not 1 <= segments <= _MOST:
        raise MechanismError(f"a beam has 1 to {_MOST} segments, not {brief(segments)}")
    if bends not in ("y", "z"):
        raise MechanismError(f"a beam along x bends about y or z, not {brief(bends)}")
    whole, weight, stiffness = m.expr(length, "m"), m.expr(mass, "kg"), m.expr(bending, "N*m^2")
    part, share = whole / segments, weight / segments
    stiffer = stiffness * constant(Fraction(2 * segments**2 + 1, 2 * segments**2))
    across = share * part**2 / 12
    inertia = (0, across, across)
    made: list[Body] = []
    above: Body | str | None = parent
    for k in range(1, segments + 1):
        body = m.body(
            f"{name}{k}",
            parent=above,
            at=at if k == 1 else (part, 0, 0),
            rotate=bends,
            mass=share,
            com=(part / 2, 0, 0),
            inertia=inertia,
            doc=doc,
        )
        spring = stiffer / part * (2 if k == 1 else 1)
        m.moment(
            f"{name}{k} bending",
            -spring * body.coordinates[0],
            on=body,
            about=getattr(body, bends),
            reaction=body.parent,
        )
        made.append(body)
        above = body
    return made
