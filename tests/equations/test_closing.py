"""Closing loops in batches: Newton's loop in a Program, against closed forms and one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error
from linkwright.equations.batch_closing import Closing, PoseRows
from linkwright.equations.closure import assemble
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism, Revolute
from linkwright.robots import closed
from tests.support.closed_loop_machines import (
    LOWER,
    UPPER,
    arm_angles,
    directions,
    hexapod,
    rotary_mount,
)

Array = NDArray[np.float64]


def poses(count: int, seed: int = 1) -> tuple[Array, Array, Array]:
    """Return random positions, quaternions and the lengths of the hexapod's legs."""
    r = np.random.default_rng(seed)
    at = np.array([0.0, 0.0, 1.0]) + r.uniform(-0.15, 0.15, (count, 3))
    turn = np.concatenate([np.ones((count, 1)), r.uniform(-0.15, 0.15, (count, 3))], axis=1)
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    w, v = turn[:, None, :1], turn[:, None, 1:]
    heads = UPPER + 2 * np.cross(v, np.cross(v, UPPER) + w * UPPER) + at[:, None]
    return at, turn, np.linalg.norm(heads - LOWER, axis=2)


@pytest.fixture(scope="module")
def six_legs() -> Mechanism:
    return hexapod()


@pytest.fixture(scope="module")
def tracker() -> Closing:
    return Closing(parallel_machine(rotary_mount()), ["direction"])


def test_actuators_give_the_pose_of_a_hexapod(six_legs: Mechanism) -> None:
    at, turn, lengths = poses(2000)
    found = closed(six_legs, {"actuators": lengths})
    assert found.closed.all()
    assert found.residual.max() < 1e-14
    np.testing.assert_allclose(found.q[:, :7], np.concatenate([at, turn], axis=1), atol=1e-12)
    np.testing.assert_array_equal(found.q[:, 7:], lengths)


def test_a_pose_gives_the_actuators_of_a_hexapod(six_legs: Mechanism) -> None:
    at, turn, lengths = poses(50)
    found = closed(six_legs, {"position": at, "rotation": turn})
    np.testing.assert_allclose([found[f"leg{k}"] for k in range(1, 7)], lengths.T, atol=1e-12)


def test_a_grid_of_directions_stays_on_the_branch_of_the_start(tracker: Closing) -> None:
    """Mount check 16: the inverse kinematics of the closed form, by the general engine."""
    d = directions(np.radians(np.arange(0, 360, 15.0)), np.radians(np.linspace(0, 90, 16)))
    found = tracker.follow(d)
    assert found.closed.all()
    names = ("lower1", "lower2", "lower3")
    arms = np.stack([found[n] for n in names], axis=-1)
    np.testing.assert_allclose(arms, arm_angles(d, 0.98), atol=1e-12)
    horizon = np.degrees(arms[-1, [0, 4]])
    expected = [[114.6997, 1.0531, 1.0531], [80.5556, 80.5556, -9.9189]]
    np.testing.assert_allclose(horizon, expected, atol=1e-4)


def test_the_bits_are_the_same_for_any_number_of_threads(tracker: Closing) -> None:
    d = directions(np.linspace(0, 6, 37), np.linspace(0, 1.9, 25))
    one, three = (tracker.follow(d, threads=n) for n in (1, 3))
    assert not one.closed.all()
    for name in ("q", "residual", "status", "worst"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    rows = d.reshape(-1, 3)
    one, few = tracker.close(rows, threads=2), tracker.close(rows[100:103])
    np.testing.assert_array_equal(one.q[100:103], few.q)


def bennett(alpha: float, beta: float) -> Mechanism:
    """Return Bennett's linkage: four hinges in space, closed by five relations of which two count.

    Its sides are 1 and sin(beta)/sin(alpha), in turn (Bennett, Engineering 76, 1903).
    """
    side = float(np.sin(beta) / np.sin(alpha))

    def tilted(angle: float) -> tuple[float, float, float]:
        return 0.0, -float(np.sin(angle)), float(np.cos(angle))

    m = Mechanism("bennett")
    first = m.body("first", rotate="z")
    second = m.body("second", parent=first, at=(1, 0, 0), joint=Revolute(tilted(alpha)))
    third = m.body("third", parent=second, at=(side, 0, 0), joint=Revolute(tilted(alpha + beta)))
    end, pivot = m.point("end", third, (1, 0, 0)), m.point("pivot", at=(-side, 0, 0))
    last = Revolute(tilted(-beta))
    m.close_loop("hinge", pivot, end, last, second_axis=tilted(2 * alpha + beta))
    m.actuate("first")
    m.set_platform(second)
    return m


def test_redundant_relations_of_an_overconstrained_loop_close() -> None:
    alpha, beta = np.radians([40.0, 70.0])
    ratio = np.sin((alpha + beta) / 2) / np.sin((beta - alpha) / 2)
    angles = np.linspace(1.0, 2.5, 7)
    second = 2 * np.arctan(ratio / np.tan(angles / 2))
    start = {"first": 1.0, "second": float(second[0]), "third": 2 * np.pi - 1.0}
    found = closed(bennett(alpha, beta), {"first": angles}, start=start, follow=True)
    assert len(found.relations) == 5
    assert found.closed.all()
    np.testing.assert_allclose(found["second"], second, atol=1e-12)
    np.testing.assert_allclose(found["third"], 2 * np.pi - angles, atol=1e-12)


def test_each_pose_is_that_of_the_single_assembly() -> None:
    m = Mechanism("four_bar")
    crank = m.body("crank", rotate="z")
    rod = m.body("rod", parent=crank, at=(1, 0, 0), rotate="z")
    tip = m.point("tip", rod, (3, 0, 0))
    m.constrain_distance(tip, m.point("pivot", at=(3, 0, 0)), 2)
    m.set_initial({"crank": 0.5, "rod": 0.1})
    m.actuate("crank")
    m.set_platform(rod)
    angles = np.linspace(0.5, 1.2, 8)
    found = closed(m, {"crank": angles}, follow=True)
    for k, angle in enumerate(angles):
        one = assemble(m, {"crank": float(angle)}).coordinates
        np.testing.assert_allclose(found.q[k], [one[n] for n in found.names], atol=1e-12)


def test_what_does_not_close_names_the_relation(six_legs: Mechanism) -> None:
    """Mount check 17: out of reach, by the general engine."""
    lengths = np.full((2, 6), 1.2)
    lengths[1, 4] = 9.0
    found = closed(six_legs, {"actuators": lengths})
    assert found.closed.tolist() == [True, False]
    assert found.words(0) == "closed"
    assert found.words(1).startswith("not closed: 'leg")
    assert "is as long as it is driven' is left by" in found.words(1)
    assert found.words(1).endswith(
        "where the steps ended; it is out of reach, or far from the start"
    )


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({}, "nothing is known"),
        ({"actuators": [1.2] * 5}, "6 numbers"),
        ({"direction": [0, 0, 2.0]}, "not a unit vector"),
        ({"position": [0, 0, np.nan]}, "not finite"),
        ({"leg7": 1.0}, "leg7"),
        ({"rotation": np.ones((3, 3))}, "not a rotation matrix"),
        ({"actuators": [1.2] * 6, "leg1": 1.0}, "given twice"),
        ({"position": np.zeros((2, 3)), "distance": np.ones(3)}, "leading axes"),
    ],
)
def test_bad_input_is_refused_in_words(
    six_legs: Mechanism, known: dict[str, ArrayLike], words: str
) -> None:
    with pytest.raises(Error, match=words):
        closed(six_legs, known)


def test_lines_that_stop_at_places_of_their_own_walk_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A linkage that locks where cos a + sin a = -1/2: each line comes there at another place."""
    m = Mechanism("m")
    a = m.body("a", rotate="z")
    b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    m.constrain_distance(m.point("p", b, (1, 0, 0)), m.point("o", at=(1, 1, 0)), 1)
    m.actuate("a")
    m.set_initial({"b": 0.5})
    closing = Closing(parallel_machine(m, platform="b"), ["a"])
    walks = []
    walk = Closing.walk

    def counted(self: Closing, before: Array, x: Array, q: Array, *, threads: int = 1) -> PoseRows:
        walks.append(len(x))
        return walk(self, before, x, q, threads=threads)

    monkeypatch.setattr(Closing, "walk", counted)
    turns = 1.35 + 0.1 * np.arange(17)[:, None] + 0.11 * np.arange(12)
    found = closing.follow(turns[..., None])
    locks = np.pi / 4 + np.arccos(-1 / np.sqrt(8))
    np.testing.assert_array_equal(found.closed, turns < locks)
    assert len(walks) <= 3
