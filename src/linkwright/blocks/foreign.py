"""Foreign blocks: a Python function at a declared rate.

The function is called at its instants with the values of its input ports, and what it returns holds
until the next one; everything else stays native. What the function remembers itself is its own
business: a run that is to be repeated exactly must start it anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from linkwright.blocks.block import Block
from linkwright.blocks.ports import Port
from linkwright.blocks.rates import BlockError, Rate

Shape = int | tuple[int, ...] | None
Ports = str | Sequence[str] | Mapping[str, Shape]


class Foreign(Block):
    """A Python function as a block.

    Args:
        function: called with its input ports by name, numbers or arrays; an argument `t` is the
            time in s and no port. It returns the value of its output port, or, with several
            output ports, a tuple in their order or a mapping by name; None keeps what was.
        outputs: names of the output ports, with None for a number or a size (a shape) for an array.
        inputs: sizes of those input ports that are arrays.
        rate: hertz or a `Rate`.
        name: of the block; the function's by default.
        units: of ports, by name.
        doc: one line that says what it is.

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
    ) -> None:
        label = name or getattr(function, "__name__", type(function).__name__).strip("<>")
        first = (inspect.getdoc(function) or "").partition("\n")[0]
        super().__init__(label, rate=rate, doc=doc or first)
        self.function = function
        unit = dict(units or {})
        shapes = dict(inputs or {})
        self._wants_time = False
        for argument in _arguments(function, label):
            if argument == "t":
                self._wants_time = True
                continue
            shape = shapes.pop(argument, None)
            if shape is None:
                self.input(argument, unit=unit.get(argument, "?"))
            else:
                self.input_vector(argument, shape, unit=unit.get(argument, "?"))
        if shapes:
            raise BlockError(f"{label!r} has no argument {', '.join(shapes)}")
        for key, shape in _as_ports(outputs).items():
            symbols = self._symbols(key, _as_shape(shape), "input", unit.get(key, "?"))
            port = Port(key, unit.get(key, "?"), _as_shape(shape), symbols, symbols)
            self.outputs[key] = port

    def __call__(self, t: float, arguments: Sequence[float]) -> list[float] | None:
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
        if found is None or not self.outputs:
            return None
        names = list(self.outputs)
        if isinstance(found, Mapping):
            values = [found[key] for key in names]
        else:
            values = [found] if len(names) == 1 else list(found)
        flat: list[float] = []
        for port, value in zip(self.outputs.values(), values, strict=True):
            array = np.asarray(value, dtype=float)
            if array.size != len(port.symbols):
                raise BlockError(
                    f"{self.name!r} returned {array.size} numbers for its output {port.name!r} of "
                    f"{len(port.symbols)} at t = {t:.6g} s"
                )
            flat.extend(array.ravel().tolist())
        return flat


def _arguments(function: Callable[..., Any], label: str) -> list[str]:
    names = []
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise BlockError(
                f"the argument {p.name!r} of {label!r} has no name that a port could have",
                remedy="write its arguments out",
            )
        names.append(p.name)
    return names


def _as_ports(given: Ports) -> dict[str, Shape]:
    if isinstance(given, str):
        return {given: None}
    return dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)


def _as_shape(shape: Shape) -> tuple[int, ...]:
    if shape is None:
        return ()
    return (shape,) if isinstance(shape, int) else shape
