"""From a `.dyn` file and its configuration to a `Description`.

A degree of freedom of the file is a joint and the link behind it: the link's frame stands at
`translation` in its parent's frame, turned by the three angles about x, then y, then z, then about
`jointAxis` by the joint's angle, all right-handed. That is the `place` and the `axis` of a
`LinkJoint`. Fake links, whose generated inertia is multiplied by zero, have no mass. A dummy has no
axis; it is a named frame, or a link on a fixed joint where it carries mass or others hang on it.

Vertices, at which SL looks for contact, are numbered in the order of the walk: one for each
translation that is not zero (SL manual, sections 7.1 and 7.3).

Link parameters are mass, mass times center, and the inertia about the link's origin. Where there is
mass times center without mass, there is no center; that is reported, and the numbers stay in
`SlRobot.configuration`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import scaled
from linkwright.formats.sl.braces import Braces, read_braces
from linkwright.formats.sl.configuration import (
    Configuration,
    LinkParameters,
    read_configuration,
    text_of,
)
from linkwright.formats.sl.entries import BASE, Entry, entry_of, mass_of
from linkwright.formats.sl.header import Header, read_header

UNLIMITED = 1e9
"""A limit at least as large as this means no limit: the files have no other word for that."""

FLOATS = (
    'a .dyn file does not say it: robots stand, unless loaded with base="free"; laboratories float'
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
    """A robot of SL: its description, and what a description has no room for."""

    description: Description  # links, joints, frames
    degrees: Mapping[int, str]  # names of the degrees of freedom by their number in SL
    dummies: Mapping[int, str]  # names of the frames or links without one, by number
    vertices: tuple[Vertex, ...]  # in the order of SL
    end_effectors: tuple[str, ...]  # names of the frames that SL calls so
    configuration: Configuration  # gains, ranges, filters and the rest
    header: Header = field(default_factory=Header)  # what the C files say
    # what controllers believe the robot to be, where LinkParameters.cf says it apart
    model: Description | None = None


def read_dyn(path: str | Path, *, roots: Iterable[str | Path] = ()) -> Description:
    """Return the description of a robot of SL."""
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
    """
    path = Path(path)
    folders = [path.parent, *(Path(root) for root in roots)]
    header = Header()
    for name, inner in (("SL_user.h", "include"), ("SL_user_common.c", "src")):
        for folder in [place for f in folders for place in (f, f / inner)]:
            if (folder / name).is_file():
                header = header.joined(read_header(text_of(folder / name), str(folder / name)))
                break
    text = text_of(path)
    places = [place for folder in folders for place in (folder, folder / "config")]
    return _robot(text, str(path), header, places, constants or {}, path.stem)


def sl_from_text(
    text: str, *, file: str = "", header: str = "", constants: Mapping[str, float] | None = None
) -> SlRobot:
    """Return a robot from the text of a `.dyn` file, without configuration files.

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
    entries: dict[int, Entry] = {}
    for braces in lists:
        entry = entry_of(braces, names, header, file, left)
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
    effector = next((entry for entry in entries.values() if entry.effector), None)
    if effector is not None and not any(name.startswith("eff[") for name in names):
        why = "no SL_user_common.c says where they are, so their numbers are zero"
        left.add("end-effectors", effector.line, why)
    parents = _parents(entries, file)
    order = _walk(entries, parents, file)
    degrees = {n: entries[n].name for n in sorted(entries) if n and not entries[n].dummy}
    configuration = read_configuration(folders, degrees.values(), base=BASE)
    made = (entries, parents, order, degrees, header)
    robot = _built(*made, configuration, left, file, name)
    if not configuration.believed:
        return robot
    believed = replace(configuration, links=configuration.believed)
    return replace(robot, model=_built(*made, believed, Leftovers(), file, name).description)


def _is_list_of_lists(braces: Braces) -> bool:
    first = braces.items[0]
    return isinstance(first, Braces) and bool(first.items) and isinstance(first.items[0], Braces)


def _check_names(entries: Mapping[int, Entry], file: str) -> None:
    known: dict[str, Entry] = {}
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


def _parents(entries: Mapping[int, Entry], file: str) -> dict[int, int]:
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


def _walk(entries: Mapping[int, Entry], parents: Mapping[int, int], file: str) -> tuple[int, ...]:
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


def _generated(
    entry: Entry, factor: float, configuration: Configuration, left: Leftovers
) -> Mass | None:
    """Return the mass of a link from the link parameters."""
    row = configuration.links.get(entry.name)
    if row is None or factor == 0:
        return None
    moment = (row.x, row.y, row.z)
    if row.mass == 0 and any(moment):
        left.add(
            f"mass times center of {entry.name}",
            entry.line,
            "its mass is zero, so it has no mass center",
        )
    inertia = (row.i11, row.i22, row.i33, row.i12, row.i23, row.i13)
    if row.mass == 0 and not any(moment) and not any(inertia):
        return None
    return mass_of(
        factor * row.mass, scaled(moment, factor), tuple(factor * value for value in inertia)
    )


def _built(
    entries: Mapping[int, Entry],
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
    if any(link.name == BASE and link.mass is not None for link in links):
        left.add("whether the base (ID 0) floats", entries[0].line, FLOATS)
    known = {link.name for link in links} | {frame.name for frame in frames}
    for vertex in vertices:
        if vertex.name not in known:
            frames.append(NamedFrame(vertex.name, vertex.link, vertex.place))
            known.add(vertex.name)
    number = {entries[n].name: n for n in order}
    joints.sort(key=lambda joint: number[joint.name])  # branches in the order of SL's numbers
    links.sort(key=lambda link: number.get(link.name, 0))
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
        header,
    )


def _joint(entry: Entry, parent: str, configuration: Configuration) -> LinkJoint:
    joint = LinkJoint(
        entry.name,
        "weld" if entry.dummy else "revolute",
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
