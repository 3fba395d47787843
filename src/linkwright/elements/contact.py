"""Contact of points with surfaces, by stiff springs (SL's technical report, section 5.8).

A point that is inside a surface is pushed out along the normal by a spring and a damper, which
never pull. Either the damper is the same at all depths, as in SL, so that the force begins with a
jump where a point strikes; or it grows with the depth (Hunt and Crossley 1975), so that it does
not. Along the surface there are two models:

- `viscous`: a damper.
- `friction`: a spring from the place where the point first touched, critically damped for a unit
  mass as in SL, which holds as long as its force is below c_s times the normal force; beyond that
  the point slips with c_d times the normal force against its motion, until it has come to rest, and
  then holds on where it is. It has come to rest when its speed is small and falls, or when it has
  turned back within one step; a point that has just broken away is slow too, but gets faster.

Where a point holds on, whether it slips and how fast, is memory: it changes once after each
accepted step of the integration, never within one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linkwright.algebra import ZERO, Expr, maximum, sqrt, total, where
from linkwright.algebra.triples import Triple, dot, subtract
from linkwright.blocks import BlockError, Element, Location, checked
from linkwright.elements.surface_frames import SurfaceFrame
from linkwright.elements.surfaces import Plane, Surface, surface_of
from linkwright.mechanism import Point


class Contact(Element):
    """Points of a mechanism that can touch a surface.

    Outputs for each point k (from 1): `depthk` (m, positive inside), `normalk` (N), and the
    components of the force in the ground's frame, `forcek_x` and so on; with labels `depth_foot`
    and so on.

    Args:
        mechanism: that it belongs to.
        points: that can touch: points, bodies for their origins, or names of points, bodies or,
            where `mechanism` is a robot, of its links and frames.
        surface: what they touch.
        stiffness: k_n of the normal spring, N/m.
        damping: b_n of the normal damper, N*s/m.
        dissipation: a of a damper k_n * depth * a, besides that, s/m; a point that strikes at a low
            speed v comes back with about (1 - 2/3 a v) v.
        viscous: b_v of the damper along the surface, N*s/m; for the first model.
        static: c_s, friction that holds in relation to the normal force; for the second model.
        dynamic: c_d, friction that slips in relation to the normal force; c_s by default.
        tangential: k_c of the spring along the surface, N/m; the normal one's by default.
        tangential_damping: N*s/m; by default 2 sqrt(k_c), as in SL.
        stick_speed: speed below which a slipping point that slows down holds on again, m/s.
        events: whether runs say when points begin and cease to touch.
        labels: words that stand for the points in the names of outputs, in place of numbers.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> from linkwright.elements import Plane
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="xyz", mass=1)
    >>> list(Contact(m, [b], Plane(), stiffness=1e4, damping=50, viscous=10).outputs)[:2]
    ['normal1', 'depth1']
    """

    def __init__(
        self,
        mechanism: Any,
        points: Location | Iterable[Location],
        surface: Surface,
        *,
        stiffness: float,
        damping: float = 0.0,
        dissipation: float = 0.0,
        viscous: float = 0.0,
        static: float | None = None,
        dynamic: float | None = None,
        tangential: float | None = None,
        tangential_damping: float | None = None,
        stick_speed: float = 1e-3,
        events: bool = True,
        labels: Sequence[str] = (),
        name: str = "contact",
    ) -> None:
        super().__init__(name, mechanism, doc="contact of points with a surface")
        if isinstance(points, Iterable) and not isinstance(points, str):
            given = list(points)
        else:
            given = [points]
        if not given:
            raise BlockError(f"the contact {name!r} has no points")
        self.surface = surface = surface_of(surface)
        self._events = events
        stiff, damp = "N/m", "N*s/m"
        self._k = self.parameter("stiffness", stiffness, unit=stiff, lower=0.0)
        self._b = self.parameter("damping", damping, unit=damp, lower=0.0)
        self._a: Expr | None = None
        if dissipation:
            self._a = self.parameter("dissipation", dissipation, unit="s/m", lower=0.0)
        self._sticks = static is not None
        sticking = {
            "dynamic": dynamic, "tangential": tangential, "tangential_damping": tangential_damping
        }  # fmt: skip
        for word, value in {"viscous": viscous or None, **sticking}.items():
            if value is not None and self._sticks is (word == "viscous"):
                raise BlockError(
                    f"{word} of {name!r} is given {'with' if self._sticks else 'without'} static",
                    remedy="give static= for friction that holds, or viscous= for a damper",
                )
        checked(viscous, f"viscous of {name!r}", least=0)
        if static is None:
            self._viscous = self.parameter("viscous", viscous, unit=damp, lower=0.0)
        else:
            self._cs = self.parameter("static", static, unit="1", lower=0.0)
            slips = self._cs if dynamic is None else dynamic
            self._cd = self.parameter("dynamic", slips, unit="1", lower=0.0)
            kc = self._k if tangential is None else tangential
            self._kc = self.parameter("tangential", kc, unit=stiff, lower=0.0)
            bc = 2 * sqrt(self._kc) if tangential_damping is None else tangential_damping
            self._bc = self.parameter("tangential_damping", bc, unit=damp, lower=0.0)
            self._stick_speed = self.parameter(
                "stick_speed", stick_speed, unit="m/s", sign="positive"
            )
        self._frame = SurfaceFrame(self, surface)
        self.points = [self.point_at(p) for p in given]
        if isinstance(surface, Plane) and self._frame.carrier.body.parent is None:
            self.floors.append(
                (tuple(map(float, surface.center)), tuple(self._frame.turn[:, 2].tolist()))
            )
        words = [
            p if isinstance(p, str) else point.name
            for p, point in zip(given, self.points, strict=True)
        ]
        self.labels = [f"_{x}" for x in labels] or [f"{k}" for k in range(1, len(given) + 1)]
        if len(set(self.labels)) != len(given):
            raise BlockError(
                f"{name!r} has {len(given)} points and {len(set(self.labels))} different labels",
                remedy="give each point a label of its own, or none",
            )
        for k, point, word in zip(self.labels, self.points, labels or words, strict=True):
            self._add(k, point, word)

    def _add(self, k: str, point: Point, word: str) -> None:
        seen = self._frame.relative(self.position(point), self.velocity(point))
        place, speed = (self._triple(v) for v in seen)
        depth, normal = self.surface.depth(*place)
        depth = self.intermediate(depth)
        normal = self._triple(normal)
        outward = self.intermediate(dot(speed, normal))
        touching = depth > 0
        damper = self._b if self._a is None else self._b + self._k * self._a * depth
        push = maximum(self._k * depth - damper * outward, 0.0)
        press = self.output(
            f"normal{k}", where(touching, push, 0.0), unit="N",
            doc=f"normal force on {word}",
        )  # fmt: skip
        self.output(f"depth{k}", depth, unit="m", doc=f"depth of {word}")
        if self._events:
            self.event(f"touch{k}", depth)
        slide = self._triple(_less(speed, normal, outward))
        if self._sticks:
            along = self._hold_or_slip(k, place, normal, slide, press, touching)
        else:
            x, y, z = (where(touching, -self._viscous * v, 0.0) for v in slide)
            along = (x, y, z)
        force = self._frame.outward([press * n + f for n, f in zip(normal, along, strict=True)])
        parts = self.force_vector(f"force{k}", force, at=point, doc=f"contact force on {word}")
        self.show_force(f"force{k}", at=point, touch=f"depth{k}")
        carrier = self._frame.carrier.body
        if carrier.parent is not None:
            arm = subtract(self.position(point), self.position(carrier.origin))
            back = [-x for x in parts]
            self.force_vector(f"reaction{k}", back, at=carrier, arm=arm)

    def _hold_or_slip(
        self, k: str, place: Triple, normal: Triple, slide: Triple, press: Expr, touching: Expr
    ) -> Triple:
        """Return the force along the surface, and remember where the point holds on."""
        anchor = tuple(self.discrete_state(f"anchor{k}{c}", unit="m") for c in "xyz")
        slips = self.discrete_state(f"slips{k}", doc="1 while the point slips")
        begun = self.discrete_state(f"begun{k}", doc="1 once the point has a place to hold on")
        before = [
            v if v is ZERO else self.discrete_state(f"slide{k}{c}", unit="m/s", doc="one step ago")
            for v, c in zip(slide, "xyz", strict=True)
        ]
        away = (place[0] - anchor[0], place[1] - anchor[1], place[2] - anchor[2])
        stretch = self._triple(_less(away, normal, dot(away, normal)))
        known = where(begun > 0, 1.0, 0.0)
        hx, hy, hz = (
            -known * self._kc * s - self._bc * v for s, v in zip(stretch, slide, strict=True)
        )
        hold = self._triple((hx, hy, hz))
        pull = self.intermediate(sqrt(dot(hold, hold)))
        speed = self.intermediate(sqrt(dot(slide, slide)))
        limit = self._cs * press
        slipping = self.intermediate(where(slips > 0, 1.0, where(pull >= limit, 1.0, 0.0)))
        drag = self._cd * press / maximum(speed, self._stick_speed)
        along = [
            where(touching, where(slipping > 0, -drag * v, h), 0.0)
            for v, h in zip(slide, hold, strict=True)
        ]
        forth = dot(before, slide)
        slower = dot(slide, slide) < total([a**2 for a in before])
        slow = where(speed < self._stick_speed, where(slower, 1.0, 0.0), 0.0)
        rests = where(forth < 0, 1.0, slow)
        held_on = self.intermediate(where(slips > 0, rests, 0.0))
        moves = where(touching, held_on, 1.0)
        for memory, now in zip(anchor, place, strict=True):
            self.update(memory, where(moves > 0, now, where(begun > 0, memory, now)))
        self.update(slips, where(touching, where(held_on > 0, 0.0, slipping), 0.0))
        for memory, now in zip(before, slide, strict=True):
            if memory is not ZERO:
                self.update(memory, now)
        self.update(begun, 1.0)
        return along[0], along[1], along[2]


def _less(v: Triple, normal: Triple, part: Expr) -> Triple:
    """Return what is left of a vector without its part along the normal."""
    x, y, z = (a - part * n for a, n in zip(v, normal, strict=True))
    return x, y, z
