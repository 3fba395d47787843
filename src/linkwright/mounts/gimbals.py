"""Four axes: pointing of a mount with elevation over azimuth on a gimbal that is held level.

The gimbal turns by a about the bow and by b across it, so that its axis is the vertical u as the
deck sees it: Rx(a) Ry(b) z = u, a = atan2(-u_y, u_z), b = asin(u_x). In the frame held level the
direction d is e = (Rx Ry)^T d, and azimuth and tilt are those of e alone: stabilization and
pointing are decoupled. Rates and accelerations follow by the chain rule. Where nothing drives the
gimbal, azimuth and tilt take it for level, and its error is that of the beam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwright.algebra import Expr, asin, atan2, cos, evaluate_all, floor, sin, sqrt
from linkwright.algebra.calculus import gradient
from linkwright.algebra.triples import dot
from linkwright.blocks import Element
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.mechanism import Body

GIMBAL, POINTING = ("roll", "pitch"), ("azimuth", "tilt")
_TURN = 6.283185307179586
_LEAST = 1e-12


def on_gimbal(machine: ParallelMachine) -> bool:
    """Return whether a mount has elevation over azimuth on a gimbal, by the names of its joints.

    >>> from linkwright.equations.parallel_machine import parallel_machine
    >>> on_gimbal(parallel_machine("mount-4-axis")), on_gimbal(parallel_machine("mount-alt-az"))
    (True, False)
    """
    body: Body | None = machine.platform.point.body
    names = []
    while body is not None and body is not machine.mechanism.ground:
        names.append(body.name)
        body = body.parent
    return tuple(reversed(names)) == (*GIMBAL, *POINTING)


class GimbalPointing(Element):
    """Where gimbal, azimuth and tilt must be, of those that are driven.

    Inputs are the direction `d` and the vertical `up` as the deck sees them, with their rates and
    accelerations.
    """

    needs_rate = True

    def __init__(
        self,
        mount: Any,
        actuators: Sequence[str],
        start: Mapping[str, float],
        name: str = "inverse",
    ) -> None:
        super().__init__(name, mount, doc="where gimbal, azimuth and tilt must be")
        x, rate, bend = (
            [v for port in ("up", "d") for v in self.input_vector(port + more, 3, at, unit=unit)]
            for more, at, unit in (
                ("", (0, 0, 1), "1"), ("_dot", (0, 0, 0), "1/s"), ("_ddot", (0, 0, 0), "1/s^2"),
            )
        )  # fmt: skip
        wanted = _angles(x)
        last = self.discrete_state("turn", initial=start["azimuth"])
        turn = self.intermediate(wanted["azimuth"])
        nearest = turn - _TURN * floor((turn - last) / _TURN + 0.5)
        self.update(last, nearest)
        q, u, a = [], [], []
        for axis in actuators:
            slopes = gradient(wanted[axis], x)
            q.append(nearest if axis == "azimuth" else wanted[axis])
            u.append(dot(slopes, rate))
            second = [dot(gradient(s, x), rate) for s in slopes]
            a.append(dot(slopes, bend) + dot(second, rate))
        for port, rows, unit in (("q", q, "rad"), ("u", u, "rad/s"), ("a", a, "rad/s^2")):
            self.output_vector(port, rows, unit=unit)


def _angles(x: Sequence[Expr]) -> dict[str, Expr]:
    """Return all four angles for the vertical and the direction as the deck sees them."""
    up, d = x[:3], x[3:]
    roll, pitch = atan2(-up[1], up[2]), asin(up[0])
    ca, sa, cb, sb = cos(roll), sin(roll), cos(pitch), sin(pitch)
    across = ca * d[1] + sa * d[2]
    rise = ca * d[2] - sa * d[1]
    east, high = cb * d[0] - sb * rise, sb * d[0] + cb * rise
    level = sqrt(east**2 + across**2 + _LEAST)
    return {
        "roll": roll,
        "pitch": pitch,
        "azimuth": atan2(across, east),
        "tilt": atan2(level, high),
    }


def gimbal_start(
    machine: ParallelMachine, up: Sequence[Sequence[float]], d: Sequence[Sequence[float]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return where all joints begin, and the rates of the driven ones, from up and d with rates."""
    from linkwright.algebra import symbols

    m = machine.mechanism
    x = list(symbols("up_x up_y up_z d_x d_y d_z"))
    known = dict(zip(x, [*up[0], *d[0]], strict=True))
    rates = [*up[1], *d[1]]
    found = _angles(x)
    start = dict.fromkeys(m.coordinates, 0.0)
    speeds = {}
    for name, angle in found.items():
        slopes = evaluate_all([angle, *gradient(angle, x)], known)
        start[name] = float(slopes[0])
        turning = sum(float(s) * r for s, r in zip(slopes[1:], rates, strict=True))
        speeds[m.kinematics().rates[m.coordinates[name]].name] = turning
    return start, speeds
