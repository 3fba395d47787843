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
