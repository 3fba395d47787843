"""What joints and actuators of a mount carry while it stands on a moving deck."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, evaluate_all
from linkwright.base.arguments import worded
from linkwright.equations.reactions import reactions
from linkwright.mechanism import ModelLike, mechanism_of
from linkwright.mounts.inverse_pointing import start_at
from linkwright.mounts.ships import Ship
from linkwright.recording import Channel, Recording

Array = NDArray[np.float64]


@worded
def deck_loads(
    model: ModelLike, direction: ArrayLike, times: ArrayLike, ship: Ship | None = None
) -> Recording:
    """Return the forces in all joints of a mount that keeps a direction of its deck.

    For each body b the channel "b" is the size of the force that its joint puts on it, N, and
    "b.Fx" to "b.Mz" are its parts along the body's axes (N and N*m, about its origin); an
    actuator's effort is the part along its own axis. On a stabilized platform the deck keeps its
    direction in the world, and so does the dish.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model, with actuators.
        direction: unit vector on the deck.
        times: s.
        ship: that carries the mount; without one it stands still.

    Example:
        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("post")
        >>> yoke = m.body("yoke", rotate="z", mass=10, inertia=1)
        >>> dish = m.body("dish", parent=yoke, rotate="y", mass=100, inertia=1)
        >>> m.gravity()
        >>> m.actuate("yoke", "dish")
        >>> platform = m.set_platform(dish, axis="x")
        >>> round(float(deck_loads(m, (1, 0, 0), [0.0])["dish"][0]), 6)
        981.0
    """
    m = mechanism_of(model)
    at = start_at(m, direction)
    carried = m if ship is None else ship.carry(m)
    kinematics = carried.kinematics()
    t = np.atleast_1d(np.asarray(times, dtype=float))
    given: dict[Expr, Array | float] = {carried.coordinates[n]: v for n, v in at.items()}
    given |= {s.symbol: 0.0 for s in kinematics.speeds}
    given |= dict.fromkeys(kinematics.accelerations.values(), 0.0)
    given |= {p: carried.values[n] for n, p in carried.parameters.items()}
    given |= {x: carried.values[n] for n, x in carried.inputs.items()}
    given[carried.time] = t
    joints = reactions(carried).joints
    found = {body: joints[body] for body in carried.bodies.values()}
    values = evaluate_all([x for force, moment in found.values() for x in (*force, *moment)], given)
    table = np.stack([np.broadcast_to(np.asarray(x, float), t.shape) for x in values], axis=-1)
    channels, columns = [], []
    for k, body in enumerate(found):
        part = table[:, 6 * k : 6 * k + 6]
        channels.append(Channel(body.name, "N"))
        columns.append(np.linalg.norm(part[:, :3], axis=1))
        for name, column in zip(("Fx", "Fy", "Fz", "Mx", "My", "Mz"), part.T, strict=True):
            channels.append(Channel(f"{body.name}.{name}", "N" if name[0] == "F" else "N*m"))
            columns.append(column)
    return Recording(t, channels, np.stack(columns, axis=-1))
