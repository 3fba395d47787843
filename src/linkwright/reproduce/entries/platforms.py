"""Motion server, appendix 7: platforms of decoupled compliance."""

from __future__ import annotations

import numpy as np

from linkwright.parallel.decoupled_compliance import (
    LegPlatform,
    mechanism_1,
    mechanism_2,
    octahedral_platform,
)
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series, checks

NAMES = ["A11", "A22", "A33", "A44", "A55", "A66"]


def _view(platform: LegPlatform, title: str) -> Panel:
    """Return legs seen obliquely from the front."""
    bases, tips = platform.points
    lines = [np.array([b, t]) for b, t in zip(bases, tips, strict=True)]
    for ends in (bases, tips):
        around = np.unique(ends.round(9), axis=0)
        middle = around.mean(axis=0)
        order = np.argsort(np.arctan2(*(around - middle)[:, :2].T))
        lines.append(around[[*order, order[0]]])
    flat = [(p[:, 0] + 0.35 * p[:, 1], p[:, 2] + 0.25 * p[:, 1]) for p in lines]
    return Panel([Series(x, z) for x, z in flat], title=title, equal=True, solid=True)


def mechanisms() -> Reproduction:
    """Return figures 3 to 5: three mechanisms whose Jacobian is orthogonal."""
    first, second = mechanism_1(a=1.0, h=1.0), mechanism_2(a=1.0, h=0.5)
    third = octahedral_platform(a=1.0, h=0.5).about((0, 0, 0.25))
    bases, tips = first.points
    way = tips - bases
    why = "a^4/2 over a^2 + h^2, where 1/h^4 is printed: six unit directions fix it"
    made = [
        *checks("1: S1", "0 1 1", way[0], why="a = h = 1"),
        Check("1: B1 x", "-0.288675", bases[0, 0], why="-sqrt(3) a/6"),
        Check("1: B1 y", "0.5", bases[0, 1]),
        *checks([f"1: {n}" for n in NAMES[:5]], "1.5 1.5 3.0 0.5 0.5", np.diag(first.A)[:5]),
        Check("1: A66", "0.5", first.A[5, 5], corrected="0.25", why=why),
        *checks([f"2: {n}" for n in NAMES], "1.500 1.500 3.000 0.125 0.125 0.250",
                np.diag(second.A), why="a = 1, h = 1/2"),
    ]  # fmt: skip
    for k, platform in enumerate((first, second, third), 1):
        made.append(Check(f"{k}: largest coupling", "1e-12", platform.coupling, at_most=True,
                          recomputed=True))  # fmt: skip
    return Reproduction(
        [_view(first, "Fig. 3"), _view(second, "Fig. 4"), _view(third, "Fig. 5")],
        made,
        across=3,
        note="Figures 4 and 5 are lost in the scan. The mechanism of figure 4 has the diagonal "
        "that is printed for it; nothing is left of figure 5: here it is the link of two congruent "
        "triangles about its middle, which is decoupled too.",
    )  # fmt: skip


def sizes() -> Reproduction:
    """Return figures 6 and 7: the diagonal over the side a and over the height h."""
    span = np.linspace(0.05, 3.0, 60)
    over_a = np.array([np.diag(mechanism_2(a=a, h=1.0).A) for a in span])
    over_h = np.array([np.diag(mechanism_2(a=1.0, h=h).A) for h in span])
    slope = np.diag(mechanism_2(a=1.0, h=1.0).sensitivity("a"))
    rho = "rho is a^2 + 4 h^2 in this mechanism, and the slope that of its diagonal"
    note = "the text calls A/k the compliance; it is the stiffness for legs of stiffness 1"
    return Reproduction(
        [
            Panel([Series(span, over_a[:, 0], "lateral"), Series(span, over_a[:, 2], "axial")],
                  "a, h = 1", "A", "Fig. 6"),
            Panel([Series(span, over_h[:, 3], "bending"), Series(span, over_h[:, 5], "torsional")],
                  "h, a = 1", "A", "Fig. 7"),
        ],
        [
            *checks(["lateral at a = 1", "axial at a = 1"], "0.600 4.800",
                    np.diag(mechanism_2(a=1.0, h=1.0).A)[[0, 2]], why=note),
            *checks(["lateral at a = 2", "axial at a = 2"], "1.50 3.00",
                    np.diag(mechanism_2(a=2.0, h=1.0).A)[[0, 2]]),
            *checks(["bending at h = 2", "torsional at h = 2"], "0.23529 0.02941",
                    np.diag(mechanism_2(a=1.0, h=2.0).A)[[3, 5]]),
            Check("slope of A33 in a, a = h = 1", "-6", slope[2], corrected="-1.92", why=rho),
            Check("slope of A44 in a, a = h = 1", "0.5", slope[3], corrected="0.32", why=rho),
        ],
        across=2,
    )  # fmt: skip
