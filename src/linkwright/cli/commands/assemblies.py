"""``linkwright parallel assemblies``: every way in which a machine goes together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from linkwright.cli.options import Model, Set, Trust, open_model, option, own, read_settings
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.parallel.assembly_modes import Assemblies

FILE = "Values of the actuators from a file (.toml): a table \\[actuators], rad, m or with units."


def command(
    model: Model,
    at: Annotated[
        list[str] | None, option("--at", "Of actuators; those left out stay at the start's.")
    ] = None,
    file: Annotated[Path | None, own("FILE", FILE, "--actuators")] = None,
    settings: Set = None,
    trust: Trust = False,
) -> CommandResult:
    """List every assembly of a machine whose actuators are locked, and say if none is missing.

    \b
    Examples:
      linkwright parallel assemblies stewart
      linkwright parallel assemblies five-bar --at left='100 deg'
      linkwright parallel assemblies stewart --actuators lengths.toml --json
    """
    from linkwright.base.errors import InputError, suggestion
    from linkwright.equations.closure import assemble
    from linkwright.equations.parallel_machine import parallel_machine
    from linkwright.parallel import find_assemblies
    from linkwright.parallel.locked_files import read_locked

    m = parallel_machine(open_model(model, settings, trust=trust)).mechanism
    if file is None and at is not None and len(at) == 1 and "=" not in at[0]:
        file, at = Path(at[0]), None  # as this option was written in release 0.1
    if file is not None:
        locked, where = dict(read_locked(file, m)), str(file)
    else:
        start = assemble(m).coordinates
        locked, where = {q.name: start[q.name] for q in m.actuators}, "start"
    for name, value in read_settings(at, "--at", m).items():
        if name not in locked:
            remedy = suggestion(name, locked, f"there are {', '.join(locked)}")
            raise InputError(f"{m.name!r} has no actuator {name!r}", remedy=remedy)
        locked[name] = value
    found = find_assemblies(m, locked)
    given = file is not None or at
    return CommandResult(
        {**found.as_dict(), "at": where, "actuators": locked},
        _text(found, None if given else locked),
        next=f"parallel singularities {model}",
    )


def _text(found: Assemblies, start: dict[str, float] | None) -> Iterator[str | TextTable]:
    if start is not None:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in start.items())
        yield f"actuators locked where the machine starts (rad and m): {values}"
    yield found.words
    modes = (*found.real, *found.meeting)
    if modes:
        rows = [
            [str(k), *(f"{v:.6f}" for v in (*m.position, *m.direction)), f"{m.residual:.0e}"]
            for k, m in enumerate(modes, 1)
        ]
        yield TextTable(("", "x", "y", "z", "points to x", "y", "z", "residual"), rows)
