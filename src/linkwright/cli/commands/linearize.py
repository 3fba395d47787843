"""``linkwright analyze linearize``: the linear model of a model at an operating point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.base.errors import InputError
from linkwright.cli.options import Force, Model, Set, Trust, open_model, option, own, read_settings
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.linear.linearization import LinearModel
    from linkwright.linear.modes import Mode

SECOND = "Print M, C, G, K and F of M q'' + (C + G) q' + K q = F w instead."
OUT = "A file .npz or .mat for the matrices of --second-order."

_STILL = 1e-6  # of any unit in a second


def command(
    model: Model,
    settings: Set = None,
    trust: Trust = False,
    at: Annotated[
        list[str] | None,
        option("--at", "Of a coordinate or speed. Default: the initial value."),
    ] = None,
    matrices: Annotated[bool, own(None, "Also print A, B, C and D.", "--matrices")] = False,
    second: Annotated[bool, own(None, SECOND, "--second-order")] = False,
    out: Annotated[Path | None, option("--out", OUT)] = None,
    force: Force = False,
) -> CommandResult:
    """Linearize a model: eigenvalues with damping and frequency, and exact A, B, C, D.

    Loops are closed and dependent speeds computed from the given values. Neutral states, on which
    nothing depends (a heading, the angle of a wheel), are reported apart: their eigenvalue is 0.

    \b
    Examples:
      linkwright analyze linearize whipple --set v=5
      linkwright analyze linearize double-pendulum --second-order -o small.npz
    """
    from linkwright.linear.linearization import linearize
    from linkwright.mechanism import mechanism_of

    opened = open_model(model, settings, trust=trust)
    mechanism = mechanism_of(opened)
    point = read_settings(at, "--at", mechanism) or None
    if second:
        return _second_order(model, opened, point, out, force)
    if out is not None:
        raise InputError("only matrices of second order are written", remedy="add --second-order")
    found = linearize(opened, point)
    return CommandResult(
        found,
        _text(model, found, list(mechanism.coordinates), matrices),
        next=f"simulate {model}",
    )


def _second_order(
    name: str, model: Any, point: Mapping[str, Any] | None, out: Path | None, force: bool
) -> CommandResult:
    from linkwright.linear import second_order

    found = second_order(model, point)
    if out is not None:
        found.save(out, replace=force)
    rates = found.speeds_are_rates
    text: list[str | TextTable] = [
        "M q'' + (C + G) q' + K q = F w + f"
        if rates
        else "M u' + (C + G) u + K q = F w + f, q' = N u + R q"
    ]
    u, q = found.coordinates if rates else found.speeds, found.coordinates
    named = (("M", found.mass, u, u), ("C", found.damping, u, u), ("G", found.gyroscopic, u, u),
             ("K", found.stiffness, u, q), ("F", found.force, u, found.inputs),
             ("N", found.kinematics, q, u), ("R", found.drift, q, q))  # fmt: skip
    for letter, matrix, rows, columns in named:
        if matrix.size:
            text += ["", _matrix(letter, matrix, rows, columns)]
    if abs(found.load).max(initial=0.0) > _STILL:
        left = ", ".join(f"{x:.6g}" for x in found.load)
        text.append(
            f"\nnote: this is not an equilibrium: f = ({left}) is left;\n"
            "      lw.equilibrium finds one"
        )
    return CommandResult(found, text, files={"matrices": out}, next=f"simulate {name}")


def _text(
    model: str, found: LinearModel, coordinates: Sequence[str], matrices: bool
) -> Iterator[str | TextTable]:
    head = ("eigenvalue" if found.period else "eigenvalue 1/s", "frequency rad/s", "damping")
    size = f"{len(found.states)} states, {len(found.inputs)} inputs, {len(found.outputs)} outputs"
    when = f", in discrete time, every {found.period:g} s" if found.period else ""
    rows = [_mode_row(mode) for mode in found.modes()]
    yield TextTable((*head, "mostly"), rows, f"{model}: {size}{when}", head)
    if found.neutral:
        yield f"\nneutral    {', '.join(found.neutral)}"
    if found.computed:
        yield f"computed   {', '.join(found.computed)}"
    yield from _drift(found, coordinates)
    if matrices:
        yield from _matrices(found)


def _drift(found: LinearModel, coordinates: Sequence[str]) -> Iterator[str]:
    """Say where the operating point is not an equilibrium; what only travels may go on."""
    rates = dict(zip(found.states, map(abs, found.drift), strict=False))
    for name in set(found.neutral).intersection(coordinates):
        rates.pop(name, None)
    moving = [name for name, rate in rates.items() if rate > _STILL]
    if moving:
        most = max(moving, key=lambda name: float(rates[name]))
        yield (
            f"\nnote: this is not an equilibrium, {most} changes: the modes are those of the "
            "moment;\n      --at chooses another point, and lw.equilibrium finds one"
        )


def _mode_row(mode: Mode) -> tuple[str, ...]:
    value = mode.eigenvalue
    text = f"{value.real:.6g}" if value.imag == 0 else f"{value.real:.6g} ± {value.imag:.6g}i"
    largest = sorted(mode.shape.items(), key=lambda item: -abs(item[1]))[:3]
    mostly = ", ".join(name for name, share in largest if abs(share) > 0.1)
    return text, f"{mode.frequency:.6g}", f"{mode.damping:.4g}", mostly


def _matrices(found: LinearModel) -> Iterator[str | TextTable]:
    """Yield the four matrices with the names of their rows and columns."""
    for letter, matrix, rows, columns in (
        ("A", found.a, found.states, found.states),
        ("B", found.b, found.states, found.inputs),
        ("C", found.c, found.outputs, found.states),
        ("D", found.d, found.outputs, found.inputs),
    ):
        if matrix.size:
            yield ""
            yield _matrix(letter, matrix, rows, columns)


def _matrix(letter: str, matrix: Any, rows: Sequence[str], columns: Sequence[str]) -> TextTable:
    table = [(name, *(f"{x:.6g}" for x in row)) for name, row in zip(rows, matrix, strict=True)]
    return TextTable((letter, *columns), table, numbers=columns)
