"""Flattening: from a System to the Programs of its phases.

Everything that a System computes is one table of definitions over the arrays x, d, p, w and the
time; the Program of a phase is what its results need of that table, made small as a whole, across
the borders of blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, substitute_all, symbol, total
from linkwright.blocks import BlockError, Element, Foreign, with_targets
from linkwright.equations import Equations
from linkwright.equations.description import meanings
from linkwright.equations.joint_stops import run_notes, stop_loads
from linkwright.equations.reactions import load_on_branch
from linkwright.mechanism import Force, Mechanism, Moment
from linkwright.program import Program, Statement, optimize
from linkwright.program.passes.replacement import with_reads
from linkwright.system.clock import Clock
from linkwright.system.composite import through_ports
from linkwright.system.definitions import Definitions, with_solution
from linkwright.system.driven_inputs import told_drives
from linkwright.system.dynamics import MECHANISM, define, equations_of, settled
from linkwright.system.member import Member, Wire
from linkwright.system.numbers import starts
from linkwright.system.order import Readers, Segment, segments
from linkwright.system.phases import Event, Phases, Signal, Tick, phase_program

if TYPE_CHECKING:
    from linkwright.system.system import System


@dataclass(frozen=True, slots=True, eq=False)
class Flattened:
    """The phases of a System, and the mechanism as its equations have it, with exact relations."""

    phases: Phases
    mechanism: Mechanism


@dataclass(slots=True)
class _Flat:
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
    ) -> Program:
        """Return the optimized Program of a phase."""
        source = self.table if table is None else table
        roots = [x for values in outputs.values() for x in values]
        roots += [x for s in more for x in s.operands]
        statements = [*source.ordered(roots), *more]
        if renamed:
            statements = [_renamed(s, renamed) for s in statements]
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
        return optimize(made)


def flatten(system: System, record: Sequence[str] | None = None) -> Flattened:
    """Return the phases of a System, without the numbers (`numbered` puts them in)."""
    clock = system.clock()
    for name in clock.schedules:
        system.members[name].set_period(clock.period(name))
    forces, moments = _loads(system)
    wires = through_ports(system, {**system.wires, **_branches(system, [*forces, *moments])})
    stops, couples = stop_loads(system.mechanism)
    view = system.mechanism.with_loads([*forces, *stops], [*moments, *couples])
    equations = equations_of(view, system.formulation)
    flat = _Flat(system, clock, wires, equations, Definitions(), starts=starts(system))
    _define(flat)
    _states(flat)
    channels = _channels(flat, record)
    outputs = [value for _, value in channels]
    _parameters(flat, outputs)
    ticks = _segments(flat)
    events, event_list = _events(flat)
    phases = Phases(
        system.name,
        tuple(flat.x),
        tuple(flat.d),
        tuple(flat.p),
        tuple(flat.w),
        system.time,
        float(clock.tick),
        flat.program("derivative", {"x_dot": flat.rates}),
        tuple(tick for segment in ticks for tick in _ticks(flat, segment)),
        _accepted(flat),
        flat.program("output", {"y": outputs}) if outputs else None,
        tuple(signal for signal, _ in channels),
        events,
        event_list,
        _initialize(flat),
        quaternions=_quaternions(flat),
        meta={
            "system": system.name,
            "tick": str(clock.tick),
            "members": _told(system),
            "drives": told_drives(system),
            **({"limits": True} if system.mechanism.ranges else {}),
            **({"notes": list(notes)} if (notes := _notes(system)) else {}),
        },
    )
    return Flattened(phases, system.mechanism if equations is None else equations.mechanism)


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


def _define(flat: _Flat) -> None:
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
    unknowns: dict[Expr, Expr] = {}
    for x, wire in flat.wires.items():
        if wire.solved:
            unknowns[x] = wire.value
            table.homes[x] = home.get(x, MECHANISM)
        else:
            table.let(x, wire.value, home.get(x, MECHANISM))
    if unknowns:
        from linkwright.system.system import NEWTON_STEPS

        flat.table = with_solution(table, unknowns, NEWTON_STEPS, system.owner)


def _stream(member: str, stream: str) -> int:
    """Return the number of a noise stream, the same wherever and whenever it is asked for."""
    text = f"{member}.{stream}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big") >> 1


# -- arrays ----------------------------------------------------------------------------------------
def _states(flat: _Flat) -> None:
    """Fill x, d and w, and the rates of x; `numbered` says where they start."""
    m = flat.system.mechanism
    if flat.equations is not None:
        _mechanism_states(flat, flat.equations)
    for member in flat.members:
        for state, x, rate in member.integrated():
            flat.x.append(_signal(x, state.unit, "state", state.doc, member.name))
            flat.rates.append(rate)
        if member.held:
            for port, symbols, _ in member.outputs():
                flat.d += [_signal(x, port.unit, "held", port.doc, member.name) for x in symbols]
        for state, x, _ in member.remembered():
            flat.d.append(_signal(x, state.unit, "discrete", state.doc, member.name))
    inputs = [
        _signal(x, m.units.get(n, "?"), "input", m.docs.get(n, "")) for n, x in m.inputs.items()
    ]
    for member in flat.members:
        for port, symbols in member.inputs():
            inputs += [_signal(x, port.unit, "input", port.doc, member.name) for x in symbols]
    flat.w = [signal for signal in inputs if signal.symbol not in flat.wires]


def _signal(x: Expr, unit: str, kind: str, doc: str, home: str = "") -> Signal:
    return Signal(x.name, x, 0.0, unit, kind, doc, home)


def _mechanism_states(flat: _Flat, equations: Equations) -> None:
    m = flat.system.mechanism
    docs = {**m.docs, **meanings(m)}
    homes = {q: b.name for b in m.bodies.values() for q in b.coordinates}
    homes |= {s.symbol: s.body.name for s in equations.kinematics.speeds}
    groups = (
        ("coordinate", equations.coordinates, equations.rates),
        ("state", equations.states, equations.state_rates),
        ("speed", equations.speeds, equations.accelerations),
    )
    for kind, symbols, rates in groups:
        for x, rate in zip(symbols, rates, strict=True):
            unit, doc = m.units.get(x.name, "?"), docs.get(x.name, "")
            flat.x.append(_signal(x, unit, kind, doc, homes.get(x, "")))
            flat.rates.append(rate)


def _parameters(flat: _Flat, roots: Sequence[Expr]) -> None:
    """Fill p with what anything needs."""
    m = flat.system.mechanism
    needed = [*flat.rates, *roots, *flat.starts.values()]
    for member in flat.members:
        needed += [value for _, _, values in member.outputs() for value in values]
        needed += [x for _, symbols in member.inputs() for x in symbols]
        needed += [value for _, _, value in member.remembered()]
        for crossing in member.block.crossings:
            needed += member.of([crossing.value, *(v for _, v in crossing.resets)])
    if flat.equations is not None:
        moved, statements = settled(flat.equations)
        needed += [*moved.values(), *(x for s in statements for x in s.operands)]
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
def _channels(flat: _Flat, record: Sequence[str] | None) -> list[tuple[Signal, Expr]]:
    """Return the channels that are asked for, each name once, with what they are.

    A state comes before an output of its name, as in the recordings of mechanisms.
    """
    m = flat.system.mechanism
    found: list[tuple[Signal, Expr]] = []
    for signal in flat.x:
        assert signal.symbol is not None
        found.append((replace(signal, symbol=None), signal.symbol))
    if flat.equations is not None:
        homes = {s.symbol: s.body.name for s in flat.equations.kinematics.speeds}
        for u in flat.equations.reduction.dependent:
            unit, doc = m.units.get(u.name, "?"), meanings(m).get(u.name, "")
            found.append((Signal(u.name, None, 0.0, unit, "speed", doc, homes[u]), u))
        for o, value in zip(m.outputs, flat.equations.outputs, strict=True):
            found.append((Signal(o.name, None, 0.0, o.unit, "output", o.doc, o.body), value))
    for member in flat.members:
        for port, symbols, _ in member.outputs():
            found += [
                (Signal(x.name, None, 0.0, port.unit, "output", port.doc, member.name), x)
                for x in symbols
            ]
    for port in flat.system.exposed_outputs.values():
        found += [
            (Signal(name, None, 0.0, port.unit, "output", port.doc), value)
            for name, value in port.entries()
        ]
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
    unknown = [name for name in record if name not in by_name]
    if unknown:
        raise BlockError(f"{flat.system.name!r} has no channel {', '.join(map(repr, unknown))}")
    return [by_name[name] for name in record]


# -- ticks -----------------------------------------------------------------------------------------
def _segments(flat: _Flat) -> list[Segment]:
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


def _ticks(flat: _Flat, segment: Segment) -> Iterable[Tick]:
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
    noise = [x for x in flat.noise if x in table.leaves(table.ordered(roots), roots)]
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


def _foreign(flat: _Flat, member: Member, place: Mapping[Expr | None, int]) -> Tick:
    """Return the tick of a Python function."""
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

    def call(t: float, values: Sequence[float]) -> Sequence[float]:
        return block(t, values[:size], values[size:])

    return Tick(member.name, made, slots, schedule.every, schedule.offset, foreign=call)


# -- accepted steps, events, start -----------------------------------------------------------------
def _accepted(flat: _Flat) -> Program | None:
    """Return what happens after each accepted step: memory, quaternions, closed loops."""
    changed: dict[Expr, Expr] = {}
    statements: list[Statement] = []
    if flat.equations is not None:
        changed, statements = settled(flat.equations)
    for member in flat.members:
        if not member.held:
            changed.update((x, following) for _, x, following in member.remembered())
    if not changed:
        return None
    return flat.program("accepted", _arrays(flat, changed), more=statements)


def _arrays(flat: _Flat, changed: Mapping[Expr, Expr]) -> dict[str, list[Expr]]:
    """Return x and d with some entries changed."""

    def now(signals: Iterable[Signal]) -> list[Expr]:
        return [changed.get(s.symbol, s.symbol) for s in signals if s.symbol is not None]

    return {"x_new": now(flat.x), "d_new": now(flat.d)}


def _events(flat: _Flat) -> tuple[Program | None, tuple[Event, ...]]:
    """Return the values whose zero crossings are events, and what happens at each."""
    values: list[Expr] = []
    found: list[Event] = []
    known = {s.symbol for s in (*flat.x, *flat.d)}
    for member in flat.members:
        for number, crossing in enumerate(member.block.crossings):
            values.append(member.of([crossing.value])[0])
            targets = member.of(x for x, _ in crossing.resets)
            resets = dict(zip(targets, member.of(v for _, v in crossing.resets), strict=True))
            for x in resets:
                if x not in known:
                    raise BlockError(f"{x} is not a state that {member.name!r} could set")
            action = None
            if resets:
                action = flat.program(f"event_{member.name}_{number}", _arrays(flat, resets))
            name = f"{member.name}.{crossing.name}"
            found.append(Event(name, crossing.direction, crossing.terminal, action))
    return (flat.program("events", {"g": values}), tuple(found)) if values else (None, ())


def _initialize(flat: _Flat) -> Program | None:
    return flat.program("initialize", _arrays(flat, flat.starts)) if flat.starts else None


def _quaternions(flat: _Flat) -> tuple[tuple[int, int, int, int], ...]:
    place = {s.symbol: i for i, s in enumerate(flat.x)}
    return tuple(
        (place[a], place[b], place[c], place[d])
        for a, b, c, d in (
            body.rotations
            for body in flat.system.mechanism.bodies.values()
            if body.joint.quaternion
        )
    )


def _renamed(statement: Statement, names: Mapping[Expr, Expr]) -> Statement:
    """Return a statement with some symbols under other names."""
    made = with_reads(statement, names)
    made = made.with_operands(substitute_all(made.operands, names))
    if any(x in names for x in statement.targets):
        made = with_targets(made, [names.get(x, x) for x in statement.targets])
    return made


def _told(system: System) -> dict[str, str]:
    return {name: str(member.rate) for name, member in system.members.items()}


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _notes(system: System) -> tuple[str, ...]:
    """Return what there is to say of a robot's file; shapes touch something where a ground is."""
    blocks = (member.block for member in system.members.values())
    touching = any(getattr(block, "floors", ()) for block in blocks)
    return run_notes(system.mechanism, touching=touching)
