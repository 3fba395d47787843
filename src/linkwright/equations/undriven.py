"""Freedoms of a machine that no actuator drives, and whether its platform feels them.

A machine with closed loops that names its actuators has further independent speeds where these are
too few. A motion that does not move the platform is idle (a strut that twists between two balls).
One that moves it is a mistake: forces would be reported for a joint that no motor drives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, evaluate_all
from linkwright.equations.closure import Relations, closed_samples, rank_of
from linkwright.equations.evaluation import all_values
from linkwright.mechanism import Body, Mechanism, MechanismError

Array = NDArray[np.float64]
_STILL = 1e-7  # of the largest rate, which counts as none
_FREE = 6


def refuse_undriven(mechanism: Mechanism) -> None:
    """Reject a machine whose platform moves with its actuators locked, whatever the pose.

    A machine that stands on a body that moves freely, such as a ship, is left alone.
    """
    platform = mechanism.platform
    if platform is None or not mechanism.actuators or not mechanism.constraints:
        return
    if _floats(mechanism, platform.point.body):
        return
    values = all_values(mechanism, None)
    samples = closed_samples(mechanism, values)
    if samples is None:
        return
    relations = Relations(mechanism, values, backend="python")
    rates = mechanism.kinematics().rates
    driven = {rates[x] for x in mechanism.actuators}
    open_ = [k for k, u in enumerate(relations.speeds) if u not in driven]
    states = [s.initial for s in mechanism.states]
    places = np.array([samples[q] for q in relations.coordinates]).T
    locked = [relations.speed(np.array([*q, *states]), 0.0)[0][:, open_] for q in places]
    ranks = [rank_of(j) for j in locked]
    best = int(np.argmax(ranks))
    motions = np.zeros((len(open_) - ranks[best], len(relations.speeds)))
    motions[:, open_] = np.linalg.svd(locked[best])[2][ranks[best] :]
    if not len(motions):
        return
    felt = _platform_rates(mechanism, relations, places[best], motions)
    moving = int((np.linalg.svd(felt, compute_uv=False) > _STILL).sum())
    if not moving:
        return
    one = {b.coordinates[0] for b in mechanism.bodies.values() if len(b.coordinates) == 1}
    size = dict(zip(relations.speeds, np.abs(motions).max(axis=0), strict=True))
    could = [q.name for q in relations.coordinates if q in one and size.get(rates[q], 0.0) > _STILL]
    count = len(mechanism.actuators)
    names = ", ".join(q.name for q in mechanism.actuators)
    raise MechanismError(
        f"{mechanism.name!r} has {count} actuator{'s' if count > 1 else ''} ({names}), {moving} "
        f"too few: with {'these' if count > 1 else 'it'} locked the {platform.point.body.name} "
        "still moves",
        remedy=f"name {moving} more of {', '.join(could)}" if could else "name more actuators",
    )


def _floats(mechanism: Mechanism, body: Body) -> bool:
    """Whether a body stands on another one that moves freely."""
    motions = mechanism.kinematics().motions
    above = body.parent
    while above is not None and above is not mechanism.ground:
        if len(motions[above].speeds) == _FREE:
            return True
        above = above.parent
    return False


def _platform_rates(m: Mechanism, relations: Relations, q: Array, motions: Array) -> Array:
    """Return velocity and angular velocity of the platform in each motion."""
    assert m.platform is not None
    known: dict[Expr, object] = {x: m.values.get(n, 0.0) for n, x in m.parameters.items()}
    known |= {x: m.values.get(n, 0.0) for n, x in m.inputs.items()}
    known |= {s.symbol: s.initial for s in m.states}
    known |= dict(zip(relations.coordinates, map(float, q), strict=True)) | {m.time: 0.0}
    known |= {u: motions[:, k] for k, u in enumerate(relations.speeds)}
    point, ground = m.platform.point, m.ground.frame
    parts = [*point.velocity.components(ground), *point.body.omega.components(ground)]
    return np.array(
        [np.broadcast_to(np.asarray(x, float), len(motions)) for x in evaluate_all(parts, known)]
    ).T
