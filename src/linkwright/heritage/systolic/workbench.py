"""Programs of the array in files: written, assembled, listed, run and debugged."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.base.files import file_exists, integer, read_text, write_text
from linkwright.base.reprs import brief
from linkwright.heritage.systolic.array_page import array_page
from linkwright.heritage.systolic.assembler import assemble
from linkwright.heritage.systolic.code import read_code
from linkwright.heritage.systolic.cost import SYSTEM_CLOCK
from linkwright.heritage.systolic.debugger import DUMP, PROMPT, Debugger, scripted
from linkwright.heritage.systolic.fixed import to_numbers
from linkwright.heritage.systolic.listing import listing
from linkwright.heritage.systolic.machine import ArrayMachine
from linkwright.heritage.systolic.memory import data_scales, read_data
from linkwright.heritage.systolic.programs import faddeev_data, program_source

Print = Callable[[str], None]

_MOST = 2**24  # bytes of a source, code or data file
_ACTIONS = {
    "new": "",
    "assemble": "SOURCE",
    "list": "CODE",
    "run": "CODE DATA",
    "debug": "CODE DATA",
    "page": "CODE DATA",
}


def work(
    action: str,
    files: Sequence[Path],
    *,
    settings: Sequence[str] = (),
    out: Path | None = None,
    script: str | None = None,
    watch: bool = False,
    as_json: bool = False,
    force: bool = False,
    say: Print,
    note: Print,
) -> None:
    """Carry out one of the actions above on its files; `say` prints results, `note` warnings."""
    takes = _ACTIONS.get(action)
    if takes is None:
        raise InputError(
            f"array cannot {action[:40]!r}",
            remedy=suggestion(action, _ACTIONS, f"take one of {', '.join(_ACTIONS)}"),
        )
    if len(files) != len(takes.split()):
        raise InputError(
            f"array {action} takes {takes or 'no file'}",
            remedy=f"write linkwright tools systolic {action} {takes}".strip(),
        )
    if action == "new":
        _write_example(force, say)
    elif action == "assemble":
        code = assemble(read_text(files[0], _MOST), file=files[0].name, settings=_numbers(settings))
        target = files[0].with_suffix(".code") if out is None else out
        write_text(target, code.text(), replace=force or out is None)
        say(f"wrote {target}: {len(code.instructions)} instructions")
    elif action == "list":
        code = read_code(read_text(files[0], _MOST), file=str(files[0]))
        say(listing(code, range(len(code.instructions))))
    else:
        machine, scales = _machine(files, watch, note)
        if action == "page":
            target = files[0].with_suffix(".html") if out is None else out
            named = dict(setting.partition("=")[::2] for setting in settings)
            if set(named) - {"register"}:
                raise InputError(
                    f"a page has no setting {brief(next(iter(named)))}",
                    remedy="such as --set register=A2",
                )
            text = array_page(machine, named.get("register", "AB0"), title=files[0].stem)
            write_text(target, text, replace=force or out is None)
            say(f"wrote {target}: {machine.cycle} cycles")
        elif action == "run":
            _run(machine, scales, as_json, say, note)
        else:
            _debug(machine, script, force, say)


def _write_example(force: bool, say: Print) -> None:
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
        say(f"wrote {path}")


def _numbers(settings: Sequence[str]) -> dict[str, int]:
    values = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        number = integer(value)
        if not equals or number is None:
            raise InputError(
                f"--set {brief(setting)} sets nothing", remedy="write --set NAME=NUMBER"
            )
        values[name] = number
    return values


def _machine(
    files: Sequence[Path], watch: bool, note: Print
) -> tuple[ArrayMachine, dict[str, float]]:
    """Return the machine with its program and data, and the scales of what comes out."""
    code = read_code(read_text(files[0], _MOST), file=str(files[0]))
    data = read_text(files[1], _MOST)
    memory, warnings = read_data(data, code.queues, file=str(files[1]))
    for warning in warnings:
        note(f"warning: {warning}")
    scales = data_scales(data, code.queues, file=str(files[1]))
    return ArrayMachine(code, memory, watch=watch), scales


def _run(
    machine: ArrayMachine, scales: dict[str, float], as_json: bool, say: Print, note: Print
) -> None:
    try:
        machine.run()
    finally:
        for warning in machine.warnings:
            note(f"warning: {warning}")
    out = {
        q.name: to_numbers(machine.memory[list(q.addresses), : q.words]) * scales.get(q.name, 1.0)
        for q in machine.code.queues
        if q.output and q.words
    }
    seconds = machine.cycle / SYSTEM_CLOCK
    if as_json:
        data: dict[str, Any] = {
            "cycles": machine.cycle,
            "steps": machine.marks,
            "time_s": seconds,
            "queues": {name: rows.tolist() for name, rows in out.items()},
            "scales": {name: scales.get(name, 1.0) for name in out},
            "warnings": list(machine.warnings),
        }
        say(json.dumps(data, indent=2))
        return
    for name, rows in out.items():
        times = f", {scales[name]:g} times the words of the array" if name in scales else ""
        say(f"{name}{times}:")
        for row in rows:
            say(" ".join(f"{value:13.10f}" for value in row))
    say(f"{machine.cycle} cycles, {machine.marks} steps, {seconds * 1e3:.3f} ms at 8 MHz")


def _debug(machine: ArrayMachine, script: str | None, force: bool, say: Print) -> None:
    def write(path: Path, text: str) -> None:
        write_text(path, text, replace=force or path == Path(DUMP))

    talk = Debugger(machine, write)
    say(talk.hello())
    if script is None and sys.stdin.isatty():
        _talk(talk, say)
        return
    piped = script in (None, "-")
    text = sys.stdin.read() if piped else read_text(str(script), _MOST)
    scripted(talk, text, say, file="<stdin>" if piped else str(script))
    if talk.fault is not None:
        raise talk.fault


def _talk(talk: Debugger, say: Print) -> None:
    """Take lines of a terminal until one leaves."""
    with suppress(ImportError):
        import readline  # noqa: F401 - gives `input` editing and history

    while not talk.left:
        try:
            line = input(PROMPT)
        except EOFError:
            say("")
            return
        try:
            shown = talk.give(line)
        except Error as error:
            say(f"error: {error}")
        else:
            if shown:
                say(shown)
