"""The control of an arm by an axis controller: commands of its axes, and what they may draw.

    motion ─► AxisOrders ─► AxisController ─► AxisDrives ─► currents

What takes the power away at once (category 0) the controller sees itself, and acts in the same
tick; the supervisor hears of it a tick later. All that is gentler is the supervisor's.
"""

from __future__ import annotations

import math

from linkwright.algebra import Expr, absolute, equal, maximum, minimum, where
from linkwright.blocks import Block
from linkwright.control.axis import AxisController, AxisMode
from linkwright.control.axis.coefficients import notch_coefficients
from linkwright.server.arm_blocks import inverse_dynamics
from linkwright.server.cell import CellArm

COEFFICIENTS = ("a0", "a1", "a2", "b0", "b1", "b2")
GAINS = ("kp", "ki", "kd", "kv", "ka")
"""Of an axis, that can be set while it runs."""
MODES = (AxisMode.POS, AxisMode.VEL, AxisMode.TORQ, AxisMode.TEST1)
"""Of an axis of a cell; all brakes of an arm close together, so that no axis is off by itself."""


class AxisOrders(Block):
    """Commands of the axes of an arm: set-points, coefficients of D(z), and currents ahead.

    The set-point of an axis is what its mode takes: a position, a speed, or no current but what is
    given ahead. A step of the set-point gives no kick: kd acts on the wanted speed, as it does in
    the other laws of a cell.
    """

    def __init__(self, arm: CellArm, rate: float, name: str = "control") -> None:
        super().__init__(name)
        n, law, hold = len(arm.axes), arm.law, self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        self.input_vector("u", n, doc="measured speeds")
        target = self.input_vector("target", n, list(arm.start), doc="wanted positions")
        speed = self.input_vector("target_rate", n, doc="wanted speeds")
        ahead = self.input_vector("target_acceleration", n, doc="wanted accelerations")
        modes = self.input_vector("mode", n, [float(AxisMode.POS)] * n, doc="numbers of AxisMode")
        kp, ki, kd, kv, ka = (
            self.input_vector(key, n, list(getattr(law, key)), doc=doc)
            for key, doc in zip(
                GAINS,
                ("A/rad or A/m", "A/(rad*s)", "A*s/rad", "A*s/rad of speed", "of acceleration"),
                strict=True,
            )
        )
        still = [self.expr(0)] * n
        torque = still
        if law.ahead == "gravity":
            torque = inverse_dynamics(self, arm, q, still, still)
        elif law.ahead == "dynamics":
            torque = inverse_dynamics(self, arm, target, speed, ahead)
        demand, offset, rows = [], [], []
        for i, axis in enumerate(arm.axes):
            places = hold(equal(modes[i], AxisMode.POS.value))
            speeds = hold(equal(modes[i], AxisMode.VEL.value))
            before = self.discrete_state(
                f"wanted{i}", None, arm.start[i], doc="where it should have been a tick before"
            )
            self.update(before, where(places, target[i], q[i]))
            demand.append(where(places, target[i], where(speeds, speed[i], 0)))
            kick = where(places, kd[i] * (speed[i] - (target[i] - before) * rate), 0)
            sign = math.copysign(1.0, axis.constant)
            offset.append(torque[i] / axis.constant + sign * kick)
            rows.append([*_coefficients(sign, kp[i], ki[i], kd[i], rate)])
        self.output_vector("told", target, doc="the set-point")
        self.output_vector("demand", demand, doc="set-points of the axes")
        self.output_vector("offset", offset, unit="A", doc="currents ahead")
        for key, column in zip(COEFFICIENTS, zip(*rows, strict=True), strict=True):
            self.output_vector(key, list(column), doc="of D(z)")
        for key, values in (("modes", modes), ("kvs", kv), ("kas", ka)):
            signed = [
                x if key == "modes" else math.copysign(1.0, axis.constant) * x
                for x, axis in zip(values, arm.axes, strict=True)
            ]
            self.output_vector(key, signed, doc="as they are set")


def _coefficients(
    sign: float, kp: Expr, ki: Expr, kd: Expr, rate: float
) -> tuple[Expr, Expr, Expr, Expr, Expr, Expr]:
    """Return `linkwright.control.axis.coefficients.pid_coefficients` as expressions."""
    slope, half, whole = kd * rate, ki / (2 * rate), equal(ki, 0)
    return (
        sign * (kp + half + slope),
        sign * where(whole, -slope, half - kp - 2 * slope),
        sign * where(whole, 0, slope),
        where(whole, 1, 1),
        where(whole, 0, -1),
        where(whole, 0, 0),
    )


def axis_controller(arm: CellArm, rate: float, name: str) -> AxisController:
    """Return the controller of an arm's axes; it checks what takes the power away at once.

    >>> from linkwright.server.cell_file import read_cell
    >>> axis_controller(read_cell("axes2").arms[0], 500, "axes").axes
    ['shoulder', 'elbow']
    """
    law, axes, n = arm.law, arm.axes, len(arm.axes)
    start: dict[str, float | list[float]] = {
        "enable": 0.0,
        "ilim": [axis.current for axis in axes],
        "encoder": list(arm.start),
        "demand": list(arm.start),
    }
    if arm.stops["limit"] == 0:
        ends = {"plo": [x.low - x.slack for x in axes], "phi": [x.high + x.slack for x in axes]}
        start |= {"poschk": [1.0] * n, **ends}
    if arm.stops["current"] == 0:
        start["ilimmax"] = [float(max(1, round(axis.overload * rate))) for axis in axes]
    if arm.stops["following"] == 0:
        start["following"] = [axis.following for axis in axes]
    if law.rated:
        start |= {"rated": list(law.rated), "overload": list(law.heat)}
    if law.notch:
        found = [notch_coefficients(f, period=1 / rate) for f in law.notch]
        start |= {key: [row[key] for row in found] for key in found[0]}
    return AxisController(
        [axis.joint for axis in axes],
        full_scale=max(axis.current for axis in axes),
        start=start,
        also=["feedforward"],
        rate=rate,
        name=name,
    )


class AxisDrives(Block):
    """The drives of an arm: each axis gets its largest current at most, and finite ones."""

    def __init__(self, arm: CellArm, name: str = "drives") -> None:
        super().__init__(name)
        asked = self.input_vector("asked", len(arm.axes), unit="A", doc="by the controller")
        kept = [
            where(absolute(x) < 1e12, maximum(-axis.current, minimum(axis.current, x)), 0)
            for x, axis in zip(asked, arm.axes, strict=True)
        ]
        self.output_vector("current", kept, unit="A", doc="currents of the axes")
