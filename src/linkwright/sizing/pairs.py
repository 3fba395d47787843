"""Motors with gears, many at a time: what each would do under the load of one joint.

Every judgment is a value, a limit and a margin (limit - value)/limit, or (value - limit)/limit
where more is better. `judge` works on all pairs at once; with `exact` it keeps every sample in the
count of heat, and says when each value occurs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.catalog.schema import Catalog, GearEntry, MotorEntry
from linkwright.sizing.life import HOUR
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.thermal import ThermalNetwork, periodic

__all__ = ["FORMULAS", "Demands", "Judged", "Judgment", "Pairs", "judge"]

Array: TypeAlias = NDArray[Any]

HOLD = 1.5
"""How many times the torque at rest a brake holds."""

STIFF = 2.0
"""How far the lowest resonance lies above the bandwidth (Paul 1981, Craig 1986)."""

FORMULAS = {
    "peak torque": ("N*m", "max |T_m| <= T_peak"),
    "continuous torque": ("N*m", "rms T_m <= T_c sqrt((T_hot - T_a)/(T_hot - T_r))"),
    "motor speed": ("rad/s", "n max |w| <= w_max"),
    "voltage": ("V", "max |R(T_hot) i + k_e n w| <= U_bus"),
    "winding": ("°C", "periodic two-node temperature with R(T) <= T_hot"),
    "housing": ("°C", "periodic two-node temperature <= T_housing"),
    "repeated peak": ("", "max |T| <= T_repeated"),
    "emergency stop": ("", "(J_L n T_peak/e + n^2 J |T_r|/e)/(J_L + n^2 J/e) <= T_momentary"),
    "average torque": ("", "(sum |w| |T|^p t / sum |w| t)^(1/p) <= T_average"),
    "average speed": ("rad/s", "n mean |w| <= w_average"),
    "gear speed": ("rad/s", "n max |w| <= w_gear"),
    "gear life": ("h", "L_r (T_r/T_av)^p w_r/w_av >= life"),
    "inertia ratio": ("", "max J_L/(n^2 J) <= ratio"),
    "resonance": ("Hz", "sqrt(k/J_L)/(2 pi) >= 2 bandwidth"),
    "wind-up": ("", "max |T|/k <= wind-up"),
    "brake": ("N*m", "1.5 max |T_still|/n <= T_brake"),
    "amplifier peak": ("A", "max |i| <= i_peak"),
    "amplifier": ("A", "rms i <= i_continuous"),
}
"""Unit and formula of each judgment; a unit that is empty is that of the joint, or none."""

MATCHED = ("brake", "amplifier peak", "amplifier", "bearing life", "bearing safety")
AT_LEAST = ("gear life", "resonance")


TILE = (64, 640)
"""Pairs and samples that are multiplied at a time: they fit in a cache, and in one BLAS thread."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What is asked of drives beside the load.

    Args:
        life: h.
        ambient: °C.
        voltage: of the bus, V.
        inertia_ratio: largest load inertia over that of the motor, at the motor; or None.
        bandwidth: of position control, Hz; or None.
        windup: largest twist of the gear, rad or m; or None.
        brakes: whether each joint has a brake.
    """

    life: float
    ambient: float
    voltage: float
    inertia_ratio: float | None = 10.0
    bandwidth: float | None = None
    windup: float | None = None
    brakes: bool = True


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of motors and gears as columns of numbers.

    Args:
        motors: names, one for each pair.
        gears: names.
        catalog: that they stand in.
    """

    motors: tuple[str, ...]
    gears: tuple[str, ...]
    catalog: Catalog

    @staticmethod
    def all_of(catalog: Catalog, kind: str, voltage: float) -> Pairs:
        """Return every pair that suits a kind of joint, of motors that stand the voltage."""
        gears = [n for n, g in catalog.gear.items() if (g.lead is None) == (kind == "revolute")]
        motors = [n for n, m in catalog.motor.items() if m.voltage >= voltage]
        both = [(m, g) for m in motors for g in gears]
        return Pairs(tuple(m for m, _ in both), tuple(g for _, g in both), catalog)

    def __len__(self) -> int:
        return len(self.motors)

    def take(self, which: Array) -> Pairs:
        """Return some of them, by index."""
        return Pairs(
            tuple(self.motors[k] for k in which),
            tuple(self.gears[k] for k in which),
            self.catalog,
        )

    def _of_motors(self, values: Sequence[str]) -> Array:
        table = {n: [getattr(m, v) for v in values] for n, m in self.catalog.motor.items()}
        return np.array([table[n] for n in self.motors], dtype=float).T.reshape(len(values), -1)

    def _of_gears(self, values: Sequence[str]) -> Array:
        table = {
            n: [np.nan if getattr(g, v) is None else getattr(g, v) for v in values]
            for n, g in self.catalog.gear.items()
        }
        return np.array([table[n] for n in self.gears], dtype=float).T.reshape(len(values), -1)

    @cached_property
    def motor(self) -> dict[str, Array]:
        """Numbers of the motors, by name of the key."""
        names = (
            *("R", "kt", "J", "continuous", "peak", "speed", "friction", "damping", "hottest"),
            *("ambient", "alpha", "mass", "price"),
        )
        return dict(zip(names, self._of_motors(names), strict=True))

    @cached_property
    def gear(self) -> dict[str, Array]:
        """Numbers of the gears, by name of the key."""
        names = (
            *("reduction", "efficiency", "no_load", "J", "rated", "rated_speed", "rated_life"),
            *("average", "repeated", "momentary", "average_speed", "speed", "stiffness"),
            *("exponent", "mass", "price"),
        )
        return dict(zip(names, self._of_gears(names), strict=True))

    def networks(self, which: Array) -> ThermalNetwork:
        """Return the thermal networks of some of the motors."""
        return ThermalNetwork.of([self.catalog.motor[self.motors[k]] for k in which])

    def parts(self, k: int) -> tuple[MotorEntry, GearEntry]:
        """Return motor and gear of one pair."""
        return self.catalog.motor[self.motors[k]], self.catalog.gear[self.gears[k]]


@dataclass(frozen=True, slots=True)
class Judgment:
    """One judgment on all pairs: values, limits, and samples where known."""

    value: Array
    limit: Array
    margin: Array
    at: Array | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """All judgments on all pairs, and what else they are chosen by.

    Args:
        judgments: by name, a key of `FORMULAS`.
        margin: the smallest of all.
        energy: from the bus in one cycle, with a hot winding, J.
        mass: of what the joint carries: motor, gear and brake, kg.
        price: with the amplifier.
        brake: index among the brakes by torque, or -1.
        amplifier: index among those of `amplifiers_of`, or -1.
    """

    judgments: dict[str, Judgment]
    margin: Array
    energy: Array
    mass: Array
    price: Array
    brake: Array
    amplifier: Array

    @property
    def fits(self) -> Array:
        """Whether each pair passes everything."""
        return np.asarray(self.margin >= 0.0)

    def limiting(self, k: int) -> str:
        """Return the judgment with the smallest margin of a pair."""
        named = {n: float(j.margin[k]) for n, j in self.judgments.items()}
        counted = {n: m for n, m in named.items() if n not in MATCHED or m < 0.0}
        return min(counted, key=lambda n: counted[n])


class _Book:
    """Judgments as they are made."""

    def __init__(self) -> None:
        self.found: dict[str, Judgment] = {}

    def say(self, name: str, value: Array, limit: Any, at: Any = None, base: float = 0.0) -> None:
        """Add a judgment; margins are counted from `base`, which for temperatures is not 0."""
        limit = np.broadcast_to(np.asarray(limit, dtype=float), value.shape)
        room = limit - base
        with np.errstate(invalid="ignore", divide="ignore"):
            margin = ((value - limit) if name in AT_LEAST else (limit - value)) / room
        margin = np.where(room > 0.0, margin, -np.inf)
        margin = np.where(np.isnan(limit) | np.isnan(value), np.inf, margin)
        when = None if at is None else np.broadcast_to(np.asarray(at), value.shape)
        self.found[name] = Judgment(value, limit, margin, when)

    def margin(self) -> Array:
        """Return the smallest margin of all.

        Brakes and amplifiers are the weakest that will do, so they count only where none does.
        """
        return np.asarray(
            np.minimum.reduce(
                [
                    np.where(j.margin >= 0.0, np.inf, j.margin) if name in MATCHED else j.margin
                    for name, j in self.found.items()
                ]
            )
        )


def brakes_of(catalog: Catalog) -> list[str]:
    """Return the names of brakes, weakest first."""
    return sorted(catalog.brake, key=lambda n: catalog.brake[n].torque)


def amplifiers_of(catalog: Catalog, voltage: float) -> list[str]:
    """Return the names of amplifiers that stand a voltage: lowest voltage first, then weakest."""
    fit = {n: a for n, a in catalog.amplifier.items() if a.voltage >= voltage}
    return sorted(fit, key=lambda n: (fit[n].voltage, fit[n].peak, fit[n].price))


def judge(load: JointLoad, pairs: Pairs, terms: Demands, *, exact: bool = False) -> Judged:
    """Return what each pair does under a load, against what it may do."""
    m, g = pairs.motor, pairs.gear
    n, e = g["reduction"], g["efficiency"]
    book = _Book()
    brake, held, inertia, more_mass, more_price = _brakes(load, pairs, terms)
    if held is not None:
        book.say("brake", *held)
    rotor = m["J"] + g["J"] + inertia
    parts = np.stack(_parts(n, e, rotor, m["damping"], m["friction"] + g["no_load"]), axis=1)
    hot = m["R"] * (1.0 + m["alpha"] * (m["hottest"] - 20.0))
    volts = parts * (hot / m["kt"])[:, None]
    volts[:, 4] += m["kt"] * n
    series = load.series if exact else load.extremes
    peak, peak_at = _largest(parts, series, exact)
    book.say("peak torque", peak, m["peak"], peak_at)
    book.say("voltage", *_swap(_largest(volts, series, exact), terms.voltage))
    mean = np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", parts, load.mean_squares, parts), 0.0))
    room = np.maximum(m["hottest"] - terms.ambient, 0.0) / (m["hottest"] - m["ambient"])
    book.say("continuous torque", mean, m["continuous"] * np.sqrt(room))
    _gears(load, pairs, terms, book)
    fast, fast_at = load.fastest
    book.say("motor speed", n * fast, m["speed"], fast_at)
    _stiffness(load, pairs, terms, rotor, book)
    amplifier, amp_price = _amplifiers(pairs, terms, peak / m["kt"], mean / m["kt"], peak_at, book)
    margin = book.margin()
    survivors = np.arange(len(pairs)) if exact else np.flatnonzero(margin >= 0.0)
    _heat(load, pairs, terms, parts, survivors, exact, book)
    work = n * (parts @ load.mean_squares[:, 4])
    energy = load.cycle.duration * (hot * (mean / m["kt"]) ** 2 + work)
    return Judged(
        book.found,
        book.margin(),
        energy,
        m["mass"] + g["mass"] + more_mass,
        m["price"] + g["price"] + more_price + amp_price,
        brake,
        amplifier,
    )


def _parts(n: Any, efficiency: Any, inertia: Any, damping: Any, friction: Any) -> list[Any]:
    """Return what the six series of a load are multiplied by in the torque at the motor."""
    return [1.0 / (n * efficiency), efficiency / n, 1.0 / n, inertia * n, damping * n, friction]


def shaft_torque(load: JointLoad, motor: MotorEntry, gear: GearEntry, brake: float = 0.0) -> Array:
    """Return the torque at the shaft of one motor, N·m; the brake adds its inertia, kg·m²."""
    inertia, friction = motor.J + gear.J + brake, motor.friction + gear.no_load
    parts = _parts(gear.reduction, gear.efficiency, inertia, motor.damping, friction)
    return np.asarray(load.series @ np.array(parts))


def _swap(found: tuple[Array, Any], limit: Any) -> tuple[Array, Any, Any]:
    return found[0], limit, found[1]


def _largest(parts: Array, series: Array, exact: bool) -> tuple[Array, Array | None]:
    """Return the largest magnitude of series times parts for each pair, and its sample."""
    pairs, samples = len(parts), len(series)
    best = np.zeros(pairs)
    at = np.zeros(pairs, dtype=int) if exact else None
    columns = np.ascontiguousarray(series.T)
    wide, high = min(pairs, TILE[0]), min(samples, TILE[1])
    buffer = np.empty((wide, high))
    for p in range(0, pairs, wide):
        some = parts[p : p + wide]
        for s in range(0, samples, high):
            part = columns[:, s : s + high]
            out = buffer[: len(some), : part.shape[1]]
            if out.flags.c_contiguous:
                np.matmul(some, part, out=out)
            else:
                out = some @ part
            top, low = out.max(axis=1), out.min(axis=1)
            reach = np.maximum(top, -low)
            if at is not None:
                better = reach > best[p : p + wide]
                where = np.argmax(np.abs(out), axis=1) + s
                at[p : p + wide] = np.where(better, where, at[p : p + wide])
            best[p : p + wide] = np.maximum(best[p : p + wide], reach)
    return best, at


def _brakes(
    load: JointLoad, pairs: Pairs, terms: Demands
) -> tuple[Array, tuple[Array, Array, int] | None, Array, Array, Array]:
    """Return the weakest brake that holds: index, judgment, inertia, mass, price."""
    names = brakes_of(pairs.catalog) if terms.brakes else []
    nothing = np.zeros(len(pairs))
    if not names:
        return np.full(len(pairs), -1), None, nothing, nothing, nothing
    torque, at = load.holding
    table = [pairs.catalog.brake[n] for n in names]
    strengths = np.array([b.torque for b in table])
    needed = HOLD * torque / pairs.gear["reduction"]
    chosen = np.minimum(np.searchsorted(strengths, needed), len(names) - 1)
    inertia, mass, price = (
        np.array([getattr(b, key) for b in table])[chosen] for key in ("J", "mass", "price")
    )
    return chosen, (needed, strengths[chosen], at), inertia, mass, price


def _amplifiers(
    pairs: Pairs, terms: Demands, peak: Array, mean: Array, at: Array | None, book: _Book
) -> tuple[Array, Array]:
    """Judge the first amplifier that carries the currents, or the strongest; index and price."""
    names = amplifiers_of(pairs.catalog, terms.voltage)
    if not names:
        return np.full(len(pairs), -1), np.zeros(len(pairs))
    table = [pairs.catalog.amplifier[n] for n in names]
    chosen = np.full(len(pairs), max(range(len(names)), key=lambda k: table[k].peak))
    for k in reversed(range(len(names))):
        chosen[(table[k].peak >= peak) & (table[k].continuous >= mean)] = k
    tops, steady, price = (
        np.array([getattr(a, key) for a in table])[chosen]
        for key in ("peak", "continuous", "price")
    )
    book.say("amplifier peak", peak, tops, at)
    book.say("amplifier", mean, steady)
    return chosen, price


def _gears(load: JointLoad, pairs: Pairs, terms: Demands, book: _Book) -> None:
    g = pairs.gear
    n = g["reduction"]
    peak, peak_at = load.peak
    fast, fast_at = load.fastest
    ones = np.ones(len(pairs))
    book.say("repeated peak", peak * ones, g["repeated"], peak_at)
    average = np.zeros(len(pairs))
    for exponent in np.unique(g["exponent"]):
        average[g["exponent"] == exponent] = load.average(float(exponent))
    speed = n * load.mean_speed
    book.say("average torque", average, g["average"])
    book.say("average speed", speed, g["average_speed"])
    book.say("gear speed", n * fast, g["speed"], fast_at)
    with np.errstate(divide="ignore", over="ignore"):
        life = g["rated_life"] * (g["rated"] / average) ** g["exponent"] * g["rated_speed"] / speed
    book.say("gear life", life / HOUR, terms.life)


def _stiffness(load: JointLoad, pairs: Pairs, terms: Demands, rotor: Array, book: _Book) -> None:
    m, g = pairs.motor, pairs.gear
    n, e, k = g["reduction"], g["efficiency"], g["stiffness"]
    if terms.windup is not None:
        book.say("wind-up", load.peak[0] / k, terms.windup, load.peak[1])
    if load.inertia is None:
        return
    heaviest = int(np.argmax(load.inertia))
    inertia = float(load.inertia[heaviest])
    if terms.inertia_ratio is not None:
        book.say("inertia ratio", inertia / (n**2 * rotor), terms.inertia_ratio, heaviest)
    if terms.bandwidth is not None:
        lowest = np.sqrt(k / inertia) / (2.0 * math.pi)
        book.say("resonance", lowest, STIFF * terms.bandwidth, heaviest)
    masses, rest, samples = load.stops
    reflected = (n**2 * rotor / e)[:, None]
    stop = (masses * (n * m["peak"] / e)[:, None] + rest * reflected) / (masses + reflected)
    worst = np.argmax(stop, axis=1)
    book.say("emergency stop", stop[np.arange(len(pairs)), worst], g["momentary"], samples[worst])


def _heat(
    load: JointLoad,
    pairs: Pairs,
    terms: Demands,
    parts: Array,
    which: Array,
    exact: bool,
    book: _Book,
) -> None:
    """Judge the periodic temperatures of some pairs; the others are out already."""
    m = pairs.motor
    winding = np.full(len(pairs), np.nan)
    housing = np.full(len(pairs), np.nan)
    at = np.zeros((2, len(pairs)), dtype=int)
    if exact:
        durations = load.durations
        squares = load.squares(np.arange(len(durations)), durations)
        w = np.abs(load.cycle.speed)
        speed = 0.5 * (w[1:] + w[:-1])
    else:
        durations, squares, speed = load.bin_durations, load.bin_squares, load.bin_speed
    flat = squares.reshape(len(durations), -1).T
    for start in range(0, len(which), 512):
        some = which[start : start + 512]
        c = parts[some]
        products = (c[:, :, None] * c[:, None, :]).reshape(len(some), -1)
        current = np.maximum(products @ flat, 0.0) / m["kt"][some, None] ** 2
        turn = pairs.gear["reduction"][some, None] * speed
        rubbed = m["friction"][some, None] * turn + m["damping"][some, None] * turn**2
        found = periodic(pairs.networks(some), durations, current, rubbed, terms.ambient)
        winding[some], housing[some] = found.winding.max(axis=1), found.housing.max(axis=1)
        at[0, some], at[1, some] = found.winding.argmax(axis=1), found.housing.argmax(axis=1)
    when: tuple[Any, Any] = (at[0], at[1]) if exact else (None, None)
    book.say("winding", winding, m["hottest"], when[0], base=terms.ambient)
    limits = {k: v.housing_hottest for k, v in pairs.catalog.motor.items()}
    allowed = [limits[name] for name in pairs.motors]
    if any(x is not None for x in allowed):
        limit = np.array([np.nan if x is None else x for x in allowed])
        book.say("housing", housing, limit, when[1], base=terms.ambient)
