"""AUTOSIM 9.3: a four-bar linkage held by a strut."""

from __future__ import annotations

import math

from linkwright.recording import Recording
from linkwright.reproduce.entries.motions import at, curve, motion, samples
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series

_NOTE = (
    "The figure's text has D = 10 and IPRINT = 5, the generated program D = 100 and IPRINT = 1, "
    "which is used here; steps of 0.5 ms, which have converged."
)
_ANGLES = {"a": "Q(1)", "b": "Q(2)", "c": "Q(3)"}


def _displaced() -> Recording:
    return motion("four-bar", 1.0, 0.0005, every=1)


def _nominal() -> Recording:
    return motion("four-bar", 1.0, 0.0005, every=1, a=0.0, b=0.0, c=0.0)


def _closed(a: float) -> tuple[float, float]:
    """Return the angles of coupler and rocker for one of the crank: circles about two pins."""
    x, y = 0.5 * math.cos(a), 0.5 * math.sin(a)  # the end of the crank
    dx, dy = 0.1 - x, 0.3 - y  # from there to the rocker's joint; coupler 0.3 m, rocker 0.4 m
    far = math.hypot(dx, dy)
    along = (far**2 + 0.3**2 - 0.4**2) / (2 * far)
    across = math.sqrt(0.3**2 - along**2)
    px, py = x + (along * dx + across * dy) / far, y + (along * dy - across * dx) / far
    return math.atan2(-(px - x), py - y) - a, math.atan2(py - 0.3, px - 0.1)


def nominal() -> Reproduction:
    """Return figure 9.3.3: the angles from the nominal start."""
    run = _nominal()
    panel = Panel(
        [curve(run, k, label) for k, label in _ANGLES.items()], "Time - sec", "Rotation - rad"
    )
    known = {0.0: "0", 0.1: "-0.039585", 1.0: "-0.025147"}
    made = samples(run, "a", known, "Q(1)", "rad", recomputed=True)
    return Reproduction([panel], [*made, *_loop(run)], note=_NOTE)


def displaced() -> Reproduction:
    """Return figure 9.3.4: the angles from a start with the crank turned by -0.5 rad."""
    run = _displaced()
    panel = Panel(
        [curve(run, k, label) for k, label in _ANGLES.items()], "Time - sec", "Rotation - rad"
    )
    known = {0.05: "-0.224809", 0.1: "0.205925", 1.0: "-0.019314"}
    why = "the reference and this run both step by 0.5 ms, with different corrections of drift"
    made = [
        Check("Q(2) at the start", ".563473", at(run, "b", 0.0), "rad", within=1e-6,
              why="printed in single precision"),
        Check("Q(3) at the start", "-.644491", at(run, "c", 0.0), "rad", within=1e-6,
              why="printed in single precision"),
        *samples(run, "a", known, "Q(1)", "rad", recomputed=True, within=2e-5, why=why),
    ]  # fmt: skip
    return Reproduction([panel], [*made, *_loop(run)], note=_NOTE)


def _loop(run: Recording) -> list[Check]:
    """Return the closed loop at three instants, by the geometry of two circles."""
    made = []
    for t in (0.05, 0.2, 1.0):
        b, c = _closed(at(run, "a", t))
        for name, value in (("Q(2)", b), ("Q(3)", c)):
            ours = at(run, {"Q(2)": "b", "Q(3)": "c"}[name], t)
            made.append(
                Check(
                    f"{name} of the loop, t = {t:g} s", f"{value:.7f}", ours, "rad", recomputed=True
                )
            )
    return made


def strut() -> Reproduction:
    """Return figure 9.3.5: the force of the strut from both starts."""
    nominal, displaced = _nominal(), _displaced()
    curves = [
        curve(nominal, "tension", "nominal start"), curve(displaced, "tension", "displaced start")
    ]  # fmt: skip
    force = displaced["tension"]
    return Reproduction(
        [Panel(curves, "Time - sec", "strut force - N")],
        [
            *samples(displaced, "tension", {0.0: "2062.637507"}, "displaced", "N", recomputed=True),
            *samples(
                nominal, "tension", {0.0: "0", 0.1: "183.52"}, "nominal", "N", recomputed=True
            ),
            Check("largest tension, displaced", "2062.6", force.max(), "N", recomputed=True),
            Check("largest pressure, displaced", "-1216.2", force.min(), "N", recomputed=True),
        ],
        note=_NOTE,
    )


def mass_center() -> Reproduction:
    """Return figure 9.3.6: the path of the mass center of B."""
    run = _displaced()
    made = []
    for t in (0.0, 0.05, 0.1, 0.5, 1.0):
        a = at(run, "a", t)
        tilt = a + _closed(a)[0]
        place = (0.5 * math.cos(a) - 0.2 * math.sin(tilt), 0.5 * math.sin(a) + 0.2 * math.cos(tilt))
        for name, value in zip("XY", place, strict=True):
            ours = at(run, name, t)
            made.append(Check(f"{name}, t = {t:g} s", f"{value:.6f}", ours, "m", recomputed=True))
    path = Series(run["X"], run["Y"])
    panel = Panel([path], "X coordinate of B* - m", "Y coordinate of B* - m", equal=True)
    note = "Recomputed from Q(1) by the geometry of the four bars. " + _NOTE
    return Reproduction([panel], made, note=note)
