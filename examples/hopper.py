"""A hopper with one leg jumps: the motion and its torques, found together.

    python examples/hopper.py

The ground's force is an input at the foot: while the foot stands it keeps the foot's acceleration
at zero and stays in its cone; in the air it is zero. It needs `pip install 'linkwright[analysis]'`.
"""

from __future__ import annotations

import linkwright as lw
from linkwright.wholebody.optimization import OptimalMotion, optimize_motion

FRICTION = 0.6
MASSES = {"body": 5.0, "leg": 0.5, "foot": 0.3}


def hopper() -> lw.Mechanism:
    """Return a body in the plane x-z with a hip and a leg that slides."""
    m = lw.Mechanism("hopper")
    body = m.body(
        "body", translate=("x", "z"), rotate="y", mass=MASSES["body"], inertia=(0, 0.5, 0),
        coordinates=("x", "z", "pitch"),
    )  # fmt: skip
    leg = m.body(
        "leg", parent=body, rotate="y", mass=MASSES["leg"], inertia=(0, 0.05, 0),
        com=(0, 0, -0.25), coordinates=("hip",),
    )  # fmt: skip
    foot = m.body(
        "foot", parent=leg, translate="z", at=(0, 0, -0.5), mass=MASSES["foot"], inertia=0,
        coordinates=("stroke",),
    )  # fmt: skip
    m.gravity("-z")
    for axis, k in (("x", 1), ("z", 3)):
        m.input(f"f{axis}")
        m.force(f"ground {axis}", f"f{axis}", at=foot.origin, along=axis)
        m.output(f"foot_{axis}", f"dot(pos(foot0), [n{k}])", unit="m")
        m.output(f"foot_a{axis}", f"dxdt(dot(vel(foot0), [n{k}]))", unit="m/s^2")
    heights = " + ".join(f"{mass}*dot(pos({name}cm), [n3])" for name, mass in MASSES.items())
    m.output("height", f"({heights})/{sum(MASSES.values())}", unit="m")
    return m


def jump(far: float = 0.6) -> OptimalMotion:
    """Return the jump over a distance (m) that takes the least effort."""
    cone = {f"{FRICTION}*fz {sign} fx": (0, float("inf")) for sign in "+-"}
    return optimize_motion(
        hopper(),
        act={"hip": 40, "stroke": 250, "fx": None, "fz": None},
        initial={"x": 0, "z": 0.5, "pitch": 0, "hip": 0, "stroke": 0},
        phases={
            "push": {"until": (0.1, 0.6), "limits": {"foot_ax": 0, "foot_az": 0, **cone}},
            "flight": {"until": (0.2, 1.0), "limits": {"fx": 0, "fz": 0}},
        },
        limits={"stroke": (-0.25, 0.05), "hip": 1.2, "pitch": 1.0},
        final={"x": far, "z": 0.5, "pitch": 0, "foot_x": far, "foot_z": 0},
        minimize="1e-3*(tau_hip**2 + 0.1*tau_stroke**2)",
    )


if __name__ == "__main__":
    found = jump()
    print(found.summary())
    run = found.simulate(feedback=True)
    print(f"simulated with feedback, its foot lands at {run.final['foot_x']:.4f} m")
