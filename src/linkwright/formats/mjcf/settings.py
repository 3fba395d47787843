"""What ``<compiler>`` and ``<default>`` of an MJCF file say about everything else in it.

The settings of all ``<compiler>`` elements count together, the last one first. A class of defaults
holds attributes for each kind of element; a class inside another one starts from what that holds.
An element takes its own ``class``, else the nearest ``childclass`` around it, else the outermost
class (XML Reference, compiler and default; Modeling, section Default settings).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from linkwright.formats.mjcf.sources import Sections
from linkwright.formats.mjcf.words import ACTUATOR, ACTUATORS, IN_PART, TURNS, USED
from linkwright.formats.robot.description import UNTURNED, Place, Rotation
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import (
    cross,
    dot,
    minus,
    product,
    quaternion_rotation,
    scaled,
    transposed,
    turned,
    unit,
    upright,
)
from linkwright.formats.robot.xml import XmlElement

_USED = (
    "angle",
    "assetdir",
    "autolimits",
    "balanceinertia",
    "boundinertia",
    "boundmass",
    "coordinate",
    "discardvisual",
    "eulerseq",
    "fusestatic",
    "inertiafromgeom",
    "inertiagrouprange",
    "meshdir",
    "settotalmass",
    "strippath",
)
_HARMLESS = (
    "conflict",
    "fitaabb",
    "passthrough",
    "savecanonical",
    "savecompiled",
    "saveinertial",
    "texturedir",
    "usethread",
)
_FLAGS = ("true", "false")


@dataclass(frozen=True, slots=True)
class CompilerSettings:
    """The settings of the compiler of MuJoCo that change the mechanism."""

    degrees: bool = True  # whether angles are written in degrees
    sequence: str = "xyz"  # of Euler angles; capitals turn about axes that stay
    autolimits: bool = True  # whether a range alone makes a limit
    from_geoms: str = "auto"  # "true", "false" or "auto": whether masses come from shapes
    groups: tuple[float, float] = (0.0, 5.0)  # first and last group of shapes that have mass
    least_mass: float = 0.0  # of a body, kg
    least_inertia: float = 0.0  # of a body about each of its principal axes, kg*m^2
    balance: bool = False  # whether impossible inertias are replaced by their mean
    total_mass: float = -1.0  # of the model, kg; all is scaled to it where it is positive
    fuse: bool = False  # whether bodies without joints become part of their parents
    mesh_folder: str = ""  # in which meshes lie, with a stroke at its end, or nothing
    strip: bool = False  # whether folders in names of files are left out
    discard_visual: bool = False  # whether shapes that nothing touches are left out

    def angle(self, value: float) -> float:
        """Return an angle in radians."""
        return math.radians(value) if self.degrees else value

    def span(self, element: XmlElement, flag: str, name: str) -> tuple[float, float] | None:
        """Return a range where it counts; an empty one does not, unless the flag says that it does.

        >>> joint = XmlElement("joint", {"range": "0 0"})
        >>> CompilerSettings().span(joint, "limited", "range") is None
        True
        """
        said = element.choice(flag, (*_FLAGS, "auto"), "auto")
        if said == "false" or (said == "auto" and name not in element.attributes):
            return None
        low, high = element.numbers(name, 2, infinite=True)
        if low < high:
            return (low, high) if said == "true" or self.autolimits else None
        if said == "true":
            raise element.error(f"{name} of {element.words} is empty", "give the lower end first")
        return None

    def effort(self, element: XmlElement, flag: str, name: str, left: Leftovers) -> float:
        """Return the force that a range allows both ways, or infinity; unequal ends are reported.

        >>> left = Leftovers()
        >>> joint = XmlElement("joint", {"range": "-3 4"})
        >>> CompilerSettings().effort(joint, "limited", "range", left), len(left.entries())
        (3.0, 1)
        """
        span = self.span(element, flag, name)
        if span is None:
            return math.inf
        least, most = sorted(map(abs, span))
        if least == most:
            return most
        both = span[0] < 0 < span[1]
        why = f"effort has one number for both ways: the {'smaller' if both else 'larger'} is used"
        left.add(f"{name} with unequal ends", element.line, why)
        return least if both else most

    def place(self, element: XmlElement) -> Place:
        """Return where an element puts its frame."""
        return Place(element.triple("pos", (0.0, 0.0, 0.0)), self.rotation(element))

    def rotation(self, element: XmlElement) -> Rotation:
        """Return how an element turns its frame."""
        used = [name for name in TURNS if name in element.attributes]
        if len(used) > 1:
            raise element.error(
                f"{element.words} is turned by {used[0]} and by {used[1]}", "keep one of them"
            )
        if not used:
            return UNTURNED
        return _TURNERS[used[0]](element, self)


def _quat(element: XmlElement, _: CompilerSettings) -> Rotation:
    values = element.numbers("quat", 4)
    if math.hypot(*values) < 1e-14:
        raise element.error(f"quat of {element.words} is zero", 'write quat="1 0 0 0"')
    return quaternion_rotation(values)


def _axisangle(element: XmlElement, settings: CompilerSettings) -> Rotation:
    x, y, z, angle = element.numbers("axisangle", 4)
    if math.hypot(x, y, z) < 1e-14:
        raise element.error(f"the axis of axisangle of {element.words} is zero")
    return turned((x, y, z), settings.angle(angle))


def _xyaxes(element: XmlElement, _: CompilerSettings) -> Rotation:
    values = element.numbers("xyaxes", 6)
    first, second = values[:3], values[3:]
    if math.hypot(*first) < 1e-14:
        raise element.error(f"the first axis of {element.words} is zero")
    x = unit(first)
    second = minus(second, scaled(x, dot(x, second)))
    if math.hypot(*second) < 1e-14:
        raise element.error(f"the axes of {element.words} are parallel")
    y = unit(second)
    return transposed((x, y, cross(x, y)))


def _zaxis(element: XmlElement, _: CompilerSettings) -> Rotation:
    values = element.triple("zaxis")
    if math.hypot(*values) < 1e-14:
        raise element.error(f"zaxis of {element.words} is zero")
    return upright(values)


def _euler(element: XmlElement, settings: CompilerSettings) -> Rotation:
    values = element.triple("euler")
    found = UNTURNED
    for axis, value in zip(settings.sequence, values, strict=True):
        step = turned(_AXES[axis.lower()], settings.angle(value))
        found = product(step, found) if axis.isupper() else product(found, step)
    return found


_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_TURNERS = {
    "quat": _quat,
    "axisangle": _axisangle,
    "xyaxes": _xyaxes,
    "zaxis": _zaxis,
    "euler": _euler,
}


def settings_of(sections: Sections, left: Leftovers) -> CompilerSettings:
    """Return the settings of a file."""
    found: dict[str, str] = {}
    last: XmlElement = sections.root
    for element in sections.all("compiler"):
        last = element
        found.update(element.attributes)
        left.rest(element, ("lengthrange",), (*_USED, *_HARMLESS))
    whole = replace(last, attributes=found)
    if whole.choice("coordinate", ("local", "global"), "local") == "global":
        raise whole.error(
            "global coordinates are not read", "let MuJoCo 2 write it with local ones"
        )
    sequence = found.get("eulerseq", "xyz").strip()
    if len(sequence) != 3 or any(letter.lower() not in _AXES for letter in sequence):
        raise whole.error(
            f"eulerseq is {sequence[:20]!r}", "give three letters of x, y, z, X, Y, Z"
        )
    first, *more = whole.numbers("inertiagrouprange", 2, (0.0, 5.0))
    folder = found.get("meshdir", found.get("assetdir", "")).strip()
    return CompilerSettings(
        whole.choice("angle", ("degree", "radian"), "degree") == "degree",
        sequence,
        whole.choice("autolimits", _FLAGS, "true") == "true",
        whole.choice("inertiafromgeom", (*_FLAGS, "auto"), "auto"),
        (first, more[0]),
        whole.number("boundmass", 0.0),
        whole.number("boundinertia", 0.0),
        whole.choice("balanceinertia", _FLAGS, "false") == "true",
        whole.number("settotalmass", -1.0),
        whole.choice("fusestatic", _FLAGS, "false") == "true",
        folder + "/" if folder and not folder.endswith("/") else folder,
        whole.choice("strippath", _FLAGS, "false") == "true",
        whole.choice("discardvisual", _FLAGS, "false") == "true",
    )


Attributes = Mapping[str, str]


@dataclass(slots=True)
class Defaults:
    """The classes of defaults: attributes by class and by kind of element."""

    classes: dict[str, dict[str, Attributes]] = field(default_factory=dict)
    outermost: str = "main"

    @classmethod
    def of(cls, sections: Sections, left: Leftovers) -> Defaults:
        """Return the classes of a file."""
        found = cls()
        stack: list[tuple[XmlElement, str]] = []
        for element in reversed(list(sections.all("default"))):
            stack.append((element, ""))
        while stack:
            element, parent = stack.pop()
            name = element.attributes.get("class", "" if parent else found.outermost)
            if not name:
                raise element.error("a class of defaults inside another has no name", "name it")
            if not parent and not found.classes:
                found.outermost = name
            if parent and name in found.classes:
                raise element.error(f"a second class is called {name[:60]!r}", "rename one")
            known = found.classes.setdefault(name, dict(found.classes.get(parent, {})))
            for child in element.children:
                if child.tag != "default":
                    _note(child, left)
                    kind = _kind(child)
                    known[kind] = _overlaid(known.get(kind, {}), child.attributes)
            stack.extend((child, name) for child in reversed(list(element.all("default"))))
        return found

    def applied(self, element: XmlElement, around: str, kind: str = "") -> XmlElement:
        """Return an element with the attributes that it does not have itself."""
        name = element.attributes.get("class", around) or self.outermost
        if name not in self.classes and name != self.outermost:
            raise element.error(
                f"{element.words} is of the class {name[:60]!r}, which is not there",
                f"there are {', '.join(sorted(self.classes))[:200] or 'none'}",
            )
        given = self.classes.get(name, {}).get(kind or _kind(element), {})
        if not given:
            return element
        return replace(element, attributes=_overlaid(given, element.attributes))


def _kind(element: XmlElement) -> str:
    """Return under which word a class keeps an element; all kinds of actuators share one."""
    return "general" if element.tag in ACTUATORS else element.tag


def _note(child: XmlElement, left: Leftovers) -> None:
    """Note what is not used of a class of defaults."""
    used = ACTUATOR if child.tag in ACTUATORS else USED.get(child.tag)
    if used is None:
        left.add(f"<default><{child.tag}>", child.line)
        return
    for name in child.attributes:
        if name not in used:
            left.add(f"<default><{child.tag} {name}=>", child.line)


def _overlaid(under: Attributes, over: Attributes) -> dict[str, str]:
    """Return both; what turns a frame in `over` replaces all that does so.

    Where numbers are given in part, the others are those of `under`.
    """
    kept = dict(under)
    if any(name in over for name in TURNS):
        for name in TURNS:
            kept.pop(name, None)
    for name in IN_PART & kept.keys() & over.keys():
        first, rest = over[name].split(), kept[name].split()
        over = {**over, name: " ".join([*first, *rest[len(first) :]])}
    return {**kept, **over}
