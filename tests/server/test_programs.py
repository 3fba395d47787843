"""Programs of positions: equations, moves that are checked before the first, and two arms."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.base.rotations import exponential, quaternion_matrix
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command, RefusedError
from linkwright.server.programs import (
    ARM,
    MoveProgram,
    Transform,
    VirtualHand,
    together,
)
from linkwright.server.reach import pose_matrix
from linkwright.server.virtual import VirtualCell
from tests.seeds import seeds, seldom


def random_pose(rng: np.random.Generator) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3] = quaternion_matrix(exponential(rng.normal(size=3)))
    found[:3, 3] = rng.normal(size=3)
    return found


@cache
def hand() -> VirtualHand:
    """Return the PUMA of the cell press1, enabled; a guard holds its arm off the table."""
    made = VirtualHand(VirtualCell(read_cell("press1")), "puma")
    made.enable()
    return made


def shifted(base: np.ndarray, x: float, y: float, z: float) -> np.ndarray:
    found = base.copy()
    found[:3, 3] += [x, y, z]
    return found


# -- equations -------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(6, daily=2))
def test_equations_are_solved_for_the_arm_wherever_it_stands(seed: int) -> None:
    rng = np.random.default_rng(seed)
    b, t, o, g = (random_pose(rng) for _ in range(4))
    B, T, O, G = map(Transform, (b, t, o, g))
    inv = np.linalg.inv
    for equation, wanted in (
        (B * ARM * T == O * G, inv(b) @ o @ g @ inv(t)),
        (O * G == B * ARM * T, inv(b) @ o @ g @ inv(t)),
        (B * ARM.inverse * T == O * G, t @ inv(o @ g) @ b),
        (B * T.inverse == ARM, b @ inv(t)),
    ):
        np.testing.assert_allclose(equation.solution.matrix(), wanted, atol=1e-12)


def test_frames_of_the_cell_stand_first_and_functions_take_time() -> None:
    grip = Transform([0, 0, 0.1])
    frame, pose = (ARM * grip == Transform("conveyor") * Transform([0.2, 0, 0])).goal()
    assert frame == "conveyor"
    assert pose[:3, 3] == pytest.approx([0.2, 0, -0.1])
    moving = Transform(lambda t: [0.5 + 0.1 * t, 0, 0.3])
    frame, pose = (moving * grip == ARM).goal(2.0)
    assert frame == "base"
    assert pose[:3, 3] == pytest.approx([0.7, 0, 0.4])
    assert moving.moves
    assert not grip.moves
    assert repr(Transform("conveyor") * moving.inverse) == "conveyor * f(t)^-1"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Transform([1, 2]), "this is not a frame"),
        (lambda: Transform(np.diag([2.0, 1, 1, 1])), "this is not a frame"),
        (lambda: Transform([0, 0, 0]) == 3, "equated with another"),
        (lambda: (Transform([0, 0, 0]) == Transform([0, 0, 0])).solution, "has 0 arms"),
        (lambda: (ARM == ARM).solution, "has 2 arms"),
        (lambda: (Transform("a") * ARM == Transform([1, 0, 0])).goal(), "stand first"),
        (lambda: MoveProgram().move(Transform(lambda t: [t, 0, 0]) == ARM), "seconds="),
    ],
)
def test_what_is_no_equation_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


# -- moves -----------------------------------------------------------------------------------------
@seldom(daily="test_equations_are_solved_for_the_arm_wherever_it_stands")
def test_a_program_goes_through_its_positions_and_is_looked_at_before() -> None:
    """Via a way-point without coming to rest; a position out of reach moves nothing."""
    arm = hand()
    begin = pose_matrix(arm["pose"].tolist())
    tool, place = Transform([0, 0, 0.05]), Transform(shifted(begin, 0, 0.05, 0.02))
    first = ARM * tool == place
    last = ARM * tool == place * Transform([0.03, 0.0, 0.0])
    program = MoveProgram("fetch").move(first, blend=0.3, speed=0.4).move(last, speed=0.4).stop()
    assert len(program) == 3
    program.run(arm)
    reached = pose_matrix(arm["pose"].tolist())
    np.testing.assert_allclose(reached, last.solution.matrix(), atol=3e-4)
    tick = arm.cell.tick
    far = MoveProgram("far").move(first).move(Transform([3.0, 0, 0]) == ARM, name="p9")
    with pytest.raises(RefusedError, match="p9 of 'far': the tool of 'puma' cannot come to x = 3"):
        far.run(arm)
    assert arm.cell.tick == tick
    circle = Transform(
        lambda t: shifted(reached, 0.0, 0.03 * np.sin(2 * t), 0.03 - 0.03 * np.cos(2 * t))
    )
    MoveProgram().move(circle == ARM, seconds=1.0).run(arm)
    np.testing.assert_allclose(pose_matrix(arm["pose"].tolist()), circle.matrix(1.0), atol=3e-4)
    arm.ask("guard", [2.0])
    down = MoveProgram("down").move(Transform(shifted(begin, 0, 0, -0.12)) == ARM, speed=0.5)
    with pytest.raises(Error, match="puma stopped: touch"):
        down.run(arm)
    arm.ask("guard", [0.0])
    MoveProgram("back").move(Transform(begin) == ARM, speed=0.5).run(arm)


@seldom(daily="test_equations_are_solved_for_the_arm_wherever_it_stands")
def test_two_arms_carry_an_object_that_stays_where_they_hold_it() -> None:
    """Both tools keep their places in the object, all the way; where one stops, both do."""
    cell = VirtualCell(read_cell("cell1"), sensing=False)
    hands = [VirtualHand(cell, name) for name in ("puma", "ref")]
    for each in hands:
        each.enable()
    poses = [pose_matrix(each["pose"].tolist()) for each in hands]
    object_ = np.eye(4)
    object_[:3, 3] = (poses[0][:3, 3] + poses[1][:3, 3]) / 2
    grips = [Transform(np.linalg.inv(object_) @ pose) for pose in poses]
    angles, times = np.linspace(0, 0.1, 9), np.linspace(0, 4, 9)
    way = []
    for angle in angles:
        turned = shifted(object_, 0.0, 0.0, 0.3 * angle)
        turned[:3, :3] = quaternion_matrix([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
        way.append(Transform(turned))
    apart: list[float] = []
    advance = cell.advance

    def watched(ticks: int) -> None:
        advance(ticks)
        held = [pose_matrix(each["pose"].tolist()) for each in hands]
        now = np.linalg.inv(held[0]) @ held[1]
        apart.append(float(np.abs(now - np.linalg.inv(poses[0]) @ poses[1]).max()))

    cell.advance = watched  # type: ignore[method-assign]
    together(hands, grips, way, times.tolist())
    assert len(apart) > 50
    assert max(apart) < 2e-3
    for each, grip in zip(hands, grips, strict=True):
        wanted = (way[-1] * grip).matrix()
        np.testing.assert_allclose(pose_matrix(each["pose"].tolist()), wanted, atol=1e-3)
    with pytest.raises(RefusedError, match="does not hold the object"):
        together(hands, grips, way, times.tolist())
    with pytest.raises(InputError, match="2 arms with 1 grips"):
        together(hands, grips[:1], way, times.tolist())
    stopped = False

    def halting(ticks: int) -> None:
        nonlocal stopped
        advance(ticks)
        if not stopped and hands[0]["moving"][0]:
            stopped = True
            cell.command("puma", Command("stop", 50_000))  # somebody else

    cell.advance = halting  # type: ignore[method-assign]
    with pytest.raises(Error, match="puma stopped: stop"):
        together(hands, grips, way[::-1], times.tolist())
    cell.advance = advance  # type: ignore[method-assign]
    advance(1000)
    assert [int(each["moving"][0]) for each in hands] == [0, 0]
    assert hands[1].cause == "stop"
