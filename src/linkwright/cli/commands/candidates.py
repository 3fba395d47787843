"""``linkwright parallel candidates``: machines that point, found by their legs."""

from __future__ import annotations

from typing import Annotated

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError
from linkwright.cli.options import own
from linkwright.cli.results import CommandResult, TextTable

JOINTS = (
    "Joints that legs may have: hinges Rt, Rr, Rv (tangent, radius, vertical), P (slider along the "
    "leg), Utr, Utv, Urv, S (ball). Default: all."
)
SIZE = "Radius of base and platform, radius of the elbows, height of the platform, m."
OVER = "Also machines that move only because of how their axes lie."


def command(
    joints: Annotated[str, own("NAME,...", JOINTS)] = "",
    freedoms: Annotated[int, own("N", "Freedoms of a leg: 5 leave three to the platform.")] = 5,
    size: Annotated[str, own("R,E,H", SIZE)] = "0.28,0.96,0.98",
    overconstrained: Annotated[bool, own(None, OVER)] = False,
) -> CommandResult:
    """Find machines of three legs that turn a beam both ways: all legs of three joints are tried.

    The first joint of each leg is driven. They are ranked by the tilt to which the beam is led in
    every azimuth before loops come apart or the drives lose hold of the platform (95 deg at most).

    \b
    Examples:
      linkwright parallel candidates --joints Rt,P,S
      linkwright parallel candidates --size 0.3,0.8,0.9 --json
    """
    from linkwright.parallel.leg_synthesis import JOINTS as KNOWN, find_candidates

    parts = [amount(part.strip(), "--size", "m") for part in size.split(",")]
    if len(parts) != 3:
        raise InputError(f"--size {size!r} is not R,E,H", remedy="as in 0.28,0.96,0.98")
    names = [n.strip() for n in joints.split(",") if n.strip()] or list(KNOWN)
    found = find_candidates(
        names, freedoms=freedoms, radius=parts[0], elbow=parts[1], height=parts[2],
        overconstrained=overconstrained,
    )  # fmt: skip
    head = ("legs", "freedoms", "by count", "besides two turns", "tilt deg", "condition")
    rows = [
        (c.legs, str(c.true), str(c.kutzbach), c.third or "nothing", f"{c.tilt:.0f}",
         f"{c.condition:.3g}")
        for c in found
    ]  # fmt: skip
    table = TextTable(head, rows, f"{len(found)} machines of three legs that point", head[1:])
    data = [
        {"legs": c.legs, "kutzbach": c.kutzbach, "true": c.true, "third": c.third,
         "tilt_deg": c.tilt, "condition": c.condition}
        for c in found
    ]  # fmt: skip
    return CommandResult({"candidates": data}, [table])
