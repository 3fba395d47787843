"""Directions: the atomic unit vectors that vectors and dyadics are made of.

A direction belongs to the uppermost frame in which it stands still; frames below that share it use
the same object. Dot and cross products of two directions climb the tree of frames only as far as
their common ancestor: the direction whose frame is deeper is replaced by its row of direction
cosines to the parent, and so on (Sayers, AUTOSIM, section 5.3). No rotation that both have in
common enters, so nothing has to be simplified away afterward. Each product is kept with the
deeper direction, under a number instead of a reference, so that no frame keeps another one alive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from linkwright.algebra.expr import ONE, ZERO, Expr, mul, scaled, total
from linkwright.algebra.nodes import ExprError
from linkwright.algebra.smallness import current_threshold

if TYPE_CHECKING:
    from linkwright.algebra.frames import Frame

AXIS_NAMES = "xyz"

# Coefficients by direction: what a Vector holds.
Terms = dict["Direction", Expr]
# Where a direction stands in every sum: depth, name, structure, axis; the last breaks ties between
# frames that cannot be told apart.
DirectionKey = tuple[int, str, int, int, int]


class VectorError(ExprError):
    """An operation that a frame, vector or dyadic does not allow."""


class Immutable:
    """What never changes and is its own copy."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise VectorError(f"a {type(self).__name__} never changes; make another one")

    def __reduce__(self) -> str:
        kind = type(self).__name__
        raise VectorError(f"a {kind} is not pickled; write the model as text instead")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Direction(Immutable):
    """An atomic unit vector that stands still in a frame; frames make them.

    >>> from linkwright.algebra import Frame
    >>> Frame.root("n").directions
    (n.x, n.y, n.z)
    """

    __slots__ = ("__weakref__", "_crosses", "_dots", "frame", "index", "key", "serial")

    frame: Frame
    index: int
    key: DirectionKey
    serial: int
    _dots: dict[int, Expr]
    _crosses: dict[int, Terms]

    def __init__(self, frame: Frame, index: int, serial: int) -> None:
        put = object.__setattr__
        put(self, "frame", frame)
        put(self, "index", index)
        put(self, "serial", serial)
        put(self, "key", (frame.depth, frame.name, frame.digest, index, serial))
        put(self, "_dots", {})
        put(self, "_crosses", {})

    def __str__(self) -> str:
        return f"{self.frame.name}.{AXIS_NAMES[self.index]}"

    __repr__ = __str__

    def latex(self) -> str:
        """Return the direction as LaTeX: a bold letter with a hat and the axis below."""
        name = re.sub(r"([_#$%&{}])", r"\\\1", self.frame.name)
        return rf"\hat{{\mathbf{{{name}}}}}_{{{AXIS_NAMES[self.index]}}}"


def common_ancestor(a: Frame, b: Frame) -> Frame:
    """Return the deepest frame from which both frames descend.

    >>> from linkwright.algebra import Frame, symbols
    >>> q, r = symbols("q r")
    >>> n = Frame.root("n")
    >>> a = n.rotated("a", "z", q)
    >>> common_ancestor(a.rotated("b", "x", r), a.rotated("c", "y", r)) is a
    True
    """
    if a.inertial is not b.inertial:
        raise VectorError(
            f"the frames {a.name!r} and {b.name!r} hang on different roots; "
            "only frames of one tree can be compared"
        )
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        assert a.parent is not None
        a = a.parent
    return a


def dot(d: Direction, e: Direction) -> Expr:
    """Return the dot product of two directions."""
    known = _known_dot(d, e)
    return known if known is not None else _climb(d, e)


def _known_dot(d: Direction, e: Direction) -> Expr | None:
    """Return the product where it is trivial or was found before; None where one has to climb."""
    if d is e:
        return ONE
    if d.frame is e.frame:
        return ZERO
    if d.key < e.key:
        d, e = e, d
    known = d._dots.get(_place(d, e))
    if known is None and e in d.frame.directions:
        return ZERO
    return known


def _place(d: Direction, e: Direction) -> int:
    """Return where d keeps its products with e; those of small angles depend on the threshold."""
    if d.frame.is_small or e.frame.is_small:
        return e.serial + (current_threshold() << 48)
    return e.serial


def _climb(d: Direction, e: Direction) -> Expr:
    common_ancestor(d.frame, e.frame)
    pending = [(d, e)]
    while pending:
        deep, other = pending[-1]
        if _known_dot(deep, other) is not None:
            pending.pop()
            continue
        if deep.key < other.key:
            deep, other = other, deep
        row = _cosine_row(deep, other)
        parts = []
        missing = []
        for cosine, above in row:
            product = _known_dot(above, other)
            if product is None:
                missing.append((above, other))
            elif product is not ZERO:
                parts.append(mul(cosine, product))
        if missing:
            pending.extend(missing)
        else:
            deep._dots[_place(deep, other)] = total(parts)
    known = _known_dot(d, e)
    assert known is not None
    return known


def _cosine_row(d: Direction, other: Direction) -> tuple[tuple[Expr, Direction], ...]:
    """Return the direction as a sum over directions of a frame above, on the way to the other."""
    frame = d.frame
    if not frame.continues_turn:
        return frame.rows[d.index]
    top = common_ancestor(frame, other.frame)
    upper = frame
    while upper.continues_turn and upper.parent is not top:
        assert upper.parent is not None
        upper = upper.parent
    assert upper.parent is not None
    return frame.rows_above(upper.parent)[d.index]


def cross(d: Direction, e: Direction) -> Mapping[Direction, Expr]:
    """Return the cross product of two directions as coefficients by direction.

    The result is in the basis of the deeper of their frames.
    """
    if d is e:
        return {}
    if d.key < e.key:
        return {x: scaled(-1, c) for x, c in cross(e, d).items()}
    place = _place(d, e)
    known = d._crosses.get(place)
    if known is None:
        frame = d.frame
        known = {}
        axes = frame.directions
        if e in axes:
            _add_axis_product(frame, d.index, axes.index(e), ONE, known)
        else:
            for k in range(3):
                if k != d.index:
                    _add_axis_product(frame, d.index, k, dot(axes[k], e), known)
        d._crosses[place] = known
    return known


def _add_axis_product(frame: Frame, i: int, j: int, factor: Expr, result: Terms) -> None:
    """Add `factor` times the cross product of two directions of one frame."""
    if factor is ZERO:
        return
    k = 3 - i - j
    s = frame.signs
    sign = s[0] * s[1] * s[2] * (1 if (j - i) % 3 == 1 else -1)
    result[frame.directions[k]] = scaled(sign, factor)
