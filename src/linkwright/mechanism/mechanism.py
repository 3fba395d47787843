"""The Mechanism: what the analyst describes, and what Linkwright derives from.

The class is built up in files: its symbols and parts (`workspace`), bodies and points (`bodies`),
loads (`loads`), actuators and platform (`drives`), and here the relations that must hold and the
results to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linkwright.algebra import Expr, free_symbols, linear_coefficients, symbol
from linkwright.algebra.units import Amount, amount, checked_unit
from linkwright.base.errors import Error
from linkwright.base.reprs import brief
from linkwright.base.viewer import Shown
from linkwright.mechanism import loops
from linkwright.mechanism.drives import DriveBuilder
from linkwright.mechanism.joints import Joint, MechanismError
from linkwright.mechanism.parts import (
    Body,
    ClosedLoop,
    Constraint,
    Output,
    Point,
    Range,
    Sensor,
    State,
    Timing,
    Work,
)
from linkwright.mechanism.quantities import DERIVED, per_second, quantities_of
from linkwright.mechanism.symbols import require_name, si_only
from linkwright.mechanism.transactions import builder
from linkwright.mechanism.workspace import Value


class Mechanism(DriveBuilder, Shown):
    """A mechanism of rigid bodies.

    Args:
        name: a word that names it; it owns the mechanism's symbols.
        doc: one line that says what it is.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> rod.omega
    rod_dot*n.z
    """

    def __repr__(self) -> str:
        counts = [
            (len(self.bodies), "body", "bodies"),
            (len(self.coordinates), "coordinate", "coordinates"),
            (len(self.constraints), "constraint", "constraints"),
            (len(self.forces) + len(self.moments), "load", "loads"),
            (len(self.parameters), "parameter", "parameters"),
        ]
        told = [f"{n} {one if n == 1 else more}" for n, one, more in counts if n]
        return f"Mechanism({self.name!r}: {', '.join(told) or 'empty'})"

    @builder
    def constrain(
        self,
        zero: Value,
        *,
        name: str = "",
        eliminate: Value = None,
        works: tuple[Work, ...] = (),
    ) -> Constraint:
        """Add a relation between speeds that must hold (for rolling, prescribed speeds).

        Args:
            zero: an expression, linear in the speeds, that must vanish.
            name: its name.
            eliminate: the speed to eliminate; chosen automatically by default.
            works: where the force that maintains it acts, for reactions; by default in the joints.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x")
        >>> m.constrain("b_dot - V").speed
        b_dot - V
        """
        speed = self.expr(zero)
        chosen = None if eliminate is None else self.expr(eliminate)
        label = name or f"constraint {len(self.constraints) + 1}"
        _refuse_nonlinear(label, speed)
        made = Constraint(label, speed, None, chosen, works=works)
        self.constraints.append(made)
        self._changed()
        return made

    @builder
    def constrain_position(
        self,
        zero: Value,
        *,
        name: str = "",
        eliminate: Value = None,
        works: tuple[Work, ...] = (),
    ) -> Constraint:
        """Add a relation between coordinates that must hold, with its rate as relation of speeds.

        Args:
            zero: an expression of the coordinates (and time) that must vanish.
            name: its name.
            eliminate: the coordinate to compute from it; chosen automatically by default.
            works: where the force that maintains it acts, for reactions; by default in the joints.

        >>> m = Mechanism("m")
        >>> a, b = m.body("a", rotate="z"), m.body("b", rotate="z")
        >>> m.constrain_position("a + 2*b").speed
        a_dot + 2*b_dot
        """
        position = self.expr(zero)
        chosen = None if eliminate is None else self.expr(eliminate)
        speed = self.kinematics().derivative(position)
        assert isinstance(speed, Expr)
        label = name or f"constraint {len(self.constraints) + 1}"
        made = Constraint(label, speed, position, None, chosen, works)
        self.constraints.append(made)
        self._changed()
        return made

    @builder
    def limit(
        self,
        coordinate: str,
        lower: Amount | None = None,
        upper: Amount | None = None,
        *,
        speed: Amount | None = None,
        effort: Amount | None = None,
    ) -> None:
        """Let runs stop a joint at the ends of a range (see `linkwright.equations.joint_stops`).

        Equations, and what is computed from them, know of no limits.

        Args:
            coordinate: of a joint with one translation or rotation, by name.
            lower: end of the range, rad or m, or a text such as "-30 deg"; None for none.
            upper: end of the range, in the same way; None for none.
            speed: greatest speed, rad/s or m/s; controllers and robot files use it, runs do not.
            effort: greatest effort, N*m or N, in the same way.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z", mass=1, inertia=1)
        >>> m.limit("b", -1.0, 1.0)
        >>> m.ranges[0].upper
        1.0
        """
        require_name(coordinate, "a coordinate")
        q = self.coordinates.get(coordinate)
        body = next((b for b in self.bodies.values() if q in b.coordinates), None)
        if q is None or body is None:
            self.unknown(
                coordinate,
                [q.name for b in self.bodies.values() for q in b.coordinates],
                "coordinate",
            )
            return
        if q in body.rotations and len(body.rotations) > 1:
            raise MechanismError(
                f"{coordinate!r} is one of several rotations of {body.name!r}, and has no limit",
                remedy="put a moment on the body",
            )
        low, high = (
            None if x is None else self.amount(coordinate, x, "a limit") for x in (lower, upper)
        )
        ends = [x for x in (low, high) if x is not None]
        other = [
            None if x is None else self.amount(coordinate, x, "a limit") for x in (speed, effort)
        ]
        if any(x is not None and not x >= 0 for x in other):
            raise MechanismError(f"a limit of {coordinate!r} is below zero")
        none = other == [None, None] and not ends
        if none or any(x != x for x in ends) or ends != sorted(ends):
            raise MechanismError(
                f"the limits of {coordinate!r} leave it no range: {lower} to {upper}",
                remedy="give a lower one below the upper one, or only one of them",
            )
        if any(given.coordinate is q for given in self.ranges):
            raise MechanismError(f"{coordinate!r} has limits already")
        self.ranges.append(Range(q, low, high, *other))
        self._changed()

    @builder
    def constrain_points(
        self,
        first: Point | Body | str,
        second: Point | Body | str,
        along: Value,
        *,
        name: str = "",
    ) -> Constraint:
        """Let two points not move apart along a direction: a relation of position and one of speed.

        Args:
            first: a point of one body, or its name; of a body, its origin.
            second: a point of another, in the same way.
            along: the direction.
            name: its name.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="xy")
        >>> m.constrain_points(b.origin, m.origin, "x").position
        b.x
        """
        first, second = self._place(name or "constrain_points", first), self._place(name, second)
        direction = self.vector(along)
        position = direction @ (first.position - second.position)
        speed = direction @ (first.velocity - second.velocity)
        made = Constraint(
            name or f"{first.name} to {second.name} along {direction}",
            speed,
            position,
            works=(Work(direction, first, second),),
        )
        self.constraints.append(made)
        self._changed()
        return made

    @builder
    def close_loop(
        self,
        name: str,
        first: Point | Body | str,
        second: Point | Body | str,
        joint: Joint,
        *,
        along: Sequence[Value] | None = None,
        second_axis: Value = None,
    ) -> tuple[Constraint, ...]:
        """Close a loop by a joint between two bodies of the tree.

        Args:
            name: a name for its relations.
            first: the body, or a point of it, in which the joint's axes are fixed; or its name.
            second: the other body, or the point of it that sits in the joint; or its name.
            joint: `Revolute("z")`, `Prismatic`, `Cylindrical`, `Universal`, `Ball`, `Planar` or
                `Weld`.
            along: directions in which the points are held together; by default the axes of the
                nearest body that both hang on.
            second_axis: the joint's axis in the second body, where it has not the same components
                as in the first (of a universal joint, the second axis).

        >>> from linkwright.mechanism import Revolute
        >>> m = Mechanism("m")
        >>> a = m.body("a", rotate="z")
        >>> b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
        >>> tip = m.point("tip", b, (1, 0, 0))
        >>> len(m.close_loop("pin", m.point("pivot", at=(1, 1, 0)), tip, Revolute("z")))
        2
        """
        require_name(name, "a loop")
        if not isinstance(joint, Joint):
            raise MechanismError(
                f"the joint of {name!r} is {brief(joint)}, which is not a joint",
                remedy='give a joint such as Revolute("z")',
            )
        for end in (first, second):
            if isinstance(end, str) and end in self.frames and len(joint.rotate) != 3:
                self.body_of(end, f"an end of {name!r}")  # the joint's axes are those of bodies
        first, second = self._place(name, first), self._place(name, second)
        made = loops.close(self, name, first, second, joint, along=along, second_axis=second_axis)
        aligned = loops.aligned(self, first.body, second.body, joint, second_axis)
        names = frozenset(c.name for c in made)
        self.loops.append(ClosedLoop(name, first, second, joint, names, aligned))
        self._changed()
        return made

    @builder
    def constrain_distance(
        self,
        first: Point | Body | str,
        second: Point | Body | str,
        length: Value,
        *,
        name: str = "",
    ) -> Constraint:
        """Hold two points at a distance, as a massless rod with a ball at each end does.

        Args:
            first: a point of one body, or its name; of a body, its origin.
            second: a point of another, in the same way.
            length: m.
            name: its name.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x")
        >>> m.constrain_distance(m.origin, b.origin, "L").speed
        b*b_dot
        """
        first, second = self._place(name or "a distance", first), self._place(name, second)
        made = loops.distance(self, first, second, self.expr(length, "m"), name)
        self._changed()
        return made

    @builder
    def prescribe(self, coordinate: Value, motion: Value, *, name: str = "") -> Constraint:
        """Let a coordinate follow a function of time.

        Args:
            coordinate: its name or symbol.
            motion: an expression of `t`, rad or m.
            name: its name.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z")
        >>> m.prescribe("b", "A*sin(2*t)").speed
        b_dot - 2*A*cos(2*t)
        """
        q = self.expr(coordinate)
        if q not in self.coordinates.values():
            raise MechanismError(f"{coordinate} is not a coordinate of {self.name!r}")
        return self.constrain_position(
            q - self.expr(motion, self.units.get(q.name, "?")),
            name=name or f"{q} is prescribed",
            eliminate=q,
        )

    @builder
    def rolling_contact(
        self,
        wheel: Body | str,
        radius: Value,
        *,
        forward: Value = None,
        lateral: bool = True,
        name: str = "",
    ) -> tuple[Constraint, ...]:
        """Let a wheel roll without slip on the ground below it, its axle level.

        Args:
            wheel: a body with one rotation, about its axle; or its name.
            radius: m.
            forward: the direction of rolling; by default across the axle and the ground's z.
            lateral: whether the wheel does not slip sideways either.
            name: a name for the relations.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x")
        >>> w = m.body("w", parent=b, rotate="y")
        >>> [str(c.speed) for c in m.rolling_contact(w, "R", lateral=False)]
        ['R*w_dot - b_dot']
        """
        wheel = self.body_of(wheel, "the wheel")
        if len(wheel.rotations) != 1 or wheel.parent is None:
            raise MechanismError(f"{wheel.name!r} has not one rotation, so it cannot roll")
        axle = wheel.frame.spins[0][1]
        ahead = (axle ^ self.z) if forward is None else self.vector(forward)
        if ahead.is_zero:
            raise MechanismError(
                f"the axle of {wheel.name!r} is upright, so it cannot roll on the ground",
                remedy="let it turn about a level axis",
            )
        spin = axle @ wheel.omega
        label = name or wheel.name
        hub, size = wheel.origin, self.expr(radius, "m")
        drive = (
            Work(-ahead, hub, self.origin),
            Work(axle * size, hub, self.origin, turns=True),
        )
        made = [
            self.constrain(
                size * spin - hub.velocity @ ahead,
                name=f"{label} rolls",
                works=drive,
            )
        ]
        if lateral:
            hold = (Work(axle, hub, self.origin), Work(ahead * size, hub, self.origin, turns=True))
            name = f"{label} does not slip"
            made.append(self.constrain(hub.velocity @ axle, name=name, works=hold))
        return tuple(made)

    @builder
    def state(
        self, name: str, derivative: Value, initial: Amount = 0.0, *, unit: str = "?"
    ) -> Expr:
        """Add a first-order state of your own.

        Args:
            name: its name.
            derivative: its rate; the text may use the state itself.
            initial: its value at the start.
            unit: its unit.

        >>> m = Mechanism("m")
        >>> m.state("z", "-k*z")
        z
        """
        require_name(name, "a state")
        self._refuse_taken(name)
        initial = amount(initial, f"the start of {name!r}", unit)
        z = symbol(name, "coordinate", owner=self.name)
        self.coordinates[name] = z
        self.units[name] = si_only(unit, name)
        self.states.append(State(z, self.expr(derivative, per_second(unit)), initial))
        self._changed()
        return z

    @builder
    def sensor(self, name: str, kind: str, on: str) -> None:
        """Declare a sensor, for robot files; it adds no channel and costs nothing in runs.

        Args:
            name: its name.
            kind: what it measures, in MJCF's words: "jointpos", "gyro", "force".
            on: name of the coordinate, body or point that it is on.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z")
        >>> m.sensor("encoder", "jointpos", "b")
        >>> m.sensors[0].on
        'b'
        """
        require_name(name, "a sensor")
        if any(name == given.name for given in self.sensors):
            raise MechanismError(f"{self.name!r} has a sensor {name!r} already")
        known = ("n", *self.coordinates, *self.bodies, *self.points)
        if on not in known and not any(q.startswith(f"{on}.") for q in self.coordinates):
            self.unknown(on, known, "coordinate, body or point")
        self.sensors.append(Sensor(name, kind, on))

    @builder
    def output(
        self,
        name: str,
        value: Value,
        *,
        unit: str = "?",
        doc: str = "",
        body: Body | str | None = None,
    ) -> Output:
        """Add a channel of results.

        Args:
            name: its name.
            value: an expression; accelerations may occur in it.
            unit: its unit.
            doc: a longer name.
            body: the body that it belongs to, or its name.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z")
        >>> m.output("rate", b.omega @ m.z, unit="rad/s").value
        b_dot
        """
        require_name(name, "an output")
        if any(name == o.name for o in self.outputs):
            raise MechanismError(f"{self.name!r} has an output {name!r} already")
        checked_unit(unit, name)
        owner = "" if body is None else self.body_of(body, name, placed=False).name
        made = Output(name, self.expr(value), unit, doc or name, owner)
        self.outputs.append(made)
        return made

    @builder
    def output_all(self, *kinds: str) -> None:
        """Add channels for all quantities of some kinds, under their own names, each once.

        Args:
            kinds: "coordinates", "speeds", "accelerations", "forces", "moments"; "energies"
                (energy.kinetic, energy.potential, J, and energy.power of the loads, W);
                "reactions" (for the joint of each body b the force b.Fx to b.Fz, N, and the moment
                b.Mx to b.Mz, N*m, that its parent puts on it, along its axes and about its origin,
                of a robot file those of the link;
                "force of NAME" for a constraint). The last two follow loads that come later.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z", doc="rod")
        >>> m.output_all("coordinates", "speeds")
        >>> [(o.name, o.unit, o.doc) for o in m.outputs]
        [('b', 'rad', 'Rot. of b rel. to n, axis z'), ('b_dot', 'rad/s', 'Rate of b')]
        """
        for kind in kinds:
            known = {o.name for o in self.outputs}
            found: Sequence[Output]
            if kind in DERIVED:
                from linkwright.base.hooks import derived_outputs

                found = derived_outputs[kind](self)
            else:
                found = [
                    Output(q.name, q.value, q.unit, q.doc, q.body)
                    for q in quantities_of(self, kind)
                ]
            self.outputs.extend(o for o in found if o.name not in known)

    @builder
    def set_timing(self, until: float, *, step: float, every: int = 1) -> None:
        """Say how long a run is, and in which steps, by default.

        Args:
            until: end time, s.
            step: of a method with fixed steps, s.
            every: steps from one record to the next.

        >>> m = Mechanism("m")
        >>> m.set_timing(2, step=0.025, every=2)
        >>> m.timing
        Timing(until=2, step=0.025, every=2)
        """
        if not 0 < step <= until or every < 1:
            raise MechanismError(f"a run of {until} s cannot go in steps of {step} s")
        self.timing = Timing(until, step, every)

    @builder
    def set_files(self, *, scene: str = "", task: str = "") -> None:
        """Name the files that belong to the mechanism, in the folder of its own file.

        Args:
            scene: a scene file that it is drawn with; none where empty.
            task: a task file that says what it has to do; none where empty.

        >>> m = Mechanism("m")
        >>> m.set_files(task="reach.toml")
        >>> m.files
        {'task': 'reach.toml'}
        """
        given = {k: v for k, v in (("scene", scene), ("task", task)) if v}
        for kind, name in given.items():
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise MechanismError(
                    f"the {kind} {name!r} is not in the folder of the model",
                    remedy="put it beside the model, and give its name",
                    code="R118",
                )
        self.files = given

    def file_beside(self, kind: str) -> str:
        """Return the path of a file that the mechanism names, or nothing where it names none.

        Args:
            kind: "scene" or "task".

        >>> Mechanism("m").file_beside("task")
        ''
        """
        name = self.files.get(kind, "")
        home = "" if self.provenance is None else self.provenance.file
        return str(Path(home).parent / name) if name and home else name

    @builder
    def function(self, name: str, callable_: Callable[..., object]) -> None:
        """Make a function known to texts: a table, a foreign function, a Python callable.

        Args:
            name: how texts call it.
            callable_: expressions to an expression.

        >>> m = Mechanism("m")
        >>> m.function("twice", lambda x: 2 * x)
        >>> m.expr("twice(a)")
        2*a
        """
        self.functions[name] = callable_

    def equations(self, formulation: str = "auto") -> Any:
        """Return the equations of motion; short for `linkwright.derive`, one layer up.

        Args:
            formulation: how they are formed; "auto" takes the one with the fewest operations.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x", mass=2)
        >>> f = m.force("push", "F", at=b.origin, along="x")
        >>> [str(u) for u in m.equations().speeds]
        ['b_dot']
        """
        from linkwright.base.hooks import derive

        return derive(self, formulation)


def _refuse_nonlinear(name: str, zero: Expr) -> None:
    """Refuse a relation that is not linear in the speeds."""
    speeds = [x for x in free_symbols(zero) if x.data.role == "speed"]
    try:
        linear_coefficients(zero, speeds)
    except Error:
        raise MechanismError(
            f"{name!r} is not linear in the speeds: {str(zero)[:80]}",
            remedy="a constraint between speeds is a sum of speeds, each with a factor of "
            "coordinates, parameters and time",
        ) from None
