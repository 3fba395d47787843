"""Walk: a humanoid takes some steps in its laboratory, and stands at their end.

python examples/lab/walk.py [STEPS]
linkwright lab open humanoid --studio -c "run 1; st walk steps=4 stride=0.2"
"""

from __future__ import annotations

import sys

import linkwright as lw


def main(steps: int = 3, stride: float = 0.2) -> None:
    """Take steps of a stride in m, the first and the last half as long; say how far it came."""
    with lw.Lab("humanoid") as lab:
        lab.run(1.0)
        start = lab.base.x.copy()
        lab.start("walk", steps=steps, stride=stride)
        tilt = 0.0
        while lab.task is not None and lab.time < 60:
            lab.run(0.05)
            tilt = max(tilt, 1.0 - abs(float(lab.base.q[0])))
        far, aside = (lab.base.x - start)[:2]
        print(f"it came {far:.3f} m ahead and {abs(aside):.3f} m aside, upright to {tilt:.4f}")


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:2]))
