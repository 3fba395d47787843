"""Time derivatives of vectors and dyadics: how symbols change and how frames turn.

The derivative of a direction is ω × direction, with ω the angular velocity of its frame (AUTOSIM,
section 5.3); so coefficients may be truncated by smallness before they are differentiated. The
angular velocity of a frame is the sum along the chain of frames, each part in its native form. A
formulation that chooses generalized speeds gives ω of a frame itself, in place of the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from linkwright.algebra.calculus import free_symbols, tangents
from linkwright.algebra.directions import Direction, VectorError, common_ancestor
from linkwright.algebra.dyadics import Dyadic
from linkwright.algebra.expr import ONE, ZERO, Expr, Scalar, as_expr
from linkwright.algebra.nodes import COORDINATE, SPEED, TIME
from linkwright.algebra.vectors import ZERO_VECTOR, Vector, vector_total

if TYPE_CHECKING:
    from linkwright.algebra.frames import Frame


class Motion:
    """The rates of symbols and the angular velocities of frames, with what was derived from them.

    What was derived is kept, so one Motion belongs to one `smallness_threshold`.

    >>> from linkwright.algebra import Frame, symbol
    >>> q, r = symbol("q", "coordinate"), symbol("r", "coordinate")
    >>> u, v = symbol("u", "speed"), symbol("v", "speed")
    >>> b = Frame.root("n").rotated("a", "x", q).rotated("b", "y", r)
    >>> Motion({q: u, r: v}).angular_velocity(b)
    u*n.x + v*a.y
    >>> Motion({}, {b: u * b.x + v * b.y}).derivative(b.x)
    -v*b.z
    """

    __slots__ = ("_derivatives", "_given", "_omegas", "_rate_of", "_relative", "rates")

    rates: Mapping[Expr, Expr]

    def __init__(
        self,
        rates: Mapping[Expr, Scalar],
        angular_velocities: Mapping[Frame, Vector] | None = None,
        relative_velocities: Mapping[Frame, Vector] | None = None,
    ) -> None:
        self.rates = {x: as_expr(rate) for x, rate in rates.items()}
        self._given = dict(angular_velocities or {})
        self._relative = dict(relative_velocities or {})
        self._omegas: dict[Frame, Vector] = {}
        self._derivatives: dict[tuple[Direction, Frame], Vector] = {}
        self._rate_of: dict[Expr, Expr] = {}

    # -- scalars -----------------------------------------------------------------------------------
    def rate(self, expr: Expr) -> Expr:
        """Return the time derivative of a scalar."""
        return self.rates_of([expr])[0]

    def rates_of(self, exprs: Iterable[Expr]) -> list[Expr]:
        """Return the time derivatives of several scalars, sharing what they have in common."""
        exprs = list(exprs)
        known = self._rate_of
        new = [x for x in exprs if x not in known and x.op != "num"]
        if new:
            rates = dict(self.rates)
            for x in free_symbols(*new):
                if x.roles & TIME:
                    rates.setdefault(x, ONE)
                elif x.roles & (COORDINATE | SPEED) and x not in rates:
                    raise VectorError(f"the rate of {x.name!r} is not known", remedy="give it")
            known.update(zip(new, tangents(new, rates), strict=True))
        return [ZERO if x.op == "num" else known[x] for x in exprs]

    # -- frames ------------------------------------------------------------------------------------
    def angular_velocity(self, frame: Frame, relative_to: Frame | None = None) -> Vector:
        """Return the angular velocity of a frame."""
        if relative_to is None or relative_to.parent is None:
            return self._from_root(frame)
        top = common_ancestor(frame, relative_to)
        if self._is_given(frame, top) or self._is_given(relative_to, top):
            return self._from_root(frame) - self._from_root(relative_to)
        return self._along_chain(frame, top) - self._along_chain(relative_to, top)

    def _from_root(self, frame: Frame) -> Vector:
        known = self._omegas.get(frame)
        if known is None:
            top = frame
            while top.parent is not None and top not in self._given and top not in self._omegas:
                top = top.parent
            start = self._omegas.get(top, ZERO_VECTOR)
            known = self._given.get(top, start) + self._along_chain(frame, top)
            self._omegas[frame] = known
        return known

    def _is_given(self, frame: Frame, top: Frame) -> bool:
        while frame is not top:
            if frame in self._given:
                return True
            assert frame.parent is not None
            frame = frame.parent
        return False

    def _along_chain(self, frame: Frame, top: Frame) -> Vector:
        parts = []
        while frame is not top:
            parts.append(self._relative_to_parent(frame))
            assert frame.parent is not None
            frame = frame.parent
        return vector_total(parts) if len(parts) != 1 else parts[0]

    def _relative_to_parent(self, frame: Frame) -> Vector:
        given = self._relative.get(frame)
        if given is not None:
            return given
        rates = self.rates_of(x for x, _ in frame.spins)
        return vector_total(axis * rate for (_, axis), rate in zip(frame.spins, rates, strict=True))

    # -- vectors -----------------------------------------------------------------------------------
    def derivative(self, vector: Vector, frame: Frame | None = None) -> Vector:
        """Return the time derivative of a vector, seen from the root or from another frame."""
        terms = vector.terms
        rates = self.rates_of(c for _, c in terms)
        parts = [Vector(dict(zip((d for d, _ in terms), rates, strict=True)))]
        parts.extend(self.direction_derivative(d, frame) * c for d, c in terms)
        return vector_total(parts)

    def dyadic_derivative(self, dyadic: Dyadic, frame: Frame | None = None) -> Dyadic:
        """Return the time derivative of a dyadic, seen from the root or from another frame."""
        terms = dyadic.terms
        rates = self.rates_of(c for _, c in terms)
        result = Dyadic({pair: rate for (pair, _), rate in zip(terms, rates, strict=True)})
        for (d, e), c in terms:
            first, second = Vector({d: c}), Vector({e: ONE})
            result += self.direction_derivative(d, frame) * c | second
            result += first | self.direction_derivative(e, frame)
        return result

    def direction_derivative(self, direction: Direction, frame: Frame | None = None) -> Vector:
        """Return ω × direction, with ω that of the direction's frame as seen from `frame`."""
        home = direction.frame
        observer = home.inertial if frame is None else frame
        if direction in observer.directions:
            return ZERO_VECTOR
        known = self._derivatives.get((direction, observer))
        if known is None:
            omega = self.angular_velocity(home, observer)
            known = omega.cross(Vector({direction: ONE}))
            self._derivatives[direction, observer] = known
        return known


def as_motion(rates: Mapping[Expr, Scalar] | Motion) -> Motion:
    """Return a Motion as it is, a mapping of rates as a Motion."""
    return rates if isinstance(rates, Motion) else Motion(rates)
