"""From a `Description` to a `.dyn` file with the header and configuration files it needs.

SL knows rotary joints, dummies and one base that may be free. A universal joint is written as two
rotary ones with a fake link between them; other joints cannot be written. What stands on a fixed
joint, or is a named frame, becomes a dummy with its numbers in it (SL manual, section 7.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    LinkJoint,
    Mass,
    Place,
    Rotation,
    WrittenDescription,
)
from linkwright.formats.robot.names import code_names
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import plus_six, point_inertia, scaled
from linkwright.formats.sl.configuration import (
    Calibration,
    Configuration,
    Filters,
    Gains,
    LinkParameters,
    SceneObject,
    SensorOffset,
)
from linkwright.formats.sl.reader import FLOATS
from linkwright.mechanism.joint_kinds import JOINTS

_BASE = "BASE"
_NONE = 1e10
_QUARTERS = {-2: "-Pi", -1: "-Pi/2", 0: "0", 1: "Pi/2", 2: "Pi"}


@dataclass(slots=True)
class _Item:
    """An entry of the file that is being written."""

    number: int
    name: str
    axis: Sequence[float] | None
    place: Place
    mass: Mass | None
    joint: LinkJoint | None = None
    effector: int = 0
    successors: list[int] = field(default_factory=list)


def dyn_text(
    description: Description, *, effectors: Mapping[str, int] | None = None
) -> WrittenDescription:
    """Return a description as a `.dyn` file, with header and configuration files beside it.

    >>> from linkwright.formats.robot.description import Link
    >>> two = Link("a"), Link("b", Mass(2.0))
    >>> written = dyn_text(Description("r", two, (LinkJoint("j", "revolute", "a", "b"),)))
    >>> [name for name, _ in written.beside][:2]
    ['include/SL_user.h', 'config/LinkParametersSim.cf']
    """
    left = Leftovers()
    items = _items(description, left, effectors or {})
    _note_dropped(description, left)
    text = f"(* {_plain(description.name)}, written by Linkwright *)\n"
    text += "".join(_entry(item) for item in items)
    degrees = [item for item in items if item.joint is not None and item.number]
    beside = (
        ("include/SL_user.h", _header(degrees)),
        *(
            (f"config/{name}", body)
            for name, body in configuration_texts(_configuration(items)).items()
        ),
    )
    return WrittenDescription(text, left.entries(), beside)


def configuration_texts(configuration: Configuration) -> dict[str, str]:
    """Return the texts of the configuration files that have something to say, by name.

    >>> print(
    ...     configuration_texts(Configuration(gains={"A": Gains(40, 6, 0.01, 100)}))["Gains.cf"]
    ... )
    /* keyword, gain_th, gain_thd, gain_int, max_control */
    A 40 6 0.01 100
    """
    texts: dict[str, str] = {}
    tables: tuple[tuple[str, str, Mapping[str, object], tuple[str, ...]], ...] = (
        (
            "LinkParametersSim.cf",
            "mass, mcmx, mcmy, mcmz, i11, i12, i13, i22, i23, i33, vis",
            configuration.links,
            LinkParameters.__slots__,
        ),
        (
            "SensorOffset.cf",
            "min, max, default, rest, weight, offset",
            configuration.ranges,
            SensorOffset.__slots__,
        ),
        (
            "Gains.cf",
            "gain_th, gain_thd, gain_int, max_control",
            configuration.gains,
            Gains.__slots__,
        ),
        (
            "SensorFilter.cf",
            "cutoff th, cutoff thd, cutoff thdd, cutoff load",
            configuration.filters,
            Filters.__slots__,
        ),
        (
            "SensorCalibration.cf",
            "linear sensor, linear actuator, linear load cell, moment arm, attachment, "
            "position polarity, load polarity",
            configuration.calibration,
            Calibration.__slots__,
        ),
    )
    for file, words, rows, columns in tables:
        if rows:
            lines = [f"/* keyword, {words} */"]
            for name, row in rows.items():
                values = " ".join(_short(getattr(row, column)) for column in columns)
                lines.append(f"{name} {values}")
            texts[file] = "\n".join(lines) + "\n"
    if configuration.servos:
        servos = configuration.servos.items()
        texts["WhichDOFs.cf"] = "".join(f"{' '.join((servo, *names))}\n" for servo, names in servos)
    if configuration.objects:
        texts["Objects.cf"] = "\n".join(_object_text(thing) for thing in configuration.objects)
    return texts


def _object_text(thing: SceneObject) -> str:
    rows = (
        thing.color,
        thing.position,
        thing.rotation,
        thing.scale,
        (thing.contact_model,),
        thing.object_parameters,
        thing.contact_parameters,
    )
    kind = {"cube": 1, "sphere": 2}[thing.kind]
    numbers = "\n".join(" ".join(_short(value) for value in row) for row in rows)
    return f"{thing.name} {kind}\n{numbers}\n"


def _items(description: Description, left: Leftovers, effectors: Mapping[str, int]) -> list[_Item]:
    """Return the entries in the order of a walk from the root, with their numbers."""
    children: dict[str, list[LinkJoint]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)
    masses = {link.name: link.mass for link in description.links}
    base = description.root
    first = children.get(base, [])
    if len(first) == 1 and first[0].kind == "free" and masses[base] is None:
        if first[0].place != Place():
            left.add(
                "place of the free base", first[0].line, "SL puts its base where the file says"
            )
        left.add("free joint of the root", first[0].line, FLOATS)
        base = first[0].child
    else:
        first = []
    joints, frames = description.joints, description.frames
    two = [f"{j.name}_{k}" for j in joints if j.kind == "universal" for k in (1, 2)]
    names = code_names([*(j.name for j in joints), *two, *(f.name for f in frames)], [_BASE])
    root = _Item(0, _BASE, None, Place(), masses[base])
    items = [root] if first or root.mass is not None else []
    where: dict[str, _Item] = {base: root}
    dummies = _numbers(100 + len(description.joints) * 2)
    degrees = _numbers(0)
    stack = list(reversed(children.get(base, [])))
    while stack:
        joint = stack.pop()
        previous = where[joint.parent]
        for item in _pieces(joint, masses[joint.child], names, degrees, dummies):
            previous.successors.append(item.number)
            previous = item
            items.append(item)
        where[joint.child] = previous
        stack.extend(reversed(children.get(joint.child, [])))
    for frame in description.frames:
        which = effectors.get(frame.name, 0)
        item = _Item(next(dummies), names[frame.name], None, frame.place, None, effector=which)
        where[frame.link].successors.append(item.number)
        items.append(item)
    return items


def _pieces(
    joint: LinkJoint,
    mass: Mass | None,
    names: Mapping[str, str],
    degrees: Iterator[int],
    dummies: Iterator[int],
) -> list[_Item]:
    """Return the entries of a joint and the link behind it."""
    name = names[joint.name]
    if joint.kind == "weld":
        return [_Item(next(dummies), name, None, joint.place, mass)]
    motions = JOINTS[joint.kind].motions
    if motions == (("turn", "axis"),):
        return [_Item(next(degrees), name, joint.axis, joint.place, mass, joint)]
    if motions == (("turn", "axis"), ("turn", "second_axis")):
        plain = replace(joint, limits=JointLimits(), damping=0.0)
        return [
            _Item(next(degrees), names[f"{joint.name}_1"], joint.axis, joint.place, None, plain),
            _Item(next(degrees), names[f"{joint.name}_2"], joint.second_axis, Place(), mass, plain),
        ]
    raise InputError(
        f"the joint {joint.name!r} is {joint.kind}, which SL has no word for",
        line=joint.line or None,
        remedy="SL knows rotary joints, and a free base at the root",
    )


def _numbers(start: int) -> Iterator[int]:
    number = start
    while True:
        number += 1
        yield number


def _note_dropped(description: Description, left: Leftovers) -> None:
    for joint in description.joints:
        for what, there in (
            ("mimic", joint.mimic is not None),
            ("dry friction", joint.friction != 0),
            ("stiffness", joint.stiffness != 0),
            ("armature", joint.armature != 0),
            ("start", any(joint.start)),
            ("greatest speed", joint.limits.speed is not None),
        ):
            if there:
                left.add(f"{what} of a joint", joint.line, "SL has no place for it")
        if joint.child != joint.name:
            left.add("name of a link", joint.line, "SL calls a link as its joint")
    for link in description.links:
        if link.shapes:
            left.add("shapes of a link", link.line, "SL draws links by a function in C")
    for closure in description.closures:
        left.add("closure of a loop", closure.line, "SL knows trees only")
    gravity = description.gravity
    if gravity is not None and gravity != (0.0, 0.0, -9.81):
        left.add("gravity", 0, "SL takes its gravity where code is generated")


def _configuration(items: Sequence[_Item]) -> Configuration:
    links: dict[str, LinkParameters] = {}
    ranges: dict[str, SensorOffset] = {}
    gains: dict[str, Gains] = {}
    for item in items:
        if item.number != 0 and item.joint is None:
            continue
        viscous = item.joint.damping if item.joint is not None else 0.0
        links[item.name] = _parameters(item.mass, viscous)
        if item.joint is not None:
            limits = item.joint.limits
            ranges[item.name] = SensorOffset(
                -_NONE if limits.lower is None else limits.lower,
                _NONE if limits.upper is None else limits.upper,
            )
            gains[item.name] = Gains(
                0.0, 0.0, 0.0, _NONE if limits.effort is None else limits.effort
            )
    return Configuration(ranges=ranges, gains=gains, links=links)


def _parameters(mass: Mass | None, viscous: float) -> LinkParameters:
    if mass is None:
        return LinkParameters(*(0.0,) * 10, viscous)
    x, y, z = scaled(mass.center, mass.mass)
    xx, yy, zz, xy, yz, zx = plus_six(mass.inertia, point_inertia(mass.mass, mass.center))
    return LinkParameters(mass.mass, x, y, z, xx, xy, zx, yy, yz, zz, viscous)


def _header(degrees: Sequence[_Item]) -> str:
    rows = ",\n".join(f"  {item.name} = {item.number}" for item in degrees)
    return f"/* degrees of freedom */\nenum RobotDOFs {{\n{rows}\n}};\n"


def _entry(item: _Item) -> str:
    axis = "{0,0,0}" if item.axis is None else _list(item.axis)
    successors = ",".join(str(number) for number in item.successors)
    turn = "{" + ",".join(_angle(x) for x in angles(item.place.rotation)) + "}"
    rows = [
        ("jointID", f"{{ID={item.number}}}"),
        ("jointAxis", axis),
        ("translation", _eff(item, "x") or _list(item.place.position)),
        ("rotationMatrix", _eff(item, "a") or turn),
        ("successors", f"{{{successors}}}"),
        *_dynamics(item),
    ]
    body = ",\n".join(f"{{{key},{value}}}" for key, value in rows)
    return f"\n{{ (* {item.name} *)\n{body}\n}}\n"


def _dynamics(item: _Item) -> list[tuple[str, str]]:
    """Return the last five rows of an entry."""
    if item.joint is not None or item.number == 0:
        fake = "" if item.mass is not None else "*0"
        state = 'GenVariablesS["state",ID]' if item.joint is not None else "{0,0,0,0,0}"
        return [
            ("inertia", f'GenInertiaMatrixS["links",ID,1]{fake}'),
            ("massCenterMass", f'GenMCMVectorS["links",ID,1]{fake}'),
            ("mass", f'GenMassS["links",ID]{fake}'),
            ("jointVariables", state),
            ("extForce", 'GenExtForceS["uex",ID]'),
        ]
    row = _parameters(item.mass, 0.0)
    matrix = ((row.i11, row.i12, row.i13), (row.i12, row.i22, row.i23), (row.i13, row.i23, row.i33))
    return [
        ("inertia", "{" + ",".join(_list(line) for line in matrix) + "}"),
        ("massCenterMass", _eff(item, "mcm") or _list((row.x, row.y, row.z))),
        ("mass", f"{{eff${item.effector}$$m}}" if item.effector else _list((row.mass,))),
        ("jointVariables", "{0,0,0,0,0}"),
        ("extForce", "{0,0,0,0,0,0}"),
    ]


def _eff(item: _Item, part: str) -> str:
    """Return three numbers of an end-effector in words of C code; nothing where it is none."""
    names = (f"eff${item.effector}$${part}[[{k}]]" for k in (1, 2, 3))
    return "{" + ",".join(names) + "}" if item.effector else ""


def angles(rotation: Rotation) -> tuple[float, float, float]:
    """Return the angles about x, then y, then z of a rotation, rad; z is 0 where y is upright.

    >>> angles(((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))[1] == math.pi / 2
    True
    """
    (a, b, c), (_, e, f), (_, h, i) = rotation
    level = math.hypot(a, b)
    if level < 1e-12:
        return math.atan2(h, e), math.copysign(math.pi / 2, c), 0.0
    return math.atan2(-f, i), math.atan2(c, level), math.atan2(-b, a)


def _angle(value: float) -> str:
    quarters = value / (math.pi / 2)
    if abs(quarters - round(quarters)) < 1e-15:
        return _QUARTERS[round(quarters)]
    return _mathematica(value)


def _list(values: Sequence[float]) -> str:
    return "{" + ",".join(_mathematica(value) for value in values) + "}"


def _mathematica(value: float) -> str:
    return _short(value).replace("e", "*^")


def _short(value: float) -> str:
    value = float(value) + 0.0
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _plain(name: str) -> str:
    return "".join(c for c in name if c.isalnum() or c in " _-")[:60]
