"""Which poses of a machine are joined without crossing a singularity: a search on a grid.

The closed poses of a machine are a surface with as many dimensions as it has freedoms. From one
pose it is flooded in steps along its tangents, each closed again by Newton's method. A step is
taken where the matrix K of `singular_curves` keeps its rank and the sign of its determinant in the
singular bases of the pose before: then it has crossed no singularity, or an even number of them.
Where the flood comes to the other pose, a way was found; where it ends before, there is none on
this grid. Neither is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.mechanism import ModelLike
from linkwright.parallel.machine_rates import (
    OUTPUTS,
    Array,
    Coordinates,
    MachineRates,
    machine_rates,
)
from linkwright.parallel.singular_curves import KINDS, SingularCurve, singular_curve
from linkwright.parallel.singularities import generic_motions

_CLEAR = 1e-3  # the smallest singular value that counts as regular
_CLOSED = 1e-9


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class JoinedPoses(Result):
    """Whether a way without singularity was found between two poses.

    Args:
        joined: whether; None where the search was given up.
        words: one sentence.
        way: poses from one to the other, rows of all coordinates; none where they are not joined.
        poses: how many poses were reached.
        clearance: the smallest singular value on the way; 0 is a singularity.

    >>> JoinedPoses(False, "not joined", np.zeros((0, 4)), 10, 0.0).as_dict()["way"]
    []
    """

    joined: bool | None
    words: str
    way: Array = field(repr=False)
    poses: int
    clearance: float


@worded
def connect_poses(
    model: ModelLike,
    first: Coordinates | None,
    second: Coordinates,
    kind: str = "type 2",
    *,
    output: str = "pose",
    step: float = 0.1,
    limits: bool = True,
    max_nodes: int = 50_000,
) -> JoinedPoses:
    """Look for a way between two poses on which no singularity of a kind is crossed.

    Args:
        model: with actuators and a platform: a robot, a mechanism, a file or a shipped model.
        first: all coordinates in order, or some by name, as in `singularity`.
        second: in the same way; two assemblies differ in coordinates that no actuator drives.
        kind: that is not crossed: "type 2" joins assemblies, "type 1" working modes.
        output: what the platform is for: "pose", "direction" or "position".
        step: of the grid, rad; lengths count by the machine's characteristic length.
        limits: whether the way stays within the limits of coordinates.
        max_nodes: poses after which the search is given up.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("slider crank")
    >>> crank = m.body("crank", rotate="z")
    >>> rod = m.body("rod", parent=crank, at=(1, 0, 0), rotate="z")
    >>> c = m.constrain_points(m.point("tip", rod, (2, 0, 0)), m.origin, "y")
    >>> m.actuate("crank")
    >>> p = m.set_platform("tip")
    >>> there, back = {"crank": 0.5, "rod": -0.7421}, {"crank": 2.5, "rod": -2.8038}
    >>> connect_poses(m, there, back).joined
    True
    >>> connect_poses(m, there, back, "type 1", output="position").joined
    True
    """
    if kind not in KINDS:
        raise InputError(f"what is not crossed is of {' or '.join(KINDS)}, not {kind!r}")
    if output not in OUTPUTS:
        raise InputError(f"output is {output!r}", remedy=f"one of {', '.join(OUTPUTS)}")
    if not 0 < step <= 0.5:
        raise InputError(f"the step is {step} rad", remedy="give 0.02 to 0.5")
    rates = machine_rates(model)
    start, goal = rates.coordinates(first), rates.coordinates(second)
    generic, weights = generic_motions(rates, start, output)
    if generic.mobility > 3:
        raise DomainError(
            f"{rates.machine.mechanism.name!r} moves in {generic.mobility} ways, and a grid over "
            "more than three is too large"
        )
    curve = singular_curve(rates, kind, output, weights, start, {})
    if float(curve.smallest(rates.at(start))) < _CLEAR:
        raise DomainError("the first pose is singular", remedy="give one beside it")
    return _Flood(rates, curve, generic.mobility, step, limits).to(start, goal, max_nodes)


class _Flood:
    """The poses that were reached, and from where."""

    def __init__(
        self, rates: MachineRates, curve: SingularCurve, freedoms: int, step: float, limits: bool
    ) -> None:
        self.rates, self.curve, self.freedoms, self.step = rates, curve, freedoms, step
        self.rank = curve.left.shape[1]
        n = len(rates.names)
        self.cell = 0.95 * step / np.sqrt(n)  # every step leaves its cell
        self.low, self.high = rates.limits(limits)
        self.poses: list[Array] = []
        self.before: list[int] = []
        self.clear: list[float] = []
        self.cells: set[bytes] = set()

    def to(self, start: Array, goal: Array, most: int) -> JoinedPoses:
        """Flood from one pose until another is reached."""
        front = self._kept(start[None], np.array([-1]), np.array([np.inf]))
        while len(front) and len(self.poses) <= most:
            q = np.array([self.poses[k] for k in front])
            now = self.rates.at(q)
            u, s, vt = np.linalg.svd(self.curve.matrix(now))
            bases = u[:, :, : self.rank], np.swapaxes(vt[:, : self.rank], 1, 2)
            for k, value in zip(front, s[:, self.rank - 1], strict=True):
                self.clear[k] = float(value)
            gap = np.abs(self.rates.apart((goal - q) / self.rates.scales)).max(axis=1)
            near = np.flatnonzero(gap <= self.step)
            if len(near):
                same, _ = self._same_side(
                    np.broadcast_to(goal, (len(near), len(goal))), bases[0][near], bases[1][near]
                )
                if same.any():
                    return self._found(int(np.array(front)[near[same]][0]), goal)
            trials, owners = self._steps(q, now.jacobian)
            good, value = self._same_side(trials, bases[0][owners], bases[1][owners])
            good &= value > _CLEAR
            good &= ((trials >= self.low) & (trials <= self.high)).all(axis=1)
            front = self._kept(trials[good], np.array(front)[owners[good]], value[good])
        return self._none(len(front) > 0)

    def _kept(self, q: Array, owners: NDArray[np.int_], value: Array) -> list[int]:
        """Keep one pose for each cell of the grid; return the numbers of the new ones."""
        z = self.rates.apart(q / self.rates.scales)
        cells = np.rint(z / self.cell).astype(np.int32)
        found = []
        for k, cell in enumerate(cells):
            key = cell.tobytes()
            if key not in self.cells:
                self.cells.add(key)
                found.append(len(self.poses))
                self.poses.append(q[k])
                self.before.append(int(owners[k]))
                self.clear.append(float(value[k]))
        return found

    def _steps(self, q: Array, jacobian: Array) -> tuple[Array, NDArray[np.int_]]:
        """Return closed poses a step along each tangent, and the places where they came from."""
        scales = self.rates.scales
        tangents = np.linalg.svd(jacobian * scales)[2][:, -self.freedoms :]
        both = np.concatenate([tangents, -tangents], axis=1) * self.step
        way = (q[:, None] + both * scales).reshape(-1, q.shape[1])
        owners = np.repeat(np.arange(len(q)), 2 * self.freedoms)
        trials = way
        for _ in range(6):
            now = self.rates.at(np.ascontiguousarray(trials))
            inverse = np.linalg.pinv(now.jacobian * scales, rcond=1e-9)
            move = np.einsum("bij,bj->bi", inverse, now.residual) * scales
            trials = trials - move
        left = np.abs(self.rates.at(np.ascontiguousarray(trials)).residual).max(axis=1, initial=0)
        far = np.abs((trials - way) / scales).max(axis=1)
        good = (left < _CLOSED) & (far < self.step)
        return trials[good], owners[good]

    def _same_side(self, q: Array, left: Array, right: Array) -> tuple[NDArray[np.bool_], Array]:
        """Whether poses lie on the same side as those whose bases are given, and how clearly."""
        matrix = self.curve.matrix(self.rates.at(np.ascontiguousarray(q)))
        sign = np.linalg.slogdet(np.swapaxes(left, 1, 2) @ matrix @ right)[0]
        values = np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)
        same: NDArray[np.bool_] = np.asarray(sign > 0, dtype=np.bool_)
        return same, values[:, self.rank - 1]

    def _found(self, last: int, goal: Array) -> JoinedPoses:
        way, clear = [goal], [np.inf]
        while last >= 0:
            way.append(self.poses[last])
            clear.append(self.clear[last])
            last = self.before[last]
        words = (
            f"joined on this grid of {self.step:g} rad: {len(way)} poses lead from one to the "
            f"other without crossing a singularity of {self.curve.kind}; between them nothing was "
            "proven"
        )
        return JoinedPoses(True, words, np.array(way[::-1]), len(self.poses), float(min(clear)))

    def _none(self, given_up: bool) -> JoinedPoses:
        kind, count = self.curve.kind, len(self.poses)
        words = (
            f"open: given up after {count} poses on this grid of {self.step:g} rad"
            if given_up
            else f"not joined on this grid of {self.step:g} rad: of the {count} poses reached "
            f"without crossing a singularity of {kind} none is the other; a grid is not a proof"
        )
        nothing = np.zeros((0, len(self.rates.names)))
        return JoinedPoses(None if given_up else False, words, nothing, count, 0.0)
