"""A tick of the whole-body controller beside Pinocchio with warm proxsuite, in turns.

Both give efforts and forces at four points of each foot from a state: all quantities and the
quadratic program. The peer is written as its users write it: terms of Pinocchio, contacts as six
rows a foot, one dense program that keeps its last solution. Go2 and Talos come from
`example-robot-data` where that is installed; otherwise robots of their size that tests use stand
for them, and the row says so. Forces are compared at 1,000 states with an exact setting of the
peer.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import proxsuite
from numpy.typing import NDArray

import linkwright as lw
from bench.example_robots import EXAMPLES, path_of
from bench.measure import Row, interleaved
from linkwright.formats.robot.conversion import convert_mechanism

TITLE = "whole-body control"
STATES, TURN = 1000, 50
MU, SETTLING, BRAKING, SMALL = 0.6, 0.05, 0.1, 1e-8
ALIGNED = pin.LOCAL_WORLD_ALIGNED
Array = NDArray[np.float64]


class Case:
    """A robot on its feet, our controller, and the peer's."""

    def __init__(
        self,
        path: Path,
        feet: list[str],
        points: list[Any],
        trunk: str,
        stance: dict[str, float],
        given: bool = False,  # whether the file itself has a free base
    ) -> None:
        options: dict[str, Any] = {} if given else {"base": "free"}
        self.robot = robot = lw.load(path, friction=False, **options)
        self.feet, self.trunk = feet, trunk
        self.points = np.array(points, dtype=float)
        q = robot.neutral.copy()
        for name, angle in stance.items():
            q[robot.coordinates.index(name)] = angle
        q[2] -= robot.position(q, feet[0])[2]
        self.q = q
        self.center = robot.center_of_mass(q)
        contacts = [lw.wholebody.FlatContact(f, points=points) for f in feet]
        self.body = lw.wholebody.Controller(robot, contacts, friction=MU, settling=SETTLING)
        self.body.track(lw.wholebody.center_of_mass, position=self.center, weight=10.0)
        self.body.track(trunk, orientation=np.eye(3), weight=10.0)
        self.body.posture(stance, weight=0.1)
        free = () if given else (pin.JointModelFreeFlyer(),)
        self.model = pin.buildModelFromUrdf(str(path), *free)
        self.data = self.model.createData()
        n = len(robot.speeds)
        self.G = np.stack(
            [robot.to_pinocchio(q, row, model=self.model)[1] for row in np.eye(n)], axis=1
        )
        joints = [robot.coordinates.index(j) for j in self.body.joints]
        self.own = [robot.speeds.index(f"{j}_dot") for j in self.body.joints]
        self.rest = np.setdiff1d(np.arange(n), self.own)
        self.ids = [self.model.getFrameId(f) for f in feet]
        self.trunk_id = self.model.getFrameId(trunk)
        self.most = np.asarray(robot.effort_limits)[self.own]
        self.wanted = np.array([stance.get(j, robot.neutral[i]) for j, i in
                                zip(self.body.joints, joints, strict=True)])  # fmt: skip
        self.places, self.bounds = joints, np.asarray(robot.limits)[joints]
        self._rows(n)

    def _rows(self, n: int) -> None:
        """What does not change of the peer's program."""
        count = len(self.points) * len(self.feet)
        m, slope = 3 * count, MU / math.sqrt(2)
        sides = np.array([[0, 0, 1], [1, 0, slope], [-1, 0, slope], [0, 1, slope], [0, -1, slope]])
        self.cone = np.kron(np.eye(count), sides)
        self.bounded = np.isfinite(self.most)
        self.stops = np.isfinite(self.bounds).any(axis=1)
        self.weight = 9.81 * self.robot.mass
        small = np.r_[np.full(n, SMALL), np.full(m, 0.01)]  # forces over the weight
        self.H = np.diag(small)
        own = np.array(self.own)
        self.H[own, own] += 0.1
        equal = len(self.rest) + 6 * len(self.feet)
        unequal = int(self.bounded.sum()) + len(self.cone) + int(self.stops.sum())
        self.solvers = {}
        for eps in (1e-6, 1e-11):
            qp = proxsuite.proxqp.dense.QP(n + m, equal, unequal)
            qp.settings.eps_abs, qp.settings.max_iter = eps, 10_000
            self.solvers[eps] = qp
        self.begun: set[float] = set()
        self.n, self.m = n, m

    def states(self, moving: bool) -> list[tuple[Array, Array, Array, Array]]:
        """States along a smooth path, in our conventions and in Pinocchio's."""
        rng = np.random.default_rng(0)
        phase = rng.uniform(0, 6.28, len(self.q))
        speed = rng.uniform(-0.3, 0.3, self.n)
        found = []
        for k in range(STATES):
            q = self.q.copy()
            q[7:] += 0.1 * np.sin(0.02 * k + phase[7:])
            e = np.r_[1.0, 0.05 * np.sin(0.02 * k + phase[:3])]
            q[3:7] = e / np.linalg.norm(e)
            u = speed * math.sin(0.013 * k) * moving
            found.append((q, u, *self.robot.to_pinocchio(q, u, model=self.model)))
        return found

    def peer(
        self, q: Array, u: Array, q_p: Array, v_p: Array, eps: float = 1e-6
    ) -> tuple[Array, Array]:
        """Efforts and forces, by Pinocchio and proxsuite."""
        model, data, G, n = self.model, self.data, self.G, self.n
        pin.computeAllTerms(model, data, q_p, v_p)
        pin.forwardKinematics(model, data, q_p, v_p, 0 * v_p)
        pin.updateFramePlacements(model, data)
        pin.centerOfMass(model, data, q_p, v_p, 0 * v_p)
        M, h = G.T @ data.M @ G, G.T @ data.nle
        six, J, slow = [], [], []
        for k in self.ids:
            whole = pin.getFrameJacobian(model, data, k, ALIGNED) @ G
            late = pin.getFrameClassicalAcceleration(model, data, k, ALIGNED).vector
            six.append(whole)
            moving = whole @ u
            arms = self.points @ data.oMf[k].rotation.T
            slow.append(-late - moving / SETTLING)
            slow[-1][:3] -= np.cross(moving[3:], np.cross(moving[3:], arms[0]))  # that point rests
            for arm in arms:
                J.append(whole[:3] - pin.skew(arm) @ whole[3:])
        Jc = self.weight * np.concatenate(J)
        rest, own = self.rest, self.own
        A = np.zeros((len(rest) + 6 * len(six), n + self.m))
        A[: len(rest), :n], A[: len(rest), n:] = M[rest], -Jc[:, rest].T
        A[len(rest) :, :n] = np.concatenate(six)
        b = np.concatenate([-h[rest], *slow])
        effort = np.hstack([M[own], -Jc[:, own].T])
        stop = np.zeros((len(own), n + self.m))
        stop[np.arange(len(own)), own] = 1.0
        ahead = q[self.places] + BRAKING * u[own]
        low, high = (2.0 * (side - ahead) / BRAKING**2 for side in self.bounds.T)
        cone = np.hstack([np.zeros((len(self.cone), n)), self.cone])
        far = np.full(len(cone), 1e20)
        C = np.concatenate([effort[self.bounded], cone, stop[self.stops]])
        lower = np.concatenate([(-self.most - h[own])[self.bounded], 0 * far, low[self.stops]])
        upper = np.concatenate([(self.most - h[own])[self.bounded], far, high[self.stops]])
        Jm, Jt = data.Jcom @ G, (pin.getFrameJacobian(model, data, self.trunk_id, ALIGNED) @ G)[3:]
        late = pin.getFrameClassicalAcceleration(model, data, self.trunk_id, ALIGNED).angular
        turn = pin.log3(data.oMf[self.trunk_id].rotation.T)
        bm = 100 * (self.center - data.com[0]) - 20 * (Jm @ u) - data.acom[0]
        bt = 100 * turn - 20 * (Jt @ u) - late
        bp = 100 * (self.wanted - q[self.places]) - 20 * u[own]
        H, g = self.H.copy(), np.zeros(n + self.m)
        H[:n, :n] += 10 * (Jm.T @ Jm + Jt.T @ Jt)
        g[:n] = -10 * (Jm.T @ bm + Jt.T @ bt)
        g[own] -= 0.1 * bp
        qp = self.solvers[eps]
        (qp.update if eps in self.begun else qp.init)(H, g, A, b, C, lower, upper)
        self.begun.add(eps)
        qp.solve()
        x = qp.results.x
        return effort @ x + h[own], self.weight * x[n:].reshape(-1, 3)


def quadruped() -> tuple[Case, str]:
    """Go2, or a quadruped of tests."""
    corners = [(x, y, 0.0) for x in (0.02, -0.02) for y in (0.015, -0.015)]
    try:
        path = path_of(next(e for e in EXAMPLES if e.name == "Go2"))
    except FileNotFoundError:
        path = Path(__file__).parents[1] / "tests" / "robots" / "quadruped.urdf"
        legs = [f"{end}_{side}" for end in ("front", "hind") for side in ("left", "right")]
        stance = {f"{leg}_thigh_joint": 0.7 for leg in legs}
        stance |= {f"{leg}_shank_joint": -1.4 for leg in legs}
        return Case(path, [f"{leg}_foot" for leg in legs], corners, "trunk", stance, True), (
            "a quadruped of 12 joints, for Go2"
        )
    legs = ["FL", "FR", "RL", "RR"]
    stance = {f"{leg}_thigh_joint": 0.8 for leg in legs}
    stance |= {f"{leg}_calf_joint": -1.6 for leg in legs}
    return Case(path, [f"{leg}_foot" for leg in legs], corners, "base", stance), "Go2"


def humanoid(folder: Path) -> tuple[Case, str]:
    """Talos, or the humanoid that ships, written as URDF so that both read the same file."""
    try:
        path = path_of(next(e for e in EXAMPLES if e.name == "Talos"))
    except FileNotFoundError:
        path = folder / "humanoid.urdf"
        convert_mechanism(lw.load("humanoid"), path)
        corners = [(x, y, 0.0) for x in (0.12, -0.12) for y in (0.045, -0.045)]
        bent = {"hip_pitch": -0.35, "knee": 0.7, "ankle_pitch": -0.35}
        sides = ("left", "right")
        stance = {f"{side}_{joint}": a for side in sides for joint, a in bent.items()}
        return Case(path, [f"{side}_sole" for side in sides], corners, "torso", stance, True), (
            "a humanoid of 22 joints, for Talos"
        )
    corners = [(x, y, 0.0) for x in (0.1, -0.1) for y in (0.06, -0.06)]
    stance = {f"leg_{s}_{k}_joint": a for s in ("left", "right")
              for k, a in ((3, -0.4), (4, 0.8), (5, -0.4))}  # fmt: skip
    soles = ["left_sole_link", "right_sole_link"]
    return Case(path, soles, corners, "torso_2_link", stance), "Talos"


def run() -> list[Row]:
    """Measure both in turns, and compare forces."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for (case, name), moving in ((quadruped(), False), (humanoid(Path(folder)), True)):
            states = case.states(moving)
            worst = difference(case, states)
            turn = [0]

            def ours(case: Case = case, states: Any = states, turn: Any = turn) -> None:
                for q, u, _, _ in states[turn[0] : turn[0] + TURN]:
                    case.body.solve(q, u)

            def theirs(case: Case = case, states: Any = states, turn: Any = turn) -> None:
                for state in states[turn[0] : turn[0] + TURN]:
                    case.peer(*state)
                turn[0] = (turn[0] + TURN) % STATES

            turns: dict[str, Callable[[], object]] = {"ours": ours, "theirs": theirs}
            found = interleaved(turns, rounds=20, clock=time.process_time)
            mine, other = (1e6 * found[k] / TURN for k in ("ours", "theirs"))
            rows.append(
                Row(
                    f"tick, {name}, feet of four points, ours / Pinocchio with proxsuite",
                    mine / other, bar=0.5, note=f"{mine:.0f} and {other:.0f} µs",
                )
            )  # fmt: skip
            rows.append(
                Row(
                    f"forces at {STATES:,} states, {name}: difference over the weight", worst,
                    bar=1e-6,
                )
            )  # fmt: skip
    return rows


def difference(case: Case, states: list[tuple[Array, Array, Array, Array]]) -> float:
    """Return how far forces are apart, over the robot's weight."""
    worst = 0.0
    for state in states:
        found = case.body.solve(*state[:2])
        mine = np.concatenate([found.forces[f] for f in case.feet])
        worst = max(worst, float(np.max(np.abs(mine - case.peer(*state, eps=1e-11)[1]))))
    return float(worst / case.weight)


if __name__ == "__main__":
    for row in run():
        print(f"{row.what}: {row.value:.3g} ({row.note})")
