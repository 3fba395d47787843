"""Redundant arms: rate solutions a second, operations, limits over a million demands, the pole.

The arm is the PUMA 560 with a wrist of four joints. The peer is NumPy: `pinv` of the Jacobians in
one batch, given to it for nothing; and our own kernel of the pseudo-inverse, with the Jacobian.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import linkwright as lw
from bench.measure import Row
from linkwright.algebra import ZERO, total
from linkwright.equations.tree import Results
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program, count_operations
from linkwright.program.linear import ldlt
from linkwright.program.passes import optimize
from linkwright.robots.ik import RateLimits, blended_angles, primary_angles
from linkwright.robots.ik.rates import rate_inputs
from linkwright.robots.ik.resolution import Method, quantity_of
from linkwright.robots.kinematics import pose_and_jacobian

TITLE = "Redundancy"
_COUNT = 1_000_000
_ROUNDS = 5


def run() -> list[Row]:
    """Return the rows of the table."""
    arm = lw.Robot("puma560:wrist=4r,drives=off")
    rng = np.random.default_rng(1)
    q, rate = rng.uniform(-2, 2, (_COUNT, 7)), rng.normal(size=(_COUNT, 6))
    partition = quantity_of(arm, "tool", "partition", range(6))
    threshold = np.array([1e-6])
    ours = _best(lambda: partition(q, rate, threshold)) / _COUNT
    pseudo = quantity_of(arm, "tool", "pseudo", range(6))
    given = (np.ones(6), np.zeros(7), np.array([0.0, 1e-6]))
    other = _best(lambda: pseudo(q, rate, *given), 2) / _COUNT
    some = arm.jacobian(q[:20_000], "tool")
    peer = _best(lambda: np.einsum("kij,kj->ki", np.linalg.pinv(some), rate[:20_000]), 2) / 20_000
    share = partition.counts.total / pseudo.counts.total
    plain = count_operations(_least_norm(arm)).total
    lean = count_operations(_rates_alone(partition.program)).total
    return [
        Row(
            "PUMA with 4R wrist, partition: million rate solutions a second on one core",
            1e-6 / ours, "1", 3.0, "higher",
            f"pseudo-inverse {1e-6 / other:.2f}, NumPy's pinv {1e-6 / peer:.3f} without Jacobians",
        ),
        Row(
            "… operations over those of the pseudo-inverse, same outputs", share, "1", 0.65,
            "lower", f"{partition.counts.total} against {pseudo.counts.total}",
        ),
        Row(
            "… rates alone, over those of Jᵀ(JJᵀ)⁻¹v without pivots or rank", lean / plain, "1",
            None, "lower", f"{lean} against {plain}, Jacobian and its zeros included",
        ),
        *(_limits(arm, method) for method in ("partition", "pseudo", "damped")),
        *_pole(),
    ]  # fmt: skip


def _best(call: Callable[[], object], rounds: int = _ROUNDS) -> float:
    found = []
    call()
    for _ in range(rounds):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


def _rates_alone(made: Program) -> Program:
    from dataclasses import replace

    from linkwright.program.passes import liveness

    kept = tuple(port for port in made.outputs if port.name == "rates")
    return liveness(replace(made, outputs=kept))


def _least_norm(arm: lw.Robot) -> Program:
    """Return the Program of the rates of least norm as they are written most simply."""
    spot, rate = arm.spot("tool"), rate_inputs("rate", 6)

    def write(writer: Writer) -> Results:
        hold = writer.hold
        _, rows = pose_and_jacobian(writer, arm.tree, spot, "local-world-aligned")
        gram = [[ZERO] * 6 for _ in range(6)]
        for i in range(6):
            for j in range(i + 1):
                entry = hold(total(x * y for x, y in zip(rows[i], rows[j], strict=True)))
                gram[i][j] = gram[j][i] = entry
        statements, (found,) = ldlt(gram, [rate], Namer(None, "ln"))
        writer.take(statements)
        columns = zip(*rows, strict=True)
        return {"rates": [total(x * y for x, y in zip(c, found, strict=True)) for c in columns]}

    return optimize(arm.tree.program("least_norm", ["q"], write, {"rate": rate}))


def _limits(arm: lw.Robot, method: Method) -> Row:
    """Return by how much limits are exceeded over a million demands, in units of the limit."""
    rng = np.random.default_rng(2)
    period, low, high, speed, acceleration = 0.002, -2.5, 2.2, 2.0, 40.0
    limits = RateLimits(period, low, high, speed, acceleration)
    q = rng.uniform(low, high, (_COUNT, 7))
    rate = rng.normal(size=(_COUNT, 6)) * rng.choice([0.1, 1.0, 5.0], (_COUNT, 1))
    towards = np.where(rng.random(q.shape) < 0.5, high - q, low - q)
    safe = np.sqrt(acceleration * np.abs(towards)) * np.sign(towards)  # can still stop
    last = np.clip(safe, -speed, speed) * rng.random(q.shape)
    arm.joint_rates(q[:10], rate[:10], "tool", method=method, limits=limits, last=last[:10])
    started = time.process_time()
    found = arm.joint_rates(q, rate, "tool", method=method, limits=limits, last=last)
    taken = time.process_time() - started
    u = found.rates
    over = max(
        float(np.abs(u).max() / speed),
        float(np.abs(u - last).max() / (acceleration * period)),
        float(1 + (q + period * u - high).max() / high),
        float(1 + (low - q - period * u).max() / -low),
    )
    return Row(
        f"limits of position, speed and acceleration, {method}: most of a million, over the limit",
        over, "1", 1 + 1e-12, "lower",
        f"{_COUNT / taken / 1e6:.2f} million a second; scaled: {np.mean(found.scale < 1):.0%}",
    )  # fmt: skip


def _pole() -> list[Row]:
    x = np.linspace(-0.5, 0.5, 2001)
    hand = np.stack([x, np.full_like(x, 0.002), np.sqrt(1 - x**2 - 0.002**2)], axis=-1)
    side = np.cross([0.0, 1.0, 0.0], hand)
    side /= np.linalg.norm(side, axis=1)[:, None]
    path = np.stack([side, np.cross(hand, side), hand], axis=-1)

    def fastest(angles: np.ndarray) -> float:
        return float(np.abs(np.diff(np.unwrap(angles, axis=0), axis=0)).max() / 1e-3)

    blended = blended_angles(path, 1e-3, 3.0)
    return [
        Row(
            "4R wrist past the pole, 0.002 beside it: blended peak", round(fastest(blended), 3),
            "rad/s", 1.5, "lower", f"primary {fastest(primary_angles(path)):.0f} rad/s",
        )
    ]  # fmt: skip
