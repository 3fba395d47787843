"""``linkwright parallel singularities``: singular poses of a machine with closed loops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from linkwright.base.errors import InputError
from linkwright.cli.options import (
    Model,
    Set,
    Trust,
    in_rad,
    open_model,
    option,
    own,
    read_range,
    read_settings,
)
from linkwright.cli.results import CommandResult

if TYPE_CHECKING:
    from linkwright.parallel.loci import Locus
    from linkwright.parallel.singularities import Singularity

LOCUS = "Trace the curves of 'type 1' or 'type 2' over a region."
REGION = (
    "The region of --locus: two coordinates (rad or m), or two of x, y, z of the platform (m). "
    "Default: directions up to --zenith."
)
PURPOSE = "What the platform is for: pose, direction, position."
PROVE = "Prove that no direction this far from the zenith is singular."
ZENITH = "How far from the zenith curves are traced."


def command(
    model: Model,
    settings: Set = None,
    trust: Trust = False,
    at: Annotated[
        list[str] | None, option("--at", "Of coordinates, rad or m. Default: the model's own.")
    ] = None,
    purpose: Annotated[str, own("WHAT", PURPOSE)] = "pose",
    locus: Annotated[str, own("TYPE", LOCUS)] = "",
    over: Annotated[list[str] | None, option("--over", REGION)] = None,
    zenith: Annotated[float, own("DEG", ZENITH)] = 90.0,
    prove: Annotated[float, own("DEG", PROVE)] = 0.0,
) -> CommandResult:
    """Say whether a pose is singular and how; trace singular curves, or prove that there are none.

    \b
    Examples:
      linkwright parallel singularities mount-truss-2
      linkwright parallel singularities mount-truss-2 --locus "type 2" --zenith 90
      linkwright parallel singularities five-bar --purpose position --locus "type 1" --over x=-1:1
      linkwright parallel singularities mount-truss-2 --prove 20 --json
    """
    from linkwright.mechanism import mechanism_of
    from linkwright.parallel import prove_regular, singular_loci, singularity
    from linkwright.parallel.machine_rates import OUTPUTS

    if purpose not in OUTPUTS:
        raise InputError(
            f"--purpose {purpose!r} is nothing that a platform is for",
            remedy=f"give one of {', '.join(OUTPUTS)}",
        )
    opened = open_model(model, settings, trust=trust)
    q = read_settings(at, "--at", mechanism_of(opened)) or None
    found = singularity(opened, q, output=purpose)
    data: dict[str, object] = {"pose": found.as_dict()}
    lines = [found.words, found.scaling]
    if locus:
        region = {
            name: (in_rad(name, low), in_rad(name, high))
            for name, (low, high) in (read_range(text, "FROM:TO") for text in over or ())
        } or {"zenith": (0.0, math.radians(zenith))}
        curves = singular_loci(opened, locus, region, q=q, output=purpose)
        data["loci"] = [
            c.as_dict() | {"away_deg": math.degrees(c.away(found.coordinates))} for c in curves
        ]
        grid = f"over {', '.join(region)}" if over else "of directions"
        count = f"{len(curves)} curve{'' if len(curves) == 1 else 's'}"
        lines.append(f"{count} on this grid {grid}; a grid is not a proof")
        lines += [f"  {c.kind}: {len(c.q)} points, {_place(c, found, region)}" for c in curves]
    if prove:
        proof = prove_regular(opened, math.radians(prove), q=q)
        data["proof"] = proof.as_dict()
        lines.append(proof.words)
    return CommandResult(data, lines, next=f"parallel chart {model} --of condition")


def _place(curve: Locus, pose: Singularity, region: dict[str, tuple[float, float]]) -> str:
    """Say where a curve lies: in the region, or among directions."""
    if "zenith" in region:
        return (
            f"at least {math.degrees(curve.nearest()[1]):.6f} degrees from the zenith and "
            f"{math.degrees(curve.away(pose.coordinates)):.6f} from where this pose points"
        )
    values = dict(zip(("x", "y", "z"), curve.positions.T, strict=True))
    values |= dict(zip(curve.names, curve.q.T, strict=True))
    return ", ".join(f"{n} from {values[n].min():.6f} to {values[n].max():.6f}" for n in region)
