"""``linkwright singularities``: singular poses of a machine with closed loops."""

from __future__ import annotations

import json

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

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
    "", metavar="TYPE", help="Trace the curves of 'type 1' or 'type 2' over directions."
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
    zenith: float = ZENITH,
    prove: float = PROVE,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say whether a pose is singular and how; trace singular curves, or prove that there are none.

    \b
    Examples:
      linkwright singularities mount-truss-2
      linkwright singularities mount-truss-2 --locus "type 2" --zenith 90
      linkwright singularities mount-truss-2 --prove 20 --json
    """
    from linkwright.analysis import prove_regular, singular_loci, singularity
    from linkwright.cli.models import open_model, read_settings
    from linkwright.mechanism import mechanism_of

    opened = open_model(model, settings, trust=trust)
    q = read_settings(at, "--at", mechanism_of(opened)) or None
    found = singularity(opened, q, output=output)
    told: dict[str, object] = {"pose": found.as_dict()}
    lines = [found.words, found.scaling]
    if locus:
        curves = singular_loci(opened, locus, {"zenith": (0.0, zenith)}, q=q, output=output)
        told["loci"] = [c.as_dict() | {"away": c.away(found.coordinates)} for c in curves]
        lines.append(f"{len(curves)} curves on this grid of directions; a grid is no proof")
        for c in curves:
            near = c.nearest()[1]
            lines.append(
                f"  {c.kind}: {len(c.q)} points, at least {near:.6f} degrees from the zenith and "
                f"{c.away(found.coordinates):.6f} from where this pose points"
            )
    if prove:
        proof = prove_regular(opened, prove, q=q)
        told["proof"] = proof.as_dict()
        lines.append(proof.words)
    if as_json:
        echo(json.dumps(told, indent=2))
        return
    for line in lines:
        echo(line)
