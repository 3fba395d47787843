"""``linkwright show``: what a model consists of, and its equations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.models import MODEL, SET

if TYPE_CHECKING:
    from linkwright.equations import Equations
    from linkwright.mechanism import Mechanism

_NUMBERS = ("value", "start")


def command(
    model: str = MODEL,
    equations: bool = typer.Option(False, "--equations", help="Print the equations too."),
    latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE", help="Write a report in LaTeX instead."),
    ] = None,
    formulation: str = typer.Option(
        "auto", "--formulation", metavar="NAME", help="Pin one formulation of the equations."
    ),
    base: bool = typer.Option(
        False,
        "--base-parameters",
        help="Show instead which inertial parameters the motion depends on, and how they group.",
    ),
    settings: list[str] = SET,
) -> None:
    """Show bodies, points, coordinates, speeds, constraints, forces and parameters of a model."""
    from linkwright.algebra.printers import text
    from linkwright.cli.models import open_model
    from linkwright.cli.tables import print_table
    from linkwright.equations import derive
    from linkwright.equations.description import describe, summary, written_out

    mechanism = open_model(model, settings)
    if base:
        _show_base(mechanism)
        return
    derived = derive(mechanism, formulation)
    if latex is not None:
        _write(latex, derived)
        return
    typer.echo(f"{mechanism.name}: {mechanism.doc}" if mechanism.doc else mechanism.name)
    typer.echo(summary(derived))
    for section in describe(derived):
        typer.echo()
        print_table(section.columns, section.rows, title=section.title, numbers=_NUMBERS)
    if equations:
        for title, rows in written_out(derived).items():
            typer.echo(f"\n{title}")
            for name, value in rows:
                typer.echo(f"  {name} = {text(value)}")


def _show_base(mechanism: Mechanism) -> None:
    """Print the base parameters, what is counted with each, and what has no effect."""
    from linkwright.cli.tables import print_table
    from linkwright.equations.base import base_parameters

    found = base_parameters(mechanism)
    everything = len(found.base) + len(found.regrouped) + len(found.idle)
    typer.echo(
        f"{mechanism.name}: {everything} inertial parameters, {len(found.base)} base parameters; "
        f"{len(found.regrouped)} are counted with them, {len(found.idle)} have no effect"
    )
    typer.echo("m: mass; mx, my, mz: first moments; Jxx ... Jzx: about the body's origin\n")
    rows = [(name, ", ".join(found.gathered(name))) for name in found.base]
    print_table(("base parameter", "counted with it"), rows)
    if found.idle:
        typer.echo(f"\nwithout effect: {', '.join(found.idle)}")


def _write(path: Path, derived: Equations) -> None:
    from linkwright.equations.latex_report import latex_report
    from linkwright.errors import InputError

    try:
        path.write_text(latex_report(derived), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    typer.echo(f"wrote {path}")
