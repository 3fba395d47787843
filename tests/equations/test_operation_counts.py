"""Operations of the shipped models, at or below those that AUTOSIM's own programs took.

The bars are the printed headers of Sayers' thesis: adds, multiplies and divides, calls. The
parameter stage is free. Where the thesis gives multiplies and calls as one number, so is the bar.
Ours are far below most bars, so they are also held to what `docs/smallest-programs.md` tells.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwright.program import count_operations
from linkwright.program.passes import optimize
from tests.seeds import cases
from tests.support.model_states import equations, optimized

SEPARATE = [
    ("stanford-arm", 240, 353, 8),
    ("stanford-arm-controlled", 268, 378, 8),
    ("spacecraft-1", 628, 773, 18),
    ("cart", 48, 94, 4),
    ("car", 69, 108, 6),
    ("car-small", 24, 34, 2),
    ("four-bar", 81, 141, 6),
]
TOGETHER = [("spacecraft-1-small", 442, 514), ("spacecraft-2", 338, 455)]
FAST = [
    ("puma560:drives=off", "inverse", 305, 10),
    ("stanford-arm", "forward", 393, 8),
    ("stanford-arm-controlled", "forward", 422, 8),
    ("spacecraft-2", "forward", 545, 14),
    ("spacecraft-1", "forward", 845, 17),
    ("spacecraft-1-small", "forward", 615, 7),
    ("cart", "forward", 68, 4),
    ("car", "forward", 102, 6),
    ("four-bar", "forward", 127, 6),
]
MORE = [
    ("puma560:drives=off", "forward", 550, 10),
    ("whipple", "forward", 920, 8),
]


def on_the_page(name: str) -> str:
    """Return adds / multiplies / calls of fast mode as the page tells them."""
    page = (Path(__file__).parents[2] / "docs" / "smallest-programs.md").read_text("utf-8")
    rows = [row.split(" | ") for row in page.splitlines() if row.startswith(f"| `{name}` |")]
    (told,) = (row[4] for row in rows if "/" in row[4])
    return told


@pytest.mark.parametrize(("name", "add", "mul", "call"), SEPARATE)
def test_no_more_than_the_thesis(name: str, add: int, mul: int, call: int) -> None:
    found = count_operations(optimized(name))
    assert found.add <= add
    assert found.mul <= mul
    assert found.call <= call
    assert f"{found.add} / {found.mul} / {found.call}" == on_the_page(name)


@pytest.mark.parametrize(("name", "add", "mul_and_call"), TOGETHER)
def test_no_more_than_the_thesis_with_calls(name: str, add: int, mul_and_call: int) -> None:
    found = count_operations(optimized(name))
    assert found.add <= add
    assert found.mul + found.call <= mul_and_call
    assert f"{found.add} / {found.mul} / {found.call}" == on_the_page(name)


@pytest.mark.parametrize(("name", "add", "mul", "call"), SEPARATE)
def test_no_more_with_the_outputs_beside(name: str, add: int, mul: int, call: int) -> None:
    """What only outputs need stands in the output stage, and does not crowd the derivative."""
    found = count_operations(optimize(equations(name, "auto").program()))
    assert found.total <= add + mul
    assert found.call <= call


@pytest.mark.parametrize(
    ("name", "kernel", "operations", "calls"), cases([*FAST, *MORE], daily=FAST)
)
def test_counts_of_the_models(name: str, kernel: str, operations: int, calls: int) -> None:
    """Adds and multiplies together in fast mode, all parameters symbols: no more than so many."""
    found = count_operations(optimized(name, kernel))
    assert found.total <= operations
    assert found.call <= calls


def test_control_of_the_arm_costs_less_than_in_the_thesis() -> None:
    """AUTOSIM spends 28 adds and 25 multiplies on it; here its weights cancel against gravity."""
    plain, controlled = (
        count_operations(optimized(name)) for name in ("stanford-arm", "stanford-arm-controlled")
    )
    assert controlled.add - plain.add <= 28
    assert controlled.mul - plain.mul <= 25


def test_wheels_of_the_cart_need_no_sines() -> None:
    """They are rotors: only the yaw and steer angles are ever turned into sine and cosine."""
    assert count_operations(equations("cart", "auto").program(outputs=False)).call == 4
