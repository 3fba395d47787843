"""Track sines with and without inverse dynamics: what a model of the robot is good for.

python examples/lab/sine.py
"""

from __future__ import annotations

import numpy as np

import linkwright as lw


def error(feedforward: bool) -> float:
    """Return the root of the mean squared error of all joints, rad, over two seconds of sines."""
    with lw.Lab("sl-arm") as lab:
        lab.start("sine", file="default.sine")
        lab.run(0.5)
        if not feedforward:
            lab.controller("pd")  # the same gains, and no torques from the model
        squares = []
        for _ in range(200):
            lab.run(0.01)
            squares.append(np.mean((lab.state.q - lab.desired.q) ** 2))
        return float(np.sqrt(np.mean(squares)))


def main() -> None:
    """Compare both."""
    print(f"with inverse dynamics    {error(True):.5f} rad")
    print(f"without                  {error(False):.5f} rad")


if __name__ == "__main__":
    main()
