"""Names of symbols as identifiers of C and Python, one to one.

A name that is an identifier already stays as it is; `body.point` becomes `body__point`, `q[1,2]`
becomes `q___1_2`, `q'` becomes `q___p`. Three underscores announce everything that is rare:

=============  ======================================================================
after ``___``  meaning
=============  ======================================================================
a digit        the index at the end, its numbers joined by `_`
``p``          a prime; repeated for more
``x5f_``       the character with this hexadecimal number
``y5f_``       the same at the start of the name, where a `v` is put before it
``r``          nothing: the name without it is a reserved word
=============  ======================================================================

A lone underscore between letters or digits stays, so no two names share an identifier.
"""

from __future__ import annotations

import keyword
import re

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*\Z")
_PARTS = re.compile(r"(?P<body>[^'\[]*)(?P<primes>'*)(\[(?P<index>[\d,]*)\])?\Z")

_C_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false complex main NULL errno asm typeof
    linux unix near far
    sin cos tan asin acos atan atan2 sqrt exp log pow fabs fmin fmax fma floor ceil abs
    sinf cosf tanf asinf acosf atanf atan2f sqrtf expf logf powf fabsf fminf fmaxf
    INFINITY NAN HUGE_VAL isnan isinf isfinite signbit fpclassify
    DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS I M_PI M_E
"""
C_RESERVED = frozenset(_C_WORDS.split())
PYTHON_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, "np", "math"})

_GREEK_WORDS = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau
    upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
GREEK = dict(zip(_GREEK_WORDS.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", strict=True))
"""Greek letters by their words, as far as they are not Latin ones."""

_DRAWN = re.compile(r"(?P<body>[^'\[]*)(?P<primes>'*)(\[(?P<index>.*)\])?\Z", re.DOTALL)
_STEM = re.compile(r"(?P<letters>[^\d_]+?)(?P<digits>\d+)?\Z")


def drawn_parts(name: str) -> tuple[list[str], str, str | None]:
    """Return the words of a name as people draw it, its primes, and its index.

    >>> drawn_parts("car.mass'"), drawn_parts("q[1,2]")
    ((['car', 'mass'], "'", None), (['q'], '', '1,2'))
    """
    parts = _DRAWN.match(name)
    body, primes, index = (
        (name, "", None) if parts is None else parts.group("body", "primes", "index")
    )
    return [word for word in re.split(r"[._]", body) if word], primes, index


def stem_and_digits(word: str) -> tuple[str, str]:
    """Return the letters of a word, and the digits at its end.

    >>> stem_and_digits("q12"), stem_and_digits("12")
    (('q', '12'), ('12', ''))
    """
    parts = _STEM.match(word)
    return (word, "") if parts is None else (parts["letters"], parts["digits"] or "")


def c_identifier(name: str) -> str:
    """Return the identifier in C for the name of a symbol; different names stay different.

    >>> (
    ...     c_identifier("q1"),
    ...     c_identifier("car.mass"),
    ...     c_identifier("q[1,2]"),
    ...     c_identifier("double"),
    ... )
    ('q1', 'car__mass', 'q___1_2', 'double___r')
    """
    return _identifier(name, C_RESERVED)


def python_identifier(name: str) -> str:
    """Return the identifier in Python for the name of a symbol; different names stay different.

    >>> python_identifier("lambda"), python_identifier("θ")
    ('lambda___r', 'v___y3b8_')
    """
    return _identifier(name, PYTHON_RESERVED)


def _identifier(name: str, reserved: frozenset[str]) -> str:
    if _PLAIN.match(name):
        return f"{name}___r" if name in reserved or name.startswith("lw_") else name
    parts = _PARTS.match(name)
    if parts is None or not (parts["index"] or "").isascii():
        return _escaped(name)
    result = _escaped(parts["body"])
    if parts["primes"]:
        result += "___" + "p" * len(parts["primes"])
    if parts["index"] is not None:
        result += "___" + parts["index"].replace(",", "_")
    return result if not result.startswith("lw_") else f"{result}___r"


def _escaped(body: str) -> str:
    out: list[str] = []
    for i, c in enumerate(body):
        if _is_word(c) and (i or not c.isdigit()):
            out.append(c)
        elif c in "._" and i and _is_word(body[i - 1]) and _is_word(body[i + 1 : i + 2]):
            out.append("__" if c == "." else "_")
        elif i == 0:
            out.append(f"v___y{ord(c):x}_")
        else:
            out.append(f"___x{ord(c):x}_")
    return "".join(out)


def _is_word(c: str) -> bool:
    return c.isascii() and c.isalnum()
