"""Hardware: what a controller drives, whatever stands behind it.

Hardware has named states and commands with units, and a life. In a System it is one native block,
and what it does happens in ticks:

- off: nothing has been heard of the device; its `beat`, a number, must change now and then;
- inactive: it is there, and gets its commands of rest;
- active, after `enable`: it gets what the controller wants;
- fault: it reported one, fell silent, or a command was no number. It gets its commands of rest
  until `clear`, and then `enable`, are asked for. Neither does anything while the fault lasts.

`enable`, `disable` and `clear` are inputs, and count: a request is a change of the number, so that
it is taken once, at a tick, and stands in the tape of a run. One change of life happens at a tick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from linkwright.algebra import ONE, ZERO, Expr, absolute, as_expr, equal, not_equal, where
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.blocks import Block
from linkwright.windows import Field, Record

LIVES = ("off", "inactive", "active", "fault")
"""What hardware can be, by the number that stands for it."""
OFF, INACTIVE, ACTIVE, FAULT = range(4)

SILENT, NOT_FINITE, FAILED = -1, -2, -3
"""Causes of a fault that are not the device's own: it is silent; a command or its fault is no
number; Python code that serves it has failed."""

REQUESTS = ("enable", "disable", "clear")
OWN = (*REQUESTS, "fault", "beat", "life", "cause", "told_fault", "told_beat", "heard")
_LARGEST = 1e300  # beyond it, a command is no number that anything could follow


class Hardware(Block):
    """States, commands and life of what a controller drives, as a sampled block.

    Each state goes in as `read_<name>` and comes out as `<name>`; each command goes in as
    `wanted_<name>`, and what the device gets comes out as `<name>`. The device's own `fault` (0 for
    none) and `beat` go in as `read_fault` and `read_beat`; `life` (a place in `LIVES`), `cause` and
    a `beat` for the device come out. `told_fault` and `told_beat` are what was read, for a replay.

    Args:
        name: of the hardware.
        states: what it reports.
        commands: what it receives.
        rest: what a command is while the hardware is not active, by name: a number, or the name of
            a state that it follows, such as the place where an arm stands; 0 by default.
        patience: ticks without a new `beat` after which the device has fallen silent.

    Example:
        >>> import linkwright as lw
        >>> arm = Hardware("arm", [Field("q", "rad")], [Field("torque", "N*m")])
        >>> arm.state_record.names, arm.command_record.names
        (('q', 'fault', 'beat'), ('torque', 'life', 'beat'))
        >>> s = lw.System(name="s")
        >>> member = s.add(arm, rate=1000)
        >>> s.connect("1000*t + 1", member.read_beat)
        >>> s.connect("where(t > 0.5, 1, 0)", member.enable)
        >>> run = lw.simulate(s, until=1.0)
        >>> [LIVES[int(run.at(t)["arm.life"])] for t in (0.25, 0.75)]
        ['inactive', 'active']
    """

    @worded
    def __init__(
        self,
        name: str,
        states: Iterable[Field],
        commands: Iterable[Field],
        *,
        rest: Mapping[str, float | str] | None = None,
        patience: int = 50,
    ) -> None:
        super().__init__(name, doc="states, commands and life of hardware")
        told, asked = _checked(name, states, commands)
        self.state_record = Record(f"{name}.states", *told, Field("fault"), Field("beat"))
        self.command_record = Record(f"{name}.commands", *asked, Field("life"), Field("beat"))
        known = {f.name: self._through(f) for f in told}
        fault = self.input("read_fault", doc="what the device says of itself, 0 for no fault")
        beat = self.input("read_beat", doc="changes as long as the device lives")
        self.output("told_fault", fault, doc="the device's fault as it was read")
        self.output("told_beat", beat, doc="the device's beat as it was read")
        wanted = {f.name: self._port(f"wanted_{f.name}", f) for f in asked}
        finite = ONE
        for x in (x for symbols in wanted.values() for x in symbols):
            finite = where(absolute(x) < _LARGEST, finite, ZERO)
        life = self._live(fault, beat, self.intermediate(finite), patience)
        held = _resting(name, rest or {}, known, asked)
        for f in asked:
            values = [
                where(life > ACTIVE - 0.5, where(life < ACTIVE + 0.5, x, y), y)
                for x, y in zip(wanted[f.name], held[f.name], strict=True)
            ]
            self._out(f, values)

    def _port(self, name: str, field: Field) -> Sequence[Expr]:
        if field.shape:
            return self.input_vector(name, field.shape, unit=field.unit)
        return (self.input(name, unit=field.unit),)

    def _out(self, field: Field, values: Sequence[Expr]) -> None:
        if field.shape:
            self.output_vector(field.name, values, unit=field.unit)
        else:
            self.output(field.name, values[0], unit=field.unit)

    def _through(self, field: Field) -> Sequence[Expr]:
        """Let a state through."""
        symbols = self._port(f"read_{field.name}", field)
        self._out(field, symbols)
        return symbols

    def _request(self, name: str) -> Expr:
        """Return whether a request is new: 1, or 0."""
        asked = self.input(name, doc=f"a new number asks to {name}")
        last = self.discrete_state(f"last_{name}", asked)
        return where(not_equal(asked, last), ONE, ZERO)

    def _live(self, fault: Expr, beat: Expr, finite: Expr, patience: int) -> Expr:
        """Return the life at this tick."""
        if patience < 1:
            raise InputError(f"hardware {self.name!r} needs a patience of 1 tick at least")
        enable, disable, clear = (self._request(name) > 0.5 for name in REQUESTS)
        _, ticks = silence(self, beat, "heard", "silence", initial=patience, most=patience)
        alive = ticks < patience - 0.5
        well = equal(fault, ZERO)  # not so where it is no number

        was = self.discrete_state("was", initial=float(OFF))
        inactive, active = equal(was, INACTIVE), equal(was, ACTIVE)
        usable, mended = finite > 0.5, clear & well
        life = self.intermediate(
            next_life(
                was,
                found=alive,
                enable=enable,
                disable=disable,
                clear=mended,
                gone=~alive & (inactive | (equal(was, FAULT) & mended)),
                fault=(active & (~alive | ~well | ~usable))
                | (alive & (~well | (inactive & enable & ~usable))),
            )
        )
        self.update(was, life)
        self.output("life", life, doc="a place in LIVES")

        told = where(equal(fault, fault), fault, as_expr(float(NOT_FINITE)))
        new = where(alive, where(well, as_expr(float(NOT_FINITE)), told), as_expr(float(SILENT)))
        cause = self.discrete_state("why")
        now = where(life > FAULT - 0.5, where(was > FAULT - 0.5, cause, new), ZERO)
        self.update(cause, now)
        self.output("cause", now, doc="the device's code; -1 silent, -2 no number, -3 failed")
        count = self.discrete_state("count", initial=0.0)
        self.update(count, count + 1)
        self.output("beat", count + 1, doc="changes at each tick, for the device")
        return life


def silence(
    block: Block,
    beat: Expr,
    seen: str,
    count: str,
    *,
    idle: Expr = ZERO,
    initial: float = 0.0,
    most: float | None = None,
) -> tuple[Expr, Expr]:
    """Return whether a beat has changed, and else for how many ticks it has not.

    This is the one rule by which devices, controllers and clients fall silent. The block remembers
    the beat and the count under two names; while `idle`, nobody is waited for.
    """
    last, before = block.discrete_state(seen, beat), block.discrete_state(count, initial=initial)
    fresh = not_equal(beat, last)
    ticks = block.intermediate(where(fresh | idle, ZERO, before + 1))
    kept = ticks if most is None else where(ticks > most, as_expr(float(most)), ticks)
    block.update(before, kept)
    return fresh, ticks


def next_life(
    was: Expr,
    *,
    found: Expr,
    enable: Expr,
    disable: Expr,
    clear: Expr,
    fault: Expr,
    gone: Expr = ZERO,
) -> Expr:
    """Return the life that follows at a tick: one change, and a fault before all else.

    >>> from linkwright.algebra import evaluate, symbol
    >>> was, asked = symbol("was"), symbol("asked")
    >>> rest = {"found": ONE, "disable": ZERO, "clear": ZERO, "fault": ZERO}
    >>> life = next_life(was, enable=asked, **rest)
    >>> [LIVES[int(evaluate(life, {was: float(n), asked: 1.0}))] for n in range(4)]
    ['inactive', 'active', 'active', 'fault']
    """
    after = where(equal(was, OFF) & found, INACTIVE, was)
    after = where(equal(was, INACTIVE) & enable, ACTIVE, after)
    after = where(equal(was, ACTIVE) & disable, INACTIVE, after)
    after = where(equal(was, FAULT) & clear, INACTIVE, after)
    return where(fault, FAULT, where(gone, OFF, after))


def _checked(
    name: str, states: Iterable[Field], commands: Iterable[Field]
) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    told, asked = tuple(states), tuple(commands)
    seen: set[str] = set()
    for field in (*told, *asked):
        if not field.name.isidentifier() or field.name in OWN:
            raise InputError(
                f"{field.name!r} cannot name a state or command of hardware {name!r}",
                remedy=f"use a word other than {', '.join(OWN)}",
            )
        if field.name in seen:
            raise InputError(
                f"hardware {name!r} has two states or commands called {field.name!r}",
                remedy="give a command another name than the state, such as 'target'",
            )
        seen.add(field.name)
    return told, asked


def _resting(
    name: str,
    rest: Mapping[str, float | str],
    known: Mapping[str, Sequence[Expr]],
    commands: Sequence[Field],
) -> dict[str, Sequence[Expr]]:
    """Return what each command is at rest."""
    for given in rest:
        if given not in {f.name for f in commands}:
            raise InputError(f"hardware {name!r} has no command {given!r} that could rest")
    found: dict[str, Sequence[Expr]] = {}
    for field in commands:
        value, count = rest.get(field.name, 0.0), math.prod(field.shape)
        if not isinstance(value, str):
            found[field.name] = [as_expr(float(value))] * count
        elif value in known and len(known[value]) == count:
            found[field.name] = known[value]
        else:
            raise InputError(
                f"the command {field.name!r} of hardware {name!r} cannot follow {value!r}",
                remedy="name a state of the same shape",
            )
    return found
