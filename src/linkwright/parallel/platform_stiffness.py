"""Stiffness at the platform: links as beams, elastic joints and drives, clearance.

What gives way is a small displacement of everything that hangs on it: of the far end of a bent
link, of a joint, of an actuator. Relations of closed loops and the pose of the platform change with
it, and passive joints follow by the implicit function theorem, dy = -G_y^+ G_v dv. That gives the
matrix S with dx = S dv at the platform. A force F on the platform loads what gives way with S^T F
(virtual work; actuators locked), so that the compliance of the platform is S C S^T, with C that of
the parts (Gosselin 1990; Pashkevich, Chablat and Wenger 2009). What a displacement does at first
says `linkwright.parallel.flexing`.

A machine that is not overconstrained carries its loads in one way only, and the result is exact for
small displacements; an overconstrained one is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr
from linkwright.algebra.calculus import gradient
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.parallel.beams import BeamSection
from linkwright.parallel.flexing import Displacement, Flexing, SoftParts

__all__ = ["PlatformStiffness", "beam_compliance", "stiffness"]

Array = NDArray[np.float64]
_SINGULAR = 1e-9


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class PlatformStiffness(Result):
    """How a platform gives way.

    Args:
        compliance: 6 x 6: place (m) and rotation (rad), along the ground's axes, for a unit force
            (N) and moment (N*m) at the platform's point.
        shares: the part of each link, joint and actuator in it.
        slack: greatest movement of the platform within the clearances, 6 numbers, m and rad.

    >>> PlatformStiffness(np.eye(6), {}, np.zeros(6)).deflection([0, 0, -2])[:3]
    array([ 0.,  0., -2.])
    """

    compliance: Array = field(repr=False)
    shares: dict[str, Array]
    slack: Array

    @property
    def matrix(self) -> Array:
        """The 6 x 6 stiffness, N/m, N, N*m/rad; infinite compliance is an error."""
        values = np.linalg.eigvalsh(self.compliance)
        if not values[0] > 1e-15 * values[-1]:
            raise DomainError(
                "the platform is rigid in some direction, so that its stiffness has no matrix",
                remedy="use the compliance, or give more parts that give way",
            )
        return np.asarray(np.linalg.inv(self.compliance), dtype=float)

    def deflection(self, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Return place (m) and rotation (rad) that a load on the platform causes.

        Args:
            force: N, along the ground's axes.
            moment: N*m, about the platform's point.
        """
        return np.asarray(self.compliance @ np.r_[np.array(force), np.array(moment)])


def beam_compliance(section: BeamSection, length: float) -> Array:
    """Return the 6 x 6 compliance at the tip of a cantilever along x, bent without shear.

    Units: `length` in m.

    >>> tube = BeamSection.tube(0.1, 0.004)
    >>> f = 100.0
    >>> bent = beam_compliance(tube, 2.0) @ [0, 0, f, 0, 0, 0]
    >>> round(float(bent[2]) / (f * 2.0**3 / (3 * tube.elasticity * tube.bending)), 12)
    1.0
    """
    e, i, n = section.elasticity, section.bending, length
    c = np.zeros((6, 6))
    c[0, 0] = n / (e * section.area)
    c[1, 1] = c[2, 2] = n**3 / (3.0 * e * i)
    c[3, 3] = n / (section.shear * section.torsion)
    c[4, 4] = c[5, 5] = n / (e * i)
    c[1, 5] = c[5, 1] = n**2 / (2.0 * e * i)
    c[2, 4] = c[4, 2] = -(n**2) / (2.0 * e * i)
    return c


@worded
def stiffness(
    model: ModelLike,
    q: Mapping[str, float] | ArrayLike,
    *,
    links: Mapping[str, BeamSection] | None = None,
    drives: Mapping[str, float] | None = None,
    joints: Mapping[str, float] | None = None,
    clearances: Mapping[str, float] | None = None,
) -> PlatformStiffness:
    """Return how the platform of a machine gives way, with its actuators locked.

    Args:
        model: a machine that names its actuators and its platform.
        q: closed coordinates, by name or in order.
        links: sections of bodies that bend, from their joint to their one other end.
        drives: stiffness of actuators, N*m/rad or N/m, by name.
        joints: radial stiffness of joints, N/m, by the name of the body that hangs on one, or of
            the loop that one closes.
        clearances: radial clearance of joints, m, by the same names.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("lever")
    >>> arm = m.body("arm", rotate="y")
    >>> p = m.set_platform(m.point("tip", arm, (2, 0, 0)))
    >>> m.actuate("arm")
    >>> tube = BeamSection.tube(0.1, 0.004)
    >>> found = stiffness(m, {"arm": 0.0}, links={"arm": tube}, drives={"arm": 1e5})
    >>> round(float(found.compliance[2, 2]) / (8 / (3 * 70e9 * tube.bending) + 4 / 1e5), 9)
    1.0
    """
    if not any((links, drives, joints, clearances)):
        raise InputError(
            "nothing gives way, so that the platform has no compliance",
            remedy="name links, drives, joints or clearances",
        )
    soft = SoftParts(links or {}, drives or {}, joints or {}, clearances or {})
    machine = Stiffening(parallel_machine(model), q)
    parts: dict[str, tuple[Array, Array]] = {}
    for name, section in soft.links.items():
        parts[name] = machine.link(name, section)
    for name, size in soft.drives.items():
        parts[f"drive of {name}"] = machine.drive(name), np.array([[1.0 / size]])
    for name, size in soft.joints.items():
        parts[f"joint of {name}"] = machine.joint(name), np.eye(3) / size
    shares = {name: s @ c @ s.T for name, (s, c) in parts.items()}
    slack = np.zeros(6)
    for name, size in soft.clearances.items():
        slack += np.linalg.norm(machine.joint(name), axis=1) * size
    return PlatformStiffness(sum(shares.values(), np.zeros((6, 6))), shares, slack)


class Stiffening:
    """A machine at one pose: what follows a displacement once its loops close again."""

    def __init__(self, machine: ParallelMachine, q: Mapping[str, float] | ArrayLike) -> None:
        from linkwright.parallel.pose_errors import closed_coordinates

        self.machine = machine
        at = closed_coordinates(machine, q)
        names = (x.name for x in machine.coordinates)
        self.flexing = Flexing(machine, dict(zip(names, map(float, at), strict=True)))
        unknowns = list(machine.coordinates)
        self._relations = self._matrix([gradient(g, unknowns) for g in machine.relations])
        turned = self.flexing.numbers([x for row in machine.rotation for x in row]).reshape(3, 3)
        slopes = [gradient(x, unknowns) for row in machine.rotation for x in row]
        spins = np.einsum("ijk,lj->ilk", self._matrix(slopes).reshape(3, 3, -1), turned)
        turns = [spins[2, 1] - spins[1, 2], spins[0, 2] - spins[2, 0], spins[1, 0] - spins[0, 1]]
        places = self._matrix([gradient(x, unknowns) for x in machine.position])
        self._pose = np.vstack([places, 0.5 * np.array(turns)])
        driven = [unknowns.index(z) for z in machine.actuators]
        self._driven = driven
        self._passive = [k for k in range(len(unknowns)) if k not in set(driven)]
        tied = self._relations[:, self._passive]
        self._solved: tuple[Array, Array, Array] | None = None
        if tied.size:
            self._solved = np.linalg.svd(tied)
        self._refuse()

    def _refuse(self) -> None:
        name = self.machine.mechanism.name
        if self._solved is None:
            return
        u, s, vt = self._solved
        rank = int((s > _SINGULAR * s[0]).sum())
        if rank < len(u):
            raise DomainError(
                f"{name!r} is overconstrained or singular here: its loads are not determined by "
                "statics alone",
                remedy="take another pose, or free the joints that are one too many",
            )
        idle = vt[rank:]
        if idle.size and np.abs(self._pose[:, self._passive] @ idle.T).max() > 1e-7:
            raise DomainError(
                f"{name!r} is singular here: with its actuators locked the platform still moves",
                remedy="take a pose away from the singularity",
            )

    def _matrix(self, rows: Sequence[Sequence[Expr]]) -> Array:
        if not rows:
            return np.zeros((0, len(self.machine.coordinates)))
        return self.flexing.numbers([x for row in rows for x in row]).reshape(len(rows), -1)

    def drive(self, name: str) -> Array:
        """Return the movement of the platform for a unit of an actuator."""
        k = list(self.machine.coordinates).index(self.flexing.drive(name))
        return self._pose[:, [k]] + self._follow(self._relations[:, [k]])

    def link(self, name: str, section: BeamSection) -> tuple[Array, Array]:
        """Return the movement of the platform for one of a link's far end, and its compliance."""
        made, arm = self.flexing.link(name)
        span = self.flexing.numbers(arm)
        length = float(np.linalg.norm(span))
        turn = np.kron(np.eye(2), _frame_along(span / length))
        return self._movement(made), turn @ beam_compliance(section, length) @ turn.T

    def joint(self, name: str) -> Array:
        """Return the movement of the platform for one of a joint along the ground's axes."""
        return self._movement(self.flexing.joint(name))

    def _movement(self, made: Displacement) -> Array:
        own = np.vstack([self._matrix(made.place), self._matrix(made.turn)])
        if not made.relations:
            return own
        return own + self._follow(self._matrix(made.relations))

    def _follow(self, change: Array) -> Array:
        """Return the movement of the platform that makes up for a change of the relations."""
        if self._solved is None:
            return np.zeros((6, change.shape[1]))
        u, s, vt = self._solved
        follow = -vt[: len(s)].T @ ((u[:, : len(s)].T @ change) / s[:, None])
        found: Array = self._pose[:, self._passive] @ follow
        return found


def _frame_along(x: Array) -> Array:
    """Return axes, as columns, of which the first is along a unit vector."""
    other = np.eye(3)[int(np.abs(x).argmin())]
    y = np.cross(x, other)
    y /= np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])
