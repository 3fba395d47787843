"""Mounts 2: the mobility of candidates, counted by their joints and by their geometry."""

from __future__ import annotations

from linkwright.parallel import mobility
from linkwright.reproduce.reproduction import Check, DataTable, Reproduction

CANDIDATES = {
    "agile-eye": ("2.2 spherical, three motors", "-3", "3"),
    "spherical-collinear": ("2.3 collinear motors", "-3", "3"),
    "spherical-coplanar": ("2.4 coplanar motors", "-3", "3"),
    "spherical-shoulder": ("2.5 shoulder module", "-3", "3"),
    "tripod": ("2.6 triple arm", "3", "3"),
    "unitru": ("2.7 UNITRU coupling", "0", "2"),
    "mount-3-rotary": ("three motors, built", "3", "3"),
    "mount-2-rotary": ("two motors, built", "2", "2"),
}
LATER = ("mount-3-rotary", "mount-2-rotary")  # whose counts are not printed


def mobilities() -> Reproduction:
    """Return what chapter 2 says of six candidates, beside the two mounts that were built."""
    made, rows = [], []
    for name, (words, kutzbach, special) in CANDIDATES.items():
        found = mobility(name)
        rows.append(
            (words, name, found.links, found.joints, found.freedoms, found.kutzbach, found.true)
        )
        later = name in LATER
        made.append(
            Check(f"{words}: 6 (n - g - 1) + sum f", kutzbach, found.kutzbach, recomputed=later)
        )
        made.append(Check(f"{words}: true mobility", special, found.true, recomputed=later))
    head = ("mechanism", "model", "n", "g", "sum f", "Kutzbach", "true")
    return Reproduction(
        [DataTable(head, rows, "Mobility = 6 (n - g - 1) + sum f")],
        made,
        note="Axes of the pictures that are not given in numbers are ours; the counts do not "
        "depend on them.",
    )  # fmt: skip
