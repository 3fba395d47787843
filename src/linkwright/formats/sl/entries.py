"""One list of a `.dyn` file: a degree of freedom, a dummy, or the base.

Each is pairs of a key and a value (SL manual, section 7.1). Masses, mass centers and inertias are
either numbers, or generated from link parameters, perhaps times zero for a fake link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwright.base.errors import InputError, nearest
from linkwright.base.files import integer
from linkwright.formats.robot.description import Mass, Place, Rotation, Triple
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import euler_rotation, plus_six, point_inertia, scaled
from linkwright.formats.sl.braces import Braces, BraceTerm, BraceToken, name_in_comments
from linkwright.formats.sl.header import Header
from linkwright.formats.sl.terms import generator, number

BASE = "BASE"
"""What the base is called."""

_KEYS = (
    "jointID",
    "jointAxis",
    "translation",
    "rotationMatrix",
    "successors",
    "inertia",
    "massCenterMass",
    "mass",
    "jointVariables",
    "extForce",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One list of the file."""

    number: int  # its ID
    name: str  # from the header or a comment, or made of the number
    axis: Triple  # of the joint, in the link's frame; zeros for a dummy
    place: Place  # of the link's frame in its parent's while the joint is at zero
    successors: tuple[int, ...]  # the numbers of what hangs on it
    mass: Mass | float | None  # as given, or the factor on what the link parameters give
    effector: bool  # whether it uses the end-effector's numbers
    line: int  # in the file

    @property
    def dummy(self) -> bool:
        """Whether it has no degree of freedom."""
        return self.axis == (0.0, 0.0, 0.0)


def entry_of(
    braces: Braces, names: Mapping[str, float], header: Header, file: str, left: Leftovers
) -> Entry:
    """Return one list of the file with all its numbers."""
    fields = _fields(braces, file, left)
    identity = _number_of(fields, braces, file)
    names = _End(names, identity)
    given = name_in_comments(braces.comments)
    axis = _vector(fields, "jointAxis", names, file, (0.0, 0.0, 0.0))
    length = math.hypot(*axis)
    if length and abs(length - 1) > 1e-6:
        raise InputError(
            f"jointAxis of ID {identity} has the length {length:g}",
            file=file or None,
            line=fields["jointAxis"].line,
            remedy="give a unit vector, or {0,0,0} for a dummy",
        )
    if length:
        name = header.joints.get(identity) or given or f"joint{identity}"
    else:
        name = BASE if identity == 0 else given or f"dummy{identity}"
    place = Place(
        _vector(fields, "translation", names, file, (0.0, 0.0, 0.0)),
        _rotation(fields.get("rotationMatrix"), names, file),
    )
    return Entry(
        identity,
        name,
        axis,
        place,
        _successors(fields, names, file),
        _given_mass(fields, names, file),
        any("eff$" in token.text for token in _tokens(braces)),
        braces.line,
    )


class _End(dict[str, float]):
    """Names of one entry: those of the file, and ID; end-effectors are at zero unless given."""

    def __init__(self, names: Mapping[str, float], identity: int) -> None:
        super().__init__(names)
        self["ID"] = float(identity)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or _is_state(name)

    def __missing__(self, name: str) -> float:
        return 1.0 if name == "baseo[0].q[1]" else 0.0


def _is_state(name: object) -> bool:
    return isinstance(name, str) and name.startswith(("eff[", "basec[", "baseo["))


def _fields(braces: Braces, file: str, left: Leftovers) -> dict[str, Braces | BraceTerm]:
    """Return the values of an entry by their keys."""
    fields: dict[str, Braces | BraceTerm] = {}
    for item in braces.items:
        if (
            isinstance(item, BraceTerm)
            or not item.items
            or not isinstance(item.items[0], BraceTerm)
        ):
            raise InputError(
                "a pair {key, value} is needed here",
                file=file or None,
                line=item.line,
                remedy=f"keys are {', '.join(_KEYS)}",
            )
        key = item.items[0].text
        if len(item.items) != 2:
            raise InputError(
                f"{key[:40]!r} has {len(item.items) - 1} values",
                file=file or None,
                line=item.line,
                remedy="put braces around several",
            )
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            meant = f"; did you mean {near}?" if near else ""
            words = f"not a key of SL's manual{meant}"
            left.add(f"{{{key[:40]}}}", item.line, words, mistake=True)
        elif key in fields:
            raise InputError(
                f"{key!r} is given twice in one entry", file=file or None, line=item.line
            )
        fields[key] = item.items[1]
    return fields


def _number_of(fields: Mapping[str, Braces | BraceTerm], braces: Braces, file: str) -> int:
    """Return the number in ``{ID=7}``."""
    given = fields.get("jointID")
    tokens = [] if given is None else [token.text for token in _tokens(given)]
    if len(tokens) == 3 and tokens[:2] == ["ID", "="]:
        tokens = tokens[2:]
    found = integer(tokens[0]) if len(tokens) == 1 else None
    if found is None or not 0 <= found < 10**9:
        raise InputError(
            "an entry has no number",
            file=file or None,
            line=given.line if given is not None else braces.line,
            remedy="start it with {jointID,{ID=1}}",
        )
    return found


def _tokens(item: Braces | BraceTerm) -> list[BraceToken]:
    found: list[BraceToken] = []
    stack = [item]
    while stack:
        part = stack.pop()
        if isinstance(part, BraceTerm):
            found.extend(part.tokens)
        else:
            stack.extend(reversed(part.items))
    return found


def _vector(
    fields: Mapping[str, Braces | BraceTerm],
    key: str,
    names: Mapping[str, float],
    file: str,
    default: Triple,
) -> Triple:
    value = fields.get(key)
    if value is None:
        return default
    if not isinstance(value, Braces) or len(value.items) != 3:
        raise InputError(f"{key} needs three numbers in braces", file=file or None, line=value.line)
    x, y, z = (number(item, names, file) for item in value.items)
    return x, y, z


def _rotation(value: Braces | BraceTerm | None, names: Mapping[str, float], file: str) -> Rotation:
    """Return the turn about x, then y, then z; zeros in any shape are no turn."""
    if value is None:
        return Place().rotation
    if not isinstance(value, Braces) or len(value.items) != 3:
        raise InputError(
            "rotationMatrix needs three angles in braces", file=file or None, line=value.line
        )
    if isinstance(value.items[0], Braces) and len(value.items[0].items) == 3:
        entries = [
            number(item, names, file)
            for row in value.items
            for item in (row.items if isinstance(row, Braces) else (row,))
        ]
        if any(entries):
            raise InputError(
                "rotationMatrix is given as a matrix that is not zero",
                file=file or None,
                line=value.line,
                remedy="give the angles about x, y and z instead",
            )
        return Place().rotation
    return euler_rotation([number(item, names, file) for item in value.items])


def _successors(
    fields: Mapping[str, Braces | BraceTerm], names: Mapping[str, float], file: str
) -> tuple[int, ...]:
    value = fields.get("successors")
    if value is None:
        return ()
    items = value.items if isinstance(value, Braces) else (value,)
    found: list[int] = []
    for item in items:
        given = number(item, names, file)
        if given != int(given) or given < 0:
            raise InputError(
                f"successors names {given:g}, which is not an ID", file=file or None, line=item.line
            )
        found.append(int(given))
    return tuple(found)


def _given_mass(
    fields: Mapping[str, Braces | BraceTerm], names: Mapping[str, float], file: str
) -> Mass | float | None:
    """Return the mass in the entry, or the factor where it is generated from link parameters."""
    factors = [
        factor
        for key in ("mass", "massCenterMass", "inertia")
        if key in fields and (factor := generator(fields[key], names, file)) is not None
    ]
    if factors:
        if len(set(factors)) > 1:
            raise InputError(
                "mass, massCenterMass and inertia have different factors",
                file=file or None,
                line=fields["mass"].line if "mass" in fields else 0,
                remedy="multiply all three by the same number",
            )
        return factors[0]
    mass = number(fields["mass"], names, file) if "mass" in fields else 0.0
    moment = _vector(fields, "massCenterMass", names, file, (0.0, 0.0, 0.0))
    inertia = _matrix(fields.get("inertia"), names, file)
    if not mass and not any(moment) and not any(inertia):
        return None
    return mass_of(mass, moment, inertia)


def _matrix(
    value: Braces | BraceTerm | None, names: Mapping[str, float], file: str
) -> tuple[float, float, float, float, float, float]:
    if value is None:
        return (0.0,) * 6
    rows = value.items if isinstance(value, Braces) else ()
    cells = [row.items for row in rows if isinstance(row, Braces) and len(row.items) == 3]
    if len(rows) != 3 or len(cells) != 3:
        raise InputError(
            "inertia needs three rows of three numbers", file=file or None, line=value.line
        )
    a, b, c = ([number(item, names, file) for item in row] for row in cells)
    if (a[1], a[2], b[2]) != (b[0], c[0], c[1]):
        raise InputError("inertia is not symmetric", file=file or None, line=value.line)
    return a[0], b[1], c[2], a[1], b[2], a[2]


def mass_of(mass: float, moment: Sequence[float], about_origin: Sequence[float]) -> Mass:
    """Return a mass from its first moment and its inertia about the link's origin."""
    a, b, c, d, e, f = about_origin
    if mass == 0:
        return Mass(0.0, (0.0, 0.0, 0.0), (a, b, c, d, e, f))
    center = scaled(moment, 1 / mass)
    return Mass(
        mass, center, plus_six((a, b, c, d, e, f), point_inertia(mass, center), factor=-1.0)
    )
