"""ROBSIM: listings of motion and of dynamics, and shapes of components.

The document prints no run; the robots are those of its digest's cases V2, V3 and V6, whose numbers
come from a computation of its own.
"""

from __future__ import annotations

import math

import numpy as np

from linkwright.mechanism import Mechanism
from linkwright.motion import TaskSegment
from linkwright.motion.tasks import Task
from linkwright.reproduce.reproduction import (
    Check,
    DataTable,
    Listing,
    Panel,
    Reproduction,
    Series,
    checks,
)
from linkwright.robots import Robot
from linkwright.scene.wireframes import OUTLINES
from linkwright.sizing import require
from linkwright.sizing.requirements import Requirement
from linkwright.sizing.requirements.listing import dynamics_listing, motion_listing

STEPS = {0.02: "2.56635e-4", 0.01: "1.28356e-4", 0.005: "6.41875e-5"}
POSES = {
    (0, 0, 0, 0, 0, 0): "-65.727 -11.772 0 0 78.48",
    (-90, 0, 0, 0, 0, 0): "0 0 0 0 78.48",
    (30, 45, 1, -0.5, 0.2, 0.8): "-46.5452552588 -1.388584034 -6.5498964259 0 80.2565669496",
}


def rods() -> Robot:
    """Return two rods with hinges about y, 5 kg and 1 m, 3 kg and 0.8 m: case V3."""
    m = Mechanism("two-rods")
    first = m.body("q1", rotate="y", mass=5, com=(0.5, 0, 0), inertia=(0, 5 / 12, 5 / 12))
    second = m.body(
        "q2",
        parent=first,
        at=(1, 0, 0),
        rotate="y",
        mass=3,
        com=(0.4, 0, 0),
        inertia=(0, 0.16, 0.16),
    )
    m.point("tool", second, at=(0.8, 0, 0))
    m.gravity(g=9.81)
    return Robot(m)


def straight(step: float) -> Requirement:
    """Return a straight motion of the tool in steps of Euler: case V6."""
    rates = TaskSegment(
        {"x": 0.1, "z": -0.05}, 0.0, 2.0, control="tool", free=("y", "rx", "ry", "rz")
    )
    start = {"q1": math.radians(-60), "q2": math.radians(90)}
    return require(rods(), Task([rates], start, frame="tool"), step=step, scheme="robsim")


def motion() -> Reproduction:
    """Return the listing of motion (WROUT) of a straight motion of the tool."""
    runs = {step: straight(step) for step in STEPS}
    made = [
        Check(
            f"error of the tool at 2 s, steps of {step} s", text,
            float(runs[step]["tool.error"][-1]), "m", recomputed=True,
        )
        for step, text in STEPS.items()
    ]  # fmt: skip
    drift = [Series(n.times, n["tool.error"], f"{step} s") for step, n in runs.items()]
    listing = Listing(motion_listing(runs[0.02], 1.0), "Motion print file")
    return Reproduction([listing, Panel(drift, "TIME - s", "error - m", "Drift")], made)


def dynamics() -> Reproduction:
    """Return the listing of dynamics (DYNOUT), and torques and forces at single instants."""
    arm, made, rows = rods(), [], []
    for pose, printed in POSES.items():
        angles, u, a = np.radians(pose[:2]), pose[2:4], pose[4:]
        tau = arm.inverse_dynamics(angles, u, a)
        force = arm.pose(angles, "q1")[:3, :3] @ arm.reactions(angles, u, a)[0, :3]
        names = [f"{pose}: {what}" for what in ("N1", "N2", "F1x", "F1y", "F1z")]
        found = [*tau, *force]
        made += checks(names, printed, found, recomputed=True, within=1e-8, why="to 1e-8")
        rows.append((str(pose), *(f"{x:.10g}" for x in np.round(found, 10) + 0.0)))
    listing = Listing(dynamics_listing(straight(0.02), 1.0), "Dynamics print file")
    head = ("q deg, u, a", "N1", "N2", "F1x", "F1y", "F1z")
    return Reproduction([DataTable(head, rows, "Reactions, N and N m"), listing], made)


def shapes() -> Reproduction:
    """Return figures A2-13 to A2-17: cylinder, cone, box, two trapezoids and truss."""
    sizes = {
        "x-cylinder": (0.6, 2.0, "18 16"),
        "x-cone": (0.6, 0.2, 2.0, "18 16"),
        "x-box": (2.0, 0.5, 0.3, "10 8"),
        "trapezoid": (2.0, 0.5, 0.3, 0.1, "10 8"),
        "half-trapezoid": (2.0, 0.5, 0.3, 0.1, "10 8"),
        "truss": (0.4, 0.5, 4.0, "20 6"),
    }
    made, panels = [], []
    for kind, (*numbers, counts) in sizes.items():
        found = OUTLINES[kind](*(float(x) for x in numbers))
        names = [f"{kind}: {what}" for what in ("points joined in turn", "points joined in pairs")]
        made += checks(names, str(counts), found.counts, recomputed=True)
        lines = [(e[:, 0] + 0.35 * e[:, 1], e[:, 2] + 0.25 * e[:, 1]) for e in found.edges]
        panels.append(Panel([Series(x, z) for x, z in lines], title=kind, equal=True, solid=True))
    low = OUTLINES["truss"](0.4, 0.5, 4.0).vertices.min(axis=0)
    made.append(Check("truss: apex below its upper sides, sides", "1", -low[2] / 0.4))
    made.append(Check("truss: upper sides off the middle, sides", "0.5", -low[1] / 0.4))
    return Reproduction(panels, made, across=3, note="Counts are of closed rings.")
