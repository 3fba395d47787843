"""The base of a robot that floats: how it stands and moves, along the world's axes."""

from __future__ import annotations

from linkwright.algebra import Expr
from linkwright.algebra.triples import cross, row_products
from linkwright.blocks import Block
from linkwright.lab.cartesian import STATE

SMOOTHING = 0.02
"""s, time constant of the acceleration that inverse dynamics counts with. Torques push the base, so
that its acceleration feeds back on them a tick later; taken as it is, that grows without bound on a
base lighter than what moves on it. With T between two ticks it dies out while the gain of this
loop is below `SMOOTHING` / T."""


class BaseState(Block):
    """Pose, velocities and accelerations of a base.

    Inputs are `raw`, position and quaternion (w, x, y, z), and `raw_rate`, its velocity and angular
    velocity along its own axes, as the simulation or an inertial unit gives them. Outputs are
    these as `base` and `base_rate`, their changes since the tick before as `base_acceleration`, the
    same behind a low pass of the first order as `smooth_acceleration`, and along the world's axes
    `x`, `xd`, `xdd`, `q`, `w`, `wd`.

    >>> BaseState()
    BaseState(base_state: raw, raw_rate -> base, base_rate, base_acceleration, smooth_acceleration,
    x, xd, xdd, q, w, wd)
    """

    def __init__(self, name: str = "base_state") -> None:
        super().__init__(name, doc="state of the base")
        pose = self.input_vector("raw", 7, [0, 0, 0, 1, 0, 0, 0], doc="position and quaternion")
        rate = self.input_vector("raw_rate", 6, doc="velocities along its own axes")
        started = self.discrete_state("started", 1.0)
        change: list[Expr] = []
        smooth: list[Expr] = []
        share = self.intermediate(self.period / (self.period + SMOOTHING))
        for i, x in enumerate(rate):
            before, mean = self.discrete_state(f"before{i}", x), self.discrete_state(f"mean{i}")
            change.append(self.intermediate(started * (x - before) / self.period))
            smooth.append(self.intermediate(mean + share * (change[i] - mean)))
            self.update(mean, smooth[i])
        self.output_vector("base", list(pose), doc="position and quaternion")
        self.output_vector("base_rate", list(rate), doc="velocities along its own axes")
        self.output_vector("base_acceleration", change, doc="their rates")
        self.output_vector("smooth_acceleration", smooth, doc="their rates, smoothed")
        q0, q1, q2, q3 = pose[3:]
        hold = self.intermediate
        rows = [
            [
                hold(2 * (q0**2 + q1**2) - 1),
                hold(2 * (q1 * q2 - q0 * q3)),
                hold(2 * (q1 * q3 + q0 * q2)),
            ],
            [
                hold(2 * (q1 * q2 + q0 * q3)),
                hold(2 * (q0**2 + q2**2) - 1),
                hold(2 * (q2 * q3 - q0 * q1)),
            ],
            [
                hold(2 * (q1 * q3 - q0 * q2)),
                hold(2 * (q2 * q3 + q0 * q1)),
                hold(2 * (q0**2 + q3**2) - 1),
            ],
        ]

        def turned(v: list[Expr]) -> list[Expr]:
            return row_products(rows, v)

        v, w = list(rate[:3]), list(rate[3:])
        parts = {
            "x": list(pose[:3]),
            "xd": turned(v),
            "xdd": turned([hold(x + y) for x, y in zip(change[:3], cross(w, v), strict=True)]),
            "q": list(pose[3:]),
            "w": turned(w),
            "wd": turned(change[3:]),
        }
        for key, (_, unit) in STATE.items():
            self.output_vector(key, parts[key], unit=unit, doc=f"{key} of the base")
