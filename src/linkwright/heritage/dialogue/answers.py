"""Answers of the dialogue: what is typed, read into what a text model holds.

Each kind of answer is a function from the typed text to a value. It raises an `InputError` with a
number where the text is not of its kind. Numbers may have units (`10 in`), or be expressions of the
model's parameters; a number without a unit is in the unit of the prompt, and an angle always has
one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.base.files import integer

Reader = Callable[[str], Any]

_NAME = re.compile(r"[A-Za-z]\w*")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_AMOUNT = re.compile(rf"({_NUMBER.pattern})\s*([^\W\d].*)")


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the dialogue.

    >>> Question("how many links", whole(1), "6").read("6")
    6
    """

    words: str  # what is asked
    read: Reader  # returns the value of an answer, or raises what is wrong with it
    default: str | None = None  # the answer that an empty line stands for; None where one is needed
    help: str = ""  # what `?` prints
    choices: tuple[str, ...] = ()  # answers to complete

    @property
    def prompt(self) -> str:
        """The line that is shown."""
        shown = f" [{self.default}]" if self.default else ""
        return f"{self.words}{shown}: "


def wrong(what: str, remedy: str) -> InputError:
    """Return the error about an answer that is not of its kind."""
    return InputError(what, remedy=remedy, code="R106")


# -- words -----------------------------------------------------------------------------------------
def choice(words: Sequence[str]) -> Reader:
    """Return the reader of one of some words, or of its number, counted from 1.

    >>> choice(("define", "quit"))("2")
    'quit'
    """

    def read(text: str) -> str:
        chosen = text.strip().lower()
        number = integer(chosen)
        if number is not None and 1 <= number <= len(words):
            return words[number - 1]
        if chosen in words:
            return chosen
        begun = [word for word in words if chosen and word.startswith(chosen)]
        if len(begun) == 1:
            return begun[0]
        raise InputError(
            f"{text[:40]!r} is not one of {', '.join(words)}",
            remedy=suggestion(chosen, words, "type one of them, or its number"),
            code="R105",
        )

    return read


def truth(text: str) -> bool:
    """Return the answer to a question that is answered by yes or no.

    >>> truth("y"), truth("no")
    (True, False)
    """
    return bool(choice(("yes", "no"))(text) == "yes")


def is_name(text: str) -> bool:
    """Whether a text can be a name in a model.

    >>> is_name("q1"), is_name("1q")
    (True, False)
    """
    return _NAME.fullmatch(text) is not None and text not in ("n", "o", "t", "pi", "inf")


def new_name(taken: Collection[str]) -> Reader:
    """Return the reader of a name that is not taken.

    >>> new_name(["base"])("arm")
    'arm'
    """

    def read(text: str) -> str:
        if not is_name(text):
            raise InputError(
                f"{text[:40]!r} cannot be a name",
                remedy="begin with a letter; letters, digits and '_' may follow",
                code="R109",
            )
        if text in taken:
            raise InputError(
                f"the name {text!r} is taken", remedy="choose another name", code="R109"
            )
        return text

    return read


def words(text: str) -> str:
    """Return any text of one line.

    >>> words(" arm with six joints ")
    'arm with six joints'
    """
    text = text.strip()
    if not text.isprintable() or len(text) > 1000:
        raise wrong("a text of one line is needed here", "leave out control characters")
    return text


def toml_file(text: str) -> str:
    """Return the name of a TOML file, or nothing for `none`.

    >>> toml_file("reach.toml"), toml_file("none")
    ('reach.toml', '')
    """
    if text == "none":
        return ""
    if not words(text).endswith(".toml"):
        raise wrong("the name of a file .toml is needed here", "for none, type none")
    if "/" in text or "\\" in text:
        raise InputError(
            f"{text[:60]!r} is not in the folder of the model",
            remedy="give a name without folders",
            code="R118",
        )
    return text


def whole(least: int) -> Reader:
    """Return the reader of a whole number that is not below some least one."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\+?\d{1,12}", text) or int(text) < least:
            raise wrong(f"a whole number from {least} on is needed here", f"such as {least}")
        return int(text)

    return read


# -- numbers ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Numbers:
    """Readers of numbers, alone or several, with the names that expressions may use.

    >>> Numbers().one("m")("10 in"), Numbers(("L",)).place("m")("L/2, 0, 1e-3")
    ('10 in', ['L/2', 0, 0.001])
    """

    names: tuple[str, ...] = ()  # of the model's parameters

    def one(self, unit: str, *, least: float | None = None) -> Reader:
        """Return the reader of a number in a unit, or of an expression."""

        def read(text: str) -> int | float | str:
            value = self._expression(text, unit)
            size = _size(value)
            if least is not None and size is not None and size < least:
                raise InputError(
                    f"{text.strip()[:40]} is below {least:g}",
                    remedy=f"give a number from {least:g} on",
                    code="R110",
                )
            return value

        return read

    def above_zero(self, unit: str) -> Reader:
        """Return the reader of a number above zero."""

        def read(text: str) -> int | float | str:
            value = self._expression(text, unit)
            size = _size(value)
            if size is not None and size <= 0:
                raise InputError(
                    f"{text.strip()[:40]} is not above zero",
                    remedy="give a number above zero",
                    code="R110",
                )
            return value

        return read

    def maybe(self, unit: str) -> Reader:
        """Return the reader of a number in a unit, or of `none`."""

        def read(text: str) -> int | float | str | None:
            return None if text.strip() == "none" else self._expression(text, unit)

        return read

    def place(self, unit: str) -> Reader:
        """Return the reader of three components."""

        def read(text: str) -> list[Any]:
            parts = parts_of(text)
            if len(parts) != 3:
                raise wrong(
                    f"three components are needed here, not {len(parts)}", "such as 10 in, 0, 0"
                )
            return [self._expression(part, unit) for part in parts]

        return read

    def pair(self, unit: str) -> Reader:
        """Return the reader of two numbers, such as where a link begins and ends."""

        def read(text: str) -> list[Any]:
            parts = parts_of(text)
            if len(parts) != 2:
                raise wrong(f"two numbers are needed here, not {len(parts)}", "such as 0, 12 in")
            return [self._expression(part, unit) for part in parts]

        return read

    def moments(self, text: str) -> Any:
        """Return one moment of inertia, three, or six entries (xx, yy, zz, xy, yz, zx)."""
        parts = parts_of(text)
        if len(parts) not in (1, 3, 6):
            raise wrong(
                f"one, three or six moments are needed here, not {len(parts)}",
                "give xx, yy, zz, and xy, yz, zx where they are not zero",
            )
        made = [self._expression(part, "kg*m^2") for part in parts]
        for value in made[:3]:
            size = _size(value)
            if size is not None and size < 0:
                raise InputError(
                    "a moment of inertia is not negative", remedy="give 0 or more", code="R110"
                )
        return made[0] if len(made) == 1 else made

    def turns(self, text: str) -> list[Any]:
        """Return axes and angles, one turn after another: `x 90 deg, z 30 deg`; or `none`."""
        if text.strip() in ("none", ""):
            return []
        made = []
        for part in parts_of(text):
            axis, _, angle = part.strip().partition(" ")
            if axis not in ("x", "y", "z") or not angle.strip():
                raise wrong(
                    f"{part.strip()[:40]!r} is not a turn about an axis",
                    "give an axis and an angle for each turn, such as x 90 deg, z 30 deg",
                )
            made.append([axis, self._expression(angle, "rad")])
        return made

    def _expression(self, text: str, unit: str) -> int | float | str:
        text = text.strip()
        value = plain_number(text)
        if value is None:
            return self._formula(text, unit)
        if unit.startswith("rad") and value:
            raise needs_unit(text, unit)
        return value

    def _formula(self, text: str, unit: str) -> str:
        from linkwright.algebra.language import SymbolScope, parse, read
        from linkwright.algebra.language.syntax import Literal, Unary
        from linkwright.algebra.units import parse_unit

        if not text or len(text) > 500:
            raise wrong("a number or an expression is needed here", f"such as 10 {unit}")
        text = _braced(text)
        try:
            root = read(text).root
            while isinstance(root, Unary):
                root = root.operand
            parse(text, SymbolScope.of(*self.names))
            if isinstance(root, Literal) and root.unit is not None:
                given = parse_unit(root.unit)
                if not given.fits(parse_unit(unit)):
                    raise InputError(
                        f"{root.unit} is not a unit of what is asked, which is in {unit}",
                        remedy=f"give it in {unit}, or in a unit of that kind",
                        code="R107",
                    )
        except (Error, ArithmeticError, ValueError, RecursionError) as error:
            if isinstance(error, InputError) and error.code:
                raise
            what = error.what if isinstance(error, Error) else str(error)
            remedy = error.remedy if isinstance(error, Error) else None
            raise wrong(
                f"{text[:40]!r} is not an expression: {what}",
                remedy or f"give a number, such as 10 {unit}",
            ) from None
        return text


def seconds(text: str) -> float:
    """Return a time above zero, as an option of a command takes it.

    >>> seconds("20 ms")
    0.02
    """
    found = _size(Numbers().above_zero("s")(text))
    if found is None:
        raise wrong(f"{text[:40]!r} is not a time", "give seconds, or 20 ms")
    return found


def plain_number(text: str) -> int | float | None:
    """Return a number without a unit; None where the text is not a number.

    >>> plain_number("3"), plain_number("1e-3"), plain_number("3 m")
    (3, 0.001, None)
    """
    if not _NUMBER.fullmatch(text):
        return None
    value = int(text) if re.fullmatch(r"[+-]?\d{1,15}", text) else float(text)
    if not math.isfinite(value) or abs(value) > 1e300:
        raise wrong(f"{text[:40]} is too large", "give a finite number")
    return value


def needs_unit(text: str, unit: str) -> InputError:
    """Return the error about an angle, or a rate of one, that is a plain number."""
    degrees = unit.replace("rad", "deg", 1)
    return InputError(
        f"the angle {text[:40]} has no unit",
        remedy=f"write {text[:20]} {degrees} or {text[:20]} {unit}",
        code="R108",
    )


def _braced(text: str) -> str:
    """Return an amount with its compound unit in braces, as the language of expressions has it.

    >>> _braced("90 deg/s"), _braced("10 in")
    ('90 {deg/s}', '10 in')
    """
    from linkwright.algebra.units import parse_unit

    found = _AMOUNT.fullmatch(text)
    if found is None or found[4].isalpha():
        return text
    try:
        parse_unit(found[4])
    except Error:
        return text
    return f"{found[1]} {{{found[4]}}}"


def _size(value: object) -> float | None:
    """Return the number that a value stands for, in SI units; None where it has parameters."""
    from linkwright.formats.text.values import constant

    try:
        return constant(value)
    except Error:
        return None


def parts_of(text: str) -> list[str]:
    """Return the parts between commas that stand in no parentheses.

    >>> parts_of("[max(1, 2), 3]")
    ['max(1, 2)', ' 3']
    """
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    parts, depth = [""], 0
    for c in text:
        depth += (c in "({[") - (c in ")}]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def answer_text(value: Any) -> str:
    """Return how a value of a model is typed as an answer.

    >>> answer_text(["10 in", 0, 0]), answer_text([["x", "90 deg"]]), answer_text(None)
    ('10 in, 0, 0', 'x 90 deg', 'none')
    """
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if not value:
            return "none"
        if isinstance(value[0], list | tuple) and len(value[0]) == 2:
            return ", ".join(f"{axis} {_angle(angle)}" for axis, angle in value)
        return ", ".join(answer_text(part) for part in value)
    return str(value)


def keeping(read: Reader, there: Any, shown: str | None) -> Reader:
    """Return a reader that takes the answer that is offered for the value that is there."""

    def kept(text: str) -> Any:
        return there if there is not None and text == shown else read(text)

    return kept


def _angle(value: object) -> str:
    return str(value) if isinstance(value, str) or value == 0 else f"{value} rad"
