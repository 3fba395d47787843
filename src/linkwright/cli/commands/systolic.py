"""``linkwright tools systolic``: programs of the systolic array."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import Error, InputError
from linkwright.base.reprs import brief
from linkwright.cli.options import Force, Set, option
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.heritage.systolic import ArrayMachine, Debugger

_MOST = 2**24  # bytes of a source, code or data file
_ACTIONS = {
    "new": "",
    "assemble": "SOURCE",
    "list": "CODE",
    "run": "CODE DATA",
    "debug": "CODE DATA",
}


def command(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="new, assemble, list, run or debug.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="SOURCE of assemble, CODE, or CODE and DATA."),
    ] = None,
    settings: Set = None,
    out: Annotated[
        Path | None, option("--out", "With assemble: the code. Default: beside the source.")
    ] = None,
    script: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With debug: a file of its commands, or - for a pipe."),
    ] = None,
    warn: Annotated[bool, typer.Option("-w", help="Note questionable transfers too.")] = False,
    as_json: Annotated[bool, option("--json", "With run.")] = False,
    force: Force = False,
) -> None:
    """Assemble, run and debug programs of a systolic array of 256 elements.

    new writes inverse.asm and data.txt, the inverse of a 6×6 matrix, in the current folder.

    \b
    Examples:
      linkwright tools systolic new
      linkwright tools systolic assemble inverse.asm
      linkwright tools systolic assemble inverse.asm --set n=4 -o four.code
      linkwright tools systolic list inverse.code
      linkwright tools systolic run inverse.code data.txt
      linkwright tools systolic debug inverse.code data.txt -w --script commands.txt
    """
    takes = _ACTIONS.get(action)
    if takes is None:
        from linkwright.base.errors import suggestion

        raise InputError(
            f"array cannot {action[:40]!r}",
            remedy=suggestion(action, _ACTIONS, f"take one of {', '.join(_ACTIONS)}"),
        )
    given = files or []
    if len(given) != len(takes.split()):
        raise InputError(
            f"array {action} takes {takes or 'no file'}",
            remedy=f"write linkwright tools systolic {action} {takes}".strip(),
        )
    if action == "new":
        _new(force)
    elif action == "assemble":
        _assemble(given[0], settings or [], out, force)
    elif action == "list":
        _list(given[0])
    elif action == "run":
        _run(*_machine(given, warn), as_json)
    else:
        _debug(_machine(given, warn)[0], script, force)


def _new(force: bool) -> None:
    import numpy as np

    from linkwright.base.files import file_exists, write_text
    from linkwright.heritage.systolic import faddeev_data, program_source

    A = np.eye(6) + 0.1 * np.cos(np.arange(36.0).reshape(6, 6))
    half = np.eye(6) / 2
    texts = {
        Path("inverse.asm"): program_source(),
        Path("data.txt"): "# B and C are half the unit matrix, so that all numbers fit in (-2, 2): "
        "a quarter\n# of the inverse comes out of the array, and 4 times that is printed\n"
        "scale results 4\n" + faddeev_data(np.round(A, 3), half, half, np.zeros((6, 6))),
    }
    for path in texts:
        if path.exists() and not force:
            raise file_exists(path)
    for path, text in texts.items():
        write_text(path, text, replace=force)
        echo(f"wrote {path}")


def _assemble(source: Path, settings: list[str], out: Path | None, force: bool) -> None:
    from linkwright.base.files import integer, read_text, write_text
    from linkwright.heritage.systolic import assemble

    values = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        number = integer(value)
        if not equals or number is None:
            raise InputError(
                f"--set {brief(setting)} sets nothing", remedy="write --set NAME=NUMBER"
            )
        values[name] = number
    code = assemble(read_text(source, _MOST), file=source.name, settings=values)
    target = source.with_suffix(".code") if out is None else out
    write_text(target, code.text(), replace=force or out is None)
    echo(f"wrote {target}: {len(code.instructions)} instructions")


def _list(path: Path) -> None:
    from linkwright.base.files import read_text
    from linkwright.heritage.systolic import read_code
    from linkwright.heritage.systolic.listing import listing

    code = read_code(read_text(path, _MOST), file=str(path))
    echo(listing(code, range(len(code.instructions))))


def _machine(files: list[Path], warn: bool) -> tuple[ArrayMachine, dict[str, float]]:
    """Return the machine with its program and data, and the scales of what comes out."""
    from linkwright.base.files import read_text
    from linkwright.heritage.systolic import ArrayMachine, data_scales, read_code, read_data

    code = read_code(read_text(files[0], _MOST), file=str(files[0]))
    data = read_text(files[1], _MOST)
    memory, warnings = read_data(data, code.queues, file=str(files[1]))
    scales = data_scales(data, code.queues, file=str(files[1]))
    for warning in warnings:
        echo(f"warning: {warning}", err=True)
    return ArrayMachine(code, memory, watch=warn), scales


def _run(machine: ArrayMachine, scales: dict[str, float], as_json: bool) -> None:
    from linkwright.heritage.systolic import to_numbers
    from linkwright.heritage.systolic.cost import SYSTEM_CLOCK

    try:
        machine.run()
    finally:
        for warning in machine.warnings:
            echo(f"warning: {warning}", err=True)
    out = {
        q.name: to_numbers(machine.memory[list(q.addresses), : q.words]) * scales.get(q.name, 1.0)
        for q in machine.code.queues
        if q.output and q.words
    }
    seconds = machine.cycle / SYSTEM_CLOCK
    if as_json:
        told: dict[str, Any] = {name: rows.tolist() for name, rows in out.items()}
        about = {"cycles": machine.cycle, "steps": machine.marks, "seconds": seconds}
        told = {"queues": told, "scales": {name: scales.get(name, 1.0) for name in out}}
        echo(json.dumps({**about, **told, "warnings": list(machine.warnings)}))
        return
    for name, rows in out.items():
        times = f", {scales[name]:g} times the words of the array" if name in scales else ""
        echo(f"{name}{times}:")
        for row in rows:
            echo(" ".join(f"{value:13.10f}" for value in row))
    echo(f"{machine.cycle} cycles, {machine.marks} steps, {seconds * 1e3:.3f} ms at 8 MHz")


def _debug(machine: ArrayMachine, script: str | None, force: bool) -> None:
    from linkwright.base.files import read_text, write_text
    from linkwright.heritage.systolic import Debugger
    from linkwright.heritage.systolic.debugger import DUMP, scripted

    def write(path: Path, text: str) -> None:
        write_text(path, text, replace=force or path == Path(DUMP))

    talk = Debugger(machine, write)
    echo(talk.hello())
    if script is None and sys.stdin.isatty():
        _talk(talk)
        return
    piped = script in (None, "-")
    text = sys.stdin.read() if piped else read_text(str(script), _MOST)
    scripted(talk, text, echo, file="<stdin>" if piped else str(script))
    if talk.fault is not None:
        raise talk.fault


def _talk(talk: Debugger) -> None:
    """Take lines of a terminal until one leaves."""
    import contextlib

    from linkwright.heritage.systolic.debugger import PROMPT

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - gives `input` editing and history

    while not talk.left:
        try:
            line = input(PROMPT)
        except EOFError:
            echo()
            return
        try:
            shown = talk.give(line)
        except Error as error:
            echo(f"error: {error}")
        else:
            if shown:
                echo(shown)
