"""Reach from a center to points around it and back, with minimum jerk: a study of arm movements.

python examples/lab/reach.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwright as lw
from linkwright.lab import Task, channel, clip, cos, floor, parameter, pi, sin


class Reach(Task):
    """The hand goes out to one point after the other, and comes back to the center."""

    radius = parameter(0.08, unit="m", lower=0, upper=0.15, doc="how far out the points are")
    duration = parameter(0.6, unit="s", lower=0.2, upper=5, doc="of each way, out or back")
    count = parameter(8, lower=1, upper=16, doc="points around the center")
    way = channel("m", doc="distance from the center")
    native = True

    def init(self, lab: Any) -> None:
        """Begin where the hand is; joints come from inverse kinematics."""
        self.center = np.array(lab.cart_desired["R_HAND"].x)
        lab.mode("cart")

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want the hand on the line to the point of this time."""
        whole = floor(t / self.duration)  # ways that are behind
        number = floor(whole / 2)
        s = clip(t / self.duration - whole, 0, 1)
        back = whole - 2 * number  # 0 on the way out, 1 on the way back
        sign = 1 - 2 * back
        share = s**3 * (10 - 15 * s + 6 * s**2)
        rate = sign * 30 * s**2 * (1 - s) ** 2 / self.duration
        bend = sign * 60 * s * (1 - s) * (1 - 2 * s) / self.duration**2
        angle = 2 * pi * number / self.count
        to = self.radius * np.array([0 * angle, cos(angle), sin(angle)])
        hand = desired.cart["R_HAND"]
        hand.x = self.center + (back + sign * share) * to
        hand.xd, hand.xdd = rate * to, bend * to
        hand.status = [1, 1, 1, 0, 0, 0]
        self.way = self.radius * (back + sign * share)
        desired.done = t >= 2 * self.duration * self.count

    def draw(self, scene: Any, state: Any) -> None:
        """Show the points."""
        for k in range(int(self.count)):
            angle = 2 * np.pi * k / self.count
            point = self.center + self.radius * np.array([0, np.cos(angle), np.sin(angle)])
            scene.sphere(point, radius=0.01, color="green")
        scene.sphere(state.cart["R_HAND"].x, radius=0.02, color="yellow")


def main() -> None:
    """Reach to four points, and say how far off its line the hand was."""
    with lw.Lab("sl-arm") as lab:
        lab.add(Reach)
        lab.start("reach", count=4)
        worst = 0.0
        while lab.task is not None:
            lab.run(0.01)
            worst = max(
                worst, float(np.linalg.norm(lab.cart["R_HAND"].x - lab.cart_desired["R_HAND"].x))
            )
        print(f"at most {1000 * worst:.2f} mm off after {lab.time:.2f} s")


if __name__ == "__main__":
    main()
