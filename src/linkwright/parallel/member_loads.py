"""Strength of the links of a machine at rest: bending, stress, deflection and buckling, at worst.

Each link is a beam between its joint and its one other end. What its joint puts on it follows from
statics (`Robot.loop_loads`), and what the other end does from its own balance. Between the ends
nothing but its weight acts, so bending is largest at one of them. As in the antenna-mount thesis
(chapter 3) it is a cantilever there: a moment M bends it by M L^2/(3 E I) and stresses it by M c/I,
beside the stress of what pushes along it, which is compared with Euler's load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, evaluate_all
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, suggestion
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.parallel.beams import BeamSection, buckling_load
from linkwright.parallel.flexing import Flexing

if TYPE_CHECKING:
    from linkwright.mechanism import Body
    from linkwright.robots import Robot

__all__ = ["MemberStrength", "member_strength"]

Array = NDArray[np.float64]


@one_line
@dataclass(frozen=True, slots=True)
class MemberStrength(Result):
    """What a link carries at worst, over some poses.

    Args:
        name: of the link.
        length: from its joint to its other end, m.
        moment: the largest bending moment, N*m.
        push: the largest force that presses it along itself, N.
        stress: the largest, of bending and of what acts along it, Pa.
        deflection: of a cantilever under that moment, m.
        buckling: Euler's load, N.
        pose: the number of the pose with the largest stress.

    >>> MemberStrength("arm", 1.0, 100.0, 50.0, 1e6, 1e-4, 5e4, 0).safety
    1000.0
    """

    name: str
    length: float
    moment: float
    push: float
    stress: float
    deflection: float
    buckling: float
    pose: int
    _units = (
        ("length", "m"),
        ("moment", "N*m"),
        ("push", "N"),
        ("stress", "Pa"),
        ("deflection", "m"),
        ("buckling", "N"),
    )

    @property
    def safety(self) -> float:
        """Euler's load over what presses; infinite where nothing does."""
        return self.buckling / self.push if self.push > 0 else float("inf")


@worded
def member_strength(
    robot: Robot, q: ArrayLike, sections: Mapping[str, BeamSection]
) -> tuple[MemberStrength, ...]:
    """Return what links of a machine at rest carry at worst.

    Args:
        robot: a machine with actuators and platform.
        q: closed coordinates, one row for each pose.
        sections: of links, by name.

    >>> import linkwright as lw
    >>> m = lw.Mechanism("lever")
    >>> arm = m.body("arm", rotate="y", mass=1e-9, inertia=1e-9)
    >>> load = m.body("load", parent=arm, at=(2, 0, 0), rotate="y", mass=10, inertia=1)
    >>> m.gravity("-z")
    >>> m.actuate("arm", "load")
    >>> p = m.set_platform(load)
    >>> tube = BeamSection.tube(0.1, 0.004)
    >>> (found,) = member_strength(lw.Robot(m), [[0.0, 0.0]], {"arm": tube})
    >>> round(found.moment, 3), round(found.stress * tube.bending / tube.depth, 3)
    (196.2, 196.2)
    """
    if not sections:
        raise InputError("no link has a section", remedy="give one or more")
    rows = np.atleast_2d(np.asarray(q, dtype=float))
    m = robot.mechanism
    for name in sections:
        if name not in robot.links:
            remedy = suggestion(name, robot.links, f"there are {', '.join(robot.links)}")
            raise InputError(f"{m.name!r} has no link {name!r} that bends", remedy=remedy)
    still = np.zeros((len(rows), len(robot.speeds)))
    reactions = np.asarray(robot.loop_loads(rows, still, still)[1])
    machine = parallel_machine(robot)
    names = (x.name for x in machine.coordinates)
    flexing = Flexing(machine, dict(zip(names, map(float, rows[0]), strict=True)))
    known = {x: m.values[n] for n, x in m.parameters.items() if n in m.values}
    down = np.array(evaluate_all(list(m.gravity_vector.components(m.ground.frame)), known), float)
    found = []
    for name, section in sections.items():
        body = m.bodies[name]
        turn = robot.pose(rows, name)[:, :3, :3]
        end = turn[0].T @ flexing.numbers(flexing.link(name)[1])
        row = reactions[:, robot.links.index(name)]
        found.append(_member(name, section, end, row, turn, _mass(body, known), down))
    return tuple(found)


def _mass(body: Body, known: Mapping[Expr, float]) -> tuple[float, Array]:
    """Return the mass of a link and its center along its axes."""
    parts = [body.inertia.mass, *body.inertia.center]
    mass, x, y, z = (float(v) for v in evaluate_all(parts, dict(known)))
    return mass, np.array([x, y, z])


def _member(
    name: str,
    section: BeamSection,
    end: Array,
    row: Array,
    turn: Array,
    mass: tuple[float, Array],
    down: Array,
) -> MemberStrength:
    length = float(np.linalg.norm(end))
    along = end / length
    weight = mass[0] * np.einsum("nji,j->ni", turn, down)  # along the link's axes
    far = -(row[:, :3] + weight)
    bent = -(row[:, 3:] + np.cross(-end, row[:, :3]) + np.cross(mass[1] - end, weight))
    moments = [np.linalg.norm(x - np.outer(x @ along, along), axis=1) for x in (row[:, 3:], bent)]
    moment = np.maximum(*moments)
    push = np.maximum(row[:, :3] @ along, -(far @ along))
    axial = np.maximum(np.abs(row[:, :3] @ along), np.abs(far @ along))
    stress = moment * section.depth / section.bending + axial / section.area
    k = int(np.argmax(stress))
    e, i = section.elasticity, section.bending
    return MemberStrength(
        name,
        length,
        float(moment.max()),
        max(0.0, float(push.max())),
        float(stress[k]),
        float(moment.max()) * length**2 / (3.0 * e * i),
        buckling_load(length, i, e),
        k,
    )
