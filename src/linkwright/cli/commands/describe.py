"""``linkwright model describe``: what a model consists of, and its equations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.cli.models import MODEL, SET
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.equations import Equations
    from linkwright.mechanism import Mechanism

_NUMBERS = ("value", "start")


def command(
    model: str = MODEL,
    equations: bool = typer.Option(False, "--equations", help="Also print the equations."),
    closed: bool = typer.Option(
        False, "--closed-form", help="Print M, c, g and Q of M u' + c + g = Q instead."
    ),
    latex: Annotated[
        Path | None,
        typer.Option(
            "--latex",
            metavar="FILE",
            help="Write a LaTeX report instead; with --closed-form only the equations. "
            "- is the terminal.",
        ),
    ] = None,
    formulation: str = typer.Option(
        "auto", "--formulation", metavar="NAME", help="Formulation of the equations."
    ),
    base: bool = typer.Option(
        False,
        "--base-parameters",
        help="Show the base inertial parameters, and how they group, instead.",
    ),
    settings: list[str] = SET,
) -> None:
    """Describe a model: bodies, joints, coordinates, constraints, forces, parameters.

    \b
    Examples:
      linkwright model describe pendulum
      linkwright model describe swing.toml --latex report.tex
    """
    from linkwright.algebra.printers import text
    from linkwright.cli.commands.check import mobility_of
    from linkwright.cli.models import open_model
    from linkwright.cli.tables import print_table
    from linkwright.equations import derive
    from linkwright.equations.description import describe, summary, written_out
    from linkwright.mechanism import mechanism_of

    opened = open_model(model, settings)
    mechanism = mechanism_of(opened)
    if not mechanism.states and not mechanism.kinematics().speeds and opened is not mechanism:
        _show_members(opened)
        return
    if base:
        _show_base(mechanism)
        return
    derived = derive(mechanism, formulation)
    if latex is not None:
        _write(latex, derived, closed)
        return
    if closed:
        _show_closed(derived)
        return
    echo(f"{mechanism.name}: {mechanism.doc}" if mechanism.doc else mechanism.name)
    echo(summary(derived))
    counted = mobility_of(mechanism)
    if counted is not None:
        echo(counted.words)
    for section in describe(derived):
        echo()
        print_table(section.columns, section.rows, title=section.title, numbers=_NUMBERS)
    if opened is not mechanism:
        echo()
        _show_members(opened)
    if equations:
        for title, rows in written_out(derived).items():
            echo(f"\n{title}")
            for name, value in rows:
                echo(f"  {name} = {text(value)}")


def _show_members(system: Any) -> None:
    """Print the members of a System, what drives them, and what it is open to."""
    from linkwright.cli.tables import print_table
    from linkwright.system.numbers import parameters

    members = system.members.values()
    rows = [
        (
            member.name,
            member.block.made_with[0],
            str(member.rate),
            ", ".join(member.block.inputs),
            ", ".join(member.block.outputs),
        )
        for member in members
    ]
    print_table(("member", "kind", "rate", "inputs", "outputs"), rows, title="Members")
    values = parameters(system)
    numbers = [
        (
            f"{member.name}.{name}",
            f"{values[f'{member.name}.{name}']:g}",
            p.unit,
            p.doc,
        )
        for member in members
        for name, p in member.block.parameters.items()
    ]
    echo()
    print_table(
        ("parameter", "value", "unit", "meaning"), numbers, title="Parameters of members",
        numbers=_NUMBERS,
    )  # fmt: skip
    wires = [(x.name, str(wire.value)[:80]) for x, wire in system.wires.items()]
    wires += [(name, f"{value:g} (input)") for name, value in system.inputs().items()]
    echo()
    print_table(("port", "driven by"), wires, title="Wires")


def _show_base(mechanism: Mechanism) -> None:
    """Print the base parameters, what is counted with each, and what has no effect."""
    from linkwright.cli.tables import print_table
    from linkwright.equations.base_parameters import base_parameters

    found = base_parameters(mechanism)
    everything = len(found.base) + len(found.regrouped) + len(found.idle)
    echo(
        f"{mechanism.name}: {everything} inertial parameters, {len(found.base)} base parameters; "
        f"{len(found.regrouped)} are counted with them, {len(found.idle)} have no effect"
    )
    echo("m: mass; mx, my, mz: first moments; Jxx ... Jzx: about the body's origin\n")
    rows = [(name, ", ".join(found.gathered(name))) for name in found.base]
    print_table(("base parameter", "counted with it"), rows)
    if found.idle:
        echo(f"\nwithout effect: {', '.join(found.idle)}")


def _show_closed(derived: Equations) -> None:
    """Print the closed form, entry by entry; those that are zero are left out."""
    from linkwright.algebra import ZERO
    from linkwright.algebra.printers import text

    found = derived.closed_form()
    echo("M u' + c + g = Q, u = (" + ", ".join(u.name for u in found.speeds) + ")")
    n = len(found.speeds)
    rows = [(f"M[{i + 1},{j + 1}]", found.mass[i][j]) for i in range(n) for j in range(i + 1)]
    for letter, parts in (("c", found.bias), ("g", found.gravity), ("Q", found.forces)):
        rows += [(f"{letter}[{k + 1}]", x) for k, x in enumerate(parts)]
    rows += [(f"{q.name}'", x) for q, x in found.rates.items()]
    rows += [(u.name, x) for u, x in found.dependent.items()]
    for name, value in rows:
        if value is not ZERO:
            echo(f"  {name} = {text(value)}")


def _write(path: Path, derived: Equations, closed: bool) -> None:
    from linkwright.base.files import write_text
    from linkwright.equations.latex_report import latex_report

    source = f"{derived.latex()}\n" if closed else latex_report(derived)
    if str(path) == "-":
        echo(source, nl=False)
        return
    write_text(path, source, replace=True)
    echo(f"wrote {path}")
