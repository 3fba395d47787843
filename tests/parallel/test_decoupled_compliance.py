"""Platforms on six springy legs: decoupled mechanisms, synthesis, distances, frequencies."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from linkwright.algebra import evaluate_all, symbol
from linkwright.base.errors import InputError
from linkwright.linear.linearization import linearize
from linkwright.parallel.decoupled_compliance import (
    LegPlatform,
    leg_platform,
    link_distances,
    mechanism_1,
    mechanism_2,
    octahedral_platform,
    synthesize,
)
from linkwright.simulation import simulate

SIZES = [(0.3, 0.2), (1.0, 1.0), (0.1, 0.7)]


def printed(kind: int, a: float, h: float) -> np.ndarray:
    rho = a * a + (h * h if kind == 1 else 4 * h * h)
    return np.array([3 * a**2, 3 * a**2, (6 if kind == 1 else 24) * h**2,
                     a**2 * h**2, a**2 * h**2, a**4 / 2]) / rho  # fmt: skip


@pytest.mark.parametrize(("a", "h"), SIZES)
@pytest.mark.parametrize(("kind", "made"), [(1, mechanism_1), (2, mechanism_2)])
def test_both_mechanisms_are_decoupled_with_the_printed_diagonals(
    kind: int, made: Any, a: float, h: float
) -> None:
    """Server check 43: stiffness is k A, compliance its inverse."""
    platform: LegPlatform = made(a=a, h=h, stiffness=700.0)
    A = platform.A
    np.testing.assert_allclose(A - np.diag(np.diag(A)), 0, atol=1e-12)
    np.testing.assert_allclose(np.diag(A), printed(kind, a, h), rtol=1e-12)
    assert platform.decoupled
    np.testing.assert_allclose(platform.stiffness_matrix, 700 * np.diag(np.diag(A)), atol=1e-9)
    np.testing.assert_allclose(
        platform.compliance_matrix, np.diag(1 / (700 * np.diag(A))), atol=1e-9
    )
    J = platform.jacobian
    np.testing.assert_allclose(platform.compliance_matrix, J @ J.T / 700, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.linalg.inv(J), J.T @ A, atol=1e-12)  # no inversion needed
    wanted = np.prod(np.diag(A)) ** -0.5
    assert platform.manipulability == pytest.approx(wanted, rel=1e-9)
    assert np.trace(A[:3, :3]) == pytest.approx(6)  # six unit directions


@pytest.mark.parametrize("made", [mechanism_1, octahedral_platform])
def test_stiffness_is_what_legs_push_back_with(made: Callable[..., LegPlatform]) -> None:
    """Server check 43: by the energy of six springs, without Pluecker lines; coupled ones too."""
    platform = made(a=0.3, h=0.2, stiffness=700.0)
    bases, tips = platform.points
    rest = np.linalg.norm(tips - bases, axis=1)

    def energy(x: np.ndarray) -> float:
        moved = tips + x[:3] + np.cross(x[3:], tips)
        return 350.0 * float(((np.linalg.norm(moved - bases, axis=1) - rest) ** 2).sum())

    e = 1e-5
    steps = e * np.eye(6)
    found = np.array(
        [[(energy(p + q) - energy(p - q) - energy(q - p) + energy(-p - q)) / (4 * e * e)
          for q in steps] for p in steps]
    )  # fmt: skip
    np.testing.assert_allclose(found, platform.stiffness_matrix, atol=2e-3)


def test_a_simple_link_couples_about_its_base_and_not_about_its_middle() -> None:
    link = octahedral_platform(a=0.3, h=0.2)
    A = link.A
    assert abs(A[0, 4]) > 0.1  # Fx with My
    assert abs(A[1, 3]) > 0.1
    assert not link.decoupled
    assert link.about((0, 0, 0.1)).decoupled
    assert not link.about((0, 0, 0.05)).decoupled
    for bad in ((0, 0), "abc", (0, 0, float("nan"))):
        with pytest.raises(InputError, match="not three finite numbers"):
            link.about(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [mechanism_1, mechanism_2, octahedral_platform])
def test_sensitivities_are_exact(made: Any) -> None:
    for name in ("a", "h"):
        found = made(a=0.3, h=0.2).sensitivity(name)
        e = 1e-6
        up, down = (made(**({"a": 0.3, "h": 0.2} | {name: v})) for v in _around(name, e))
        np.testing.assert_allclose(found, (up.A - down.A) / (2 * e), atol=1e-8)
    platform = made(a=0.3, h=0.2)
    flat = [x for row in platform.expressions() for x in row]
    values = {symbol(n, "parameter", owner="leg platform"): v for n, v in platform.values.items()}
    np.testing.assert_allclose(
        np.array(evaluate_all(flat, values)).reshape(6, 6), platform.A, atol=1e-15
    )


def _around(name: str, e: float) -> tuple[float, float]:
    value = {"a": 0.3, "h": 0.2}[name]
    return value + e, value - e


def test_the_verified_sensitivities_of_mechanism_2() -> None:
    """The printed numerators fit neither: these are the derivatives of the verified diagonal."""
    a, h = 0.3, 0.2
    rho = a * a + 4 * h * h
    slope = mechanism_2(a=a, h=h).sensitivity("a")
    assert slope[2, 2] == pytest.approx(-48 * a * h**2 / rho**2, rel=1e-12)
    assert slope[3, 3] == pytest.approx(8 * a * h**4 / rho**2, rel=1e-12)


def test_newton_recovers_a_decoupled_mechanism_from_a_perturbed_start() -> None:
    """Server check 44."""
    a, h = 0.3, 0.2
    length = float(np.hypot(a, h))
    bases, tips = mechanism_1(a=a, h=h).points
    way = tips - bases
    exact = np.column_stack([np.arctan2(way[:, 1], way[:, 0]), bases[:, :2]])
    random = np.random.default_rng(4)
    for _ in range(5):
        start = exact + random.normal(size=(6, 3)) * [0.05, 0.01, 0.01]
        found = synthesize(length, h, start=start, starts=1)
        assert found.reached, found.words
        assert found.platform.coupling < 1e-12
        now = found.platform.points[0][:, :2]
        assert np.abs(now - bases[:, :2]).max() < 0.1
        given = synthesize(length, h, start=start, starts=1, leg=exact[0].tolist())
        assert given.reached, given.words
        assert len(given.residuals) == 15
        np.testing.assert_allclose(given.platform.points[0][0, :2], exact[0, 1:], atol=1e-15)


@pytest.mark.parametrize("wish", [{"x": 2.25, "rx": 0.05, "rz": 0.1},
                                  {"x": 2.0, "rx": 0.05, "ry": 0.08}])  # fmt: skip
def test_three_chosen_diagonals_are_met(wish: dict[str, float]) -> None:
    """Server check 44."""
    L, h = 0.5, 0.25
    found = synthesize(L, h, diagonals=wish, seed=1)
    assert found.reached
    assert len(found.residuals) == 18
    A = found.platform.A
    axes = ["x", "y", "z", "rx", "ry", "rz"]
    for name, value in wish.items():
        k = axes.index(name)
        assert A[k, k] == pytest.approx(value, abs=1e-10)
    assert found.platform.coupling < 1e-10
    assert A[0, 0] + A[1, 1] == pytest.approx(6 * (1 - h * h / L**2), rel=1e-12)
    assert A[2, 2] == pytest.approx(6 * h * h / L**2, rel=1e-12)
    lengths = np.linalg.norm(np.subtract(*found.platform.points), axis=1)
    np.testing.assert_allclose(lengths, L, rtol=1e-12)


def test_facts_about_equal_legs() -> None:
    """Of any six equal legs: d1 + d2 = 6 (L^2 - h^2), d3 = 6 h^2; d1 = d2 = d3 at h^2 = L^2/3."""
    random = np.random.default_rng(8)
    for h in (0.2, 0.5 / np.sqrt(3), 0.4):
        r = np.sqrt(0.25 - h * h)
        theta = random.uniform(0, 2 * np.pi, 6)
        bases = np.column_stack([random.uniform(-1, 1, (6, 2)), np.zeros(6)])
        way = np.column_stack([r * np.cos(theta), r * np.sin(theta), np.full(6, h)])
        d = 0.25 * np.diag(leg_platform(bases.tolist(), (bases + way).tolist()).A)
        assert d[0] + d[1] == pytest.approx(6 * (0.25 - h * h))
        assert d[2] == pytest.approx(6 * h * h)
        even = synthesize(0.5, h, diagonals={"x": 3 * (1 - h * h / 0.25)}, seed=2)
        assert even.reached
        d = 0.25 * np.diag(even.platform.A)
        assert d[0] == pytest.approx(d[1])
        assert (d[2] <= d[0] + 1e-12) == (h * h <= 0.25 / 3 + 1e-12)
    same = mechanism_1(a=np.sqrt(2.0), h=1.0).A  # h^2 = L^2/3
    np.testing.assert_allclose(np.diag(same)[:3], 2.0)


def test_what_is_not_reached_is_said() -> None:
    found = synthesize(0.5, 0.25, diagonals={"rx": 0.05, "ry": 0.08, "rz": 50.0}, starts=2)
    assert not found.reached
    assert found.tried == 2
    assert found.failed == 2
    assert "not reached from 2 starts" in found.words
    worst = max(found.residuals, key=lambda n: abs(found.residuals[n]))
    assert f"{worst} by" in found.words
    k = ["x", "y", "z", "rx", "ry", "rz"].index("rz")
    assert found.platform.A[k, k] - 50 == pytest.approx(found.residuals["rz"], abs=1e-9)


def test_a_constructed_crossing_is_reported_exactly() -> None:
    """Server check 45."""
    platform = mechanism_2(a=0.3, h=0.2)
    bases, tips = (p.copy() for p in platform.points)
    # a quarter of leg 5 is laid onto three quarters of leg 1, where the platform has moved
    moved = np.array([0.05, 0.02, 0.0])
    place = bases[0] + 0.75 * (tips[0] + moved - bases[0])
    tips[4] = bases[4] + 4 * (place - bases[4]) - moved
    built = leg_platform(bases.tolist(), tips.tolist())
    poses = np.tile(np.eye(4), (41, 1, 1))
    poses[:, :2, 3] = np.linspace(0, 2, 41)[:, None] * [0.05, 0.02]
    found = link_distances(built, poses)
    assert found.distances.shape == (41, 15)
    ((pair, pose, far),) = found.collisions
    assert (pair, pose) == ((1, 5), 20)
    assert far < 1e-15
    assert found.nearest == ((1, 5), 20, far)


def test_no_leg_meets_another_along_a_safe_motion() -> None:
    """Server check 45."""
    platform = mechanism_1(a=0.3, h=0.2)
    t = np.linspace(0, 2 * np.pi, 60)
    poses = np.tile(np.eye(4), (60, 1, 1))
    c, s = np.cos(0.1 * np.sin(t)), np.sin(0.1 * np.sin(t))
    poses[:, 0, 0], poses[:, 0, 1], poses[:, 1, 0], poses[:, 1, 1] = c, -s, s, c
    poses[:, 2, 3] = 0.02 * np.cos(t)
    found = link_distances(platform, poses, radius=0.005)
    assert found.collisions == ()
    assert int(found.shared.sum()) == 3  # two legs at each base point
    nearest, pose, far = found.nearest
    assert 0.08 < far < 0.12
    thick = link_distances(platform, poses, radius=0.51 * far)
    assert nearest in {pair for pair, _, _ in thick.collisions}
    assert found.distances[pose, found.pairs.index(nearest)] == far


def test_distances_are_those_of_a_search_along_both_legs() -> None:
    """Server check 45: crossed, skew with the nearest points at ends, and parallel pairs."""
    random = np.random.default_rng(6)
    for case in range(3):
        bases, tips = random.uniform(-1, 1, (2, 6, 3))
        if case == 0:
            tips = bases + np.array([0.3, 0.1, 0.8])  # all parallel
        found = link_distances(leg_platform(bases.tolist(), tips.tolist()), np.eye(4))
        grid = np.linspace(0, 1, 201)
        for k, (i, j) in enumerate(combinations(range(6), 2)):
            first = bases[i] + grid[:, None] * (tips[i] - bases[i])
            second = bases[j] + grid[:, None] * (tips[j] - bases[j])
            nearest = np.linalg.norm(first[:, None] - second[None], axis=2).min()
            assert found.distances[0, k] <= nearest + 1e-12
            assert found.distances[0, k] > nearest - 0.02
            s, u = (tips[n] - bases[n] for n in (i, j))
            cross = float(np.linalg.norm(np.cross(s, u)))
            if cross > 1e-9:  # lines are never farther apart than segments
                mutual = abs(float(np.cross(bases[i], s) @ u + np.cross(bases[j], u) @ s))
                assert mutual / cross <= found.distances[0, k] + 1e-12


def test_modal_frequencies_are_those_of_the_simulated_platform() -> None:
    mass, inertia = 2.0, [0.01, 0.012, 0.03]
    platform = mechanism_2(a=0.3, h=0.2, stiffness=1e4)
    found = platform.frequencies(mass, inertia)
    M = np.array([mass] * 3 + inertia)
    np.testing.assert_allclose(found, np.sort(np.sqrt(1e4 * np.diag(platform.A) / M)))
    system = platform.system(mass, inertia)
    poles = np.linalg.eigvals(linearize(system).a)
    np.testing.assert_allclose(np.sort(np.abs(poles))[::2], found, rtol=1e-6)
    # and in a run: a small push along z comes back after a period, and stays along z
    period = 2 * np.pi / np.sqrt(1e4 * platform.A[2, 2] / mass)
    run = simulate(system, period, step=period / 400, method="rk4",
                   initial={"platform.z": 1e-5})  # fmt: skip
    assert run.final["platform.z"] == pytest.approx(1e-5, rel=1e-3)
    assert abs(run.final["platform.x"]) < 1e-9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mechanism_1(a=0.0, h=1.0), "a is 0"),
        (lambda: leg_platform([[0, 0, 0]] * 5, [[0, 0, 1]] * 5), "bases are not six points"),
        (lambda: leg_platform([[0, 0, 0]] * 6, [[0, 0, 0]] * 6), "leg 1 has no length"),
        (lambda: leg_platform([[0, 0, 0]] * 6, [[0, 0, 1]] * 6).compliance_matrix, "singular"),
        (lambda: leg_platform([[0, 0, 0]] * 6, [[0, 0, 1]] * 6, stiffness=-1.0), "is -1"),
        (lambda: mechanism_1(a=1.0, h=1.0).sensitivity("b"), "no parameter 'b'"),
        (lambda: mechanism_1(a=1.0, h=1.0).frequencies(0.0, [1, 1, 1]), "positive numbers"),
        (lambda: synthesize(0.5, 0.6), "do not rise"),
        (lambda: synthesize(0.5, 0.2, diagonals={"z": 1.0}), "no choice"),
        (lambda: synthesize(0.5, 0.2, diagonals={"x": 9.0}), "together are"),
        (lambda: synthesize(0.5, 0.2, diagonals={"x": 1.0, "y": 2.0}), "no two choices"),
        (lambda: synthesize(0.5, 0.2, diagonals={"w": 1.0}), "no axis 'w'"),
        (lambda: synthesize(0.5, 0.2, starts=0), "0 starts"),
        (lambda: link_distances(mechanism_1(a=1.0, h=1.0), np.eye(3)), "4 by 4"),
        (lambda: link_distances(mechanism_1(a=1.0, h=1.0), 2 * np.eye(4)), "not a rotation"),
    ],
)
def test_what_means_nothing_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
