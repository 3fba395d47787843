"""The System: a mechanism and everything that acts on it, symbolic to the end.

    s = System(arm)
    servo = s.add(control.ComputedTorque(arm, kp=400, kd=40), rate=500)
    s.add(my_python_task, rate=60, outputs="target")
    s.connect("my_python_task.target", servo.q1_target)

- A member that is continuous acts at every instant; one with a rate runs at exact instants of the
  base clock and holds its outputs in between.
- At a tick, the members that are due run in the order in which they need each other, all reading
  the same state of the mechanism; memory changes after all outputs are known.
- A port that nothing drives is an input of the System, with its default. A port can be driven by
  any expression of other ports and of the mechanism.
- `phases` flattens the System to one Program for each thing that happens in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, as_expr
from linkwright.algebra.language import parse
from linkwright.algebra.units import Amount, amounts, parse_unit, unit_of
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, UnitError
from linkwright.base.reprs import brief
from linkwright.base.viewer import Shown
from linkwright.blocks import (
    CONTINUOUS,
    Block,
    BlockError,
    Element,
    Foreign,
    Port,
    Rate,
    as_rate,
    exact,
    mechanism_of,
)
from linkwright.equations.equations import Equations
from linkwright.mechanism import Mechanism, ModelLike, resolved
from linkwright.mechanism.structure import content_of
from linkwright.system.clock import Clock, make_clock
from linkwright.system.composite import add_system, exposed
from linkwright.system.default_wires import bring_sources, members_of, take_defaults, whole_of
from linkwright.system.member import Member, Wire
from linkwright.system.numbers import followed, numbered
from linkwright.system.phases import Phases
from linkwright.system.scope import SystemScope

if TYPE_CHECKING:
    from linkwright.system.flatten import Flattened
    from linkwright.system.forms import Form

Source = Any
"""A number, an expression, a text, or a sequence of these for an array."""

KEPT = 8
"""How many flattened forms of a System are kept."""

NEWTON_STEPS = 8
"""Steps of Newton's method in an algebraic loop that is not linear."""


class System(Shown):
    """A mechanism with everything that acts on it.

    Args:
        mechanism: a mechanism, a robot, a file, the name of a shipped model, equations derived from
            one, which are integrated as they are, or None for blocks alone.
        name: of the System; the mechanism's by default.
        base: the base clock, Hz; by default the slowest of which all rates are parts.
        formulation: how the equations of motion are derived: "quick", or as for `derive`,
            which finds smaller ones and takes longer.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> s = System(m)
    >>> motor = Element("motor", m)
    >>> u = motor.input("u", unit="V")
    >>> tau = motor.effort("tau", "rod", 2 * u)
    >>> added = s.add(motor)
    >>> s.connect("-rod - 0.5*rod_dot", added.u)
    >>> [x.name for x in s.phases().x]
    ['rod', 'rod_dot']
    """

    def __init__(
        self,
        mechanism: Any = None,
        *,
        name: str = "",
        base: float | Fraction | None = None,
        formulation: str = "quick",
    ) -> None:
        self.mechanism = (
            Mechanism(name or "system") if mechanism is None else mechanism_of(mechanism)
        )
        self.equations = mechanism if isinstance(mechanism, Equations) else None
        self.name = name or self.mechanism.name
        self.owner = f"system {self.name}"
        self.base = None if base is None else 1 / exact(base)
        self.formulation = formulation
        self.time = self.mechanism.time
        self.members: dict[str, Member] = {}
        self.wires: dict[Expr, Wire] = {}
        self.values: dict[str, float] = {}
        self.initial: dict[str, float] = {}
        self.knots: tuple[float, ...] = ()  # instants at which steps end, s
        self.notes: tuple[str, ...] = ()  # what recordings tell of it besides, in sentences
        self.exposed_inputs: dict[str, Port] = {}
        self.exposed_outputs: dict[str, Port] = {}
        self.brought: set[str] = set()
        """Names of members that came with another one that reads them."""
        self._flat: dict[object, Flattened] = {}

    # -- members -----------------------------------------------------------------------------------
    def add(
        self,
        part: Block | System | Callable[..., Any],
        *,
        rate: Rate | float | Fraction | None = None,
        name: str = "",
        outputs: Any = (),
        inputs: Mapping[str, Any] | None = None,
    ) -> Member:
        """Add a block, an element, a System or a Python function; return it as a member.

        Args:
            part: what to add. Arguments of a function are ports; those named as something of the
                mechanism read that, `q` and `u` all coordinates and speeds, `t` the time in s. A
                System is taken as it is now, its members under dotted names; see `expose`. What
                ports of a block read by default, such as the wrist of a law of force, comes along.
            rate: hertz, or a `Rate`; by default the block's own, or continuous. The members of a
                System have their own.
            name: of the member; the block's by default.
            outputs: of a function, the names of its output ports; see `linkwright.blocks.Foreign`.
            inputs: of a function, the sizes of its input ports that are arrays; None for a number
                that is an input of the System, with a default of 0. Any other argument needs a
                default or something that drives it.

        >>> s = System(name="s")
        >>> s.add(lambda t: 2 * t, rate=10, name="ramp", outputs="y")
        Member(ramp, 10 Hz)
        """
        if isinstance(part, System):
            if rate is not None or outputs or inputs:
                raise BlockError(
                    f"the members of {part.name!r} have rates and ports of their own",
                    remedy="add a System with its name= alone, and expose its ports",
                )
            return add_system(self, part, self._label(name, part.name))
        block = part if isinstance(part, Block) else self._foreign(part, name, outputs, inputs)
        chosen = as_rate(rate) if rate is not None else (block.rate or CONTINUOUS)
        given, block = block, block.at_rate(chosen)
        if isinstance(block, Element) and block.mechanism is not self.mechanism:
            raise BlockError(
                f"{block.name!r} acts on {block.mechanism.name!r}, not on {self.mechanism.name!r}"
            )
        for there in members_of(self, given):
            if there.name in self.brought:
                return self._again(there, rate, name)
        bring_sources(self, block)
        label = self._label(name, block.name)
        member = Member(label, block, chosen, self.owner, self.time)
        member.added_block = given
        self.members[label] = member
        take_defaults(self, member)
        return member

    def _again(self, there: Member, rate: Any, name: str) -> Member:
        """Return a member that came with another one, where it is added as it is."""
        if rate is None and name in ("", there.name):
            return there
        raise BlockError(
            f"{there.name!r} is in {self.name!r} already, with a member that reads it",
            remedy="add it before that member to give it a rate or a name",
        )

    def _foreign(
        self,
        function: Callable[..., Any],
        name: str,
        outputs: Any,
        inputs: Mapping[str, Any] | None,
    ) -> Foreign:
        import inspect

        if not callable(function):
            raise BlockError(
                f"{brief(function)} is not a block, an element or a function",
                remedy="add a Block, an Element, or a function with a rate",
            )
        sizes = dict(inputs or {})
        for argument in inspect.signature(function).parameters:
            whole = whole_of(self.mechanism, argument)
            if whole is not None:
                sizes.setdefault(argument, len(whole))
        return Foreign(function, outputs=outputs, inputs=sizes, name=name)

    def names(self) -> list[str]:
        """Return the names that an argument of a function can have to read the mechanism.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x", mass=1)
        >>> System(m).names()[:2]
        ['b', 'b_dot']
        """
        m = self.mechanism
        speeds = [s.symbol.name for s in m.kinematics().speeds]
        whole = ["q", "u"] if speeds else []
        return [*m.coordinates, *speeds, *m.inputs, *m.parameters, *whole, "t"]

    def _label(self, name: str, stem: str) -> str:
        """Return the name of a new member: a given one that is free, or a free one."""
        label, k = name or stem, 1
        while label in self.members or label in self.mechanism.bodies:
            if name:
                raise BlockError(
                    f"the name {name!r} is taken in {self.name!r}", remedy="give name=..."
                )
            k += 1
            label = f"{stem}{k}"
        return label

    def apart(self, name: str) -> tuple[str, str]:
        """Return the member that a dotted name begins with, and the rest; "" for no member."""
        if not isinstance(name, str):
            raise InputError(f"a name must be a text, not {brief(name)}")
        member, rest = name, ""
        while member and member not in self.members:
            member, _, last = member.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return member, rest

    def __getitem__(self, name: str) -> Any:
        """Return a member by its name, or a port by `member.port`."""
        member, port = self.apart(name)
        if not member:
            there = ", ".join(self.members)
            raise BlockError(
                f"{self.name!r} has no member {name.partition('.')[0]!r}", remedy=f"it has {there}"
            )
        return self.members[member][port] if port else self.members[member]

    # -- wiring ------------------------------------------------------------------------------------
    def connect(self, source: Source, target: Any, *, solve: bool = False) -> None:
        """Drive an input port of a member, or an input of the mechanism.

        Args:
            source: an expression of ports and of the mechanism, a number, a text (`"pd.tau"`, the
                name of an output of the mechanism, a formula), or a sequence of these.
            target: the port, its name, or the name of an input of the mechanism.
            solve: whether this connection closes an algebraic loop that is to be solved.

        >>> s = System(name="s")
        >>> a = Block("a")
        >>> u, v = a.input("u"), a.input("v")
        >>> member = s.add(a)
        >>> s.connect("sin(t)", "a.u")
        >>> s.connect(2 * member.u, member.v)
        >>> s.inputs()
        {}
        """
        places = self._targets(target)
        values = self._sources(source, len(places))
        for x, value in zip(places, values, strict=True):
            self._check_units(value, x)
            self.wires[x] = Wire(value, solve)

    @worded
    def expose(self, name: str, what: Any) -> None:
        """Give the System a port: what a larger System sees of it, and what is linearized.

        An input that nothing drives (or nothing but its default) becomes an input port; anything
        else is an output port.

        Args:
            name: of the port.
            what: a port of a member, an expression of ports and of the mechanism, a text as in
                `connect`, or a sequence of these.

        >>> lag = Block("lag")
        >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "u - x"))
        >>> drive = System(name="drive")
        >>> member = drive.add(lag)
        >>> drive.expose("u", member.u)
        >>> drive.expose("power", "lag.u*lag.y")
        >>> s = System(name="s")
        >>> left, right = s.add(drive, name="left"), s.add(drive, name="right")
        >>> s.connect(2 * left.power, right.u)
        >>> s.inputs(), s["right.lag.y"]
        ({'left.u': 0.0}, right.lag.y)
        """
        taken = {*self.exposed_inputs, *self.exposed_outputs, *self.members}
        if not name.isidentifier() or name in taken:
            raise BlockError(
                f"{name!r} cannot name a port of {self.name!r}",
                remedy="use a word that names no member and no other port",
            )
        port = exposed(self, name, what)
        open_ = self.open_inputs()
        is_input = all(x in open_ for x in port.symbols)
        (self.exposed_inputs if is_input else self.exposed_outputs)[name] = port

    def _all_inputs(self) -> dict[Expr, Expr]:
        """Return everything that can be driven, with its default."""
        m = self.mechanism
        found = {x: as_expr(m.values[n]) for n, x in m.inputs.items()}
        for member in self.members.values():
            for port, symbols in member.inputs():
                found.update(zip(symbols, member.of(port.values), strict=True))
        return found

    def open_inputs(self) -> dict[Expr, Expr]:
        """Return the inputs that nothing drives, or nothing but their default, with that.

        >>> s = System(name="s")
        >>> b = Block("b")
        >>> u = b.input("u", 2.0)
        >>> member = s.add(b)
        >>> s.open_inputs()
        {b.u: 2}
        """
        return {
            x: as_expr(self.values.get(x.name, float(value.data))) if value.op == "num" else value
            for x, value in self._all_inputs().items()
            if x not in self.wires or (self.wires[x].value is value and value.op != "num")
        }

    def _targets(self, target: Any) -> tuple[Expr, ...]:
        if isinstance(target, str):
            inputs = self.mechanism.inputs
            target = inputs[target] if target in inputs else self[target]
        places = tuple(target) if isinstance(target, tuple | list) else (target,)
        known = set(self.mechanism.inputs.values())
        known.update(x for each in self.members.values() for _, port in each.inputs() for x in port)
        for x in places:
            if x not in known:
                raise BlockError(f"{x} is not an input of {self.name!r}, so nothing can drive it")
        return places

    def _sources(self, source: Source, count: int) -> list[Expr]:
        if isinstance(source, str):
            source = self.read(source)
        alone = not isinstance(source, tuple | list)
        many = [source] * count if alone and count == 1 else source
        if not isinstance(many, tuple | list) or len(many) != count:
            given = 1 if alone else len(source)
            raise BlockError(f"{given} value(s) cannot drive a port of {count}")
        return [self.expr(x) for x in many]

    @worded
    def read(self, text: str) -> Any:
        """Return a port, an output of the mechanism or a formula by its text.

        Args:
            text: what is meant.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z", mass=1, inertia=1)
        >>> System(m).read("2*b + t")
        2*b + t
        """
        member, port = self.apart(text)
        if member and port.isidentifier():
            return self.members[member][port]
        for output in self.mechanism.outputs:
            if output.name == text:
                return output.value
        return parse(text, SystemScope(self))

    def expr(self, value: Source) -> Expr:
        """Return one number, expression or text as an expression of the System."""
        found = self.read(value) if isinstance(value, str) else value
        if isinstance(found, tuple | list):
            raise BlockError(f"{value!r} is an array of {len(found)}, where one value is needed")
        return as_expr(found)

    def _check_units(self, value: Expr, target: Expr) -> None:
        wanted = target.data.unit
        m = self.mechanism
        if wanted == "?":
            wanted = m.units.get(target.name, "?") if target in m.inputs.values() else "?"
        if wanted == "?" or value.op != "sym":
            return  # a factor in a formula may stand for a unit
        speeds = [s.symbol for s in m.kinematics().speeds]
        own = (*m.parameters.values(), *m.coordinates.values(), *m.inputs.values(), *speeds)
        known = {x: m.units[x.name] for x in own if m.units.get(x.name, "?") != "?"}
        found = unit_of(value, known)
        if found is not None and not found.fits(parse_unit(wanted)):
            raise UnitError(f"{target.name} is in {wanted}, but {value} is in {found}")

    # -- numbers -----------------------------------------------------------------------------------
    def set_parameters(self, parameters: Mapping[str, Amount]) -> None:
        """Set values of parameters and of inputs that nothing drives.

        Args:
            parameters: by name, such as `"pd.kp"`; those of the mechanism by their own names.

        >>> s = System(name="s")
        >>> b = Block("b")
        >>> u = b.input("u")
        >>> member = s.add(b)
        >>> s.set_parameters({"b.u": 3})
        >>> s.inputs()
        {'b.u': 3.0}
        """
        self.values.update(amounts(parameters, "parameters", self._unit_of))

    def set_initial(self, values: Mapping[str, Amount]) -> None:
        """Set where states start.

        Args:
            values: by name; coordinates and speeds of the mechanism by their own names.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x", mass=1)
        >>> s = System(m)
        >>> s.set_initial({"b": 0.5})
        >>> [x.value for x in s.phases().x]
        [0.5, 0.0]
        """
        self.initial.update(amounts(values, "initial", self._unit_of))

    def _unit_of(self, name: str) -> str:
        """Return the unit of a parameter, input or state; "?" where it is not known."""
        home, _, own = name.rpartition(".")
        if home not in self.members:
            return self.mechanism.units.get(name, "?")
        block = self.members[home].block
        if own in block.parameters:
            return block.parameters[own].unit
        states = (*block.states.values(), *block.discrete_states.values())
        known = {s.symbol.name: s.unit for s in states}
        return block.inputs[own].unit if own in block.inputs else known.get(own, "?")

    def clock(self) -> Clock:
        """Return the base clock and when each member runs.

        >>> System(name="s").clock().tick
        Fraction(1, 1000)
        """
        return make_clock({n: m.rate for n, m in self.members.items()}, self.base)

    @property
    def is_continuous(self) -> bool:
        """Whether nothing is sampled and no base clock is given, so that any tick will do."""
        return self.base is None and not any(m.rate != CONTINUOUS for m in self.members.values())

    # -- the flattened System ----------------------------------------------------------------------
    @worded
    def phases(self, record: Iterable[str] | None = None) -> Phases:
        """Return the System flattened to one Program for each thing that happens in a run.

        Args:
            record: names of the channels that are asked for: outputs of the mechanism, ports; all
                of them by default. What nobody asks for is not computed.
        """
        return self.numbered(self.flattened(record))

    def numbered(self, flattened: Flattened) -> Phases:
        """Return phases with the numbers that the System has now.

        Args:
            flattened: what `flattened` returned.
        """
        if not hasattr(flattened, "phases"):
            raise BlockError(f"{brief(flattened)} is not a flattened System")
        return numbered(self, flattened.phases, flattened.mechanism)

    @worded
    def flattened(self, record: Iterable[str] | None = None, form: Form | None = None) -> Flattened:
        """Return the phases in a form, without numbers, and the mechanism as its equations have it.

        Args:
            record: as for `phases`.
            form: which speeds of a constrained mechanism are integrated.
        """
        from linkwright.system.flatten import flatten

        if form is not None and not hasattr(form, "redundant"):
            raise BlockError(f"{brief(form)} is not a form", remedy="leave it out")
        wanted = None if record is None else tuple(record)
        for member in self.members.values():
            member.refresh()
        key = (wanted, form, tuple(followed(self)), self.knots, *self.content())
        if form is not None and form.redundant:
            return flatten(self, wanted, form)  # which belongs to one run
        if key not in self._flat:
            while len(self._flat) >= KEPT:
                del self._flat[next(iter(self._flat))]
            self._flat[key] = flatten(self, wanted, form)
        return self._flat[key]

    def content(self) -> tuple[object, ...]:
        """Return all that the flattened System depends on, numbers apart; equal while it is.

        >>> s = System(name="s")
        >>> before = s.content()
        >>> member = s.add(Block("b"))
        >>> s.content() == before
        False
        """
        members = ((n, m.rate, *m.block.content()) for n, m in self.members.items())
        wires = tuple(self.wires.items())
        return (
            self.name,
            self.base,
            self.formulation,
            self.equations,
            content_of(self.mechanism),
            tuple(members),
            wires,
            tuple(self.exposed_outputs.values()),
        )

    def inputs(self) -> dict[str, float]:
        """Return the inputs of the System: what nothing drives, with defaults.

        >>> s = System(name="s")
        >>> b = Block("b")
        >>> u = b.input("u", 2.0)
        >>> member = s.add(b)
        >>> s.inputs()
        {'b.u': 2.0}
        """
        open_ = self.open_inputs()
        return {x.name: float(value.data) for x, value in open_.items() if x not in self.wires}

    def copy(self) -> System:
        """Return a System with the same members and wires that can be changed by itself.

        >>> s = System(name="s")
        >>> s.copy()
        System(s: no members)
        """
        made = System(
            self.equations or self.mechanism, name=self.name, formulation=self.formulation
        )
        made.base = self.base
        made.members, made.wires = dict(self.members), dict(self.wires)
        made.values, made.initial = dict(self.values), dict(self.initial)
        made.brought, made.knots, made.notes = set(self.brought), self.knots, self.notes
        made.exposed_inputs = dict(self.exposed_inputs)
        made.exposed_outputs = dict(self.exposed_outputs)
        made._flat = self._flat  # each is found by its content
        return made

    def summary(self) -> str:
        """Return what the System is made of, in lines: members, rates, ports and wires.

        >>> s = System(name="s")
        >>> b = Block("lag")
        >>> u, y = b.input("u"), b.output("y", b.state("x", "u - x"))
        >>> member = s.add(b)
        >>> s.connect("sin(t)", member.u)
        >>> print(s.summary())
        s, base clock 1000 Hz
        lag, continuous: 1 state
          u <- sin(t)
          y
        """
        lines = [f"{self.name}, base clock {1 / self.clock().tick} Hz"]
        for member in self.members.values():
            block = member.block
            counts = ((len(block.states), "state"), (len(block.discrete_states), "discrete state"))
            held = ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in counts if n)
            lines.append(f"{member.name}, {member.rate}" + (f": {held}" if held else ""))
            for port, symbols in member.inputs():
                for x, default in zip(symbols, port.values, strict=True):
                    wire = self.wires.get(x)
                    drive = f"{default} (input)" if wire is None else str(wire.value)
                    own = x.name.removeprefix(f"{member.name}.")
                    lines.append(f"  {own} <- {shorten(drive, 60, placeholder='...')}")
            lines.extend(f"  {name}" for name in block.outputs)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"System({self.name}: {', '.join(self.members) or 'no members'})"


def system_of(given: ModelLike) -> System:
    """Return a System, or that of a mechanism, a robot, a file or a model's name alone.

    >>> system_of(Mechanism("m"))
    System(m: no members)
    """
    model = resolved(given)
    if not isinstance(model, System):
        mechanism_of(model)  # which says what is taken, where this is none
        return System(model)
    return model
