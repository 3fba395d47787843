"""Train a policy with PPO in NumPy, in the manner of CleanRL, in the lanes of one native program.

python examples/train.py cart-pole-swing-up
python examples/train.py quadruped-walk --minutes 10 --out walk.npz

The policy is written as layers that `linkwright.learning.Network` reads: it runs as a block.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwright as lw

Array = NDArray[np.float64]
Layers = list[tuple[Array, Array]]


def orthogonal(rng: np.random.Generator, sizes: list[int], last: float) -> Layers:
    """Return weights of layers with tanh between them, the last one scaled."""
    made: Layers = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        q, _ = np.linalg.qr(rng.normal(size=(max(a, b), min(a, b))))
        W = q if q.shape == (b, a) else q.T
        made.append(((last if k == len(sizes) - 2 else np.sqrt(2)) * W, np.zeros(b)))
    return made


def forward(layers: Layers, x: Array) -> tuple[Array, list[Array]]:
    """Return what comes out, and what went into each layer."""
    seen = []
    for k, (W, b) in enumerate(layers):
        seen.append(x)
        x = x @ W.T + b
        if k < len(layers) - 1:
            x = np.tanh(x)
    return x, seen


def backward(layers: Layers, seen: list[Array], slope: Array) -> list[Array]:
    """Return the slopes of all weights from that of what comes out."""
    found: list[Array] = []
    for k in reversed(range(len(layers))):
        found[:0] = [slope.T @ seen[k], slope.sum(axis=0)]
        if k:
            slope = (slope @ layers[k][0]) * (1 - seen[k] ** 2)
    return found


@dataclass
class Adam:
    """Kingma & Ba 2015, with the norm of the slopes limited to 0.5."""

    weights: list[Array]
    m: list[Array] = field(init=False)
    v: list[Array] = field(init=False)
    t: int = 0

    def __post_init__(self) -> None:
        self.m = [np.zeros_like(w) for w in self.weights]
        self.v = [np.zeros_like(w) for w in self.weights]

    def step(self, slopes: list[Array], rate: float) -> None:
        """Go a step down."""
        self.t += 1
        size = np.sqrt(sum(float(np.sum(g * g)) for g in slopes))
        share = min(1.0, 0.5 / (size + 1e-12))
        for w, g, m, v in zip(self.weights, slopes, self.m, self.v, strict=True):
            m += 0.1 * (share * g - m)
            v += 0.001 * ((share * g) ** 2 - v)
            w -= rate * m / (1 - 0.9**self.t) / (np.sqrt(v / (1 - 0.999**self.t)) + 1e-8)


class Scaled:
    """Running mean and deviation (Welford), of rows."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.squares = 1e-4, np.zeros(size), np.full(size, 1e-4)

    def add(self, rows: Array) -> None:
        """Take rows into account."""
        n, mean = len(rows), rows.mean(axis=0)
        step, whole = mean - self.mean, self.count + n
        self.squares += rows.var(axis=0) * n + step**2 * self.count * n / whole
        self.mean, self.count = self.mean + step * n / whole, whole

    @property
    def scale(self) -> Array:
        """Standard deviations, none too small."""
        return np.sqrt(self.squares / self.count) + 1e-3


@dataclass
class Trained:
    """A policy with what it has reached."""

    policy: Layers
    mean: Array
    scale: Array
    lower: Array
    upper: Array
    curve: list[tuple[float, int, float]]  # minutes, steps, return of an episode

    def __call__(self, seen: Array) -> Array:
        """Return the action without noise."""
        y = forward(self.policy, (seen - self.mean) / self.scale)[0]
        half = (self.upper - self.lower) / 2
        return np.asarray(np.clip(self.lower + half * (1 + y), self.lower, self.upper))


def train(
    envs: lw.learning.VectorEnvironment,
    *,
    seconds: float,
    steps: int | None = None,
    roll: int = 32,
    seed: int = 0,
    gamma: float = 0.99,
    spread: float = 0.5,
    say: bool = True,
) -> Trained:
    """Train for some seconds, or some steps of all lanes together."""
    rng = np.random.default_rng(seed)
    n, size = envs.num_envs, int(envs.single_observation_space.shape[0])
    space = envs.single_action_space
    half, middle = (space.high - space.low) / 2, (space.high + space.low) / 2
    acts = len(half)
    actor = orthogonal(rng, [size, 64, 64, acts], 0.01)
    critic = orthogonal(rng, [size, 64, 64, 1], 1.0)
    log_std = np.full(acts, np.log(spread))
    adam = Adam([x for pair in (*actor, *critic) for x in pair] + [log_std])
    scaled = Scaled(size)
    seen, _ = envs.reset(seed=seed)
    returns, running = np.zeros(n), np.zeros(n)
    ended: deque[float] = deque(maxlen=4 * n)
    gains, started, count = Scaled(1), time.perf_counter(), 0
    curve: list[tuple[float, int, float]] = []
    while time.perf_counter() - started < seconds and (steps is None or count < steps):
        rolled: list[tuple[Any, ...]] = []
        for _ in range(roll):
            scaled.add(seen)
            x = np.clip((seen - scaled.mean) / scaled.scale, -10, 10)
            mean, value = forward(actor, x)[0], forward(critic, x)[0][:, 0]
            action = mean + np.exp(log_std) * rng.normal(size=mean.shape)
            logp = -0.5 * np.sum(((action - mean) / np.exp(log_std)) ** 2 + 2 * log_std, axis=1)
            after, reward, over, cut, info = envs.step(middle + half * np.clip(action, -1, 1))
            boot = np.zeros(n)
            if cut.any():  # what is only cut off goes on in the value of its last observation
                last = np.array([info["final_obs"][k] for k in np.flatnonzero(cut)])
                last = np.clip((last - scaled.mean) / scaled.scale, -10, 10)
                boot[cut] = np.where(over[cut], 0, forward(critic, last)[0][:, 0])
            running = running * gamma + reward
            gains.add(running[:, None])
            finished = over | cut
            running[finished] = 0
            returns += reward
            ended.extend(returns[finished].tolist())
            returns[finished] = 0
            reward = reward / gains.scale[0]
            rolled.append((x, action, logp, reward, value, finished, boot))
            seen = after
        x = np.clip((seen - scaled.mean) / scaled.scale, -10, 10)
        X, A, L, R, V, D, B = (np.array(each) for each in zip(*rolled, strict=True))
        later, gain, advantages = forward(critic, x)[0][:, 0], np.zeros(n), np.zeros((roll, n))
        for k in reversed(range(roll)):  # Schulman et al. 2016, with 0.95
            following = np.where(D[k], B[k], later)
            gain = R[k] + gamma * following - V[k] + gamma * 0.95 * np.where(D[k], 0, gain)
            advantages[k], later = gain, V[k]
        batch = [X.reshape(-1, size), A.reshape(-1, acts), L.ravel()]
        adv, target = advantages.ravel(), (advantages + V).ravel()
        count += roll * n
        spent = time.perf_counter() - started
        left = 1 - (spent / seconds if steps is None else count / steps)
        rate = 3e-4 + 7e-4 * max(left, 0)
        for _ in range(4):
            for at in np.array_split(rng.permutation(len(adv)), 4):
                part = [b[at] for b in batch]
                _update(actor, critic, log_std, adam, part, adv[at], target[at], rate)
        if ended:
            curve.append((spent / 60, count, float(np.mean(ended))))
            if say and len(curve) % 10 == 1:
                minutes, total, each = curve[-1]
                print(f"{minutes:6.2f} min {total:9d} steps: {each:8.1f} an episode", flush=True)
    return Trained(actor, scaled.mean, scaled.scale, space.low, space.high, curve)


def _update(
    actor: Layers, critic: Layers, log_std: Array, adam: Adam, batch: list[Array], adv: Array,
    target: Array, rate: float,
) -> None:  # fmt: skip
    """Do one step of PPO (Schulman et al. 2017) on a part of what was gathered."""
    x, action, old = batch
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    mean, seen = forward(actor, x)
    std = np.exp(log_std)
    z = (action - mean) / std
    ratio = np.exp(-0.5 * np.sum(z**2 + 2 * log_std, axis=1) - old)
    free = np.where(adv > 0, ratio < 1.2, ratio > 0.8)
    slope = (-adv * ratio * free / len(adv))[:, None]  # of the loss by log p
    slopes = backward(actor, seen, slope * z / std)
    value, inner = forward(critic, x)
    slopes += backward(critic, inner, 0.5 * (value[:, 0] - target)[:, None] / len(adv))
    slopes.append((slope * (z**2 - 1)).sum(axis=0) - 0.005)
    adam.step(slopes, rate)


def write(found: Trained, path: Path) -> None:
    """Write the policy; scales of its inputs and actions go into its first and last layer."""
    (W, b), *rest = found.policy
    W = W / found.scale
    *layers, (V, c) = [(W, b - W @ found.mean), *rest]
    half = (found.upper - found.lower) / 2
    layers.append((half[:, None] * V, half * (c + 1) + found.lower))
    named: dict[str, Any] = {f"{k}.weight": W for k, (W, _) in enumerate(layers)}
    named |= {f"{k}.bias": b for k, (_, b) in enumerate(layers)}
    np.savez(path, **named)


def main() -> None:
    """Train by name, and write the policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="cart-pole-swing-up")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--lanes", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="policy.npz")
    asked = parser.parse_args()
    envs = lw.learning.VectorEnvironment(
        asked.environment, lanes=asked.lanes, autoreset="same step"
    )
    found = train(envs, seconds=60 * asked.minutes, seed=asked.seed)
    write(found, Path(asked.out))
    print(f"{asked.out}: return of an episode {found.curve[-1][2]:.1f}")


if __name__ == "__main__":
    main()
