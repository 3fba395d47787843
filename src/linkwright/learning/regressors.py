"""Learned models: functions that improve with each sample, and freeze into a Program.

Alone they learn a whole function; over an analytic model they learn what it leaves: friction, a
load, what nobody has written down.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, constant, symbol
from linkwright.base.errors import InputError, suggestion
from linkwright.base.files import read_bytes, write_with
from linkwright.blocks import Block, Rate
from linkwright.learning.local_models import KINDS, Learner
from linkwright.program import Call, Program, Statement, program

Array = NDArray[np.float64]
Model = Callable[..., Any]
"""An analytic model: a quantity of a robot, a kernel, or a function of rows."""
_LARGEST = 1 << 28
_SETTINGS = ("size", "ridge", "forgetting", "gain", "adapt", "seed")


class Regressor:
    """A function of `inputs` numbers with `outputs` values, learned from samples as they come.

    Far from all samples it is zero, or the analytic model that it stands over.

    Args:
        kind: "fields", receptive fields with local linear models (RFWR, Schaal & Atkeson 1998);
            "memory", locally weighted regression of the samples in a kd-tree; "features", random
            Fourier features with recursive least squares; "grid", a look-up table with multilinear
            interpolation.
        inputs: how many numbers it takes.
        outputs: how many it gives.
        scale: over which distance of the inputs, in their units, it may change; one for all, or one
            for each. It is the width of new fields, the reach of a sample in the memory, and the
            length of the features.
        over: an analytic model that is added: `robot.inverse_dynamics`, a kernel, or a function of
            rows; its arguments are the inputs in their order.
        lower: where a grid begins, for each input.
        upper: where it ends.
        cells: of a grid along each input.
        size: how many random features, or samples of a memory.
        ridge: what keeps coefficients small where there are few samples.
        forgetting: what is left of the weight of a sample after the next one, up to 1.
        gain: of a grid: by which part of its error a sample moves the nodes around it.
        adapt: of fields: how fast their widths follow the error; 0 to keep them.
        seed: of random features.

    >>> model = Regressor("features", 1, scale=0.5)
    >>> for x in np.random.default_rng(0).uniform(-2, 2, 300):
    ...     model.update([x], [np.sin(2 * x)])
    >>> float(model.predict([0.3])[0]), float(np.sin(0.6))  # doctest: +ELLIPSIS
    (0.564..., 0.564...)
    """

    def __init__(
        self,
        kind: str,
        inputs: int,
        outputs: int = 1,
        *,
        scale: ArrayLike = 1.0,
        over: Model | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        cells: int | Sequence[int] | None = None,
        size: int | None = None,
        ridge: float | None = None,
        forgetting: float | None = None,
        gain: float | None = None,
        adapt: float | None = None,
        seed: int | None = None,
    ) -> None:
        if kind not in KINDS:
            raise InputError(
                f"the kind of a learned model is {kind!r}",
                remedy=suggestion(kind, KINDS, f"choose one of {', '.join(KINDS)}"),
            )
        self.kind, self.inputs = kind, _count(inputs, "inputs")
        self.outputs, self.samples = _count(outputs, "outputs"), 0
        given = dict(zip(_SETTINGS, (size, ridge, forgetting, gain, adapt, seed), strict=True))
        settings: dict[str, Any] = {k: _setting(k, v) for k, v in given.items() if v is not None}
        known = {f.name for f in fields(KINDS[kind])}
        grid = {"lower": lower, "upper": upper, "cells": cells}
        for name in settings:
            if name not in known:
                raise InputError(f"a learned model of kind {kind!r} has no {name}")
        for name, value in grid.items():
            if (value is None) == (kind == "grid"):
                ask = "needs" if value is None else "has no"
                raise InputError(f"a learned model of kind {kind!r} {ask} {name}")
        self._shift, self._size = np.zeros(self.inputs), self._row(scale, "scale")
        if kind == "grid":
            low, high = self._row(lower, "lower"), self._row(upper, "upper")
            counts = np.broadcast_to(np.asarray(cells), (self.inputs,)).tolist()
            settings["cells"] = tuple(_count(c, "cells") for c in counts)
            self._shift, self._size = low, (high - low) / np.array(settings["cells"])
        if not np.all(self._size > 0):
            what = "upper above lower" if kind == "grid" else "a scale above zero"
            raise InputError(f"a learned model of kind {kind!r} needs {what} for every input")
        self._settings = settings
        self._learner = cast(Learner, KINDS[kind](self.inputs, self.outputs, **settings))
        self._over = _Over(over, self.inputs, self.outputs) if over is not None else None

    def __repr__(self) -> str:
        sizes = f"{self.inputs} -> {self.outputs}"
        return f"Regressor({self.kind!r}, {sizes}, {self.samples} samples)"

    def _row(self, given: Any, what: str) -> Array:
        """Return a finite number for each input."""
        array = np.asarray(given, dtype=float)
        if array.shape not in ((), (self.inputs,)) or not np.isfinite(array).all():
            raise InputError(
                f"{what} of a learned model is {given!r}",
                remedy=f"give a finite number, or {self.inputs}",
            )
        return np.broadcast_to(array, (self.inputs,)).copy()

    def _rows(self, given: ArrayLike, size: int, what: str) -> Array:
        array = np.asarray(given, dtype=float)
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise InputError(
                f"{what} of a learned model has the shape {array.shape}",
                remedy=f"give {size} numbers, or rows of {size}",
            )
        if not np.isfinite(array).all():
            raise InputError(f"{what} of a learned model has a number that is not finite")
        return np.atleast_2d(array)

    def predict(self, x: ArrayLike) -> Array:
        """Return the values at one point, or at each row of several.

        Args:
            x: the inputs, in the units of the samples.
        """
        rows = self._rows(x, self.inputs, "x")
        y = self._learner.predict((rows - self._shift) / self._size)
        if self._over is not None:
            y = y + self._over(rows)
        return y[0] if np.ndim(x) == 1 else y

    def update(self, x: ArrayLike, y: ArrayLike) -> None:
        """Learn from one sample, or from several rows in their order.

        Args:
            x: the inputs.
            y: what the function is there.
        """
        rows = self._rows(x, self.inputs, "x")
        wanted = self._rows(y, self.outputs, "y")
        if len(rows) != len(wanted):
            raise InputError(f"x has {len(rows)} rows and y {len(wanted)}")
        if self._over is not None:
            wanted = wanted - self._over(rows)
        for z, value in zip((rows - self._shift) / self._size, wanted, strict=True):
            self._learner.learn(z, value)
        self.samples += len(rows)

    def program(self, name: str = "learned") -> Program:
        """Return what it has learned so far as a Program from `x` to `y`.

        Args:
            name: of the Program, and of the function in written C.

        >>> model = Regressor("grid", 1, lower=0.0, upper=1.0, cells=2, gain=1.0)
        >>> model.update([[0.0], [0.5], [1.0]], [[1.0], [2.0], [5.0]])
        >>> from linkwright import compile
        >>> compile(model.program())([0.75])
        array([3.5])
        """
        own = f"{name} values"
        x = [symbol(f"x[{k}]", "input", owner=own) for k in range(self.inputs)]
        z = [
            (v - constant(float(a))) / constant(float(s))
            for v, a, s in zip(x, self._shift, self._size, strict=True)
        ]
        statements, values = self._learner.written(z, own)
        if self._over is not None:
            before, base = self._over.written(x, own)
            statements = [*before, *statements]
            values = [a + b for a, b in zip(base, values, strict=True)]
        return program(name, {"x": x}, {"y": values}, statements=statements)

    def block(self, name: str = "learned", *, rate: Rate | float | Fraction | None = None) -> Block:
        """Return what it has learned so far as a block with an input `x` and an output `y`.

        Args:
            name: of the block.
            rate: hertz or a `Rate`; by default it is continuous.
        """
        made = Block(name, rate=rate, doc=f"a learned model of {self.samples} samples")
        x = made.input_vector("x", self.inputs)
        made.output_vector("y", made.embed(self.program(name), {"x": x})["y"])
        return made

    def save(self, path: str | Path) -> None:
        """Write all that it has learned to a file `.npz`, in place of one that is there.

        The analytic model below it is not written.

        Args:
            path: of the file.
        """
        head = {
            "format": "linkwright regressor 1", "kind": self.kind, "inputs": self.inputs,
            "outputs": self.outputs, "samples": self.samples, "settings": self._settings,
        }  # fmt: skip
        arrays = {name: getattr(self._learner, name) for name in self._learner.kept}
        arrays |= {"shift": self._shift, "scale": self._size}
        text = np.frombuffer(json.dumps(head).encode(), np.uint8)
        write_with(path, lambda file: np.savez(file, head=text, **arrays), replace=True)

    @classmethod
    def load(cls, path: str | Path, *, over: Model | None = None) -> Regressor:
        """Return a learned model from the file that `save` has written; it goes on learning.

        Args:
            path: of the file.
            over: the analytic model that it stands over.
        """
        try:
            with np.load(io.BytesIO(read_bytes(path, _LARGEST)), allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            head = json.loads(arrays.pop("head").tobytes())
            if head["format"] != "linkwright regressor 1":
                raise ValueError(f"its format is {head['format']!r}")
            settings: dict[str, Any] = dict(head["settings"])
            grid: dict[str, Any] = {}
            if head["kind"] == "grid":
                cells = settings.pop("cells")
                high = arrays["shift"] + arrays["scale"] * np.array(cells)
                grid = {"lower": arrays["shift"], "upper": high, "cells": cells}
            scale = 1.0 if grid else arrays["scale"]
            made = cls(
                head["kind"], head["inputs"], head["outputs"], scale=scale, over=over,
                **settings, **grid,
            )  # fmt: skip
            made._shift, made._size = arrays.pop("shift"), arrays.pop("scale")
            made._take(arrays)
            made.samples = int(head["samples"])
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, InputError) and error.file:
                raise
            raise InputError(f"this is not a learned model: {error}", file=Path(path)) from None
        return made

    def _take(self, arrays: dict[str, Array]) -> None:
        """Put arrays in the place of those of the learner, where they have its shapes."""
        count = {len(arrays[name]) for name in self._learner.kept[:1]}
        for name in self._learner.kept:
            now, new = np.asarray(getattr(self._learner, name)), arrays[name]
            grows = now.ndim > 0 and len(now) == 0
            shape = (*count, *now.shape[1:]) if grows else now.shape
            if new.shape != shape or new.dtype != now.dtype or np.isnan(new).any():
                raise ValueError(f"{name} has the shape {new.shape}, not {shape}")
            setattr(self._learner, name, new)


class _Over:
    """An analytic model below a learned one: of rows, and in a Program."""

    def __init__(self, model: Model, inputs: int, outputs: int) -> None:
        self.model, self.outputs = model, outputs
        self.sizes: list[int] | None = None
        made = getattr(model, "program", None)
        if isinstance(made, Program):
            ports = [p for p in made.inputs if p.name != "p"]
            self.sizes, given = [p.size for p in ports], sum(p.size for p in made.outputs)
            if (sum(self.sizes), given) != (inputs, outputs):
                raise InputError(
                    f"the analytic model {made.name!r} has {sum(self.sizes)} inputs and {given} "
                    f"outputs, and the learned one over it {inputs} and {outputs}"
                )

    def __call__(self, rows: Array) -> Array:
        if self.sizes is None:
            y = np.asarray(self.model(rows), dtype=float)
        else:
            y = np.asarray(self.model(*np.split(rows, np.cumsum(self.sizes)[:-1], axis=1)))
        if y.size != len(rows) * self.outputs:
            raise InputError(
                f"the analytic model gives {y.shape} for {len(rows)} rows, and the learned one "
                f"{self.outputs} numbers for each"
            )
        return y.reshape(len(rows), self.outputs)

    def written(self, x: Sequence[Expr], own: str) -> tuple[list[Statement], list[Expr]]:
        made = getattr(self.model, "program", None)
        if not isinstance(made, Program):
            raise InputError(
                "the analytic model below is a Python function, which has no Program",
                remedy="give a quantity of a robot or a kernel, such as robot.inverse_dynamics",
            )
        rest = [
            constant(float(v)) for p in made.inputs if p.name == "p"
            for v in cast(Any, self.model)._usual
        ]  # fmt: skip
        results = tuple(symbol(f"base{k}", "local", owner=own) for k in range(self.outputs))
        return [Call(made, (*x, *rest), results)], list(results)


def _count(given: Any, what: str) -> int:
    if isinstance(given, bool) or given != int(given) or given < 1:
        raise InputError(f"{what} of a learned model is {given!r}", remedy="give a whole number")
    return int(given)


def _setting(name: str, value: Any) -> Any:
    """Return a checked setting."""
    if name == "size":
        return _count(value, name)
    if name == "seed":
        return int(value)
    least, most = {"forgetting": (0.5, 1.0), "gain": (0.0, 1.0)}.get(name, (0.0, np.inf))
    if not least <= value <= most or (value == 0 and name in ("ridge", "gain")):
        span = f"above 0, up to {most:g}" if least == 0 else f"from {least:g} to {most:g}"
        raise InputError(f"{name} of a learned model is {value!r}", remedy=f"give one {span}")
    return float(value)
