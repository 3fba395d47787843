"""Prints of the joint model as JNTMOD made them: initial conditions, blocks, and the filter.

PTINIT (section 3.1.2) prints times and initial arrays; PRT (3.1.7) for each block at an instant U,
X, XHOM, XPAR, XWON, W, Y, Z, ZWON and V; PRTKF (3.7.6.2) Z, ZHAT and their difference, XHAT and
SIGMAX. Here all have the names of states and sensors with their units. X = XWON + W, and XWON =
XHOM + XPAR, of the step that led to the instant, with the inputs U of that step. The observables Y
of a block are its states, which is JNTMOD's C as implemented.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from linkwright.base.checks import checked
from linkwright.elements.drives import Chain
from linkwright.elements.drives.matrices import ChainMatrices
from linkwright.elements.drives.parts import DriveError
from linkwright.recording import Recording

TITLES = {
    "controller": "CONTROLLER",
    "amplifier": "AMPLIFIER",
    "motor": "MOTOR",
    "train": "POWER TRAIN",
    "load": "LOAD",
}
STATES = ("X", "XHOM", "XPAR", "XWON", "W", "Y")
SENSORS = ("Z", "ZWON", "V")


def joint_print(
    recording: Recording, name: str, chain: Chain, every: float | None = None, filtered: str = ""
) -> str:
    """Return the prints of a run of a chain that goes part by part.

    Args:
        recording: of the run, with all instants.
        name: of the chain in its System.
        chain: the chain.
        every: the interval of prints, s; each instant by default.
        filtered: the name of its filter; none by default.
    """
    if f"{name}.XHOM.{chain.matrices().states[0]}" not in recording.names:
        raise DriveError(
            f"the chain {name!r} has the exact update, which goes as a whole: it has no XHOM, XPAR "
            "and W of its parts",
            remedy="give --update simultaneous or sequential",
            code="R404",
        )
    return "\n".join(_Prints(recording, name, chain.matrices()).lines(every, filtered)) + "\n"


class _Prints:
    def __init__(self, recording: Recording, name: str, found: ChainMatrices) -> None:
        self.recording, self.name, self.found = recording, name, found
        self.units = {c.name: c.unit for c in recording.channels}
        self.values = recording.data

    def lines(self, every: float | None, filtered: str) -> Iterator[str]:
        times = self.recording.times
        yield f"JOINT MODEL {self.name}: {self.found.update} update, INITIAL CONDITIONS"
        step = self.found.step
        for label, value in (("start", times[0]), ("stop", times[-1]), ("step", step)):
            yield f"  {label + ' time':<28} {value:.9g} s"
        for block in self.found.blocks[1:]:
            yield from self._initial(block.name, self.found.states[block.own])
        for row in _rows(times, every):
            yield f"\fTIME {times[row]:.9g} s"
            for block in self.found.blocks:
                yield f"{TITLES[block.name]}"
                puts = [p for p, _ in block.inputs]
                yield from self._table("", ("U",), puts, row)
                yield from self._table("", STATES, self.found.states[block.own], row)
                own = [s for s in self.found.sensors if s.partition(".")[0] == block.name]
                yield from self._table("", SENSORS, own, row)
            if filtered:
                yield f"KALMAN FILTER  TIME {times[row]:.9g} s"
                stem = f"{filtered}."
                yield from self._table(stem, ("Z", "ZHAT", "DZ"), self.found.sensors, row)
                yield from self._table(stem, ("XHAT", "SIGMAX"), self.found.states, row)
                yield f"  {'NIS':<28} {self._value(f'{stem}NIS', row)}"

    def _initial(self, role: str, states: Sequence[str]) -> Iterator[str]:
        """Yield the arrays of a block at the start."""
        yield TITLES[role]
        yield from self._table("", ("X", "Y"), states, 0)
        sensors = [s for s in self.found.sensors if s.partition(".")[0] == role]
        yield from self._table("", ("Z",), sensors, 0)

    def _table(
        self, stem: str, arrays: Sequence[str], names: Sequence[str], row: int
    ) -> Iterator[str]:
        """Yield a line for each state or sensor, with its numbers of all arrays."""
        if not names:
            return
        heads = ["Z-ZHAT" if a == "DZ" else a for a in arrays]
        yield f"  {'':<28} " + " ".join(f"{h:>16}" for h in heads)
        for name in names:
            channels = [self._channel(stem, a, name) for a in arrays]
            unit = self.units[channels[0]]
            label = f"{name} [{unit}]" if unit != "?" else name
            yield f"  {label:<28} " + " ".join(self._value(c, row) for c in channels)

    def _channel(self, stem: str, array: str, name: str) -> str:
        if array in ("X", "Y"):
            return f"{self.name}.{name}"
        own = stem if array not in ("Z", "ZWON", "V") else ""
        return f"{own or f'{self.name}.'}{array}.{name}"

    def _value(self, channel: str, row: int) -> str:
        return f"{self.recording[channel][row]: 16.8e}"


def _rows(times: np.ndarray, every: float | None) -> Sequence[int]:
    """Return the first sample at or after each multiple of an interval."""
    if every is None:
        return range(len(times))
    checked(every, "the interval in s", above=0, code="R213")
    marks = np.arange(times[0], times[-1] + 1e-9, every)
    found = np.unique(np.searchsorted(times, marks - 1e-9))
    return [int(k) for k in found[found < len(times)]]
