"""Transmission angles from the graph of links, whatever the tree and the cuts are."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import Vector
from linkwright.parallel.chart_quantities import ChartTerms
from linkwright.parallel.machine_rates import machine_rates
from linkwright.parallel.transmission_angles import driven_angles
from linkwright.robots import closed


def angles(model: str, q: list[float] | None = None) -> list[float]:
    """Return the transmission angles of a model, deg."""
    rates = machine_rates(lw.load(model))
    terms = ChartTerms(rates, "pose", rates.coordinates(q).tolist())

    def angle(a: Vector, b: Vector) -> float:
        u, v = (np.array(terms.at_start(x)) for x in (a, b))
        return float(np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))))

    return [angle(a, b) for _, a, b in driven_angles(rates.machine, terms.at_start)]


def test_a_leg_drives_the_strut_at_the_angle_between_them() -> None:
    """Mount check 30: 45 degrees at the horizon over an anchor, by the general engine."""
    pose = closed(lw.load("mount-prismatic"), {"direction": [[1.0, 0.0, 0.0]]}, follow=True)
    assert pose.closed.all()
    found = angles("mount-prismatic", pose.q[0].tolist())
    assert len(found) == 2
    assert min(min(x, 180 - x) for x in found) == pytest.approx(45.0, abs=0.1)


def test_arms_drive_rods_and_upper_arms_and_members_drive_arms() -> None:
    # arms of 0.841 m at D = 0.98 m meet at twice the angle whose sine is 0.49/0.841
    arm = 2 * np.degrees(np.arcsin(0.49 / 0.841))
    assert angles("mount-2-rotary") == pytest.approx([arm, arm], abs=1e-6)
    assert len(angles("delta")) == 3
    assert len(angles("mount-truss-2")) == 4
    assert angles("stewart") == []
