"""From a Mechanism that was built in Python to the text model that describes it.

Every expression is printed in the language of text models; frames, points and directions are named
as texts name them. A mechanism that is built from the description has the same symbols, bodies,
loads and relations in the same order, and gives the same equations. What was given relative to
other bodies, or by strings with `x` and `v`, is written out: it is the mechanism that is described,
not the program that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from linkwright.algebra import (
    ZERO,
    Expr,
    ForeignFunction,
    Lookup1D,
    Lookup2D,
    Vector,
    as_expr,
    direction_of,
    magnitude,
    postorder,
    symbol,
)
from linkwright.algebra.foreign import ForeignCall
from linkwright.algebra.printers import text
from linkwright.algebra.units import MKS
from linkwright.base.errors import Error, InputError
from linkwright.formats.robot.body_shapes import shape_table
from linkwright.formats.text import tables
from linkwright.formats.text.drive_tables import CollisionCapsuleTable, ConeLimitTable
from linkwright.formats.text.joints import loop_joint
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.tables import Record
from linkwright.mechanism import Body, Constraint, Mechanism, Point
from linkwright.mechanism.joints import axis_list
from linkwright.mechanism.parts import ClosedLoop, Force, as_point

_LAZY = frozenset({"x", "x0", "v"})


def describe(mechanism: Mechanism) -> ModelFile:
    """Return the text model of a mechanism.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> describe(m).body[0].com
    ['L', 0, 0]
    """
    return ModelFile.model_validate(Describer(mechanism).data())


class Describer:
    """A mechanism as the tables of a text model; points without names get them on the way."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.m = mechanism
        self.points: list[dict[str, Any]] = []
        self.names: dict[Point, str] = {}
        self.variables: dict[str, Any] = {}

    def data(self) -> dict[str, Any]:
        """Return the tables of the model."""
        m = self.m
        m.kinematics()
        links = {x: point for x, point in m.frames.items() if point is not point.body.origin}
        for name, point in (links | m.points).items():
            self.names[point] = name
            self.points.append(self._point(name, point))
        data: dict[str, Any] = {"format": 1, "name": m.name, "doc": m.doc}
        data |= m.files
        if m.display is not MKS:
            data["display"] = m.display.name
        if m.small_order != 1:
            data["small_order"] = m.small_order
        for kind, order in (("small", 1), ("large", -1)):
            names = [name for name, k in m.declared_orders().items() if k == order]
            data[kind] = [name for name in names if self._is_known(name)]
        data["actuators"] = [q.name for q in m.actuators]
        if m.platform is not None:
            point, axis = m.platform.point, m.platform.axis
            data["platform"] = {"at": self.named(point), "axis": self._axis(axis, point)}
        data["parameters"] = {name: self._parameter(name) for name in m.parameters}
        data["inputs"] = {name: self._input(name) for name in m.inputs}
        data["gravity"] = self._gravity()
        data["body"] = [self._body(b) for b in m.bodies.values()]
        data["state"] = [
            {
                "name": s.symbol.name,
                "rate": _value(s.derivative),
                "initial": s.initial,
                "unit": m.units.get(s.symbol.name, "?"),
            }
            for s in m.states
        ]
        own = {name for passive in m.passives.values() for name in passive.loads}
        loads = [self._force(f) for f in m.forces if f.name not in own]
        data["force"] = [load for kind, load in loads if kind == "force"]
        data["strut"] = [load for kind, load in loads if kind == "strut"]
        data["moment"] = [
            self._part(
                tables.MomentTable,
                t,
                on=t.body.name,
                about=self.vector(t.direction, unit=True),
            )
            for t in m.moments
            if t.name not in own
        ]
        data["loop"] = [self._loop(x) for x in m.loops if loop_joint(x.joint) is not None]
        data["constraint"] = [self._constraint(c) for c in m.constraints]
        data["limit"] = [
            self._part(tables.Limit, r, coordinate=r.coordinate.name) for r in m.ranges
        ]
        data["cone_limit"] = [
            self._part(
                ConeLimitTable,
                c,
                axis=self._axis(c.axis, c.body),
                second_axis=None if c.other is None else self._axis(c.second, c.other),
            )
            for c in m.cones
        ]
        data["collision_capsule"] = [
            self._part(CollisionCapsuleTable, c) for c in m.collision_capsules
        ]
        data["sensor"] = [self._part(tables.SensorTable, s) for s in m.sensors]
        data["output"] = [
            {
                "name": o.name,
                "value": _value(o.value),
                "unit": o.unit,
                "doc": "" if o.doc == o.name else o.doc,
                **({"body": o.body} if o.body else {}),
            }
            for o in m.outputs
            if not o.made
        ]
        data["output"] += [{"all": kind} for kind in sorted({o.made for o in m.outputs if o.made})]
        data["initial"] = {
            name: _value(m.initial_rules[name]) if name in m.initial_rules else value
            for name, value in m.initial.items()
        }
        if m.timing is not None:
            data["run"] = self._part(tables.RunTable, m.timing)
        data["point"] = self.points
        data["shape"] = [
            shape_table(body, shape, _value)
            for body, shapes in m.shapes.items()
            for shape in shapes
        ]
        data["variables"] = self.variables
        return {k: v for k, v in (data | self._functions()).items() if v is not None}

    def _part(self, table: type[Record], part: object, **more: Any) -> dict[str, Any]:
        """Return the keys of a table from the fields of the same names; `more` are other ones."""
        fields = (x for x in table.model_fields if x not in more and hasattr(part, x))
        return {x: self._plain(getattr(part, x)) for x in fields} | more

    def _plain(self, x: object) -> object:
        """Return a point or body by its name, an expression as a number or a text."""
        if isinstance(x, Point):
            return self.named(x)
        if isinstance(x, Body):
            return x.name
        return _value(x) if isinstance(x, Expr) else x

    # -- names -------------------------------------------------------------------------------------
    def _is_known(self, name: str) -> bool:
        m = self.m
        speeds = {s.symbol.name for s in m.kinematics().speeds}
        return name in m.parameters or name in m.inputs or name in speeds

    def _parameter(self, name: str) -> dict[str, Any]:
        m = self.m
        return {
            "value": m.values.get(name),
            "unit": m.units.get(name, "?"),
            "sign": m.parameters[name].data.sign,
            "doc": m.docs.get(name, ""),
        }

    def _input(self, name: str) -> dict[str, Any]:
        m = self.m
        return {
            "value": m.values.get(name, 0.0),
            "unit": m.units.get(name, "?"),
            "doc": m.docs.get(name, ""),
        }

    def _functions(self) -> dict[str, Any]:
        """Return the tables and foreign functions that the expressions call."""
        m = self.m
        roots: list[Expr] = [o.value for o in m.outputs if not o.made]
        roots += [f.magnitude for f in m.forces] + [t.magnitude for t in m.moments]
        roots += [s.derivative for s in m.states] + [c.speed for c in m.constraints]
        roots += [c.position for c in m.constraints if c.position is not None]
        lookups: dict[str, Lookup1D | Lookup2D] = {}
        functions: dict[str, ForeignFunction] = {}
        for node in postorder(roots):
            if isinstance(node.data, Lookup1D | Lookup2D):
                lookups.setdefault(node.data.name, node.data)
            elif isinstance(node.data, ForeignCall):
                functions.setdefault(node.data.name, node.data.function)
        return {
            "table": [table_data(lookups[k]) for k in sorted(lookups)],
            "function": [_function(functions[k]) for k in sorted(functions)],
        }

    # -- bodies and points -------------------------------------------------------------------------
    def _body(self, b: Body) -> dict[str, Any]:
        m, joint, parent = self.m, b.joint, b.parent
        assert parent is not None
        named = [q.name for q in b.coordinates]
        smalls = [bool(q.data.small) for q in b.coordinates]
        lead = b.lead
        slides = [self._axis(d, parent) for _, d in b.translations]
        turns = self._rotation(b)
        written = replace(joint, translate=tuple(slides), rotate=axis_list(turns))
        data: dict[str, Any] = {
            "name": b.name,
            "parent": parent.name,
            "translate": slides or None,
            "rotate": turns,
            "quaternion": joint.quaternion,
            "body_axis": None if joint.body_axis is None else str(joint.body_axis),
            "first_axis": _listed(joint.first_axis),
            "reference": _listed(joint.reference),
            "advance_per_radian": None if lead is ZERO else _value(lead / b.rotations[0]),
            "offset": None if joint.offset == 0 else _value(m.expr(joint.offset)),
            "matrix": None
            if joint.matrix is None
            else [[_value(m.expr(x)) for x in row] for row in joint.matrix],
            "at_origin": joint.at_origin,
            "at": self._components(b.offset, parent),
            "mass": _value(b.inertia.mass),
            "com": [_value(x) for x in b.inertia.center],
            "inertia": _moments(b.inertia.tensor),
            "armature": _value(m.armatures[b]) if b in m.armatures else None,
            "joint_name": joint.name or None,
            "coordinates": named if named != m.usual_names(b.name, written) else None,
            "small": smalls if len(set(smalls)) > 1 else any(smalls),
            "doc": b.doc,
        }
        if b in m.passives:
            keys = ("damping", "friction", "stiffness", "rest")
            given = {key: getattr(m.passives[b], key) for key in keys}
            data |= {key: _value(x) for key, x in given.items() if x is not ZERO}
        return {k: v for k, v in data.items() if v is not None}

    def _rotation(self, b: Body) -> Any:
        joint = b.joint
        if not joint.rotate:
            return None
        if len(joint.rotate) == 3:
            return "".join(map(str, joint.rotate))
        assert b.parent is not None
        axis = self._axis(b.frame.spins[0][1], b.parent)
        return axis if isinstance(axis, str) else [axis]

    def _axis(self, direction: Vector, parent: Body | Point) -> Any:
        frame = as_point(parent)
        for letter, axis in zip("xyz", frame.axes, strict=True):
            if direction == axis:
                return letter
            if direction == -axis:
                return f"-{letter}"
        return [_value(x) for x in frame.inward(direction.components(frame.body.frame))]

    def _components(self, vector: Vector, body: Body) -> list[Any]:
        return [_value(x) for x in vector.components(body.frame)]

    def _point(self, name: str, point: Point) -> dict[str, Any]:
        at = self._components(point.local, point.body)
        data: dict[str, Any] = {"name": name, "body": point.body.name, "at": at}
        if point.matrix is not None:
            data["matrix"] = [[_value(x) for x in row] for row in point.matrix]
        return data

    def named(self, point: Point) -> str:
        """Return the name of a point; one that has none is added to the model."""
        known = self.names.get(point)
        if known is not None:
            return known
        body = point.body
        if point.matrix is None and point.local.is_zero:
            name = "o" if body is self.m.ground else f"{body.name}0"
        elif point.matrix is None and point.local == body.com.local:
            name = f"{body.name}cm"
        else:
            k = 1
            while (name := f"{body.name}_p{k}") in {p["name"] for p in self.points}:
                k += 1
            self.points.append(self._point(name, point))
        self.names[point] = name
        return name

    # -- vectors -----------------------------------------------------------------------------------
    def vector(self, vector: Vector, *, unit: bool = False) -> Any:
        """Return a vector as a text, or as components in the ground, that reads back the same."""
        m = self.m
        ways: list[Any] = [str(vector)]
        for body in (m.ground, *m.bodies.values()):
            ways += _axis_texts(body, vector)
        ways += [_bracketed(vector), self._components(vector, m.ground)]
        for way in ways:
            try:
                found = m.vector(way)
                if unit:
                    found = direction_of(found)
            except Error:
                continue
            if found == vector:
                return way
        raise InputError(f"the direction {str(vector)[:80]} cannot be written as text")

    # -- loads and relations -----------------------------------------------------------------------
    def _gravity(self) -> dict[str, Any] | None:
        v = self.m.gravity_vector
        if v.is_zero:
            return None
        parts = v.components(self.m.ground.frame)
        moving = [k for k, x in enumerate(parts) if x is not ZERO]
        if len(moving) == 1:
            (k,) = moving
            size = text(parts[k])
            if size.startswith("-"):
                return {"along": "-" + "xyz"[k], "g": _value(-parts[k])}
            return {"along": "xyz"[k], "g": _value(parts[k])}
        return {"along": [_value(x) for x in parts], "g": 1}

    def _force(self, f: Force) -> tuple[str, dict[str, Any]]:
        data: dict[str, Any] = {"name": f.name, "at": self.named(f.point), "doc": f.doc}
        data["magnitude"] = self._magnitude(f)
        other = self._strut_end(f)
        if other is not None:
            return "strut", {**data, "to": self.named(other)}
        along = self.vector(f.direction, unit=True)
        return "force", {**data, "along": along, "reaction": f.reaction.name}

    def _strut_end(self, f: Force) -> Point | None:
        """Return the point from which a strut pushes, where a force is one."""
        if len(f.direction.terms) == 1:
            return None
        ends = [p for p in self.m.points.values() if p.body is f.reaction]
        for end in (f.reaction.origin, f.reaction.com, *ends):
            span = f.point.position - end.position
            if not span.is_zero and span / magnitude(span) == f.direction:
                return end
        return None

    def _magnitude(self, f: Force) -> Any:
        names = {x.name for x in postorder([f.magnitude]) if x.op == "sym"}
        if names.isdisjoint(_LAZY):
            return _value(f.magnitude)
        name = f"force{len(self.variables) + 1}"  # in a force, x and v would mean something else
        self.variables[name] = _value(f.magnitude)
        return f"#{name}"

    def _loop(self, loop: ClosedLoop) -> dict[str, Any]:
        """Return a joint that closes a loop; its relations are written out as constraints."""
        kind, axes = loop_joint(loop.joint) or ("", [])
        written = [
            self._axis(loop.first.body.mechanism.vector(axis), self.m.ground) for axis in axes
        ]
        data: dict[str, Any] = {"name": loop.name, "joint": kind}
        if written:
            data |= {"axes": written} if len(written) > 1 else {"axis": written[0]}
        relations = [c.name for c in self.m.constraints if c.name in loop.relations]
        ends = {"first": self.named(loop.first), "second": self.named(loop.second)}
        return {**data, **ends, "relations": relations}

    def _constraint(self, c: Constraint) -> dict[str, Any]:
        m = self.m
        data: dict[str, Any] = {"name": c.name}
        derived = None if c.position is None else m.kinematics().derivative(c.position)
        if c.position is not None:
            data["position"] = _value(c.position)
        if derived is not c.speed:
            data["speed"] = _value(c.speed)
        if c.eliminate is not None:
            data["eliminate"] = c.eliminate.name
        if c.eliminate_coordinate is not None:
            data["compute"] = c.eliminate_coordinate.name
        if c.length is not None:
            data["length"] = c.length.name
        if c.works:
            data["acts"] = [
                self._part(tables.Act, w, along=self.vector(w.direction), at=self.named(w.point))
                for w in c.works
            ]
        return data


def _value(x: Expr) -> int | float | str:
    """Return an expression as a number where it is one, else as text."""
    if x.op == "num":
        number = x.data
        if isinstance(number, int | float) and abs(number) < 2**53:
            return number
        if isinstance(number, Fraction) and as_expr(float(number)) is x:
            return float(number)
    return text(x)


def _moments(tensor: Sequence[Expr]) -> Any:
    if all(x is ZERO for x in tensor):
        return 0
    entries = tensor if any(x is not ZERO for x in tensor[3:]) else tensor[:3]
    return [_value(x) for x in entries]


def _axis_texts(body: Body, vector: Vector) -> list[str]:
    for k, axis in enumerate(body.frame.axes):
        for sign, way in (("", axis), ("-", -axis)):
            if vector == way:
                return [f"{sign}{body.name}.{'xyz'[k]}", f"{sign}[{body.name}{k + 1}]"]
    return []


def _bracketed(vector: Vector) -> str:
    """Return a vector as a sum over directions in brackets, which no coordinate can hide."""
    terms = []
    for direction, c in vector.terms:
        stem, _, letter = str(direction).rpartition(".")
        terms.append(f"({text(c)})*[{stem}{'xyz'.find(letter) + 1}]")
    return " + ".join(terms)


def _listed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_value(x) if isinstance(x, Expr) else x for x in value]
    return value


def table_data(table: Lookup1D | Lookup2D) -> dict[str, Any]:
    """Return the `[[table]]` of a function that is given by points."""
    if table.kind not in ("linear", "cubic"):
        raise InputError(
            f"the table {table.name!r} is made of polynomials, which have no place in a text",
            remedy="keep what makes it in Python",
        )
    data: dict[str, Any] = {"name": table.name, "kind": table.kind, "outside": table.outside}
    data |= {"x": list(table.x), "y": list(table.y)}
    if isinstance(table, Lookup2D):
        data["z"] = [list(row) for row in table.z]
    return data


def _function(function: ForeignFunction) -> dict[str, Any]:
    names = [f"x{k + 1}" for k in range(function.arity)]
    derivatives = None
    if function.derivatives is not None and function.outputs == 1:
        symbols = [symbol(name) for name in names]
        derivatives = [_value(as_expr(d(*symbols))) for d in function.derivatives]
    return {
        "name": function.name,
        "arguments": names,
        "outputs": function.outputs,
        "pure": function.pure,
        "derivatives": derivatives,
        "c_source": function.c_source,
    }
