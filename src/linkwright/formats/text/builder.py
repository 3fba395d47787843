"""From the parts of a text model to a Mechanism.

Parts are entered in an order of their own, whatever their order in the text: tables and functions,
parameters and inputs, bodies (parents before children), points, variables, states, gravity, loads,
then relations from the particular to the general (points held together, loops, distances, rolling,
prescribed motion, other constraints), outputs and initial values. Names must be declared: an
unknown one is an error with the nearest spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from linkwright.algebra import as_expr, magnitude, symbol
from linkwright.algebra.language import read, resolve
from linkwright.algebra.language.standard import ONLY_IN_A_MODEL
from linkwright.algebra.units import MKS, UnitSystem, unit_system
from linkwright.base.errors import InputError, suggestion
from linkwright.formats.text import tables
from linkwright.formats.text.components import Flat, Part, expand
from linkwright.formats.text.constraints import add_constraint
from linkwright.formats.text.document import TextLimits, TextSource
from linkwright.formats.text.drive_tables import ConeLimitTable, DrivenStrutTable
from linkwright.formats.text.functions import foreign_of, table_of
from linkwright.formats.text.joints import joint_of, rotation_of, turned_joint
from linkwright.formats.text.messages import placed
from linkwright.formats.text.quantities import TextQuantities, system_of
from linkwright.formats.text.schema import ModelFile
from linkwright.mechanism import Body, Mechanism, Point
from linkwright.mechanism.parts import ClosedLoop, State
from linkwright.mechanism.quantities import per_second

Functions = Mapping[str, Callable[..., Any]]

_NAME = re.compile(r"\w[\w.+-]*")


def build(
    model: ModelFile,
    *,
    functions: Functions | None = None,
    options: Mapping[str, int] | None = None,
    trust: bool = False,
    source: TextSource | None = None,
    limits: TextLimits | None = None,
) -> Mechanism:
    """Return the mechanism that a model describes.

    >>> body = {"name": "b", "translate": "x", "mass": "mas"}
    >>> build(ModelFile(format=1, name="m", parameters={"mass": 1}, body=[body]))
    Traceback (most recent call last):
        ...
    linkwright.InputError: body[0].mass: unknown name 'mas'; did you mean 'mass'?
    """
    source = source or TextSource()
    if model.is_system:
        raise source.error(
            ("member", 0), "the model is a System, not a mechanism alone", "open it with load"
        )
    flat = expand(model, options, source, limits)
    return build_parts(model, flat, source, functions or {}, trust)


def build_parts(
    model: ModelFile, flat: Flat, source: TextSource, functions: Functions, trust: bool
) -> Mechanism:
    """Return the mechanism of a model's parts, in SI units whatever units its text is in.

    In a text in inches, names that have no unit get theirs from a first build, where numbers are
    not converted: equations are the same in all units.
    """
    system = unit_system(model.units or system_of(flat))
    if system is MKS:
        return MechanismBuilder(model, flat, source).run(functions, trust)
    if model.is_system:
        raise source.error(
            ("units",),
            "members of a System are in SI units, and this model is in inches",
            'write units = "mks", and lengths, masses and forces with their units: "10 in"',
        )
    units = {}
    if any(part.value.unit == "?" for part in (*flat["parameters"], *flat["inputs"])):
        from linkwright.equations.meanings import parameter_units

        units = parameter_units(MechanismBuilder(model, flat, source).run(functions, trust))
    return MechanismBuilder(model, flat, source, system, units).run(functions, trust)


class MechanismBuilder:
    """The mechanism of a model in the making."""

    def __init__(
        self,
        model: ModelFile,
        flat: Flat,
        source: TextSource,
        system: UnitSystem = MKS,
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.flat = flat
        self.source = source
        display = model.display or system.name
        self.m = Mechanism(model.name, flat.doc, display=display, small_order=model.small_order)
        self.m.scope = replace(self.m.scope, system=system)
        self.given = TextQuantities(self.m, system, units or {})

    def run(self, functions: Functions, trust: bool) -> Mechanism:
        """Return the mechanism."""
        if not _NAME.fullmatch(self.model.name):
            raise self.source.error(
                ("name",),
                f"{self.model.name[:60]!r} cannot be the name of a model",
                "use letters, digits, '-', '_' and '.'",
            )
        self._functions(functions, trust)
        self._orders()
        self._symbols()
        self.m.declared_only = True
        early = self._variables(early=True)
        self._bodies()
        self._points()
        self._driven_struts()
        self._shapes()
        self._state_symbols()
        self._variables(early=False, done=early)
        self._gravity()
        self._loads()
        self._states()
        self._relations()
        for part in self.flat["limit"]:
            with self._placed(part):
                given: tables.Limit = part.value
                own = self.m.units.get(given.coordinate, "?")
                units = (own, own, per_second(own), "N" if own == "m" else "N*m")
                values = (given.lower, given.upper, given.speed, given.effort)
                low, high, speed, effort = (
                    None if x is None else self.given.constant(x, unit)
                    for x, unit in zip(values, units, strict=True)
                )
                self.m.limit(given.coordinate, low, high, speed=speed, effort=effort)
        self._drives()
        for part in self.flat["sensor"]:
            with self._placed(part):
                self.m.sensor(part.value.name, part.value.kind, part.value.on)
        for part in self.flat["output"]:
            with self._placed(part):
                self._output(part)
        self._initial()
        self._run()
        if self.given.inches:
            self.m.variables.clear()  # whose numbers are those of the text
            self.m.scope = replace(self.m.scope, system=MKS)
        return self.m

    # -- complaints --------------------------------------------------------------------------------
    def _placed(self, part: Part) -> AbstractContextManager[None]:
        return placed(self.source, part)

    def unknown(
        self, part: Part, key: str | int, what: str, name: str, known: Iterable[str]
    ) -> InputError:
        """Return the error about a name that is not known, with the nearest spelling."""
        names = sorted(known)
        few = f"known are {', '.join(names)}" if 0 < len(names) <= 8 else None
        return self.source.error(
            (*part.path, key),
            f"there is no {what} {name!r}",
            suggestion(name, names, few),
        )

    # -- names -------------------------------------------------------------------------------------
    def _functions(self, given: Functions, trust: bool) -> None:
        m = self.m
        for k, table in enumerate(self.model.table):
            part = Part(table, ("table", k), table.model_dump())
            with self._placed(part):
                self._refuse_twice(part, table.name, m.functions, "table or function")
                m.function(table.name, table_of(table))
        names = {f.name for f in self.model.function}
        names |= {p.value.name for p in self.flat["member"] if p.value.kind == "Python"}
        for name in given:
            if name not in names:
                raise self.source.error(
                    (),
                    f"the model has no [[function]] {name!r}",
                    suggestion(name, names),
                )
        for k, function in enumerate(self.model.function):
            part = Part(function, ("function", k), function.model_dump())
            with self._placed(part):
                self._refuse_twice(part, function.name, m.functions, "table or function")
                m.function(function.name, foreign_of(function, given.get(function.name), trust))

    def _refuse_twice(self, part: Part, name: str, known: Iterable[str], what: str) -> None:
        if name in known:
            article = "an" if what[0] in "aeiou" else "a"
            words = f"there is {article} {what} {name!r} already"
            raise self.source.error((*part.path, "name"), words, "choose another name")

    def _orders(self) -> None:
        for kind, declare in (("small", self.m.small), ("large", self.m.large)):
            for part in self.flat[kind]:
                with self._placed(part):
                    declare(part.value)

    def _symbols(self) -> None:
        for part in self.flat["parameters"]:
            p: tables.ParameterTable = part.value
            with self._placed(part):
                self._refuse_known(part)
                value, unit = self.given.declared(part.key, p.value, p.unit)
                self.m.parameter(part.key, value, unit=unit, sign=p.sign, doc=p.doc)
        for part in self.flat["inputs"]:
            w: tables.Input = part.value
            with self._placed(part):
                self._refuse_known(part)
                value, unit = self.given.declared(part.key, w.value, w.unit)
                self.m.input(part.key, value or 0.0, unit=unit, doc=w.doc)

    def _refuse_known(self, part: Part) -> None:
        if part.key in self.m.parameters or part.key in self.m.inputs:
            raise self.source.error(
                part.path, f"the name {part.key!r} is taken", "choose another name", key=True
            )

    def _variables(self, *, early: bool, done: frozenset[int] = frozenset()) -> frozenset[int]:
        """Enter variables; `early` those that need no body, for the bodies to use."""
        m = self.m
        entered = set(done)
        for k, part in enumerate(self.flat["variables"]):
            if k in done:
                continue
            if early and not self._is_early(part.value):
                continue
            with self._placed(part):
                if part.key in m.variables:
                    raise self.source.error(
                        part.path, f"there is a variable {part.key!r} already", key=True
                    )
                value = part.value
                m.variables[part.key] = (
                    resolve(read(value), m.scope) if isinstance(value, str) else m.expr(value)
                )
                entered.add(k)
        return frozenset(entered)

    def _is_early(self, value: object) -> bool:
        if not isinstance(value, str):
            return True
        try:
            formula = read(value)
        except InputError:
            return False  # complained about later, with its place
        from linkwright.algebra.language.syntax import Reference, UnitVector

        m = self.m
        names = {*m.parameters, *m.inputs, "t", "pi", "inf"}
        return (
            names.issuperset(formula.names())
            and ONLY_IN_A_MODEL.isdisjoint(formula.functions())
            and all(
                not isinstance(x, UnitVector)
                and (not isinstance(x, Reference) or x.name in m.variables)
                for x in formula.nodes()
            )
        )

    # -- bodies and points -------------------------------------------------------------------------
    def _bodies(self) -> None:
        """Enter the bodies in their order, each one as soon as those that it needs are there."""
        waiting = list(self.flat["body"])
        names = {part.value.name for part in waiting}
        for part in waiting:
            b: tables.BodyTable = part.value
            for key in ("parent", "coordinates_in"):
                wanted = getattr(b, key)
                if wanted not in (None, "n") and wanted not in names:
                    raise self.unknown(part, key, "body", wanted, (*names, "n"))
        needing: dict[str, list[Part]] = {}
        for part in waiting:
            self._enter_body(part, needing)
        left = [part for group in needing.values() for part in group]
        if left:
            first = min(left, key=lambda part: self.flat["body"].index(part))
            raise self.source.error(
                (*first.path, "parent"),
                f"body {first.value.name!r} hangs on itself, through its parents",
                "let one of them hang on the ground",
            )

    def _enter_body(self, part: Part, needing: dict[str, list[Part]]) -> None:
        stack = [part]
        while stack:
            part = stack.pop()
            b: tables.BodyTable = part.value
            missing = [
                x
                for x in (b.parent, b.coordinates_in)
                if x not in (None, "n") and x not in self.m.bodies
            ]
            if missing:
                needing.setdefault(str(missing[0]), []).append(part)
                continue
            with self._placed(part):
                self._refuse_twice(part, b.name, self.m.bodies, "body")
                self._body(b)
            stack.extend(reversed(needing.pop(b.name, [])))

    def _body(self, b: tables.BodyTable) -> None:
        m = self.m
        joint = self.given.joint(replace(joint_of(b), name=b.joint_name))
        if isinstance(b.at, str) or isinstance(b.com, str):
            raise InputError("three components are needed for `at` and `com`")
        if b.coordinates_in is not None and (b.turn or b.inertia_about == "joint"):
            raise InputError(
                "`coordinates_in` does not go with `turn` or `inertia_about`",
                remedy="give places in the frames of the parent and of the body itself",
                code="R103",
            )
        if b.turn:
            joint = turned_joint(joint, rotation_of(b.turn, self.given.angle), m.expr)
        inertia = b.inertia
        if b.inertia_about == "joint":
            inertia = m.moments_about_center(b.name, b.mass, b.com, b.inertia)
        made = m.body(
            b.name,
            parent=self._body_named(b.parent),
            at=b.at,
            mass=b.mass,
            com=b.com,
            inertia=inertia,
            coordinates_in=None if b.coordinates_in is None else self._body_named(b.coordinates_in),
            coordinates=b.coordinates,
            small=b.small,
            doc=b.doc,
            joint=joint,
        )
        if b.armature is not None:
            m.armature(made, b.armature)

    def _body_named(self, name: str) -> Body:
        return self.m.ground if name == "n" else self.m.bodies[name]

    def _find_body(self, part: Part, key: str) -> Body:
        name = getattr(part.value, key)
        if name != "n" and name not in self.m.bodies:
            raise self.unknown(part, key, "body", name, (*self.m.bodies, "n"))
        return self._body_named(name)

    def _points(self) -> None:
        for part in self.flat["point"]:
            p: tables.PointTable = part.value
            with self._placed(part):
                self._refuse_twice(part, p.name, self.m.points, "point")
                other = (
                    None if p.coordinates_in is None else self._find_body(part, "coordinates_in")
                )
                body = self._find_body(part, "body")
                if p.turn and p.matrix is not None:
                    raise InputError(
                        "a frame has `matrix` or `turn`, not both",
                        remedy="leave out one of them",
                        code="R103",
                    )
                matrix = rotation_of(p.turn, self.given.angle) if p.turn else p.matrix
                self.m.point(p.name, body, p.at, coordinates_in=other, matrix=matrix)

    def _driven_struts(self) -> None:
        for part in self.flat["driven_strut"]:
            with self._placed(part):
                s: DrivenStrutTable = part.value
                self._refuse_twice(part, s.name, self.m.bodies, "body")
                first, second = self.find_point(part, "first"), self.find_point(part, "second")
                given = "length" in s.model_fields_set
                length = self.given.constant(s.length, "m") if given else s.length
                self.m.drive_strut(s.name, first, second, length=length, doc=s.doc)

    def _drives(self) -> None:
        for part in self.flat["actuators"]:
            with self._placed(part):
                self.m.actuate(part.value)
        given = self.model.platform
        if given is not None:
            part = Part(given, ("platform",), given.model_dump())
            with self._placed(part):
                self.m.set_platform(self.find_point(part, "at"), axis=given.axis)
        for part in self.flat["cone_limit"]:
            with self._placed(part):
                c: ConeLimitTable = part.value
                more = {"axis": c.axis, "second_axis": c.second_axis, "at_second": c.at_second}
                self.m.limit_cone(c.joint, self.given.constant(c.angle, "rad"), **more)
        for part in self.flat["collision_capsule"]:
            with self._placed(part):
                first, second = self.find_point(part, "first"), self.find_point(part, "second")
                self.m.collision_capsule(part.value.name, first, second, part.value.radius)

    def _shapes(self) -> None:
        for part in self.flat["shape"]:
            with self._placed(part):
                from linkwright.formats.robot.body_shapes import shape_of

                shape = shape_of(part.value, self.source.file or "")
                self.m.shape(self._find_body(part, "body"), self.given.shape(shape))

    def find_point(self, part: Part, key: str) -> Point:
        """Return a point by its name: one of the model's, `o`, `b0`, `bcm`, or a body's origin."""
        m, name = self.m, getattr(part.value, key)
        found = m.points.get(name)
        if found is None and (name == "n" or name in m.bodies):
            found = self._body_named(name).origin
        found = found or m.automatic_point(name)
        if found is not None:
            return found
        known = [*m.points, "o", *(f"{b}{end}" for b in m.bodies for end in ("0", "cm"))]
        raise self.unknown(part, key, "point", name, known)

    # -- loads -------------------------------------------------------------------------------------
    def _gravity(self) -> None:
        g = self.model.gravity
        if g is not None:
            part = Part(g, ("gravity",), g.model_dump())
            with self._placed(part):
                size = g.g if "g" in g.model_fields_set else as_expr(g.g)
                self.m.gravity(along=g.along, g=size)
                length = magnitude(self.m.vector(g.along))
                if g.g != 1 and length.is_constant and abs(float(length) - 1) > 1e-6:
                    raise InputError(
                        f"`along` has the length {float(length):.6g}, not 1",
                        remedy="divide it by that, or give the acceleration itself with `g = 1`",
                    )

    def _loads(self) -> None:
        m = self.m
        for part in self.flat["body"]:
            keys = ("damping", "friction", "stiffness", "rest")
            given = {k: x for k in keys if (x := getattr(part.value, k)) is not None}
            if given:
                with self._placed(part):
                    body = m.bodies[part.value.name]
                    if self.given.inches and body.translations and body.rotations:
                        raise InputError(
                            f"the joint of {body.name!r} slides and turns, so that its "
                            f"{min(given)} has no unit of its own",
                            remedy="give it as forces and moments",
                        )
                    m.passive(body, **given)
        made = len(m.forces) + len(m.moments)
        names: set[str] = set()
        for kind in ("force", "strut", "moment"):
            for part in self.flat[kind]:
                with self._placed(part):
                    self._refuse_twice(part, part.value.name, names, "force or moment")
                    names.add(part.value.name)
                    self._load(kind, part)
        assert len(names) == len(m.forces) + len(m.moments) - made

    def _load(self, kind: str, part: Part) -> None:
        m, load = self.m, part.value
        magnitude = load.magnitude
        if kind == "force":
            at, other = self.find_point(part, "at"), self.find_point(part, "reaction")
            m.force(load.name, magnitude, at=at, along=load.along, reaction=other, doc=load.doc)
        elif kind == "strut":
            at, other = self.find_point(part, "at"), self.find_point(part, "to")
            m.strut(load.name, magnitude, at=at, to=other, doc=load.doc)
        else:
            on, against = self._find_body(part, "on"), self._find_body(part, "reaction")
            m.moment(load.name, magnitude, on=on, about=load.about, reaction=against, doc=load.doc)

    # -- relations ---------------------------------------------------------------------------------
    def _relations(self) -> None:
        enter: dict[str, Callable[[Part], None]] = {
            "point_constraint": self._point_constraint,
            "loop": self._loop,
            "distance_constraint": self._distance_constraint,
            "rolling_contact": self._rolling_contact,
            "prescribe": self._prescribe,
            "constraint": lambda part: add_constraint(self, part),
        }
        for kind, one in enter.items():
            for part in self.flat[kind]:
                with self._placed(part):
                    one(part)

    def _point_constraint(self, part: Part) -> None:
        c: tables.PointConstraint = part.value
        first, second = self.find_point(part, "first"), self.find_point(part, "second")
        self.m.constrain_points(first, second, c.along, name=c.name)

    def _loop(self, part: Part) -> None:
        c: tables.LoopTable = part.value
        first, second = self.find_point(part, "first"), self.find_point(part, "second")
        if c.joint is None:
            raise self.source.error(part.path, "the key 'joint' is missing", "add joint = ...")
        if c.relations is not None:
            known = {p.value.name for p in self.flat["constraint"]}
            for name in c.relations:
                if name not in known:
                    raise self.unknown(part, "relations", "constraint", name, known)
            stated = frozenset(c.relations)
            self.m.loops.append(ClosedLoop(c.name, first, second, joint_of(c), stated))
            return
        self.m.close_loop(
            c.name, first, second, joint_of(c), along=c.along, second_axis=c.second_axis
        )

    def _distance_constraint(self, part: Part) -> None:
        c: tables.DistanceConstraint = part.value
        first, second = self.find_point(part, "first"), self.find_point(part, "second")
        self.m.constrain_distance(first, second, c.length, name=c.name)

    def _rolling_contact(self, part: Part) -> None:
        c: tables.RollingContact = part.value
        wheel = self._find_body(part, "wheel")
        self.m.rolling_contact(wheel, c.radius, forward=c.forward, lateral=c.lateral, name=c.name)

    def _prescribe(self, part: Part) -> None:
        c: tables.Prescribe = part.value
        if c.coordinate not in self.m.coordinates:
            raise self.unknown(part, "coordinate", "coordinate", c.coordinate, self.m.coordinates)
        self.m.prescribe(self.m.coordinates[c.coordinate], c.motion, name=c.name)

    # -- states, outputs, start --------------------------------------------------------------------
    def _state_symbols(self) -> None:
        """Make the symbols of all states, so that the rate of one may use another."""
        m = self.m
        for part in self.flat["state"]:
            s: tables.StateTable = part.value
            with self._placed(part):
                self._refuse_twice(
                    part, s.name, (*m.coordinates, *m.parameters, *m.inputs, "t"), "name"
                )
                m.coordinates[s.name] = symbol(s.name, "coordinate", owner=m.name)
                _, m.units[s.name] = self.given.declared(s.name, s.initial, s.unit)

    def _states(self) -> None:
        m = self.m
        for part in self.flat["state"]:
            s: tables.StateTable = part.value
            with self._placed(part):
                initial, unit = self.given.declared(s.name, s.initial, s.unit)
                rate = m.expr(s.rate, per_second(unit))
                m.states.append(State(m.coordinates[s.name], rate, initial or 0.0))

    def _output(self, part: Part) -> None:
        o: tables.OutputTable = part.value
        if o.all is not None:
            self.m.output_all(o.all)
            return
        assert o.name is not None
        if any(o.name == other.name for other in self.m.outputs):
            self._refuse_twice(part, o.name, (o.name,), "output")
        body = None if o.body is None else self._find_body(part, "body")
        value, unit = self.given.output(o.value, o.unit)
        self.m.output(o.name, value, unit=unit, doc=o.doc, body=body)

    def _run(self) -> None:
        run = self.model.run
        with self._placed(Part(self.model, (), {})):
            self.m.set_files(scene=self.model.scene, task=self.model.task)
        if run is not None:
            with self._placed(Part(run, ("run",), run.model_dump())):
                self.m.set_timing(run.until, step=run.step, every=run.every)

    def _initial(self) -> None:
        m = self.m
        parts = self.flat["initial"]
        if not parts:
            return
        known = [*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)]
        for part in parts:
            with self._placed(part):
                if part.key not in known:
                    raise self.source.error(
                        part.path,
                        f"there is no coordinate, speed or state {part.key!r}",
                        suggestion(part.key, known),
                        key=True,
                    )
                value = part.value
                if isinstance(value, str) or self.given.inches:
                    value = m.expr(value, m.units.get(part.key, "?"))
                m.set_initial({part.key: value})
