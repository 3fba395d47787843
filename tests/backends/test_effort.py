"""Code that is made quickly, as daily tests take it, gives the bits of the code that users run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.backends.llvm import target
from linkwright.backends.llvm.compile import NativeCode, load as _load
from linkwright.base.errors import CompileError
from linkwright.simulation.native import bundle as bundles
from tests.seeds import cases
from tests.support.shipped_models import SMALL

RUNS = [
    *((name, method) for name in SMALL for method in ("dop853", "rk4")),
    ("whipple", "rodas4"),
    ("double-pendulum", "rodas4"),
    ("double-pendulum", "semi-implicit"),
]
DAILY = [("double-pendulum", "rodas4"), ("stanford-arm-controlled", "dop853"), ("four-bar", "rk4")]


def by_both(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what is made with code of the least effort and with the usual one, which differ."""
    made: list[Any] = []
    sizes: list[int] = []

    def load(code: bytes, *given: Any, **more: Any) -> NativeCode:
        sizes[-1] += len(code)
        return _load(code, *given, **more)

    monkeypatch.setattr("linkwright.backends.llvm.compile.load", load)
    for effort in ("0", "2"):
        monkeypatch.setenv("LINKWRIGHT_EFFORT", effort)
        forget()
        sizes.append(0)
        made.append(make())
    forget()
    assert sizes[0] > 1.1 * sizes[1], "both are the same code"
    return made[0], made[1]


def forget() -> None:
    """Let no code that is loaded serve again."""
    bundles._remembered.clear()
    bundles._driver.cache_clear()


@pytest.mark.parametrize(("name", "method"), cases(RUNS, daily=DAILY))
def test_runs_have_the_same_bits(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> list[bytes]:
        run = lw.simulate(lw.load(name), 0.05, method=method)
        return [run.recording.data.tobytes(), np.array([*run.final.values()]).tobytes()]

    quick, usual = by_both(monkeypatch, make)
    assert quick == usual


@pytest.mark.parametrize("lanes", [1, 64])
def test_kernels_of_a_robot_have_the_same_bits(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    q, u, a = rng.uniform(-1, 1, (3, lanes, 6))

    def make() -> list[bytes]:
        arm = lw.Robot("puma560:drives=off")
        dynamics = [f(q, u, a) for f in (arm.inverse_dynamics, arm.forward_dynamics)]
        return [np.asarray(x).tobytes() for x in (*dynamics, arm.mass_matrix(q))]

    quick, usual = by_both(monkeypatch, make)
    assert quick == usual


def test_an_effort_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWRIGHT_EFFORT", "9")
    with pytest.raises(CompileError, match="'9'; give 0, 1, 2 or 3"):
        target.effort()
