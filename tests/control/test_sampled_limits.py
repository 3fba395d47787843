"""Gains that the sampling of a compliant wrist allows, along one axis."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from linkwright.base.errors import InputError
from linkwright.control.force.sampled_limits import (
    CONTACT_LAWS,
    CONTACT_ORDERS,
    accumulating_damping,
    accumulating_limit,
    gain_limit,
    sampled_matrix,
    sampled_radius,
)

WRIST: dict[str, Any] = {"stiffness": 500.0, "mass": 0.5, "damping": 3.0, "period": 0.028}


def marched(law: str, order: str, **at: float) -> np.ndarray:
    """Return the loop's matrix column by column, its tick carried out step by step."""
    told = CONTACT_ORDERS[order]
    m, C, K, a, g = (at[n] for n in ("mass", "damping", "stiffness", "filter", "gain"))
    Ke, Ce = at["environment_stiffness"], at["environment_damping"]
    A = np.array([[0, 1, 0], [-(K + Ke) / m, -(C + Ce) / m, K / m], [0, 0, 0]])
    flow = expm(A * at["period"])

    def placed(y: float, arm: float) -> float:
        return {"position": -g * y, "force": g * y, "accumulating": arm + g * y}[law]

    columns = []
    for x, v, y, arm in np.eye(4):
        if told.at_once:
            y = a * y + (1 - a) * (x - arm)
            new = placed(y, arm)
        else:
            new = placed(y, arm)
            y = a * y + (1 - a) * (x - (new if told.new else arm))
        speed = v + (C * (new - arm) / m if told.impulse else 0.0)
        columns.append([*(flow @ [x, speed, new])[:2], y, new])
    return np.array(columns).T


@pytest.mark.parametrize("law", CONTACT_LAWS)
@pytest.mark.parametrize("order", CONTACT_ORDERS)
def test_the_sampled_loop_is_what_its_ticks_do(law: str, order: str) -> None:
    random = np.random.default_rng(3)
    names = ("gain", "stiffness", "mass", "damping", "filter", "period")
    for damping in (0.01, 3.0, 300.0):
        numbers = random.uniform([0.1, 100, 0.05, 0.5, 0, 0.001], [2, 900, 2, 1.5, 0.99, 0.05])
        at: dict[str, Any] = dict(zip(names, numbers.tolist(), strict=True))
        at["damping"] *= damping
        at |= {"environment_stiffness": 800.0, "environment_damping": 2.0}
        found = sampled_matrix(law, order=order, **at)
        np.testing.assert_allclose(found, marched(law, order, **at), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("order", "radius"),
    [
        ("new-place", 1.110),
        ("new-place-impulse", 1.120),
        ("old-place", 1.068),
        ("old-place-impulse", 1.075),
    ],
)
def test_the_radius_depends_on_the_order_within_a_tick(order: str, radius: float) -> None:
    """Server check 41: 1.110 is the order "new-place" alone."""
    found = sampled_radius("position", gain=1.0, filter=0.6, order=order, **WRIST)
    assert float(found) == pytest.approx(radius, abs=5e-4)


def test_the_report_s_position_law_rings_at_a_quick_filter_and_is_calm_at_a_slow_one() -> None:
    """Server check 41: 1.110 and 0.948, and unstable without damping for every filter."""
    found = sampled_radius("position", gain=1.0, filter=[0.6, 0.95], **WRIST)
    np.testing.assert_allclose(found, [1.110, 0.948], atol=5e-4)
    poles = np.linalg.eigvals(sampled_matrix("position", gain=1.0, filter=0.6, **WRIST))
    assert abs(poles[np.argmax(np.abs(poles))].imag) > 0.1  # it oscillates
    filters = np.linspace(0, 0.999, 200)
    undamped = sampled_radius("position", gain=1.0, filter=filters, **WRIST | {"damping": 0.0})
    assert undamped.min() > 1
    light: dict[str, Any] = {"stiffness": 500.0, "mass": 0.1, "damping": 1.0, "period": 0.028}
    bare = sampled_radius("position", gain=[0.5, 0.8, 1.0], **light)
    np.testing.assert_allclose(bare, [1.028, 1.150, 1.229], atol=5e-4)
    slow = float(sampled_radius("position", gain=1.0, filter=0.95, **light))
    assert slow == pytest.approx(0.95, abs=5e-3)


def test_the_accumulating_law_has_the_poles_of_its_formula() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        gain, a = random.uniform(0.05, 1.5), random.uniform(0, 0.98)
        K, Ke = random.uniform(100, 900, 2)
        kappa = Ke / (K + Ke)
        matrix = sampled_matrix(
            "accumulating", gain=gain, stiffness=K, filter=a, environment_stiffness=Ke
        )
        wanted = [1, -(1 + a), a + gain * kappa * (1 - a), 0, 0]
        np.testing.assert_allclose(np.poly(matrix), wanted, atol=1e-12)
        radius = np.abs(np.linalg.eigvals(matrix)).max()
        assert (radius < 1) == (gain < accumulating_limit(K, Ke))
    assert accumulating_damping(0.2, 0.8) == pytest.approx(0.417, abs=5e-4)
    assert accumulating_damping(0.6, 0.8) == pytest.approx(0.117, abs=5e-4)


@pytest.mark.parametrize("a", [0.0, 0.6, 0.8, 0.95])
def test_the_accumulating_law_s_limit_does_not_depend_on_the_filter(a: float) -> None:
    found = gain_limit("accumulating", stiffness=500.0, filter=a, environment_stiffness=1e5)
    assert found == pytest.approx(accumulating_limit(500.0, 1e5), rel=1e-6)
    rigid = gain_limit("accumulating", stiffness=500.0, filter=a, environment_stiffness=np.inf)
    assert rigid == pytest.approx(1.0, rel=1e-6)


def test_a_limit_stands_between_stable_and_unstable_gains() -> None:
    for law in CONTACT_LAWS:
        at = WRIST | {"filter": 0.8, "environment_stiffness": 1000.0}
        limit = gain_limit(law, **at)
        around = sampled_radius(law, gain=[0.99 * limit, 1.01 * limit], **at)
        assert around[0] < 1 < around[1]
    assert gain_limit("position", filter=0.6, **WRIST | {"damping": 0.0}) == 0.0
    assert gain_limit("force", stiffness=500.0, mass=0.1, damping=3.0, filter=0.95) == np.inf


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"law": "postion"}, "did you mean 'position'"),
        ({"order": "new"}, "order of ticks 'new'"),
        ({"stiffness": 0.0}, "stiffness is 0"),
        ({"filter": 1.0}, "from 0 to below 1"),
        ({"mass": -1.0}, "mass is -1"),
        ({"gain": np.nan}, "gain is nan"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"law": "position", "gain": 1.0, **WRIST} | change
    with pytest.raises(InputError, match=words):
        sampled_radius(**given)


def test_a_very_light_tool_is_as_one_without_mass() -> None:
    at: dict[str, Any] = {"gain": 0.7, "stiffness": 500.0, "damping": 9.0, "filter": 0.5}
    wanted = sampled_radius("position", **at)
    for mass in (1e-6, 1e-15, 1e-20):
        assert sampled_radius("position", mass=mass, **at) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("given", [(0.2, 0.8, -1.0), (0.2, 1.0), (-0.1, 0.8), (float("nan"), 0.8)])
def test_damping_of_numbers_that_mean_nothing_is_refused(given: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="give a number that is"):
        accumulating_damping(*given)
    with pytest.raises(InputError, match="stiffness is -1"):
        accumulating_limit(-1.0)
    with pytest.raises(InputError, match="not a number"):
        accumulating_damping("0.2", 0.8)  # type: ignore[arg-type]


def test_a_rigid_surface_holds_a_tool_of_any_mass() -> None:
    at: dict[str, Any] = {"filter": 0.8, "environment_stiffness": float("inf")}
    for mass, stiffness in ((0.0, 500.0), (0.1, 500.0), (1e-3, 1e8)):
        found = gain_limit("accumulating", stiffness=stiffness, mass=mass, damping=1.0, **at)
        assert found == pytest.approx(1.0, abs=1e-6)
