"""Motion server, appendix 12: loops whose samples come at random."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linkwright.reproduce.reproduction import (
    Check,
    DataTable,
    Panel,
    Reproduction,
    Series,
    checks,
)
from linkwright.sampling import Bernoulli, Loop, Mixture, Uniform, random_runs
from linkwright.sampling.designs import UnitCurve, bernoulli_range
from linkwright.sampling.distributions import Distribution

POLES = (0.4, 0.7)
PLANT = Loop([[0, 1], [0, 0]], [[0], [1]])


def gamma_and_g() -> Reproduction:
    """Return figure 1: gamma(theta, 1) and its integral g(theta, 1)."""
    curve = UnitCurve(PLANT, POLES)
    theta = np.linspace(0.0, 3.0, 301)
    at, least = curve.lowest
    gamma = [float(curve.gamma(x)) for x in theta]
    g = [float(curve.g(x)) for x in theta]
    why = "the minimum is flat: gamma differs by 3e-5 between the two"
    return Reproduction(
        [Panel([Series(theta, gamma, "gamma"), Series(theta, g, "g")], "theta", "", "Figure 1")],
        [
            *checks(["K(1) 1", "K(1) 2"], "-0.18 -0.81", curve.gain),
            Check("T 11", "-0.759", curve.transform[0, 0]),
            Check("T 12", "-0.934", curve.transform[0, 1], corrected="-0.943",
                  why="columns of T have norm one; two digits are exchanged"),
            *checks(["T 21", "T 22"], "0.651 0.333", curve.transform[1]),
            Check("least gamma", "-0.417", least),
            Check("theta of the least gamma", "1.35", at, corrected="1.343", why=why),
            Check("zero of gamma", "1.96", curve.zero),
            Check("zero of g", "2.89", curve.g_zero),
        ],
    )  # fmt: skip


LEVELS = {
    "-0.05": "0.175 1.923", "-0.10": "0.321 1.881", "-0.15": "0.451 1.837",
    "-0.20": "0.575 1.791", "-0.25": "0.700 1.740", "-0.35": "0.978 1.607", "-0.40": "1.174 1.485",
}  # fmt: skip
PARTNERS = {
    "0.50": "2.848 0.176", "1.00": "2.695 0.371", "1.25": "2.564 0.487", "1.50": "2.391 0.627",
}  # fmt: skip


def pairs() -> Reproduction:
    """Return table 1: pairs of equal gamma, and of equal g with their ratio."""
    curve = UnitCurve(PLANT, POLES)
    one, two = curve.pair(-0.30)
    made = [
        Check("gamma -0.30: theta1", "0.84", one, corrected="0.83", why="read off the curve"),
        Check("gamma -0.30: theta2", "1.68", two),
    ]
    partner = curve.g_partner(0.75)
    made.append(Check("g pair of 0.75: ratio", "0.273", 0.75 / partner, corrected="0.269",
                      why="theta4 is 2.788"))  # fmt: skip
    rows: list[Sequence[str]] = [("-0.30", f"{one:.3f}", f"{two:.3f}", "")]
    for level, printed in LEVELS.items():
        found = curve.pair(float(level))
        names = [f"gamma {level}: theta{k}" for k in (1, 2)]
        made += checks(names, printed, found, recomputed=True)
        rows.append((level, *(f"{x:.3f}" for x in found), ""))
    rows.sort(key=lambda row: -float(row[0]))
    for first, printed in PARTNERS.items():
        last = curve.g_partner(float(first))
        found = (last, float(first) / last)
        names = [f"g pair of {first}: {what}" for what in ("theta4", "ratio")]
        made += checks(names, printed, found, recomputed=True)
        rows.append(("g", first, f"{last:.3f}", f"{found[1]:.3f}"))
    note = "Table 1 is lost in the scan but for what the text takes from it."
    return Reproduction(
        [DataTable(("gamma", "theta1 or 3", "theta2 or 4", "ratio"), rows)], made, note=note
    )


def _expected(distribution: Distribution, period: float) -> float:
    (regime,) = distribution.regimes().each
    at, weights = regime.nodes()
    return float(np.dot(weights, PLANT.gamma(at.intervals, *PLANT.gain_for(POLES, period))))


def examples() -> Reproduction:
    """Return the three designs of the examples."""
    pair, even = Bernoulli(0.010, 0.030, p=0.75), Uniform(0.010, 0.030)
    mixed = Mixture([Uniform(0.005, 0.015), Uniform(0.020, 0.040)], [0.75, 0.25])
    low, high = (1e3 * x for x in bernoulli_range(PLANT, pair, POLES))
    curve = UnitCurve(PLANT, POLES)
    gains = {ms: PLANT.gain_for(POLES, ms / 1e3)[0][0] for ms in (11.0, 13.0, 40 / 3)}
    other = "13.33 ms gives (1012.5, 60.75); the printed gain is that of 13.0 ms"
    made = [
        Check(
            "1: theta*", "3.64", 30 / low, corrected="3.246", why="it solves the stated equation"
        ),
        Check("1: shortest interval", "8.24", low, "ms", corrected="9.24", why="30 ms / theta*"),
        Check("1: longest interval", "15.3", high, "ms"),
        Check("1: bound of gamma", "-0.278", -float(curve.gamma(30 / 11)) / 3),
        Check("1: K1 at 11 ms", "-1488", gains[11.0][0]),
        Check("1: K2 at 11 ms", "-73.64", gains[11.0][1]),
        Check("2: K1 at 13.33 ms", "-1065", gains[40 / 3][0], corrected="-1012.5", why=other),
        Check("2: K2 at 13.33 ms", "-62.31", gains[40 / 3][1], corrected="-60.75"),
        Check("2: K1 at 13.0 ms", "-1065", gains[13.0][0]),
        Check("2: K2 at 13.0 ms", "-62.31", gains[13.0][1]),
        Check(
            "2: shortest interval",
            "10.38",
            30 / curve.g_zero,
            "ms",
            corrected="10.39",
            why="30 ms / 2.8886; the printed one is of 2.89",
        ),
        Check("2: E(gamma) at 13.33 ms", "-0.226", _expected(even, 0.04 / 3), recomputed=True),
        Check("3: E(gamma) at 11 ms", "-0.04", _expected(mixed, 0.011)),
    ]
    rows = [(f"{ms:.2f}", *(f"{x:.2f}" for x in gain)) for ms, gain in gains.items()]
    return Reproduction([DataTable(("interval, ms", "K1", "K2"), rows, "Gains K")], made)


GAIN = PLANT.gain_of((-1065, -62.31))
MEANS = {30: "0.0478 1.003", 35: "0.0465 1.072"}
"""Mean IAE of place and speed of 4000 streams, integrated apart in NumPy."""


def spread() -> Reproduction:
    """Return table 2: the IAE of fifty streams, over the longest interval."""
    rows, made, deviation = [], [], {}
    for longest in (30, 35, 40, 45, 50):
        runs = random_runs(PLANT, Uniform(0.010, longest / 1e3), GAIN, [1, 0], until=2.0)
        told = runs.spread()
        deviation[longest] = told["deviation"][1]
        rows += [(longest, name, *(f"{told[what][k]:.4g}" for what in told))
                 for k, name in enumerate(("e1, place", "e2, speed"))]  # fmt: skip
        if longest in MEANS:
            for k, text in enumerate(MEANS[longest].split()):
                made.append(Check(f"{longest} ms: mean IAE of e{k + 1}", text, told["mean"][k],
                                  recomputed=True, why="three deviations of a mean of fifty",
                                  within=3 * told["deviation"][k] / math.sqrt(50)))  # fmt: skip
    why = "the text: very large from 40 ms on"
    for longest in (40, 45, 50):
        ratio = deviation[30] / deviation[longest]
        made.append(Check(f"deviation of e2, 30 ms over {longest} ms", "0.1", ratio, at_most=True,
                          why=why))  # fmt: skip
    head = ("longest, ms", "error", "mean", "STD", "maximum")
    return Reproduction(
        [DataTable(head, rows, "IAE of fifty streams of U[10 ms, longest]")],
        made,
        note="Table 2 is lost in the scan but for what the text says of it. Means are those of "
        "4000 other streams within 0.1.",
    )


THREE = (
    ("Bernoulli Distribution", Bernoulli(0.010, 0.030, p=0.75), 11.0),
    ("Uniform Distribution", Uniform(0.010, 0.030), 40 / 3),
    ("Mixed Uniform Distribution",
     Mixture([Uniform(0.005, 0.015), Uniform(0.020, 0.040)], [0.75, 0.25]), 11.0),
)  # fmt: skip


def three_runs() -> Reproduction:
    """Return figure 2: a run under each of the three distributions."""
    panels, made = [], []
    for title, distribution, period in THREE:
        gain = PLANT.gain_for(POLES, period / 1e3)[0]
        run = random_runs(PLANT, distribution, gain, [1, 0], until=0.5, streams=1, seed=1)
        times, states = run.times[0], run.states[0]
        panels.append(Panel([Series(times, states[:, 0], "e1", "o-"),
                             Series(times, states[:, 1] / 10, "e2/10", "s--")],
                            "time - s", "error", title))  # fmt: skip
        made += checks([f"{title}: e{k} after 10 samples" for k in (1, 2)], TENTH[title],
                       states[10], recomputed=True)  # fmt: skip
        left = float(abs(random_runs(PLANT, distribution, gain, [1, 0]).states[:, -1, 0]).max())
        made.append(Check(f"{title}: error after 2 s, the largest of 50", "1e-6", left,
                          at_most=True, why="stable with probability one"))  # fmt: skip
    return Reproduction(
        panels, made, note="Streams of this figure are drawn anew: the report prints none."
    )


TENTH = {
    "Bernoulli Distribution": "0.00596443 -0.3537032",
    "Uniform Distribution": "0.00639036 -0.16243607",
    "Mixed Uniform Distribution": "0.02782497 -0.97488419",
}
"""States after ten samples, from their intervals by the closed form of a double integrator."""
