"""Muscles of a laboratory's simulated robot: a task says how much they are activated.

Each is a `linkwright.elements.Muscle` along points of links. What a task wants of it holds until it
wants otherwise; a task begins with slack muscles, and they are slack while none runs. Motors of the
joints act beside them. The tension that a task sees is that of the tick before.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, constant, maximum, minimum
from linkwright.base.errors import InputError
from linkwright.blocks import Block
from linkwright.elements import Muscle
from linkwright.formats.robot.description import Place
from linkwright.formats.robot.transforms import composed
from linkwright.lab.config import LabConfig, MuscleConfig
from linkwright.lab.plant import LabMechanism
from linkwright.mechanism import Point


class Activation(Block):
    """Activations within 0 and 1; zero while the task servo is frozen."""

    def __init__(self, count: int, name: str = "activation") -> None:
        super().__init__(name, doc="activations of muscles")
        given = self.input_vector("given", count, unit="1", doc="of the task")
        frozen = self.input("frozen", unit="1", doc="not zero while no task runs")
        runs = self.intermediate(1 - minimum(maximum(frozen, 0), 1))
        within = [runs * minimum(maximum(x, 0), 1) for x in given]
        self.output_vector("activation", within, unit="1", doc="0 to 1")


def muscle_of(config: LabConfig, robot: LabMechanism, muscle: MuscleConfig) -> Muscle:
    """Return a muscle as an element of the robot."""
    if len(muscle.links) != len(muscle.points) or len(muscle.links) < 2:
        raise InputError(
            f"the muscle {muscle.name!r} of {config.name!r} has {len(muscle.links)} links and "
            f"{len(muscle.points)} points",
            remedy="give two or more of each: where its path goes through each link",
        )
    path = zip(muscle.links, muscle.points, strict=True)
    points = [_point(robot, link, at, f"{muscle.name}_{k}") for k, (link, at) in enumerate(path)]
    return Muscle(robot.mechanism, points, muscle.strength, name=muscle.name)


def _point(robot: LabMechanism, link: str, at: Sequence[float], name: str) -> Point:
    body, place = robot.place(link)
    x, y, z = at
    whole: list[Expr] = list(map(constant, composed(place, Place((x, y, z))).position))
    return robot.mechanism.point_of(body, tuple(whole), name)
