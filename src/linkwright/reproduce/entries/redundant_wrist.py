"""Motion server, appendices 9 and 10: a wrist of four joints, and an arm of seven."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series
from linkwright.robots import Robot
from linkwright.robots.ik import ResolvedRates, blended_angles, primary_angles
from linkwright.simulation import simulate
from linkwright.system import System

Array = NDArray[np.float64]
PERIOD, OFFSET, FASTEST = 1e-3, 0.002, 3.0
BESIDE = 0.02
"""How far from the pole of its wrist the hand of the arm passes, rad."""


def _sweep() -> Array:
    """Return rotations of a hand that passes the pole in 2 s."""
    x = np.linspace(-0.5, 0.5, 2001)
    hand = np.stack([x, np.full_like(x, OFFSET), np.sqrt(1 - x**2 - OFFSET**2)], axis=-1)
    side = np.cross([0, 1, 0], hand)
    side /= np.linalg.norm(side, axis=1)[:, None]
    return np.stack([side, np.cross(hand, side), hand], axis=-1)


def _rates(angles: Array) -> Array:
    return np.asarray(np.diff(np.unwrap(angles, axis=0), axis=0) / PERIOD)


def pole() -> Reproduction:
    """Return joint rates at a pole of a wrist: by the primary solution, and blended."""
    path = _sweep()
    primary, blended = primary_angles(path), blended_angles(path, PERIOD, FASTEST)
    fast, slow = _rates(primary), _rates(blended)
    turned = Robot("wrist-4r").pose(blended, "link4")[..., :3, :3]
    time = PERIOD * np.arange(len(fast))
    panels = [
        Panel([Series(time, fast[:, 0])], "time - s", "rad/s", "First joint, primary solution"),
        Panel([Series(time, slow[:, k], f"joint {k + 1}") for k in range(4)], "time - s", "rad/s",
              "Blended solution"),
    ]  # fmt: skip
    return Reproduction(
        panels,
        [
            Check("first joint, primary", "245", float(abs(fast[:, 0]).max()), "rad/s",
                  recomputed=True, why="atan2 of the hand's y and x over a step beside the pole"),
            Check("first joint, blended", "1.50", float(abs(slow[:, 0]).max()), "rad/s",
                  recomputed=True, why="3 rad/s times the sine at the start"),
            Check("other joints, blended", "1.4", float(abs(slow[:, 1:]).max()), "rad/s",
                  at_most=True, recomputed=True),
            Check("error of the orientation", "1e-9", float(abs(turned - path).max()), "rad",
                  at_most=True, recomputed=True),
        ],
        across=2,
        note="The end of appendix 9 is lost in the scan: the sweep passes at 0.002, in 2 s.",
    )  # fmt: skip


def past_the_pole() -> Reproduction:
    """Return rates of a PUMA that turns its hand past the pole of its wrist."""
    four, three = (Robot(f"puma560:wrist={w},drives=off") for w in ("4r", "3r"))
    begin = [0.3, 0.7, -2.6, 0.0, -0.3, BESIDE, 0.0]
    pose = four.pose(begin, "tool")
    near = [0.3, 0.7, -2.6, BESIDE / 0.3, 0.3, 0.0]
    found = three.inverse_kinematics(pose, "tool", near)
    axis = four.jacobian(begin, "tool")[3:, 4]
    rates, panels, left = {}, [], {}
    for name, arm, start in (("4R", four, begin), ("3R", three, found.q.tolist())):
        s = System(name="past-the-pole")
        block = ResolvedRates(arm, "tool", start, method="partition")
        s.add(block, rate=4000, name="rates")
        s.connect(["0", "0", "0", *(f"{x:.15g}" for x in axis)], "rates.twist")
        run = simulate(s, 0.6, step=1 / 4000, every=1)
        rates[name] = [run[f"rates.command_rate[{k}]"] for k in range(len(start))]
        left[name] = max(float(abs(run[f"rates.residual[{k}]"]).max()) for k in range(6))
        panels.append(
            Panel([Series(run.times, u, f"q{k}") for k, u in enumerate(rates[name][3:], 4)],
                  "time - s", "rad/s", f"Wrist of {name}")
        )  # fmt: skip
    largest = {name: max(float(abs(u).max()) for u in each) for name, each in rates.items()}
    q = np.array([*begin[:4], -0.1, BESIDE, 0.0])
    rate = np.array([0.05, 0.02, -0.03, *axis])
    by_partition = four.joint_rates(q, rate, "tool", method="partition").rates
    wanted = np.linalg.pinv(four.jacobian(q, "tool")) @ rate
    return Reproduction(
        panels,
        [
            Check("largest rate, wrist of three joints", "50.0", largest["3R"], "rad/s",
                  recomputed=True, within=1.0,
                  why="the cotangent of 0.02 rad; joints move by steps of 0.25 ms"),
            Check("largest rate, wrist of four joints", "1.0", largest["4R"], "rad/s",
                  recomputed=True),
            Check("what is missing of the tool's rate, 4R", "1e-9", left["4R"], at_most=True,
                  recomputed=True),
            Check("partition less pseudo-inverse", "1e-12",
                  float(abs(by_partition - wanted).max()), "rad/s", at_most=True,
                  recomputed=True),
        ],
        across=2,
        note="Appendix 10 is lost in the scan. The hand turns at 1 rad/s, and passes the pole at "
        "0.02 rad; both arms go the same way.",
    )  # fmt: skip
