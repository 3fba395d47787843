"""A wrist's loop along one axis with its numbers: both criteria side by side, and what it may have.

The continuous criterion is Routh's of the polynomial that the bilinear rule gives. The sampled one
is the spectral radius of the exact loop, in which the arm stands still between ticks. The first
is often the more careful of a light tool, and not of a heavy one: both are reported. The polynomial
stands for one order of what happens at a tick (`WristLoop.continuous_order`); the matrix knows all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import fits
from linkwright.base.errors import InputError, unknown
from linkwright.base.reprs import brief
from linkwright.contact.characteristic_polynomials import (
    CharacteristicPolynomial,
    characteristic,
    coefficients,
    hurwitz,
)
from linkwright.control.force.sampled_limits import (
    CONTACT_LAWS,
    CONTACT_ORDERS,
    USUAL_ORDERS,
    gain_limit,
    sampled_matrix,
)

__all__ = ["VERDICTS", "WristLoop"]

Array = NDArray[np.float64]
VERDICTS = ("stable", "ringing", "unstable")
"""What is said of a loop: a ringing one is stable, and swings for a while with little damping."""
RINGING = 0.2
"""Damping ratio of a swing below which a stable loop is said to ring."""
LASTING = 0.5
"""What must be left of a swing after a tick for it to count."""
EDGE = 1e-9
PARAMETERS = ("m", "Cw", "Kw", "gain", "a", "T", "Ke", "Ce")
"""What a loop's numbers are called; the gain is also Kp or KF, as its law calls it."""


@dataclass(frozen=True, slots=True)
class WristLoop:
    """A compliant wrist on a position-controlled arm, along one axis, with its law.

    Args:
        law: a key of `linkwright.control.force.CONTACT_LAWS`: "position", "force", "accumulating".
        gain: Kp of the position law, KF of the others.
        m: mass of the tool, kg (kg*m^2 about an axis).
        Cw: damping of the wrist, N*s/m.
        Kw: stiffness of the wrist, N/m.
        a: pole of the filter, from 0 to below 1.
        T: period, s.
        Ke: stiffness of what is touched, N/m; 0 for nothing.
        Ce: damping of what is touched, N*s/m.
        order: a key of `linkwright.control.force.CONTACT_ORDERS`; the law's own by default.

    >>> loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0, a=0.6, T=0.028)
    >>> round(loop.radius, 3), loop.sampled, loop.continuous
    (1.11, 'unstable', 'unstable')
    """

    law: str
    gain: float
    m: float
    Cw: float
    Kw: float
    a: float = 0.0
    T: float = 0.028
    Ke: float = 0.0
    Ce: float = 0.0
    order: str = ""

    def __post_init__(self) -> None:
        """Reject numbers that mean nothing."""
        for name in PARAMETERS:
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        if self.m == 0:
            raise InputError(
                "the tool has no mass, and no polynomial",
                remedy="give m a positive number; control.force.sampled_radius needs none",
            )
        sampled_matrix(self.law, **self._numbers())
        if not self.order:
            object.__setattr__(self, "order", USUAL_ORDERS[self.law])

    @property
    def gain_name(self) -> str:
        """What its law calls the gain, Kp or KF."""
        return "Kp" if self.law == "position" else "KF"

    @property
    def polynomial(self) -> CharacteristicPolynomial:
        """Its characteristic polynomial, with the filter, and with surroundings if it has some."""
        return characteristic(self.law, environment=self.Ke > 0 or self.Ce > 0)

    @property
    def values(self) -> dict[str, float]:
        """Its numbers by the names of the polynomial's symbols."""
        own = {n: float(getattr(self, n)) for n in PARAMETERS if n != "gain"}
        return {self.gain_name: self.gain, **own}

    @property
    def continuous(self) -> str:
        """What Routh's conditions say: "stable", "ringing" or "unstable".

        They stand for the order `continuous_order`, whatever the loop's own is.
        """
        return VERDICTS[int(continuous_verdicts(self))]

    @property
    def continuous_order(self) -> str:
        """The order that the polynomial stands for.

        It is "new-place" of the position and the force law, "old-place" of the accumulating one.
        """
        return self.polynomial.order

    @property
    def conditions(self) -> dict[str, float]:
        """What must be positive by Routh, in words, and the numbers."""
        numbers = list(self.polynomial.at(self.values))
        if self.law == "accumulating" and self.Ke == 0 and self.Ce > 0:
            numbers.pop()  # nothing holds the arm, which stays anywhere
        return {words: float(value) for words, value in hurwitz(numbers)}

    @property
    def violated(self) -> tuple[str, ...]:
        """Those of `conditions` that do not hold."""
        return tuple(words for words, value in self.conditions.items() if not value > 0)

    @property
    def sampled(self) -> str:
        """What the exact sampled loop does: "stable", "ringing" or "unstable"."""
        return VERDICTS[int(sampled_verdicts(self))]

    @property
    def radius(self) -> float:
        """Spectral radius of the exact sampled loop; below 1 it is stable.

        The pole at 1 of an accumulating arm that touches nothing, and so stays anywhere, is left
        out.
        """
        return float(sampled(self)[0])

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Poles of the exact sampled loop, the slowest first."""
        found = np.linalg.eigvals(self.matrix).astype(complex)
        return found[np.argsort(-np.abs(found))]

    @property
    def matrix(self) -> Array:
        """The exact sampled loop, as of `linkwright.control.force.sampled_matrix`."""
        return sampled_matrix(self.law, **self._numbers())

    @property
    def alpha0(self) -> float:
        """(1 - a)/(1 + a) of the filter."""
        return (1 - self.a) / (1 + self.a)

    @property
    def f0(self) -> float:
        """2/T of the bilinear rule, 1/s."""
        return 2 / self.T

    @property
    def frequency_ratio(self) -> float:
        """P0 or Q0: natural frequency over that of the wrist alone, s^3 being neglected.

        P0 = (1 - Kp + Cw/(m*alpha0*f0))^(-1/2) of the position law may exceed 1, which is where
        resonance is possible; Q0 = (1 + KF + Cw/(m*alpha0*f0))^(-1/2) of the force law never does.
        """
        if self.law == "accumulating":
            raise InputError(
                "natural-frequency ratios are those of the laws from the specified place",
                remedy='use law="position" or law="force"',
            )
        sign = -1.0 if self.law == "position" else 1.0
        square = 1 + sign * self.gain + self.Cw / (self.m * self.alpha0 * self.f0)
        return square**-0.5 if square > 0 else float("inf")

    @property
    def critical_alpha0(self) -> float:
        """Of the position law, alpha0 at which P0 is 1: Cw/(Kp*m*f0); beyond it P0 exceeds 1.

        For Kp = 0.8, Cw = 10 N*s/m, f0 = 100 1/s and m = 0.1 kg it is 1.25.
        """
        if self.law != "position" or self.gain == 0:
            return float("inf")
        return self.Cw / (self.gain * self.m * self.f0)

    @property
    def gain_limit(self) -> float:
        """The gain up to which the sampled loop is stable, from 0 on; inf where there is none."""
        given = self._numbers()
        del given["gain"]
        return gain_limit(self.law, **given)

    @property
    def continuous_limit(self) -> float:
        """The gain up to which Routh's conditions hold, from 0 on; inf beyond 20."""
        gains = np.geomspace(1e-4, 20.0, 400)
        bad = np.flatnonzero(continuous_verdicts(self, {"gain": gains}) == 2)
        if not bad.size:
            return float("inf")
        if bad[0] == 0:
            return 0.0
        low, high = gains[bad[0] - 1], gains[bad[0]]
        for _ in range(60):
            middle = (low + high) / 2
            if continuous_verdicts(self, {"gain": middle}) == 2:
                high = middle
            else:
                low = middle
        return float(low)

    @property
    def stiffness(self) -> float:
        """What the tool feels like at rest, N/m: Kw/(1 - Kp), Kw/(1 + KF), or 0."""
        if self.law == "accumulating":
            return 0.0
        if self.law == "force":
            return self.Kw / (1 + self.gain)
        return self.Kw / (1 - self.gain) if self.gain != 1 else float("inf")

    def changed(
        self,
        *,
        law: str | None = None,
        gain: float | None = None,
        Kp: float | None = None,
        KF: float | None = None,
        m: float | None = None,
        Cw: float | None = None,
        Kw: float | None = None,
        a: float | None = None,
        T: float | None = None,
        Ke: float | None = None,
        Ce: float | None = None,
        order: str | None = None,
    ) -> WristLoop:
        """Return the loop with other numbers; what is not given stays.

        Args:
            law: another law; it keeps the order, unless another is given.
            gain: of the law.
            Kp: the same, of the position law.
            KF: the same, of the others.
            m: mass of the tool, kg.
            Cw: damping of the wrist, N*s/m.
            Kw: stiffness of the wrist, N/m.
            a: pole of the filter.
            T: period, s.
            Ke: stiffness of what is touched, N/m.
            Ce: damping of what is touched, N*s/m.
            order: of what happens at a tick.

        >>> loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0, a=0.6)
        >>> round(loop.changed(a=0.95).radius, 3)
        0.948
        """
        given = {"law": law, "gain": gain, "Kp": Kp, "KF": KF, "m": m, "Cw": Cw, "Kw": Kw, "a": a,
                 "T": T, "Ke": Ke, "Ce": Ce, "order": order}  # fmt: skip
        base = self if law is None else replace(self, law=law)
        named: dict[str, Any] = {
            parameter(base, n) if n in ("Kp", "KF") else n: v
            for n, v in given.items()
            if v is not None
        }
        return replace(base, **named)

    @property
    def stands_for(self) -> str:
        """Which order the continuous criterion is of, and whether that of the loop is another."""
        by = f"by the polynomial of {self.continuous_order}"
        return by if self.order == self.continuous_order else f"{by}, not of {self.order}"

    def rows(self) -> list[tuple[str, str]]:
        """Return what is said of the loop, in words: a label and a text for each line."""
        rows = [
            ("law", CONTACT_LAWS[self.law]),
            ("order", f"{self.order}: {CONTACT_ORDERS[self.order].words}"),
            ("continuous", f"{self.continuous}, {self.stands_for}: {self.polynomial.words} = 0"),
            ("conditions", "; ".join(f"{name} {x:.4g}" for name, x in self.conditions.items())),
        ]
        if self.violated:
            rows.append(("violated", f"{'; '.join(self.violated)}: must be positive"))
        rows.append(("sampled", f"{self.sampled}: spectral radius {self.radius:.4f}"))
        limits = (self.continuous_limit, self.gain_limit)
        most = ["no limit" if x == float("inf") else f"{x:.4g}" for x in limits]
        gain = f"{self.gain_name} = {self.gain:g}"
        rows.append(("limits", f"{gain}; continuous {most[0]}, sampled {most[1]}"))
        if self.law != "accumulating":
            ratio = "P0" if self.law == "position" else "Q0"
            own = f"{self.frequency_ratio:.4g}, natural frequency over the wrist's own"
            rows.append((ratio, own))
        if self.law == "position":
            critical = f"P0 is 1 at {self.critical_alpha0:.4g}"
            critical = critical if self.gain else "P0 never exceeds 1"
            rows.append(("alpha0", f"{self.alpha0:.4g} of the filter; {critical}"))
        rest = "rigid" if self.stiffness == float("inf") else f"{self.stiffness:.4g} N/m"
        rows.append(("stiffness", f"{rest} at rest; {self.Kw:.4g} N/m of the wrist alone"))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Return all that is said of the loop as plain data; what is infinite is None."""
        told: dict[str, Any] = asdict(self)
        told |= {
            "polynomial": self.polynomial.words,
            "coefficients": [float(c) for c in self.polynomial.at(self.values)],
            "conditions": self.conditions,
            "violated": list(self.violated),
            "continuous": self.continuous,
            "continuous_order": self.continuous_order,
            "sampled": self.sampled,
            "radius": self.radius,
            "poles": [[float(p.real), float(p.imag)] for p in self.poles],
            "gain_limit": self.gain_limit,
            "continuous_limit": self.continuous_limit,
            "stiffness": self.stiffness,
        }
        if self.law != "accumulating":
            told["frequency_ratio"] = self.frequency_ratio
        if self.law == "position":
            told["critical_alpha0"] = self.critical_alpha0
        told["order_words"] = CONTACT_ORDERS[self.order].words
        return {n: None if v == float("inf") else v for n, v in told.items()}

    def _numbers(self) -> dict[str, Any]:
        return {
            "gain": self.gain, "stiffness": self.Kw, "mass": self.m, "damping": self.Cw,
            "filter": self.a, "period": self.T, "environment_stiffness": self.Ke,
            "environment_damping": self.Ce, "order": self.order,
        }  # fmt: skip


def _number(name: str, value: object) -> float:
    if fits(value, float):
        try:
            return float(cast(float, value))
        except (TypeError, ValueError, OverflowError):
            pass
    raise InputError(
        f"{name} of a wrist's loop is {brief(value)}, which is not a number",
        remedy="give a number; texts with units are for wrist files",
    )


def parameter(loop: WristLoop, name: str) -> str:
    """Return a parameter's own name: Kp and KF are the gain of the laws that have them.

    >>> parameter(WristLoop("force", 0.2, m=0.5, Cw=3.0, Kw=500.0), "KF")
    'gain'
    """
    if name == loop.gain_name:
        return "gain"
    if name in PARAMETERS:
        return name
    known = [loop.gain_name, *(n for n in PARAMETERS if n != "gain")]
    if name in ("Kp", "KF"):
        told = f"the gain of the {loop.law} law is {loop.gain_name}, not {name}"
        raise InputError(told, remedy=f"write {loop.gain_name}")
    raise unknown("parameter", name, known, owner="a wrist's loop")


def continuous_verdicts(loop: WristLoop, over: Mapping[str, Any] | None = None) -> NDArray[np.int8]:
    """Return what Routh's conditions say, as places in `VERDICTS`."""
    at = arrays(loop, over)
    at |= {"alpha0": (1 - at["a"]) / (1 + at["a"]), "f0": 2 / at["T"]}
    gain = -at["gain"] if loop.law == "position" else at["gain"]
    found = coefficients(loop.law, at, gain, filtered=True, one=np.ones_like(at["m"]))
    said = _routh(found, at["T"])
    if loop.law == "accumulating":  # where nothing is touched, the arm stays anywhere
        said = np.where(at["Ke"] > 0, said, _routh(found[:-1], at["T"]))
    return said


def _routh(c: list[Any], T: Array) -> NDArray[np.int8]:
    good = np.all([np.asarray(x) > 0 for _, x in hurwitz(c)], axis=0)
    roots = _roots(np.stack(np.broadcast_arrays(*c), -1))
    return verdicts_of(good, roots * T[..., None])


def sampled_verdicts(loop: WristLoop, over: Mapping[str, Any] | None = None) -> NDArray[np.int8]:
    """Return what the exact sampled loop does, as places in `VERDICTS`."""
    return sampled(loop, over)[1]


def sampled(
    loop: WristLoop, over: Mapping[str, Any] | None = None
) -> tuple[Array, NDArray[np.int8]]:
    """Return spectral radii of the exact sampled loop, as `WristLoop.radius`, and its verdicts."""
    at = arrays(loop, over)
    matrix = sampled_matrix(
        loop.law, gain=at["gain"], stiffness=at["Kw"], mass=at["m"], damping=at["Cw"],
        filter=at["a"], period=at["T"], environment_stiffness=at["Ke"],
        environment_damping=at["Ce"], order=loop.order,
    )  # fmt: skip
    poles = np.linalg.eigvals(matrix).astype(complex)
    if loop.law == "accumulating":  # the pole at 1 of an arm that touches nothing
        anywhere = (np.abs(poles - 1) < 1e-7) & (at["Ke"] == 0)[..., None]
        poles = np.where(anywhere, 0, poles)
    radius = np.abs(poles).max(axis=-1)
    with np.errstate(divide="ignore"):
        rates = np.where(poles == 0, -1e9, np.log(np.where(poles == 0, 1, poles)))
    return radius, verdicts_of(radius < 1 - EDGE, rates)


def arrays(loop: WristLoop, over: Mapping[str, Any] | None) -> dict[str, Array]:
    """Return a loop's numbers as arrays of one shape."""
    own = {n: getattr(loop, n) for n in PARAMETERS}
    own |= {parameter(loop, n): v for n, v in (over or {}).items()}
    made = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in own.values()))
    return dict(zip(own, made, strict=True))


def _roots(c: Array) -> NDArray[np.complex128]:
    """Return the roots of polynomials, by the eigenvalues of their companions."""
    degree = c.shape[-1] - 1
    companion = np.zeros((*c.shape[:-1], degree, degree))
    companion[..., np.arange(1, degree), np.arange(degree - 1)] = 1.0
    lead = np.where(c[..., :1] == 0, 1e-300, c[..., :1])
    companion[..., 0, :] = -np.clip(c[..., 1:] / lead, -1e150, 1e150)
    return np.linalg.eigvals(companion).astype(complex)


def verdicts_of(good: Any, rates: NDArray[np.complex128]) -> NDArray[np.int8]:
    """Return verdicts as places in `VERDICTS`."""
    damping = -rates.real / np.maximum(np.abs(rates), 1e-300)
    swings = ((damping < RINGING) & (rates.real > np.log(LASTING))).any(axis=-1)
    return np.where(good, np.where(swings, 1, 0), 2).astype(np.int8)
