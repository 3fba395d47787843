"""``linkwright parallel design``: dimensions of a machine with the best worst case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.results import CommandResult

if TYPE_CHECKING:
    from linkwright.parallel.design_files import DesignTask
    from linkwright.parallel.machine_design import MachineDesign


def command(
    task: Annotated[Path, typer.Argument(metavar="FILE", help="A design (.toml).")],
) -> CommandResult:
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
    return CommandResult(found, _text(asked, found), code=0 if found.met else 1)


def _text(asked: DesignTask, found: MachineDesign) -> Iterator[str]:
    yield f"{asked.model.name}: {found.goal} over {len(asked.directions)} directions"
    yield f"  before  {found.before:.6g}"
    yield f"  after   {found.after:.6g}"
    for name, value in found.worst.items():
        if name not in found.goal:
            yield f"  {name}  {value:.6g} at worst"
    width = max(map(len, found.values))
    for name, value in found.values.items():
        low, high = asked.variables[name]
        at = "  (at its limit)" if min(value - low, high - value) < 1e-6 * (high - low) else ""
        was = asked.model.values[name]
        yield f"  {name.ljust(width)}  {value:.6g}, was {was:.6g}{at}"
    yield f"  {found.words}; {found.evaluations} evaluations"
