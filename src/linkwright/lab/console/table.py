"""The table of commands: names, arguments with units and defaults, and how a line is read.

Everything that takes commands takes them from here: the prompt, scripts, attached consoles and the
page. A command is text in and an `Answer` out: text for people, data for programs.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError, nearest
from linkwright.lab.console import dialogue

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

Value = str | bool | int | float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gives."""

    text: str = ""  # for people; lines
    data: Any = None  # for programs: numbers, texts, lists and mappings alone


@dataclass(frozen=True, slots=True)
class CommandArgument:
    """An argument of a command."""

    name: str  # of it
    help: str  # what it is
    # value where it is not given, which also says its type; a type alone where it must be given or
    # asked for; a function of the laboratory where it depends on it
    default: Value | type | Callable[[Lab], Value]
    unit: str = ""  # of a number
    choices: Callable[[Lab], Iterable[str]] | None = None  # words that it may be, of a laboratory
    optional: bool = False  # whether it stays None where it is not given
    rest: bool = False  # whether it is all words that are left
    asked: bool = True  # whether a dialogue asks for it although it has a default

    def usual(self, lab: Lab | None) -> Value | None:
        """Return the default in a laboratory; None where there is none."""
        if isinstance(self.default, type):
            return None
        if callable(self.default):
            return None if lab is None else self.default(lab)
        return self.default

    def like(self, lab: Lab | None) -> Value:
        """Return a value of the type that it has."""
        if isinstance(self.default, type):
            made: Value = self.default()
            return made
        found = self.usual(lab)
        return "" if found is None else found

    def read(self, lab: Lab, text: str, command: str) -> Value:
        """Return what was given, checked."""
        what = f"{self.name} of {command}"
        value: Value = dialogue.read(text, self.like(lab), what, self.unit)
        if self.choices is not None:
            require(str(value), list(self.choices(lab)), self.help or self.name)
        return value

    def ask(self, lab: Lab, command: str) -> Value:
        """Return what whoever gave the command answers."""
        usual = self.usual(lab)
        if usual is not None:
            question = f"{self.help}"
            given: Value = dialogue.ask(question, usual, unit=self.unit)
        else:
            text = dialogue.ask(f"{self.help}", "")
            if not text:
                raise InputError(
                    f"{command} needs {self.name}: {self.help}",
                    remedy=f"give it: {command} {self.name}=...",
                )
            given = dialogue.read(text, self.like(lab), self.name, self.unit)
        if self.choices is not None:
            require(str(given), list(self.choices(lab)), self.help or self.name)
        return given


@dataclass(frozen=True, slots=True)
class NamedArguments:
    """Arguments `name=value` whose names the laboratory knows: joints, parameters of a task."""

    name: str  # of what is named, in the plural
    # unit by name, of a laboratory and the other arguments
    units: Callable[[Lab, Mapping[str, Any]], Mapping[str, str]]
    # a value of the type of each, by name; numbers where it is missing
    types: Callable[[Lab, Mapping[str, Any]], Mapping[str, Any]] = lambda lab, given: {}


@dataclass(frozen=True, slots=True)
class ConsoleCommand:
    """A command."""

    name: str  # as it is typed
    help: str  # one line for `man`
    # carries it out: called with the laboratory and the arguments by name
    function: Callable[..., Answer | str | None]
    arguments: tuple[CommandArgument, ...] = ()  # in order
    short: tuple[str, ...] = ()  # other names
    # further arguments by names of the laboratory; the function gets them as `pairs`
    pairs: NamedArguments | None = None
    dialogue: bool = False  # whether all arguments are asked for where none is given
    # whether it may run while another command runs: it changes nothing, or it stops what moves
    beside: bool = False
    group: str = "own"  # heading in `man`
    # what stands for one word without a name, where that means something else
    lone: Callable[[str], list[str]] | None = None

    @property
    def usage(self) -> str:
        """How it is typed.

        >>> ConsoleCommand("run", "", print, (CommandArgument("seconds", "", 1.0, "s"),)).usage
        'run [seconds]'
        """
        words = [self.name]
        for argument in self.arguments:
            needed = isinstance(argument.default, type) and not argument.optional
            words.append(argument.name if needed else f"[{argument.name}]")
        if self.pairs is not None:
            words.append(f"[{self.pairs.name}=value ...]")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A line that was read."""

    command: ConsoleCommand  # that it names
    given: Mapping[str, Any]  # values by argument


@dataclass(slots=True)
class CommandTable:
    """Commands by name.

    >>> table = CommandTable()
    >>> def wag(lab, times: int = 3) -> str:
    ...     return "wag " * times
    >>> _ = table.add("wag", "wag the tail", wag)
    >>> table["wag"].usage
    'wag [times]'
    >>> table["wog"]
    Traceback (most recent call last):
    ...
    linkwright.InputError: there is no command 'wog'; did you mean 'wag'?
    """

    commands: dict[str, ConsoleCommand] = field(default_factory=dict)  # in order
    names: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[ConsoleCommand]:
        return iter(self.commands.values())

    def __len__(self) -> int:
        return len(self.commands)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> ConsoleCommand:
        return self.commands[self.names[require(name, self.names, "command")]]

    def register(self, command: ConsoleCommand) -> ConsoleCommand:
        """Take up a command; a name that is taken is rejected."""
        for name in (command.name, *command.short):
            if name in self.names:
                raise InputError(
                    f"there is a command {name!r} already: {self[name].help}",
                    remedy="give this one another name",
                )
            if not name.replace("_", "").isalnum():
                raise InputError(
                    f"{name!r} cannot be a command", remedy="use letters, digits and _"
                )
        self.commands[command.name] = command
        for name in (command.name, *command.short):
            self.names[name] = command.name
        return command

    def add(
        self, name: str, about: str, function: Callable[..., Answer | str | None]
    ) -> ConsoleCommand:
        """Add a command of one's own, with the arguments of its function (SL: `addToMan`).

        Args:
            about: one line for `man`.
            function: called with the laboratory and its arguments; returns a text or nothing.
        """
        return self.register(ConsoleCommand(name, about, function, _arguments(function)))

    def read(self, lab: Lab, line: str) -> CommandCall:
        """Read a line: a name, then values in order or as `name=value`.

        Args:
            lab: whose joints and tasks it may name.
        """
        words = split(line)
        if not words:
            raise InputError("no command was given", remedy="man lists them")
        command = self[words[0]]
        return CommandCall(command, _given(lab, command, words[1:]))

    def run(self, lab: Lab, line: str) -> Answer:
        """Carry out a line."""
        call = self.read(lab, line)
        lab.note_command(line)
        return self.carry_out(lab, call)

    def carry_out(self, lab: Lab, call: CommandCall) -> Answer:
        """Carry out a line that was read."""
        found = call.command.function(lab, **call.given)
        return found if isinstance(found, Answer) else Answer(found or "")


def split(line: str) -> list[str]:
    """Return the words of a line; quotes keep blanks.

    >>> split("st sine file='my file.sine'")
    ['st', 'sine', 'file=my file.sine']
    """
    try:
        return shlex.split(line)
    except ValueError:
        raise InputError(f"a quotation mark in {line!r} is not closed", remedy="close it") from None


def require(name: str, known: Iterable[str], kind: str) -> str:
    """Return a name that is known; the nearest is reported where it is not."""
    names = list(known)
    if name in names:
        return name
    near = nearest(name, names) or next((n for n in names if n.lower() == name.lower()), "")
    few = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise InputError(
        f"there is no {kind} {name!r}",
        remedy=f"did you mean {near!r}?" if near else f"there are {few}" if few else None,
    )


def _given(lab: Lab, command: ConsoleCommand, words: list[str]) -> dict[str, Any]:
    """Return the arguments of a command from its words, asked for where that is its way."""
    by_name = {argument.name: argument for argument in command.arguments}
    plain: list[str] = []
    named: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            if name in named:
                raise InputError(f"{command.name} has {name} twice", remedy="give it once")
            named[name] = value
        elif named:
            raise InputError(
                f"{command.name} has {word!r} after {next(iter(named))}=...",
                remedy="give values without a name first",
            )
        else:
            plain.append(word)
    if command.lone is not None and len(plain) == 1 and not named:
        plain = command.lone(plain[0])
    if command.arguments and command.arguments[-1].rest:
        first = len(command.arguments) - 1
        plain[first:] = [" ".join(plain[first:])] if plain[first:] else []
    if len(plain) > len(command.arguments):
        raise InputError(
            f"{command.name} takes no {plain[len(command.arguments)]!r}",
            remedy=f"it is typed: {command.usage}",
        )
    texts = dict(zip(by_name, plain, strict=False))
    for name in [n for n in named if n in by_name]:
        if name in texts:
            raise InputError(f"{command.name} has {name} twice", remedy="give it once")
        texts[name] = named.pop(name)
    if named and command.pairs is None:
        wrong = next(iter(named))
        require(wrong, by_name, f"argument of {command.name}")
    asks = command.dialogue and not words
    given: dict[str, Any] = {}
    for argument in command.arguments:
        if argument.name in texts:
            given[argument.name] = argument.read(lab, texts[argument.name], command.name)
        elif (asks and argument.asked) or (argument.usual(lab) is None and not argument.optional):
            given[argument.name] = argument.ask(lab, command.name)
        else:
            given[argument.name] = argument.usual(lab)
    if command.pairs is not None:
        given["pairs"] = _pairs(lab, command, given, named, ask=asks)
    return given


def _pairs(
    lab: Lab,
    command: ConsoleCommand,
    given: Mapping[str, Any],
    named: Mapping[str, str],
    *,
    ask: bool,
) -> dict[str, Value]:
    """Return the further arguments of a command, by the names of the laboratory."""
    assert command.pairs is not None
    units = command.pairs.units(lab, given)
    types = command.pairs.types(lab, given)
    found: dict[str, Value] = {}
    for name, text in named.items():
        require(name, units, f"{command.pairs.name[:-1]} of {command.name}")
        found[name] = dialogue.read(text, types.get(name, 0.0), name, units[name])
    if ask:
        for name, unit in units.items():
            if name in types:
                value = dialogue.ask(name, types[name], unit=unit)
                if value is not types[name]:
                    found[name] = value
    return found


def _arguments(function: Callable[..., Any]) -> tuple[CommandArgument, ...]:
    """Return the arguments of a function after the laboratory, by its signature."""
    made = []
    hints = {"int": int, "float": float, "str": str, "bool": bool}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        note = parameter.annotation
        kind = hints.get(note, str) if isinstance(note, str) else note
        default = kind if parameter.default is parameter.empty else parameter.default
        if default not in (int, float, str, bool) and not isinstance(default, Value):
            raise InputError(
                f"the argument {parameter.name!r} of a command is not a number, text or switch",
                remedy="annotate it with int, float, str or bool, or give it such a default",
            )
        made.append(CommandArgument(parameter.name, parameter.name, default))
    return tuple(made)
