"""Foreign blocks: a Python function at a declared rate.

The function is called at its instants with the values of its input ports, and what it returns holds
until the next one; everything else stays native. What the function remembers itself is its own
business: a run that is to be repeated exactly must start it anew.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from linkwright.blocks.block import Block
from linkwright.blocks.ports import Port
from linkwright.blocks.rates import BlockError, Rate


class _Keep:
    """The one value of `KEEP`."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP = _Keep()
"""What a function returns to keep its outputs, or one of them, as they are."""

_QUICK = (float, np.ndarray)
"""What most functions with one output return."""

Shape = int | tuple[int, ...] | None
NativeFunction = tuple[int, int, object]
"""Addresses of a native function of ticks and of its context, and what keeps them valid."""
Native = Callable[[int], NativeFunction | None]
"""From where results begin in the array of arguments, what is held, and results."""
Ports = str | Sequence[str] | Mapping[str, Shape]


class Foreign(Block):
    """A Python function as a block.

    Args:
        function: called with its input ports by name, numbers or arrays; an argument `t` is the
            time in s and no port. An argument with a default has it where nothing drives it. It
            returns the value of its output port, or, with several output ports, a tuple in their
            order or a mapping by name; `KEEP` stands for the value that an output has.
        outputs: names of the output ports, with None for a number or a size (a shape) for an array.
        inputs: sizes of those input ports that are arrays; with None, a number that may be set
            from outside. An argument that is not here, has no default and that nothing drives
            is rejected.
        rate: hertz or a `Rate`.
        name: of the block; the function's by default.
        units: of ports, by name.
        doc: one line that says what it is.
        native: returns native code that does the same, or None: ticks of a single run call it
            without Python, and turn to the function where it does not return 0.

    >>> def reference(t, q):
    ...     return 0.1 * t + q
    >>> Foreign(reference, outputs="target", rate=60)
    Foreign(reference: q -> target)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        outputs: Ports = (),
        inputs: Mapping[str, Shape] | None = None,
        rate: Rate | float | Fraction | None = None,
        name: str = "",
        units: Mapping[str, str] | None = None,
        doc: str = "",
        native: Native | None = None,
    ) -> None:
        label = name or getattr(function, "__name__", type(function).__name__).strip("<>")
        first = (inspect.getdoc(function) or "").partition("\n")[0]
        super().__init__(label, rate=rate, doc=doc or first)
        self.function, self.native = function, native
        unit = dict(units or {})
        shapes = dict(inputs or {})
        self._wants_time = False
        self.optional = set(shapes)
        for argument, default in _arguments(function, label).items():
            if argument == "t":
                self._wants_time = True
                continue
            if default is not inspect.Parameter.empty:
                self.optional.add(argument)
            size = _as_shape(shapes.pop(argument, None))
            values = _defaults(default, size, argument, label)
            self._input(argument, size, values, unit.get(argument, "?"), "")
        if shapes:
            raise BlockError(f"{label!r} has no argument {', '.join(shapes)}")
        for key, shape in _as_ports(outputs).items():
            symbols = self._symbols(key, _as_shape(shape), "input", unit.get(key, "?"))
            port = Port(key, unit.get(key, "?"), _as_shape(shape), symbols, symbols)
            self.outputs[key] = port

    def __call__(
        self, t: float, arguments: Sequence[float], held: Sequence[float]
    ) -> Sequence[float]:
        """Call the function with the flat values of its inputs; return those of its outputs."""
        assert self.function is not None
        given: dict[str, Any] = {"t": t} if self._wants_time else {}
        start = 0
        for key, port in self.inputs.items():
            stop = start + len(port.symbols)
            part = arguments[start:stop]
            given[key] = np.array(part, dtype=float).reshape(port.shape) if port.shape else part[0]
            start = stop
        found = self.function(**given)
        if found is KEEP or not self.outputs:
            return held
        flat: list[float] = []
        for port, value in zip(self.outputs.values(), self._results(found, t), strict=True):
            size = len(port.symbols)
            flat += held[len(flat) :][:size] if value is KEEP else self._numbers(value, port, t)
        return flat

    def in_place(self, arguments: Any, held: Any, results: Any) -> Callable[[float], None]:
        """Return the function of time that calls it on arrays which stay where they are.

        What the function is given are copies, which it may keep.

        Args:
            arguments: the flat values of its inputs.
            held: those of its outputs as they are.
            results: those of its outputs as they become.
        """
        outputs = list(self.outputs.values())
        numbers, arrays = [], []
        start = 0
        for key, port in self.inputs.items():
            stop = start + len(port.symbols)
            if port.shape:
                arrays.append((key, arguments[start:stop].reshape(port.shape)))
            else:
                numbers.append((key, start))
            start = stop
        cuts = np.cumsum([0, *(len(port.symbols) for port in outputs)])
        targets = [
            (port, results[a:b], held[a:b])
            for port, a, b in zip(outputs, cuts[:-1], cuts[1:], strict=True)
        ]
        item, wants_time = arguments.item, self._wants_time

        def call(t: float) -> None:
            given: dict[str, Any] = {"t": t} if wants_time else {}
            for key, place in numbers:
                given[key] = item(place)
            for key, array in arrays:
                given[key] = array.copy()
            assert self.function is not None
            found = self.function(**given)
            if found is KEEP or not targets:
                results[:] = held
                return
            values = [found] if type(found) in _QUICK and len(targets) == 1 else None
            for (port, target, before), value in zip(
                targets, self._results(found, t) if values is None else values, strict=True
            ):
                if value is KEEP:
                    target[:] = before
                elif type(value) is float and len(target) == 1:
                    target[0] = value
                elif (
                    type(value) is np.ndarray and value.dtype == float and value.size == len(target)
                ):
                    target[:] = value.ravel()
                else:
                    target[:] = self._numbers(value, port, t)

        return call

    def _results(self, found: Any, t: float) -> list[Any]:
        """Return what the function returned for each of its outputs."""
        names = list(self.outputs)
        if found is None:
            raise BlockError(
                f"{self.name!r} returned nothing for its output {', '.join(map(repr, names))} "
                f"at t = {t:.6g} s",
                remedy="return a value, or linkwright.KEEP to keep what it is",
            )
        if isinstance(found, Mapping):
            if set(found) != set(names):
                raise BlockError(
                    f"{self.name!r} returned values for {', '.join(map(repr, found)) or 'nothing'} "
                    f"at t = {t:.6g} s; its outputs are {', '.join(map(repr, names))}",
                    remedy="give each by its name; linkwright.KEEP stands for what it is",
                )
            return [found[key] for key in names]
        values = [found] if len(names) == 1 else list(found) if np.iterable(found) else [found]
        if len(values) != len(names):
            raise BlockError(
                f"{self.name!r} returned {len(values)} values for its {len(names)} outputs "
                f"{', '.join(map(repr, names))} at t = {t:.6g} s"
            )
        return values

    def _numbers(self, value: Any, port: Port, t: float) -> list[float]:
        """Return the numbers of one output."""
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise BlockError(
                f"{self.name!r} returned {value!r} for its output {port.name!r} at t = {t:.6g} s, "
                "which is not a number"
            ) from None
        if array.size != len(port.symbols):
            raise BlockError(
                f"{self.name!r} returned {array.size} numbers for its output {port.name!r} of "
                f"{len(port.symbols)} at t = {t:.6g} s"
            )
        return [float(x) for x in array.ravel()]


@dataclass(frozen=True, slots=True)
class TickFunction:
    """The function of a block at its ticks."""

    block: Foreign  # whose function it is
    size: int  # how many of the values it is called with are its inputs; the others are held

    def __call__(self, t: float, values: Sequence[float]) -> Sequence[float]:
        return self.block(t, values[: self.size], values[self.size :])

    def native(self, results_at: int) -> NativeFunction | None:
        """Return native code that does the same, or None."""
        return None if self.block.native is None else self.block.native(results_at)

    def in_place(self, values: Any, results: Any) -> Callable[[float], None]:
        """Return the function of time that calls it on arrays which stay where they are."""
        return self.block.in_place(values[: self.size], values[self.size :], results)


def _arguments(function: Callable[..., Any], label: str) -> dict[str, Any]:
    """Return the names of a function's arguments with their defaults."""
    found = {}
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise BlockError(
                f"the argument {p.name!r} of {label!r} has no name that a port could have",
                remedy="write its arguments out",
            )
        found[p.name] = p.default
    return found


def _defaults(given: Any, shape: tuple[int, ...], argument: str, label: str) -> list[float]:
    """Return the values that an input port has where nothing drives it."""
    size = math.prod(shape)
    if given is inspect.Parameter.empty:
        return [0.0] * size
    try:
        array = np.broadcast_to(np.asarray(given, dtype=float), shape)
    except (TypeError, ValueError):
        raise BlockError(
            f"the default {given!r} of the argument {argument!r} of {label!r} is not a value of a "
            f"port of {size}",
            remedy=f"declare its size with inputs={{{argument!r}: ...}}, or bind it outside",
        ) from None
    return [float(x) for x in array.ravel()]


def _as_ports(given: Ports) -> dict[str, Shape]:
    if isinstance(given, str):
        return {given: None}
    return dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)


def _as_shape(shape: Shape) -> tuple[int, ...]:
    if shape is None:
        return ()
    return (shape,) if isinstance(shape, int) else shape
