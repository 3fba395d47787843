"""Muscles and cables along a path of points: length, tension and moment arms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from linkwright.algebra import Expr, Lookup1D, diff, sqrt, total
from linkwright.algebra.triples import dot, subtract
from linkwright.blocks import BlockError, Element, Location, joint_of


class Muscle(Element):
    """A muscle that runs straight from point to point and pulls equally all along.

    The tension is activation times the largest force, times a factor for its length and one for its
    speed where these are given. Inputs: `activation` (0 to 1). Outputs: `length` (m), `speed` (m/s,
    positive while it grows longer), `tension` (N), and for each coordinate `arm_<coordinate>`, the
    moment arm -dL/dq (m): the effort that it puts on that coordinate is tension times arm.

    Args:
        mechanism: that it belongs to.
        points: its path, two or more: points, bodies for their origins, or names.
        strength: the largest force, N.
        coordinates: those for which moment arms are wanted.
        by_length: factor of the force over length in m, such as a `Lookup1D`.
        by_speed: factor of the force over speed in m/s, such as a `Lookup1D`.
        activation: where nothing drives it.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> ends = [m.point("o", at=(0, 1, 0)), m.point("i", b, at=(1, 0, 0))]
    >>> list(Muscle(m, ends, 500.0, coordinates=["b"]).outputs)[:3]
    ['length', 'speed', 'tension']
    """

    def __init__(
        self,
        mechanism: Any,
        points: Sequence[Location],
        strength: float,
        *,
        coordinates: Sequence[Expr | str] = (),
        by_length: Lookup1D | None = None,
        by_speed: Lookup1D | None = None,
        activation: float = 0.0,
        name: str = "muscle",
    ) -> None:
        super().__init__(name, mechanism, doc="a muscle along a path of points")
        if len(points) < 2:
            raise BlockError(f"the muscle {name!r} has {len(points)} points, and needs two")
        path = [self.point_at(p) for p in points]
        most = self.parameter("strength", strength, unit="N", lower=0.0)
        act = self.input("activation", activation, unit="1")
        self.require(act >= 0, "it pulls")
        whole: list[Expr] = []
        lengths, speeds, ways = [], [], []
        for a, b in pairwise(path):
            straight = b.position - a.position
            whole.append(sqrt(straight @ straight))
            way = [self.intermediate(x) for x in subtract(self.position(b), self.position(a))]
            far = self.intermediate(sqrt(total(x**2 for x in way)))
            parting = subtract(self.velocity(b), self.velocity(a))
            ways.append(way)
            lengths.append(far)
            speeds.append(dot(way, parting) / far)
        length = self.output("length", total(lengths), unit="m")
        speed = self.output("speed", total(speeds), unit="m/s")
        force = act * most
        if by_length is not None:
            force = force * by_length(length)
        if by_speed is not None:
            force = force * by_speed(speed)
        tension = self.output("tension", force, unit="N")
        for k, (a, b) in enumerate(pairwise(path)):
            pull = [self.intermediate(tension / lengths[k] * x) for x in ways[k]]
            for name, end, sign in (("out", a, 1), ("in", b, -1)):
                if a.body is not b.body and end.body.parent is not None:
                    self.force_vector(f"{name}{k + 1}", [sign * x for x in pull], at=end)
        for coordinate in coordinates:
            joint = joint_of(self.mechanism, coordinate)
            q, unit = joint.coordinate, "m" if joint.turns else "1"
            self.output(f"arm_{q.name.replace('.', '_')}", -diff(total(whole), q), unit=unit)
