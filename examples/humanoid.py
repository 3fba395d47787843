"""A humanoid walks on a level ground: footsteps, whole-body control, and a page that plays it.

    python examples/humanoid.py [STEPS]

18 steps of 0.3 m are five meters. The table says at each footstep where the center of mass is and
should be; `humanoid.html` plays the motion in a browser.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np

import linkwright as lw
from linkwright.cli.tables import print_table
from linkwright.wholebody.gait import Gait

CORNERS = [(x, y, 0.0) for x in (0.12, -0.12) for y in (0.045, -0.045)]
BENT = {"hip_pitch": -0.35, "knee": 0.7, "ankle_pitch": -0.35, "elbow": -0.4}


def main(steps: int = 18) -> None:
    """Plan, walk, and show."""
    robot = lw.Robot("humanoid")
    q = robot.neutral.copy()
    for side in ("left", "right"):
        for joint, angle in BENT.items():
            q[robot.coordinates.index(f"{side}_{joint}")] = angle
    q[2] -= robot.position(q, "left_sole")[2]

    soles = [lw.wholebody.FlatContact(f"{side}_sole", points=CORNERS) for side in ("left", "right")]
    walk = Gait(robot, q, soles, steps=steps, stride=(0.3, 0.0), step_time=0.7)
    body = walk.controller("torso", friction=0.6, settling=0.1)

    system = lw.robots.on_ground(robot, start=dict(zip(robot.coordinates, q, strict=True)))
    system.base = Fraction(1, 1000)
    system.add(body, rate=250)
    run = lw.simulate(system, walk.duration, method="semi-implicit", every=20)

    states = np.array([run[name] for name in robot.coordinates]).T
    rows = []
    for t, foot, _ in walk.footsteps:
        at = int(np.searchsorted(run.times, t - 1e-9))
        center, wanted = robot.center_of_mass(states[at]), walk.center(run.times[at])[0]
        off = 1e3 * float(np.linalg.norm(center - wanted))
        rows.append((f"{t:.2f}", foot, f"{center[0]:.3f}", f"{center[1]:+.3f}", f"{off:.2f}"))
    print_table(("time (s)", "foot", "x (m)", "y (m)", "off (mm)"), rows)
    print(f"at most {np.max(run['wholebody_program.relaxed']):.0f} limits gave way")
    lw.page("humanoid.html", run)
    print("humanoid.html plays it")


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:2]))
