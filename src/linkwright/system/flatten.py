"""Flattening: from a System to the Programs of its phases.

Everything that a System computes is one table of definitions over the arrays x, d, p, w and the
time; the Program of a phase is what its results need of that table, made small as a whole, across
the borders of blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from linkwright.algebra import ZERO, Expr, substitute_all, symbol, total
from linkwright.algebra.smallness import current_threshold, terms_kept
from linkwright.algebra.units import MKS
from linkwright.blocks import BlockError, Element, Foreign, FunctionSlot
from linkwright.blocks.foreign import TickFunction
from linkwright.equations import Equations, derive
from linkwright.equations.description import meanings
from linkwright.equations.energy import energy_outputs
from linkwright.equations.formulations import QUICK
from linkwright.equations.joint_stops import run_facts, run_notes, stop_loads
from linkwright.equations.poles import poles
from linkwright.equations.reactions import load_on_branch
from linkwright.mechanism import Body, Force, Mechanism, Moment
from linkwright.mechanism.parts import Output
from linkwright.program import Program, Statement, optimize
from linkwright.system.breaks import breaks_program
from linkwright.system.clock import Clock
from linkwright.system.composite import through_ports
from linkwright.system.definitions import Definitions, with_choices, with_names, with_solution
from linkwright.system.driven_inputs import told_drives
from linkwright.system.dynamics import MECHANISM, define, equations_of
from linkwright.system.forms import (
    LIMIT,
    Form,
    Guards,
    KeptSpeeds,
    guards_of,
    is_driven,
    is_regular,
    redundant_equations,
)
from linkwright.system.member import Member, Wire
from linkwright.system.numbers import followed, parameters, starts
from linkwright.system.order import Readers, Segment, segments
from linkwright.system.phases import Phases, Signal, Tick, phase_program, with_coordinates
from linkwright.system.transitions import (
    accepted_program,
    events_of,
    initialize_program,
    settled_states,
)

if TYPE_CHECKING:
    from linkwright.system.system import System


@dataclass(frozen=True, slots=True, eq=False)
class Flattened:
    """The phases of a System in a form, and the mechanism as its equations have it."""

    phases: Phases  # without numbers
    mechanism: Mechanism  # with exact relations between speeds
    equations: Equations | None  # of motion; None where nothing moves
    trusted: bool = True  # whether guards say where the form fails, or it never does
    kept: KeptSpeeds | None = None  # what solves the constraints where all speeds are kept


@dataclass(slots=True)
class FlatSystem:
    """A System being flattened: its arrays, its definitions and the Programs made so far."""

    system: System
    clock: Clock
    wires: Mapping[Expr, Wire]
    equations: Equations | None
    table: Definitions
    x: list[Signal] = field(default_factory=list)
    d: list[Signal] = field(default_factory=list)
    p: list[Signal] = field(default_factory=list)
    w: list[Signal] = field(default_factory=list)
    rates: list[Expr] = field(default_factory=list)
    starts: dict[Expr, Expr] = field(default_factory=dict)
    noise: dict[Expr, int] = field(default_factory=dict)
    energies: tuple[Output, ...] = ()
    guards: Guards | None = None
    kept: KeptSpeeds | None = None
    settled: dict[Expr, Expr] = field(default_factory=dict)

    @property
    def members(self) -> list[Member]:
        """The members of the System."""
        return list(self.system.members.values())

    @property
    def held(self) -> list[Member]:
        """The members that run at ticks."""
        return [m for m in self.members if m.held]

    def program(
        self,
        name: str,
        outputs: Mapping[str, Sequence[Expr]],
        *,
        table: Definitions | None = None,
        renamed: Mapping[Expr, Expr] | None = None,
        more: Sequence[Statement] = (),
        tick: Expr | None = None,
        noise: Sequence[Expr] = (),
        quick: bool = False,
    ) -> Program:
        """Return the Program of a phase, optimized unless it is to be made quickly."""
        source = self.table if table is None else table
        roots = [x for values in outputs.values() for x in values]
        roots += [x for s in more for x in s.operands]
        statements = [*source.ordered(roots), *more]
        constants = {x: v for x, v in followed(self.system).items() if v.op == "num"}
        if constants:  # of something that is not there
            statements = [s for s in statements if s.targets[0] not in constants]
            renamed = {**constants, **(renamed or {})}
        if renamed:
            statements = [with_names(s, renamed) for s in statements]
            outputs = {k: substitute_all(v, renamed) for k, v in outputs.items()}
        signals = {"x": self.x, "d": self.d, "p": self.p, "w": self.w}
        made = phase_program(
            _word(f"{self.system.name}_{name}"),
            signals,
            self.system.time,
            outputs,
            statements=statements,
            tick=tick,
            noise=noise,
        )
        if quick or self.kept is not None:
            return made
        return optimize(made, brief=tick is not None)


def flatten(
    system: System, record: Sequence[str] | None = None, form: Form | None = None
) -> Flattened:
    """Return the phases of a System, without the numbers (`numbered` puts them in)."""
    if current_threshold() <= system.mechanism.small_order:
        with terms_kept(system.mechanism.small_order):
            return flatten(system, record, form)
    form = form or Form()
    clock = system.clock()
    for name in clock.schedules:
        system.members[name].set_period(clock.period(name))
    forces, moments = _loads(system)
    wires = through_ports(system, {**system.wires, **_branches(system, [*forces, *moments])})
    stops, couples = ((), ()) if system.equations else stop_loads(system.mechanism)
    view = system.mechanism.with_loads([*forces, *stops], [*moments, *couples], _armatures(system))
    tree = redundant_equations(view) if form.redundant else None
    equations = _derived(system, view, form) if tree is None else tree[0]
    flat = FlatSystem(system, clock, wires, equations, Definitions(), starts=starts(system))
    flat.energies = energy_outputs(view, _armatures(system, "unfelt")) if view.bodies else ()
    _define(flat)
    if tree is not None:
        flat.kept = KeptSpeeds(*tree, flat.table, parameters(system))
        found, moved = flat.kept.calls()
        for a, value in zip(tree[0].accelerations, found, strict=True):
            flat.table.let(a, value, MECHANISM)
        flat.settled = dict(zip(flat.kept.moved, moved, strict=True))
    regular = equations is None or form.redundant or is_regular(equations.mechanism)
    if equations is not None and not regular and form.guarded:
        flat.guards = guards_of(equations, form.reference)
    _states(flat)
    channels = _channels(flat, record)
    outputs = [value for _, value in channels]
    _parameters(flat, outputs)
    ticks = _segments(flat)
    event_list, followed_by = events_of(flat)
    follows = {x.name: str(value) for x, value in followed(system).items()}
    derivative = flat.program("derivative", {"x_dot": flat.rates})
    phases = Phases(
        system.name,
        with_coordinates(flat.x, derivative),
        tuple(flat.d),
        tuple(flat.p),
        tuple(flat.w),
        system.time,
        float(clock.tick),
        derivative,
        tuple(tick for segment in ticks for tick in _ticks(flat, segment)),
        accepted_program(flat),
        flat.program("output", {"y": outputs}) if outputs else None,
        tuple(signal for signal, _ in channels),
        event_list=event_list,
        initialize=initialize_program(flat),
        breaks=breaks_program((derivative, followed_by.get("events")), system.knots),
        **followed_by,
        quaternions=_quaternions(flat),
        meta={
            "system": system.name,
            "tick": str(clock.tick),
            "members": _told(system),
            "drives": told_drives(system),
            **({"display": shown.name} if (shown := system.mechanism.display) is not MKS else {}),
            **({"limits": True} if system.mechanism.ranges else {}),
            **({"stops": facts} if (facts := _stop_facts(system)) else {}),
            **({"jumps": True} if ticks or any(not e.guard for e in event_list) else {}),
            **({"follows": follows} if follows else {}),
            **({"notes": list(notes)} if (notes := _notes(system)) else {}),
            **({"report": told} if (told := _report(system, equations)) else {}),
            **({"driven": True} if is_driven(system.mechanism) else {}),
            **({"poles": turning} if (turning := _poles(system.mechanism)) else {}),
            "rotations": max((_rotations(b) for b in system.mechanism.bodies.values()), default=0),
        },
    )
    mechanism = system.mechanism if equations is None else equations.mechanism
    trusted = regular or not form.guarded or flat.guards is not None
    return Flattened(phases, mechanism, equations, trusted, flat.kept)


def _loads_of(mechanism: Mechanism) -> int:
    return len(mechanism.forces) + len(mechanism.moments)


def _derived(system: System, view: Mechanism, form: Form) -> Equations | None:
    """Return the equations in which some speeds are eliminated."""
    if system.equations is not None and not form.dependent:
        if len(view.forces) + len(view.moments) > _loads_of(system.mechanism):
            raise BlockError(
                f"elements act on {system.name!r}, and its equations were derived without them",
                remedy="make the System of the mechanism, with formulation=...",
            )
        return system.equations
    if not form.dependent:
        return equations_of(view, system.formulation)
    names = {s.symbol.name: s.symbol for s in view.kinematics().speeds}
    return derive(
        view,
        QUICK,
        closed_at={view.coordinates[n]: v for n, v in form.at},
        dependent=[names[n] for n in form.dependent],
        parameters=parameters(system),
    )


# -- definitions -----------------------------------------------------------------------------------
def _loads(system: System) -> tuple[list[Force], list[Moment]]:
    """Return the loads of all elements, their magnitudes as symbols of the System."""
    forces: list[Force] = []
    moments: list[Moment] = []
    for member in system.members.values():
        if isinstance(member.block, Element):
            for load in member.block.forces:
                name = f"{member.name}.{load.name}"
                forces.append(replace(load, name=name, magnitude=member.of([load.magnitude])[0]))
            for couple in member.block.moments:
                name = f"{member.name}.{couple.name}"
                turned = replace(couple, name=name, magnitude=member.of([couple.magnitude])[0])
                moments.append(turned)
    return forces, moments


def _armatures(system: System, which: str = "armatures") -> dict[Body, Expr]:
    """Return the inertias of rotors that joints feel, or do not, in symbols of the System."""
    found: dict[Body, Expr] = {}
    for member in system.members.values():
        if isinstance(member.block, Element):
            for body, inertia in getattr(member.block, which).items():
                found[body] = found.get(body, ZERO) + member.of([inertia])[0]
    return found


def _branches(system: System, loads: Sequence[Force | Moment]) -> dict[Expr, Wire]:
    """Return what drives the ports that take the loads of all elements on a branch."""
    wires: dict[Expr, Wire] = {}
    elements = {n: m.block for n, m in system.members.items() if isinstance(m.block, Element)}
    motors = {f"{n}.{load}": b for n, e in elements.items() for load, b in e.in_joints.items()}
    for name, element in elements.items():
        for body, port in element.beyond.items():
            outside = [load for load in loads if motors.get(load.name) is not body]
            found = [w for load in outside if (w := load_on_branch(load, body)) is not None]
            rows = [(*force, *moment) for force, moment in found]
            for k, x in enumerate(system.members[name].of(port)):
                wires[x] = Wire(total(row[k] for row in rows))
    return wires


def _define(flat: FlatSystem) -> None:
    """Fill the table: equations of motion, what members compute, and wires."""
    system, table = flat.system, flat.table
    if flat.equations is not None:
        define(flat.equations, table)
    for member in flat.members:
        for statement in member.statements():
            table.add(statement, member.name)
        if not member.held:
            for _, symbols, values in member.outputs():
                for x, value in zip(symbols, values, strict=True):
                    table.let(x, value, member.name)
        for stream in member.block.noises:
            number = _stream(member.name, stream.name)
            first, second = member.of([stream.first, stream.second])
            flat.noise[first] = flat.noise[second] = number
    home = {x: m.name for m in flat.members for _, symbols in m.inputs() for x in symbols}
    for x, value in followed(system).items():
        table.let(x, value, x.name)
    unknowns: dict[Expr, Expr] = {}
    for x, wire in flat.wires.items():
        if x.data.role == "parameter":
            continue  # it is followed, or set
        if wire.solved:
            unknowns[x] = wire.value
            table.homes[x] = home.get(x, MECHANISM)
        else:
            table.let(x, wire.value, home.get(x, MECHANISM))
    if unknowns:
        from linkwright.system.system import NEWTON_STEPS

        flat.table = with_solution(table, unknowns, NEWTON_STEPS, system.owner)
    guesses: dict[Expr, Expr] = {}
    for member in flat.members:
        if isinstance(member.block, Element) and not member.held:
            chosen = member.block.choices
            guesses |= dict(zip(member.of(chosen), member.of(chosen.values()), strict=True))
    if guesses and flat.equations is not None:
        flat.table = with_choices(flat.table, guesses, system.owner)


def _stream(member: str, stream: str) -> int:
    """Return the number of a noise stream, the same wherever and whenever it is asked for."""
    text = f"{member}.{stream}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big") >> 1


# -- arrays ----------------------------------------------------------------------------------------
def _states(flat: FlatSystem) -> None:
    """Fill x, d and w, and the rates of x; `numbered` says where they start."""
    m = flat.system.mechanism
    rates = _own_states(flat)
    signals = {s.symbol: s for s in _mechanism_signals(flat)}
    flat.x = [signals[x] for x in rates]
    flat.rates = list(rates.values())
    for member in flat.members:
        for state, x, rate in member.integrated():
            flat.x.append(_signal(x, state.unit, "state", state.doc, member.name))
            flat.rates.append(rate)
        if member.held:
            for port, symbols, _ in member.outputs():
                flat.d += [_signal(x, x.data.unit, "held", port.doc, member.name) for x in symbols]
        for state, x, _ in member.remembered():
            flat.d.append(_signal(x, state.unit, "discrete", state.doc, member.name))
    if flat.guards is not None:
        flat.d.append(Signal(flat.guards.limit.name, flat.guards.limit, LIMIT, "1", "discrete"))
        flat.d += [Signal(x.name, x, 0.0, "?", "discrete") for x in flat.guards.memory]
    inputs = [
        _signal(x, m.units.get(n, "?"), "input", m.docs.get(n, "")) for n, x in m.inputs.items()
    ]
    for member in flat.members:
        for port, symbols in member.inputs():
            inputs += [_signal(x, port.unit, "input", port.doc, member.name) for x in symbols]
    flat.w = [signal for signal in inputs if signal.symbol not in flat.wires]


def _signal(x: Expr, unit: str, kind: str, doc: str, home: str = "") -> Signal:
    return Signal(x.name, x, 0.0, unit, kind, doc, home)


def _mechanism_signals(flat: FlatSystem) -> list[Signal]:
    """Return coordinates, extra states and all speeds of the mechanism, as its tree orders them."""
    equations, m = flat.equations, flat.system.mechanism
    if equations is None:
        return []
    docs = {**m.docs, **meanings(m)}
    homes = {q: b.name for b in m.bodies.values() for q in b.coordinates}
    homes |= {s.symbol: s.body.name for s in equations.kinematics.speeds}
    groups = (
        ("coordinate", equations.coordinates),
        ("state", equations.states),
        ("speed", [s.symbol for s in equations.kinematics.speeds]),
    )
    return [
        _signal(x, m.units.get(x.name, "?"), kind, docs.get(x.name, ""), homes.get(x, ""))
        for kind, symbols in groups
        for x in symbols
    ]


def _own_states(flat: FlatSystem) -> dict[Expr, Expr]:
    """Return the states of the mechanism that are integrated, with their rates."""
    e = flat.equations
    if e is None:
        return {}
    symbols = (*e.coordinates, *e.states, *e.speeds)
    return dict(zip(symbols, (*e.rates, *e.state_rates, *e.accelerations), strict=True))


def _parameters(flat: FlatSystem, roots: Sequence[Expr]) -> None:
    """Fill p with what anything needs."""
    m = flat.system.mechanism
    needed = [*flat.rates, *roots, *flat.starts.values()]
    for member in flat.members:
        needed += [value for _, _, values in member.outputs() for value in values]
        needed += [x for _, symbols in member.inputs() for x in symbols]
        needed += [value for _, _, value in member.remembered()]
        for crossing in member.block.crossings:
            needed += member.of([crossing.value, *(v for _, v in crossing.resets)])
    moved, statements = settled_states(flat)
    needed += [*moved.values(), *(x for s in statements for x in s.operands)]
    if flat.guards is not None:
        needed += [x for s in flat.guards.statements for x in s.operands]
    leaves = flat.table.leaves(flat.table.ordered(needed), needed)
    known = [
        _signal(x, m.units.get(n, "?"), "parameter", m.docs.get(n, ""))
        for n, x in sorted(m.parameters.items())
    ]
    for member in flat.members:
        for p in member.block.parameters.values():
            known.append(_signal(member.symbols[p.symbol], p.unit, "parameter", p.doc, member.name))
    flat.p = [signal for signal in known if signal.symbol in leaves]


# -- channels --------------------------------------------------------------------------------------
def _channels(flat: FlatSystem, record: Sequence[str] | None) -> list[tuple[Signal, Expr]]:
    """Return the channels that are asked for, each name once, with what they are.

    A state comes before an output of its name, as in the recordings of mechanisms.
    """
    m = flat.system.mechanism
    found: list[tuple[Signal, Expr]] = []
    members = [s for s in flat.x if s.symbol not in _own_states(flat)]
    for signal in (*_mechanism_signals(flat), *members):
        assert signal.symbol is not None
        found.append((replace(signal, symbol=None), signal.symbol))
    if flat.equations is not None:
        for o, value in zip(m.outputs, flat.equations.outputs, strict=True):
            found.append((Signal(o.name, None, 0.0, o.unit, "output", o.doc, o.body), value))
    for member in flat.members:
        for port, symbols, _ in member.outputs():
            found += [
                (Signal(x.name, None, 0.0, x.data.unit, "output", port.doc, member.name), x)
                for x in symbols
            ]
    for port in flat.system.exposed_outputs.values():
        found += [
            (Signal(name, None, 0.0, port.unit, "output", port.doc), value)
            for name, value in port.entries()
        ]
    for n, x in m.inputs.items():
        unit, doc = m.units.get(n, "?"), m.docs.get(n, "")
        found.append((Signal(n, None, 0.0, unit, "output", doc, m.name), x))
    for o in flat.energies:
        found.append((Signal(o.name, None, 0.0, o.unit, "output", o.doc, m.name), o.value))
    by_name: dict[str, tuple[Signal, Expr]] = {}
    for signal, value in found:
        by_name.setdefault(signal.name, (signal, value))
    if record is None:
        return list(by_name.values())
    for signal in (*flat.d, *flat.w):
        assert signal.symbol is not None
        by_name.setdefault(
            signal.name, (replace(signal, symbol=None, kind="output"), signal.symbol)
        )
    if flat.equations is not None:
        homes = {s.symbol: s.body.name for s in flat.equations.kinematics.speeds}
        for u, a in flat.equations.kinematics.accelerations.items():
            name = f"{u.name}_dot"
            by_name.setdefault(name, (Signal(name, None, kind="output", body=homes[u]), a))
    unknown = [name for name in record if name not in by_name]
    if unknown:
        raise BlockError(f"{flat.system.name!r} has no channel {', '.join(map(repr, unknown))}")
    return [by_name[name] for name in record]


# -- ticks -----------------------------------------------------------------------------------------
def _segments(flat: FlatSystem) -> list[Segment]:
    """Return what runs at ticks, in order."""
    wanted = {x: m.name for m in flat.held for _, symbols, _ in m.outputs() for x in symbols}
    memory = {x: m.name for m in flat.held for _, x, _ in m.remembered()}
    needs: dict[str, set[str]] = {}
    updates: dict[str, set[str]] = {}
    readers = Readers()
    for m in flat.held:
        if isinstance(m.block, Foreign):
            roots = [x for _, symbols in m.inputs() for x in symbols]
        else:
            roots = [value for _, _, values in m.outputs() for value in values]
        needs[m.name] = flat.table.reached(roots, wanted)
        for other in flat.table.reached(roots, memory) - {m.name}:
            readers.outputs.setdefault(other, set()).add(m.name)
        following = [value for _, _, value in m.remembered()]
        if following:
            updates[m.name] = flat.table.reached(following, wanted) - {m.name}
            for other in flat.table.reached(following, memory) - {m.name}:
                readers.updates.setdefault(other, set()).add(m.name)
    alone = {m.name for m in flat.held if isinstance(m.block, Foreign)}
    return segments(flat.clock.schedules, needs, updates, alone, readers)


def _ticks(flat: FlatSystem, segment: Segment) -> Iterable[Tick]:
    """Return the ticks of a segment: the outputs of its members, and their updates."""
    place = {s.symbol: i for i, s in enumerate(flat.d)}
    outputs: dict[Expr, Expr] = {}
    updates: dict[Expr, Expr] = {}
    for name in segment.outputs:
        member = flat.system.members[name]
        if isinstance(member.block, Foreign):
            yield _foreign(flat, member, place)
            continue
        for _, symbols, values in member.outputs():
            outputs.update(zip(symbols, values, strict=True))
    for name in segment.updates:
        for _, x, following in flat.system.members[name].remembered():
            updates[x] = following
    if not outputs and not updates:
        return
    called = {m.name for m in flat.held if isinstance(m.block, Foreign)}
    own = (name for name in segment.outputs if name not in called)
    names = list(dict.fromkeys((*own, *segment.updates)))
    table = flat.table.replaced(outputs, " and ".join(names))
    new = {x: symbol(f"new.{x.name}", "local", owner=flat.system.owner) for x in outputs}
    roots = [*outputs, *updates.values()]
    read = table.leaves(table.ordered(roots), roots)
    noise = [x for x in flat.noise if x in read]
    streams = list(dict.fromkeys(flat.noise[x] for x in noise))
    both = [x for x, number in flat.noise.items() if number in streams]
    yield Tick(
        " and ".join(names),
        flat.program(
            f"tick_{'_'.join(names)}",
            {"d_new": roots},
            table=table,
            renamed=new,
            tick=symbol("k", "discrete", owner=flat.system.owner),
            noise=both,
        ),
        tuple(place[x] for x in (*outputs, *updates)),
        segment.schedule.every,
        segment.schedule.offset,
        tuple(streams),
    )


def _foreign(flat: FlatSystem, member: Member, place: Mapping[Expr | None, int]) -> Tick:
    """Return the tick of a Python function, or of a slot for functions."""
    block = member.block
    assert isinstance(block, Foreign)
    schedule = flat.clock.schedules[member.name]
    arguments = [x for _, symbols in member.inputs() for x in symbols]
    held = [x for _, symbols, _ in member.outputs() for x in symbols]
    slots = tuple(place[x] for x in held)
    made = flat.program(
        f"tick_{member.name}",
        {"arguments": [*arguments, *held]},
        tick=symbol("k", "discrete", owner=flat.system.owner),
    )
    size = len(arguments)
    if isinstance(block, FunctionSlot):
        return Tick(member.name, made, slots, schedule.every, schedule.offset, exchanged=True)
    call = TickFunction(block, size)
    return Tick(member.name, made, slots, schedule.every, schedule.offset, foreign=call)


def _quaternions(flat: FlatSystem) -> tuple[tuple[int, int, int, int], ...]:
    place = {s.symbol: i for i, s in enumerate(flat.x)}
    return tuple(
        (place[a], place[b], place[c], place[d])
        for a, b, c, d in (
            body.rotations
            for body in flat.system.mechanism.bodies.values()
            if body.joint.quaternion
        )
    )


def _told(system: System) -> dict[str, str]:
    return {name: str(member.rate) for name, member in system.members.items()}


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _report(system: System, equations: Equations | None) -> list[str]:
    """Return what became of constraints, in sentences."""
    if equations is None:
        return []
    idle = [e.constraint.name for e in equations.eliminations if e.speed is None]
    left = [f"redundant, and left out: {'; '.join(idle)}"] if idle else []
    known = system.mechanism.reports
    return [*left, *(line for line in equations.mechanism.reports if line not in known)]


def _poles(mechanism: Mechanism) -> list[list[Any]]:
    return [[p.body, p.coordinate, p.repeats] for p in poles(mechanism)]


def _rotations(body: Body) -> int:
    return sum(len(b.rotations) for b in body.ancestors())


def _stop_facts(system: System) -> dict[str, Any]:
    return {} if system.equations else run_facts(system.mechanism)


def _notes(system: System) -> tuple[str, ...]:
    """Return what there is to say of a robot's file; shapes touch something where a ground is."""
    blocks = (member.block for member in system.members.values())
    touching = any(getattr(block, "floors", ()) for block in blocks)
    return run_notes(system.mechanism, stopping=system.equations is None, touching=touching)
