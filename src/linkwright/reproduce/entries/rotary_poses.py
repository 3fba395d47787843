"""Mounts 5: all assemblies of the mount with three motors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwright.mounts import pointing
from linkwright.mounts.closed_forms import Legs, platform_modes
from linkwright.mounts.closed_forms.rotary import elbows
from linkwright.reproduce.reproduction import (
    Check,
    DataTable,
    Panel,
    Reproduction,
    Series,
    checks,
)

Array = NDArray[np.float64]
ANGLES = np.radians([60.0, 45.0, 30.0])
LEGS = Legs(upper=(-0.141, 0.0, 0.0))  # the first upper arm is 0.700 m long


def polynomial() -> Reproduction:
    """Return the coefficients of the polynomial of degree 16 in section 5.2.1."""
    found = platform_modes(ANGLES, LEGS).coefficients[0] / 1e5
    printed = (
        "0.05701474105699 -0.10071233933817 1.12838873402140 -1.55913343050819 "
        "-3.55391140088964 -0.93129250187841 6.11465029625884 0.47707321944806 -3.21330445223874"
    )
    names = [f"A{k}" for k in range(16, 7, -1)]
    made = checks(
        names,
        printed,
        found[::-1][:9],
        unit="1e5",
        within=1e-11,
        why="rounding of double precision",
    )
    t = np.linspace(-4.0, 4.0, 2001)
    values = np.polynomial.polynomial.polyval(t, found)
    curve = Series(t, np.sign(values) * np.log10(1 + np.abs(values) * 1e5))
    rows = [(f"A{k}", f"{found[k]:.14f}") for k in range(16, -1, -1)]
    return Reproduction(
        [
            DataTable(("coefficient", "value, 1e5"), rows, "Coefficients"),
            Panel([curve], "t = tan(beta5/2)", "sign(p) log10(1 + |p|)", "Polynomial"),
        ],
        made,
        across=2,
        note="The coefficients are mirrored: A7 to A0 are A9 to A16.",
    )


MODES = {
    "a": "73.7023 46.6238 28.2939 0.2743 0.1122 1.0477 25.5601 32.6710",
    "b": "106.2977 133.3762 151.7061 0.1009 0.0056 0.0723 191.5569 9.5267",
    "c": "149.7838 92.0426 -21.4092 0.2413 -0.1034 0.8286 40.9978 84.5017",
    "d": "30.2162 87.9574 -158.5908 0.1526 -0.1579 0.3294 222.2819 61.2853",
}


def assemblies() -> Reproduction:
    """Return figure 5.6: the four real assemblies of sixteen."""
    found = platform_modes(ANGLES, LEGS)
    head = ("beta4", "beta5", "beta6", "x", "y", "z", "azimuth", "tilt")
    units = ("deg",) * 3 + ("m",) * 3 + ("deg",) * 2
    elbow = elbows(ANGLES, LEGS)
    made, rows, panels = [Check("real assemblies", "4", len(found.upper))], [], []
    for name, printed in MODES.items():
        wanted = np.array([float(x) for x in printed.split()])
        k = int(np.argmin(np.abs(np.degrees(found.upper) - wanted[:3]).max(axis=1)))
        azimuth, tilt = pointing.angles_at(found.direction[k])
        ours = [*np.degrees(found.upper[k]), *found.position[k], azimuth % 360, tilt]
        for what, unit, text, value in zip(head, units, printed.split(), ours, strict=True):
            made.append(Check(f"{name}: {what}", text, float(value), unit))
        rows.append((name, *(f"{x:.4f}" for x in ours)))
        panels.append(_view(name, elbow, found.position[k], found.rotation[k]))
    return Reproduction([*panels, DataTable(("way", *head), rows)], made, across=2)


def _view(name: str, elbow: Array, center: Array, turned: Array) -> Panel:
    """Return a mount seen obliquely from the front."""
    azimuth = np.radians([0.0, 120.0, 240.0])
    feet = LEGS.r * np.column_stack([np.cos(azimuth), np.sin(azimuth), 0 * azimuth])
    heads = center + feet @ turned.T
    lines = [feet[[0, 1, 2, 0]], heads[[0, 1, 2, 0]]]
    lines += [np.array([feet[i], elbow[i], heads[i]]) for i in range(3)]
    flat = [(p[:, 0] + 0.4 * p[:, 1], p[:, 2] + 0.25 * p[:, 1]) for p in lines]
    return Panel([Series(x, z, style="-") for x, z in flat], title=name, equal=True, solid=True)
