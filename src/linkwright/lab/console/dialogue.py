"""Questions that commands and tasks ask, and who answers them.

A question goes to whoever gave the command: the person at that prompt, the one at the other end of
a socket, or the lines of a script. SL calls them `get_int`, `get_double` and `get_string`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import Any, TypeVar, cast

from linkwright.algebra.units.amounts import amount
from linkwright.base.errors import Error, InputError

Asker = Callable[[str], str]
"""Shows a question and returns the line that was given; raises `AbortedError` where none was."""

Value = TypeVar("Value")

_ASKER: ContextVar[Asker | None] = ContextVar("asker", default=None)


class AbortedError(Error):
    """Whoever was asked did not want to answer."""


@contextmanager
def answered_by(asker: Asker | None) -> Iterator[None]:
    """Let questions inside go to one that answers.

    >>> with answered_by(lambda question: "2.5"):
    ...     ask("how fast", 1.0, unit="Hz")
    2.5
    """
    before = _ASKER.set(asker)
    try:
        yield
    finally:
        _ASKER.reset(before)


_ENDING: ContextVar[Event | None] = ContextVar("ending", default=None)


@contextmanager
def ended_by(event: Event) -> Iterator[None]:
    """Let a command inside end where an event is set."""
    before = _ENDING.set(event)
    try:
        yield
    finally:
        _ENDING.reset(before)


def interrupted() -> bool:
    """Return whether somebody wants the command that runs here to end.

    >>> interrupted()
    False
    """
    event = _ENDING.get()
    return event is not None and event.is_set()


def ask(question: str, default: Value, *, unit: str = "") -> Value:
    """Return the answer to a question, of the type of its default.

    An empty answer is the default. What cannot be read is asked for again, three times.

    >>> ask("how often", 3)  # nobody there to ask
    3
    """
    found = _answer(question, default, unit)
    noted = _NOTED.get()
    if noted is not None:
        noted.append(found)
    return found


_NOTED: ContextVar[list[Any] | None] = ContextVar("noted", default=None)


@contextmanager
def noted_answers() -> Iterator[list[Any]]:
    """Note the answers that are given inside, in order.

    >>> with noted_answers() as given:
    ...     _ = ask("how often", 3)
    >>> given
    [3]
    """
    found: list[Any] = []
    before = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(before)


def _answer(question: str, default: Value, unit: str) -> Value:
    asker = _ASKER.get()
    if asker is None:
        return default
    words = f"{question} [{shown(default, unit)}]: "
    problem: Error | None = None
    for _ in range(_TRIALS):
        line = asker(words if problem is None else f"{problem}\n{words}").strip()
        if not line:
            return default
        try:
            return read(line, default, question, unit)
        except Error as error:
            problem = error
    raise AbortedError(f"no answer to {question!r} could be read: {problem}")


def read(text: str, like: Value, what: str, unit: str = "") -> Value:
    """Return a text as a value of the type of another.

    >>> (
    ...     read("90 deg", 0.0, "the angle", "rad"),
    ...     read("off", True, "the filters"),
    ...     read("7", 1, "n"),
    ... )
    (1.5707963267948966, False, 7)
    """
    if isinstance(like, bool):
        return cast(Value, _switch(text, what))
    if isinstance(like, int):
        return cast(Value, _whole(text, what))
    if isinstance(like, float):
        return cast(Value, amount(_apart(text), what, unit or "?"))
    if like is None:
        return cast(Value, _guessed(text))
    if isinstance(like, str):
        return cast(Value, text)
    if isinstance(like, Mapping):
        return cast(Value, dict(_pair(part, what, unit) for part in text.split(",")))
    return cast(Value, tuple(amount(_apart(part), what, unit or "?") for part in text.split(",")))


def shown(value: Any, unit: str = "") -> str:
    """Return a value as it could be typed, with its unit.

    >>> shown(0.5, "Hz"), shown(True), shown("default.sine"), shown((0.1, 2))
    ('0.5 Hz', 'on', 'default.sine', '0.1,2')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{shown(each)}" for name, each in value.items())
    if isinstance(value, Iterable):
        return ",".join(shown(each) for each in value)
    return f"{value:.6g} {unit}".rstrip()


_TRIALS = 3
_SWITCHES = {"on": True, "yes": True, "y": True, "true": True, "1": True} | {
    "off": False,
    "no": False,
    "n": False,
    "false": False,
    "0": False,
}


def _guessed(text: str) -> Any:
    """Return a number, a row of numbers, numbers by name, or the text: whatever it can be.

    >>> _guessed("0.4"), _guessed("1,2"), _guessed("R_EB:1.2"), _guessed("a.traj")
    (0.4, (1.0, 2.0), {'R_EB': 1.2}, 'a.traj')
    """
    kinds: tuple[Any, ...] = (0.0, {}, ())
    for like in kinds:
        try:
            return read(text, like, "a setting")
        except Error:
            continue
    return text


def _pair(text: str, what: str, unit: str) -> tuple[str, float]:
    name, colon, value = text.partition(":")
    if not colon:
        raise InputError(f"{what} has {text!r}", remedy="give name:number, with commas between")
    return name.strip(), amount(_apart(value), what, unit or "?")


def _switch(text: str, what: str) -> bool:
    if text.lower() not in _SWITCHES:
        raise InputError(f"{what} is {text!r}", remedy="give on or off")
    return _SWITCHES[text.lower()]


def _whole(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{what} is {text!r}", remedy="give a whole number") from None


def _apart(text: str) -> str:
    """Return a number with its unit, with a blank between them: 90deg is 90 deg.

    >>> _apart("90deg"), _apart("1e-3m"), _apart("-2.5"), _apart("90 deg")
    ('90 deg', '1e-3 m', '-2.5', '90 deg')
    """
    found = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([a-zA-Z%].*)", text)
    return text if found is None else f"{found[1]} {found[2]}"
