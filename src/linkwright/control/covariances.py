"""Kalman's filter on plain matrices: prediction and correction of an estimate and its covariance.

    x(k+1) = Φ x(k) + Θ u(k) + w(k),   z(k) = H x(k) + v(k),   cov w = Q,  cov v = R

Three forms of the correction, which agree to round-off (Simon, Optimal State Estimation, 2006,
chapters 5 and 6):

- "joseph": P = (I - K H) P⁻ (I - K H)ᵀ + K R Kᵀ, positive for any gain (Bucy and Joseph 1968);
- "information": P = (P⁻⁻¹ + Hᵀ R⁻¹ H)⁻¹, K = P Hᵀ R⁻¹; the inverses need R and P⁻ to be regular;
- "scalar": one sensor after the other, each in Joseph's form, so that nothing is inverted. Sensors
  whose noise is correlated are first replaced by combinations with independent noise, R = L D Lᵀ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import DomainError, nearest, suggestion
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.blocks import BlockError

Array = NDArray[np.float64]
CorrectionForm = Literal["joseph", "information", "scalar"]
FORMS: tuple[CorrectionForm, ...] = ("joseph", "information", "scalar")


@dataclass(frozen=True, slots=True, eq=False)
class Correction(Result):
    """An estimate after a measurement.

    Args:
        x: the estimate.
        covariance: of its error.
        gain: K of x = x⁻ + K (z - H x⁻).
        innovation: z - H x⁻.
        nis: the innovation squared, in units of its covariance; on average the number of sensors.

    >>> correct([0.0], [[100.04]], [1.0], [[1.0]], 0.25).covariance.round(10)
    array([[0.24937681]])
    """

    x: Array
    covariance: Array
    gain: Array
    innovation: Array
    nis: float


def predict(
    x: ArrayLike,
    covariance: Any,
    phi: ArrayLike,
    process: Any,
    *,
    theta: ArrayLike | None = None,
    u: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return the estimate one step later, and the covariance of its error.

    Args:
        x: the estimate.
        covariance: of its error: a matrix, its diagonal, or one number for all.
        phi: the states of the next instant from those of this.
        process: covariance of the noise on the states: a matrix, its diagonal, or one number.
        theta: effect of the inputs; none by default.
        u: the inputs.

    >>> predict([2.0], 1.0, [[0.5]], 0.1)
    (array([1.]), array([[0.35]]))
    """
    state = np.atleast_1d(np.asarray(x, dtype=float))
    A = matrix(phi, "phi", (len(state), len(state)))
    P = covariance_matrix(covariance, len(state), "covariance")
    Q = covariance_matrix(process, len(state), "process")
    moved = A @ state
    if theta is not None:
        given = np.atleast_1d(np.asarray(0.0 if u is None else u, dtype=float))
        moved = moved + matrix(theta, "theta", (len(state), len(given))) @ given
    return moved, _symmetric(A @ P @ A.T + Q)


def correct(
    x: ArrayLike,
    covariance: Any,
    z: ArrayLike,
    h: ArrayLike,
    measurement: Any,
    *,
    form: CorrectionForm = "joseph",
) -> Correction:
    """Return an estimate corrected by what was measured.

    Args:
        x: the predicted estimate.
        covariance: of its error: a matrix, its diagonal, or one number for all.
        z: what was measured.
        h: what is measured, from the states.
        measurement: covariance of the noise of the sensors: a matrix, its diagonal, or one number.
        form: "joseph", "information" or "scalar", which agree to round-off.

    A sensor without noise is taken as exact; the information form rejects it.

    >>> correct([0.0], 100.04, [1.0], [[1.0]], 0.25, form="information").x.round(6)
    array([0.997507])
    """
    state, seen = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, z))
    H = matrix(h, "h", (len(seen), len(state)))
    P = covariance_matrix(covariance, len(state), "covariance")
    R = covariance_matrix(measurement, len(seen), "measurement")
    if form not in FORMS:
        raise BlockError(
            f"there is no form {form!r} of the correction",
            remedy=f"did you mean {nearest(str(form), FORMS) or 'joseph'!r}?",
            code="R505",
        )
    innovation = seen - H @ state
    if form == "scalar":
        after, new, gain = _one_by_one(P, H, R)
        return Correction(state + gain @ innovation, new, gain, innovation, after(innovation))
    S = H @ P @ H.T + R
    if form == "information":
        _refuse_singular(R, "measurement")
        _refuse_singular(P, "covariance")
        new, gain = information_form(P, H, R)
    else:
        gain = P @ H.T @ _pseudo_inverse(S)
        rest = np.eye(len(state)) - gain @ H
        new = rest @ P @ rest.T + gain @ R @ gain.T
    nis = float(innovation @ _pseudo_inverse(S) @ innovation)
    return Correction(state + gain @ innovation, _symmetric(new), gain, innovation, nis)


def information_form(P: Array, H: Array, R: Array) -> tuple[Array, Array]:
    """Return (P⁻¹ + Hᵀ R⁻¹ H)⁻¹ and the gain, of matrices that are known to be regular.

    >>> information_form(np.eye(1), np.eye(1), np.eye(1))
    (array([[0.5]]), array([[0.5]]))
    """
    seen: Array = H.T @ np.linalg.inv(R).astype(float, copy=False)
    new: Array = np.linalg.inv(np.linalg.inv(P) + seen @ H).astype(float, copy=False)
    return _symmetric(new), new @ seen


def intersect(
    x: ArrayLike, covariance: Any, z: ArrayLike, h: ArrayLike, measurement: Any
) -> Correction:
    """Return an estimate corrected by what may be correlated with it: covariance intersection.

    Args:
        x: the estimate.
        covariance: of its error: a matrix, its diagonal, or one number for all.
        z: what was measured, or estimated by somebody else.
        h: what it is of, from the states.
        measurement: covariance of its error: a matrix, its diagonal, or one number.

    P⁻¹ = w P⁻⁻¹ + (1 - w) Hᵀ R⁻¹ H never claims more than is known, whatever the correlation of the
    two errors (Julier and Uhlmann 1997); w in [0, 1] is where det P is least. The same news
    reported twice changes nothing:

    >>> once = intersect([0.0], 4.0, [1.0], [[1.0]], 1.0)
    >>> twice = intersect(once.x, once.covariance, [1.0], [[1.0]], 1.0)
    >>> once.covariance, twice.covariance
    (array([[1.]]), array([[1.]]))
    """
    state, seen = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, z))
    H = matrix(h, "h", (len(seen), len(state)))
    P = covariance_matrix(covariance, len(state), "covariance")
    R = covariance_matrix(measurement, len(seen), "measurement")
    _refuse_singular(R, "measurement")
    _refuse_singular(P, "covariance")
    before, sharp = np.linalg.inv(P), np.linalg.inv(R)
    # With P⁻¹ = L Lᵀ, det P is least where Σ log(w + (1 - w) e) is greatest, e of L⁻¹ Hᵀ R⁻¹ H L⁻ᵀ.
    lower = np.linalg.inv(np.linalg.cholesky(before))
    spread = np.clip(np.linalg.eigvalsh(lower @ H.T @ sharp @ H @ lower.T), 0.0, None)
    w = _most(spread)
    told = w * before + (1.0 - w) * (H.T @ sharp @ H)
    new: Array = np.linalg.inv(told).astype(float, copy=False)
    gain = (1.0 - w) * new @ H.T @ sharp
    innovation = seen - H @ state
    nis = float(innovation @ _pseudo_inverse(H @ P @ H.T + R) @ innovation)
    return Correction(state + gain @ innovation, _symmetric(new), gain, innovation, nis)


def _most(spread: Array) -> float:
    """Return w in [0, 1] at the maximum of Σ log(w + (1 - w) e), which is concave in w."""

    def slope(w: float) -> float:
        return float(np.sum((1.0 - spread) / np.maximum(w + (1.0 - w) * spread, 1e-300)))

    low, high = 0.0, 1.0
    if slope(low) <= 0.0:
        return low
    if slope(high) >= 0.0:
        return high
    for _ in range(60):  # to the last bit of a double
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return (low + high) / 2


def _one_by_one(P: Array, H: Array, R: Array) -> tuple[Any, Array, Array]:
    """Return the NIS as a function of the innovation, the new covariance, and the whole gain."""
    mixing, spread = decorrelated(R)
    rows = mixing @ H
    gain = np.zeros((len(P), len(R)))
    told: list[tuple[Array, float]] = []
    for k, (h, r) in enumerate(zip(rows, spread, strict=True)):
        c = P @ h
        s = float(h @ c) + float(r)
        seen = mixing[k] - h @ gain  # what is new in this sensor, from the innovations of all
        if s <= 0.0:  # the state is known already, and the sensor is exact
            continue
        column = c / s
        rest = np.eye(len(P)) - np.outer(column, h)
        P = _symmetric(rest @ P @ rest.T + r * np.outer(column, column))
        gain = gain + np.outer(column, seen)
        told.append((seen, s))

    def nis(innovation: Array) -> float:
        return float(sum((row @ innovation) ** 2 / s for row, s in told))

    return nis, P, gain


def decorrelated(measurement: Array) -> tuple[Array, Array]:
    """Return L⁻¹ and the diagonal of D of R = L D Lᵀ: combinations with independent noise.

    >>> decorrelated(np.array([[4.0, 2.0], [2.0, 2.0]]))
    (array([[ 1. ,  0. ],
           [-0.5,  1. ]]), array([4., 1.]))
    """
    n = len(measurement)
    lower, diagonal = np.eye(n), np.zeros(n)
    rest = np.array(measurement, dtype=float)
    for k in range(n):
        diagonal[k] = max(rest[k, k], 0.0)
        if diagonal[k] > 0.0:
            lower[k + 1 :, k] = rest[k + 1 :, k] / diagonal[k]
            rest[k + 1 :, k + 1 :] -= diagonal[k] * np.outer(lower[k + 1 :, k], lower[k + 1 :, k])
    return np.linalg.inv(lower).astype(float), diagonal


def unobservable(phi: Any, h: Any, names: Sequence[str], *, unstable: bool = False) -> list[str]:
    """Return the names of states that no sensor distinguishes, in the order of the states.

    >>> unobservable([[1.0, 0.1], [0.0, 1.0]], [[0.0, 1.0]], ["place", "speed"])
    ['place']
    """
    A, H = np.atleast_2d(np.asarray(phi, float)), np.atleast_2d(np.asarray(h, float))
    values = np.linalg.eigvals(A)
    hidden: set[int] = set()
    size = max(float(np.abs(H).max(initial=0.0)), 1e-300)
    for value in values:
        if unstable and abs(value) < 1.0 - 1e-9:
            continue
        both = np.vstack([A - value * np.eye(len(A)), H / size])
        _, spread, rows = np.linalg.svd(both)
        for k in np.flatnonzero(spread < 1e-10 * max(1.0, float(spread[0]))):
            shape = np.abs(rows[k])
            hidden |= {int(i) for i in np.flatnonzero(shape > 1e-6 * shape.max())}
    return [names[i] for i in sorted(hidden)]


# -- what is given ---------------------------------------------------------------------------------
def matrix(given: Any, what: str, shape: tuple[int | None, int | None]) -> Array:
    """Return a matrix of finite numbers; a shape may leave a size open.

    >>> matrix([1, 2], "h", (1, 2))
    array([[1., 2.]])
    """
    try:
        found = np.atleast_2d(np.array(given, dtype=float))
    except (TypeError, ValueError):
        raise BlockError(
            f"{what} is {brief(given)}", remedy="give rows of numbers", code="R501"
        ) from None
    wanted = tuple(n if n is not None else k for n, k in zip(shape, found.shape, strict=False))
    if found.ndim != 2 or found.shape != wanted:
        told = " x ".join("any" if n is None else str(n) for n in shape)
        raise BlockError(
            f"{what} has the shape {found.shape}", remedy=f"give {told} numbers", code="R501"
        )
    if not np.isfinite(found).all():
        raise BlockError(f"{what} is not finite", remedy="give finite numbers", code="R501")
    return found


def covariance_matrix(given: Any, names: int | Sequence[str], what: str) -> Array:
    """Return a covariance as a matrix.

    >>> covariance_matrix({"b": 2.0}, ["a", "b"], "process")
    array([[0., 0.],
           [0., 2.]])
    """
    n = names if isinstance(names, int) else len(names)
    if isinstance(given, Mapping):
        known = [] if isinstance(names, int) else list(names)
        for name in given:
            if name not in known:
                raise BlockError(
                    f"{what} is given for {name!r}",
                    remedy=suggestion(str(name), known, f"there is {', '.join(known)}"),
                    code="R501",
                )
        given = [given.get(name, 0.0) for name in known]
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise BlockError(
            f"{what} is {brief(given)}", remedy="give variances as numbers", code="R501"
        ) from None
    if array.ndim < 2:
        array = np.diag(np.full(n, float(array)) if array.ndim == 0 else array)
    found = matrix(array, what, (n, n))
    lowest = float(np.linalg.eigvalsh((found + found.T) / 2).min(initial=0.0))
    largest = float(np.abs(found).max(initial=0.0))
    if lowest < -1e-10 * largest or np.abs(found - found.T).max(initial=0.0) > 1e-10 * largest:
        raise BlockError(
            f"{what} is not a covariance: {brief(found.tolist())}",
            remedy="give variances of 0 or more, or a symmetric matrix without negative "
            "eigenvalues",
            code="R502",
        )
    return _symmetric(found)


def _symmetric(found: Array) -> Array:
    return (found + found.T) / 2


def _refuse_singular(found: Array, what: str) -> None:
    """Say what is singular, where the information form needs an inverse."""
    if np.linalg.cond(found) > 1e15:
        idle = [str(k) for k in np.flatnonzero(np.diag(found) <= 0.0)]
        raise DomainError(
            f"{what} is singular{': ' + ', '.join(idle) + ' has no noise' if idle else ''}, and "
            "the information form needs its inverse",
            remedy='take form="joseph" or "scalar", which take exact sensors',
            code="R503",
        )


def _pseudo_inverse(found: Array) -> Array:
    """Return the inverse, on the part of the space where there is any spread."""
    scale = np.sqrt(np.where(np.diag(found) > 0.0, np.diag(found), 1.0))
    both = np.outer(scale, scale)
    inverse: Array = np.linalg.pinv(found / both, rcond=1e-13, hermitian=True) / both
    return inverse
