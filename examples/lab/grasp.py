"""Grasp a box with two fingers and lift it: what holds it is friction alone.

python examples/lab/grasp.py [FORCE]
linkwright lab open examples/lab/gripper --tasks examples/lab/grasp.py -c "st grasp force=10; run 3"

With the coefficient mu, two fingers hold the weight m g with the force F each where 2 mu F is more;
for this box that is 4.09 N.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import linkwright as lw
from linkwright.lab import Task, clip, parameter

REACH = 0.025
"""m that each finger goes until it touches the box."""


class Grasp(Task):
    """Fingers close, press the box with a force, lift it, and hold it there."""

    force = parameter(10.0, unit="N", lower=0, upper=50, doc="of each finger")
    height = parameter(0.1, unit="m", lower=0, upper=0.2, doc="by which the palm rises")
    closing = parameter(0.5, unit="s", lower=0.1, upper=5, doc="time in which the fingers close")
    lifting = parameter(1.0, unit="s", lower=0.2, upper=10, doc="time in which the palm rises")
    native = True

    def init(self, lab: Any) -> None:
        """Begin where the hand is; inverse dynamics carries its own weight."""
        self.start = lab.desired.q.copy()
        lab.mode("invdyn")

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Close with minimum jerk, then press more and more, then rise with minimum jerk."""
        close = clip(t / self.closing, 0, 1)
        press = clip(t / self.closing - 1, 0, 1)
        rise = clip((t - 2.5 * self.closing) / self.lifting, 0, 1)
        desired.q = self.start
        desired.q[0] = self.start[0] + self.height * _way(rise)
        desired.u[0] = self.height * 30 * rise**2 * (1 - rise) ** 2 / self.lifting
        desired.a[0] = self.height * 60 * rise * (1 - rise) * (1 - 2 * rise) / self.lifting**2
        for k in (1, 2):
            desired.q[k] = self.start[k] + REACH * _way(close)
            desired.u[k] = REACH * 30 * close**2 * (1 - close) ** 2 / self.closing
            desired.uff[k] = self.force * press


def _way(s: Any) -> Any:
    return s**3 * (10 - 15 * s + 6 * s**2)


def main(force: float = 10.0) -> None:
    """Lift the box by 0.1 m, and say how far it went."""
    with lw.Lab(Path(__file__).with_name("gripper")) as lab:
        lab.add(Grasp)
        lab.mode("invdyn")
        lab.run(0.3)
        before = lab.objects["box"]
        lab.start("grasp", force=force)
        lab.run(3.0)
        way = 1000 * (lab.objects["box"] - before)[:3]
        print(f"the box rose by {way[2]:.1f} mm, and went {way[0]:.1f} and {way[1]:.1f} mm aside")


if __name__ == "__main__":
    main(*(float(x) for x in sys.argv[1:2]))
