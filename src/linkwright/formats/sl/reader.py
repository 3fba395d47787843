"""From a `.dyn` file and its configuration to a `Description`.

A degree of freedom of the file is a joint and the link behind it: the link's frame stands at
`translation` in its parent's frame, turned by the three angles about x, then y, then z, then about
`jointAxis` by the joint's angle, all right-handed. That is the `place` and the `axis` of a
`LinkJoint`. Fake links, whose generated inertia is multiplied by zero, have no mass. A dummy has no
axis; it is a named frame, or a link on a fixed joint where it carries mass or others hang on it.

Vertices, at which SL looks for contact, are numbered in the order of the walk: one for each
translation that is not zero (SL manual, sections 7.1 and 7.3).

Link parameters are mass, mass times centre, and the inertia about the link's origin. Where there is
mass times centre without mass, there is no centre; that is reported, and the numbers stay in
`SlRobot.configuration`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linkwright.errors import InputError
from linkwright.formats.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
    Rotation,
    Triple,
)
from linkwright.formats.leftovers import Leftovers
from linkwright.formats.places import plus_six, point_inertia, product, scaled, turned
from linkwright.formats.sl.braces import Braces, Term, Token, name_in_comments, read_braces
from linkwright.formats.sl.configuration import (
    Configuration,
    LinkParameters,
    read_configuration,
    text_of,
)
from linkwright.formats.sl.header import Header, read_header
from linkwright.formats.sl.terms import generator, number

BASE = "BASE"
UNLIMITED = 1e9
"""A limit at least as large as this is none: the files have no other word for that."""
_KEYS = (
    "jointID",
    "jointAxis",
    "translation",
    "rotationMatrix",
    "successors",
    "inertia",
    "massCenterMass",
    "mass",
    "jointVariables",
    "extForce",
)


@dataclass(frozen=True, slots=True)
class Vertex:
    """A point at which SL looks for contact: number, name, owner (a degree of freedom), place."""

    number: int
    name: str
    owner: str
    link: str
    place: Place


@dataclass(frozen=True, slots=True)
class SlRobot:
    """A robot of SL: its description, and what a description has no room for.

    Args:
        description: links, joints, frames.
        degrees: names of the degrees of freedom by their number in SL.
        dummies: names of the frames or links without one, by number.
        vertices: in the order of SL.
        end_effectors: names of the frames that SL calls so.
        configuration: gains, ranges, filters and the rest.
    """

    description: Description
    degrees: Mapping[int, str]
    dummies: Mapping[int, str]
    vertices: tuple[Vertex, ...]
    end_effectors: tuple[str, ...]
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class _Entry:
    """One list of the file."""

    number: int
    name: str
    axis: Triple
    place: Place
    successors: tuple[int, ...]
    mass: Mass | float | None  # given, or the factor on the generated one
    touched: bool
    effector: bool
    line: int

    @property
    def dummy(self) -> bool:
        return self.axis == (0.0, 0.0, 0.0)


def read_dyn(path: str | Path, *, roots: Iterable[str | Path] = ()) -> Description:
    """Return the description of a robot of SL.

    Args:
        path: of the `.dyn` file.
        roots: further folders in which headers and configuration files are looked for.
    """
    return read_sl(path, roots=roots).description


def read_sl(
    path: str | Path,
    *,
    roots: Iterable[str | Path] = (),
    constants: Mapping[str, float] | None = None,
) -> SlRobot:
    """Return a robot of SL with its configuration.

    `SL_user.h` and `SL_user_common.c` are looked for in the folder of the file, its folders
    `include` and `src`, and in `roots`; configuration files there and in `config`.

    Args:
        path: of the `.dyn` file.
        roots: further folders, for instance the robot's `config`.
        constants: values of names in the file, in metres and radians; they go before the headers.
    """
    path = Path(path)
    folders = [path.parent, *(Path(root) for root in roots)]
    header = Header()
    for name, inner in (("SL_user.h", "include"), ("SL_user_common.c", "src")):
        for folder in [place for f in folders for place in (f, f / inner)]:
            if (folder / name).is_file():
                header = header.joined(read_header(text_of(folder / name)))
                break
    text = text_of(path)
    places = [place for folder in folders for place in (folder, folder / "config")]
    return _robot(text, str(path), header, places, constants or {}, path.stem)


def sl_from_text(
    text: str, *, file: str = "", header: str = "", constants: Mapping[str, float] | None = None
) -> SlRobot:
    """Return a robot from the text of a `.dyn` file, without configuration files.

    Args:
        text: of the file.
        file: for messages.
        header: text of `SL_user.h`.
        constants: values of names in the file.

    >>> robot = sl_from_text(
    ...     "{{jointID,{ID=1}},{jointAxis,{0,0,1}},{translation,{0,0,L}},"
    ...     "{rotationMatrix,{0,Pi/2,0}},{successors,{}}}",
    ...     constants={"L": 0.5},
    ... )
    >>> robot.description.joints[0].place.position
    (0.0, 0.0, 0.5)
    """
    return _robot(text, file, read_header(header), (), constants or {}, Path(file).stem or "robot")


def _robot(
    text: str,
    file: str,
    header: Header,
    folders: Iterable[Path],
    constants: Mapping[str, float],
    name: str,
) -> SlRobot:
    left = Leftovers()
    names = {**header.constants, **constants}
    lists = read_braces(text, file)
    if len(lists) == 1 and lists[0].items and _is_list_of_lists(lists[0]):
        lists = tuple(item for item in lists[0].items if isinstance(item, Braces))
    entries: dict[int, _Entry] = {}
    for braces in lists:
        entry = _entry(braces, names, header, file, left)
        if entry.number in entries:
            raise InputError(
                f"ID {entry.number} is given twice, first in line {entries[entry.number].line}",
                file=file or None,
                line=entry.line,
                remedy="number each degree of freedom and each dummy once",
            )
        entries[entry.number] = entry
    if not entries:
        raise InputError("there is no degree of freedom in it", file=file or None)
    _check_names(entries, file)
    parents = _parents(entries, file)
    order = _walk(entries, parents, file)
    degrees = {n: entries[n].name for n in sorted(entries) if n and not entries[n].dummy}
    configuration = read_configuration(folders, degrees.values(), base=BASE)
    return _built(entries, parents, order, degrees, header, configuration, left, file, name)


def _is_list_of_lists(braces: Braces) -> bool:
    first = braces.items[0]
    return isinstance(first, Braces) and bool(first.items) and isinstance(first.items[0], Braces)


def _entry(
    braces: Braces, names: Mapping[str, float], header: Header, file: str, left: Leftovers
) -> _Entry:
    fields = _fields(braces, file, left)
    identity = _number_of(fields, braces, file)
    names = _End(names, identity)
    given = name_in_comments(braces.comments)
    axis = _vector(fields, "jointAxis", names, file, (0.0, 0.0, 0.0))
    length = math.hypot(*axis)
    if length and abs(length - 1) > 1e-6:
        raise InputError(
            f"jointAxis of ID {identity} has the length {length:g}",
            file=file or None,
            line=fields["jointAxis"].line,
            remedy="give a unit vector, or {0,0,0} for a dummy",
        )
    if length:
        name = header.joints.get(identity) or given or f"joint{identity}"
    else:
        name = BASE if identity == 0 else given or f"dummy{identity}"
    place = Place(
        _vector(fields, "translation", names, file, (0.0, 0.0, 0.0)),
        _rotation(fields.get("rotationMatrix"), names, file),
    )
    return _Entry(
        identity,
        name,
        axis,
        place,
        _successors(fields, names, file),
        _given_mass(fields, names, file),
        _touched(fields, names, file),
        any("eff$" in token.text for token in _tokens(braces)),
        braces.line,
    )


class _End(dict[str, float]):
    """Names of one entry: those of the file, and ID; end-effectors are at zero unless given."""

    def __init__(self, names: Mapping[str, float], identity: int) -> None:
        super().__init__(names)
        self["ID"] = float(identity)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or _is_state(name)

    def __missing__(self, name: str) -> float:
        return 1.0 if name == "baseo[0].q[1]" else 0.0


def _is_state(name: object) -> bool:
    return isinstance(name, str) and name.startswith(("eff[", "basec[", "baseo["))


def _fields(braces: Braces, file: str, left: Leftovers) -> dict[str, Braces | Term]:
    """Return the values of an entry by their keys."""
    fields: dict[str, Braces | Term] = {}
    for item in braces.items:
        if isinstance(item, Term) or not item.items or not isinstance(item.items[0], Term):
            raise InputError(
                "a pair {key, value} is needed here",
                file=file or None,
                line=item.line,
                remedy=f"keys are {', '.join(_KEYS)}",
            )
        key = item.items[0].text
        if len(item.items) != 2:
            raise InputError(
                f"{key[:40]!r} has {len(item.items) - 1} values",
                file=file or None,
                line=item.line,
                remedy="put braces around several",
            )
        if key not in _KEYS:
            left.add(f"{{{key[:40]}}}", item.line, "not a key of SL's manual")
        elif key in fields:
            raise InputError(
                f"{key!r} is given twice in one entry", file=file or None, line=item.line
            )
        fields[key] = item.items[1]
    return fields


def _number_of(fields: Mapping[str, Braces | Term], braces: Braces, file: str) -> int:
    """Return the number in ``{ID=7}``."""
    given = fields.get("jointID")
    tokens = [] if given is None else [token.text for token in _tokens(given)]
    if len(tokens) == 3 and tokens[:2] == ["ID", "="]:
        tokens = tokens[2:]
    if len(tokens) != 1 or not (tokens[0].isascii() and tokens[0].isdigit()) or len(tokens[0]) > 9:
        raise InputError(
            "an entry has no number",
            file=file or None,
            line=given.line if given is not None else braces.line,
            remedy="start it with {jointID,{ID=1}}",
        )
    return int(tokens[0])


def _tokens(item: Braces | Term) -> list[Token]:
    found: list[Token] = []
    stack = [item]
    while stack:
        part = stack.pop()
        if isinstance(part, Term):
            found.extend(part.tokens)
        else:
            stack.extend(reversed(part.items))
    return found


def _vector(
    fields: Mapping[str, Braces | Term],
    key: str,
    names: Mapping[str, float],
    file: str,
    default: Triple,
) -> Triple:
    value = fields.get(key)
    if value is None:
        return default
    if not isinstance(value, Braces) or len(value.items) != 3:
        raise InputError(f"{key} needs three numbers in braces", file=file or None, line=value.line)
    x, y, z = (number(item, names, file) for item in value.items)
    return x, y, z


def _rotation(value: Braces | Term | None, names: Mapping[str, float], file: str) -> Rotation:
    """Return the turn about x, then y, then z; zeros in any shape are no turn."""
    if value is None:
        return Place().rotation
    if not isinstance(value, Braces) or len(value.items) != 3:
        raise InputError(
            "rotationMatrix needs three angles in braces", file=file or None, line=value.line
        )
    if isinstance(value.items[0], Braces) and len(value.items[0].items) == 3:
        entries = [
            number(item, names, file)
            for row in value.items
            for item in (row.items if isinstance(row, Braces) else (row,))
        ]
        if any(entries):
            raise InputError(
                "rotationMatrix is given as a matrix that is not zero",
                file=file or None,
                line=value.line,
                remedy="give the angles about x, y and z instead",
            )
        return Place().rotation
    x, y, z = (number(item, names, file) for item in value.items)
    return product(product(turned((1, 0, 0), x), turned((0, 1, 0), y)), turned((0, 0, 1), z))


def _successors(
    fields: Mapping[str, Braces | Term], names: Mapping[str, float], file: str
) -> tuple[int, ...]:
    value = fields.get("successors")
    if value is None:
        return ()
    items = value.items if isinstance(value, Braces) else (value,)
    found: list[int] = []
    for item in items:
        given = number(item, names, file)
        if given != int(given) or given < 0:
            raise InputError(
                f"successors names {given:g}, which is no ID", file=file or None, line=item.line
            )
        found.append(int(given))
    return tuple(found)


def _given_mass(
    fields: Mapping[str, Braces | Term], names: Mapping[str, float], file: str
) -> Mass | float | None:
    """Return the mass in the entry, or the factor where it is generated from link parameters."""
    factors = [
        factor
        for key in ("mass", "massCenterMass", "inertia")
        if key in fields and (factor := generator(fields[key], names, file)) is not None
    ]
    if factors:
        if len(set(factors)) > 1:
            raise InputError(
                "mass, massCenterMass and inertia have different factors",
                file=file or None,
                line=fields["mass"].line if "mass" in fields else 0,
                remedy="multiply all three by the same number",
            )
        return factors[0]
    mass = number(fields["mass"], names, file) if "mass" in fields else 0.0
    moment = _vector(fields, "massCenterMass", names, file, (0.0, 0.0, 0.0))
    inertia = _matrix(fields.get("inertia"), names, file)
    if not mass and not any(moment) and not any(inertia):
        return None
    return _mass(mass, moment, inertia)


def _matrix(
    value: Braces | Term | None, names: Mapping[str, float], file: str
) -> tuple[float, float, float, float, float, float]:
    if value is None:
        return (0.0,) * 6
    rows = value.items if isinstance(value, Braces) else ()
    cells = [row.items for row in rows if isinstance(row, Braces) and len(row.items) == 3]
    if len(rows) != 3 or len(cells) != 3:
        raise InputError(
            "inertia needs three rows of three numbers", file=file or None, line=value.line
        )
    a, b, c = ([number(item, names, file) for item in row] for row in cells)
    if (a[1], a[2], b[2]) != (b[0], c[0], c[1]):
        raise InputError("inertia is not symmetric", file=file or None, line=value.line)
    return a[0], b[1], c[2], a[1], b[2], a[2]


def _touched(fields: Mapping[str, Braces | Term], names: Mapping[str, float], file: str) -> bool:
    value = fields.get("extForce")
    factor = None if value is None else generator(value, names, file)
    return bool(factor)


def _check_names(entries: Mapping[int, _Entry], file: str) -> None:
    known: dict[str, _Entry] = {}
    for entry in entries.values():
        if entry.name in known:
            raise InputError(
                f"ID {entry.number} and ID {known[entry.name].number} are both called"
                f" {entry.name!r}",
                file=file or None,
                line=entry.line,
                remedy="give each its own name",
            )
        known[entry.name] = entry


def _parents(entries: Mapping[int, _Entry], file: str) -> dict[int, int]:
    parents: dict[int, int] = {}
    for entry in entries.values():
        for following in entry.successors:
            if following not in entries:
                raise InputError(
                    f"ID {entry.number} is followed by ID {following}, which is not there",
                    file=file or None,
                    line=entry.line,
                    remedy="add it, or take it from successors",
                )
            if following in parents or following == entry.number:
                raise InputError(
                    f"ID {following} follows ID {entry.number} and ID"
                    f" {parents.get(following, entry.number)}",
                    file=file or None,
                    line=entry.line,
                    remedy="a link hangs on one other; a loop cannot be written here",
                )
            parents[following] = entry.number
    return parents


def _walk(entries: Mapping[int, _Entry], parents: Mapping[int, int], file: str) -> tuple[int, ...]:
    """Return the entries from the roots on, each before those that hang on it, depth first."""
    order: list[int] = []
    stack = [n for n in reversed(list(entries)) if n not in parents]
    while stack:
        current = stack.pop()
        order.append(current)
        stack.extend(reversed(entries[current].successors))
    lost = [n for n in entries if n not in set(order)]
    if lost:
        raise InputError(
            f"ID {lost[0]} follows itself through its successors",
            file=file or None,
            line=entries[lost[0]].line,
            remedy="a loop cannot be written here",
        )
    return tuple(order)


def _mass(mass: float, moment: Sequence[float], about_origin: Sequence[float]) -> Mass:
    """Return a mass from its first moment and its inertia about the link's origin."""
    a, b, c, d, e, f = about_origin
    if mass == 0:
        return Mass(0.0, (0.0, 0.0, 0.0), (a, b, c, d, e, f))
    centre = scaled(moment, 1 / mass)
    return Mass(
        mass, centre, plus_six((a, b, c, d, e, f), point_inertia(mass, centre), factor=-1.0)
    )


def _generated(
    entry: _Entry, factor: float, configuration: Configuration, left: Leftovers
) -> Mass | None:
    """Return the mass of a link from the link parameters."""
    row = configuration.links.get(entry.name)
    if row is None or factor == 0:
        return None
    moment = (row.x, row.y, row.z)
    if row.mass == 0 and any(moment):
        left.add(
            f"mass times centre of {entry.name}",
            entry.line,
            "its mass is zero, so it has no mass centre",
        )
    inertia = (row.i11, row.i22, row.i33, row.i12, row.i23, row.i13)
    if row.mass == 0 and not any(moment) and not any(inertia):
        return None
    return _mass(
        factor * row.mass, scaled(moment, factor), tuple(factor * value for value in inertia)
    )


def _built(
    entries: Mapping[int, _Entry],
    parents: Mapping[int, int],
    order: Sequence[int],
    degrees: Mapping[int, str],
    header: Header,
    configuration: Configuration,
    left: Leftovers,
    file: str,
    name: str,
) -> SlRobot:
    links: list[Link] = []
    joints: list[LinkJoint] = []
    frames: list[NamedFrame] = []
    vertices: list[Vertex] = []
    owner: dict[int, str] = {}
    if 0 not in entries:
        links.append(Link(BASE))
    if not configuration.links and any(entries[n].mass for n in degrees):
        left.add("link parameters", 0, "no LinkParametersSim.cf was found, so links have no mass")
    for n in order:
        entry = entries[n]
        parent = entries[parents[n]].name if n in parents else BASE
        mass = entry.mass
        if isinstance(mass, float):
            mass = _generated(entry, mass, configuration, left)
        leaf = entry.dummy and n != 0 and not entry.successors and mass is None
        if leaf:
            frames.append(NamedFrame(entry.name, parent, entry.place, entry.line))
        else:
            links.append(Link(entry.name, mass, line=entry.line))
        if not leaf and n != 0:
            joints.append(_joint(entry, parent, configuration))
        owner[n] = entry.name if not entry.dummy else owner.get(parents.get(n, -1), BASE)
        if any(entry.place.position) and n != 0:
            count = len(vertices) + 1
            where = (parent, entry.place) if leaf else (entry.name, Place())
            vertices.append(Vertex(count, header.vertices.get(count, entry.name), owner[n], *where))
    if 0 in entries and entries[0].place != Place():
        left.add("translation or rotation of ID 0", entries[0].line, "the base is where it is put")
    known = {link.name for link in links} | {frame.name for frame in frames}
    for vertex in vertices:
        if vertex.name not in known:
            frames.append(NamedFrame(vertex.name, vertex.link, vertex.place))
            known.add(vertex.name)
    description = Description(
        name,
        tuple(links),
        tuple(joints),
        tuple(frames),
        gravity=(0.0, 0.0, -9.81),
        ignored=left.entries(),
        source=file,
    )
    return SlRobot(
        description,
        degrees,
        {n: entries[n].name for n in order if n and entries[n].dummy},
        tuple(vertices),
        tuple(entries[n].name for n in order if entries[n].effector),
        configuration,
    )


def _joint(entry: _Entry, parent: str, configuration: Configuration) -> LinkJoint:
    joint = LinkJoint(
        entry.name,
        "fixed" if entry.dummy else "revolute",
        parent,
        entry.name,
        entry.place,
        (0.0, 0.0, 1.0) if entry.dummy else entry.axis,
        line=entry.line,
    )
    if entry.dummy:
        return joint
    row: LinkParameters | None = configuration.links.get(entry.name)
    span, gains = configuration.ranges.get(entry.name), configuration.gains.get(entry.name)
    return replace(
        joint,
        damping=0.0 if row is None else row.viscous,
        limits=JointLimits(
            None if span is None else _limit(span.lower),
            None if span is None else _limit(span.upper),
            None,
            None if gains is None else _limit(gains.greatest),
        ),
    )


def _limit(value: float) -> float | None:
    return None if abs(value) >= UNLIMITED else value
