"""Distances between line segments and discs, as expressions without branches.

Capsules are segments with a radius, so their distance is that of the segments less both radii. The
nearest points of two segments follow Ericson (Real-Time Collision Detection, 2005, section 5.1.9);
the nearest point of a segment to a disc is where the derivative of the squared distance, which is
convex along the segment, changes its sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, constant, maximum, minimum, sqrt, symbol, where
from linkwright.algebra.triples import Hold, dot
from linkwright.program import Assign, Carried, Loop, Program, Statement, program

_TINY = 1e-300
_PARALLEL = 1e-14  # of the product of both squared lengths
_HALVINGS = 52


def _clamped(x: Expr) -> Expr:
    return minimum(maximum(x, 0), 1)


def segment_distance(
    first: tuple[Sequence[Expr], Sequence[Expr]],  # two triples of components, m
    second: tuple[Sequence[Expr], Sequence[Expr]],
    hold: Hold = lambda x: x,
) -> Expr:
    """Return the distance between two segments, each given by its ends."""
    (p1, q1), (p2, q2) = first, second
    u = [hold(b - a) for a, b in zip(p1, q1, strict=True)]
    v = [hold(b - a) for a, b in zip(p2, q2, strict=True)]
    r = [hold(b - a) for a, b in zip(p2, p1, strict=True)]
    a, e, b = hold(dot(u, u)), hold(dot(v, v)), hold(dot(u, v))
    c, f = hold(dot(u, r)), hold(dot(v, r))
    across = hold(a * e - b * b)
    apart = across > _PARALLEL * a * e
    free = (b * f - c * e) / where(apart, across, 1)
    s = hold(where(apart, _clamped(free), 0))
    t = hold(_clamped((b * s + f) / maximum(e, constant(_TINY))))
    s = hold(_clamped((b * t - c) / maximum(a, constant(_TINY))))
    gap = [hold(x + s * y - t * z) for x, y, z in zip(r, u, v, strict=True)]
    return hold(sqrt(dot(gap, gap)))


def segments_program() -> Program:
    """Return the Program of the distance between segments p1-q1 and p2-q2, m.

    >>> from linkwright.backends.kernel import compile as compiled
    >>> f = compiled(segments_program())
    >>> f([0, 0, 0], [1, 0, 0], [0.5, 1, 2], [0.5, 1, -2]).round(12)
    array([1.])
    """
    names = ("p1", "q1", "p2", "q2")
    ends = {n: [symbol(f"{n}.{c}", "input", owner="segments") for c in "xyz"] for n in names}
    statements: list[Statement] = []

    def hold(value: Expr) -> Expr:
        if value.is_atom:
            return value
        made = symbol(f"d{len(statements)}", "local", owner="segments")
        statements.append(Assign(made, value))
        return made

    found = segment_distance((ends["p1"], ends["q1"]), (ends["p2"], ends["q2"]), hold)
    return program("segments", ends, {"distance": [found]}, statements=statements)


def disc_program() -> Program:
    """Return the Program of the distance from a segment p-q to a disc, m.

    Its inputs are `p`, `q`, `center`, the unit vector `normal` and the `radius`.

    >>> from linkwright.backends.kernel import compile as compiled
    >>> f = compiled(disc_program())
    >>> f([2, -1, 1], [2, 1, 1], [0, 0, 0], [0, 0, 1], [1]).round(12)
    array([1.41421356])
    """
    owner = "disc"
    names = ("p", "q", "center", "normal")
    inputs = {n: [symbol(f"{n}.{c}", "input", owner=owner) for c in "xyz"] for n in names}
    radius = symbol("radius", "input", owner=owner)
    p, q, center, normal = (inputs[n] for n in names)
    along = [b - a for a, b in zip(p, q, strict=True)]

    def gap(t: Expr, body: list[Statement], prefix: str) -> list[Expr]:
        """Return the vector from the nearest point of the disc to a point of the segment."""

        def hold(value: Expr) -> Expr:
            made = symbol(f"{prefix}{len(body)}", "local", owner=owner)
            body.append(Assign(made, value))
            return made

        r = [hold(a + t * u - c) for a, u, c in zip(p, along, center, strict=True)]
        height = hold(dot(r, normal))
        flat = [hold(x - height * n) for x, n in zip(r, normal, strict=True)]
        size = hold(sqrt(dot(flat, flat)))
        out = hold(maximum(size - radius, 0) / maximum(size, constant(_TINY)))
        return [hold(height * n + out * x) for n, x in zip(normal, flat, strict=True)]

    low, high = (symbol(n, "local", owner=owner) for n in ("low", "high"))
    low_end, high_end = (symbol(n, "local", owner=owner) for n in ("low_end", "high_end"))
    body: list[Statement] = []
    middle = symbol("middle", "local", owner=owner)
    body.append(Assign(middle, (low + high) / 2))
    falls = symbol("falls", "local", owner=owner)
    body.append(Assign(falls, where(dot(gap(middle, body, "g"), along) < 0, 1, 0)))
    halved = Loop(
        _HALVINGS,
        (
            Carried(low, constant(0), where(falls > 0, middle, low), low_end),
            Carried(high, constant(1), where(falls > 0, high, middle), high_end),
        ),
        (),
        (),
        tuple(body),
    )
    after: list[Statement] = []
    # the ends themselves are never the middle of an interval
    places = [(low_end + high_end) / 2, constant(0), constant(1)]
    sizes = [dot(v, v) for v in (gap(t, after, f"e{k}_") for k, t in enumerate(places))]
    least = minimum(minimum(sizes[0], sizes[1]), sizes[2])
    return program(
        "disc", {**inputs, "radius": [radius]}, {"distance": [sqrt(least)]},
        statements=[halved, *after],
    )  # fmt: skip
