"""What `SL_user.h` and `SL_user_common.c` say about a robot: lengths, names, rates, end-effectors.

Only these lines are looked at: ``#define NAME expression`` and ``#define NAME "text"``, the
enumerations `RobotDOFs` and `RobotLinks`, tables of names as ``char blob_names[][20]``, the list
`link2endeffmap`, the choice of integration, and the assignments to ``endeff[..]`` in
`setDefaultEndeffector`. Everything else in these files is C for the compiler (SL manual, sections
7.3, 11.3 and 11.4).
"""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass, field
from itertools import islice

from linkwright.base.errors import InputError
from linkwright.formats.sl.braces import BraceToken
from linkwright.formats.sl.terms import value

_COMMENT = re.compile(r"/[*/]")
_VISIBLE = re.compile(r"[^\n]")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+([^\n]*))?$", re.MULTILINE)
_ENUM = re.compile(r"\benum\s+(\w+)\s*\{([^{}]*)\}")
_ENDEFF = re.compile(
    r"\bendeff\s*\[\s*(\w+)\s*\]\s*\.\s*(mcm|m|x|a)\s*(?:\[\s*(\w+)\s*\])?\s*=\s*([^;]{1,200});"
)
_TEXT = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+"([^"\n]*)"', re.MULTILINE)
_NAMES = re.compile(
    r"\bchar\s+(\w+)\s*\[[^\]]{0,20}\]\s*\[[^\]]{0,20}\]\s*=\s*\{([^;]{0,20000})\}\s*;"
)
_QUOTED = re.compile(r'"([^"\n]*)"')
_MAP = re.compile(r"\blink2endeffmap\s*\[[^\]]{0,20}\]\s*=\s*\{([^{};]{0,20000})\}")
_SUBSTEPS = re.compile(r"\bn_integration\s*=\s*([^;]{1,40});")
_RATIO = re.compile(r"\b([a-z]\w*_servo_ratio)\s*=\s*([^;]{1,40});")
_METHOD = re.compile(r"\bINTEGRATE_(EULER|RK)\b")
_WORD = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFlL]?"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>[()+\-*/]))"
)
_INDEX = {"_X_": 1, "_Y_": 2, "_Z_": 3, "_A_": 1, "_B_": 2, "_G_": 3}
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Header:
    """What the headers of a robot declare."""

    # numbers by name; those of end-effectors as ``eff[1].x[2]``, and a ratio that is assigned to
    # ``invdyn_servo_ratio`` as INVDYN_SERVO_RATIO
    constants: dict[str, float] = field(default_factory=dict)
    joints: dict[int, str] = field(default_factory=dict)  # degrees of freedom by number
    vertices: dict[int, str] = field(default_factory=dict)  # by number
    texts: dict[str, str] = field(default_factory=dict)  # quoted texts by name
    # tables of names, without SL's element 0
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # the vertex that is each end-effector, from 1 on, as it is written
    end_words: tuple[str, ...] = ()
    substeps: float | None = None  # of integration in a tick, where they are said
    method: str = ""  # "EULER" or "RK", where it is said
    # file and line of each name that has a ``#define``, be it a number or not, and of the substeps
    places: dict[str, tuple[str, int]] = field(default_factory=dict)

    def joined(self, other: Header) -> Header:
        """Return both together; what `other` says counts where both say something."""
        return Header(
            {**self.constants, **other.constants},
            {**self.joints, **other.joints},
            {**self.vertices, **other.vertices},
            {**self.texts, **other.texts},
            {**self.names, **other.names},
            other.end_words or self.end_words,
            self.substeps if other.substeps is None else other.substeps,
            other.method or self.method,
            {**self.places, **other.places},
        )

    @property
    def end_vertices(self) -> tuple[str, ...]:
        """The names of the vertices that are end-effectors, in their order (`link2endeffmap`)."""
        named = set(self.vertices.values())
        found: list[str] = []
        for word in self.end_words:
            number = _number(word, self.constants)
            at = int(number) if number is not None and abs(number) < 1e6 else 0
            found.append(word if word in named else self.vertices.get(at, word))
        return tuple(found)


def without_comments(text: str) -> str:
    """Return a C text with blanks in place of its comments, line for line.

    >>> without_comments("a /* b */ c")
    'a           c'
    """
    parts: list[str] = []
    at = 0
    while (found := _COMMENT.search(text, at)) is not None:
        start = found.start()
        long = found.group() == "/*"
        end = text.find("*/", start + 2) if long else text.find("\n", start)
        end = len(text) if end < 0 else end + 2 * long
        parts += (text[at:start], _VISIBLE.sub(" ", text[start:end]))
        at = end
    return "".join([*parts, text[at:]])


def read_header(text: str, file: str = "") -> Header:
    """Return what a C text of an SL robot declares.

    >>> found = read_header("#define L1 0.3\\n#define L2 (2*L1)\\nenum RobotDOFs {A = 1, B};")
    >>> found.constants["L2"], found.joints
    (0.6, {1: 'A', 2: 'B'})
    """
    text = without_comments(text)
    constants: dict[str, float] = {}
    enumerations: dict[str, dict[int, str]] = {}
    for match in _ENUM.finditer(text):
        numbered = _enumeration(match.group(2), constants)
        enumerations[match.group(1)] = numbered
        constants.update({name: float(count) for count, name in numbered.items()})
    places: dict[str, tuple[str, int]] = {}
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    for match in islice(_DEFINE.finditer(text), _MOST):
        found = _number(match.group(2), constants) if match.group(2) else None
        places[match.group(1)] = file, bisect(breaks, match.start(1)) + 1
        if found is not None:
            constants[match.group(1)] = found
    for match in islice(_RATIO.finditer(text), _MOST):
        found = _number(match.group(2), constants)
        if found is not None and match.group(1).upper() not in constants:
            constants[match.group(1).upper()] = found
            places[match.group(1).upper()] = file, bisect(breaks, match.start(1)) + 1
    _end_effectors(text, constants)
    tables = {
        match.group(1): tuple(_QUOTED.findall(match.group(2))[1:_MOST])
        for match in islice(_NAMES.finditer(text), _MOST)
    }
    ends = _MAP.search(text)
    words = tuple(word.strip() for word in ends.group(1).split(",")) if ends else ()
    substeps = _SUBSTEPS.search(text)
    steps = None if substeps is None else _number(substeps.group(1), constants)
    if substeps is not None:
        places["n_integration"] = file, bisect(breaks, substeps.start()) + 1
    method = _METHOD.search(text)
    return Header(
        constants,
        enumerations.get("RobotDOFs", {}),
        enumerations.get("RobotLinks", {}),
        {m.group(1): m.group(2) for m in islice(_TEXT.finditer(text), _MOST)},
        tables,
        tuple(word for word in words[1:] if word),
        steps,
        "" if method is None else method.group(1),
        places,
    )


def _enumeration(body: str, constants: dict[str, float]) -> dict[int, str]:
    numbered: dict[int, str] = {}
    following = 0
    for item in body.split(",")[:_MOST]:
        name, _, given = (part.strip() for part in item.partition("="))
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            continue
        start = _number(given, constants) if given else None
        following = int(start) if start is not None and abs(start) < 1e6 else following
        numbered[following] = name
        following += 1
    return numbered


def _end_effectors(text: str, constants: dict[str, float]) -> None:
    """Add the values that are assigned to end-effectors; a loop's variable stands for all."""
    count = int(min(constants.get("N_ENDEFFS", 1.0), 100.0))
    for match in islice(_ENDEFF.finditer(text), _MOST):
        which, part, index, expression = match.groups()
        found = _number(expression, constants)
        if found is None:
            continue
        chosen = _number(which, constants)
        numbers = range(1, count + 1) if chosen is None else [int(chosen)]
        place = "" if index is None else f"[{_INDEX.get(index, index)}]"
        for number in numbers:
            constants[f"eff[{number}].{part}{place}"] = found


def _number(text: str, constants: dict[str, float]) -> float | None:
    """Return the value of a C expression in known names, or None where it has none."""
    tokens: list[BraceToken] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None or len(tokens) > 100:
            return None
        tokens.append(
            BraceToken(str(match.lastgroup), match.group(str(match.lastgroup)), 1, at + 1)
        )
        at = match.end()
    if not tokens:
        return None
    try:
        return value(tokens, constants)
    except InputError:
        return None
