"""``linkwright parallel assemblies``: every way in which a machine goes together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.parallel import Assemblies, AssemblyMode

AT: Path | None = typer.Option(
    None,
    "--at",
    metavar="FILE",
    help="Values of the actuators (.toml): a table \\[actuators], rad and m or with units. "
    "Without it, those of the machine's start, closed.",
)


def command(
    model: str = MODEL,
    at: Path | None = AT,
    settings: list[str] = SET,
    trust: bool = TRUST,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List every assembly of a machine whose actuators are locked, and say if none is missing.

    \b
    Examples:
      linkwright parallel assemblies stewart
      linkwright parallel assemblies stewart --at lengths.toml --json
    """
    from linkwright.cli.models import open_model
    from linkwright.equations.closure import assemble
    from linkwright.equations.parallel_machine import parallel_machine
    from linkwright.parallel import assemblies
    from linkwright.parallel.locked_files import read_locked

    m = parallel_machine(open_model(model, settings, trust=trust)).mechanism
    if at is None:
        start = assemble(m).coordinates
        locked = {q.name: start[q.name] for q in m.actuators}
    else:
        locked = read_locked(at, m)
    found = assemblies(m, locked)
    if as_json:
        where = {"at": "start" if at is None else str(at), "actuators": locked}
        echo(json.dumps({**_plain(found), **where}, indent=2))
        return
    if at is None:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in locked.items())
        echo(f"actuators locked where the machine starts (rad and m): {values}")
    _print(found)


def _print(found: Assemblies) -> None:
    from linkwright.cli.tables import print_table

    echo(found.words)
    if found.real or found.meeting:
        columns = ["", "x", "y", "z", "points to x", "y", "z", "residual"]
        rows = [
            [
                str(k),
                *(f"{v:.6f}" for v in (*mode.position, *mode.direction)),
                f"{mode.residual:.0e}",
            ]
            for k, mode in enumerate((*found.real, *found.meeting), 1)
        ]
        print_table(columns, rows)


def _plain(found: Assemblies) -> dict[str, Any]:
    return {
        "words": found.words,
        "count": found.count,
        "complete": found.complete,
        "generic": found.generic,
        "diverged": found.diverged,
        "singular": found.singular,
        "self_motion": found.self_motion,
        "residual": found.residual,
        "real": [_plain_mode(mode) for mode in found.real],
        "meeting": [_plain_mode(mode) for mode in found.meeting],
    }


def _plain_mode(mode: AssemblyMode) -> dict[str, Any]:
    return {
        "coordinates": dict(mode.coordinates),
        "position": mode.position.tolist(),
        "rotation": mode.rotation.tolist(),
        "direction": mode.direction.tolist(),
        "residual": mode.residual,
    }
