"""``linkwright show``: what a model consists of, and its equations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.models import MODEL, SET

if TYPE_CHECKING:
    from linkwright.equations import Equations

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
    settings: list[str] = SET,
) -> None:
    """Show bodies, points, coordinates, speeds, constraints, forces and parameters of a model."""
    from linkwright.algebra.printers import text
    from linkwright.cli.models import open_model
    from linkwright.cli.tables import print_table
    from linkwright.equations import derive
    from linkwright.equations.description import describe, summary, written_out

    mechanism = open_model(model, settings)
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


def _write(path: Path, derived: Equations) -> None:
    from linkwright.equations.latex_report import latex_report
    from linkwright.errors import InputError

    try:
        path.write_text(latex_report(derived), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    typer.echo(f"wrote {path}")
