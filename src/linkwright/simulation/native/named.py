"""Numbers of runs by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error, suggestion
from linkwright.simulation.native.machine import Settings
from linkwright.system.phases import DEPTH, Phases, Signal

_ROUNDING = 1e-16


class RunNumbers(Protocol):
    """What runs start with, on any target."""

    settings: Settings

    def put(self, name: str, values: ArrayLike) -> None:
        """Write one of the arrays x, d, p, w, c."""

    def rows_of(self, name: str) -> NDArray[np.float64]:
        """Return an array, a row for each run."""

    def initialize(self) -> None:
        """Let the states start where the phases put them."""


def put_named(
    machine: RunNumbers,
    phases: Phases,
    initial: Mapping[str, object],
    values: Mapping[str, object],
    inputs: Mapping[str, object],
) -> None:
    """Write parameters, inputs and then states that are given by name, for all runs or each.

    Where the absolute tolerance is not given, the size of the states is what it is scaled by; all
    that starts at zero, or at what rounding leaves of it, has no size, and counts as 1.

    States that are not given start from the values of the phases, or where their Program for the
    start puts them with these parameters.
    """
    put_entry = getattr(machine, "put_entry", None)
    states = {s.name: ("x", i) for i, s in enumerate(phases.x)}
    states |= {s.name: ("d", i) for i, s in enumerate(phases.d) if s.name not in states}
    known = (
        (values, {s.name: ("p", i) for i, s in enumerate(phases.p)}, "parameter"),
        (inputs, {s.name: ("w", i) for i, s in enumerate(phases.w)}, "input"),
        (initial, states, "state"),
    )
    for given, places, kind in known:
        if kind == "state":
            machine.initialize()
        for name, value in given.items():
            if name not in places:
                raise unknown(phases, name, places, kind)
            array, index = places[name]
            numbers = np.asarray(value, dtype=float)
            if put_entry is not None:  # what keeps entries apart, of many runs
                put_entry(array, index, numbers)
                continue
            rows = machine.rows_of(array)
            rows[:, index] = numbers
            machine.put(array, rows)
    if machine.settings.scaled and phases.x:
        size = np.abs(machine.rows_of("x")).max(axis=1)
        tolerances = machine.rows_of("c")
        tolerances[:, 2] = np.where(size > _ROUNDING, size, 1.0)
        machine.put("c", tolerances)


def refuse_beyond(machine: RunNumbers, phases: Phases) -> None:
    """Reject to start a joint so far beyond its end stop that this would fling it."""
    ranges = (phases.meta or {}).get("stops", {}).get("ranges", {})
    at = machine.rows_of("x")
    for i, signal in enumerate(phases.x):
        low, high = ranges.get(signal.name, (None, None))
        lower, upper = (-math.inf if low is None else low), (math.inf if high is None else high)
        beyond = np.maximum(lower - at[:, i], at[:, i] - upper)
        deepest = int(beyond.argmax())
        if beyond[deepest] > DEPTH:
            end = lower if at[deepest, i] < lower else upper
            unit = "" if signal.unit == "?" else f" {signal.unit}"
            raise Error(
                f"{signal.name!r} starts at {at[deepest, i]:.6g}{unit}, beyond its end stop at "
                f"{end:.6g}{unit}, which would fling it back",
                remedy="start within the range, or run without the limits of joints "
                "(limits=False, --no-limits)",
            )


def unknown(phases: Phases, name: str, known: Mapping[str, object], kind: str) -> Error:
    """Return the error of a name that is not known, with the nearest one."""
    if follows := (phases.meta or {}).get("follows", {}).get(name):
        return Error(
            f"{name!r} follows others in this run: it is {follows}",
            remedy="give it a value before the run begins",
        )
    remedy = suggestion(name, known, f"there are {', '.join(known) or 'none'}")
    return Error(f"{phases.name!r} has no {kind} {name!r}", remedy=remedy)


def names_of(signals: Sequence[Signal]) -> tuple[str, ...]:
    """Return the names of signals."""
    return tuple(s.name for s in signals)
