"""From a Mechanism to the `Description` that a robot file can hold: a tree of links, in numbers.

Parameters get their values, and all coordinates are zero where places are measured. What a robot
file has no place for (loads, inputs, relations, outputs) is listed as left out. A joint that no
robot file has is split into joints with one coordinate each, with links without mass between.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from linkwright.algebra import Expr, Vector, evaluate_all, free_symbols
from linkwright.errors import InputError
from linkwright.formats.robot.body_shapes import drawn
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
    Rotation,
    Triple,
)
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import cross, dot, rotate, transposed
from linkwright.mechanism import Body, Mechanism


def read_text_model(
    path: str | os.PathLike[str], *, roots: Sequence[str | os.PathLike[str]] = ()
) -> Description:
    """Return the tree of a text model with its parameters as numbers."""
    from linkwright.formats.text.files import read_model

    found = description_of(read_model(path))
    return replace(found, source=os.fspath(path))


def description_of(mechanism: Mechanism) -> Description:
    """Return the tree of a mechanism with its parameters as numbers.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=2, com=("L/2", 0, 0), inertia=(0, 0, 0.1))
    >>> m.set_values({"L": 1.0})
    >>> d = description_of(m)
    >>> d.joints[0].kind, d.joints[0].axis, d.link("rod").mass.center
    ('revolute', (0.0, 0.0, 1.0), (0.5, 0.0, 0.0))
    """
    return _Survey(mechanism).description()


@dataclass(slots=True)
class _Survey:
    """One mechanism while it is measured."""

    m: Mechanism
    values: dict[Expr, float] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    joints: list[LinkJoint] = field(default_factory=list)
    left: Leftovers = field(default_factory=Leftovers)

    def description(self) -> Description:
        m = self.m
        missing = [name for name in m.parameters if name not in m.values]
        if missing:
            raise InputError(
                f"{m.name!r} is no robot of numbers: {', '.join(missing[:5])} have no value",
                remedy="give its parameters values",
            )
        self.values = {x: m.values[name] for name, x in m.parameters.items()}
        self.values |= {x: m.values.get(name, 0.0) for name, x in m.inputs.items()}
        self.links = [Link(m.ground.name)]
        for body in m.bodies.values():
            if body.parent is not None:
                self._body(body)
        frames = tuple(self._frames())
        gravity = self._numbers(m.gravity_vector.components(m.ground.frame), "gravity")
        self._leave()
        return Description(
            m.name,
            tuple(self.links),
            tuple(self.joints),
            frames,
            gravity=_three(gravity),
            ignored=self.left.entries(),
        )

    def _numbers(self, values: Iterable[Expr], what: str, body: Body | None = None) -> list[float]:
        """Return values in numbers, while the coordinates of a body's own joint are zero."""
        zero = {} if body is None else dict.fromkeys(body.coordinates, 0.0)
        if body is not None and body.joint.quaternion:
            zero[body.rotations[0]] = 1.0
        values = list(values)
        known = {**self.values, **zero}
        other = [x.name for x in free_symbols(*values) if x not in known]
        if other:
            raise InputError(
                f"{what} depends on {', '.join(sorted(other)[:3])}",
                remedy="a robot file holds constant places and masses only",
            )
        found = [float(x) for x in evaluate_all(values, known)]
        if not all(map(math.isfinite, found)):
            raise InputError(f"{what} is not finite")
        return found

    def _body(self, body: Body) -> None:
        assert body.parent is not None
        above = body.parent.frame
        words = f"the place of {body.name!r}"
        offset = _three(self._numbers(body.offset.components(above), words, body))
        cosines = self._numbers((x for row in body.frame.cosines for x in row), words, body)
        rotation = transposed(_rows(cosines))
        armature = 0.0
        if body in self.m.armatures:
            (armature,) = self._numbers([self.m.armatures[body]], f"armature of {body.name!r}")
        slides = [self._direction(body, d, rotation) for _, d in body.translations]
        for joint in self._joints(body, Place(offset, rotation), slides):
            if joint.child != body.name:
                self.links.append(Link(joint.child))
                self.joints.append(joint)
            else:
                self.joints.append(replace(joint, armature=armature))
        words = f"a shape of {body.name!r}"
        shapes = [
            drawn(shape, lambda values: self._numbers(values, words))
            for shape in self.m.shapes.get(body.name, ())
        ]
        self.links.append(Link(body.name, self._mass(body), tuple(shapes)))

    def _direction(self, body: Body, direction: Vector, rotation: Rotation) -> Triple:
        """Return a direction that is fixed in the parent, along the body's axes at zero."""
        assert body.parent is not None
        along = direction.components(body.parent.frame)
        fixed = self._numbers(along, f"a direction of {body.name!r}")
        return rotate(transposed(rotation), _three(fixed))

    def _joints(self, body: Body, place: Place, slides: list[Triple]) -> Iterator[LinkJoint]:
        """Yield the joints from the parent to the body."""
        assert body.parent is not None
        names = [q.name for q in body.coordinates]
        whole = LinkJoint(self._joint_name(body, names), "weld", "", "", place)
        whole = replace(whole, parent=body.parent.name, child=body.name)
        turns = len(body.joint.rotate)
        if not names:
            yield whole
        elif turns == 3 and len(slides) == 3:
            self._angles(body)
            yield replace(whole, kind="free")
        elif turns == 1 and _in_plane(slides, axis := self._axis(body)):
            yield replace(whole, kind="planar", axis=axis)
        elif turns == 1 and len(slides) == 1 and _parallel(slides[0], self._axis(body)):
            yield replace(whole, kind="cylindrical", axis=slides[0])
        else:
            yield from self._split(body, whole, slides, turns)

    def _joint_name(self, body: Body, names: list[str]) -> str:
        """Return the name that all coordinates of a joint begin with, else that of the body."""
        if len(names) == 1:
            return names[0]
        stems = {name.rpartition(".")[0] for name in names}
        stem = stems.pop() if len(stems) == 1 else ""
        return stem if stem and all(joint.name != stem for joint in self.joints) else body.name

    def _split(
        self, body: Body, whole: LinkJoint, slides: list[Triple], turns: int
    ) -> Iterator[LinkJoint]:
        """Yield the slides one by one, then the rotation."""
        last = len(slides) + (1 if turns else 0)
        parent, place = whole.parent, whole.place
        for k, axis in enumerate(slides, 1):
            child = body.name if k == last else f"{body.name}_slide{k}"
            name = body.translations[k - 1][0].name
            yield LinkJoint(name, "prismatic", parent, child, place, axis)
            parent, place = child, Place()
        if turns == 3:
            self._angles(body)
            yield replace(whole, kind="ball", parent=parent, place=place)
        elif turns == 1:
            one = {**self.values, body.rotations[0]: 1.0}
            (lead,) = evaluate_all([body.lead], one)
            joint = replace(whole, name=body.rotations[0].name, parent=parent, place=place)
            joint = replace(joint, kind="revolute", axis=self._axis(body))
            if lead:
                joint = replace(joint, kind="screw", pitch=float(lead) * math.tau)
            yield joint

    def _axis(self, body: Body) -> Triple:
        """Return the axis of the one rotation, along the body's axes."""
        ((_, along),) = body.frame.spins
        words = f"the axis of {body.name!r}"
        return _three(self._numbers(along.components(body.frame), words, body))

    def _angles(self, body: Body) -> None:
        if not body.joint.quaternion:
            self.left.add("the angles of three rotations", 0, "a robot file has a quaternion")

    def _mass(self, body: Body) -> Mass | None:
        inertia = body.inertia
        parts = [inertia.mass, *inertia.center, *inertia.tensor]
        mass, x, y, z, xx, yy, zz, xy, yz, zx = self._numbers(parts, f"the mass of {body.name!r}")
        found = Mass(mass, (x, y, z), (xx, yy, zz, xy, yz, zx))
        return found if mass or any(found.inertia) else None

    def _frames(self) -> Iterator[NamedFrame]:
        for name, point in self.m.points.items():
            where = point.local.components(point.body.frame)
            position = _three(self._numbers(where, f"the place of {name!r}"))
            yield NamedFrame(name, point.body.name, Place(position))

    def _leave(self) -> None:
        m = self.m
        why = "a robot file has no place for them"
        for what, names in (
            ("the names of parameters", list(m.parameters)),
            ("inputs", list(m.inputs)),
            ("forces", [f.name for f in m.forces]),
            ("moments", [t.name for t in m.moments]),
            ("relations", [c.name for c in m.constraints]),
            ("states", [s.symbol.name for s in m.states]),
            ("outputs", [o.name for o in m.outputs]),
            ("starting values", list(m.initial)),
        ):
            if names:
                shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
                self.left.add(f"{what} ({shown})", 0, why)


def _three(values: Sequence[float]) -> Triple:
    x, y, z = values
    return x, y, z


def _rows(values: Sequence[float]) -> Rotation:
    a, b, c, d, e, f, g, h, i = values
    return (a, b, c), (d, e, f), (g, h, i)


def _parallel(a: Triple, b: Triple) -> bool:
    return dot(a, b) > 1.0 - 1e-12


def _in_plane(slides: list[Triple], normal: Triple) -> bool:
    """Whether two slides and the normal are the axes of a planar joint, in its order."""
    return len(slides) == 2 and dot(cross(slides[0], slides[1]), normal) > 1.0 - 1e-12
