"""Machines with closed loops for tests, each with the numbers that an independent formula needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwright.mechanism import Ball, Free, Mechanism, Revolute, Universal

Array = NDArray[np.float64]

R, L = 0.28033, 0.841
"""Radius of a mount's triangles and length of its arms, m."""


def circle(degrees: list[float], radius: float) -> Array:
    """Return points on a circle about the z axis."""
    a = np.radians(degrees)
    return np.stack([radius * np.cos(a), radius * np.sin(a), 0 * a], axis=1)


LOWER = circle([-10, 10, 110, 130, 230, 250], 1.0)
UPPER = circle([-50, 50, 70, 170, 190, 290], 0.6)


def hexapod() -> Mechanism:
    """Return a Stewart platform whose joints lie at LOWER and UPPER."""
    m = Mechanism("hexapod")
    dish = m.body("dish", joint=Free(quaternion=True), mass=10, inertia=1.0)
    feet = [m.point(f"foot{k + 1}", at=p) for k, p in enumerate(LOWER.tolist())]
    heads = [m.point(f"head{k + 1}", dish, p) for k, p in enumerate(UPPER.tolist())]
    for k in range(6):
        m.drive_strut(f"leg{k + 1}", feet[k], heads[k], length=1.2)
    m.set_initial({"dish.z": 1.0})
    m.actuate(*(f"leg{k + 1}" for k in range(6)))
    m.set_platform(dish)
    return m


def five_bar() -> Mechanism:
    """Return a five-bar linkage in a vertical plane, driven at both shoulders, with heavy links."""
    m = Mechanism("five_bar")
    m.gravity((0, -1, 0))
    rods = []
    for side, x in (("left", -0.2), ("right", 0.2)):
        arm = m.body(side, at=(x, 0, 0), rotate="z", mass=2, com=(0.2, 0, 0), inertia=0.01)
        rods.append(
            m.body(
                f"{side}_rod", parent=arm, at=(0.5, 0, 0), rotate="z", mass=1, com=(0.3, 0, 0),
                inertia=0.01,
            )
        )  # fmt: skip
    left, right = (m.point(f"{rod.name}_tip", rod, (0.6, 0, 0)) for rod in rods)
    m.close_loop("pin", left, right, Revolute("z"))
    m.set_initial({"left": 2.2, "right": 0.94, "left_rod": -1.4, "right_rod": 1.4})
    m.actuate("left", "right")
    m.set_platform(left)
    return m


def rotary_mount(strut: bool = True, distance: float = 0.98) -> Mechanism:
    """Return the rotary mount with a strut (two actuators) or without (three)."""
    m = Mechanism("rotary_mount")
    m.gravity()
    if strut:
        rod = m.body("strut", joint=Universal("x", "y"), mass=3, inertia=0.1)
        dish = m.body(
            "dish", parent=rod, at=(0, 0, distance), joint=Ball(quaternion=True), mass=100,
            inertia=5.0,
        )  # fmt: skip
    else:
        dish = m.body("dish", joint=Free(quaternion=True), mass=100, inertia=5.0)
    ends = []
    for k in (1, 2, 3):
        x, y = circle([120.0 * (k - 1)], 1.0)[0], circle([120.0 * (k - 1) + 90.0], 1.0)[0]
        place, axis = (R * x).tolist(), Revolute(tuple(y.tolist()))
        lower = m.body(f"lower{k}", at=place, joint=axis, mass=8.81, inertia=0.5)
        upper = m.body(f"upper{k}", parent=dish, at=place, joint=axis, mass=8.15, inertia=0.5)
        ends.append((m.point(f"a{k}", lower, (0, 0, L)), m.point(f"b{k}", upper, (0, 0, -L))))
    for k, (first, second) in enumerate(ends, 1):
        m.close_loop(f"ball{k}", first, second, Ball())
    start = float(np.arccos(distance / 2 / L))
    m.set_initial(
        {f"{n}{k}": s * start for n, s in (("lower", 1), ("upper", -1)) for k in (1, 2, 3)}
    )
    if not strut:
        m.set_initial({"dish.z": distance})
    m.actuate("lower1", "lower2", *(() if strut else ("lower3",)))
    m.set_platform(dish)
    return m


def truss_mount(distance: float, drives: str = "truss", anchors: Array | None = None) -> Mechanism:
    """Return legs R-S-R about a strut, driven by two members of the truss or two cylinders."""
    m = Mechanism(f"{drives}_mount")
    first = float(np.arccos(distance / 2 / L))
    x, y = circle([0, 120, 240], R).tolist(), circle([90, 210, 330], 1.0).tolist()
    lower = [m.body(f"lower{k + 1}", at=x[k], rotate=y[k], mass=1) for k in range(3)]
    strut = m.body("strut", rotate="xyz", mass=1)
    dish = m.body("dish", parent=strut, at=(0, 0, distance), joint=Universal("x", "y"), mass=1)
    upper = [m.body(f"upper{k + 1}", parent=dish, at=x[k], rotate=y[k], mass=1) for k in range(3)]
    balls = [m.point(f"b{k + 1}", lower[k], (0, 0, L)) for k in range(3)]
    tips = [m.point(f"c{k + 1}", upper[k], (0, 0, -L)) for k in range(3)]
    if drives == "truss":
        side = float(np.sqrt(3) * (R + L * np.sin(first)))
        m.drive_strut("e", balls[0], balls[1], length=side)
        m.drive_strut("f", balls[1], balls[2], length=side)
        m.actuate("e", "f")
    elif anchors is not None:
        for k, a in enumerate(anchors):
            foot = m.point(f"foot{k + 1}", at=[f"{x}{k + 1}" for x in "xyz"])
            m.set_parameters({f"{x}{k + 1}": float(v) for x, v in zip("xyz", a, strict=True)})
            head = (0.0, 0.0, 0.49)
            end = m.point(f"head{k + 1}", strut, head)
            m.drive_strut(f"leg{k + 1}", foot, end, length=float(np.linalg.norm(a - head)))
        m.actuate("leg1", "leg2")
    else:
        m.actuate("lower1", "lower2")
    for tip, ball in zip(tips, balls, strict=True):
        for axis in "xyz":
            m.constrain_points(tip, ball, axis)
    m.set_initial({f"lower{k}": first for k in (1, 2, 3)})
    m.set_initial({f"upper{k}": -first for k in (1, 2, 3)})
    m.set_platform(dish)
    return m


def arm_angles(direction: Array, distance: float) -> Array:
    """Return the arms' angles of a rotary mount in closed form (scalar form of section 3.3)."""
    z = np.array([0.0, 0.0, 1.0])
    n = direction + z
    n = n / np.linalg.norm(n, axis=-1, keepdims=True)
    x = circle([0, 120, 240], 1.0)
    alpha, gamma = L * (n @ x.T), L * n[..., 2:]
    c = distance / 2 - R * (n @ x.T)
    return np.asarray(np.arctan2(alpha, gamma) + np.arccos(c / np.hypot(alpha, gamma)))


def directions(azimuth: Array, zenith: Array) -> Array:
    """Return unit vectors, rad: one axis for zenith angles, one for azimuths."""
    polar, around = np.meshgrid(zenith, azimuth, indexing="ij")
    parts = [np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)]
    return np.stack(parts, axis=-1)
