"""``linkwright analyze linearize``: the linear model of a model at an operating point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.linear import LinearModel, Mode

_STILL = 1e-6  # of any unit in a second

AT = typer.Option(
    [],
    "--at",
    metavar="NAME=VALUE",
    help="Coordinate or speed of the operating point. Default: the initial value.",
)


def command(
    model: str = MODEL,
    settings: list[str] = SET,
    trust: bool = TRUST,
    at: list[str] = AT,
    matrices: bool = typer.Option(False, "--matrices", help="Also print A, B, C and D."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Linearize a model: eigenvalues with damping and frequency, and exact A, B, C, D.

    Loops are closed and dependent speeds computed from the given values. Neutral states, on which
    nothing depends (a heading, the angle of a wheel), are reported apart: their eigenvalue is 0.

    \b
    Examples:
      linkwright analyze linearize whipple --at heading.u=5
    """
    from linkwright.cli.models import open_model, read_settings
    from linkwright.cli.tables import print_table
    from linkwright.linear import linearize
    from linkwright.mechanism import mechanism_of

    opened = open_model(model, settings, trust=trust)
    mechanism = mechanism_of(opened)
    found = linearize(opened, read_settings(at, "--at", mechanism) or None)
    if as_json:
        echo(json.dumps(found.as_dict(), indent=2))
        return
    head = ("eigenvalue" if found.period else "eigenvalue 1/s", "frequency rad/s", "damping")
    print_table(
        (*head, "mostly"),
        [_mode_row(mode) for mode in found.modes()],
        title=f"{model}: {len(found.states)} states, {len(found.inputs)} inputs, "
        f"{len(found.outputs)} outputs"
        + (f", in discrete time, every {found.period:g} s" if found.period else ""),
        numbers=head,
    )
    if found.neutral:
        echo(f"\nneutral    {', '.join(found.neutral)}")
    if found.computed:
        echo(f"computed   {', '.join(found.computed)}")
    _print_drift(found, list(mechanism.coordinates))
    if matrices:
        _print_matrices(found)


def _print_drift(found: LinearModel, coordinates: Sequence[str]) -> None:
    """Say where the operating point is no equilibrium; what only travels may go on."""
    rates = dict(zip(found.states, map(abs, found.drift), strict=False))
    for name in set(found.neutral).intersection(coordinates):
        rates.pop(name, None)
    moving = [name for name, rate in rates.items() if rate > _STILL]
    if moving:
        most = max(moving, key=lambda name: float(rates[name]))
        echo(
            f"\nnote: this is no equilibrium, {most} changes: the modes are those of the moment;\n"
            "      --at chooses another point, and lw.equilibrium finds one"
        )


def _mode_row(mode: Mode) -> tuple[str, ...]:
    value = mode.eigenvalue
    text = f"{value.real:.6g}" if value.imag == 0 else f"{value.real:.6g} ± {value.imag:.6g}i"
    largest = sorted(mode.shape.items(), key=lambda item: -abs(item[1]))[:3]
    mostly = ", ".join(name for name, share in largest if abs(share) > 0.1)
    return text, f"{mode.frequency:.6g}", f"{mode.damping:.4g}", mostly


def _print_matrices(found: LinearModel) -> None:
    """Print the four matrices with the names of their rows and columns."""
    from linkwright.cli.tables import print_table

    named = (
        ("A", found.a, found.states, found.states),
        ("B", found.b, found.states, found.inputs),
        ("C", found.c, found.outputs, found.states),
        ("D", found.d, found.outputs, found.inputs),
    )
    for letter, matrix, rows, columns in named:
        if matrix.size:
            echo()
            table = [
                (name, *(f"{x:.6g}" for x in row)) for name, row in zip(rows, matrix, strict=True)
            ]
            print_table((letter, *columns), table, title="", numbers=columns)
