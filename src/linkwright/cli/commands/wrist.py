"""``linkwright analyze wrist``: whether a compliant wrist is stable in contact."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.contact import ContactMap, WristLoop

WRIST = (
    'A wrist along one axis (.toml): law = "position", "force" or "accumulating"; Kp or KF, m, Cw, '
    "Kw, a, T, Ke, Ce as numbers or texts with units; order; a table \\[map] of ranges."
)
MAP = "Two parameters to map, such as Kp,a or m,T; their ranges are those of the file's \\[map]."


def command(
    wrist: Annotated[Path, typer.Argument(metavar="WRIST", help=WRIST)],
    over: Annotated[str, typer.Option("--map", metavar="NAME,NAME", help=MAP)] = "",
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Points along each axis of the map.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate/--no-simulate", help="Run each point of the map too.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Picture (.png, .svg, .pdf).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether a compliant wrist is stable, by Routh's conditions, as sampled, and simulated.

    \b
    Examples:
      linkwright analyze wrist wrist.toml
      linkwright analyze wrist wrist.toml --map Kp,a -o map.png
    """
    from linkwright.contact import contact_map, read_wrist
    from linkwright.control.force.sampled_limits import CONTACT_ORDERS

    if out is not None:
        _checked(out)
    if (out is not None or points is not None) and not over:
        raise InputError(
            "a picture is that of a map" if out is not None else "points are those of a map",
            remedy="name its parameters: --map Kp,a",
        )
    given = read_wrist(wrist)
    if not over:
        _tell(given.loop, as_json)
        return
    names = [name.strip() for name in over.split(",") if name.strip()]
    if len(set(names)) != 2 or len(names) != 2:
        raise InputError(
            f"--map {over!r} does not name two parameters", remedy="such as --map Kp,a"
        )
    impulse = CONTACT_ORDERS[given.loop.order].impulse
    found = contact_map(
        given.loop,
        {name: given.axis(name, points) for name in names},
        simulate=simulate and not impulse,
    )
    if simulate and impulse:
        echo(f"note: the impulse of the order {given.loop.order!r} cannot be simulated", err=True)
    if out is not None:
        found.save(out)
    if as_json:
        echo(json.dumps(found.as_dict(), indent=2))
        return
    _print(found)
    if out is not None:
        echo(f"wrote      {out}")


def _checked(out: Path) -> None:
    from linkwright.recording.plots import ENDINGS

    if out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a picture is not written as {out.suffix!r}",
            file=out,
            remedy=f"end the name with one of {', '.join(ENDINGS)}",
        )


def _tell(loop: WristLoop, as_json: bool) -> None:
    from linkwright.control.force.sampled_limits import CONTACT_LAWS, CONTACT_ORDERS

    if as_json:
        echo(json.dumps(loop.as_dict(), indent=2))
        return
    name = loop.gain_name
    _line("law", CONTACT_LAWS[loop.law])
    _line("order", f"{loop.order}: {CONTACT_ORDERS[loop.order].words}")
    _line("continuous", f"{loop.continuous}, {_stands_for(loop)}: {loop.polynomial.words} = 0")
    _line("conditions", "; ".join(f"{words} {x:.4g}" for words, x in loop.conditions.items()))
    if loop.violated:
        _line("violated", f"{'; '.join(loop.violated)}: must be positive")
    _line("sampled", f"{loop.sampled}: spectral radius {loop.radius:.4f}")
    limits = (loop.continuous_limit, loop.gain_limit)
    told = ["no limit" if x == float("inf") else f"{x:.4g}" for x in limits]
    _line("limits", f"{name} = {loop.gain:g}; continuous {told[0]}, sampled {told[1]}")
    if loop.law != "accumulating":
        ratio = "P0" if loop.law == "position" else "Q0"
        _line(ratio, f"{loop.frequency_ratio:.4g}, natural frequency over the wrist's own")
    if loop.law == "position":
        critical = f"P0 is 1 at {loop.critical_alpha0:.4g}" if loop.gain else "P0 never exceeds 1"
        _line("alpha0", f"{loop.alpha0:.4g} of the filter; {critical}")
    rest = "rigid" if loop.stiffness == float("inf") else f"{loop.stiffness:.4g} N/m"
    _line("stiffness", f"{rest} at rest; {loop.Kw:.4g} N/m of the wrist alone")


def _line(label: str, text: str) -> None:
    """Print a label and a text, whose further lines stand below its first."""
    width = max(shutil.get_terminal_size((100, 30)).columns, 40)
    echo(
        textwrap.fill(
            text, width, initial_indent=f"{label:<11}", subsequent_indent=" " * 11,
            break_long_words=False, break_on_hyphens=False,
        )
    )  # fmt: skip


def _stands_for(loop: WristLoop) -> str:
    """Return which order the continuous criterion stands for, and whether the loop's is another."""
    told = f"by the polynomial of {loop.continuous_order}"
    return told if loop.order == loop.continuous_order else f"{told}, not of {loop.order}"


def _print(found: ContactMap) -> None:
    from linkwright.cli.tables import print_table
    from linkwright.contact import VERDICTS

    rows = []
    for name, codes in found.answers.items():
        counts = found.counts(name)
        shares = [f"{counts[word] / codes.size:.1%}" for word in VERDICTS]
        same = [
            "" if name == "sampled" else f"{found.agreement('sampled', name, ringing=asked):.1%}"
            for asked in (False, True)
        ]
        rows.append((name, *shares, *same))
    axes = " x ".join(
        f"{n} {v[0]:g} to {v[-1]:g}" for n, v in zip(found.names, found.axes, strict=True)
    )
    columns = ("answer", *VERDICTS, "stability as sampled", "verdict as sampled")
    title = f"{found.loop.law} law, {found.loop.order}: {axes}, {found.points}"
    print_table(columns, rows, title=title, numbers=columns[1:])
    if found.loop.order != found.loop.continuous_order:
        _line("continuous", _stands_for(found.loop))
