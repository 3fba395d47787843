"""F-strings: from expressions in the syntax of Fortran to those of text models.

Bodies, points and loads are written in small letters here, parameters in capitals, so that a body F
and a force F stay apart from a parameter F, as they do in AUTOSIM. States by number, `q(4)`, become
their names; a function of the user's, `func(thrust, ...)`, has no value in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from linkwright.base.errors import InputError
from linkwright.base.reprs import brief

_TOKEN = re.compile(
    r"(?P<number>(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?)|(?P<reference>\#[A-Za-z][\w*-]*)"
    r"|(?P<direction>\[[^\]]*\])|(?P<name>[A-Za-z]\w*)|(?P<sign>\*\*|[-+*/(),])"
)
FUNCTIONS = {
    **{name: name for name in ("sin", "cos", "atan", "atan2", "nominal", "dxdt", "dot", "cross")},
    **{name: name for name in ("dir", "mag", "dplane", "angle", "pos", "vel", "rot", "fm", "sqrt")},
    "partial": "diff",
}
"""Functions of F-strings, and what they are called here."""

_OF_PLACES = {"pos", "vel", "rot", "fm"}


def translated(
    text: str,
    state: Callable[[str, int], str],
    *,
    dummies: Collection[str] = (),
    variables: Collection[str] = (),
    external: Callable[[str, str], str] | None = None,
) -> str:
    """Return an F-string as an expression of a text model.

    Args:
        text: the F-string, without blanks.
        state: gives the name of a state by its letter, "q", "u" or "qp", and its number.
        dummies: names that stand for the length, its nominal value and its rate.
        variables: names that setf has given.
        external: gives the name of what a function of the user's stands for.

    >>> translated("-Kr*q(1)+dot(VEL(B0),[B1])", lambda letter, k: f"phi{k}")
    '-KR*phi1+dot(vel(b0),[b1])'
    """
    parts: list[str] = []
    open_: list[str] = []  # the functions whose parentheses are open
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise InputError(f"{brief(text[place : place + 10])} is not part of an expression")
        kind, word = match.lastgroup, match[0]
        place = match.end()
        if kind == "number":
            parts.append(word.lower().replace("d", "e"))
        elif kind == "direction":
            parts.append(word.lower())
        elif kind == "reference":
            ends = [k for k in range(len(word), 1, -1) if variable(word[:k])[1:] in variables]
            whole = ends[0] if ends else len(word.replace("*", "-").split("-")[0])
            place += whole - len(word)  # a name may hold - and *, but these may also be signs
            parts.append(variable(word[:whole]))
        elif kind == "sign":
            if word == ")" and open_:
                open_.pop()
            elif word == "(":
                open_.append("")
            parts.append(word)
        elif text[place : place + 1] == "(":
            made, place = _call(text, match[0].lower(), place, state, external)
            parts.append(made)
            if made in FUNCTIONS.values():
                open_.append(made)
                parts.append("(")
                place += 1
        else:
            parts.append(_name(word, open_, dummies))
    return "".join(parts)


def variable(word: str) -> str:
    """Return the reference to what setf has named; the language has no * and - in names."""
    return "#" + re.sub(r"\W", "_", word.lstrip("#").lower())


def _name(word: str, open_: list[str], dummies: Collection[str]) -> str:
    if open_ and open_[-1] in _OF_PLACES:
        return word.lower()
    if word.lower() in dummies:
        return word.lower()
    return "t" if word.lower() == "t" else word.upper()


def _call(
    text: str,
    name: str,
    place: int,
    state: Callable[[str, int], str],
    external: Callable[[str, str], str] | None,
) -> tuple[str, int]:
    """Return a function's name, or what a whole call stands for, and the place behind it."""
    if name in FUNCTIONS:
        return FUNCTIONS[name], place
    inside = _inside(text, place)
    after = place + len(inside) + 2
    if name in ("q", "u", "qp") and inside.isdigit():
        return state(name, int(inside)), after
    if name == "func" and external is not None:
        function, _, arguments = inside.partition(",")
        return external(function.lower(), arguments), after
    raise InputError(f"there is no function {brief(name)} in expressions")


def _inside(text: str, place: int) -> str:
    depth = 0
    for k in range(place, len(text)):
        depth += (text[k] == "(") - (text[k] == ")")
        if depth == 0:
            return text[place + 1 : k]
    raise InputError("an expression has no closing parenthesis")
