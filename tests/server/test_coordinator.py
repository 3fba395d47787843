"""The coordinator: observations at their times and in their objects, fused like Kalman's filter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.rotations import exponential, logarithm, quaternion_matrix, quaternion_product
from linkwright.server.clocks import SECOND
from linkwright.server.coordinator import (
    Coordinator,
    FusionSettings,
    Observation,
    PointMotion,
    PoseMotion,
)
from linkwright.server.coordinator.association import joint_probabilities
from linkwright.server.coordinator.motions import left_jacobian
from linkwright.server.coordinator.world import MOST_SENSORS, MOST_TRACKED, chi_square
from linkwright.server.face import RefusedError

Array = NDArray[np.float64]
WIDE = FusionSettings(gate=1 - 1e-12)  # nothing honest is ever outside

FRAMES = {
    "left": (0.0, 1.0, 2.0, 0.5, 0.5, 0.5, 0.5),
    "right": (0.3, -1.0, 2.0, 0.6, 0.0, 0.8, 0.0),
    "top": (0.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0),
}


def balls(
    seed: int, until: float = 2.0, sources: Sequence[str] = tuple(FRAMES)
) -> list[Observation]:
    """Return what cameras see of a ball, each in its own frame, at its own rate."""
    draw = np.random.default_rng(seed)
    found = []
    for k, source in enumerate(sources):
        pose = np.array(FRAMES[source])
        R = quaternion_matrix(pose[3:])
        spread = np.diag([1e-6, 4e-6, 9e-6 * (k + 1)])
        for n in range(int(until * (30 + 7 * k))):
            t = (n + 0.1 * k) / (30 + 7 * k)
            truth = np.array([np.sin(t), 0.5 * t, 0.2 * np.cos(2 * t)])
            value = R.T @ (truth - pose[:3]) + draw.multivariate_normal(np.zeros(3), spread)
            found.append(
                Observation(
                    source,
                    1 + round(t * SECOND),
                    "point",
                    tuple(value),
                    tuple(spread.ravel()),
                    source,
                    "ball",
                    n,
                )
            )
    return sorted(found, key=lambda one: (one.time, one.source))


def central(told: Sequence[Observation], model: PointMotion) -> tuple[Array, Array, int]:
    """Return mean, covariance and time of a Kalman filter that gets everything in order."""
    x, P, last = np.zeros(0), np.zeros((0, 0)), 0
    for one in told:
        pose = np.array(FRAMES[one.frame])
        R = quaternion_matrix(pose[3:])
        z = pose[:3] + R @ np.array(one.value)
        noise = R @ np.reshape(one.covariance, (3, 3)) @ R.T
        if not len(x):
            x = np.concatenate([z, np.zeros(3)])
            P = np.block(
                [[noise, np.zeros((3, 3))], [np.zeros((3, 3)), model.speed**2 * np.eye(3)]]
            )
            last = one.time
            continue
        t, last = (one.time - last) / SECOND, one.time
        phi = np.kron([[1.0, t], [0.0, 1.0]], np.eye(3))
        shape = np.array([[t**3 / 3, t**2 / 2], [t**2 / 2, t]])
        x, P = lw.control.predict(x, P, phi, model.acceleration**2 * np.kron(shape, np.eye(3)))
        step = lw.control.correct(x, P, z, np.eye(3, 6), noise, form="joseph")
        x, P = step.x, step.covariance
    return x, P, last


def delayed(told: Sequence[Observation], seed: int, most: float) -> list[tuple[int, Observation]]:
    """Return when each arrives, in the order of arrival."""
    draw = np.random.default_rng(seed)
    arrivals = [(one.time + round(draw.uniform(0, most) * SECOND), one) for one in told]
    return sorted(arrivals, key=lambda pair: (pair[0], pair[1].source, pair[1].sequence))


@pytest.mark.parametrize("seed", range(2))
def test_late_observations_give_what_a_central_filter_gives_in_order(seed: int) -> None:
    """Check 57. Delays up to 0.4 s, reordered: equal to the central Kalman filter, to 1e-9."""
    told = balls(seed, until=1.0)
    coordinator = Coordinator(FRAMES, WIDE)
    looks = 0
    for now, one in delayed(told, seed + 100, 0.4):
        coordinator.take(one, now)
        looks += len(coordinator.objects(now)) if one.sequence % 9 == 0 else 0
    assert looks > 5  # looking in between changes nothing
    x, P, last = central(told, PointMotion())
    (ball,) = coordinator.objects(last)
    assert np.abs(np.concatenate([ball.value, ball.rate]) - x).max() < 1e-9
    assert np.abs(ball.covariance - P).max() < 1e-9 * np.abs(P).max()


def turning(seed: int, count: int = 60) -> tuple[list[Observation], Array, PoseMotion]:
    """Return what three trackers see of a pose with random accelerations, and the truth at last."""
    draw = np.random.default_rng(seed)
    model = PoseMotion(acceleration=0.5, turning=0.8, speed=0.3, spin=0.5)
    p, v = draw.normal(size=3), 0.3 * draw.normal(size=3)
    q, w = exponential(draw.normal(size=3)), 0.5 * draw.normal(size=3)
    spread = np.diag([1e-6, 1e-6, 4e-6, 1e-5, 1e-5, 1e-5])
    step, found = 0.01, []
    mixing = np.linalg.cholesky(np.array([[step**3 / 3, step**2 / 2], [step**2 / 2, step]]))
    for n in range(count):
        for source in ("a", "b", "c"):
            error = draw.multivariate_normal(np.zeros(6), spread)
            value = np.concatenate([p + error[:3], quaternion_product(exponential(error[3:]), q)])
            found.append(
                Observation(
                    source,
                    1 + n * 10_000_000,
                    "pose",
                    tuple(value),
                    tuple(spread.ravel()),
                    label="part",
                    sequence=n,
                )
            )
        if n < count - 1:
            noise = mixing @ draw.normal(size=(2, 6))
            p, v = p + step * v + 0.5 * noise[0, :3], v + 0.5 * noise[1, :3]
            q = quaternion_product(exponential(step * w + 0.8 * noise[0, 3:]), q)
            w = w + 0.8 * noise[1, 3:]
    return found, np.concatenate([p, v, q, w]), model


def test_errors_are_as_large_as_the_coordinator_says() -> None:
    """Check 57. NEES of poses over 50 seeds is in its 95 % band; observations come late."""
    squares = []
    for seed in range(50):
        told, truth, model = turning(seed, 10)
        coordinator = Coordinator(settings=replace(WIDE, models=(model,)))
        for now, one in delayed(told, seed, 0.05):
            coordinator.take(one, now)
        (part,) = coordinator.objects(told[-1].time)
        back = part.value[3:] * np.array([1.0, -1, -1, -1])
        error = np.concatenate(
            [
                truth[:3] - part.value[:3],
                truth[3:6] - part.rate[:3],
                logarithm(quaternion_product(truth[6:10], back)),
                truth[10:] - part.rate[3:],
            ]
        )
        squares.append(error @ np.linalg.solve(part.covariance, error))
    low, high = lw.control.consistency_band(12, runs=50)
    assert low < np.mean(squares) < high


def test_the_order_of_arrival_does_not_change_a_bit() -> None:
    told, _, model = turning(7)
    found = []
    for seed in range(3):
        coordinator = Coordinator(settings=replace(WIDE, models=(model,)))
        for now, one in delayed(told, seed, 0.3):
            coordinator.take(one, now)
        (part,) = coordinator.objects(told[-1].time)
        found.append((part.value.tobytes(), part.covariance.tobytes(), part.sources))
    assert len(set(found)) == 1


@pytest.mark.parametrize("liar", list(FRAMES))
@pytest.mark.parametrize("seed", range(2))
def test_one_of_three_that_lies_moves_the_estimate_by_less_than_a_deviation(
    liar: str, seed: int
) -> None:
    """Check 57. 20 deviations off, from its first word on: rejected, and named."""
    told = balls(seed, until=1.2)
    honest = Coordinator(FRAMES)
    all_three = Coordinator(FRAMES)
    draw = np.random.default_rng(seed)
    aside = draw.normal(size=3)
    aside /= np.linalg.norm(aside)
    worst = 0.0
    for now, one in delayed(told, seed, 0.05):
        if one.source == liar:
            lie = 20 * np.linalg.cholesky(np.reshape(one.covariance, (3, 3))) @ aside
            one = replace(one, value=tuple(np.array(one.value) + lie))
        else:
            honest.take(one, now)
        all_three.take(one, now)
        if now > SECOND // 5 and one.sequence % 4 == 0:
            (a,), (b,) = honest.objects(now), all_three.objects(now)
            assert not b.disputed
            moved = np.concatenate([a.value - b.value, a.rate - b.rate])
            worst = max(worst, float(np.sqrt(moved @ np.linalg.solve(a.covariance, moved))))
    assert worst < 1.0
    reports = {one.name: one for one in all_three.sensors(told[-1].time)}
    assert [name for name, one in reports.items() if one.lying] == [liar]
    assert reports[liar].used < 3 < 25 < reports[liar].rejected


def test_a_liar_that_comes_to_its_senses_is_heard_again() -> None:
    told = balls(1, until=4.0)
    coordinator = Coordinator(FRAMES)
    verdicts = []
    for one in told:
        if one.source == "left" and one.time < 2 * SECOND:
            one = replace(one, value=tuple(np.array(one.value) + 0.1))
        coordinator.take(one, one.time)
        verdicts.append({s.name: s.lying for s in coordinator.sensors(one.time)}.get("left"))
    assert verdicts[len(told) // 2 - 20] is True
    assert verdicts[-1] is False
    (ball,) = coordinator.objects(told[-1].time)
    assert ball.sources == ("left", "right", "top")


def test_where_one_stands_against_one_the_object_is_disputed() -> None:
    told = [one for one in balls(2) if one.source != "top"]
    coordinator = Coordinator(FRAMES)
    for one in told:
        lie = 0.3 if one.source == "left" else 0.0
        coordinator.take(replace(one, value=tuple(np.array(one.value) + lie)), one.time)
    (ball,) = coordinator.objects(told[-1].time)
    assert ball.disputed
    assert not any(s.lying for s in coordinator.sensors(told[-1].time))


def test_a_thing_that_jumps_is_followed() -> None:
    """All sensors agree that it is elsewhere: they cannot all be wrong."""
    coordinator = Coordinator(FRAMES)
    told = balls(3)
    for one in told:
        pose = np.array(FRAMES[one.frame])
        jump = quaternion_matrix(pose[3:]).T @ np.array(
            [0.0, 0.0, 0.5 if one.time > SECOND else 0.0]
        )
        coordinator.take(replace(one, value=tuple(np.array(one.value) + jump)), one.time)
    (ball,) = coordinator.objects(told[-1].time)
    assert ball.value[2] == pytest.approx(0.5 + 0.2 * np.cos(4.0), abs=0.02)
    assert ball.sources == ("left", "right", "top")


def test_nobody_is_waited_for_and_what_nobody_sees_gets_vague() -> None:
    """A dead node: the age of its object grows, and its covariance."""
    told = balls(4, until=1.0)
    coordinator = Coordinator(FRAMES)
    for one in told:
        coordinator.take(one, one.time)
    last = told[-1].time
    seen = [coordinator.objects(last + k * SECOND)[0] for k in range(4)]
    assert [round(one.age, 9) for one in seen] == [0.0, 1.0, 2.0, 3.0]
    assert seen[0].deviation < 0.01 < seen[1].deviation < seen[2].deviation < seen[3].deviation
    assert seen[3].sources == ()
    assert coordinator.sensors(last + SECOND)[0].age >= 1.0
    assert coordinator.objects(last + 100 * SECOND) == ()
    again = replace(told[-1], time=last + 3 * SECOND, sequence=0)  # a node that started anew
    coordinator.take(again, again.time)
    (ball,) = coordinator.objects(again.time)
    assert ball.age == 0.0
    assert ball.deviation < 0.01


def test_things_without_labels_are_told_apart() -> None:
    """Two parts pass each other in clutter: two objects, each with its own speed."""
    draw = np.random.default_rng(0)
    coordinator = Coordinator(settings=FusionSettings(clutter=0.1, births=1e-3))
    for n in range(100):
        time = 1 + n * 20_000_000
        places = [np.array([0.02 * n - 1.0, 0.2, 0.0]), np.array([1.0 - 0.02 * n, -0.2, 0.0])]
        if n % 4 == 0:
            places.append(draw.uniform(-1, 1, size=3) * (1, 1, 0.5) + (0, 0, 1.5))
        for k in draw.permutation(len(places)):
            value = places[k] + draw.normal(scale=2e-3, size=3)
            coordinator.take(
                Observation(
                    f"eye{n % 2}", time, "point", tuple(value), (4e-6,) * 3, sequence=int(k)
                ),
                time,
            )
    found = coordinator.objects(1 + 99 * 20_000_000)
    assert [one.name for one in found] == ["point 1", "point 2"]
    speeds = sorted(float(one.rate[0]) for one in found)
    assert speeds == pytest.approx([-1.0, 1.0], abs=0.05)


def test_a_sensor_that_claims_too_much_is_told() -> None:
    """Errors almost twice as large as it says: each is in the gate, and all together tell."""
    draw = np.random.default_rng(11)
    coordinator = Coordinator(settings=FusionSettings(models=(PointMotion(acceleration=0.1),)))
    last = 1 + 59 * 10_000_000
    for n in range(60):
        for source, size in (("careful", 1e-3), ("proud", 1.9e-3)):
            told = Observation(
                source,
                1 + n * 10_000_000,
                "point",
                tuple(draw.normal(scale=size, size=3)),
                (1e-6,) * 3,
                label="ball",
                sequence=n,
            )
            coordinator.take(told, told.time)
    reports = {one.name: one for one in coordinator.sensors(last)}
    assert reports["proud"].inconsistent
    assert not reports["careful"].inconsistent
    assert reports["proud"].used > 50


def test_where_two_things_cannot_be_told_apart_their_covariance_says_so() -> None:
    """Two parts meet at a distance of a deviation: each takes what is seen with its probability."""
    draw = np.random.default_rng(12)
    coordinator = Coordinator(settings=FusionSettings(models=(PointMotion(acceleration=0.1),)))
    spread, worst = 0.01, 0.0
    for n in range(60):
        time = 1 + n * 20_000_000
        apart = 0.3 * abs(n - 40) / 40 + 0.005
        for k, side in enumerate((-1.0, 1.0)):
            value = np.array([side * apart, 0.0, 0.0]) + draw.normal(scale=spread, size=3)
            told = Observation("eye", time, "point", tuple(value), (spread**2,) * 3, sequence=k)
            coordinator.take(told, time)
        found = coordinator.objects(time)
        if n > 5:
            assert len(found) == 2
            for place in (-apart, apart):
                off = [one.value - [place, 0, 0] for one in found]
                worst = max(
                    worst,
                    min(
                        float(e @ np.linalg.solve(one.covariance[:3, :3], e))
                        for e, one in zip(off, found, strict=True)
                    ),
                )
    assert worst < chi_square(0.99999, 3)


def test_a_flood_is_bounded() -> None:
    """Rubbish from many names, all over the place: what is kept of it has an end."""
    draw = np.random.default_rng(3)
    coordinator = Coordinator()
    for n in range(300):
        value = tuple(draw.uniform(-50, 50, size=3))
        told = Observation(f"name{n}", 1 + 1000 * n, "point", value, (1e-6,) * 3)
        coordinator.take(told, told.time)
        with suppress(RefusedError):
            coordinator.take(replace(told, source=f"other{n}", kind="smell"), told.time)
    world = coordinator._world()
    assert len(world.tracked) == MOST_TRACKED
    assert len(world.sensors) == MOST_SENSORS
    assert len(coordinator._refused) <= MOST_SENSORS + 1
    late = Observation("eye", 10 * SECOND, "point", (0, 0, 0), (1e-6,) * 3)
    coordinator.take(late, late.time)
    assert len(coordinator._world().tracked) == 1
    assert len(coordinator._scans) == 1


def assignments(
    rows: Sequence[dict[int, float]], nothing: float, taken: frozenset[int] = frozenset()
) -> list[tuple[float, tuple[int, ...]]]:
    """Return every joint assignment with its weight, written out."""
    if not rows:
        return [(1.0, ())]
    found = [(nothing * w, (-1, *rest)) for w, rest in assignments(rows[1:], nothing, taken)]
    for j, weight in rows[0].items():
        if j not in taken:
            more = assignments(rows[1:], nothing, taken | {j})
            found += [(weight * w, (j, *rest)) for w, rest in more]
    return found


def test_probabilities_are_those_of_all_joint_assignments() -> None:
    draw = np.random.default_rng(5)
    for _ in range(20):
        rows = [
            {j: float(w) for j, w in enumerate(draw.exponential(size=3)) if draw.uniform() < 0.8}
            for _ in range(4)
        ]
        every = assignments(rows, 0.3)
        whole = sum(w for w, _ in every)
        for k, shares in enumerate(joint_probabilities(rows, 0.3)):
            for j, share in shares.items():
                assert share == pytest.approx(sum(w for w, a in every if a[k] == j) / whole)


def test_estimates_of_others_are_never_counted_twice() -> None:
    """Told a hundred times by somebody whose news are our own: we are as unsure as before."""
    coordinator = Coordinator(settings=replace(WIDE, models=(PointMotion(acceleration=1e-9),)))
    for n in range(100):
        coordinator.take(
            Observation(
                "other", 1 + n, "point", (1, 2, 3), (1e-6,) * 3,
                label="ball", sequence=n, independent=False,
            ),
            1 + n,
        )  # fmt: skip
    (ball,) = coordinator.objects(200)
    assert ball.deviation == pytest.approx(1e-3, rel=1e-6)


def test_covariance_intersection_is_never_too_sure() -> None:
    """For any correlation of the two errors, the true covariance is below what is said."""
    draw = np.random.default_rng(8)
    for _ in range(20):
        a, b = (m @ m.T + 0.1 * np.eye(3) for m in draw.normal(size=(2, 3, 3)))
        H = np.eye(3)
        found = lw.control.intersect(np.zeros(3), a, np.zeros(3), H, b)
        K = found.gain
        for _ in range(5):
            u, _, v = np.linalg.svd(draw.normal(size=(3, 3)))
            cross = np.linalg.cholesky(a) @ (u @ v) @ np.linalg.cholesky(b).T
            rest = np.eye(3) - K
            true = rest @ a @ rest.T + K @ b @ K.T + rest @ cross @ K.T + K @ cross.T @ rest.T
            assert np.linalg.eigvalsh(found.covariance - true).min() > -1e-9
        best = min(
            np.linalg.det(np.linalg.inv(w * np.linalg.inv(a) + (1 - w) * np.linalg.inv(b)))
            for w in np.linspace(0, 1, 201)
        )
        assert np.linalg.det(found.covariance) <= best * (1 + 1e-9)


def test_rotations_agree_with_their_series() -> None:
    draw = np.random.default_rng(9)
    for size in (1e-7, 1e-3, 0.5, 3.0):
        v, d = size * draw.normal(size=3) / 2, 1e-6 * draw.normal(size=3)
        if np.linalg.norm(v) < np.pi:
            assert logarithm(exponential(v)) == pytest.approx(v, rel=1e-9, abs=1e-15)
        J = left_jacobian(v)
        there = quaternion_matrix(exponential(v + d))
        assert there == pytest.approx(
            quaternion_matrix(quaternion_product(exponential(J @ d), exponential(v))), abs=1e-10
        )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"kind": "smell"}, "kind"),
        ({"value": (1.0, 2.0)}, "size"),
        ({"value": (1.0, 2.0, float("nan"))}, "finite"),
        ({"covariance": (1.0, 1.0)}, "size"),
        ({"covariance": (1.0, 1.0, 0.0)}, "covariance"),
        ({"covariance": (1.0, 1.0, float("inf"))}, "covariance"),
        ({"frame": "lefd"}, "frame"),
        ({"time": 11 * SECOND}, "future"),
        ({"time": 5 * SECOND}, "late"),
        ({"bound": float("nan")}, "finite"),
        ({"kind": "pose", "value": (0, 0, 0, 1, 1, 0, 0), "covariance": (1.0,) * 6}, "quaternion"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name_and_counted(
    change: dict[str, Any], name: str
) -> None:
    coordinator = Coordinator(FRAMES)
    good = Observation("eye", 10 * SECOND, "point", (0, 0, 1), (1e-6,) * 3, "left", "ball")
    coordinator.take(good, good.time)
    before = coordinator.objects(good.time)
    with pytest.raises(RefusedError) as told:
        coordinator.take(replace(good, sequence=1, **change), good.time)
    assert told.value.name == name
    assert len(coordinator.objects(good.time)) == len(before)
    assert coordinator.sensors(good.time)[0].refused == {name: 1}
    with pytest.raises(RefusedError, match="reported before"):
        coordinator.take(good, good.time)
