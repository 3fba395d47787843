"""Arrays that a loop reads where they lie already: inputs, what another loop wrote, constants.

In primitive code a scanned array is a list of values. Mostly these are the entries of an input in
even steps, the results of one earlier loop in its order or backward, or numbers; a loop can read
those in place. Everything else is copied to an array before the loop. Where results of calls are in
arrays too, loops read them in place, and calls take whole arrays as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from linkwright.program.code import Code, Instruction, LoopCode


@dataclass(frozen=True, slots=True)
class InputArray:
    """Entries `first`, `first + step`, ... of an input."""

    port: int
    first: int
    step: int


@dataclass(frozen=True, slots=True)
class StackArray:
    """Entries `first`, `first + step`, ... of an array that a loop or a call has written."""

    loop: int
    stack: int
    first: int
    step: int


@dataclass(frozen=True, slots=True)
class ConstantArray:
    """Numbers."""

    values: tuple[float, ...]


Source: TypeAlias = InputArray | StackArray | ConstantArray


class Arrays:
    """Where the arrays of some code lie.

    >>> from linkwright.algebra import symbols, symbol
    >>> from linkwright.program import Loop, lower, program
    >>> from linkwright.program.program import Carried, Scanned
    >>> q = symbols("q1 q2 q3", "coordinate")
    >>> c, s, f = symbols("c s f", "local")
    >>> loop = Loop(3, (Carried(c, q[0], c * s, f),), (Scanned(s, q[::-1]),), (), ())
    >>> code = lower(program("p", {"q": q}, {"f": f}, statements=[loop]))
    >>> arrays = Arrays(code)
    >>> arrays.sources(next(i for i in code.instructions if i.op == "loop"))
    [InputArray(port=0, first=2, step=-1)]
    >>> len(arrays.unread)
    2
    """

    def __init__(self, code: Code, *, calls: bool = False) -> None:
        self._by_id = {i.id: i for i in code.instructions}
        self._sources: dict[int, list[Source | None]] = {}
        self._calls = calls
        read = set(code.output_ids())
        for i in code.walk():
            if i.op == "call" and calls:
                read.update(self._call(i))
                continue
            if i.op != "loop":
                if i.op != "result":
                    read.update(i.args)
                continue
            data: LoopCode = i.data
            carried = len(data.carried)
            read.update((*i.args[:carried], *data.following, *data.stacked))
            found = self._sources[i.id] = []
            for k in range(len(data.scanned)):
                ids = i.args[carried + k * data.count : carried + (k + 1) * data.count]
                found.append(self._source(ids))
                if found[-1] is None:
                    read.update(ids)
        self.unread: set[int] = {
            i.id
            for i in code.instructions
            if i.op in ("input", "result", "const") and i.id not in read
        }
        """Inputs, constants and results that only loops read, in place."""

    def sources(self, of: Instruction) -> list[Source | None]:
        """Return where each array lies that a loop scans or a call takes; None: copy it."""
        return self._sources[of.id]

    def _call(self, i: Instruction) -> list[int]:
        """Look at the arguments of a call; return those that have to be copied."""
        found = self._sources[i.id] = []
        copied: list[int] = []
        at = 0
        for port in i.data.inputs:
            ids = i.args[at : at + port.size]
            at += port.size
            source = self._source(ids) if ids else None
            whole = isinstance(source, InputArray | StackArray) and source.step == 1
            found.append(source if whole else None)
            if not whole:
                copied.extend(ids)
        return copied

    def _source(self, ids: Sequence[int]) -> Source | None:
        made = [self._by_id.get(i) for i in ids]
        first = made[0]
        if first is None or any(m is None or m.op != first.op for m in made):
            return None
        every = [m for m in made if m is not None]
        if first.op == "const":
            return ConstantArray(tuple(m.data for m in every))
        if first.op == "input":
            port, start = first.data
            if any(m.data[0] != port for m in every):
                return None
            step = _step([m.data[1] for m in every])
            return None if step is None else InputArray(port, start, step)
        if first.op != "result" or any(m.args != first.args for m in every):
            return None
        source = self._by_id[first.args[0]]
        if source.op == "call" and self._calls:
            ports = [
                (k, j) for k, (port, _) in enumerate(source.data.outputs) for j in range(port.size)
            ]
            places = [ports[m.data] for m in every]
        elif source.op == "loop":
            data: LoopCode = source.data
            places = [divmod(m.data - len(data.carried), data.count) for m in every]
        else:
            return None
        stack, start = places[0]
        if stack < 0 or any(s != stack for s, _ in places):
            return None
        step = _step([k for _, k in places])
        return None if step is None else StackArray(source.id, stack, start, step)


def _step(places: Sequence[int]) -> int | None:
    """Return the step of evenly spaced places; None where they are not."""
    step = places[1] - places[0] if len(places) > 1 else 1
    even = all(b - a == step for a, b in pairwise(places))
    return step if even else None
