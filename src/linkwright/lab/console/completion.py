"""What a line of the console can go on with: commands, tasks, joints, parameters, files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.errors import Error
from linkwright.lab.console.table import CommandArgument, ConsoleCommand

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

_MOST = 200  # files


@dataclass(frozen=True, slots=True)
class Completed:
    """One way a line can go on."""

    word: str  # that takes the place of the last one
    about: str = ""  # what it is


def completions(lab: Lab, line: str) -> tuple[str, list[Completed]]:
    """Return the word that a line ends with, and what could stand for it."""
    words = line.split()
    last = "" if not words or line[-1:].isspace() else words.pop()
    known = list(_candidates(lab, words, last))
    return last, [found for found in known if found.word.lower().startswith(last.lower())]


def _candidates(lab: Lab, before: list[str], last: str) -> Iterator[Completed]:
    if not before:
        for command in lab.commands:
            for name in (command.name, *command.short):
                yield Completed(name, command.help)
        return
    if before[0] not in lab.commands:
        return
    command = lab.commands[before[0]]
    name, equals, value = last.partition("=")
    plain = [word for word in before[1:] if "=" not in word]
    if equals:
        argument = next((a for a in command.arguments if a.name == name), None)
        if argument is not None:
            for found in _values(lab, argument, value):
                yield Completed(f"{name}={found.word}", found.about)
        elif name == "file":
            for found in _files(value):
                yield Completed(f"{name}={found.word}", found.about)
        return
    if len(plain) < len(command.arguments) and len(plain) == len(before) - 1:
        yield from _values(lab, command.arguments[len(plain)], last)
    for argument in command.arguments[len(plain) :]:
        yield Completed(f"{argument.name}=", argument.help)
    if command.pairs is not None:
        with suppress(Error):
            given = _so_far(command, plain)
            taken = {word.partition("=")[0] for word in before[1:]}
            for pair, unit in command.pairs.units(lab, given).items():
                if pair not in taken:
                    yield Completed(f"{pair}=", unit)


def _so_far(command: ConsoleCommand, plain: list[str]) -> dict[str, str]:
    return dict(zip((argument.name for argument in command.arguments), plain, strict=False))


def _values(lab: Lab, argument: CommandArgument, begun: str) -> Iterator[Completed]:
    if argument.choices is not None:
        for word in argument.choices(lab):
            yield Completed(word, argument.help)
    elif argument.name in ("file", "script"):
        yield from _files(begun)
    elif isinstance(argument.like(lab), bool):
        yield from (Completed("on"), Completed("off"))


def _files(begun: str) -> Iterator[Completed]:
    """Yield the files whose names begin so."""
    folder, slash, _ = begun.rpartition("/")
    base = Path(folder or slash or ".")
    with suppress(OSError):
        for number, path in enumerate(sorted(base.iterdir())):
            if number >= _MOST:
                return
            end = "/" if path.is_dir() else ""
            yield Completed(f"{folder}{slash}{path.name}{end}", "folder" if end else "file")
