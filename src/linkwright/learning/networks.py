"""Trained networks as blocks: a policy runs within the native program, in C and in batches.

A layer is y = f(W x + b). Its rows are the turns of one loop, which reads the columns of W as
arrays of constants; so three layers of 128 stay a page of code, and compile in well under a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    constant,
    exp,
    log,
    maximum,
    minimum,
    symbol,
    tanh,
    total,
    where,
)
from linkwright.base.errors import InputError, suggestion
from linkwright.blocks import Block, Rate
from linkwright.program import Loop, Program, Statement, program
from linkwright.program.program import Scanned, Stacked

Array = NDArray[np.float64]
Layers = Sequence[tuple[ArrayLike, ArrayLike]]

ACTIVATIONS: dict[str, Callable[[Expr], Expr]] = {
    "linear": lambda x: x,
    "tanh": tanh,
    "relu": lambda x: maximum(x, ZERO),
    "sigmoid": lambda x: ONE / (ONE + exp(-x)),
    "elu": lambda x: where(x > ZERO, x, exp(where(x > ZERO, ZERO, x)) - ONE),
    "softplus": lambda x: maximum(x, ZERO) + log(ONE + exp(-maximum(x, -x))),
}
"""What a layer applies to each of its sums, by name."""


class Network(Block):
    """A network of dense layers, with an input vector `x` and an output vector `y`.

    Args:
        weights: pairs of a matrix (outputs x inputs) and a vector for each layer; or a mapping by
            name with `...weight` and `...bias` in the order of the layers, such as PyTorch's
            `state_dict()`; or a file `.npz` with these; or a file `.onnx`, which has the functions
            of its layers and bounds in it.
        activation: of all layers but the last: "tanh", "relu", "sigmoid", "elu", "softplus" or
            "linear".
        final: of the last layer.
        mean: subtracted from the inputs.
        scale: by which they are divided then.
        lower: below which no output goes; one for all, or one for each.
        upper: above which none goes.
        name: of the block.
        rate: hertz or a `Rate`; by default it is continuous.

    >>> from linkwright import System, simulate
    >>> net = Network([([[1.0, 2.0], [0.5, 0.0]], [0.1, 0.0]), ([[1.0, -1.0]], [0.0])])
    >>> s = System(name="s")
    >>> member = s.add(net)
    >>> s.connect("0.3", member.x[0])
    >>> round(simulate(s, 0.1).final["network.y[0]"], 6)
    0.231064
    """

    def __init__(
        self,
        weights: Layers | Mapping[str, Any] | str | Path,
        *,
        activation: str = "tanh",
        final: str = "linear",
        mean: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        name: str = "network",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="a network of dense layers")
        functions: Sequence[str] | str = activation
        if isinstance(weights, str | Path) and Path(weights).suffix.lower() == ".onnx":
            from linkwright.learning.onnx import read_onnx

            found = read_onnx(weights)
            weights, functions, final = found.layers, found.activations, found.activations[-1]
            lower, upper = (found.lower if lower is None else lower,
                            found.upper if upper is None else upper)  # fmt: skip
        layers = layers_of(weights, name)
        made = network_program(layers, functions, final, name=name)
        self.layers = layers
        first, last = layers[0][0].shape[1], layers[-1][0].shape[0]
        x: Sequence[Expr] = self.input_vector("x", first)
        shift = _row(mean, first, "mean", name, 0.0)
        size = _row(scale, first, "scale", name, 1.0)
        if not np.all(size > 0):
            raise InputError(f"scale of {name!r} has a number that is not above zero")
        if mean is not None or scale is not None:
            x = [self.intermediate((v - m) / s) for v, m, s in zip(x, shift, size, strict=True)]
        y = self.embed(made, {"x": x})["y"]
        low = _row(lower, last, "lower", name, -math.inf)
        high = _row(upper, last, "upper", name, math.inf)
        if np.any(low > high):
            raise InputError(f"a lower bound of {name!r} is above its upper one")
        self.output_vector(
            "y", [_within(*row) for row in zip(y, low.tolist(), high.tolist(), strict=True)]
        )


def network_program(
    layers: Sequence[tuple[Array, Array]],
    activation: str | Sequence[str],
    final: str,
    *,
    name: str = "network",
) -> Program:
    """Return the Program of a network: `x` to `y`; an activation for all layers, or for each."""
    words = [activation] * len(layers) if isinstance(activation, str) else list(activation)
    words[-1] = final
    for word in [activation, *words] if isinstance(activation, str) else words:
        if word not in ACTIVATIONS:
            raise InputError(
                f"{name!r} has the activation {word!r}",
                remedy=suggestion(word, ACTIVATIONS, f"choose one of {', '.join(ACTIVATIONS)}"),
            )
    owner = f"{name} layers"

    def own(text: str, kind: str = "local") -> Expr:
        return symbol(text, kind, owner=owner)

    entries = [own(f"x[{k}]", "input") for k in range(layers[0][0].shape[1])]
    values: list[Expr] = list(entries)
    statements: list[Statement] = []
    for number, (W, b) in enumerate(layers):
        f = ACTIVATIONS[words[number]]
        columns = np.vstack([W.T, b])
        scanned = [
            Scanned(own(f"w{number}_{k}"), tuple(constant(float(v)) for v in column))
            for k, column in enumerate(columns)
        ]
        turn = total(
            [*(s.symbol * v for s, v in zip(scanned, values, strict=False)), scanned[-1].symbol]
        )
        targets = tuple(own(f"y{number}_{k}") for k in range(len(W)))
        statements.append(Loop(len(W), (), tuple(scanned), (Stacked(f(turn), targets),), ()))
        values = list(targets)
    return program(name, {"x": entries}, {"y": values}, statements=statements)


def layers_of(
    weights: Layers | Mapping[str, Any] | str | Path, name: str
) -> list[tuple[Array, Array]]:
    """Return checked matrices and vectors of all layers."""
    if isinstance(weights, str | Path):
        weights = _read(Path(weights))
    pairs = _named(weights, name) if isinstance(weights, Mapping) else list(weights)
    if not pairs:
        raise InputError(f"{name!r} has no layers", remedy="give a matrix and a vector for each")
    layers: list[tuple[Array, Array]] = []
    for k, pair in enumerate(pairs, 1):
        if len(pair) != 2:
            raise InputError(f"layer {k} of {name!r} is not a matrix with a vector")
        W, b = (_array(x, f"layer {k} of {name!r}") for x in pair)
        if W.ndim != 2 or not W.size or b.shape != W.shape[:1]:
            raise InputError(
                f"layer {k} of {name!r} has a matrix of {W.shape} and a vector of {b.shape}",
                remedy="give outputs x inputs, and one number for each output",
            )
        if layers and W.shape[1] != len(layers[-1][1]):
            raise InputError(
                f"layer {k} of {name!r} takes {W.shape[1]} numbers, and the one before it gives "
                f"{len(layers[-1][1])}"
            )
        layers.append((W, b))
    return layers


def _named(weights: Mapping[str, Any], name: str) -> list[tuple[Any, Any]]:
    """Return the layers of a mapping by name, such as PyTorch's `state_dict()`."""
    others = [key for key in weights if not key.endswith(("weight", "bias"))]
    if others:
        raise InputError(
            f"the weights of {name!r} have {others[0]!r}",
            remedy="give ...weight and ...bias of dense layers alone, in their order",
        )
    pairs = []
    for key, W in weights.items():
        if key.endswith("weight"):
            rows = np.shape(W)[0] if np.ndim(W) else 0
            pairs.append((W, weights.get(key.removesuffix("weight") + "bias", np.zeros(rows))))
    return pairs


def _read(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as kept:
            return {key: kept[key] for key in kept.files}
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(
            f"{path} does not hold the weights of a network: {error}",
            remedy='write them with numpy.savez(path, **{"0.weight": W, "0.bias": b})',
        ) from error


def _array(given: Any, what: str) -> Array:
    for step in ("detach", "cpu", "numpy"):  # what a tensor of PyTorch has
        given = getattr(given, step)() if hasattr(given, step) else given
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} has something that is not a number") from error
    if not np.isfinite(array).all():
        raise InputError(f"{what} has a number that is not finite")
    return array


def _row(given: ArrayLike | None, size: int, what: str, name: str, usual: float) -> Array:
    """Return a number for each of so many values."""
    array = np.asarray(usual if given is None else given, dtype=float)
    if array.shape not in ((), (size,)) or np.isnan(array).any():
        raise InputError(f"{what} of {name!r} is {given!r}", remedy=f"give a number, or {size}")
    return np.broadcast_to(array, (size,))


def _within(value: Expr, low: float, high: float) -> Expr:
    if math.isfinite(high):
        value = minimum(value, constant(high))
    return maximum(value, constant(low)) if math.isfinite(low) else value
