"""From a table of Denavit and Hartenberg's parameters to a `Description`.

A link's frame in a `Description` stands on the joint before the link. That is the link's own frame
in the modified convention. In the standard one it is the frame of the link before, turned or moved
by the coordinate; the frame of the table, in which masses are given, is a constant place from there
and is listed among the frames as NAME_dh.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from linkwright.base.files import read_text
from linkwright.formats.dh.schema import DhPlace, DhRow, DhTable
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.robot.link_tree import require_tree
from linkwright.formats.robot.transforms import composed, moved_mass, turned
from linkwright.formats.text.document import TextLimits, TextSource, parse_record
from linkwright.formats.urdf.origins import rpy_rotation

_SIZE = 1_000_000


def read_dh(
    path: str | os.PathLike[str], *, roots: Sequence[str | os.PathLike[str]] = ()
) -> Description:
    """Return the robot of a table."""
    return parse_dh(read_text(path, _SIZE), file=path)


def parse_dh(text: str, *, file: str | os.PathLike[str] | None = None) -> Description:
    """Return the robot of a table's text.

    >>> arm = parse_dh('''
    ... format = 1
    ... convention = "standard"
    ... name = "plane_arm"
    ... [[joint]]
    ... a = 0.5
    ... [[joint]]
    ... a = 0.3
    ... theta = "-90 deg"
    ... ''')
    >>> arm.joints[1].place.position, [frame.name for frame in arm.frames]
    ((0.5, 0.0, 0.0), ['link1_dh', 'link2_dh', 'tool'])
    """
    table, source = parse_record(text, DhTable, file=file, limits=TextLimits(size=_SIZE))
    standard = table.convention == "standard"
    links = [Link(table.base_link)]
    joints: list[LinkJoint] = []
    frames: list[NamedFrame] = []
    before = _place(table.base)
    for k, row in enumerate(table.joint):
        own = _standard(row) if standard else _modified(row)
        line = _line(source, k)
        name, link = row.name or f"joint{k + 1}", row.link or f"link{k + 1}"
        place = before if standard else composed(before, own)
        inside = own if standard else Place()  # the table's frame in the link's frame
        joints.append(_joint(row, name, links[-1].name, link, place, line))
        links.append(Link(link, _mass(row, inside), line=line))
        before = inside
        if standard:
            frames.append(NamedFrame(f"{link}_dh", link, inside, line))
    frames.append(NamedFrame(table.tool_name, links[-1].name, composed(before, _place(table.tool))))
    _different(frames, links, source)
    return require_tree(
        Description(
            table.name,
            tuple(links),
            tuple(joints),
            tuple(frames),
            gravity=table.gravity,
            source="" if file is None else os.fspath(file),
        )
    )


def _line(source: TextSource, row: int) -> int:
    return 0 if source.positions is None else source.positions.place(("joint", row))[0]


def _different(frames: list[NamedFrame], links: list[Link], source: TextSource) -> None:
    taken = {link.name for link in links}
    for frame in frames:
        if frame.name in taken:
            raise source.error(
                (), f"both a frame and a link are called {frame.name!r}", "rename one"
            )
        taken.add(frame.name)


def _place(place: DhPlace) -> Place:
    return Place(place.position, rpy_rotation(*place.rpy))


def _screw(axis: tuple[float, float, float], turn: float, shift: float) -> Place:
    x, y, z = axis
    return Place((x * shift, y * shift, z * shift), turned(axis, turn))


def _standard(row: DhRow) -> Place:
    z = _screw((0.0, 0.0, 1.0), row.theta, row.d)
    return composed(z, _screw((1.0, 0.0, 0.0), row.alpha, row.a))


def _modified(row: DhRow) -> Place:
    x = _screw((1.0, 0.0, 0.0), row.alpha, row.a)
    return composed(x, _screw((0.0, 0.0, 1.0), row.theta, row.d))


def _mass(row: DhRow, inside: Place) -> Mass | None:
    if row.mass is None:
        return None
    xx, yy, zz, *products = row.inertia
    xy, yz, zx = products or (0.0, 0.0, 0.0)
    return moved_mass(Mass(row.mass, row.center, (xx, yy, zz, xy, yz, zx)), inside)


def _joint(row: DhRow, name: str, parent: str, child: str, place: Place, line: int) -> LinkJoint:
    return LinkJoint(
        name,
        row.type,
        parent,
        child,
        place,
        limits=JointLimits(
            row.lower,
            row.upper,
            row.speed,
            row.effort,
        ),
        damping=row.damping,
        friction=row.friction,
        stiffness=row.stiffness,
        rest=row.rest,
        armature=row.armature + row.motor_inertia * row.gear**2,
        line=line,
    )
