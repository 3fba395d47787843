"""Networks as blocks against NumPy: in kernels, runs, batches and written C."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.learning import Network
from linkwright.learning.networks import ACTIVATIONS, layers_of, network_program
from tests.seeds import seeds

Array = NDArray[np.float64]

NUMPY: dict[str, Callable[[Array], Array]] = {
    "linear": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "softplus": lambda x: np.logaddexp(0, x),
}


def layers(seed: int, sizes: tuple[int, ...] = (5, 9, 1, 7, 3)) -> list[tuple[Array, Array]]:
    """Random weights, some of them zero and one."""
    rng = np.random.default_rng(seed)
    pairs = pairwise(sizes)
    made = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairs]
    made[0][0][0, :2] = 0.0, 1.0
    return made


def forward(weights: list[tuple[Array, Array]], x: Array, activation: str, final: str) -> Array:
    """What NumPy makes of it."""
    for k, (W, b) in enumerate(weights, 1):
        x = NUMPY[final if k == len(weights) else activation](x @ W.T + b)
    return x


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_kernels_are_numpys(activation: str, seed: int) -> None:
    weights = layers(seed)
    kernel = lw.compile(network_program(weights, activation, "sigmoid"))
    x = np.random.default_rng(seed).normal(scale=3, size=(40, 5))
    wanted = forward(weights, x, activation, "sigmoid")
    assert kernel.batch(x) == pytest.approx(wanted, rel=1e-12, abs=1e-14)
    assert kernel(x[3]) == pytest.approx(wanted[3], rel=1e-12, abs=1e-14)
    far = 1e3 * x  # sums beyond the range of exponentials
    with np.errstate(over="ignore"):
        assert kernel.batch(far) == pytest.approx(forward(weights, far, activation, "sigmoid"))


def balanced() -> tuple[lw.System, list[tuple[Array, Array]]]:
    """A pendulum with a policy at 50 Hz."""
    m = lw.load("pendulum")
    weights = layers(3, (2, 8, 8, 1))
    s = lw.System(m, base=1000)
    net = s.add(Network(weights, mean=[0.1, 0.0], scale=[2.0, 5.0], lower=-4.0, upper=2.5, rate=50))
    s.connect("phi", net.x[0])
    s.connect("phi_dot", net.x[1])
    motor = lw.Element("motor", m)
    tau = motor.input("tau")
    motor.effort("torque", "phi", tau)
    s.connect(net.y[0], s.add(motor).tau)
    return s, weights


def test_a_policy_holds_its_output_between_its_instants() -> None:
    system, weights = balanced()
    run = lw.simulate(system, 0.5, method="semi-implicit", every=1)
    held = run["network.y[0]"]
    for k in (0, 137, 260, 499):
        at = k - k % 20
        x = (np.array([run["phi"][at], run["phi_dot"][at]]) - [0.1, 0.0]) / [2.0, 5.0]
        y = np.clip(forward(weights, x, "tanh", "linear"), -4.0, 2.5)
        assert held[k] == pytest.approx(y[0], abs=1e-12)
    assert len(set(held)) > 10
    starts = {"phi": [run["phi"][0], 0.3]}
    batch = lw.simulate_batch(system, 0.5, initial=starts, method="semi-implicit")
    assert batch["phi"][0] == pytest.approx(run.final["phi"], abs=1e-12)


def test_written_c_gives_the_same(tmp_path: Path) -> None:
    weights = layers(4)
    source = lw.c_source(network_program(weights, "tanh", "linear"))
    x = np.random.default_rng(0).normal(size=5)
    values = ", ".join(f"{v!r}" for v in x.tolist())
    main = (
        f"{source}\n#include <stdio.h>\nint main(void) {{ double x[5] = {{{values}}}, y[3]; "
        'network(x, y); printf("%.17g %.17g %.17g\\n", y[0], y[1], y[2]); return 0; }\n'
    )
    (tmp_path / "net.c").write_text(main)
    program = tmp_path / "net"
    subprocess.run(
        ["cc", "-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Werror", "-o", str(program),
         str(tmp_path / "net.c"), "-lm"], check=True,
    )  # fmt: skip
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    wanted = forward(weights, x, "tanh", "linear")
    assert [float(v) for v in done.stdout.split()] == pytest.approx(wanted, rel=1e-13)


class Tensor:
    """What a tensor of PyTorch offers."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self.shape, self.ndim = values.shape, values.ndim

    def detach(self) -> Tensor:
        """Itself, without gradients."""
        return self

    def cpu(self) -> Tensor:
        """Itself, in memory."""
        return self

    def numpy(self) -> Array:
        """Its values, in single precision as they are trained."""
        return self.values.astype(np.float32)


def test_weights_come_by_name_and_from_files(tmp_path: Path) -> None:
    weights = layers(5, (3, 4, 2))
    named = {
        f"net.{2 * k}.{part}": value
        for k, pair in enumerate(weights)
        for part, value in zip(("weight", "bias"), pair, strict=True)
    }
    np.savez(tmp_path / "policy.npz", **named)  # type: ignore[arg-type]
    for given in (named, tmp_path / "policy.npz", str(tmp_path / "policy.npz")):
        for (W, b), (V, c) in zip(layers_of(given, "n"), weights, strict=True):
            assert np.array_equal(W, V)
            assert np.array_equal(b, c)
    tensors = {name: Tensor(value) for name, value in named.items() if not name.endswith("2.bias")}
    kept = layers_of(tensors, "n")
    assert np.array_equal(kept[0][0], weights[0][0].astype(np.float32).astype(float))
    assert np.array_equal(kept[1][1], np.zeros(2))


W = np.eye(2)
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: Network([]), "no layers"),
    (lambda: Network([(W, [1.0])]), "one number for each output"),
    (lambda: Network([(W, [0, 0]), (np.eye(3), [0, 0, 0])]), "takes 3 numbers"),
    (lambda: Network([(W, [0, float("nan")])]), "not finite"),
    (lambda: Network([(W, ["a", "b"])]), "not a number"),
    (lambda: Network([(W, [0, 0])], activation="tahn"), "tanh"),
    (lambda: Network([(W, [0, 0])], scale=0.0), "above zero"),
    (lambda: Network([(W, [0, 0])], mean=[1.0]), "give a number, or 2"),
    (lambda: Network([(W, [0, 0])], lower=1.0, upper=0.0), "above its upper"),
    (lambda: Network({"conv.kernel": W}), "conv.kernel"),
    (lambda: Network("nowhere.npz"), "nowhere.npz"),
    (lambda: Network(__file__), "does not hold"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_what_cannot_be_is_rejected_in_words(case: int) -> None:
    make, words = BAD[case]
    with pytest.raises(Error, match=words):
        make()
