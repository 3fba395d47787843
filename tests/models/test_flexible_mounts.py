"""Mounts whose arms bend by their first mode, in runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import linkwright as lw
from linkwright.algebra import evaluate_all
from linkwright.base.errors import InputError
from linkwright.mechanism import Mechanism, Weld, mechanism_of
from linkwright.mechanism.structure import extensible
from linkwright.models.flexible_links import SHARE, far_end
from linkwright.mounts.inverse_pointing import start_at
from linkwright.parallel import BeamSection, stiffness
from tests.seeds import seldom

NAME = "mount-2-rotary"
BENDING = {"arm": 1.18e5, "upper": 3.2e4}
DRIVE = 1.5e5


def compliance() -> np.ndarray:
    """Return the compliance of the rigid mount in the zenith, with links as beams that bend."""
    stiff = 1e6  # of what does not bend
    links = {
        f"{name}{k}": BeamSection(stiff, ei / 70e9, stiff, 0.05)
        for name, ei in BENDING.items()
        for k in (1, 2, 3)
    }
    drives = {"arm1": DRIVE, "arm2": DRIVE}
    return stiffness(NAME, start_at(NAME, (0, 0, 1)), links=links, drives=drives).compliance


def platform_of(m: Mechanism, at: dict[str, float]) -> np.ndarray:
    """Return place and direction of the platform."""
    assert m.platform is not None
    known = {q: at[n] for n, q in m.coordinates.items()}
    known |= {p: m.values[n] for n, p in m.parameters.items()}
    parts = [
        *m.platform.point.position.components(m.ground.frame),
        *m.platform.axis.components(m.ground.frame),
    ]
    return np.array(evaluate_all(parts, known), dtype=float)


@pytest.fixture(scope="module")
def light() -> Mechanism:
    """Return the mount with a heavy antenna and all else without weight."""
    m = extensible(mechanism_of(f"{NAME}:flexible=on"))
    for name in ("fx", "fy"):
        m.parameter(name, 0.0, unit="N", doc="load")
    m.force("push_x", "fx", at="center", along="x")
    m.force("push_y", "fy", at="center", along="y")
    small = {"arm_mass": 0.01, "upper_mass": 0.01, "joint_mass": 0.01, "strut_mass": 0.01}
    return m.with_parameters({"g": 0.0, "platform_mass": 0.01, **small})


def test_a_link_bends_and_sways_as_a_cantilever_with_a_mass_at_its_end() -> None:
    """Its first frequency is that of the exact equation of such a beam, within 0.2 %."""
    m = Mechanism("boom")
    given = {"flex_damping": 0.0, "M": 20.0, "ei": 1e5, "weight": 8.8, "long": 0.84}
    for name, value in given.items():
        m.parameter(name, value)
    root = m.body("root", joint=Weld(), mass=1, inertia=0)
    end = far_end(m, "end", root, (0, 0, "long"), f"M + {SHARE}*weight", "long", "ei")
    m.force("push", 100.0, at=end, along="x")
    at = lw.equilibrium(m).coordinates
    assert at["end.x"] == pytest.approx(100 * 0.84**3 / (3 * 1e5))
    found = np.sort(np.abs(lw.linearize(m, at).eigenvalues()))[-1]

    def equation(b: float) -> float:
        """Of a clamped beam with the mass M at its end, b = the wave number times the length."""
        c, s, ch, sh = math.cos(b), math.sin(b), math.cosh(b), math.sinh(b)
        return 1 + c * ch + 20.0 / 8.8 * b * (c * sh - s * ch)

    b = brentq(equation, 0.5, 1.8)
    exact = b**2 * math.sqrt(1e5 / (8.8 * 0.84**3))
    assert found == pytest.approx(exact, rel=2e-3)


def test_what_bends_weighs_what_is_rigid_does() -> None:
    """Mass and mass center of the whole mount, where nothing is bent."""
    sums = []
    for name in (NAME, f"{NAME}:flexible=on"):
        m = mechanism_of(name)
        at = {q.name: m.initial.get(q.name, 0.0) for q in m.coordinates.values()}
        known = {q: at[n] for n, q in m.coordinates.items()}
        known |= {p: m.values[n] for n, p in m.parameters.items()}
        rows = np.zeros(4)
        for body in m.bodies.values():
            place = body.com.position.components(m.ground.frame)
            mass, *at_ = np.array(evaluate_all([body.inertia.mass, *place], known), dtype=float)
            rows += [mass, *(mass * x for x in at_)]
        sums.append(rows)
    np.testing.assert_allclose(sums[0], sums[1], atol=1e-9)


@seldom(daily="test_a_link_bends_and_sways_as_a_cantilever_with_a_mass_at_its_end")
def test_a_load_bends_the_mount_as_its_compliance_says(light: Mechanism) -> None:
    """The equilibrium of the run's own equations, against the compliance of beams."""
    expected = compliance()
    unloaded = platform_of(light, lw.equilibrium(light).coordinates)
    for k, axis in ((0, "fx"), (1, "fy")):
        m = light.with_parameters({axis: 50.0})
        moved = platform_of(m, lw.equilibrium(m).coordinates) - unloaded
        turned = np.cross([0, 0, 1], moved[3:])  # a small rotation moves the axis z across itself
        scale = 50 * np.abs(expected[:3, k]).max()
        np.testing.assert_allclose(moved[:3], 50 * expected[:3, k], atol=0.01 * scale)
        np.testing.assert_allclose(turned[:2], 50 * expected[3:5, k], atol=0.01 * scale)


@seldom(daily="test_a_link_bends_and_sways_as_a_cantilever_with_a_mass_at_its_end")
def test_its_first_modes_are_those_of_the_antenna_on_that_compliance(light: Mechanism) -> None:
    mass = np.diag([100.01] * 3 + [12.5, 12.5, 21.0])
    expected = np.sqrt(1 / np.linalg.eigvals(compliance() @ mass).real)
    found = np.sort(np.abs(lw.linearize(light).eigenvalues()))  # without weight it starts at rest
    np.testing.assert_allclose(found[:10:2], np.sort(expected)[:5], rtol=1e-3)


def test_hinges_and_links_that_bend_do_not_go_together() -> None:
    with pytest.raises(InputError, match="end in ball joints"):
        mechanism_of(f"{NAME}:hinges=on,flexible=on")
    assert math.isclose(
        mechanism_of(f"{NAME}:flexible=on").values["arm1_to"], math.acos(0.98 / 1.682)
    )
