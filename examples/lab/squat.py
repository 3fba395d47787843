"""Squat: the mass center of a humanoid goes down and up again, with the torques of its whole body.

python examples/lab/squat.py
linkwright lab open humanoid --studio -c "run 1; st balance; ctp height=-0.1"
"""

from __future__ import annotations

import linkwright as lw


def main(depth: float = 0.1) -> None:
    """Go down by a depth in m, and up again; say where the base was, and whether it came back."""
    with lw.Lab("humanoid") as lab:
        lab.run(1.0)  # it comes to stand on the floor
        lab.start("balance")
        lab.run(1.0)
        heights = []
        for height in (0.0, -depth, 0.0):
            lab.change(height=height)
            lab.run(1.5)
            heights.append(float(lab.base.x[2]))
        high, low, again = heights
        print(f"the base went down by {1000 * (high - low):.1f} mm, and came back to "
              f"{1000 * abs(again - high):.1f} mm")  # fmt: skip


if __name__ == "__main__":
    main()
