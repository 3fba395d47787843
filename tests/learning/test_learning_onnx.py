"""ONNX files, written here byte by byte as the format says, against NumPy."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.learning import Network
from linkwright.learning.networks import network_program
from linkwright.learning.onnx import read_onnx
from tests.seeds import seeds

Array = NDArray[np.float64]


def varint(value: int) -> bytes:
    """A number of variable length."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def part(number: int, value: int | float | str | bytes) -> bytes:
    """A field of a message."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name: str, array: Any, *, form: str = "raw") -> bytes:
    """A TensorProto of floats: raw, as packed numbers, or of doubles."""
    array = np.asarray(array)
    dims = b"".join(part(1, int(d)) for d in array.shape)
    if form == "packed":
        return dims + part(2, 1) + part(8, name) + part(4, array.astype("<f4").tobytes())
    kind, dtype = (11, "<f8") if form == "double" else (1, "<f4")
    return dims + part(2, kind) + part(8, name) + part(9, array.astype(dtype).tobytes())


def node(op: str, inputs: list[str], output: str, **attributes: int | float) -> bytes:
    """A NodeProto."""
    own = b"".join(part(1, x) for x in inputs) + part(2, output) + part(4, op)
    for name, value in attributes.items():
        kind = 2 if isinstance(value, float) else 3
        own += part(5, part(1, name) + part(kind, value))
    return own


def model(nodes: list[bytes], constants: list[bytes], end: str) -> bytes:
    """A ModelProto."""
    graph = b"".join(part(1, n) for n in nodes) + part(2, "g")
    graph += b"".join(part(5, c) for c in constants)
    graph += part(11, part(1, "x")) + part(12, part(1, end))
    return part(1, 8) + part(2, "test") + part(7, graph) + part(8, part(2, 17))


def exported(seed: int) -> tuple[bytes, list[tuple[Array, Array]]]:
    """A network with normalized inputs: Gemm, MatMul with Add, and bounds."""
    rng = np.random.default_rng(seed)
    shapes = [(7, 4), (5, 7), (2, 5)]
    layers = [(rng.normal(size=s), rng.normal(size=s[0])) for s in shapes]
    layers = [(W.astype("f4").astype(float), b.astype("f4").astype(float)) for W, b in layers]
    (A, a), (B, b), (C, c) = layers
    content = model(
        [
            node("Sub", ["x", "mean"], "x0"),
            node("Div", ["x0", "scale"], "x1"),
            node("Gemm", ["x1", "A", "a"], "h0", transB=1),
            node("Elu", ["h0"], "h1", alpha=1.0),
            node("MatMul", ["h1", "B"], "h2"),
            node("Add", ["b", "h2"], "h3"),
            node("Relu", ["h3"], "h4"),
            node("Gemm", ["h4", "C", "c"], "h5", alpha=2.0, beta=0.5),
            node("Tanh", ["h5"], "h6"),
            node("Mul", ["h6", "size"], "h7"),
            node("Clip", ["h7", "low", "high"], "y"),
        ],
        [
            tensor("mean", [0.5, 0, -0.5, 1]), tensor("scale", [1, 2, 4, 0.5], form="packed"),
            tensor("A", A), tensor("a", a, form="packed"), tensor("B", B.T, form="double"),
            tensor("b", b), tensor("C", C.T), tensor("c", c), tensor("size", 3.0),
            tensor("low", -2.5), tensor("high", 2.0),
        ],
        "y",
    )  # fmt: skip
    return content, layers


def forward(layers: list[tuple[Array, Array]], x: Array) -> Array:
    (A, a), (B, b), (C, c) = layers
    h = (x - [0.5, 0, -0.5, 1]) / [1, 2, 4, 0.5] @ A.T + a
    h = np.where(h > 0, h, np.expm1(np.minimum(h, 0)))
    h = np.maximum(h @ B.T + b, 0)
    return np.asarray(np.clip(3 * np.tanh(2 * h @ C.T + 0.5 * c), -2.5, 2.0))


@pytest.mark.parametrize("seed", seeds(5, daily=1))
def test_a_network_in_onnx_computes_what_numpy_does(seed: int, tmp_path: Path) -> None:
    content, layers = exported(seed)
    path = tmp_path / "policy.onnx"
    path.write_bytes(content)
    x = np.random.default_rng(seed).normal(size=(20, 4))
    found = read_onnx(path)
    assert found.activations == ["elu", "relu", "tanh", "linear"]
    kernel = lw.compile(network_program(found.layers, found.activations, "linear"))
    bounded = np.clip(kernel.batch(x), found.lower, found.upper)
    assert bounded == pytest.approx(forward(layers, x), abs=1e-12)
    s = lw.System(name="s")
    net = s.add(Network(path))
    for k in range(4):
        s.connect(repr(float(x[3, k])), net.x[k])
    final = lw.simulate(s, 0.1).final
    own = [final["network.y[0]"], final["network.y[1]"]]
    assert own == pytest.approx(forward(layers, x)[3], abs=1e-12)


def test_files_that_are_cut_or_changed_are_rejected_or_read(tmp_path: Path) -> None:
    """Nothing but an `InputError` comes of any of them."""
    content, _ = exported(0)
    path = tmp_path / "policy.onnx"
    rng = np.random.default_rng(0)
    said = 0
    for k in range(300):
        data = bytearray(content)
        if k % 3 == 0:
            data = data[: int(rng.integers(len(data)))]
        else:
            for at in rng.integers(len(data), size=3):
                data[at] = int(rng.integers(256))
        path.write_bytes(bytes(data))
        try:
            read_onnx(path)
        except InputError:
            said += 1
    assert said > 100


MATRIX = tensor("A", np.ones((2, 2)))
FAR = part(1, 2) + part(2, 1) + part(8, "A") + part(14, 1)
WIDE = tensor("A", np.zeros((1, 5000)))
HUGE = part(1, 1 << 40) + part(1, 1 << 40) + part(2, 1) + part(8, "A") + part(9, b"\0" * 16)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "0 graphs"),
        (b"\x80" * 20, "ten bytes"),
        (model([node("Conv", ["x", "A"], "y")], [MATRIX], "y"), "Conv"),
        (model([node("Gemm", ["x", "A"], "y")], [], "y"), "2 values that are not constants"),
        (model([node("Gemm", ["x", "A"], "y")], [FAR], "y"), "another file"),
        (model([node("Gemm", ["x", "A"], "y")], [HUGE], "y"), "shape"),
        (model([node("Gemm", ["x", "A"], "y")], [WIDE], "y"), "beyond 4096"),
        (model([node("Gemm", ["x", "A"], "y", transA=1)], [MATRIX], "y"), "transposes"),
        (model([node("Gemm", ["z", "A"], "y")], [MATRIX], "y"), "nothing makes 'z'"),
        (model([node("Gemm", ["y", "A"], "y")], [MATRIX], "y"), "nothing makes 'y'"),
        (model([node("Tanh", ["x"], "y")], [], "y"), "before the first product"),
        (model([node("Identity", ["x"], "y")], [], "y"), "product with a matrix"),
        (model([node("MatMul", ["x", "A"], "h"), node("Elu", ["h"], "y", alpha=0.5)],
               [MATRIX], "y"), "alpha"),
        (model([node("MatMul", ["x", "A"], "h"), node("MatMul", ["h", "B"], "y")],
               [MATRIX, tensor("B", np.ones((3, 2)))], "y"), "shape"),
        (model([node("MatMul", ["x", "A"], "y")], [tensor("A", [[np.nan]])], "y"), "not finite"),
        (model([node("MatMul", ["x", "A"], "y")], [tensor("A", np.ones((2, 2, 2)))], "y"), "shape"),
    ],
)  # fmt: skip
def test_what_is_not_a_chain_of_dense_layers_is_said(
    content: bytes, word: str, tmp_path: Path
) -> None:
    path = tmp_path / "policy.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=word):
        Network(path)
