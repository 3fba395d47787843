"""A crank, coupler and rocker with dry friction in its joints, as one equation of the crank.

With k_i = dq_i/dq of each joint, M q'' + M' q'^2/2 + V' = P - sum_i F_i |k_i| sign(q'), and at rest
it stands while |P - V'| <= sum_i F_i |k_i|. Angles of coupler and rocker come from the law of
cosines; links are thin rods. It is integrated from one rest, or dead point of a joint, to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from math import acos, atan2, cos, hypot, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw

Array = NDArray[np.float64]
G = 9.81
JOINTS = ("crank", "coupler", "rocker")
_AHEAD = 1e-9  # rad, by which the sign of a pace is looked at beside a dead point


@cache
def crank_mechanism() -> lw.Mechanism:
    """Return the mechanism, whose sizes, masses and frictions are parameters."""
    m = lw.Mechanism("crank_loop")
    m.gravity("-y")
    parts: list[dict[str, Any]] = [
        {
            "rotate": "z",
            "mass": f"m_{name}",
            "com": (f"{size}/2", 0, 0),
            "inertia": (0, 0, f"m_{name}*{size}^2/12"),
        }
        for name, size in zip(JOINTS, "abc", strict=True)
    ]
    one = m.body("crank", **parts[0])
    two = m.body("coupler", parent=one, at=("a", 0, 0), **parts[1])
    three = m.body("rocker", at=("d", 0, 0), **parts[2])
    ends = m.point("end", two, ("b", 0, 0)), m.point("tip", three, ("c", 0, 0))
    m.constrain_points(*ends, "x")
    m.constrain_points(*ends, "y")
    m.moment("drive", "P", on=one, about=m.z)
    for name, body in zip(JOINTS, (one, two, three), strict=True):
        m.passive(body, friction=f"F_{name}")
    m.defaults(CrankLoop().values([1.0, 1.0, 1.0], 0.0))
    return m


@dataclass(frozen=True)
class CrankLoop:
    """A loop: lengths of crank, coupler, rocker and ground, masses, and its way to close."""

    sizes: tuple[float, float, float, float] = (0.3, 0.6, 0.5, 0.7)
    masses: tuple[float, float, float] = (1.5, 2.0, 1.2)
    side: int = 1

    def closed(self, q: float) -> tuple[float, float]:
        """Return the absolute angles of coupler and rocker."""
        a, b, c, d = self.sizes
        x, y = d - a * cos(q), -a * sin(q)
        away = hypot(x, y)
        opens = acos((b**2 + away**2 - c**2) / (2 * b * away))
        coupler = atan2(y, x) + self.side * opens
        tip = a * sin(q) + b * sin(coupler), a * cos(q) + b * cos(coupler) - d
        return coupler, atan2(*tip)

    def paces(self, q: float) -> tuple[float, float, float]:
        """Return the k_i: rates of the joints by that of the crank."""
        f, r = self._turns(q, *self.closed(q))
        return 1.0, f - 1.0, r

    def _turns(self, q: float, y: float, z: float) -> tuple[float, float]:
        a, b, c, _ = self.sizes
        return a / b * sin(q - z) / sin(z - y), a / c * sin(q - y) / sin(z - y)

    def terms(self, q: float) -> tuple[float, float, float, Array]:
        """Return M, M', V' and the k_i."""
        (a, b, c, _), (m1, m2, m3), h = self.sizes, self.masses, self.sizes[1] / 2
        y, z = self.closed(q)
        f, r = self._turns(q, y, z)
        s, by = sin(z - y), cos(z - y) * (r - f)
        df = a / b * (cos(q - z) * (1 - r) * s - sin(q - z) * by) / s**2
        dr = a / c * (cos(q - y) * (1 - f) * s - sin(q - y) * by) / s**2
        own = m1 * a**2 / 3 + m2 * a**2
        M = own + m3 * (c * r) ** 2 / 3 + m2 * (b * f) ** 2 / 3 + 2 * m2 * a * h * f * cos(q - y)
        bend = 2 * m3 * c**2 / 3 * r * dr + 2 * m2 * b**2 / 3 * f * df
        bend += 2 * m2 * a * h * (df * cos(q - y) - f * sin(q - y) * (1 - f))
        slope = m1 * a / 2 * cos(q) + m3 * c / 2 * cos(z) * r + m2 * (a * cos(q) + h * cos(y) * f)
        return M, bend, G * slope, np.array([1.0, f - 1.0, r])

    def dead_points(self) -> list[float]:
        """Return crank angles near which a joint turns back."""
        grid = np.linspace(-np.pi, np.pi, 721)
        signs = np.sign([self.paces(float(q)) for q in grid])
        return [float(grid[i]) for i in np.flatnonzero(np.any(signs[1:] != signs[:-1], axis=1))]

    def start(self, q: float, u: float = 0.0) -> dict[str, float]:
        """Return the states of the mechanism at an angle and a speed of the crank."""
        y, z = self.closed(q)
        speeds = {f"{n}_dot": k * u for n, k in zip(JOINTS, self.paces(q), strict=True)}
        return {"crank": q, "coupler": y - q, "rocker": z} | speeds

    def values(self, friction: Any, push: float) -> dict[str, float]:
        """Return the parameters of the mechanism."""
        named = zip(JOINTS, self.masses, friction, strict=True)
        parts = [{f"m_{n}": m, f"F_{n}": float(f)} for n, m, f in named]
        return dict(zip("abcd", self.sizes, strict=True)) | parts[0] | parts[1] | parts[2] | {
            "P": push
        }  # fmt: skip

    def moved(self, q: float, u: float, push: float, F: Array, until: float) -> tuple[float, float]:
        """Return angle and speed of the crank at a time."""
        t = 0.0
        for _ in range(200):
            _, _, slope, k = self.terms(q)
            load = push - slope
            if u == 0 and abs(load) <= F @ np.abs(k):
                return q, 0.0
            way = float(np.sign(u) if u else np.sign(load))
            sides = np.sign(self.paces(q + 100 * way * _AHEAD))
            level = way * F * sides

            def rates(_: float, x: Any, level: Array = level) -> list[float]:
                M, bend, slope, k = self.terms(x[0])
                return [x[1], (push - slope - bend * x[1] ** 2 / 2 - level @ k) / M]

            def changes(_: float, x: Any, i: int, way: float = way, sides: Array = sides) -> float:
                if i == 0:  # the crank comes to rest; it begins to move at zero
                    return float(way * x[1] + 1e-13)
                return float(sides[i] * self.paces(x[0] + way * _AHEAD)[i])

            events: list[Any] = [partial(changes, i=i) for i in range(3)]
            for event in events:
                event.terminal, event.direction = True, -1
            found = solve_ivp(
                rates, (t, until), [q, u], "DOP853", rtol=1e-11, atol=1e-12, events=events
            )
            t, (q, u) = found.t[-1], map(float, found.y[:, -1])
            if not found.status:
                return q, u
            u = 0.0 if len(found.t_events[0]) else u
        raise AssertionError("it does not come to an end")
