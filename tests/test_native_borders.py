"""Borders between Python and native code: what is handed over is what the code was made for."""

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import linkwright as lw
from linkwright.program import program

BACKENDS = ("llvm", "c", "python")


def doubled(backend: str, shape: tuple[int, ...] = (2, 2)) -> lw.Kernel:
    names = " ".join(f"x{k}" for k in range(int(np.prod(shape))))
    x = np.array(lw.symbols(names, "coordinate"), dtype=object).reshape(shape).tolist()
    twice = np.array(x, dtype=object) * 2
    return lw.compile(program("twice", {"x": x}, {"y": twice.tolist()}), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strides", [(8, 8), (16, 8), (0, 8), (8, 0), (24, 16), (8, 24)])
def test_an_output_that_overlaps_itself_is_refused(backend: str, strides: tuple[int, int]) -> None:
    memory = np.zeros(64)
    out = as_strided(memory, (2, 2), strides)
    places = {(i * strides[0] + j * strides[1]) // 8 for i in range(2) for j in range(2)}
    kernel = doubled(backend)
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    if len(places) == 4:
        kernel(x, out=out)
        assert out.tolist() == [[2, 4], [6, 8]]
        return
    with pytest.raises(lw.ShapeError, match="'y' overlaps itself"):
        kernel(x, out=out)
    rows = as_strided(memory, (9, 2, 2), (16, *strides))
    with pytest.raises(lw.ShapeError, match="'y' overlaps itself"):
        kernel.batch(np.ones((9, 2, 2)), out=rows)
    assert not memory.any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("step", [1, 3])
def test_rows_that_overlap_each_other_are_refused(backend: str, step: int) -> None:
    memory = np.zeros(64)
    rows = as_strided(memory, (9, 2, 2), (8 * step, 16, 8))
    with pytest.raises(lw.ShapeError, match="'y' overlaps itself"):
        doubled(backend).batch(np.ones((9, 2, 2)), out=rows)
    assert not memory.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_with_gaps_and_turned_around_are_filled(backend: str) -> None:
    kernel = doubled(backend)
    x = np.arange(36.0).reshape(9, 2, 2)
    memory = np.full((9, 5, 7), np.nan)
    for out in (
        memory[:, 1:3, 2:6:3],
        memory[::-1, 3:1:-1, 4:2:-1],
        memory[:, :2, :2].swapaxes(1, 2),
    ):
        kernel.batch(x, out=out)
        np.testing.assert_array_equal(out, 2 * x)
        kernel(x[3], out=out[4])
        np.testing.assert_array_equal(out[4], 2 * x[3])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [True, False, -1, 2.0, "3", [3], np.True_])
def test_a_batch_size_is_a_whole_number(backend: str, size: Any) -> None:
    with pytest.raises(lw.ShapeError, match="is no number of rows"):
        doubled(backend).batch(np.ones((2, 2)), size=size)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_may_be_empty_or_of_any_integer_type(backend: str) -> None:
    kernel = doubled(backend)
    assert kernel.batch(np.ones((2, 2)), size=0).shape == (0, 2, 2)
    assert kernel.batch(np.ones((2, 2)), size=np.int32(3)).shape == (3, 2, 2)
