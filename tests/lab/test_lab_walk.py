"""Walking as a task of the humanoid laboratory: where feet go, and what pushes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.lab.builtin.balance import GaitWalk
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.robots import Robot
from tests.seeds import cases

MU = 0.5


class Watched(GaitWalk):
    """The task as it is, with a list of the forces that it asks of the feet."""

    name = "watched"

    def _give(self, *args: Any) -> Any:
        found = super()._give(*args)
        self.asked.append((args[0], np.concatenate(list(found.forces.values()))))
        return found

    def init(self, lab: Any) -> None:
        self.asked: list[tuple[float, Any]] = []
        super().init(lab)


def test_a_walk_is_planned_from_where_the_robot_stands() -> None:
    """Two soles with the corners of the file; footsteps a stride apart, side by side in the end."""
    with Lab("humanoid") as lab:
        for wrong, words in (("steps=0", "steps"), ("transfer=0.9", "no time to swing")):
            with pytest.raises(Error, match=words):
                lab.do(f"st walk {wrong}")
        assert lab.task is None
        task = Watched()
        task.init(lab)
    soles = {c.frame: np.asarray(c.points) for c in task.gait.contacts}
    assert [len(points) for points in soles.values()] == [4, 4]
    for points in soles.values():
        assert np.ptp(points, axis=0) == pytest.approx([0.25, 0.1, 0.0], abs=0.02)
    begin = task.gait.places
    ways = [place - begin[foot] for _, foot, place in task.gait.footsteps]
    assert np.array(ways) == pytest.approx(
        np.array([[0.2, 0, 0], [0.4, 0, 0], [0.6, 0, 0], [0.6, 0, 0]]), abs=1e-9
    )


@pytest.mark.parametrize(
    ("steps", "stride", "sideways"), cases([(2, 0.2, 0.0), (4, 0.2, 0.0), (5, -0.12, 0.03)], 1)
)
def test_the_humanoid_walks_in_its_laboratory(steps: int, stride: float, sideways: float) -> None:
    """It comes as far as it should, lifts its feet, and stands on; forces are in their cones, and
    on average they carry its weight."""
    config = lab_config("humanoid")
    robot = Robot(config.description, friction=False)

    def center(lab: Lab) -> Any:
        return robot.center_of_mass(np.concatenate([lab.base.x, lab.base.q, lab.state.q]))

    with Lab(config) as lab:
        lab.add(Watched)
        lab.run(0.5)
        start, feet = center(lab), np.array(list(lab.vertices.values()))
        lab.start(
            "watched",
            steps=steps,
            stride=stride,
            sideways=sideways,
            friction=MU,
            step_time=0.6,
            rest=0.5,
        )
        most, highest = [joint.max_effort for joint in config.joints], np.zeros(len(feet))
        for _ in range(100):
            lab.run(0.1)
            if lab.task is None:
                break
            assert (np.abs(lab.state.tau) <= most).all()
            assert abs(center(lab)[2] - start[2]) < 0.02  # it does not fall
            highest = np.maximum(highest, np.array(list(lab.vertices.values()))[:, 2])
        assert lab.task is None
        lab.run(0.5 if steps == 2 else 2.0)
        way = np.array([stride, sideways, 0.0]) * (steps - 1)
        assert center(lab) - start == pytest.approx(way, abs=0.01)
        moved = np.array(list(lab.vertices.values())) - feet
        assert moved == pytest.approx(np.tile(way, (8, 1)), abs=0.02)
        assert highest.min() > 0.03
        task = lab.tasks["watched"]
        assert isinstance(task, Watched)
    for _, forces in task.asked:
        assert (forces[:, 2] >= -1e-6).all()
        assert (np.hypot(forces[:, 0], forces[:, 1]) <= MU * forces[:, 2] + 1e-3).all()
    # at rest at both ends: the momentum of all forces is that of the weight
    mean = np.mean([forces.sum(axis=0) for _, forces in task.asked], axis=0)
    weight = 9.81 * robot.mass
    assert mean == pytest.approx([0.0, 0.0, weight], abs=0.02 * weight)
