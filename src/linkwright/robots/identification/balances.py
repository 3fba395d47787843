"""Balances of voltage and torque of a drive, by least squares, without differentiating samples.

A balance is multiplied by smooth functions that vanish at the ends of short windows, and integrated
by parts (Shinbrot 1957): R, L and the torque constant follow from the voltage, inertia and friction
from the torque, stiffness and gap from the twist between two encoders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.elements.drives import Chain
from linkwright.recording import Recording
from linkwright.recording.in_units import in_units
from linkwright.robots.identification.likelihood import (
    IdentificationError,
    recorded_data,
    recorded_rate,
)

Array = NDArray[np.float64]

CHANNELS = {
    "voltage": "amplifier.v",
    "current": "motor.i",
    "angle": "motor.angle",
    "load_angle": "load.angle",
}
"""What is recorded, and the name of its channel unless another is given."""


def found_channels(recording: Recording, given: Mapping[str, str]) -> dict[str, str]:
    """Return the channels of a recording by what they are."""
    found: dict[str, str] = {}
    for what, usual in CHANNELS.items():
        name = given.get(what, "")
        if name:
            recorded_data(recording, [name])
            found[what] = name
            continue
        near = [n for n in recording.names if n == usual or n.endswith(f".{usual}")]
        if len(near) == 1:
            found[what] = near[0]
        elif what != "load_angle" or len(near) > 1:
            several = f"; it has {', '.join(near)}" if near else ""
            there = f"it has {', '.join(recording.names) or 'none'}"
            raise IdentificationError(
                f"the recording has no one channel {usual!r} with the {what}{several}",
                remedy=f"give {what}='NAME'; {there}",
                code="R650",
            )
    return found


_UNITS = {"voltage": "V", "current": "A", "angle": "rad", "load_angle": "rad"}


def found_data(recording: Recording, given: Mapping[str, str]) -> tuple[Recording, dict[str, str]]:
    """Return a recording in V, A and rad, and its channels by what they are."""
    names = found_channels(recording, given)
    return in_units(recording, {name: _UNITS[what] for what, name in names.items()}), names


class Windows:
    """Integrals of samples over short windows, times a smooth function and its derivatives.

    φ(s) = (1 - cos 2πs)²/4 vanishes at the ends with three derivatives, so the integral of φ x' is
    that of -φ' x, and that of φ x'' is that of φ'' x.
    """

    def __init__(self, count: int, rate: float, length: int = 40) -> None:
        self.first = np.arange(0, count - length, length // 2)
        self.length, self.rate = length, rate
        s = np.arange(length + 1) / length
        c1, s1, c2, s2 = (f(2 * np.pi * k * s) for k in (1, 2) for f in (np.cos, np.sin))
        w = 2 * np.pi * rate / length
        self.plain = 0.375 - 0.5 * c1 + 0.125 * c2
        self.once = -w * (0.5 * s1 - 0.25 * s2)
        self.twice = w**2 * (0.5 * c1 - 0.5 * c2)
        middle = (np.arange(length) + 0.5) / length
        self.between = (1 - np.cos(2 * np.pi * middle)) ** 2 / 4

    def _sums(self, values: Array, weights: Array) -> Array:
        rows = values[self.first[:, None] + np.arange(len(weights))]
        found: Array = rows @ weights / self.rate
        return found

    def value(self, values: Array) -> Array:
        """Return the integrals of φ x."""
        return self._sums(values, self.plain)

    def held(self, values: Array) -> Array:
        """Return the integrals of φ x of something that holds from sample to sample."""
        return self._sums(values, self.between)

    def derivative(self, values: Array) -> Array:
        """Return the integrals of φ x'."""
        return self._sums(values, self.once)

    def second(self, values: Array) -> Array:
        """Return the integrals of φ x''."""
        return self._sums(values, self.twice)


def solved(columns: Sequence[Array], right: Array) -> Array:
    """Return the solution of least squares, with columns of any size."""
    matrix = np.column_stack(columns)
    size = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    found: Array = np.linalg.lstsq(matrix / size, right, rcond=None)[0] / size
    return found


def first_values(recording: Recording, names: Mapping[str, str], chain: Chain) -> dict[str, float]:
    """Return parameters by least squares, those that come out above zero."""
    motor, train, load = chain.parts.motor, chain.parts.train, chain.parts.load
    rate = float(recorded_rate(recording))
    v, i, a = (recording[names[k]] for k in ("voltage", "current", "angle"))
    w = Windows(len(v), rate)
    speed = w.derivative(a)
    R, L, kt = solved([w.value(i), w.derivative(i), speed], w.held(v))
    found = {"motor.R": R, "motor.L": L, "motor.kt": kt}
    turning = np.sign(np.gradient(a))
    own = [w.second(a), speed, w.value(turning)]
    ratio, drive = float(train.ratio), kt * w.value(i)
    J, JL = float(motor.J), float(getattr(load, "J", 0.0))
    b, bL = (float(getattr(part, "b", 0.0)) for part in (motor, load))
    if "load_angle" not in names:
        total, viscous, dry = solved(own, drive)
        share, less = total / (J + JL / ratio**2), viscous / max(b + bL / ratio**2, 1e-300)
        found |= {"motor.J": J * share, "load.J": JL * share, "motor.coulomb": dry}
        found |= {"motor.b": b * less, "load.b": bL * less}
    else:
        end = recording[names["load_angle"]]
        load_terms = [w.second(end), w.derivative(end)]
        J, b, dry, JL, bL = solved([*own, *(x / ratio for x in load_terms)], drive)
        found |= {"motor.J": J, "motor.b": b, "motor.coulomb": dry, "load.J": JL, "load.b": bL}
        if getattr(train, "stiffness", 0.0):
            torque = JL * load_terms[0] + bL * load_terms[1]
            gapped = getattr(train, "gap", None) is not None
            found |= _spring(w, a / ratio - end, torque, gapped)
    return {n: float(x) for n, x in found.items() if np.isfinite(x) and x > 0.0}


def _spring(w: Windows, twist: Array, torque: Array, gapped: bool) -> dict[str, float]:
    """Return stiffness, damping and gap from the twist between two encoders and the torque."""
    best: tuple[float, dict[str, float]] = (np.inf, {})
    widest = float(np.quantile(np.abs(twist), 0.9))
    for gap in np.linspace(0.0, widest, 40) if gapped else (0.0,):
        pressed = np.sign(twist) * np.maximum(np.abs(twist) - gap, 0.0)
        columns = [w.value(pressed), w.derivative(twist)]
        K, B = solved(columns, torque)
        rest = float(np.sum((columns[0] * K + columns[1] * B - torque) ** 2))
        if rest < best[0]:
            best = rest, {"train.stiffness": K, "train.damping": B, "train.gap": float(gap)}
    return best[1]


@dataclass(frozen=True, slots=True, eq=False)
class FrictionCurve:
    """Friction of a motor over its speed, as measured.

    Args:
        speed: rad/s, the middle of each bin.
        torque: N*m, the mean in each bin.
        deviation: N*m, of that mean.
        counts: how many windows were in each bin.

    >>> FrictionCurve(np.array([1.0]), np.array([0.1]), np.array([0.01]), np.array([9])).torque
    array([0.1])
    """

    speed: Array
    torque: Array
    deviation: Array
    counts: Array


def measured_friction(
    recording: Recording, names: Mapping[str, str], chain: Chain, bins: int
) -> FrictionCurve:
    """Return the friction of a motor over its speed, with inertias and load of a drive known."""
    motor, train, load = chain.parts.motor, chain.parts.train, chain.parts.load
    i, a = (recording[names[k]] for k in ("current", "angle"))
    w = Windows(len(a), float(recorded_rate(recording)))
    ratio = float(train.ratio)
    end = recording[names["load_angle"]] if "load_angle" in names else a / ratio
    torque = float(getattr(motor, "kt", 0.0)) * w.value(i) - float(motor.J) * w.second(a)
    for name, part in (("J", w.second(end)), ("b", w.derivative(end))):
        torque = torque - float(getattr(load, name, 0.0)) * part / ratio
    size = w.value(np.ones(len(a)))
    speed, torque = w.derivative(a) / size, torque / size
    turning = np.sign(np.gradient(a))
    one_way = (
        np.abs(w.value(turning)) > 0.98 * size
    )  # dry friction is told where nothing turns back
    speed, torque = speed[one_way], torque[one_way]
    if len(speed) < bins:
        raise IdentificationError(
            f"{len(speed)} windows in which the motor keeps turning are too few for {bins} bins",
            remedy="record a longer motion, or ask for fewer bins",
            code="R651",
        )
    edges = np.linspace(speed.min(), speed.max(), bins + 1)
    home = np.clip(np.digitize(speed, edges) - 1, 0, bins - 1)
    rows = []
    for k in range(bins):
        own = torque[home == k]
        if len(own) > 1:
            spread = float(np.std(own, ddof=1)) / np.sqrt(len(own))
            rows.append((float(np.mean(speed[home == k])), float(np.mean(own)), spread, len(own)))
    return FrictionCurve(*np.array(rows).T)
