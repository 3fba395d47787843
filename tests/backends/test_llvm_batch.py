"""Batches: every layout gives NumPy's numbers, lane by lane and bit by bit.

The kernel computes a*x + y without fusing, so that NumPy's result is equal and not merely close.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import linkwright as lw
from linkwright.backends.llvm import workers
from linkwright.backends.llvm.batch import BatchCall, make_batch_call
from linkwright.backends.llvm.blocks import from_blocked, to_blocked
from linkwright.backends.llvm.compile import native
from linkwright.backends.llvm.signature import Dtype, make_signature
from linkwright.program import program
from tests.support.native_ir import axpy_batch, fresh_cache

Floats = NDArray[Any]
N, WIDTH, LANES = 37, 3, 4


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        fresh_cache(patch, tmp_path_factory.mktemp("batch"))
        yield


@lru_cache
def axpy(lanes: int = LANES, dtype: Dtype = "f64", shape: tuple[int, ...] = (WIDTH,)) -> BatchCall:
    kind = "double" if dtype == "f64" else "float"
    size = int(np.prod(shape))
    ir = axpy_batch(size, lanes, "rows", kind) + axpy_batch(size, lanes, "blocked", kind)
    code = native(ir, ["axpy_rows", "axpy_blocked"])
    signature = make_signature([(n, shape) for n in "axy"], [("out", shape)], dtype)
    addresses = code.address("axpy_rows"), code.address("axpy_blocked")
    return make_batch_call(signature, lanes, *addresses, name="axpy", keep=code)


def arrays(n: int = N, shape: tuple[int, ...] = (WIDTH,), dtype: Any = float) -> list[Floats]:
    random = np.random.default_rng(n)
    return [random.normal(size=(n, *shape)).astype(dtype) for _ in range(3)]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 16, 37])
def test_every_batch_size_gives_numpys_result(n: int, lanes: int, dtype: Dtype) -> None:
    a, x, y = arrays(n, dtype=np.float64 if dtype == "f64" else np.float32)
    result = axpy(lanes, dtype)(a, x, y)
    assert result.dtype == a.dtype
    assert np.array_equal(result, a * x + y)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 3)])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_shape_works_in_both_layouts(shape: tuple[int, ...], threads: int) -> None:
    a, x, y = arrays(10, shape)
    call = axpy(shape=shape)
    assert np.array_equal(call(a, x, y, threads=threads), a * x + y)
    blocked = call(*(to_blocked(v, LANES) for v in (a, x, y)), threads=threads)
    assert blocked.shape == (3, *shape, LANES)
    assert np.array_equal(from_blocked(blocked, 10), a * x + y)


@given(n=st.integers(1, 40), lanes=st.integers(1, 9), extra=st.lists(st.integers(1, 3), max_size=2))
def test_blocks_and_back_is_the_identity(n: int, lanes: int, extra: list[int]) -> None:
    rows = np.random.default_rng(n).normal(size=(n, *extra))
    blocks = to_blocked(rows, lanes)
    assert blocks.shape == (-(-n // lanes), *extra, lanes)
    assert np.array_equal(from_blocked(blocks, n), rows)
    for i in range(n):
        assert np.array_equal(blocks[i // lanes, ..., i % lanes], rows[i])
    spare = from_blocked(blocks)[n:]
    assert all(np.array_equal(row, rows[-1]) for row in spare)


def test_a_lane_does_not_depend_on_index_batch_size_or_threads() -> None:
    """Each row alone, in every prefix and suffix, with any number of threads: the same bits."""
    a, x, y = arrays(23)
    call = axpy(8)
    whole = call(a, x, y)
    for i in range(23):
        assert np.array_equal(call(a[i : i + 1], x[i : i + 1], y[i : i + 1])[0], whole[i])
        assert np.array_equal(call(a[i:], x[i:], y[i:]), whole[i:])
        assert np.array_equal(call(a[:i], x[:i], y[:i]), whole[:i])
        assert np.array_equal(call(a, x, y, threads=i + 1), whole)


ORDERS: dict[str, Callable[[Floats], Floats]] = {
    "Fortran": np.asfortranarray,
    "every second row": lambda v: np.repeat(v, 2, axis=0)[::2],
    "rows reversed": lambda v: v[::-1],
    "columns of a wider array": lambda v: np.hstack([v, v, v])[:, 2 : 2 + WIDTH],
    "columns reversed": lambda v: v[:, ::-1],
    "every second column": lambda v: np.repeat(v, 2, axis=1)[:, ::2],
    "float32": lambda v: v.astype(np.float32),
    "byte-swapped": lambda v: v.astype(v.dtype.newbyteorder()),
    "unaligned": lambda v: (
        np.frombuffer(b"." + v.tobytes(), np.uint8)[1:].view(float).reshape(v.shape)
    ),
    "broadcast rows": lambda v: np.broadcast_to(v[0], v.shape),
    "read-only": lambda v: np.frombuffer(v.tobytes()).reshape(v.shape),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_any_memory_order_is_accepted(order: str, position: int) -> None:
    values = arrays()
    values[position] = ORDERS[order](values[position])
    a, x, y = (np.array(v, float, order="C") for v in values)
    assert np.array_equal(axpy()(*values), a * x + y)
    assert np.array_equal(axpy()(*values, threads=2), a * x + y)


@pytest.mark.parametrize("order", ["every second row", "rows reversed", "columns of a wider array"])
def test_rows_with_contiguous_components_are_not_copied(order: str) -> None:
    seen: list[int] = []
    call = axpy()

    def spy(records: Any, first: int, count: int) -> None:
        seen.append(records[0].data)
        call.rows(records, first, count)

    spied = BatchCall(call.signature, call.lanes, spy, call.blocked)
    a, x, y = arrays(N - N % LANES)
    other = ORDERS[order](a)
    assert np.array_equal(spied(other, x, y), other * x + y)
    assert seen == [other.ctypes.data]


def test_shared_inputs_hold_for_every_lane() -> None:
    a, x, y = arrays()
    assert np.array_equal(axpy()(a[0], x, y), a[0] * x + y)
    assert np.array_equal(axpy()(a, x, y[5]), a * x + y[5])
    blocks = axpy()(a[0], to_blocked(x, LANES), list(y[5]))
    assert np.array_equal(from_blocked(blocks, N), a[0] * x + y[5])
    assert np.array_equal(axpy()(a[0], x[0], y[0], size=6), np.tile(a[0] * x[0] + y[0], (6, 1)))
    out = np.zeros((6, WIDTH))
    axpy()(a[0], x[0], y[0], out=out)
    assert np.array_equal(out, np.tile(a[0] * x[0] + y[0], (6, 1)))


def test_layouts_may_be_mixed() -> None:
    a, x, y = arrays()
    blocks = axpy()(a, to_blocked(x, LANES), y)
    assert np.array_equal(from_blocked(blocks, N), a * x + y)
    out = np.zeros((N, WIDTH))
    assert axpy()(a, to_blocked(x, LANES), y, out=out) is None
    assert np.array_equal(out, a * x + y)
    kept = np.zeros((10, WIDTH, LANES))
    assert axpy()(a, x, y, out=kept) is None
    assert np.array_equal(from_blocked(kept, N), a * x + y)


OUTPUTS: dict[str, Callable[[], Floats]] = {
    "plain": lambda: np.zeros((N, WIDTH)),
    "Fortran": lambda: np.zeros((N, WIDTH), order="F"),
    "every second row": lambda: np.zeros((2 * N, WIDTH))[::2],
    "columns": lambda: np.zeros((N, 9))[:, 4:7],
    "float32": lambda: np.zeros((N, WIDTH), np.float32),
    "byte-swapped": lambda: np.zeros((N, WIDTH), np.dtype(float).newbyteorder()),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_of_any_order_are_filled_and_nothing_else_is(case: str) -> None:
    out = OUTPUTS[case]()
    a, x, y = arrays()
    assert axpy()(a, x, y, out=out) is None
    assert np.array_equal(out, (a * x + y).astype(out.dtype))
    if out.base is not None:
        assert np.count_nonzero(out.base) == N * WIDTH


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_an_output_may_overlap_an_input(shift: int) -> None:
    buffer = np.random.default_rng(0).normal(size=(N + 5, WIDTH))
    a, _, y = arrays()
    values = buffer[:N]
    expected = a * values + y
    axpy()(a, values, y, out=buffer[shift : N + shift], threads=2)
    assert np.array_equal(buffer[shift : N + shift], expected)


WRONG: dict[str, tuple[Callable[[BatchCall, list[Floats]], object], str]] = {
    "few inputs": (lambda f, v: f(v[0]), "takes 3 inputs"),
    "shape": (lambda f, v: f(v[0][:, :2], v[1], v[2]), r"'a' has shape \(37, 2\)"),
    "axes": (lambda f, v: f(v[0][None, None], v[1], v[2]), "'a' has shape"),
    "lanes": (lambda f, v: f(to_blocked(v[0], 5), v[1], v[2]), r"\(B, 3, 4\)"),
    "rows differ": (lambda f, v: f(v[0][:5], v[1], v[2]), "a: 5, x: 37"),
    "blocks differ": (lambda f, v: f(to_blocked(v[0][:9], 4), v[1], v[2]), "do not fill 3 blocks"),
    "no batch": (lambda f, v: f(v[0][0], v[1][0], v[2][0]), "size="),
    "size": (lambda f, v: f(*v, size=36), "size=36"),
    "threads": (lambda f, v: f(*v, threads=0), "threads=0"),
    "complex": (lambda f, v: f(v[0] * 1j, v[1], v[2]), "complex128"),
    "out shape": (lambda f, v: f(*v, out=np.zeros((36, 3))), "out: 36"),
    "out shared": (lambda f, v: f(*v, out=np.zeros(3)), "output 'out'"),
    "out count": (lambda f, v: f(*v, out=[v[0], v[1]]), "has 1 outputs"),
    "out list": (lambda f, v: f(*v, out=cast(Any, [[0.0]])), "is a list"),
    "out integers": (lambda f, v: f(*v, out=np.zeros((37, 3), int)), "int64"),
    "out read-only": (lambda f, v: f(*v, out=np.broadcast_to(0.0, (37, 3))), "read-only"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_refused_with_a_reason(case: str) -> None:
    act, message = WRONG[case]
    with pytest.raises(lw.Error, match=message):
        act(axpy(), arrays())


def test_several_threads_really_take_part() -> None:
    """The parts cover every block once and are run by as many threads as were asked for."""
    parts: list[tuple[int, int, int]] = []
    together = threading.Barrier(2)

    def record(records: Any, first: int, count: int) -> None:
        together.wait()
        parts.append((first, count, threading.get_ident()))

    workers.share_blocks(record, None, (), 7, 2)
    assert sorted((first, count) for first, count, _ in parts) == [(0, 3), (3, 4)]
    assert len({thread for _, _, thread in parts}) == 2


def test_an_error_in_one_thread_is_raised_after_all_have_ended() -> None:
    done: list[int] = []

    def fail(records: Any, first: int, count: int) -> None:
        done.append(first)
        if first:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        workers.share_blocks(fail, None, (), 4, 4)
    assert sorted(done) == [0, 1, 2, 3]


def _run_in_child(queue: Any) -> None:
    a, x, y = arrays()
    queue.put((axpy()(a, x, y, threads=2) == a * x + y).all())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_work_in_a_forked_child() -> None:
    a, x, y = arrays()
    axpy()(a, x, y, threads=2)  # The pool of the parent exists before the fork.
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_run_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=240)
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_runs_of_constant_outputs(dtype: str) -> None:
    """Outputs with many zeros and ones between others are what they are, single and in batches."""
    x = lw.symbol("x", "coordinate")
    zero, one = 0 * x, 0 * x + 1
    row = [zero] * 40 + [x * x] + [one] * 17 + [zero] * 5 + [x] + [zero] * 30
    p = program("fill", {"x": [x]}, {"y": row, "z": [zero] * 13})
    k = lw.compile(p, dtype=dtype)

    def plain(v: float) -> Floats:
        return np.array([0.0] * 40 + [v * v] + [1.0] * 17 + [0.0] * 5 + [v] + [0.0] * 30)

    y, z = k(np.array([3.0], dtype))
    np.testing.assert_array_equal(y, plain(3.0))
    np.testing.assert_array_equal(z, np.zeros(13))
    rows = np.arange(21.0, dtype=dtype)[:, None]
    y, z = k(rows)
    np.testing.assert_array_equal(y, [plain(float(v)) for v in rows[:, 0]])
    np.testing.assert_array_equal(z, np.zeros((21, 13)))
