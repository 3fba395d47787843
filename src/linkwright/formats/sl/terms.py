"""Values of the expressions in a `.dyn` file and in the header beside it.

Names stand for numbers that are declared in `SL_user.h`, with ``$`` written where C has a bracket:
``eff$1$$x[[2]]`` is ``eff[1].x[2]``. Once every name is replaced by its number, the expression
language of text models does the arithmetic; nothing is evaluated by Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from linkwright.algebra.evaluate import evaluate
from linkwright.algebra.language import LanguageError, parse
from linkwright.base.errors import Error, InputError
from linkwright.formats.sl.braces import Braces, BraceTerm, BraceToken

_FUNCTIONS = {
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "ArcSin": "asin",
    "ArcCos": "acos",
    "ArcTan": "atan",
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Log": "log",
    "Tanh": "tanh",
    "Abs": "abs",
    **{name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log")},
}
_CONSTANTS = {"Pi": math.pi, "PI": math.pi, "M_PI": math.pi, "E": math.e, "G": 9.81}
_DEGREE = {"Degree": math.pi / 180}
_GENERATOR = re.compile(r"Gen(InertiaMatrix|MCMVector|Mass|Variables|ExtForce)S?")
MOST_LENGTH = 1000


def c_name(name: str) -> str:
    """Return how C writes a name of a `.dyn` file: ``$$`` is ``].``, ``$`` is ``[``.

    >>> c_name("eff$1$$m")
    'eff[1].m'
    """
    return name.replace("$$", "].").replace("$", "[")


def number(term: Braces | BraceTerm, names: Mapping[str, float], file: str = "") -> float:
    """Return the value of an expression.

    >>> from linkwright.formats.sl.braces import read_braces
    >>> number(read_braces("{-2*Cos[Pi]*a$1$$x[[2]]}")[0], {"a[1].x[2]": 3.0})
    6.0
    """
    if isinstance(term, Braces):
        if len(term.items) != 1 or not isinstance(term.items[0], BraceTerm):
            raise InputError("one number is needed here", file=file or None, line=term.line)
        term = term.items[0]
    return value(term.tokens, names, file)


def value(tokens: Sequence[BraceToken], names: Mapping[str, float], file: str = "") -> float:
    """Return the value of an expression given as tokens."""
    first = tokens[0]
    text = "".join(_written(tokens, names, file))
    try:
        if len(text) > MOST_LENGTH:
            raise Error(f"it is longer than {MOST_LENGTH} characters")
        found = float(evaluate(parse(text)))
    except LanguageError as error:
        shown = "".join(token.text for token in tokens)[:80]
        raise InputError(
            f"{shown!r} cannot be read: {error.what}", file=file or None, line=first.line
        ) from error
    except (Error, ArithmeticError, ValueError, TypeError) as error:
        shown = "".join(token.text for token in tokens)[:80]
        raise InputError(
            f"{shown!r} has no value: {error}", file=file or None, line=first.line
        ) from error
    if not math.isfinite(found):
        raise InputError("a value is not finite", file=file or None, line=first.line)
    return found


def _written(tokens: Sequence[BraceToken], names: Mapping[str, float], file: str) -> list[str]:
    """Return the expression in words of the expression language."""
    found: list[str] = []
    closing: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind == "name" and at < len(tokens) and tokens[at].text == "[":
            if token.text not in _FUNCTIONS:
                raise InputError(
                    f"the function {token.text!r} is not known",
                    file=file or None,
                    line=token.line,
                    column=token.column,
                    remedy=f"use one of {', '.join(sorted(_FUNCTIONS)[:10])}",
                )
            found.append(_FUNCTIONS[token.text] + "(")
            closing.append("]")
            at += 1
        elif token.kind == "name":
            name, at = _full_name(token, tokens, at, file)
            found.append(f"({_value_of(name, token, names, file)!r})")
        elif token.text == "]":
            found.append(")")
        elif token.kind == "number":
            found.append(token.text.replace("*^", "e"))
        elif token.kind == "sign" and token.text in "()+-*/^":
            found.append(token.text)
        else:
            raise InputError(
                f"{token.text!r} has no meaning in a number",
                file=file or None,
                line=token.line,
                column=token.column,
            )
        if at < len(tokens) and _juxtaposed(token, tokens[at], tokens[at - 1]):
            found.append("*")  # Mathematica multiplies what stands side by side
    return found


def _juxtaposed(token: BraceToken, following: BraceToken, last: BraceToken) -> bool:
    ends = last.kind in ("number", "name") or last.text in (")", "]", "]]")
    starts = following.kind in ("number", "name") or following.text == "("
    return ends and starts and token.text != "["


def _full_name(
    token: BraceToken, tokens: Sequence[BraceToken], at: int, file: str
) -> tuple[str, int]:
    """Return a name with its indices, and where the tokens go on."""
    name = c_name(token.text)
    if at < len(tokens) and tokens[at].text == "[[":
        end = next((k for k in range(at, len(tokens)) if tokens[k].text == "]]"), None)
        if end is None:
            raise InputError("[[ is not closed", file=file or None, line=token.line)
        indices = "".join(t.text for t in tokens[at + 1 : end]).split(",")
        name += "".join(f"[{index}]" for index in indices)
        at = end + 1
    return name, at


def _value_of(name: str, token: BraceToken, names: Mapping[str, float], file: str) -> float:
    for table in (names, _CONSTANTS, _DEGREE):
        if name in table:
            return float(table[name])
    raise InputError(
        f"nothing says what {name!r} is",
        file=file or None,
        line=token.line,
        column=token.column,
        remedy="define it in SL_user.h beside the file, or pass it in constants",
    )


def generator(term: Braces | BraceTerm, names: Mapping[str, float], file: str = "") -> float | None:
    """Return the factor on a generated quantity such as ``GenMassS["links",ID]*0``, or None.

    >>> from linkwright.formats.sl.braces import read_braces
    >>> item = read_braces('{GenMassS["links",ID]*0}')[0].items[0]
    >>> generator(item, {}), generator(read_braces("{1}")[0], {})
    (0.0, None)
    """
    if isinstance(term, Braces):
        return None
    start = next(
        (
            k
            for k, token in enumerate(term.tokens)
            if token.kind == "name" and _GENERATOR.fullmatch(token.text)
        ),
        None,
    )
    if start is None:
        return None
    end, depth = start + 1, 0
    while end < len(term.tokens):
        depth += {"[": 1, "]": -1}.get(term.tokens[end].text, 0)
        end += 1
        if depth <= 0:
            break
    rest = [*term.tokens[:start], *term.tokens[end:]]
    if not rest:
        return 1.0
    before, after = term.tokens[:start], term.tokens[end:]
    if before and before[-1].text != "*":
        raise InputError("only a factor may stand here", file=file or None, line=term.line)
    if after and after[0].text not in ("*", "/"):
        raise InputError("only a factor may stand here", file=file or None, line=term.line)
    one = BraceToken("number", "1", term.line, term.tokens[0].column)
    return value([*before, one, *after], names, file)
