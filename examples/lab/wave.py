"""Wave with all joints about the middle of their ranges: the example task of SL's manual.

python examples/lab/wave.py
linkwright lab open sl-arm --tasks examples/lab/wave.py -c "st wave frequency=2; run 5; saveData"
"""

from __future__ import annotations

from math import nextafter
from typing import Any

import linkwright as lw
from linkwright.lab import Task, cos, parameter, pi, sin


class Wave(Task):
    """All joints swing together; a yellow sphere goes with the hand."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=nextafter(5, 0), doc="below 5")
    amplitude = parameter(0.1, unit="rad", lower=0, upper=nextafter(0.4, 0), doc="below 0.4")
    native = True

    def init(self, lab: Any) -> None:
        """Go to the middle of the ranges, and record from there."""
        self.middle = lab.robot.limits.mean(axis=1)
        lab.go_to(self.middle, inverse_dynamics=True)
        lab.recorder.start()

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want a sine and its derivatives."""
        w, size = 2 * pi * self.frequency, self.amplitude
        desired.q = self.middle + size * sin(w * t)
        desired.u = size * w * cos(w * t)
        desired.a = -size * w**2 * sin(w * t)

    def draw(self, scene: Any, state: Any) -> None:
        """Show the hand."""
        scene.sphere(state.cart["R_HAND"].x, radius=0.03, color="yellow")


def main() -> None:
    """Wave for three seconds, and say how far the joints were off."""
    with lw.Lab("sl-arm") as lab:
        lab.add(Wave)
        lab.mode("invdyn")
        lab.start("wave", frequency=2.0)
        lab.run(3.0)
        lab.freeze()
        off = abs(lab.state.q - lab.desired.q).max()
        print(f"at most {off:.4f} rad off after {lab.time:.2f} s")


if __name__ == "__main__":
    main()
