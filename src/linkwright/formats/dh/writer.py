"""From a `Description` to a table of Denavit and Hartenberg's parameters.

A table holds one chain of revolute and prismatic joints, and any such chain: the frame of the base
and that of the tool are given beside it. Links that fixed joints hold are joined into the link that
they hang on. The modified convention is written, since its frames stand on the links' own joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from linkwright.base.errors import InputError
from linkwright.formats.dh.chains import Line, modified_frames, modified_parameters
from linkwright.formats.dh.schema import MOST_ROWS, DhTable
from linkwright.formats.robot.description import (
    Description,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
    WrittenDescription,
)
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import (
    composed,
    inverted,
    joined_masses,
    moved_mass,
    rotate,
)
from linkwright.formats.text.writer import record_text
from linkwright.formats.urdf.origins import rotation_rpy


def dh_text(description: Description) -> WrittenDescription:
    """Return a chain as a table, with what that cannot hold.

    >>> from linkwright.formats.dh.reader import parse_dh
    >>> arm = parse_dh(
    ...     'format = 1\\nconvention = "modified"\\n[[joint]]\\n[[joint]]\\na = 0.5\\n'
    ... )
    >>> print(dh_text(arm).text.split("[[joint]]")[2])
    <BLANKLINE>
    name = "joint2"
    link = "link2"
    a = 0.5
    <BLANKLINE>
    """
    return _Writing(description).written()


@dataclass(slots=True)
class _Part:
    """A link of the chain with what is fixed to it."""

    link: str
    place: Place  # of the link while all coordinates are zero, in the root's frame
    joint: LinkJoint | None = None
    masses: list[Mass] = field(default_factory=list)  # in the link's frame
    frames: list[NamedFrame] = field(default_factory=list)


@dataclass(slots=True)
class _Writing:
    description: Description
    left: Leftovers = field(default_factory=Leftovers)

    def written(self) -> WrittenDescription:
        d = self.description
        base, *chain = self._chain()
        if not chain:
            raise self._fault("the robot has no joint that moves", None)
        if len(chain) > MOST_ROWS:
            raise self._fault(f"the chain has more than {MOST_ROWS} joints", None)
        joints = [part.joint for part in chain if part.joint is not None]
        lines = [
            Line(part.place.position, rotate(part.place.rotation, joint.axis))
            for part, joint in zip(chain, joints, strict=True)
        ]
        frames = modified_frames(lines)
        befores = [frames[0], *frames[:-1]]
        rows = [
            self._row(part, joint, frame, before)
            for part, joint, frame, before in zip(chain, joints, frames, befores, strict=True)
        ]
        self._leave(base, chain)
        tool, tool_name = self._tool(chain[-1], frames[-1], {part.link for part in (base, *chain)})
        table: dict[str, Any] = {
            "format": 1,
            "convention": "modified",
            "name": d.name,
            "base_link": base.link,
            "gravity": d.gravity,
            "base": _place(frames[0]),
            "tool": tool,
            "tool_name": tool_name,
            "joint": rows,
        }
        try:
            text = record_text(DhTable.model_validate(table))
        except ValidationError as error:
            raise self._fault(f"here {error.errors()[0]['msg']}", None) from None
        return WrittenDescription(text, self.left.entries())

    def _fault(self, what: str, line: int | None) -> InputError:
        return InputError(
            f"a table of Denavit and Hartenberg holds one chain of revolute and prismatic joints; "
            f"{what}",
            file=self.description.source or None,
            line=line or None,
        )

    def _chain(self) -> list[_Part]:
        """Return the links from the root to the end, those on fixed joints joined to others."""
        d = self.description
        after: dict[str, list[LinkJoint]] = {}
        for joint in d.joints:
            after.setdefault(joint.parent, []).append(joint)
        masses = {link.name: link.mass for link in d.links}
        frames: dict[str, list[NamedFrame]] = {}
        for frame in d.frames:
            frames.setdefault(frame.link, []).append(frame)
        parts = [_Part(d.root, Place())]
        going = True
        while going:
            part, going = parts[-1], False
            stack = [(part.link, Place())]
            while stack:
                name, inside = stack.pop()
                mass = masses[name]
                if mass is not None:
                    part.masses.append(moved_mass(mass, inside))
                for frame in frames.get(name, ()):
                    place = composed(inside, frame.place)
                    part.frames.append(NamedFrame(frame.name, part.link, place, frame.line))
                for joint in after.get(name, ()):
                    place = composed(inside, joint.place)
                    if joint.kind == "weld":
                        self.left.add(
                            "links on fixed joints", joint.line, "joined to the links before them"
                        )
                        part.frames.append(NamedFrame(joint.child, part.link, place, joint.line))
                        stack.append((joint.child, place))
                        continue
                    if joint.kind not in ("revolute", "prismatic"):
                        words = f"joint {joint.name!r} is of kind {joint.kind}"
                        raise self._fault(words, joint.line)
                    if going:
                        words = f"this one branches at joint {joint.name!r}"
                        raise self._fault(words, joint.line)
                    going = True
                    parts.append(_Part(joint.child, composed(part.place, place), joint))
        return parts

    def _row(self, part: _Part, joint: LinkJoint, frame: Place, before: Place) -> dict[str, Any]:
        found = modified_parameters(before, frame)
        row: dict[str, Any] = {"name": joint.name, "link": part.link, "type": joint.kind}
        for key, value in (
            ("theta", found.theta),
            ("d", found.d),
            ("a", found.a),
            ("alpha", found.alpha),
        ):
            row[key] = 0.0 if abs(value) < 1e-15 else value
        limits = joint.limits
        row |= {
            "lower": limits.lower,
            "upper": limits.upper,
            "speed": limits.speed,
            "effort": limits.effort,
            "damping": joint.damping,
            "friction": joint.friction,
            "stiffness": joint.stiffness,
            "rest": joint.rest,
            "armature": joint.armature,
        }
        mass = joined_masses(part.masses)
        if mass is not None:
            seen = moved_mass(mass, composed(inverted(frame), part.place))
            row |= {"mass": seen.mass, "center": seen.center, "inertia": seen.inertia}
        if joint.start:
            self.left.add("starts of joints", joint.line, "a table has none: all begin at zero")
        if joint.mimic is not None:
            self.left.add("mimics", joint.line, "a table has none; the joint moves by itself")
        return row

    def _tool(self, last: _Part, frame: Place, taken: set[str]) -> tuple[dict[str, Any], str]:
        """Return the frame that is kept as the tool, and its name."""
        named = {f.name: f for f in reversed(last.frames)}
        kept = named.get("tool") or (last.frames[0] if last.frames else None)
        if kept is None:
            name = next(n for k in range(len(taken) + 1) if (n := "tool" + "_" * k) not in taken)
            kept = NamedFrame(name, last.link)
        inside = composed(inverted(frame), composed(last.place, kept.place))
        return _place(inside), kept.name

    def _leave(self, base: _Part, chain: list[_Part]) -> None:
        d = self.description
        parts = (base, *chain)
        frames = [f for part in parts for f in part.frames if not f.name.endswith("_dh")]
        if len(frames) > 1 or (frames and not chain[-1].frames):
            self.left.add("frames beside the tool's", frames[-1].line, "a table has one tool")
        if any(link.shapes for link in d.links):
            self.left.add("shapes", 0, "a table has none")
        if d.closures:
            self.left.add("closures of loops", d.closures[0].line, "a table is a chain")
        if any(mass.mass for mass in base.masses):
            self.left.add("the mass of the base", 0, "it does not move")


def _place(place: Place) -> dict[str, Any]:
    return {"position": place.position, "rpy": rotation_rpy(place.rotation)}
