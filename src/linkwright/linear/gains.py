"""Gains from what was measured of a loop: rules with their sources, and designs on a response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError, unknown
from linkwright.base.results import Result
from linkwright.blocks import checked
from linkwright.linear.responses import Array, FrequencyResponse
from linkwright.linear.tuning import UltimatePoint


@dataclass(frozen=True, slots=True)
class ProposedGains(Result):
    """Gains of kp (e + 1/ti ∫e + td ė), with where they come from.

    Args:
        kp: proportional gain.
        ti: time of the integral part, s; infinite for none.
        td: time of the derivative part, s.
        rule: its name.
        source: who gave the rule.

    >>> ProposedGains(2.0, ti=0.5).ki
    4.0
    """

    kp: float
    ti: float = math.inf
    td: float = 0.0
    rule: str = ""
    source: str = ""
    _units = (
        ("ti", "s"),
        ("td", "s"),
    )

    @property
    def ki(self) -> float:
        """Gain of the integral, kp/ti."""
        return self.kp / self.ti

    @property
    def kd(self) -> float:
        """Gain of the derivative, kp td."""
        return self.kp * self.td

    def response(self, frequencies: ArrayLike) -> Array:
        """Return the complex gain of the controller.

        Args:
            frequencies: rad/s, above zero.
        """
        s = 1j * np.asarray(frequencies, dtype=float)
        return np.asarray(self.kp * (1 + 1 / self.ti / s + s * self.td))


RULES: Mapping[str, tuple[str, Mapping[str, tuple[float, float, float]]]] = {
    "ziegler-nichols": (
        "Ziegler and Nichols, Transactions of the ASME 64, 1942; PD as handbooks have it",
        {
            "P": (0.5, math.inf, 0.0),
            "PI": (0.45, 1 / 1.2, 0.0),
            "PD": (0.8, math.inf, 1 / 8),
            "PID": (0.6, 1 / 2, 1 / 8),
        },
    ),
    "tyreus-luyben": (
        "Tyreus and Luyben, Industrial & Engineering Chemistry Research 31, 1992",
        {"PI": (1 / 3.2, 2.2, 0.0), "PID": (1 / 2.2, 2.2, 1 / 6.3)},
    ),
    "no-overshoot": (
        "Seborg, Edgar and Mellichamp, Process Dynamics and Control, 1989",
        {"PID": (0.2, 1 / 2, 1 / 3)},
    ),
}
"""Rules by name: who gave them, and for each kind kp/Ku, ti/Tu and td/Tu."""

PHASE_MARGIN = "phase-margin"


@worded
def propose_gains(
    point: UltimatePoint, kind: str = "PD", rule: str = PHASE_MARGIN, *, margin: float = math.pi / 3
) -> ProposedGains:
    """Return gains from the ultimate gain and period.

    Args:
        point: from a relay.
        kind: "P", "PI", "PD" or "PID".
        rule: "ziegler-nichols", "tyreus-luyben", "no-overshoot", or "phase-margin" (Åström and
            Hägglund 1984: the ultimate point itself is turned to where the margin is; PD and PID).
        margin: phase margin, rad, for that rule.

    >>> point = UltimatePoint(8.0, 3.6)
    >>> gains = propose_gains(point, "PI", "ziegler-nichols")
    >>> gains.kp, gains.ti
    (3.6, 3.0)
    """
    if rule == PHASE_MARGIN:
        return _turned(point, kind, margin)
    if rule not in RULES:
        raise unknown("rule", rule, [*RULES, PHASE_MARGIN])
    source, kinds = RULES[rule]
    if kind not in kinds:
        raise InputError(f"{rule} has no rule for {kind!r}", remedy=f"it has {', '.join(kinds)}")
    k, i, d = kinds[kind]
    return ProposedGains(k * point.gain, i * point.period, d * point.period, rule, source)


def _checked(margin: float) -> float:
    """Return a phase margin, rad; one in degrees is rejected."""
    if not 0.0 < margin < math.radians(89.5):
        raise InputError(
            f"a phase margin of {margin:g} rad", remedy="margins are in rad: math.radians(60)"
        )
    return margin


def _turned(point: UltimatePoint, kind: str, margin: float) -> ProposedGains:
    """Return gains that turn the ultimate point to the margin."""
    angle = _checked(margin)
    w, kp = point.frequency, point.gain * math.cos(angle)
    source = "Åström and Hägglund, Automatica 20, 1984"
    if kind == "PD":
        return ProposedGains(kp, math.inf, math.tan(angle) / w, PHASE_MARGIN, source)
    if kind == "PID":  # ti = 4 td
        td = (math.tan(angle) + math.sqrt(1 + math.tan(angle) ** 2)) / (2 * w)
        return ProposedGains(kp, 4 * td, td, PHASE_MARGIN, source)
    raise InputError(
        f"{kind!r} cannot turn the ultimate point forward", remedy="take PD, PID, or another rule"
    )


@worded
def gains_at(
    plant: FrequencyResponse, crossover: float, *, kind: str = "PD", margin: float = math.pi / 3
) -> ProposedGains:
    """Return gains with which a measured plant has a crossover and a phase margin.

    Args:
        plant: without its controller, from what the controller puts out to what it reads.
        crossover: where the loop gain is to be 1, rad/s, among the measured frequencies.
        kind: "PD" or "PI".
        margin: phase margin, rad.

    >>> w = np.geomspace(1, 100, 50)
    >>> P = FrequencyResponse(w, 1 / (2 * (1j * w) ** 2), "tau", "q")
    >>> gains = gains_at(P, 10.0)
    >>> round(gains.kp, 1), round(gains.kd, 2)
    (100.0, 17.32)
    """
    w = plant.frequencies
    wanted = checked(crossover, "crossover", above=0.0)
    if not w[0] <= wanted <= w[-1]:
        raise InputError(
            f"a crossover of {wanted:g} rad/s was not measured",
            remedy=f"choose one from {w[0]:.4g} to {w[-1]:.4g} rad/s",
        )
    x = np.log(w)
    size = math.exp(np.interp(math.log(wanted), x, np.log(plant.magnitude)))
    phase = float(np.interp(math.log(wanted), x, plant.phase))
    margin = _checked(margin)
    turn = margin - math.pi - phase
    turn = (turn + math.pi) % (2 * math.pi) - math.pi
    kp, other = math.cos(turn) / size, math.sin(turn) / size
    right = kp > 0 and (other >= 0 if kind == "PD" else other <= 0)
    if kind not in ("PD", "PI") or not right:
        raise InputError(
            f"no {kind} gives a margin of {math.degrees(margin):g} deg at {wanted:.4g} rad/s, "
            f"where the plant has a phase of {math.degrees(phase):.1f} deg",
            remedy="choose another crossover or a smaller margin",
        )
    source = f"phase margin of {math.degrees(margin):g} deg at {wanted:.4g} rad/s, as measured"
    if kind == "PD":
        return ProposedGains(kp, math.inf, other / (kp * wanted), "crossover", source)
    ti = math.inf if other == 0 else -kp / (other * wanted)
    return ProposedGains(kp, ti, 0.0, "crossover", source)


@worded
def best_gains(
    plant: FrequencyResponse, *, kind: str = "PD", margin: float = math.pi / 3, modulus: float = 0.6
) -> ProposedGains:
    """Return the gains with the highest crossover that a measured plant allows.

    Args:
        plant: without its controller.
        kind: "PD" or "PI".
        margin: phase margin, rad.
        modulus: least distance of the loop gain from -1 at all measured frequencies.

    >>> w = np.geomspace(1, 300, 80)
    >>> P = FrequencyResponse(w, np.exp(-0.01j * w) / (1j * w) ** 2, "tau", "q")
    >>> gains = best_gains(P)
    >>> 20 < gains.kd < 52  # rad/s: with 10 ms of delay no PD reaches 52
    True
    """
    margin = _checked(margin)
    w, best = plant.frequencies, None
    for crossover in w[1:-1]:
        try:
            found = gains_at(plant, float(crossover), kind=kind, margin=margin)
        except InputError:
            continue
        loop = plant.values * found.response(w)
        beyond = loop[w > 1.5 * crossover]
        if np.abs(1 + loop).min() >= modulus and np.abs(beyond).max(initial=0.0) < 1.0:
            best = found
    if best is None:
        raise Error(
            f"no {kind} gives a phase margin of {math.degrees(margin):g} deg and a modulus of "
            f"{modulus:g}",
            remedy="measure at other frequencies, or ask for less",
        )
    return best
