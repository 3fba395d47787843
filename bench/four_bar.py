"""A four-bar linkage, here and in Exudyn: crank 0.1, coupler 0.4, rocker 0.3, ground 0.4 m.

Uniform links of 5 kg/m under gravity start at rest with the crank upright. Exudyn has rigid bodies
in the plane with revolute joints and the implicit generalized-alpha integrator, its usual choice
for constraints (index 2). The error is that of the crank's tip against the equations of motion with
multipliers, integrated by SciPy's DOP853 to 1e-12.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwright.mechanism import Mechanism, Revolute
from linkwright.system import System
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
LENGTHS = (0.1, 0.4, 0.3)
GROUND = 0.4
DENSITY = 5.0
GRAVITY = 9.81


def start_angles() -> tuple[float, float, float]:
    """Return the angles of crank, coupler and rocker against the ground, the crank upright."""
    crank, coupler, rocker = LENGTHS
    tip = np.array([0.0, crank])
    away = np.array([GROUND, 0.0]) - tip
    distance = float(np.hypot(*away))
    inner = np.arccos((coupler**2 + distance**2 - rocker**2) / (2 * coupler * distance))
    angle = float(np.arctan2(away[1], away[0]) + inner)
    joint = tip + coupler * np.array([np.cos(angle), np.sin(angle)])
    back = joint - np.array([GROUND, 0.0])
    return np.pi / 2, angle, float(np.arctan2(back[1], back[0]))


def four_bar() -> Mechanism:
    """Return the linkage; crank and coupler are a chain, the rocker closes the loop."""
    a, b, c = start_angles()
    m = Mechanism("linkage")
    inertias = [DENSITY * length**3 / 12 for length in LENGTHS]
    masses = [DENSITY * length for length in LENGTHS]
    l1, l2, l3 = LENGTHS

    def link(i: int) -> dict[str, Any]:
        return {"mass": masses[i], "com": (LENGTHS[i] / 2, 0, 0), "inertia": (0, 0, inertias[i])}

    crank = m.body("crank", joint=Revolute("z"), **link(0))
    coupler = m.body("coupler", parent=crank, joint=Revolute("z"), at=(l1, 0, 0), **link(1))
    rocker = m.body("rocker", joint=Revolute("z"), at=(GROUND, 0, 0), **link(2))
    ends = m.point("bp", coupler, (l2, 0, 0)), m.point("cp", rocker, (l3, 0, 0))
    m.close_loop("pin", *ends, Revolute("z"))
    m.gravity(along=-m.y, g=GRAVITY)
    m.set_initial(crank=a, coupler=b - a, rocker=c)
    return m


@lru_cache(maxsize=8)
def four_bar_phases(step: float) -> Phases:
    """Return the linkage flattened, with a base tick of a step, s."""
    return System(four_bar(), base=1 / step).phases()


def crank_tip(angle: float) -> Array:
    """Return the place of the crank's tip, m."""
    return LENGTHS[0] * np.array([np.cos(angle), np.sin(angle)])


def reference(until: float) -> Array:
    """Return the place of the crank's tip from the equations with multipliers."""
    lengths, masses = np.array(LENGTHS), DENSITY * np.array(LENGTHS)
    moments = masses * lengths**2 / 12
    l1, l2, l3 = lengths

    def rates(t: float, y: Array) -> Array:
        del t
        q, v = y[:3], y[3:]
        s, c = np.sin(q), np.cos(q)
        mass = np.diag(moments + masses * lengths**2 / 4)
        mass[0, 0] += masses[1] * l1**2
        coupled = 0.5 * masses[1] * l1 * l2
        mass[0, 1] = mass[1, 0] = coupled * np.cos(q[0] - q[1])
        swing = np.sin(q[0] - q[1])
        force = -GRAVITY * 0.5 * masses * lengths * c
        force[0] -= GRAVITY * masses[1] * l1 * c[0]
        force[0] -= coupled * swing * v[1] ** 2
        force[1] += coupled * swing * v[0] ** 2
        signed = np.array([l1, l2, -l3])
        jacobian = np.array([-signed * s, signed * c])
        bias = np.array([-(signed * c * v**2).sum(), -(signed * s * v**2).sum()])
        whole = np.block([[mass, jacobian.T], [jacobian, np.zeros((2, 2))]])
        found = np.linalg.solve(whole, np.concatenate([force, -bias]))
        return np.concatenate([v, found[:3]])

    start = np.concatenate([start_angles(), np.zeros(3)])
    end = solve_ivp(rates, (0, until), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return crank_tip(float(end[0]))


class FourBarPeer:
    """The linkage in Exudyn."""

    def __init__(self) -> None:
        import exudyn as exu
        from exudyn import itemInterface as items  # noqa: N813

        self.exu = exu
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        a, b, c = start_angles()
        places = [(0.0, 0.0), tuple(crank_tip(a)), (GROUND, 0.0)]
        bodies = []
        for angle, place, length in zip((a, b, c), places, LENGTHS, strict=True):
            mass = DENSITY * length
            along = np.array([np.cos(angle), np.sin(angle)])
            x, y = np.array(place) + 0.5 * length * along
            node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[x, y, angle]))
            body = items.ObjectRigidBody2D(
                physicsMass=mass, physicsInertia=mass * length**2 / 12, nodeNumber=node
            )
            bodies.append((mbs.AddObject(body), length))
        ground = mbs.AddObject(items.ObjectGround())

        def end(i: int, side: float) -> Any:
            number, length = bodies[i]
            place = [0.5 * side * length, 0.0, 0.0]
            return mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=number, localPosition=place))

        def fixed(x: float) -> Any:
            place = [x, 0.0, 0.0]
            return mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=place))

        pins = [
            (fixed(0.0), end(0, -1)),
            (end(0, 1), end(1, -1)),
            (end(1, 1), end(2, 1)),
            (fixed(GROUND), end(2, -1)),
        ]
        for pair in pins:
            mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=list(pair)))
        for number, _ in bodies:
            marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=number))
            down = [0.0, -GRAVITY, 0.0]
            mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=down))
        mbs.Assemble()
        self.mbs, self.crank = mbs, bodies[0][0]
        self.container = container

    def run(self, until: float, step: float) -> Array:
        """Return the place of the crank's tip at the end."""
        settings: Any = self.exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(until / step)
        settings.timeIntegration.endTime = until
        settings.timeIntegration.verboseMode = 0
        settings.displayComputationTime = False
        settings.displayStatistics = False
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = until
        settings.timeIntegration.newton.useModifiedNewton = True
        self.mbs.SolveDynamic(settings)
        kind = self.exu.OutputVariableType.Position
        tip = self.mbs.GetObjectOutputBody(self.crank, kind, [0.5 * LENGTHS[0], 0, 0])
        place: Array = np.array(tip[:2])
        return place
