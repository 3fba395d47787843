"""``linkwright parallel singularities``: singular poses of a machine with closed loops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.parallel import Locus, Singularity

AT = typer.Option(
    [],
    "--at",
    metavar="NAME=VALUE",
    help="Coordinate of the pose, rad or m. Default: the model's own configuration.",
)
OUTPUT = typer.Option(
    "pose", "--of", metavar="WHAT", help="What the platform is for: pose, direction, position."
)
LOCUS = typer.Option(
    "", metavar="TYPE", help="Trace the curves of 'type 1' or 'type 2' over a region."
)
OVER = typer.Option(
    [],
    "--over",
    metavar="NAME=FROM:TO",
    help="The region: two coordinates (rad or m), or two of x, y, z of the platform (m). Default: "
    "directions up to --zenith.",
)
PROVE = typer.Option(
    0.0, metavar="DEGREES", help="Prove that no direction this far from the zenith is singular."
)
ZENITH = typer.Option(90.0, metavar="DEGREES", help="How far from the zenith curves are traced.")


def command(
    model: str = MODEL,
    settings: list[str] = SET,
    trust: bool = TRUST,
    at: list[str] = AT,
    output: str = OUTPUT,
    locus: str = LOCUS,
    over: list[str] = OVER,
    zenith: float = ZENITH,
    prove: float = PROVE,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say whether a pose is singular and how; trace singular curves, or prove that there are none.

    \b
    Examples:
      linkwright parallel singularities mount-truss-2
      linkwright parallel singularities mount-truss-2 --locus "type 2" --zenith 90
      linkwright parallel singularities five-bar --of position --locus "type 1" --over x=-1:1
      linkwright parallel singularities mount-truss-2 --prove 20 --json
    """
    from linkwright.cli.models import open_model, read_settings
    from linkwright.mechanism import mechanism_of
    from linkwright.parallel import prove_regular, singular_loci, singularity

    opened = open_model(model, settings, trust=trust)
    q = read_settings(at, "--at", mechanism_of(opened)) or None
    found = singularity(opened, q, output=output)
    told: dict[str, object] = {"pose": found.as_dict()}
    lines = [found.words, found.scaling]
    if locus:
        region = dict(_range(text) for text in over) or {"zenith": (0.0, zenith)}
        curves = singular_loci(opened, locus, region, q=q, output=output)
        told["loci"] = [c.as_dict() | {"away": c.away(found.coordinates)} for c in curves]
        grid = f"over {', '.join(region)}" if over else "of directions"
        count = f"{len(curves)} curve{'' if len(curves) == 1 else 's'}"
        lines.append(f"{count} on this grid {grid}; a grid is no proof")
        lines += [f"  {c.kind}: {len(c.q)} points, {_place(c, found, region)}" for c in curves]
    if prove:
        proof = prove_regular(opened, prove, q=q)
        told["proof"] = proof.as_dict()
        lines.append(proof.words)
    if as_json:
        echo(json.dumps(told, indent=2))
        return
    for line in lines:
        echo(line)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the name and the ends of a range.

    >>> _range("x=-1:1")
    ('x', (-1.0, 1.0))
    """
    from linkwright.base.errors import InputError

    name, _, ends = (part.strip() for part in text.partition("="))
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        remedy = "such as --over x=-1:1"
        raise InputError(f"--over {text!r} is not NAME=FROM:TO", remedy=remedy) from None
    return name, (low, high)


def _place(curve: Locus, pose: Singularity, region: dict[str, tuple[float, float]]) -> str:
    """Say where a curve lies: in the region, or among directions."""
    if "zenith" in region:
        return (
            f"at least {curve.nearest()[1]:.6f} degrees from the zenith and "
            f"{curve.away(pose.coordinates):.6f} from where this pose points"
        )
    values = dict(zip(("x", "y", "z"), curve.positions.T, strict=True))
    values |= dict(zip(curve.names, curve.q.T, strict=True))
    return ", ".join(f"{n} from {values[n].min():.6f} to {values[n].max():.6f}" for n in region)
