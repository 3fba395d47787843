"""Rates of joints from the rate of a frame: by pseudo-inverse, damped, or by a partition.

One kernel for each method, frame and set of components, for one pose or rows of them; with limits
it keeps those of position, speed and acceleration (`saturation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import fits
from linkwright.base.checks import checked
from linkwright.base.errors import InputError, ShapeError
from linkwright.base.reprs import brief
from linkwright.program import Program
from linkwright.robots.ik.freedom import gradient_of
from linkwright.robots.ik.rates import kept_quantity, partition_program, rates_program
from linkwright.robots.ik.saturation import FAR, LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from linkwright.algebra import Expr
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
Method = Literal["pseudo", "damped", "partition"]
METHODS = ("pseudo", "damped", "partition")
DAMPING = 0.05
"""Damping of damped least squares where none is given, in the units of the Jacobian."""


@dataclass(frozen=True, slots=True)
class JointRates:
    """Rates of joints, the rank of the Jacobian, and what is left of the tool's rate.

    Args:
        rates: of the joints.
        rank: of the Jacobian, a number or one for each row.
        residual: what is left of the tool's rate.
        ratio: of the smallest pivot of the Jacobian to the largest: near 0 a pose is singular.
        scale: the part of the rate that limits allow, 1 where they allow all of it.
        free: numbers of the joints that a partition leaves to freedom; none for other methods.
    """

    rates: Array
    rank: int | NDArray[np.int_]
    residual: Array
    ratio: Array
    scale: Array
    free: NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Limits that joint rates keep while they are held for a period.

    A joint brakes in time for its position limits, with its acceleration limit. Where limits
    contradict each other (a joint that begins outside of them), speed counts before acceleration
    and acceleration before position.

    Args:
        period: s, for which rates are held.
        lower: least positions; by default those of the robot.
        upper: greatest positions; by default those of the robot.
        speed: greatest magnitudes of rates; by default those of the robot.
        acceleration: greatest change of rates, per second; by default none.

    >>> RateLimits(0.001, acceleration=20.0).period
    0.001
    """

    period: float
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    speed: ArrayLike | None = None
    acceleration: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Reject limits that no robot can keep."""
        if not fits(self.period, float) or not 0 < float(self.period) < np.inf:
            raise InputError(
                f"the period of rate limits is {brief(self.period)}",
                remedy="give a number of seconds above 0",
            )
        given: dict[str, Array] = {}
        for name in LIMITS:
            value = getattr(self, name)
            if value is None:
                continue
            try:
                given[name] = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                raise InputError(f"limits `{name}` are {brief(value)}, not numbers") from None
            _refuse_values(name, given[name])
        if {"lower", "upper"} <= given.keys():
            lower, upper = given["lower"], given["upper"]
            if lower.ndim and upper.ndim and lower.shape != upper.shape:
                raise ShapeError(
                    f"limits `lower` and `upper` have the shapes {lower.shape} and {upper.shape}"
                )
            _refuse_crossed(lower, upper)

    def of(self, robot: Robot) -> dict[str, Array]:
        """Return the limits of each joint by their names in `LIMITS`, a robot's where none are
        given."""
        n = len(robot.coordinates)
        own = robot.limits
        usual = {
            "lower": own[:, 0],
            "upper": own[:, 1],
            "speed": robot.speed_limits,
            "acceleration": np.full(n, np.inf),
        }
        found: dict[str, Array] = {}
        for name in LIMITS:
            given = getattr(self, name)
            values = usual[name] if given is None else np.asarray(given, dtype=float)
            if values.shape not in ((), (n,)):
                raise ShapeError(f"limits `{name}` have the shape {values.shape}, not ({n},)")
            far = FAR * FAR if name == "acceleration" else FAR
            values = np.clip(np.broadcast_to(values, (n,)), -far, far)
            _refuse_values(name, values)
            found[name] = values
        _refuse_crossed(found["lower"], found["upper"])
        return found


def _refuse_values(name: str, values: Array) -> None:
    positive = name in LIMITS[2:]
    if np.isnan(values).any() or (positive and (values <= 0).any()):
        wanted = "numbers above 0" if positive else "numbers"
        raise InputError(f"limits `{name}` are {wanted}, not {values.tolist()}")


def _refuse_crossed(lower: Array, upper: Array) -> None:
    if (lower > upper).any():
        raise InputError("a lower limit of joint rates is above the upper one")


def joint_rates(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    rate: ArrayLike,
    *,
    method: Method = "pseudo",
    threshold: float = 1e-6,
    damping: float | None = None,
    weights: ArrayLike = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    aim: ArrayLike | None = None,
    climb: str | Expr | None = None,
    gain: float = 1.0,
    limits: RateLimits | None = None,
    last: ArrayLike | None = None,
) -> JointRates:
    """Return rates of joints that give a frame a velocity; see `Robot.joint_rates`."""
    wanted = np.asarray(rate, dtype=float)
    if wanted.shape[-1:] != (6,):
        raise ShapeError("the rate of a frame is six numbers: velocity and angular velocity")
    for name, values in (("rate", wanted), ("aim", aim), ("last", last)):
        if values is not None and not np.isfinite(np.asarray(values, dtype=float)).all():
            raise InputError(f"`{name}` of joint rates has entries that are not finite")
    level = checked_damping(method, damping)
    if threshold < 0:
        raise InputError("the threshold of joint rates is not below zero")
    shares, rows = rate_weights(weights)
    n = len(robot.speeds)
    free = np.zeros(n) if aim is None else np.asarray(aim, dtype=float)
    if climb is not None:
        free = free + gain * gradient_of(robot, frame, rows, climb)(q)
    if limits is None and last is not None:
        raise InputError("last rates count with limits alone", remedy="give limits=RateLimits(...)")
    aimed = aim is not None or climb is not None or limits is not None
    if method == "partition":
        given = [wanted, np.array([threshold]), *([free] if aimed else [])]
    else:
        given = [wanted, shares, free, np.array([level, threshold])]
    if limits is not None:
        before = np.zeros(n) if last is None else np.asarray(last, dtype=float)
        given += [before, *limits.of(robot).values(), np.array([limits.period])]
    made = quantity_of(robot, frame, method, rows, aimed=aimed, limited=limits is not None)
    found = dict(zip((name for name, _ in made.outputs), made(q, *given), strict=True))
    rank = np.rint(found["rank"][..., 0]).astype(int)
    return JointRates(
        found["rates"],
        int(rank) if rank.ndim == 0 else rank,
        found["residual"],
        found["ratio"][..., 0],
        found["scale"][..., 0] if limits is not None else np.ones(rank.shape),
        np.rint(found.get("free", np.zeros((*rank.shape, 0)))).astype(int),
    )


def checked_damping(method: str, damping: float | None) -> float:
    """Return the damping of a method, or reject the method or the damping."""
    if method not in METHODS:
        raise InputError(
            f"there is no method {method!r} for joint rates",
            remedy=f"choose one of {', '.join(METHODS)}",
        )
    if damping is not None and method != "damped":
        raise InputError(f"joint rates by {method!r} have no damping", remedy='use method="damped"')
    if damping is not None:
        checked(damping, "the damping of joint rates", above=0)
    if method != "damped":
        return 0.0
    return DAMPING if damping is None else float(damping)


def rate_weights(weights: ArrayLike) -> tuple[Array, tuple[int, ...]]:
    """Return weights of the six components of a rate, and which have one; reject other numbers."""
    found = np.asarray(weights, dtype=float)
    if found.shape != (6,) or not np.isfinite(found).all() or (found < 0).any():
        raise InputError("weights of a rate are six numbers, none below zero")
    rows = tuple(int(k) for k in np.flatnonzero(found))
    if not rows:
        raise InputError("all weights of the rate are zero, so nothing is wanted of the frame")
    return found, rows


def quantity_of(
    robot: Robot,
    frame: str,
    method: str,
    rows: Sequence[int],
    *,
    aimed: bool = False,
    limited: bool = False,
) -> Quantity:
    """Return the quantity of joint rates of a frame, once for each robot."""
    derive: Callable[..., Program]
    rooms = max(len(robot.speeds) - len(rows), 0) if limited else None
    name = f"joint rates of {frame!r}"
    if method == "partition":
        name += f", partition {''.join(map(str, rows))}{' aimed' * aimed}{' limited' * limited}"
        derive = partial(partition_program, rows=rows, aimed=aimed, limited=limited)
    else:
        name += "" if rooms is None else f", limited {rooms}"
        derive = partial(rates_program, saturates=rooms)
    return kept_quantity(robot, name, [frame], derive)
