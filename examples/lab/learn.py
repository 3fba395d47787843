"""Learn: an arm with a load that its model does not know learns the torques that are missing.

python examples/lab/learn.py

The torques of the servos, less those of the model, are what is missing; random features learn them
from one swing, and the next one has them as feedforward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwright as lw
from linkwright.lab import Task, channel
from linkwright.learning import Regressor

LOAD = -5.0
"""N, along the world's y axis, in which gravity points."""


class Learn(Task):
    """Sines in all joints; what the feedback had to add is learned, and used when it is told to."""

    error = channel("rad", doc="greatest of all joints")
    used = False
    model: Any = None

    def init(self, lab: Any) -> None:
        """Begin where the arm is; the model of the arm gives its own torques."""
        self.start = lab.desired.q.copy()
        if type(self).model is None:
            count = len(self.start)
            type(self).model = Regressor(
                "features", count, count, scale=0.6, size=200, forgetting=0.999
            )
        lab.mode("invdyn")

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Swing by 0.15 rad at 0.5 Hz, from rest; learn from what the feedback adds."""
        w, grow = np.pi, min(t, 1.0)
        desired.q = self.start + 0.15 * grow * np.sin(w * t)
        desired.u = 0.15 * (grow * w * np.cos(w * t) + (t < 1.0) * np.sin(w * t)) + 0 * self.start
        desired.a = -0.15 * grow * w * w * np.sin(w * t) + 0 * self.start
        self.error = float(np.max(np.abs(state.q - desired.q)))
        if self.used:
            desired.uff = self.model.predict(np.array(desired.q, dtype=float))
        elif t > 1.0:  # before, it only begins to swing
            self.model.update([np.array(state.q, dtype=float)], [np.array(state.ufb, dtype=float)])


def swing(used: bool) -> float:
    """Return the mean error of a swing, rad, with what was learned or while it is learned."""
    with lw.Lab("double-pendulum") as lab:
        Learn.used = used
        lab.mode("invdyn")
        lab.push("lower", (0.0, LOAD, 0.0))  # the weight of what it carries
        lab.run(1.0)
        lab.add(Learn)
        lab.start("learn")
        errors = []
        for _ in range(60):
            lab.run(0.1)
            errors.append(float(np.mean(np.abs(lab.state.q - lab.desired.q))))
        return float(np.mean(errors[20:]))


def main() -> None:
    """Swing twice, and compare."""
    Learn.model = None
    before = swing(False)
    after = swing(True)
    print(f"{1000 * before:.3f} mrad while it learns, {1000 * after:.3f} mrad with what it learned")


if __name__ == "__main__":
    main()
