"""Runs that go on by a few ticks at a time, with inputs set between: what environments stand on.

They are lanes of one native `Machine`, the same that `simulate_batch` uses. All lanes share a
clock. A lane that begins anew gets back every number of its memory as it was at time zero, and a
start of its own; so a System whose equations or schedules depend on the time can only begin anew
as a whole.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import free_symbols, where
from linkwright.backends.callbacks import guarded
from linkwright.backends.llvm.blocks import empty_aligned, from_blocked
from linkwright.base.errors import Error, InputError, suggestion
from linkwright.base.reprs import brief
from linkwright.blocks import Element, checked, joint_of
from linkwright.doors import load
from linkwright.program import Loop, Program
from linkwright.program.program import walk
from linkwright.simulation.batches import starts_freely, starts_of
from linkwright.simulation.described import timed
from linkwright.simulation.native import tables
from linkwright.simulation.native.batch import drive, finish, reason_of
from linkwright.simulation.native.machine import Machine
from linkwright.simulation.native.named import refuse_beyond
from linkwright.simulation.native.tables import CONFIG, WHOLE
from linkwright.simulation.settings import RunSettings
from linkwright.simulation.switching import forms_of
from linkwright.system import System, system_of
from linkwright.system.numbers import followed, parameters as parameters_of
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
Bounds = tuple[float, float]
Range = float | Bounds
"""A number, or a lower and an upper one to draw from evenly."""

MEMBER = "environment"
"""The member of the System that has the actions, the reward and the end."""
_CHANNEL = re.compile(r"[^\W\d]\w*(\.[^\W\d][\w\[\],]*)+")
"""What is observed as it is recorded: names with dots. All else is an expression."""
_AT_ONCE = 1_000_000
"""Steps of integration that all lanes may take between two visits of Python."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A System made ready to be stepped."""

    system: System
    phases: Phases
    settings: RunSettings
    every: int  # base ticks of a step
    observed: int  # the first so many outputs; then the reward and the end, where they are given
    reward: bool
    done: bool
    acts: tuple[int, ...]  # places of the actions among the inputs
    lower: Array  # of the actions
    upper: Array
    names: tuple[str, ...]  # of the observations
    start: Mapping[str, Range]
    parameters: Mapping[str, Range]


def setting_of(
    model: Any,
    observe: Sequence[str],
    act: Sequence[str] | Mapping[str, Any],
    reward: str | None,
    done: str | None,
    every: int,
    start: Mapping[str, Any] | None,
    parameters: Mapping[str, Any] | None,
    method: str,
    step: float | None,
) -> Setting:
    """Return a System with actions, observations, reward and end, flattened."""
    from linkwright.robots import Robot

    made = load(model) if isinstance(model, str) else model
    robot = made if isinstance(made, Robot) else None
    system = system_of(made).copy()
    m = system.mechanism
    extra = Element(MEMBER, m, doc="actions, reward and end")
    own = {signal.name for signal in system.phases(()).w}
    act = [act] if isinstance(act, str) else act
    limits: list[Bounds] = []
    inputs: list[str] = []
    wanted = dict(act) if isinstance(act, Mapping) else dict.fromkeys(act)
    if len(wanted) < len(act):
        raise InputError("act names something twice", remedy="name each once")
    if not wanted:
        raise InputError("an environment has no actions", remedy="name joints or inputs in act")
    for name, given in wanted.items():
        if name in own:
            inputs.append(name)
            limits.append(_bounds(name, given, math.inf))
            continue
        if name not in m.coordinates:
            known = [*own, *m.coordinates]
            raise InputError(
                f"{name!r} is neither an input nor a joint of {system.name!r}",
                remedy=suggestion(name, known, f"there are {', '.join(known)}"),
            )
        joint_of(m, name)
        value = extra.input(f"act_{name}", 0.0)
        extra.effort(f"tau_{name}", name, value)
        inputs.append(f"{MEMBER}.act_{name}")
        limits.append(_bounds(name, given, _limit(robot, name)))
    columns: list[str] = []
    for k, text in enumerate(_expanded(system, observe)):
        if text in m.coordinates or m.has_speed_name(text) or _CHANNEL.fullmatch(text):
            columns.append(text)
        else:
            extra.output(f"observation_{k}", text)
            columns.append(f"{MEMBER}.observation_{k}")
    if not columns:
        raise InputError("an environment observes nothing", remedy='give observe=["q", "u"], say')
    for name, expression in (("reward", reward), ("done", done)):
        if expression is not None:
            value = extra.expr(expression)
            extra.output(name, where(value, 1, 0) if name == "done" else value)
    system.add(extra)
    scored = [f"{MEMBER}.{n}" for n, x in (("reward", reward), ("done", done)) if x is not None]
    record = tuple(dict.fromkeys((*columns, *scored)))
    if len(record) != len(columns) + len(scored):
        raise InputError("observe names something twice", remedy="name each once")
    fallback = forms_of(system, record)
    phases = system.phases(record) if fallback is None else fallback.phases
    asked = RunSettings(until=None, step=step, method=method, every=0)
    phases, settings = timed(system, phases, asked)
    places = {signal.name: k for k, signal in enumerate(phases.outputs)}
    order = tuple(places[name] for name in record)
    if order != tuple(range(len(record))):
        raise Error(f"{system.name!r} records its channels in another order than they were named")
    ranges = _ranges(parameters or {}, "parameters", {s.name for s in phases.p}, system)
    for end in (0, 1):  # which rejects those without sense
        parameters_of(system, {n: r[end] if isinstance(r, tuple) else r for n, r in ranges.items()})
    sources = [signal.name for signal in phases.w]
    states = {s.name for s in (*phases.x, *phases.d)}
    return Setting(
        system,
        phases,
        settings,
        whole(every, "every"),
        len(columns),
        reward is not None,
        done is not None,
        tuple(sources.index(name) for name in inputs),
        np.array([low for low, _ in limits]),
        np.array([high for _, high in limits]),
        tuple(_expanded(system, observe)),
        _ranges(start or {}, "start", {*states, *m.coordinates}, system),
        ranges,
    )


def _expanded(system: System, observe: Sequence[str]) -> list[str]:
    """Return names with `q` and `u` in place of all coordinates and speeds, if they are none."""
    m, result = system.mechanism, []
    for text in [observe] if isinstance(observe, str) else observe:
        if text == "q" and text not in m.coordinates:
            result += list(m.coordinates)
        elif text == "u" and not m.has_speed_name(text):
            result += [s.symbol.name for s in m.kinematics().speeds]
        else:
            result.append(text)
    return result


def _limit(robot: Any, name: str) -> float:
    """Return what a robot's file says of the greatest effort in a joint; infinity for nothing."""
    if robot is None or name not in robot.coordinates:
        return math.inf
    rates = robot.mechanism.kinematics().rates
    speed = rates[robot.mechanism.coordinates[name]]
    speeds = list(robot.speeds)
    if getattr(speed, "name", "") not in speeds:
        return math.inf
    return float(robot.effort_limits[speeds.index(speed.name)])


def _bounds(name: str, given: Any, usual: float) -> Bounds:
    """Return the least and the greatest value of an action."""
    if given is None:
        return -usual, usual
    if np.ndim(given) == 0:
        most = checked(given, f"the limit of action {name!r}", above=0, finite=False)
        return -most, most
    low, high = _pair(given, f"a limit of action {name!r}", finite=False)
    if not low < high:
        raise InputError(f"the limits of action {name!r} are {low:g} and {high:g}")
    return low, high


def _ranges(
    given: Mapping[str, Any], what: str, known: set[str], system: System
) -> dict[str, Range]:
    ranges: dict[str, Range] = {}
    for name, value in given.items():
        if name not in known:
            raise InputError(
                f"{what} names {name!r}, which {system.name!r} does not have",
                remedy=suggestion(name, known, None),
            )
        if np.ndim(value) == 0:
            ranges[name] = checked(value, f"{what} of {name!r}")
            continue
        low, high = _pair(value, f"{what} of {name!r}")
        if low > high:
            raise InputError(f"{what} of {name!r} goes from {low:g} down to {high:g}")
        ranges[name] = (low, high)
    return ranges


def _pair(given: Any, what: str, *, finite: bool = True) -> Bounds:
    if np.shape(given) != (2,):
        raise InputError(
            f"{what} is {brief(given)}", remedy="give a number, or a lower and an upper one"
        )
    low, high = (checked(x, what, finite=finite) for x in given)
    return low, high


def whole(given: Any, what: str) -> int:
    """Return a count that is 1 or more, or say what is wrong."""
    found = checked(given, what, least=1)
    if found != int(found):
        raise InputError(f"{what} is {found:g}", remedy="give a whole number")
    return int(found)


def reads_time(phases: Phases) -> bool:
    """Whether anything of a run depends on the time."""
    programs = [phases.derivative, phases.output, phases.events]
    programs += [tick.program for tick in phases.ticks]
    return any(_reads_time(made) for made in programs if made is not None)


def _reads_time(program: Program) -> bool:
    clocks = {x for port in program.inputs if port.name == "t" for x in port.entries}
    read = set(free_symbols(*program.output_values()))
    for statement in walk(program.statements):
        read.update(free_symbols(*statement.operands))
        if isinstance(statement, Loop):
            read.update(statement.outer_reads)
    return not clocks.isdisjoint(read)


class SteppedLanes:
    """Runs of a System that go on together, a step of an environment at a time."""

    def __init__(self, setting: Setting, count: int, threads: int | None = None) -> None:
        self.setting, self.count, self.threads = setting, count, threads
        phases = setting.phases
        native = setting.settings.native(phases)
        self.machine = Machine(phases, native, count, rows=1)
        self.machine.prepare()
        self.machine.initialize()
        self.seeds = np.zeros(count, np.int64)  # of noise, of each lane's episode
        self.noisy = any(tick.streams for tick in phases.ticks)
        if self.noisy:  # a lane is then the run of `simulate` with its seed
            self.machine.put_whole("run_number", 0)
        self.fresh = self.machine.snapshot()
        self.columns = self.fresh["arena"].reshape(self.machine.blocks, -1, self.machine.width)
        self.k = 0
        self._states = {s.name: ("d", i) for i, s in enumerate(phases.d)}
        self._states |= {s.name: ("x", i) for i, s in enumerate(phases.x)}
        self._places = {s.name: i for i, s in enumerate(phases.p)}
        self.actions = self.machine.array("w")
        self._t = np.zeros(self.machine.width)
        shape = (self.machine.blocks, self.machine.channels, self.machine.width)
        self._found = empty_aligned(shape, np.dtype(np.float64))
        self._output_calls = [
            output_call(self.machine, block, self._t, self._found[block])
            for block in range(self.machine.blocks)
        ]
        self._acts = list(setting.acts)
        states = {s.name for s in (*phases.x, *phases.d)}
        m = setting.system.mechanism
        self._startable = {*states, *m.coordinates}
        self._free = starts_freely(m, states) and not (m.initial_rules and setting.parameters)
        self._follow = {x.name for x in followed(setting.system)} & set(self._places)
        self._early = np.zeros(count, bool)
        self._first_ticks = [i for i, tick in enumerate(phases.ticks) if tick.offset == 0]

    @property
    def time(self) -> float:
        """The time of all lanes, s."""
        return self.k * self.setting.phases.tick_seconds

    # -- beginning ---------------------------------------------------------------------------------
    def begin(self, rng: np.random.Generator, start: Mapping[str, Any] | None = None) -> None:
        """Let all lanes begin at time zero."""
        self.machine.restore(self.fresh)
        self.k = 0
        self._early[:] = False
        self._place(np.arange(self.count), rng, start)
        refuse_beyond(self.machine, self.setting.phases)

    def begin_again(
        self,
        lanes: NDArray[np.int64],
        rng: np.random.Generator,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        """Let some lanes begin anew, while the clock goes on."""
        width = self.machine.width
        now = self.machine.arena.reshape(self.machine.blocks, -1, width)
        blocks, lane = lanes // width, lanes % width
        now[blocks, :, lane] = self.columns[blocks, :, lane]
        self._place(lanes, rng, start)
        self.machine.field("watched")[blocks] = 0
        if self._first_ticks:
            self._early[lanes] = True

    def _tick_early(self) -> None:
        """Run what is due at time zero for lanes that have begun anew, and for them alone.

        What is due at a tick runs when it is reached: for these lanes before they began. So it is
        due again, while the other lanes of a block count as ended; then those get back what they
        were.
        """
        machine, width = self.machine, self.machine.width
        spare = machine.blocks * width - self.count
        early = np.pad(self._early, (0, spare)).reshape(machine.blocks, width)
        now = machine.arena.reshape(machine.blocks, -1, width)
        for block in np.flatnonzero(early.any(axis=1)):
            others = np.flatnonzero(~early[block])
            kept = now[block][:, others].copy()
            machine.array("stop")[block, 0, others] = 0.0
            row = machine.whole[block]
            row[WHOLE["cursor"]] = 0
            row[[len(WHOLE) + i for i in self._first_ticks]] = self.k
            while not finish(machine, int(block), 1):
                pass
            now[block][:, others] = kept
        self._early[:] = False
        self._forget()

    def first_outputs(self) -> Array:
        """Return the outputs of all lanes, where those that begin have sampled at time zero.

        Samplers run again in the first step, which has its action then: so all is put back.
        """
        if not self._first_ticks or not (self.k == 0 or self._early.any()):
            return self.outputs()
        saved, early = self.machine.snapshot(), self._early.copy()
        self.machine.extend(self.k)
        if self.k == 0:
            self._early[:] = True
        self._tick_early()
        found = self.outputs()
        self.machine.restore(saved)
        self._early = early
        return found

    def _place(
        self, lanes: NDArray[np.int64], rng: np.random.Generator, start: Mapping[str, Any] | None
    ) -> None:
        """Draw starts and parameters of lanes."""
        setting, machine = self.setting, self.machine
        count, width = len(lanes), machine.width
        own = _ranges(start or {}, "start", self._startable, setting.system)
        drawn = {n: _drawn(r, count, rng) for n, r in {**setting.start, **own}.items()}
        numbers = {n: _drawn(r, count, rng) for n, r in setting.parameters.items()}
        blocks, lane = lanes // width, lanes % width
        if self.noisy:
            self.seeds[lanes] = rng.integers(2**62, size=count)
            machine.array("seed")[blocks, 0, lane] = self.seeds[lanes].view(np.float64)
        if drawn or numbers:
            starts: Mapping[str, Any] = drawn
            if not self._free:
                starts = starts_of(setting.system, setting.phases, drawn, numbers, count)
            if numbers and self._follow:
                known = parameters_of(setting.system, numbers)
                numbers = {**{n: np.full(count, known[n]) for n in self._follow}, **numbers}
            for name, values in numbers.items():
                machine.array("p")[blocks, self._places[name], lane] = values
            if numbers:
                machine.prepare()
                self._initialize(blocks, lane)
            for name, row in starts.items():
                if name in self._states:
                    array, place = self._states[name]
                    machine.array(array)[blocks, place, lane] = row
            machine.remember()
        self._forget()

    def _initialize(self, blocks: NDArray[np.int64], lane: NDArray[np.int64]) -> None:
        """Let states of lanes start where their parameters put them."""
        machine = self.machine
        if machine.phases.initialize is None:
            return
        before = {name: machine.array(name).copy() for name in ("x", "d")}
        machine.initialized = False
        machine.initialize()
        for name, kept in before.items():
            kept[blocks, :, lane] = machine.array(name)[blocks, :, lane]
            machine.array(name)[:] = kept

    def _forget(self) -> None:
        self.machine.field("slope_known")[:] = 0
        self.machine.field("events_known")[:] = 0

    # -- going on ----------------------------------------------------------------------------------
    def act(self, given: Any) -> None:
        """Set the actions of all lanes, a row each, within their limits."""
        width, blocks = self.machine.width, self.machine.blocks
        size, actions = len(self._acts), np.asarray(given, dtype=float)
        if actions.size != self.count * size:
            raise InputError(
                f"actions have {actions.size} numbers",
                remedy=f"give {size} for each of the {self.count} lanes",
            )
        if np.isnan(actions).any():
            raise InputError("an action is nan", remedy="give finite numbers")
        actions = actions.reshape(self.count, size)
        actions = np.clip(actions, self.setting.lower, self.setting.upper)
        rows = np.empty((blocks * width, actions.shape[1]))
        rows[: self.count] = actions
        rows[self.count :] = actions[-1]
        self.actions[:, self._acts] = rows.reshape(blocks, width, -1).transpose(0, 2, 1)
        self._forget()

    def go_on(self) -> None:
        """Go on by one step."""
        machine = self.machine
        if self._early.any():
            self._tick_early()
        self.k += self.setting.every
        machine.extend(self.k)
        if self.threads == 1:  # at once, where nothing asks for Python on the way
            machine.budget(_AT_ONCE)
            machine.run(0, machine.blocks)
            if (machine.field("status") == tables.DONE).all():
                return
        drive(machine, self.threads)

    def outputs(self) -> Array:
        """Return observations, reward and end of all lanes, a row each."""
        self._t[:] = self.time
        for call in self._output_calls:
            call()
        return from_blocked(self._found, self.count).copy()

    def stopped(self) -> dict[int, str]:
        """Return the lanes that cannot go on, each with the reason."""
        machine = self.machine
        if machine.width == 1:  # where the call says it
            kinds, details = machine.field("status"), machine.field("detail")
            failed = np.flatnonzero(kinds != tables.DONE)
            events = np.where(np.isin(kinds, (tables.TERMINAL, tables.ENDLESS)), details + 1, 0)
            codes = (kinds + tables.WHICH * events)[failed].astype(int).tolist()
        else:
            failed = np.flatnonzero(np.isfinite(machine.rows_of("stop")[:, 0]))
            codes = machine.rows_of("why")[failed, 0].astype(int).tolist()
        return {
            int(i): reason_of(machine.phases, code) for i, code in zip(failed, codes, strict=True)
        }


def output_call(machine: Machine, block: int, t: Array, found: Array) -> Callable[[], None]:
    """Return the call that computes the outputs of a block at times `t` into an array."""
    plain = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(machine.bundle.address("output"))
    kernel = guarded(plain) if machine.calls_python else plain
    base = machine.arena[block].ctypes.data
    names = ("x", "d", "p_output", "w")
    places = [base + 8 * machine.place_of(name, 0) for name in names]
    return partial(kernel, *places, t.ctypes.data, found.ctypes.data)


def _drawn(given: Range, count: int, rng: np.random.Generator) -> Array:
    if isinstance(given, tuple):
        return rng.uniform(given[0], given[1], count)
    return np.full(count, float(given))


class Alone:
    """One run that goes on a step at a time, with as little between two steps as there can be."""

    def __init__(self, lanes: SteppedLanes) -> None:
        machine, self.lanes = lanes.machine, lanes
        self.found = np.zeros(machine.channels)
        self._t = np.zeros(1)
        self._output = output_call(machine, 0, self._t, self.found)
        self._config = machine._config
        self._until = CONFIG["until"]
        self._row = machine.whole[0]
        self._status = WHOLE["status"]
        self._known = slice(WHOLE["slope_known"], WHOLE["events_known"] + 1)
        self._inputs = machine.array("w")[0, :, 0]
        self._acts = np.array(lanes.setting.acts, dtype=np.intp)
        self._limits = (lanes.setting.lower, lanes.setting.upper)
        self._tick = lanes.setting.phases.tick_seconds
        self._run = machine.run
        self._every = lanes.setting.every

    def begin(self) -> None:
        """Leave the outputs in `found` with which an episode begins."""
        self.found[:] = self.lanes.first_outputs()[0]

    def step(self, action: Any) -> bool:
        """Go on by one step and leave outputs in `found`; return whether it could."""
        lanes = self.lanes
        given = np.asarray(action, dtype=float)
        if given.size != self._acts.size:
            raise InputError(
                f"an action has {given.size} numbers", remedy=f"give {self._acts.size} of them"
            )
        low, high = self._limits
        self._inputs[self._acts] = np.minimum(np.maximum(given.ravel(), low), high)
        row = self._row
        row[self._known] = 0
        lanes.k += self._every
        self._config[self._until] = lanes.k
        self._run(0, 1)
        if row[self._status] != tables.DONE:  # Python is asked for something, or it has ended
            drive(lanes.machine, 1)
        self.look()
        return bool(row[self._status] == tables.DONE)

    def look(self) -> None:
        """Compute the outputs where the run stands."""
        self._t[0] = self.lanes.k * self._tick
        self._output()
