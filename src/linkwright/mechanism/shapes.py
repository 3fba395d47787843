"""Shapes that a body is drawn with in place of generated ones: `Box`, `Sphere`, `Cylinder`,
`Capsule`, `Ellipsoid`, `PlaneShape`, `Mesh`.

Dimensions and places are numbers, or expressions of parameters, whose values they follow in the
studio. They have no mass: that and inertia are given to the body.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

from linkwright.base.errors import InputError, nearest
from linkwright.base.reprs import brief

__all__ = ["Box", "Capsule", "Cylinder", "Mesh", "Sphere"]

Color: TypeAlias = tuple[float, float, float, float]

AXES = ("x", "y", "z")
_HEX = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")


def _hex(text: str) -> Color:
    r, g, b, a = (int((text + "ff")[k : k + 2], 16) / 255 for k in (1, 3, 5, 7))
    return r, g, b, a


COLORS: Mapping[str, Color] = {
    name: _hex(text)
    for name, text in {
        "blue": "#2f6690",
        "sky": "#7ea6c9",
        "azure": "#3a7ca5",
        "ice": "#a9c5e0",
        "graphite": "#39434f",
        "clay": "#c8553d",
        "paper": "#e6e1d8",
        "gray": "#8d97a3",
        "rubber": "#262b31",
        "steel": "#b9c0c8",
        "gold": "#d9a441",
        "navy": "#23406b",
        "sand": "#cdbb9c",
        "sage": "#7f9c86",
        "wood": "#a97c50",
    }.items()
} | {"glass": (*_hex("#9fc3d9")[:3], 0.28)}
"""Colors by name: red, green, blue and opacity, 0 to 1."""


def color_of(given: object) -> Color:
    """Return red, green, blue and opacity, 0 to 1, of a color.

    >>> color_of("#ff0000"), color_of((0, 0, 1))
    ((1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0))
    """
    near = ""
    if isinstance(given, str):
        if given in COLORS:
            return COLORS[given]
        if _HEX.fullmatch(given):
            return _hex(given)
        near = nearest(given, COLORS)
    elif isinstance(given, Sequence) and len(given) in (3, 4):
        parts = [float(x) for x in given if isinstance(x, int | float)]
        if len(parts) == len(given) and all(0 <= x <= 1 for x in parts):
            r, g, b, a = (*parts, 1.0)[:4]
            return r, g, b, a
    raise InputError(
        f"{brief(given)} is not a color",
        remedy=f"did you mean {near!r}?"
        if near
        else f'use "#rrggbb", "#rrggbbaa", numbers from 0 to 1, or one of {", ".join(COLORS)}',
    )


def hex_of(color: Sequence[float]) -> str:
    """Return the text of a color, opacity too where it is not full.

    >>> hex_of((1, 0, 0)), hex_of((1, 0, 0, 0.5))
    ('#ff0000', '#ff000080')
    """
    digits = "".join(f"{round(255 * x):02x}" for x in color_of(color))
    return "#" + digits.removesuffix("ff" if len(color) == 3 or color[3] == 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What all shapes have.

    Args:
        at: where its middle is, in the axes of its body, m.
        turn: turns about its own axes, one after another, before it is moved: pairs of an axis
            ("x", "y", "z") and an angle, rad or a text such as "90 deg"; or one pair.
        color: a name, "#rrggbb", or red, green and blue from 0 to 1; by default that of its body.
        name: in robot files.
        material: name of what has its color, in robot files.
        seen: whether it is drawn.
        touched: whether it takes part in contact, in robot files.

    >>> Sphere(0.1, at=(0, 0, 1), color="gold").at
    (0, 0, 1)
    """

    at: Sequence[Any] = (0, 0, 0)
    turn: Sequence[Any] = ()
    color: str | Sequence[float] | None = None
    name: str = ""
    material: str = ""
    seen: bool = True
    touched: bool = False

    kind: ClassVar[str] = ""
    measured: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.color is not None:
            color_of(self.color)
        object.__setattr__(self, "at", _three(self.at, "the place of a shape"))
        object.__setattr__(self, "turn", _turns(self.turn))

    @property
    def size(self) -> tuple[Any, ...]:
        """Its dimensions, m: edges; a radius; a radius and a length."""
        return tuple(getattr(self, name) for name in self.measured)

    def with_parameters(
        self, value: Callable[[Any], Any], angle: Callable[[Any], Any] | None = None
    ) -> Self:
        """Return the shape with another value for each that it has, lengths and angles.

        >>> Sphere("R", at=("L", 0, 0)).with_parameters({"R": 0.1, "L": 2, 0: 0}.get).size
        (0.1,)
        """
        changed: dict[str, Any] = {
            name: tuple(map(value, given)) if isinstance(given, tuple) else value(given)
            for name, given in ((name, getattr(self, name)) for name in (*self.measured, "at"))
        }
        turns = tuple((axis, (angle or value)(x)) for axis, x in self.turn)
        return replace(self, **changed, turn=turns)

    def values(self) -> tuple[Any, ...]:
        """Return its dimensions, the components of its place and its angles."""
        angles = (angle for _, angle in self.turn)
        return (*self.size, *self.at, *angles)


@dataclass(frozen=True, slots=True)
class Box(Shape):
    """A box about its middle.

    Args:
        edges: lengths along its own axes, m.

    >>> Box((0.1, 0.1, "L"), at=(0, 0, "-L/2"), color="gold").edges
    (0.1, 0.1, 'L')
    """

    edges: Sequence[Any]

    kind: ClassVar[str] = "box"
    measured: ClassVar[tuple[str, ...]] = ("edges",)

    def __post_init__(self) -> None:
        Shape.__post_init__(self)
        object.__setattr__(self, "edges", _three(self.edges, "the edges of a box"))
        _require_positive("box", self.edges)

    @property
    def size(self) -> tuple[Any, ...]:
        """Its edges, m."""
        return tuple(self.edges)


@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    """A sphere.

    Args:
        radius: m.

    >>> Sphere(0.1).size
    (0.1,)
    """

    radius: Any

    kind: ClassVar[str] = "sphere"
    measured: ClassVar[tuple[str, ...]] = ("radius",)

    def __post_init__(self) -> None:
        Shape.__post_init__(self)
        _require_positive("sphere", self.size)


@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    """A cylinder along its own z, about its middle.

    Args:
        radius: m.
        length: m.

    >>> Cylinder(0.02, "L", turn=("x", "90 deg")).turn
    (('x', '90 deg'),)
    """

    radius: Any
    length: Any

    kind: ClassVar[str] = "cylinder"
    measured: ClassVar[tuple[str, ...]] = ("radius", "length")

    def __post_init__(self) -> None:
        Shape.__post_init__(self)
        _require_positive("cylinder", self.size)


@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    """A cylinder along its own z, about its middle, with a half sphere at each end.

    Args:
        radius: m.
        length: between the centers of the half spheres, m.

    >>> Capsule(0.02, 0.5).size
    (0.02, 0.5)
    """

    radius: Any
    length: Any

    kind: ClassVar[str] = "capsule"
    measured: ClassVar[tuple[str, ...]] = ("radius", "length")

    def __post_init__(self) -> None:
        Shape.__post_init__(self)
        _require_positive("capsule", self.size)


@dataclass(frozen=True, slots=True)
class Ellipsoid(Shape):
    """An ellipsoid along its own axes.

    >>> Ellipsoid((0.1, 0.2, 0.3)).size
    (0.1, 0.2, 0.3)
    """

    radii: Sequence[Any]

    kind: ClassVar[str] = "ellipsoid"
    measured: ClassVar[tuple[str, ...]] = ("radii",)

    def __post_init__(self) -> None:
        Shape.__post_init__(self)
        object.__setattr__(self, "radii", _three(self.radii, "the radii of an ellipsoid"))
        _require_positive("ellipsoid", self.radii)

    @property
    def size(self) -> tuple[Any, ...]:
        """Its radii, m."""
        return tuple(self.radii)


@dataclass(frozen=True, slots=True)
class PlaneShape(Shape):
    """A plane through its place, along its own x and y.

    >>> PlaneShape().size
    ()
    """

    kind: ClassVar[str] = "plane"


@dataclass(frozen=True, slots=True)
class Mesh(Shape):
    """The surface in an STL, OBJ, MSH or Collada file.

    Args:
        file: its path.
        scale: a number or three, by which its lengths become meters.
        source: the file that names it, where there is one.

    >>> Mesh("bracket.stl", scale=0.001).scale
    (0.001, 0.001, 0.001)
    """

    file: str | os.PathLike[str]
    scale: float | Sequence[float] = 1.0
    source: str = field(default="", repr=False)

    kind: ClassVar[str] = "mesh"

    def __post_init__(self) -> None:
        Shape.__post_init__(self)
        object.__setattr__(self, "file", os.fspath(self.file))
        given = self.scale
        three = [given] * 3 if isinstance(given, int | float) else list(given)
        usable = [math.isfinite(x) and x != 0 for x in three]
        if len(three) != 3 or not all(usable):
            raise InputError(
                f"the scale of a mesh is {brief(given)}", remedy="give one number, or three"
            )
        object.__setattr__(self, "scale", tuple(float(x) for x in three))


SHAPES = (Box, Sphere, Cylinder, Capsule, Ellipsoid, PlaneShape, Mesh)
KINDS: Mapping[str, type[Shape]] = {c.kind: c for c in SHAPES}
"""The shapes by the names of their kinds."""


def shapes_in(given: object) -> tuple[Shape, ...]:
    """Return one shape, or several, as a tuple.

    >>> shapes_in(Sphere(0.1))[0].kind
    'sphere'
    """
    if given is None:
        return ()
    found: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    for shape in found:
        if not isinstance(shape, Shape) or not shape.kind:
            raise InputError(
                f"{brief(shape)} is not a shape",
                remedy="use those of linkwright.shapes, such as shapes.Box((0.1, 0.1, 0.5))",
            )
    return tuple(found)


def _three(given: object, what: str) -> tuple[Any, ...]:
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or len(given) != 3:
        raise InputError(f"{what} has three components, not {brief(given)}")
    return tuple(given)


def _turns(given: object) -> tuple[tuple[str, Any], ...]:
    one = isinstance(given, list | tuple) and len(given) == 2 and given[0] in AXES
    pairs = [given] if one else given
    if isinstance(pairs, list | tuple) and all(
        isinstance(p, list | tuple) and len(p) == 2 and p[0] in AXES for p in pairs
    ):
        return tuple((str(axis), angle) for axis, angle in pairs)
    raise InputError(
        f"{brief(given)} does not turn a shape", remedy='give pairs such as ("x", "90 deg")'
    )


def _require_positive(what: str, size: Sequence[Any]) -> None:
    for x in size:
        if isinstance(x, int | float) and not (math.isfinite(x) and x > 0):
            raise InputError(f"a dimension of a {what} is {x}", remedy="give a length above 0")
