"""Something that can be computed of a robot: a function with a Program behind it.

It is derived, optimized and compiled when it is first called; nothing else of the robot is.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, ShapeError
from linkwright.base.forking import cached_property

if TYPE_CHECKING:
    from linkwright.backends.kernel import Kernel
    from linkwright.backends.llvm.batch import BatchCall
    from linkwright.backends.llvm.stored import Ports, StoredKernel
    from linkwright.program import Counts, Program

Array: TypeAlias = NDArray[np.float64]
Recipe = Callable[[], "Program"]
USUAL_REFERENCE = "local-world-aligned"  # the view of motion where none is asked for
Slope = Callable[[Sequence[str]], "Quantity"]
_FLAGS, _VECTORCALL = 168, 1 << 11  # of types: the place of their flags, and one of these


def _nothing() -> None:
    """Stand for what a quantity calls, before there is any."""


class Quantity(partial[Any]):
    """A quantity of a robot as a function of arrays.

    Each argument is one vector, or has leading axes in front of it; arguments without them are
    shared by all rows, and the result has the same leading axes. With `out` it fills an array (or
    one for each output) instead of making one. What is called is native code itself, once it is
    there; only arguments that are not plain vectors take a way through Python (`_sort_out`).

    Args:
        name: what it is called.
        derive: returns its Program, not yet optimized.
        timings: receives seconds for each step, by name.
        slopes: returns the quantity of the derivatives by some inputs.
        key: returns what stands for the Program in the disk cache; nothing for none.
        values: returns the values of parameters, for the input `p` where it is left out.

    >>> from linkwright.program import program
    >>> double = Quantity(
    ...     "double", lambda: program("double", {"x": ["x"]}, {"y": lambda x: [2 * x]})
    ... )
    >>> double([1.0]), double([[1.0], [2.0]])
    (array([2.]), array([[2.], [4.]]))
    """

    def __init_subclass__(cls) -> None:
        _call_directly(cls)

    def __new__(cls, *_: object, **__: object) -> Self:
        """Return one that calls nothing yet."""
        return super().__new__(cls, _nothing)

    def __init__(
        self,
        name: str,
        derive: Recipe,
        timings: dict[str, float] | None = None,
        slopes: Slope | None = None,
        key: Callable[[], str] = str,
        values: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self.name = name
        self._derive = derive
        self._slopes = slopes
        self._key = key
        self._values = values
        self._derivatives: dict[tuple[str, ...], Quantity] = {}
        self.timings: dict[str, float] = {} if timings is None else timings
        self._use(self._first)

    def _use(self, call: Callable[..., Any]) -> None:
        """Let calls go to a function: `func` of `functools.partial`."""
        state: Any = super()
        state.__setstate__((call, (), {}, self.__dict__))

    def derived(self) -> Program:
        """Return the Program as it is derived, not yet optimized."""
        return self._derive()

    @cached_property
    def program(self) -> Program:
        """What is computed, optimized."""
        from linkwright.program.passes import optimize

        started = time.perf_counter()
        made = self._derive()
        derived = time.perf_counter()
        self.timings[f"{self.name}: derive"] = derived - started
        made = optimize(made)
        self.timings[f"{self.name}: optimize"] = time.perf_counter() - derived
        return made

    @cached_property
    def counts(self) -> Counts:
        """The operations of one evaluation."""
        from linkwright.program import count_operations

        return count_operations(self.program)

    @cached_property
    def _native(self) -> StoredKernel:
        """The kernel, without the Program where the disk cache has it."""
        from linkwright.backends.llvm.stored import StoredKernel
        from linkwright.robots.stored import known_ports

        def make() -> tuple[Ports, Ports]:
            return _ports(self.program.inputs), _ports(self.program.outputs)

        key = self._key()
        ports = known_ports(key, make) if key else make()
        return StoredKernel(self.name, key or self.program.fingerprint(), *ports, self._for_speed)

    def _for_speed(self) -> Program:
        """Return the Program that is compiled: several divisions by one value become one."""
        from linkwright.program.passes.reciprocals import shared_reciprocals

        return shared_reciprocals(self.program)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the entries of the input `p`, where there is one."""
        last = self.program.inputs[-1]
        return tuple(x.name for x in last.entries) if last.name == "p" else ()

    @cached_property
    def _usual(self) -> Array:
        values = self._values()
        missing = [name for name in self.parameters if name not in values]
        if missing:
            raise InputError(
                f"{self.name} needs values for {', '.join(missing)}", remedy="give the array p"
            )
        return np.array([values[name] for name in self.parameters])

    @property
    def inputs(self) -> Ports:
        """Names and shapes of the arrays that it takes."""
        return self._native.inputs

    @property
    def outputs(self) -> Ports:
        """Names and shapes of the arrays that it gives."""
        return self._native.outputs

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled Program, for those who want its batch layouts and threads."""
        from linkwright.backends.kernel import compile as compiled

        return compiled(self.program)

    @property
    def batch(self) -> BatchCall:
        """The native function over rows, with its layouts and threads:
        `batch(*inputs, out=None, threads=1)`."""
        return self._native.batch

    @property
    def code(self) -> tuple[int, object]:
        """The address of the native code of single vectors, and what keeps it valid."""
        return self._native.code

    @property
    def usual_parameters(self) -> Array | None:
        """What the input `p` is where it is left out; None where there is no such input."""
        return self._usual if self.inputs[-1][0] == "p" else None

    def derivative(self, *by: str) -> Quantity:
        """Return the derivatives by some inputs, as a quantity of the same inputs.

        The derivative by `q` of a result has one more axis, as long as there are speeds: it is
        taken in the tangent space, in which entry k is the rate for unit speed k. Several inputs
        give several results.

        >>> from linkwright.program import program
        >>> square = Quantity(
        ...     "square", lambda: program("square", {"x": ["x"]}, {"y": lambda x: x**2})
        ... )
        >>> square.derivative("x")([3.0])
        array([6.])
        """
        names = by or tuple(name for name, _ in self.inputs)
        found = self._derivatives.get(names)
        if found is None:
            found = self._derivatives[names] = (self._slopes or self._plain_slopes)(names)
        return found

    def _plain_slopes(self, by: Sequence[str]) -> Quantity:
        from linkwright.robots.derivatives import derivative_program

        name = f"{self.name} by {', '.join(by)}"
        return Quantity(name, lambda: derivative_program(self.program, by), self.timings)

    def source(self, language: str = "c") -> str:
        """Return the Program as source text."""
        from linkwright.backends.c import c_source
        from linkwright.backends.python import python_source

        writers = {"c": c_source, "python": python_source}
        if language not in writers:
            raise ShapeError(f"no source in {language!r}", remedy="choose 'c' or 'python'")
        return writers[language](self.program)

    def _first(self, *inputs: Any, **options: Any) -> Any:
        """Build the kernel and evaluate; from then on calls go to it directly.

        Rows need the kernel of batches alone: the one of single vectors is built when there is one.
        """
        if self.func != self._first:  # somebody kept what was there before the first call
            return self(*inputs, **options)
        native = self._native
        ports = zip(inputs, native.inputs, strict=False)
        started = time.perf_counter()
        if any(getattr(x, "ndim", 0) > len(shape) for x, (_, shape) in ports):
            found = self._sort_out(*inputs, **options)
            self.timings.setdefault(f"{self.name}: compile", time.perf_counter() - started)
            return found
        self._use(native.scalar_or(self._sort_out))
        self.timings[f"{self.name}: compile"] = time.perf_counter() - started
        return self(*inputs, **options)

    def _sort_out(self, *inputs: Any, out: Any = None) -> Any:
        """Evaluate inputs that are not plain vectors."""
        ports = self.inputs
        if out is None and len(inputs) == len(ports) and _are_arrays(inputs):
            found = self._native.batch.plain_rows(inputs)
            if found is not None:
                return found
        if any(hasattr(x, "__cuda_array_interface__") for x in inputs):
            return self._on_card(inputs, out)
        if len(inputs) == len(ports) - 1 and ports[-1][0] == "p":
            inputs = (*inputs, self._usual)
        if len(inputs) != len(ports):
            names = ", ".join(name for name, _ in ports)
            raise ShapeError(f"{self.name} takes {len(ports)} arrays ({names}), not {len(inputs)}")
        arrays = [_as_array(name, x) for (name, _), x in zip(ports, inputs, strict=True)]
        leads = [
            _lead(name, array, shape) for (name, shape), array in zip(ports, arrays, strict=True)
        ]
        lead = _common_lead(self.name, ports, leads)
        if not lead:
            if out is None:
                return self._native.scalar(*arrays)
            self._native.scalar(*arrays, *_several(out))
            return out
        return self._rows(arrays, leads, lead, out)

    def _on_card(self, inputs: Sequence[Any], out: Any) -> Any:
        """Evaluate arrays that lie on a card, there."""
        if len(inputs) == len(self.inputs) - 1 and self.inputs[-1][0] == "p":
            inputs = (*inputs, self._usual)
        return self._cuda.batch(*inputs, out=out)

    @cached_property
    def _cuda(self) -> Any:
        """The kernel for cards."""
        from linkwright.backends.cuda.backend import CudaNative

        return CudaNative(self._for_speed())

    def _rows(
        self,
        arrays: Sequence[Any],
        leads: Sequence[tuple[int, ...]],
        lead: tuple[int, ...],
        out: Any,
    ) -> Any:
        if len(lead) == 1 and all(x in ((), lead) for x in leads):
            made = self._native.batch(*arrays, out=out)
            return made if out is None else out
        size = int(np.prod(lead))
        flat = [
            np.broadcast_to(x, (*lead, *shape)).reshape(size, *shape) if own else x
            for x, own, (_, shape) in zip(arrays, leads, self.inputs, strict=True)
        ]
        made = self._native.batch(*flat)
        results = made if isinstance(made, tuple) else (made,)
        shaped = [x.reshape(*lead, *x.shape[1:]) for x in results]
        if out is not None:
            for given, value in zip(_several(out), shaped, strict=True):
                given[...] = value
            return out
        return tuple(shaped) if isinstance(made, tuple) else shaped[0]

    def __deepcopy__(self, memo: object) -> Self:
        """Return this: it is a function, and those are not copied."""
        return self

    def __copy__(self) -> Self:
        return self

    def __repr__(self) -> str:
        return f"Quantity({self.name!r})"


def _call_directly(kind: type) -> None:
    """Let calls of a kind of `partial` come as they are, without a tuple and a dictionary.

    Kinds inherit that from Python 3.12 on (`Py_TPFLAGS_HAVE_VECTORCALL`); nothing else depends on
    it, so another layout of types than the one that is known is left as it is.
    """
    if sys.implementation.name == "cpython":
        flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
        flags.value |= _VECTORCALL if flags.value == kind.__flags__ else 0


_call_directly(Quantity)


def _lead(name: str, array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    cut = array.ndim - len(shape)
    if cut < 0 or array.shape[cut:] != shape:
        wanted = " x ".join(map(str, shape)) or "a number"
        raise ShapeError(
            f"{name} has the shape {array.shape}", remedy=f"its last axes are {wanted}"
        )
    return tuple(array.shape[:cut])


def _as_array(name: str, given: Any) -> Array:
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} holds something that is not a number, or rows of different lengths"
        ) from None


def _common_lead(name: str, ports: Ports, leads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        told = ", ".join(
            f"{port}: {' x '.join(map(str, lead)) or 'none'}"
            for (port, _), lead in zip(ports, leads, strict=True)
        )
        raise ShapeError(f"{name}: the leading axes do not fit together ({told})") from None


def _are_arrays(inputs: Sequence[Any]) -> bool:
    """Whether all are arrays and one has more axes than the first must have by itself."""
    return all(type(x) is np.ndarray for x in inputs) and any(x.ndim > 1 for x in inputs)


def _ports(ports: Sequence[Any]) -> Ports:
    return tuple((port.name, port.shape) for port in ports)


def _several(out: Any) -> tuple[Any, ...]:
    return tuple(out) if isinstance(out, tuple | list) else (out,)


def frame_label(name: str, frame: str, options: Iterable[str] = ()) -> str:
    """Return the name of a quantity of one frame.

    >>> frame_label("jacobian", "left hand", ["local"])
    "jacobian of 'left hand' local"
    """
    return " ".join([f"{name} of {frame!r}", *options])


class FrameQuantity:
    """A quantity of each frame of a robot: `pose(q, "hand")`, or `pose["hand"](q)`.

    Some have options, as in `jacobian(q, "hand", reference="local")`; `of` takes them too.
    """

    def __init__(self, name: str, of_frame: Callable[..., Quantity]) -> None:
        self.name = name
        self._of_frame = of_frame
        self._known: dict[tuple[str, ...], Quantity] = {}

    def of(self, frame: str, **options: str) -> Quantity:
        """Return the quantity of one frame."""
        key = (frame, *(f"{k}={options[k]}" for k in sorted(options)))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._of_frame(frame, **options)
        return found

    def __getattr__(self, name: str) -> Any:
        """Say how to ask for what only the quantity of one frame has."""
        words = f"{self.name} has no attribute {name!r}" if "name" in self.__dict__ else name
        if hasattr(Quantity, name):
            words += f" without a frame: ask as {self.name}[frame].{name}"
        raise AttributeError(words)

    def __getitem__(self, frame: str) -> Quantity:
        """Return the quantity of one frame, with the usual options."""
        return self.of(frame)

    def __call__(self, *inputs: Any, out: Any = None, **options: str) -> Any:
        """Evaluate; the name of the frame comes after the arrays."""
        *arrays, frame = inputs or (None,)
        if not isinstance(frame, str):
            raise InputError(
                f"{self.name} is that of a frame, and none is named",
                remedy=f'give its name after the arrays, as in {self.name}(..., "hand")',
            )
        return self.of(frame, **options)(*arrays, out=out)

    def derivative(self, *by: str) -> FrameQuantity:
        """Return the derivatives of the quantity of each frame; see `Quantity.derivative`."""

        def of_frame(frame: str, **options: str) -> Quantity:
            return self.of(frame, **options).derivative(*by)

        return FrameQuantity(f"{self.name} by {', '.join(by)}", of_frame)

    def __repr__(self) -> str:
        return f"FrameQuantity({self.name!r})"
