"""The sampled loop of a compliant wrist along one axis, and the gains that it allows.

An arm at x1 carries a tool of mass m at x2 by a wrist of stiffness Kw and damping Cw; the tool may
touch surroundings of stiffness Ke and damping Ce. Between ticks the arm stands still, so that the
tool's motion is known exactly. At tick k the law has the output y of the filter, which knows the
deflections d = x2 - x1 up to the tick before,

    y[k] = a*y[k-1] + (1 - a)*d[k-1],        F(z) = (1 - a)/(z - a),

and sends the arm to

    position       x1[k] = -Kp*y[k]             added to the specified place, against the deflection
    force          x1[k] = KF*y[k]              added to the specified place, along with it
    accumulating   x1[k] = x1[k-1] + KF*y[k]    added to the current place

What the loop does depends on the order of what happens at a tick: see `CONTACT_ORDERS`. The laws
are those that Xu and Paul gave to their instrumented compliant wrist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, unknown

__all__ = [
    "CONTACT_LAWS",
    "CONTACT_ORDERS",
    "USUAL_ORDERS",
    "ContactOrder",
    "accumulating_damping",
    "accumulating_limit",
    "gain_limit",
    "sampled_matrix",
    "sampled_radius",
]

Array = NDArray[np.float64]

CONTACT_LAWS = {
    "position": "position compensation: -Kp times the deflection, from the specified place",
    "force": "force feedback: KF times the deflection, from the specified place",
    "accumulating": "force feedback: KF times the deflection, from the current place",
}
"""The laws of a wrist along one axis by name."""


class ContactOrder(NamedTuple):
    """What happens at a tick, in which order.

    >>> CONTACT_ORDERS["new-place"].impulse
    False
    """

    words: str  # the order in words
    new: bool  # whether the deflection is taken against the place that the arm has jumped to
    impulse: bool  # whether the damper passes the arm's jump on to the tool, as momentum Cw*jump
    at_once: bool  # whether the law uses the deflection of the same tick, not of the one before


def _orders() -> dict[str, ContactOrder]:
    found = {}
    places = {
        "new-place": ("the arm moves, then its deflection from the new place is taken", True),
        "old-place": ("the deflection from the old place is taken, then the arm moves", False),
        "at-once": ("the deflection is taken, filtered and acted on within the tick", False),
    }
    for impulse in (False, True):
        for name, (words, new) in places.items():
            told = "; its jump gives the damper an impulse" if impulse else ""
            found[f"{name}-impulse" if impulse else name] = ContactOrder(
                words + told, new, impulse, name == "at-once"
            )
    return found


CONTACT_ORDERS = _orders()
"""The orders of what happens at a tick, by name.

For the position law of gain 1 with m = 0.5 kg, Cw = 3 N*s/m, Kw = 500 N/m, a = 0.6 and T = 28 ms
the spectral radius is 1.110 in the order "new-place", 1.120 in "new-place-impulse", 1.068 in
"old-place", 1.075 in "old-place-impulse", 1.104 in "at-once" and 1.093 in "at-once-impulse".
"""

USUAL_ORDERS = {"position": "new-place", "force": "new-place", "accumulating": "old-place"}
"""The order of each law where none is named."""
_EDGE = 1e-9  # a radius so little above 1 is that of a pole at 1, as of an arm that stays anywhere
_STEPS = 400
LEAST, MOST = 1e-20, 1e20  # of numbers whose products doubles can hold
RANGE = f"give numbers from {LEAST:g} to {MOST:g}"
_TURNS = 1e8  # rad in a period, of which doubles know the last to 1e-8


@worded
def sampled_matrix(
    law: str,
    *,
    gain: ArrayLike,
    stiffness: ArrayLike,
    mass: ArrayLike = 0.0,  # m of the tool, kg or kg*m^2; without mass it follows the springs
    damping: ArrayLike = 0.0,
    filter: ArrayLike = 0.0,  # noqa: A002 - the word of the field
    period: ArrayLike = 0.028,  # T between ticks, s
    environment_stiffness: ArrayLike = 0.0,
    environment_damping: ArrayLike = 0.0,
    order: str = "",
) -> Array:
    """Return the matrix that takes (x2, its speed, y, x1) from one tick to the next, exactly.

    All numbers may be arrays, which are broadcast; the matrix stands in the last two axes.

    >>> sampled_matrix("position", gain=1.0, stiffness=500.0, mass=0.5, damping=3.0).shape
    (4, 4)
    """
    taken = _order(law, order)
    given = {
        "gain": gain, "stiffness": stiffness, "mass": mass, "damping": damping, "filter": filter,
        "period": period, "environment_stiffness": environment_stiffness,
        "environment_damping": environment_damping,
    }  # fmt: skip
    g, K, m, C, a, T, Ke, Ce = _checked(given)
    held, free, forced = _tool(m, C + Ce, K + Ke, T), K / (K + Ke), np.ones_like(K)
    zero = np.zeros_like(K)
    # rows of (x2, v, y, x1) at the tick: the place that the arm goes to, and what the filter takes
    own = forced if law == "accumulating" else zero
    sign = -g if law == "position" else g
    old = np.stack([forced, zero, zero, -forced], -1)
    if taken.at_once:
        kept = a[..., None] * _row(zero, 2) + (1 - a)[..., None] * old
        place = sign[..., None] * kept + own[..., None] * _row(zero, 3)
    else:
        place = sign[..., None] * _row(zero, 2) + own[..., None] * _row(zero, 3)
        seen = _row(zero, 0) - place if taken.new else old
        kept = a[..., None] * _row(zero, 2) + (1 - a)[..., None] * seen
    x, v = _row(zero, 0), _row(zero, 1)
    if taken.impulse:
        share = np.divide(C, m, out=np.zeros_like(C), where=m > 0)
        v = v + share[..., None] * (place - _row(zero, 3))
    rest = free[..., None] * place
    moved = [
        held[i, 0][..., None] * (x - rest) + held[i, 1][..., None] * v + (rest if i == 0 else 0.0)
        for i in (0, 1)
    ]
    found = np.stack([*moved, kept, place], -2)
    if not np.isfinite(found).all():
        raise InputError(
            "the numbers of the loop lie too far apart for double precision",
            remedy="give numbers of a wrist, such as 0.5 kg, 3 N*s/m and 500 N/m",
        )
    return found


@worded
def sampled_radius(
    law: str,
    *,
    gain: ArrayLike,
    stiffness: ArrayLike,
    mass: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
    filter: ArrayLike = 0.0,  # noqa: A002 - the word of the field
    period: ArrayLike = 0.028,
    environment_stiffness: ArrayLike = 0.0,
    environment_damping: ArrayLike = 0.0,
    order: str = "",
) -> Array:
    """Return the spectral radius of the exact sampled loop; below 1 it is stable.

    The accumulating law has a pole at 1 while nothing is touched: the arm stays anywhere.

    >>> wrist = dict(stiffness=500.0, mass=0.5, damping=3.0, period=0.028)
    >>> sampled_radius("position", gain=1.0, filter=[0.6, 0.95], **wrist).round(3)
    array([1.11 , 0.948])
    """
    matrices = sampled_matrix(
        law, gain=gain, stiffness=stiffness, mass=mass, damping=damping, filter=filter,
        period=period, environment_stiffness=environment_stiffness,
        environment_damping=environment_damping, order=order,
    )  # fmt: skip
    radius: Array = np.abs(np.linalg.eigvals(matrices)).max(axis=-1)
    return radius


@worded
def gain_limit(
    law: str,
    *,
    stiffness: float,
    mass: float = 0.0,
    damping: float = 0.0,
    filter: float = 0.0,  # noqa: A002 - the word of the field
    period: float = 0.028,
    environment_stiffness: float = 0.0,
    environment_damping: float = 0.0,
    order: str = "",
    most: float = 20.0,
) -> float:
    """Return the gain up to which the sampled loop is stable from 0 on; inf beyond `most`.

    >>> round(
    ...     gain_limit("accumulating", stiffness=500.0, filter=0.8, environment_stiffness=1e5),
    ...     3,
    ... )
    1.005
    >>> gain_limit("position", stiffness=500.0, mass=0.1, damping=1.0, filter=0.95) > 1
    True
    """
    if environment_stiffness == float("inf"):  # it holds the tool, whose mass is then nothing
        environment_stiffness, mass = 1e9 * stiffness, 0.0

    def above(gains: Array) -> NDArray[np.bool_]:
        radius = sampled_radius(
            law, gain=gains, stiffness=stiffness, mass=mass, damping=damping, filter=filter,
            period=period, environment_stiffness=environment_stiffness,
            environment_damping=environment_damping, order=order,
        )  # fmt: skip
        return radius > 1 + _EDGE

    gains = np.geomspace(1e-4, most, _STEPS)
    bad = np.flatnonzero(above(gains))
    if not bad.size:
        return float("inf")
    if bad[0] == 0:
        return 0.0
    low, high = gains[bad[0] - 1], gains[bad[0]]
    while high - low > 1e-12 * high:
        between = np.linspace(low, high, 33)
        first = int(np.flatnonzero(above(between))[0])
        if first == 0:
            break
        low, high = between[first - 1], between[first]
    return float(low)


@worded
def accumulating_limit(stiffness: float, environment_stiffness: float = float("inf")) -> float:
    """Return the gain KF up to which the accumulating law is stable, whatever its filter is.

    A tool without mass on a surface obeys z^2 - (1 + a)*z + a + KF*kappa*(1 - a) = 0 with
    kappa = Ke/(Kw + Ke): it is stable for KF*kappa < 1. On a rigid surface kappa is 1.

    Units: `stiffness` in N/m, `environment_stiffness` in N/m.

    >>> accumulating_limit(500.0), accumulating_limit(500.0, 500.0)
    (1.0, 2.0)
    """
    _within("stiffness", stiffness, 0 < stiffness < np.inf, "positive")
    _within("environment stiffness", environment_stiffness, environment_stiffness >= 0,
            "0 or positive")  # fmt: skip
    if environment_stiffness == float("inf"):
        return 1.0
    if environment_stiffness == 0:
        return float("inf")
    return (stiffness + environment_stiffness) / environment_stiffness


@worded
def accumulating_damping(gain: float, filter: float, kappa: float = 1.0) -> float:  # noqa: A002
    """Return the damping ratio of the accumulating law on a surface.

    It is that of a continuous pole pair that gives these poles when it is sampled: 1 where they are
    real and positive, negative where the loop is unstable.

    >>> round(accumulating_damping(0.2, 0.8), 3), round(accumulating_damping(0.6, 0.8), 3)
    (0.417, 0.117)
    """
    _within("gain", gain, 0 <= gain < np.inf, "0 or positive")
    _within("filter", filter, 0 <= filter < 1, "from 0 to below 1")
    _within("kappa", kappa, 0 <= kappa <= 1, "from 0 to 1")
    poles = np.roots([1.0, -(1 + filter), filter + gain * kappa * (1 - filter)])
    pole = poles[np.argmax(np.abs(poles))]
    s = np.log(complex(pole))
    return float(-s.real / abs(s)) if abs(s) else 0.0


def _order(law: str, order: str) -> ContactOrder:
    if law not in CONTACT_LAWS:
        raise unknown("law of contact", law, CONTACT_LAWS)
    name = order or USUAL_ORDERS[law]
    if name not in CONTACT_ORDERS:
        raise unknown("order of ticks", name, CONTACT_ORDERS)
    return CONTACT_ORDERS[name]


def _within(name: str, value: float, good: bool, wanted: str) -> None:
    if not good:
        raise InputError(f"the {name} is {value:g}", remedy=f"give a number that is {wanted}")


def out_of_range(value: ArrayLike, *, least: bool) -> NDArray[np.bool_]:
    """Return which numbers are too large for products of them, or so small that they vanish."""
    given = np.asarray(value, dtype=float)
    small = (given > 0) & (given < LEAST) if least else np.zeros_like(given, dtype=bool)
    found: NDArray[np.bool_] = small | (given > MOST)
    return found


def _checked(given: dict[str, ArrayLike]) -> list[Array]:
    """Return the numbers as arrays of one shape, or reject one that means nothing."""
    arrays = {name: np.asarray(value, dtype=float) for name, value in given.items()}
    for name, value in arrays.items():
        positive = name in ("stiffness", "period")
        bad = ~np.isfinite(value) | (value <= 0 if positive else value < 0)
        if name == "filter":
            bad |= value >= 1
        if bad.any():
            wanted = "from 0 to below 1" if name == "filter" else "positive"
            wanted = wanted if positive or name == "filter" else "0 or positive"
            raise InputError(
                f"the {name.replace('_', ' ')} is {float(value[bad].flat[0]):g}",
                remedy=f"give a number that is {wanted}",
            )
        far = out_of_range(value, least=name not in ("gain", "filter"))
        if far.any():
            raise InputError(
                f"the {name.replace('_', ' ')} {float(value[far].flat[0]):g} is out of range",
                remedy=RANGE,
            )
    return [np.array(value) for value in np.broadcast_arrays(*arrays.values())]


def _row(zero: Array, k: int) -> Array:
    """Return the row that picks one of the four states."""
    return np.broadcast_to(np.eye(4)[k], (*zero.shape, 4))


def _tool(m: Array, C: Array, K: Array, T: Array) -> Array:
    """Return exp(A*T) of m*x'' + C*x' + K*x = 0, its two axes first.

    Without mass it is C*x' + K*x = 0, and without damping too the tool is at rest at once.
    """
    massive = m > 0
    n = np.where(massive, m, 1.0)
    half = C / (2 * n)
    root = np.sqrt((half * half - K / n).astype(complex))
    turns = np.where(massive & (half * T < 50), root.imag * T, 0.0)
    if (turns > _TURNS).any():
        raise InputError(
            f"the tool swings by {turns.max():.3g} rad in a period, more than doubles can resolve",
            remedy="give a heavier tool, softer springs or a shorter period",
        )
    # the slow root as a quotient: root - half would be rounding where damping is large
    plus, minus = np.exp(-(K / n) / (root + half) * T), np.exp((-root - half) * T)
    even = ((plus + minus) / 2).real
    small = np.abs(root) * T < 1e-6
    slope = (plus - minus) / np.where(small, 1.0, 2 * root)
    odd = np.where(small, T * np.exp(-half * T), slope.real)
    lag = np.where(C > 0, np.exp(-K * T / np.where(C > 0, C, 1.0)), 0.0)
    full = [[even + half * odd, odd], [-K / n * odd, even - half * odd]]
    bare = [[lag, np.zeros_like(lag)], [np.zeros_like(lag), np.zeros_like(lag)]]
    return np.where(massive, np.array(full), np.array(bare))
