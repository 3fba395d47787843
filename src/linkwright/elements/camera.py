"""A pinhole camera on a body: exact pictures of flat targets, at instants, late and with noise.

The camera looks along the z axis of its own frame; x goes along the lines of its picture and y down
across them, so that the point (x, y, z) is seen at (u0 + fx x/z, v0 + fy y/z). In the words of the
report on visual tracking a pixel at the distance z is Kx z wide and Ky z high, with Kx = 1/fx and
Ky = 1/fy, which differ where pixels are not square.

A field is what the shutter lets in: the picture at the end of the exposure, or its mean over it. It
arrives when it has been read out. A field that is skipped never arrives: outputs hold, and their
`count` does not go on. A target that is not whole in the picture, or that something hides, is not
`visible`; what was seen of it last is held, never a number of something that is not there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwright.algebra import ONE, Expr, as_expr, floor, where
from linkwright.algebra.triples import Triple, apply, subtract
from linkwright.base.rotations import exact
from linkwright.blocks import BlockError, Element, Location, checked, checked_all, checked_rotation
from linkwright.elements.camera_targets import CameraTarget, Optics, TargetPicture
from linkwright.elements.surfaces import UNTURNED

_FEATURES = ("u", "v", "area", "uu", "uv", "vv")


class PinholeCamera(Element):
    """A camera that sees flat targets: their centroids, areas and second moments, exactly.

    Outputs for each target: `u` and `v`, its centroid (pixels), `area` (pixels), `variance` (three
    each: of u, of u with v, of v; pixels^2), `visible` (1 where all of it was in the last field)
    and `outline` (nine each: its two axes and its origin along the camera's, m, for drawing). For
    all: `count`, how many fields have arrived; `stamp`, the middle of the last one's exposure (s);
    `parity`, 0 for a field of even lines and 1 for odd ones.

    Inputs: `skip`, not zero where a field is lost, and `occluded`, for each target.

    Args:
        mechanism: that it belongs to.
        at: where it sits: a point, a body for its origin, or a name.
        targets: what it sees.
        rotation: rows of the matrix from its axes to those of where it sits.
        focal: length in pixels, along the lines of the picture and across them.
        center: where its axis meets the picture, pixels; the middle by default.
        pixels: width and height of its picture.
        every: instants of the camera from one field to the next.
        exposure: instants for which the shutter is open; 0 for a flash.
        readout: instants from the end of the exposure to the arrival of a field.
        interlaced: whether fields have the even and the odd lines in turn.
        noise: standard deviation of the centroids, pixels.
        area_noise: standard deviation of the areas, in relation to them.
        skipped: which part of the fields is lost by chance.
        least_area: below which a target is too small to be seen, pixels.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> from linkwright.elements import DiscTarget
    >>> m = Mechanism("m")
    >>> hand = m.body("hand", translate="xyz", mass=1)
    >>> list(PinholeCamera(m, hand, [DiscTarget(0.1, center=(0, 0, 2))]).outputs)[:4]
    ['u', 'v', 'area', 'variance']
    """

    def __init__(
        self,
        mechanism: Any,
        at: Location,
        targets: Sequence[CameraTarget],
        *,
        rotation: Sequence[Sequence[float]] = UNTURNED,
        focal: Sequence[float] = (600.0, 600.0),
        center: Sequence[float] | None = None,
        pixels: Sequence[float] = (512.0, 512.0),
        every: int = 1,
        exposure: int = 0,
        readout: int = 0,
        interlaced: bool = False,
        noise: float = 0.0,
        area_noise: float = 0.0,
        skipped: float = 0.0,
        least_area: float = 1.0,
        name: str = "camera",
    ) -> None:
        super().__init__(name, mechanism, doc="pinhole camera")
        self.point = self.point_at(at)
        self.targets = _targets(targets, name)
        self.rotation = np.array(checked_rotation(rotation, f"the rotation of {name!r}"))
        size = checked_all(pixels, f"pixels of {name!r}", count=2, least=1)
        lens = checked_all(focal, f"focal of {name!r}", count=2, least=1e-9)
        axis = None if center is None else checked_all(center, f"center of {name!r}", count=2)
        self._every = instants(every, f"every of {name!r}", 1)
        self._open = instants(exposure, f"exposure of {name!r}", 0)
        self._late = instants(readout, f"readout of {name!r}", 0)
        self.interlaced = interlaced
        if self._open >= self._every and self._open:
            raise BlockError(
                f"{name!r} would be open for {self._open} of {self._every} instants",
                remedy="let `exposure` be less than `every`; run the camera at a faster rate",
            )
        shape = self._pair("pixels", size, least=1.0)
        self.optics = Optics(
            self._pair("focal", lens, least=1e-9),
            self._pair("center", [x / 2 for x in shape] if axis is None else axis),
            shape,
        )
        self._least = self.parameter("least_area", least_area, unit="1", lower=0.0)
        self._noise = self.parameter("noise", noise, unit="1", lower=0.0) if noise else None
        checked(noise, f"noise of {name!r}", least=0)
        self._area_noise = None
        checked(area_noise, f"area_noise of {name!r}", least=0)
        if area_noise:
            self._area_noise = self.parameter("area_noise", area_noise, unit="1", lower=0.0)
        skip = self.input("skip", unit="1", doc="not zero where a field is lost")
        n = len(self.targets)
        self._hidden = self.input_vector("occluded", n, unit="1", doc="not zero where hidden")
        lost = where(skip, 1, 0)
        if checked(skipped, f"skipped of {name!r}", least=0, most=1):
            share = self.parameter("skipped", skipped, unit="1", lower=0.0, upper=1.0)
            lost = where((lost > 0) | (self.uniform("skipping") < share), 1, 0)
        self._fields(lost)

    @property
    def needs_rate(self) -> bool:
        """It takes pictures at instants."""
        return True

    def _pair(
        self, key: str, values: Sequence[float | Expr], *, least: float = -math.inf
    ) -> tuple[Expr, Expr]:
        sign = "positive" if least > 0 else ""
        x, y = (
            self.parameter(f"{key}_{end}", value, unit="1", sign=sign, lower=least)
            for end, value in zip("uv", values, strict=True)
        )
        return x, y

    def _fields(self, lost: Expr) -> None:
        """Say when fields are taken, and put out what they show once they arrive."""
        hold = self.intermediate
        due: Expr = ONE
        if self._every > 1:
            beat = self.discrete_state("beat", unit="1", doc="instants since the last field")
            self.update(beat, where(beat > self._every - 1.5, 0, beat + 1))
            due = hold(where(beat < 0.5, 1, 0))
            self._shut = hold(where(beat > self._every - self._open - 0.5, 1, 0))
        taken = hold(where((due > 0) & (lost < 0.5), 1, 0))
        rows: dict[str, list[Expr]] = {key: [] for key in (*_FEATURES, "visible", "outline")}
        for k, target in enumerate(self.targets):
            H, seen = self._seen(k, target)
            parts = [seen.u, seen.v, seen.area, *seen.variance]
            sees = self._in_view(seen, self._hidden[k])
            if self._open:
                parts, sees = self._exposed(k, parts, sees, due)
            parts = self._noisy(k, parts)
            good = hold(where((taken > 0) & (sees > 0.5), 1, 0))
            for key, part in zip(_FEATURES, parts, strict=True):
                rows[key].append(self._kept(f"{key}{k}", part, good))
            rows["visible"].append(self._kept(f"visible{k}", sees, taken))
            shape = [x for column in H for x in column]
            rows["outline"] += [
                self._kept(f"outline{k}_{i}", x, taken) for i, x in enumerate(shape)
            ]
        count = self.discrete_state("counted", unit="1", doc="fields taken")
        number = hold(count + taken)
        self.update(count, number)
        middle = self.time - self.period * (self._open / 2) if self._open else self.time
        stamp = self._kept("stamped", middle, taken)
        fields = self.discrete_state("fields", unit="1", doc="fields, those lost included")
        self.update(fields, fields + due)
        parity = self._kept("side", fields - 2 * _half(fields), taken) if self.interlaced else 0
        self._put_out(rows, number, stamp, parity)

    def _put_out(
        self, rows: dict[str, list[Expr]], number: Expr, stamp: Expr, parity: Expr | int
    ) -> None:
        variance = [
            x for three in zip(rows["uu"], rows["uv"], rows["vv"], strict=True) for x in three
        ]
        length = "m"
        for key, values, unit, words in (
            ("u", rows["u"], "1", "centroids along the lines, pixels"),
            ("v", rows["v"], "1", "centroids across the lines, pixels"),
            ("area", rows["area"], "1", "areas, pixels"),
            ("variance", variance, "1", "of points about the centroids, pixels^2"),
            ("visible", rows["visible"], "1", "1 where a target was whole in the last field"),
            ("outline", rows["outline"], length, "axes and origins along the camera's axes"),
        ):
            late = [self._arrived(f"{key}_late{i}", x) for i, x in enumerate(values)]
            self.output_vector(key, late, unit=unit, doc=words)
        self.output("count", self._arrived("count_late", number), unit="1", doc="fields arrived")
        self.output("stamp", self._arrived("stamp_late", stamp), unit="s", doc="when it was taken")
        side = self._arrived("parity_late", as_expr(parity)) if self.interlaced else as_expr(parity)
        self.output("parity", side, unit="1", doc="0 for even lines, 1 for odd ones")

    def _arrived(self, key: str, value: Expr) -> Expr:
        return self.delay(value, self._late, name=key) if self._late else value

    def _kept(self, key: str, value: Expr, new: Expr) -> Expr:
        """Return a value where it is new, and what it was last where it is not."""
        memory = self.discrete_state(f"{key}_kept")
        now = self.intermediate(where(new > 0, value, memory))
        self.update(memory, now)
        return now

    def _seen(
        self, k: int, target: CameraTarget
    ) -> tuple[tuple[Triple, Triple, Triple], TargetPicture]:
        """Return axes and origin of a target along those of the camera, and its picture."""
        m = self.mechanism
        on = self.point_at(m.ground if target.body is None else target.body)
        turn = np.array(
            checked_rotation(target.rotation, f"the rotation of target {k} of {self.name!r}")
        )
        length = self.parameter(
            f"size{k}", target.size, unit="m", sign="positive", doc="of a target"
        )
        middle = m.point_of(on, tuple(map(as_expr, target.center)))
        away = subtract(self.position(middle), self.position(self.point))
        axes = [self.places.outward(on, [as_expr(exact(x)) for x in turn[:, i]]) for i in range(2)]
        a, b = (self._triple([length * x for x in self._inward(axis)]) for axis in axes)
        c = self._triple(self._inward(away))
        return (a, b, c), target.picture(self.optics, (a, b, c), self.intermediate)

    def _inward(self, v: Sequence[Expr]) -> Triple:
        """Return components along the camera's axes from those along the ground's."""
        inside = self.places.inward(self.point, v)
        return apply([[exact(e) for e in column] for column in self.rotation.T], inside)

    def _in_view(self, seen: TargetPicture, hidden: Expr) -> Expr:
        inside = (seen.front > 0) & (seen.area >= self._least)
        for low, high, size in zip(seen.lower, seen.upper, self.optics.size, strict=True):
            inside = inside & (low >= 0) & (high <= size)
        return self.intermediate(where(inside & ~(where(hidden, 1, 0) > 0), 1, 0))

    def _exposed(
        self, k: int, parts: Sequence[Expr], sees: Expr, due: Expr
    ) -> tuple[list[Expr], Expr]:
        """Return the means over the exposure; what was hidden at any time of it is not seen."""
        steps = self.discrete_state(f"open{k}", unit="1")
        self.update(steps, where(due > 0, 0, steps + self._shut))
        means = []
        for i, part in enumerate((*parts, sees)):
            so_far = self.discrete_state(f"open{k}_{i}")
            self.update(so_far, where(due > 0, 0, so_far + self._shut * part))
            means.append(self.intermediate((so_far + part) / (steps + 1)))
        whole = self.intermediate(where(means[-1] > 1 - 1e-9, 1, 0))
        return means[:-1], whole

    def _noisy(self, k: int, parts: Sequence[Expr]) -> list[Expr]:
        u, v, area, *rest = parts
        if self._noise is not None:
            u = u + self._noise * self.noise(f"u{k}_noise")
            v = v + self._noise * self.noise(f"v{k}_noise")
        if self._area_noise is not None:
            area = area * (1 + self._area_noise * self.noise(f"area{k}_noise"))
        return [u, v, area, *rest]


def instants(value: int, what: str, least: int) -> int:
    """Return a number of instants, or say why it is wrong.

    >>> instants(3, "every", 1)
    3
    """
    found = checked(value, what, least=least)
    if not found.is_integer():
        raise BlockError(f"{what} is {found:g}", remedy="give a whole number of instants")
    return int(found)


def _targets(given: Sequence[CameraTarget], name: str) -> tuple[CameraTarget, ...]:
    try:
        found = tuple(given)
    except TypeError as error:
        raise BlockError(
            f"targets of {name!r} is {given!r}", remedy="give a list of DiscTarget or PolygonTarget"
        ) from error
    if not found:
        raise BlockError(f"the camera {name!r} has no targets", remedy="give one or more")
    for k, target in enumerate(found):
        if not callable(getattr(target, "picture", None)):
            raise BlockError(
                f"target {k} of {name!r} is {target!r}", remedy="give a DiscTarget or PolygonTarget"
            )
    return found


def _half(number: Expr) -> Expr:
    return floor(number / 2 + 0.25)
