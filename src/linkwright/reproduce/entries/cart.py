"""AUTOSIM 9.2: a cart on four wheels that roll without slip."""

from __future__ import annotations

from linkwright.reproduce.entries.motions import curve, motion, samples
from linkwright.reproduce.reproduction import Panel, Reproduction

_NOTE = (
    "Steps of 0.01 s with rk4, which has converged; the document's midpoint steps of 0.02 s differ "
    "by 5e-4 rad/s."
)


def rates() -> Reproduction:
    """Return figure 9.2.6: yaw rate and steer rate."""
    run = motion("cart", 3.0, 0.01, "rk4")
    curves = [curve(run, "r", "yaw rate"), curve(run, "steer rate", "steer rate")]
    made = samples(
        run, "r", {0.5: "0.09907", 1.0: "-0.06699", 2.0: "-0.01832"}, "yaw rate", "rad/s",
        recomputed=True,
    )  # fmt: skip
    made += samples(run, "steer rate", {0.5: "-0.41018"}, "steer rate", "rad/s", recomputed=True)
    return Reproduction([Panel(curves, "Time - sec", "Angular Speed - rad/s")], made, note=_NOTE)


def angles() -> Reproduction:
    """Return figure 9.2.7: yaw angle and steer angle."""
    run = motion("cart", 3.0, 0.01, "rk4")
    curves = [curve(run, "yaw", "Q(3): yaw"), curve(run, "steer", "Q(4): steer")]
    yaw = {0.5: "0.04002", 1.0: "0.04848", 2.0: "-0.01724", 3.0: "-0.02133"}
    steer = {0.0: "0.25", 0.5: "0.11247", 1.0: "-0.02612", 3.0: "-0.00002"}
    made = [
        *samples(run, "yaw", yaw, "yaw", "rad", recomputed=True),
        *samples(run, "steer", steer, "steer", "rad", recomputed=True),
        *samples(run, "X", {2.0: "6.41486", 3.0: "14.4606"}, "X", "m", recomputed=True),
        *samples(run, "Y", {3.0: "-0.0694"}, "Y", "m", recomputed=True, within=6e-5,
                 why="the last digit of the reference is rounded up"),
        *samples(run, "b.u", {3.0: "9.6604"}, "forward speed", "m/s", recomputed=True),
    ]  # fmt: skip
    return Reproduction([Panel(curves, "Time - sec", "Rotation - rad")], made, note=_NOTE)
