"""``linkwright parallel design``: dimensions of a machine with the best worst case."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.terminal import echo


def command(
    task: Annotated[Path, typer.Argument(metavar="FILE", help="A design (.toml).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the dimensions of a machine with the best worst case over the poses of a file.

    The exit code is 1 if a limit is missed or a pose is out of reach.

    \b
    Examples:
      linkwright parallel design prismatic.toml
      linkwright parallel design prismatic.toml --json
    """
    from linkwright.parallel.design_files import read_design

    asked = read_design(task)
    found = asked.run()
    if as_json:
        echo(json.dumps(asdict(found), indent=2))
    else:
        echo(f"{asked.model.name}: {found.goal} over {len(asked.directions)} directions")
        echo(f"  before  {found.before:.6g}")
        echo(f"  after   {found.after:.6g}")
        for name, value in found.worst.items():
            if name not in found.goal:
                echo(f"  {name}  {value:.6g} at worst")
        width = max(map(len, found.values))
        for name, value in found.values.items():
            low, high = asked.variables[name]
            at = "  (at its limit)" if min(value - low, high - value) < 1e-6 * (high - low) else ""
            was = asked.model.values[name]
            echo(f"  {name.ljust(width)}  {value:.6g}, was {was:.6g}{at}")
        echo(f"  {found.words}; {found.evaluations} evaluations")
    if not found.met:
        raise typer.Exit(1)
