"""ONNX files of small networks, read without ONNX's own package.

An ONNX file is a message of Protocol Buffers (Google 2008): numbered fields, each a number of
variable length, eight bytes, four bytes, or so many bytes. Of the graph only a chain is taken, from
its input to its first output: products with constant matrices, sums with constant vectors, and
functions of single numbers. Everything else is rejected by name.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import read_bytes

Array = NDArray[np.float64]

LARGEST = 1 << 28
MOST_NODES = 256
WIDEST = 4096
ACTIVATIONS = {
    "Tanh": "tanh",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Elu": "elu",
    "Softplus": "softplus",
}
"""Functions of single numbers, and what `Network` calls them."""
_PASSED = ("Identity", "Flatten", "Dropout")
_TYPES: dict[int, tuple[str, int]] = {1: ("<f4", 4), 11: ("<f8", 10)}  # and their fields of numbers


class _Unread(Exception):
    """What is wrong with a file, without its name."""


@dataclass
class _Node:
    op: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)

    def constant(self, constants: dict[str, Array], at: int) -> Array:
        name = self.inputs[at] if at < len(self.inputs) else ""
        if name not in constants:
            raise _Unread(f"input {at + 1} of {self.op} is not a constant of the file")
        return constants[name]


@dataclass
class OnnxNetwork:
    """Layers of an ONNX file, the function of each, and the bounds of what comes out."""

    layers: list[tuple[Array, Array]]
    activations: list[str]
    lower: Array
    upper: Array


def read_onnx(path: str | Path) -> OnnxNetwork:
    """Return the network of an ONNX file."""
    try:
        return _network(*_graph(memoryview(read_bytes(path, LARGEST))))
    except (_Unread, UnicodeDecodeError, struct.error) as error:
        raise InputError(
            f"this is not a network of dense layers in ONNX: {error}",
            file=Path(path),
            remedy="export a chain of Gemm, MatMul, Add and functions with its weights in the file",
        ) from None


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value - (1 << 64) if value >> 63 else value
            continue
        size, at = _varint(data, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, -1), at)
        if size < 0 or at + size > len(data):
            raise _Unread("it is cut off, or not a message of Protocol Buffers")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for k in range(10):
        if at >= len(data):
            raise _Unread("it is cut off")
        value |= (data[at] & 127) << (7 * k)
        at += 1
        if data[at - 1] < 128:
            return value & ((1 << 64) - 1), at
    raise _Unread("a number has more than ten bytes")


def _message(value: Any) -> memoryview:
    if not isinstance(value, memoryview):
        raise _Unread("a field is a number where a message should be")
    return value


def _text(value: Any) -> str:
    return bytes(_message(value)).decode()


def _graph(data: memoryview) -> tuple[list[_Node], dict[str, Array], list[str], list[str]]:
    """Return nodes, constants, and the names of inputs and outputs."""
    graphs = [_message(value) for number, value in _fields(data) if number == 7]
    if len(graphs) != 1:
        raise _Unread(f"it has {len(graphs)} graphs")
    nodes: list[_Node] = []
    constants: dict[str, Array] = {}
    ends: dict[int, list[str]] = {11: [], 12: []}
    for number, value in _fields(graphs[0]):
        if number == 1:
            nodes.append(_node(_message(value)))
            if len(nodes) > MOST_NODES:
                raise _Unread(f"it has more than {MOST_NODES} nodes")
        elif number == 5:
            name, array = _tensor(_message(value))
            constants[name] = array
        elif number in ends:
            ends[number] += [_text(v) for n, v in _fields(_message(value)) if n == 1]
    for node in nodes:
        if node.op == "Constant" and node.outputs and "value" in node.attributes:
            constants[node.outputs[0]] = node.attributes["value"]
    return nodes, constants, [x for x in ends[11] if x not in constants], ends[12]


def _node(data: memoryview) -> _Node:
    made = _Node()
    for number, value in _fields(data):
        if number == 1:
            made.inputs.append(_text(value))
        elif number == 2:
            made.outputs.append(_text(value))
        elif number == 4:
            made.op = _text(value)
        elif number == 5:
            name, found = "", None
            for n, v in _fields(_message(value)):
                if n == 1:
                    name = _text(v)
                elif n == 2:
                    found = struct.unpack("<f", _message(v))[0]
                elif n == 3:
                    found = v
                elif n == 5:
                    found = _tensor(_message(v))[1]
            made.attributes[name] = found
    return made


def _tensor(data: memoryview) -> tuple[str, Array]:
    """Return name and numbers of a tensor; one of other numbers than floats is empty."""
    parts: dict[int, list[Any]] = {}
    for number, value in _fields(data):
        parts.setdefault(number, []).append(value)
    name = _text(parts[8][-1]) if 8 in parts else ""
    if parts.get(14, [0])[-1] == 1 or 13 in parts:
        raise _Unread(f"the numbers of {name!r} are in another file")
    kind = _TYPES.get(parts.get(2, [0])[-1])
    if kind is None:
        return name, np.zeros(0)
    shape = [d for value in parts.get(1, []) for d in _whole(value)]
    if (
        len(shape) > 2
        or any(not 0 <= d <= WIDEST for d in shape)
        or math.prod(shape) * 4 > len(data)
    ):
        raise _Unread(f"{name!r} has the shape {shape}, beyond {WIDEST} or its {len(data)} bytes")
    dtype, own = kind
    raw = b"".join(bytes(_message(v)) for v in parts.get(9, parts.get(own, [])))
    array = np.frombuffer(raw[: len(raw) // int(dtype[2]) * int(dtype[2])], dtype).astype(float)
    if array.size != math.prod(shape) or len(raw) != array.size * int(dtype[2]):
        raise _Unread(f"{name!r} has {len(raw)} bytes for the shape {shape}")
    if not np.isfinite(array).all():
        raise _Unread(f"{name!r} has a number that is not finite")
    return name, array.reshape(shape)


def _whole(value: Any) -> list[int]:
    """Return the numbers of a repeated field, alone or packed."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        found.append(number)
    return found


def _chain(
    nodes: list[_Node], constants: dict[str, Array], start: list[str], end: str
) -> list[_Node]:
    """Return the nodes from an input to an output, and their number of variable input first."""
    makers = {name: node for node in nodes for name in node.outputs[:1]}
    chain: list[_Node] = []
    while end not in start:
        node = makers.get(end)
        if node is None or len(chain) > len(nodes):
            raise _Unread(f"nothing makes {end!r} from the input")
        chain.append(node)
        variable = [x for x in node.inputs if x and x not in constants]
        if len(variable) != 1:
            raise _Unread(f"{node.op} takes {len(variable)} values that are not constants")
        end = variable[0]
    return chain[::-1]


def _network(
    nodes: list[_Node], constants: dict[str, Array], start: list[str], ends: list[str]
) -> OnnxNetwork:
    """Fold the chain into layers: an affine map, then a function."""
    if not start or not ends:
        raise _Unread("its graph has no input or no output")
    layers: list[tuple[Array, Array]] = []
    names: list[str] = []
    W: Array | None = None  # of the affine map that has begun; None before the first
    b: Array = np.zeros(0)
    lower, upper = np.array(-np.inf), np.array(np.inf)
    for node in _chain(nodes, constants, start, ends[0]):
        if np.isfinite(lower).any() or np.isfinite(upper).any():
            raise _Unread("Clip is not its last node")
        if node.op in ACTIVATIONS:
            if abs(node.attributes.get("alpha", 1.0) - 1.0) > 1e-7:
                raise _Unread(f"alpha of {node.op} is {node.attributes['alpha']}, not 1")
            if W is None:
                raise _Unread(f"{node.op} is before the first product with a matrix")
            layers.append((W, b))
            names.append(ACTIVATIONS[node.op])
            W, b = np.eye(len(b)), np.zeros(len(b))
        elif node.op == "Clip":
            lower, upper = _bounds(node, constants)
        elif node.op not in _PASSED:
            W, b = _affine(node, constants, W, b)
    if W is None:
        raise _Unread("no node is a product with a matrix")
    if not (layers and np.array_equal(W, np.eye(len(W))) and not b.any()):
        layers.append((W, b))
        names.append("linear")
    return OnnxNetwork(layers, names, lower, upper)


def _affine(
    node: _Node, constants: dict[str, Array], W: Array | None, b: Array
) -> tuple[Array, Array]:
    """Return an affine map followed by that of a node."""
    first = node.inputs[0] in constants
    known = {"Gemm", "MatMul", "Add", "Sub", "Mul", "Div"}
    if node.op not in known or (first and node.op in ("Gemm", "MatMul", "Div", "Sub")):
        raise _Unread(f"{node.op or 'a node without a name'} is not an operation of dense layers")
    c = node.constant(constants, 0 if first else 1)
    if node.op in ("Gemm", "MatMul"):
        given = node.attributes.get
        if given("transA", 0):
            raise _Unread("Gemm transposes its input")
        M = given("alpha", 1.0) * (c if given("transB", 0) else c.T)
        d = node.constant(constants, 2) if len(node.inputs) > 2 and node.inputs[2] else np.zeros(1)
        if M.ndim != 2 or not M.size or (W is not None and M.shape[1] != len(b)):
            raise _Unread(f"the matrix of {node.op} has the shape {M.shape}")
        d = _row(given("beta", 1.0) * d, len(M), node.op)
        return (M, d) if W is None else (M @ W, M @ b + d)
    if W is None:  # a mean or a scale of the inputs
        W, b = np.eye(c.size), np.zeros(c.size)
    c = _row(c, len(b), node.op)
    if node.op in ("Add", "Sub"):
        return W, b + (c if node.op == "Add" else -c)
    if node.op == "Div" and not c.all():
        raise _Unread("Div has a zero")
    share = c if node.op == "Mul" else 1 / c
    return W * share[:, None], b * share


def _row(given: Array, size: int, what: str) -> Array:
    """Return a number for each output of a layer."""
    if given.size not in (1, size):
        raise _Unread(f"{what} has {given.size} numbers for {size} values")
    return np.broadcast_to(given.ravel(), (size,)).copy()


def _bounds(node: _Node, constants: dict[str, Array]) -> tuple[Array, Array]:
    """Return the bounds of a Clip, as inputs or, in old files, as attributes."""
    found = []
    for at, name, usual in ((1, "min", -np.inf), (2, "max", np.inf)):
        if at < len(node.inputs) and node.inputs[at]:
            found.append(node.constant(constants, at).ravel()[:1].reshape(()))
        else:
            found.append(np.array(float(node.attributes.get(name, usual))))
    return found[0], found[1]
