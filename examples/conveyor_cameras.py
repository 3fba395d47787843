"""Three cameras watch a conveyor over a network that delays what they say, and one of them lies.

The frame of the conveyor runs along x and sways. Each camera speaks in its own frame, at its own
rate; what it says arrives up to 80 ms late, out of order. The left one is knocked at 1 s: from then
on it is 8 cm off. The coordinator puts every observation at its time, finds the liar and names it.

    python examples/conveyor_cameras.py
"""

from __future__ import annotations

import math

import numpy as np

import linkwright as lw
from linkwright.server.sensors import merged

SECOND = 1_000_000_000
UNTIL = 3.0  # s
POSES = {
    "left": (0.3, 1.2, 1.6, 0.3162, 0.9487, 0.0, 0.0),
    "right": (0.3, -1.2, 1.6, 0.3162, -0.9487, 0.0, 0.0),
    "top": (0.3, 0.0, 2.2, 0.0, 1.0, 0.0, 0.0),
}
"""Of the cameras, which look along their z axes, down at the conveyor."""


def conveyor(t: float) -> tuple[float, ...]:
    """Return the pose of the conveyor's frame: 0.15 m/s along x, swaying and turning a little."""
    turn = 0.05 * math.sin(3 * t)
    return (0.15 * t, 0.02 * math.sin(2 * t), 0.0, math.cos(turn), 0.0, 0.0, math.sin(turn))


def knocked(t: float) -> tuple[float, ...]:
    """Return what the left camera takes for true: somebody knocks against it at 1 s."""
    x, *rest = conveyor(t)
    return (x + (0.08 if t > 1.0 else 0.0), *rest)


def main() -> None:
    """Fuse, and print what is known every quarter of a second."""
    cameras = [
        lw.server.camera(
            knocked if name == "left" else conveyor,
            POSES[name],
            rate=rate,
            name=name,
            label="conveyor",
            pixel=2e-4,
            baseline=0.2,
            seed=seed,
        )
        for seed, (name, rate) in enumerate({"left": 60, "right": 50, "top": 30}.items())
    ]
    draw = np.random.default_rng(4)
    arrivals = sorted(
        ((one.time + int(draw.uniform(0.005, 0.08) * SECOND), n, one)
         for n, one in enumerate(merged(cameras, UNTIL)))
    )  # fmt: skip
    coordinator = lw.server.Coordinator(POSES)
    print("  time    error   deviation   age      fused              lying")
    show = SECOND // 4
    for now, _, one in arrivals:
        coordinator.take(one, now)
        if now >= show:
            show += SECOND // 4
            (frame,) = coordinator.objects(now)
            error = np.linalg.norm(frame.value[:3] - conveyor(now / SECOND)[:3])
            liars = [report.name for report in coordinator.sensors(now) if report.lying]
            print(
                f"{now / SECOND:6.2f} s {1e3 * error:6.1f} mm {1e3 * frame.deviation:6.1f} mm"
                f" {1e3 * frame.age:6.1f} ms   {', '.join(frame.sources):18} {', '.join(liars)}"
            )


if __name__ == "__main__":
    main()
