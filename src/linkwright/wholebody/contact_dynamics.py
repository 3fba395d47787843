"""Inverse dynamics of robots with a free base under contact, by orthogonal decomposition.

With J the rows of all contact points, J^T = Q [R; 0], the equations of motion M a + h = S^T tau +
J^T f fall into two parts: the lower rows of Q^T have no force in them, and give the efforts; the
upper ones give the forces (Mistry, Buchli and Schaal, Inverse dynamics control of floating base
systems using orthogonal decomposition, ICRA 2010):

    tau = (P Q^T S^T)^+ P Q^T (M a + h),    R f = Q_c^T (M a + h - S^T tau)

P takes the rows after the rank of J. Where efforts are not determined (a closed chain through the
ground), the smallest are taken. Where points of one foot make forces ambiguous, so are the forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from linkwright.base.errors import InputError
from linkwright.control.joints import driven_joints
from linkwright.wholebody.body_forces import BodyForces
from linkwright.wholebody.contacts import (
    FlatContact,
    checked_contacts,
    checked_robot,
    finite_state,
)
from linkwright.wholebody.tick import RANK
from linkwright.wholebody.tick_program import OUTPUTS, terms_of

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]


def contact_dynamics(
    robot: Robot,
    q: ArrayLike,
    u: ArrayLike,
    a: ArrayLike,
    contacts: Sequence[str | FlatContact],
) -> BodyForces:
    """Return the smallest efforts, and the contact forces, for an acceleration under contact.

    Args:
        robot: with a free base; its driven joints give the efforts.
        q: coordinates.
        u: speeds.
        a: accelerations that keep the contacts at rest, of each speed.
        contacts: frames that touch, or `FlatContact`s; friction and limits do not count here.

    >>> from linkwright import load
    >>> dog = load("tests/robots/quadruped.urdf", friction=False)
    >>> q, still = dog.neutral, 0 * dog.neutral[1:]
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
    >>> standing = contact_dynamics(dog, q, still, still, feet)
    >>> weight = sum(f[0, 2] for f in standing.forces.values())
    >>> round(float(weight / dog.mass), 6)
    9.81
    """
    checked_robot(robot)
    q, u, a = finite_state(robot, q=q, u=u, a=a)
    closed = checked_contacts(robot, contacts, 1.0)
    driven = driven_speeds(robot)
    found = terms_of(robot, closed, ())(q, u, np.zeros(1), np.zeros(1))
    terms = dict(zip(OUTPUTS, found, strict=True))
    count = 3 * sum(len(c.points) for c in closed)
    J, drift = terms["J"][:count], terms["drift"][:count]
    demand = terms["M"] @ a + terms["h"]
    select = np.zeros((len(driven), len(u)))
    select[np.arange(len(driven)), driven] = 1.0
    if len(J):
        Q, R, order = qr(J.T, pivoting=True)
        rank = int(np.sum(np.abs(np.diag(R)) > RANK * abs(R[0, 0])))
    else:
        Q, R, order, rank = np.eye(len(u)), np.zeros((0, 0)), np.zeros(0, int), 0
    held = Q[:, rank:].T
    effort = np.linalg.pinv(held @ select.T, rcond=RANK) @ (held @ demand)
    miss = float(np.max(np.abs(held @ (select.T @ effort - demand)), initial=0.0))
    if miss > 1e-6 * (1.0 + float(np.max(np.abs(demand)))):
        raise InputError(
            f"no efforts give this acceleration with {len(closed)} contacts: "
            f"{miss:.3g} N or N m are missing",
            remedy="give one that the contacts can carry, or use a wholebody.Controller",
        )
    left = demand - select.T @ effort
    upper = np.zeros(len(J))
    if rank:
        upper[order] = np.linalg.lstsq(R[:rank], Q[:, :rank].T @ left, rcond=RANK)[0]
    ends = np.cumsum([len(c.points) for c in closed])[:-1]
    forces = dict(
        zip((c.frame for c in closed), np.split(upper.reshape(-1, 3), ends), strict=False)
    )
    slip = float(np.max(np.abs(J @ a + drift), initial=0.0))
    return BodyForces(a, effort, forces, {"contacts at rest": slip})


def driven_speeds(robot: Robot) -> list[int]:
    """Return the places of driven joints among the speeds."""
    names = list(robot.speeds)
    return [names.index(rate.name) for _, rate in driven_joints(robot.mechanism)]
