"""A dimensioned sheet of a mount: three views, its links one by one, and a list of parts.

The sheet is A3, in third-angle projection, at a scale of ISO 5455. All is lines, circles and texts
in mm of the sheet, each on a layer, from which pictures and DXF are written. Dimensions are those
between the axes of joints, in mm, with the dish to the zenith.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import evaluate_all
from linkwright.base.errors import InputError
from linkwright.base.files import write_text
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.mounts.inverse_pointing import start_at
from linkwright.parallel.beams import BeamSection
from linkwright.parallel.flexing import Flexing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Place: TypeAlias = Sequence[float] | NDArray[Any]

WIDTH, HEIGHT, MARGIN = 420.0, 297.0, 10.0  # mm, A3
SCALES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LAYERS = {"outline": 0.5, "thin": 0.2, "axis": 0.2, "dimension": 0.2, "text": 0.2, "frame": 0.7}
"""Width of lines, mm."""
ENDINGS = (".dxf", ".svg", ".png", ".pdf")
_VIEWS = {"front": (0, 2), "top": (0, 1), "side": (1, 2)}  # axes to the right and up
_TEXT, _SMALL = 2.5, 2.0  # mm
_SAME = 1e-7


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link: its joint and where it meets others, m, with the dish to the zenith."""

    name: str
    ends: Array
    mass: float  # kg
    section: BeamSection | None = None

    @property
    def along(self) -> Array:
        """How far its ends are along it, m, the least of them 0."""
        far = self.ends[np.linalg.norm(self.ends - self.ends[0], axis=1).argmax()] - self.ends[0]
        found = (self.ends - self.ends[0]) @ far / np.linalg.norm(far)
        return np.asarray(found - found.min())

    @property
    def length(self) -> float:
        """From one end to the other, m."""
        return float(self.along.max())

    @property
    def is_beam(self) -> bool:
        """Whether all of it is on one line."""
        return int(np.linalg.matrix_rank(self.ends - self.ends[0], tol=1e-6)) == 1

    @property
    def tips(self) -> Array:
        """Both ends of a beam, m."""
        at = self.along
        return np.array([self.ends[at.argmin()], self.ends[at.argmax()]])


@dataclass(slots=True)
class DimensionedSheet:
    """Lines, circles and texts on a sheet, mm."""

    title: str
    scale: int = 1
    lines: list[tuple[str, float, float, float, float]] = field(default_factory=list)
    circles: list[tuple[str, float, float, float]] = field(default_factory=list)
    texts: list[tuple[float, float, float, str, str, float]] = field(default_factory=list)

    def line(self, layer: str, a: Place, b: Place) -> None:
        """Add a line."""
        self.lines.append((layer, float(a[0]), float(a[1]), float(b[0]), float(b[1])))

    def circle(self, layer: str, at: Place, radius: float) -> None:
        """Add a circle."""
        self.circles.append((layer, float(at[0]), float(at[1]), float(radius)))

    def text(
        self,
        at: Place,
        words: str,
        size: float = _TEXT,
        align: str = "left",
        turn: float = 0.0,
    ) -> None:
        """Add a text; it is turned by degrees."""
        self.texts.append((float(at[0]), float(at[1]), size, words, align, turn))

    def box(self, layer: str, x: float, y: float, w: float, h: float) -> None:
        """Add a rectangle."""
        corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h)]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            self.line(layer, a, b)

    def dimension(self, a: Array, b: Array, off: Array, words: str, at: float = 0.5) -> None:
        """Add a dimension from a to b, along the line that is `off` from both; words stand at a
        share of it."""
        if np.linalg.norm(b - a) < 1e-6:
            return
        along = (b - a) / np.linalg.norm(b - a)
        away = off / np.linalg.norm(off)
        p, q = a + off, b + off
        for start, end in ((a, p), (b, q)):
            self.line("dimension", start + 1.0 * away, end + 1.5 * away)
        self.line("dimension", p, q)
        for tip, way in ((p, along), (q, -along)):
            for side in (-1.0, 1.0):
                self.line("dimension", tip, tip + 2.5 * way + side * 0.5 * away)
        upright = abs(along[1]) > abs(along[0])
        lift = np.array([-1.0, 0.0]) if upright else np.array([0.0, 1.0])
        self.text(p + at * (q - p) + 1.2 * lift, words, _TEXT, "center", 90.0 if upright else 0.0)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> Path:
        """Write a picture (.svg, .png, .pdf) or lines for CAD (.dxf, mm of the sheet)."""
        target = checked_sheet(Path(path))
        if target.suffix.lower() == ".dxf":
            write_text(target, "".join(self._dxf()), replace=replace)
        else:
            from linkwright.recording.plots import save_figure

            save_figure(target, self.figure(), replace=replace)
        return target

    def figure(self) -> Figure:
        """Return it as a picture; needs Matplotlib (the extra `plot`)."""
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle

        made = Figure(figsize=(WIDTH / 25.4, HEIGHT / 25.4))
        ax = made.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
        ax.set_axis_off()
        point = 72 / 25.4
        for layer, *xy in self.lines:
            ax.plot(
                xy[0::2], xy[1::2], color="black", linewidth=LAYERS[layer] * point,
                linestyle=(0, (12, 3, 2, 3)) if layer == "axis" else "-", solid_capstyle="round",
            )  # fmt: skip
        for layer, x, y, r in self.circles:
            style = (0, (12, 3, 2, 3)) if layer == "axis" else "-"
            ax.add_patch(
                Circle((x, y), r, fill=False, linewidth=LAYERS[layer] * point, linestyle=style)
            )
        for x, y, size, words, align, turn in self.texts:
            ax.text(
                x, y, words, fontsize=size * point, ha=align, rotation=turn,
                va="bottom" if turn == 0 else "center", family="sans-serif", parse_math=False,
            )  # fmt: skip
        return made

    def _dxf(self) -> Iterator[str]:
        """Return the file of AutoCAD R12, group by group."""
        yield _groups((0, "SECTION"), (2, "ENTITIES"))
        for layer, x, y, u, v in self.lines:
            yield _groups((0, "LINE"), (8, layer), (10, x), (20, y), (11, u), (21, v))
        for layer, x, y, r in self.circles:
            yield _groups((0, "CIRCLE"), (8, layer), (10, x), (20, y), (40, r))
        for x, y, size, words, align, turn in self.texts:
            plain = words.replace("Ø", "%%c").replace("°", "%%d").replace("×", "x")
            where = ((72, {"left": 0, "center": 1, "right": 2}[align]), (11, x), (21, y))
            yield _groups(
                (0, "TEXT"), (8, "text"), (10, x), (20, y), (40, size), (1, plain), (50, turn),
                *where,
            )  # fmt: skip
        yield _groups((0, "ENDSEC"), (0, "EOF"))


def checked_sheet(target: Path) -> Path:
    """Return where a sheet goes, whose ending names what is written."""
    if target.suffix.lower() not in ENDINGS:
        raise InputError(
            f"the ending {target.suffix!r} names no drawing", remedy=f"use {', '.join(ENDINGS)}"
        )
    return target


def _groups(*pairs: tuple[int, object]) -> str:
    return "".join(f"{code}\n{f'{v:.6f}' if isinstance(v, float) else v}\n" for code, v in pairs)


def drawn_links(
    mount: ModelLike, sections: Mapping[str, BeamSection] | None = None
) -> tuple[list[DrawnLink], Array]:
    """Return the links of a mount and the joints of its base, m, with the dish to the zenith.

    Args:
        mount: a mount with actuators and platform.
        sections: of links that are tubes, by name.

    >>> links, base = drawn_links("mount-2-rotary")
    >>> [link.name for link in links if link.is_beam], base.shape
    (['arm1', 'arm2', 'arm3', 'upper1', 'upper2', 'upper3', 'strut'], (4, 3))
    """
    machine = parallel_machine(mount)
    m = machine.mechanism
    flexing = Flexing(machine, start_at(mount, (0.0, 0.0, 1.0)))
    sliders = {strut.slider for strut in m.driven_struts}  # nothing is drawn of them
    bodies = [b for b in m.bodies.values() if b not in sliders]
    hung = {b.origin for b in sliders}
    points = [p for p in flexing.meetings(m.ground) if p not in hung]
    base = [flexing.place(p) for p in points]
    found = []
    for body in bodies:
        ends = np.array([flexing.place(p) for p in (body.origin, *flexing.ends(body))])
        mass = float(flexing.numbers([body.inertia.mass])[0])
        if len(ends) > 1:
            found.append(DrawnLink(body.name, ends, mass, (sections or {}).get(body.name)))
    for strut in m.driven_struts:
        ends = np.array([flexing.place(strut.first), flexing.place(strut.second)])
        found.append(DrawnLink(strut.name, ends, 0.0, (sections or {}).get(strut.name)))
    kept = np.array([p for i, p in enumerate(base) if not _known(p, base[:i])])
    return found, kept


def _known(place: Array, others: Sequence[Array]) -> bool:
    return any(float(np.linalg.norm(place - o)) < _SAME for o in others)


def mount_sheet(
    mount: ModelLike, sections: Mapping[str, BeamSection] | None = None, *, title: str = ""
) -> DimensionedSheet:
    """Return a dimensioned sheet of a mount.

    Args:
        mount: a mount with actuators and platform.
        sections: of links that are tubes, by name.
        title: of the sheet; the mount's name by default.

    >>> sheet = mount_sheet("mount-2-rotary")
    >>> sheet.scale, "841" in [words for *_, words, _, _ in sheet.texts]
    (20, True)
    """
    m = parallel_machine(mount).mechanism
    links, base = drawn_links(mount, sections)
    places = np.vstack([base, *(link.ends for link in links)])
    rings = _rings(places)
    least, most = places.min(axis=0), places.max(axis=0)
    widest = max((r for r, _ in rings), default=0.0) * np.array([1.0, 1.0, 0.0])
    low, high = np.minimum(least, -widest), np.maximum(most, widest)
    span = np.maximum(high - low, 1e-3) * 1e3
    fits = [s for s in SCALES if span[0] + span[1] <= 194 * s and span[1] + span[2] <= 200 * s]
    sheet = DimensionedSheet(title or m.name, fits[0] if fits else SCALES[-1])
    per = 1e3 / sheet.scale  # mm of the sheet for a meter
    left, bottom, gap = MARGIN + 28.0, MARGIN + 34.0, 26.0
    width, depth, rise = span / sheet.scale
    corners = {
        "front": np.array([left, bottom]),
        "top": np.array([left, bottom + rise + gap]),
        "side": np.array([left + width + gap, bottom]),
    }
    for view, (i, j) in _VIEWS.items():
        origin = corners[view] - per * np.array([low[i], low[j]])
        _view(sheet, links, base, lambda p, o=origin, i=i, j=j: o + per * p[..., [i, j]], per)
        top = {"front": rise, "top": depth, "side": rise}[view]
        if view != "front":
            sheet.text(corners[view] + [0.0, top + 4.5], f"from {_FROM[view]}", _SMALL)
    front = corners["front"] - per * low[[0, 2]]
    _overall(sheet, links, front, least, most, per)
    _circles(sheet, rings, corners["top"] - per * low[:2], per, float(width), float(depth))
    parts = _parts(links)
    _numbers(sheet, parts, front, per)
    _details(sheet, parts)
    masses = [b.inertia.mass for b in m.bodies.values() if b is not m.ground]
    known = {x: m.values[n] for n, x in m.parameters.items() if n in m.values}
    total = sum(float(v) for v in evaluate_all(masses, known))
    _lists(sheet, m.doc, parts, total)
    sheet.box("frame", MARGIN, MARGIN, WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN)
    return sheet


_FROM = {"top": "above", "side": "the right"}


def _view(
    sheet: DimensionedSheet, links: Sequence[DrawnLink], base: Array, on: object, per: float
) -> None:
    """Draw all links, the base and the joints in one projection."""
    at = on
    assert callable(at)
    for (_, height), points in _rings(base).items():
        if len(points) > 2 or height == 0:
            _polygon(sheet, at(np.array(points)), "thin")
    for p in at(base):
        for step in ((2.0, 0.0), (0.0, 2.0)):
            sheet.line("axis", p - step, p + step)
    for link in links:
        flat = at(link.ends)
        if not link.is_beam:
            _polygon(sheet, flat, "outline")
        elif link.section is None:
            sheet.line("outline", *at(link.tips))
        else:
            a, b = at(link.tips)
            _tube(sheet, a, b, link.section.depth * per)
        for p in flat:
            sheet.circle("thin", p, 0.9)


def _polygon(sheet: DimensionedSheet, flat: Array, layer: str) -> None:
    """Draw the outline about points."""
    middle = flat.mean(axis=0)
    turn = np.arctan2(*(flat - middle).T[::-1])
    order = flat[np.argsort(turn, kind="stable")]
    hull = [p for p in order if np.linalg.norm(p - middle) > 0.05]
    for a, b in zip(hull, [*hull[1:], *hull[:1]], strict=True):
        if np.linalg.norm(a - b) > 1e-6:
            sheet.line(layer, a, b)


def _tube(sheet: DimensionedSheet, a: Array, b: Array, half: float) -> None:
    """Draw a tube about the line from a to b, with its axis."""
    size = float(np.linalg.norm(b - a))
    if size < 1e-6:
        sheet.circle("outline", a, half)
        return
    side = half * np.array([a[1] - b[1], b[0] - a[0]]) / size
    for p, q in ((a + side, b + side), (a - side, b - side), (a - side, a + side)):
        sheet.line("outline", p, q)
    sheet.line("outline", b - side, b + side)
    sheet.line("axis", a + (a - b) / size, b + (b - a) / size)


def _mm(value: float) -> str:
    """Return a length given in m, in mm."""
    return f"{round(1e3 * value, 1):g}"


def _overall(
    sheet: DimensionedSheet,
    links: Sequence[DrawnLink],
    at: Array,
    low: Array,
    high: Array,
    per: float,
) -> None:
    """Dimension the view from the front: its width, and heights of joints above the lowest."""
    corner = at + per * low[[0, 2]]
    right, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    wide = per * (high[0] - low[0]) * right
    sheet.dimension(corner, corner + wide, -12 * up, _mm(high[0] - low[0]))
    ends = np.vstack([link.ends for link in links])
    levels = sorted({round(float(z), 6) for z in ends[:, 2]})
    shown = [z for z in levels if per * (z - low[2]) > 6.0][-3:]
    for k, z in enumerate(shown):
        top = corner + per * (z - low[2]) * up
        sheet.dimension(corner, top, -(8.0 + 7.0 * k) * right, _mm(z - low[2]))


def _rings(places: Array) -> dict[tuple[float, float], list[Array]]:
    """Return the circles about the vertical on which two places or more are, by radius and height,
    m."""
    rings: dict[tuple[float, float], list[Array]] = {}
    for p in places:
        key = round(float(np.hypot(p[0], p[1])), 6), round(float(p[2]), 6)
        if key[0] > _SAME and not _known(p, rings.get(key, [])):
            rings.setdefault(key, []).append(p)
    return {key: points for key, points in rings.items() if len(points) >= 2}


def _circles(
    sheet: DimensionedSheet,
    rings: Mapping[tuple[float, float], Sequence[Array]],
    origin: Array,
    per: float,
    width: float,
    depth: float,
) -> None:
    """Draw the circles on which joints stand, in the view from above, with radius and height."""
    for r in sorted({r for r, _ in rings}):
        sheet.circle("axis", origin, per * r)
    reach = per * max((r for r, _ in rings), default=0.0) + 3.0
    for step in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        sheet.line("axis", origin - reach * step, origin + reach * step)
    x = MARGIN + 28.0 + width + 12.0
    for k, ((r, z), points) in enumerate(sorted(rings.items(), key=lambda ring: -ring[0][1])):
        angles = sorted(round(math.degrees(math.atan2(p[1], p[0])) % 360.0, 1) for p in points)
        y = origin[1] + depth / 2 - 4.0 - 9.0 * k
        sheet.text((x, y), f"{len(points)} × R{_mm(r)}, height {_mm(z)}", _TEXT)
        sheet.text((x, y - 3.4), f"at {', '.join(f'{a:g}°' for a in angles)}", _SMALL)


def _numbers(
    sheet: DimensionedSheet, parts: Sequence[DrawnPart], origin: Array, per: float
) -> None:
    """Write the number of each part beside it, in the view from the front."""
    flat = [[link.ends[:, [0, 2]] for link in part.links] for part in parts]
    center = np.mean([f.mean(axis=0) for each in flat for f in each], axis=0)
    for k, (part, each) in enumerate(zip(parts, flat, strict=True), 1):
        ends = max(each, key=lambda f: float(f[:, 0].mean()))
        spot = ends.mean(axis=0)
        along = ends[-1] - ends[0] if part.links[0].is_beam else np.array([1.0, 0.0])
        size = float(np.linalg.norm(along))
        way = np.array([-along[1], along[0]]) / size if size > _SAME else np.array([0.6, 0.8])
        if way @ (spot - center + [1e-3, 1e-3]) < 0:
            way = -way
        at = origin + per * spot
        sheet.line("thin", at, at + 9.4 * way)
        sheet.circle("thin", at + 12.0 * way, 2.6)
        sheet.text(at + 12.0 * way - [0.0, 1.0], str(k), _TEXT, "center")


@dataclass(frozen=True, slots=True)
class DrawnPart:
    """Links that are alike."""

    name: str
    links: tuple[DrawnLink, ...]


def _parts(links: Sequence[DrawnLink]) -> list[DrawnPart]:
    """Return links that are alike together: the same name but for its number, length and mass."""
    groups: dict[tuple[object, ...], list[DrawnLink]] = {}
    for link in links:
        size = round(link.length, 9) if link.is_beam else len(link.ends)
        stem = re.sub(r"\d+$", "", link.name)
        groups.setdefault((stem, size, round(link.mass, 9), link.section), []).append(link)
    found = [
        DrawnPart(re.sub(r"\d+$", "", same[0].name) if len(same) > 1 else same[0].name, tuple(same))
        for same in groups.values()
    ]
    return sorted(found, key=lambda part: not part.links[0].is_beam)


_COLUMN = 262.0  # mm, where the details begin


def _details(sheet: DimensionedSheet, parts: Sequence[DrawnPart]) -> None:
    """Draw each link on one line by itself: places of its joints, and its section."""
    beams = [p for p in parts if p.links[0].is_beam]
    longest = max((p.links[0].length for p in beams), default=1.0)
    scale = next((s for s in SCALES if longest * 1e3 / s <= 105.0), SCALES[-1])
    per = 1e3 / scale
    step = min(34.0, 150.0 / max(1, len(beams)))
    right, up = np.eye(2)
    for k, part in enumerate(beams):
        link = part.links[0]
        a = np.array([_COLUMN + 4.0, HEIGHT - MARGIN - 20.0 - step * k])
        half = link.section.depth * per if link.section else 1.5
        _tube(sheet, a, a + per * link.length * right, half)
        sheet.text((a[0] - 4.0, a[1] + half + 2.5), f"{k + 1}  {part.name}, 1:{scale}", _TEXT)
        reached = sorted({round(float(x), 9) for x in link.along})
        for i, x in enumerate(reached):
            p = a + per * x * right
            sheet.circle("thin", p, min(0.9, half))
            if i:
                off = -(half + 5.0 * i) * up
                sheet.dimension(a, p, off, _mm(x), 0.5 if i == 1 else 0.8)
        if link.section:
            end = np.array([_COLUMN + 130.0, a[1]])
            s = link.section
            inner = _inner(s)
            sheet.circle("outline", end, s.depth * per)
            sheet.circle("outline", end, inner * per)
            words = f"Ø{_mm(2 * s.depth)} × {_mm(s.depth - inner)}"
            sheet.text(end - (s.depth * per + 4.0) * up, words, _TEXT, "center")


def _inner(section: BeamSection) -> float:
    """Return the inner radius of a tube, m."""
    return math.sqrt(max(0.0, section.depth**2 - section.area / math.pi))


def _lists(sheet: DimensionedSheet, doc: str, parts: Sequence[DrawnPart], total: float) -> None:
    """Write the list of parts and the title."""
    x, w = _COLUMN - 4.0, WIDTH - MARGIN - _COLUMN + 4.0
    rows = [("item", "part", "number", "length, mm", "mass of one, kg")]
    for k, part in enumerate(parts, 1):
        link = part.links[0]
        length = _mm(link.length) if link.is_beam else ""
        mass = f"{link.mass:.4g}" if link.mass else ""
        rows.append((str(k), part.name, str(len(part.links)), length, mass))
    row, top = 4.6, MARGIN + 30.0
    for i, cells in enumerate(reversed(rows)):
        y = top + row * i
        sheet.line("frame" if i == 0 else "thin", (x, y), (x + w, y))
        for at, cell in zip((2.0, 14.0, 64.0, 84.0, 116.0), cells, strict=True):
            sheet.text((x + at, y + 1.2), cell, _SMALL)
    whole = top + row * len(rows)
    sheet.line("frame", (x, whole), (x + w, whole))
    sheet.line("frame", (x, MARGIN), (x, whole))
    sheet.text((x + 3.0, MARGIN + 21.0), sheet.title, 5.0)
    sheet.text((x + 3.0, MARGIN + 15.5), doc, _SMALL)
    words = f"views 1:{sheet.scale}   A3   third-angle projection"
    sheet.text((x + 3.0, MARGIN + 9.5), words, _TEXT)
    words = f"mm, between axes of joints; dish to the zenith; moving parts {total:.4g} kg"
    sheet.text((x + 3.0, MARGIN + 3.5), words, _TEXT)
