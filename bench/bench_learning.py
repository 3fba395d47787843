"""Environments beside Gymnasium's own: steps a second of one, and of 256 lanes on one thread.

Both have the states of MuJoCo; their difference after 20 steps stands in the notes. Gymnasium's
environment is asked without the wrappers that `make` adds; ours computes the same observation.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import linkwright as lw
from bench.measure import Row, interleaved

TITLE = "environments for learning"
LANES, STEPS, MANY = 256, 40, 60
NAME = "InvertedDoublePendulum-v5"
FILE = (
    Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "inverted_double_pendulum.xml"
)


def words() -> dict[str, Any]:
    """InvertedDoublePendulum-v5 in words of ours: observation, reward, end and start."""
    rates = [f"min(max({u}, -10), 10)" for u in ("slider_dot", "hinge_dot", "hinge2_dot")]
    x = "0.6*sin(hinge) + 0.6*sin(hinge + hinge2) + slider"
    y = "0.6*cos(hinge) + 0.6*cos(hinge + hinge2)"
    angles = ["sin(hinge)", "sin(hinge2)", "cos(hinge)", "cos(hinge2)"]
    return {
        "observe": ["slider", *angles, *rates],
        "act": ["slider"],
        "reward": f"10 - 0.01*({x})**2 - ({y} - 2)**2 - 0.001*hinge_dot**2 - 0.005*hinge2_dot**2",
        "done": f"{y} <= 1",
        "every": 5,
        "step": 0.01,
        "method": "rk4",
        "start": dict.fromkeys(("slider", "hinge", "hinge2"), (-0.1, 0.1)),
    }


def run() -> list[Row]:
    """Measure both in turns."""
    robot = lw.load(FILE)
    one = lw.learning.Environment(robot, **words())
    theirs: Any = gymnasium.make(NAME).unwrapped
    one.reset(seed=0)
    theirs.reset(seed=0)
    rest = np.zeros(1)

    def step(env: Any) -> None:
        for _ in range(STEPS):
            if env.step(rest)[2]:
                env.reset()

    found = interleaved(
        {"ours": lambda: step(one), "theirs": lambda: step(theirs)}, clock=time.process_time
    )
    rows = [
        Row(
            f"one {NAME}, Gymnasium's time / ours", found["theirs"] / found["ours"], bar=3.0,
            better="higher",
            note=f"{STEPS / found['ours']:,.0f} steps/s, {difference(one):.0e} apart",
        )
    ]  # fmt: skip
    many = lw.learning.VectorEnvironment(robot, lanes=LANES, threads=1, **words())
    sync: Any = gymnasium.make_vec(NAME, num_envs=LANES, vectorization_mode="sync")
    many.reset(seed=0)
    sync.reset(seed=0)
    held = np.zeros((LANES, 1))

    def turn(envs: Any, steps: int) -> None:
        for _ in range(steps):
            envs.step(held)

    found = interleaved(  # about as long a turn for each
        {"ours": lambda: turn(many, MANY), "theirs": lambda: turn(sync, 1)},
        rounds=15,
        clock=time.process_time,
    )
    rows.append(
        Row(
            f'{LANES} lanes on one thread, make_vec(…, "sync") / ours',
            MANY * found["theirs"] / found["ours"], bar=50.0, better="higher",
            note=f"{MANY * LANES / found['ours']:,.0f} steps/s",
        )
    )  # fmt: skip
    return rows


def difference(env: Any) -> float:
    """Return how far states are from MuJoCo's after 20 steps with random actions."""
    theirs: Any = gymnasium.make(NAME).unwrapped
    theirs.reset(seed=0)
    start = {"slider": 0.01, "hinge": 0.02, "hinge2": -0.03}
    theirs.set_state(np.array(list(start.values())), np.zeros(3))
    seen, _ = env.reset(options={"start": start})
    rng = np.random.default_rng(1)
    other = theirs._get_obs()
    for _ in range(20):
        action = rng.uniform(-0.02, 0.02, 1)
        seen, other = env.step(500 * action)[0], theirs.step(action)[0]
    return float(np.max(np.abs(seen - other[:8])))
