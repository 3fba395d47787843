"""What the dialogue asks about each component, in ROBSIM's categories.

Base, links with their joints, tool, shapes and options. With `only`, one category of a component is
asked; without, all of them. Values that are there already are offered as answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from linkwright.base.errors import InputError
from linkwright.formats.text.tables import (
    BodyTable,
    Gravity,
    Limit,
    PointTable,
    Record,
    RunTable,
    ShapeTable,
)
from linkwright.formats.text.values import constant
from linkwright.heritage.dialogue.answers import (
    Numbers,
    Question,
    Reader,
    answer_text,
    choice,
    keeping,
    new_name,
    whole,
    words,
    wrong,
)
from linkwright.heritage.dialogue.model import Draft
from linkwright.heritage.dialogue.talk import Talk
from linkwright.mechanism.joint_kinds import OWN_AXIS

BASE = ("location", "rotation")
LINK = ("type", "location", "rotation", "variable", "mass", "size", "limits")
TOOL = ("location", "rotation")
OPTIONS = ("gravity", "run")

_PLACED = ("axis", "axes", "sequence", "quaternion", "pitch", "translate", "rotate", "body_axis")
_OTHER = (*_PLACED, "first_axis", "reference", "advance_per_radian", "offset", "matrix")
_SIZES = {"box": ("edges",), "sphere": ("radius",), "cylinder": ("radius", "length")}
_SHOWN = {"rad": "such as 30 deg", "rad/s": "such as 90 deg/s"}
_NEEDED: dict[type[Record], dict[str, Any]] = {
    BodyTable: {"name": "b"},
    PointTable: {"name": "p"},
    ShapeTable: {"body": "b", "kind": "box"},
    Limit: {"coordinate": "q"},
    RunTable: {"until": 1.0, "step": 1.0},
    Gravity: {},
}


class Asked:
    """Questions about one table of the model, which the schema checks one by one."""

    def __init__(
        self,
        talk: Talk,
        table: type[Record],
        title: str,
        known: dict[str, Any] | None = None,
        shown: dict[str, str] | None = None,
    ) -> None:
        self.talk = talk
        self.table = table
        self.title = title
        self.known = known or {}
        self.shown = shown or {}

    def value(
        self,
        key: str,
        asked: str,
        read: Reader,
        default: str | None = None,
        choices: Sequence[str] = (),
    ) -> Any:
        """Return the value of a key, as it is answered."""
        there = self.known.get(key)
        shown = default if there is None else self.shown.get(key, answer_text(there))
        help_ = self.table.model_fields[key].description or ""

        def checked(text: str) -> Any:
            found = read(text)
            try:
                if found is not None:
                    self.table.model_validate({**_NEEDED[self.table], key: found})
            except ValidationError as error:
                raise wrong(
                    f"{text[:40]!r} is rejected: {error.errors()[0]['msg']}", "type ? for help"
                ) from None
            return found

        words_ = f"{self.title}: {asked}" if self.title else asked
        kept = keeping(checked, there, shown)
        return self.talk.ask(Question(words_, kept, shown, f"{asked}: {help_}", tuple(choices)))


def _numbers(draft: Draft) -> Numbers:
    return Numbers(tuple(draft.data.get("parameters", {})))


def _is_wanted(category: str, only: str | None) -> bool:
    return only is None or only == category


# -- base and tool ---------------------------------------------------------------------------------
def ask_base(talk: Talk, draft: Draft, only: str | None = None) -> Draft:
    """Return the draft with the base as it is answered."""
    there, numbers = draft.base, _numbers(draft)
    asked = Asked(talk, BodyTable, "base", {} if there is None else draft.bodies[there])
    record: dict[str, Any] = {}
    if _is_wanted("location", only):
        record["at"] = asked.value("at", "location in the world, m", numbers.place("m"), "0, 0, 0")
    if _is_wanted("rotation", only):
        record |= _rotation(asked, "rotation in the world", numbers)
    if there is not None:
        return draft.with_keys(("body", there), record)
    return draft.with_body({"name": "base", "joint": "weld", **record})


def ask_tool(talk: Talk, draft: Draft, only: str | None = None) -> Draft:
    """Return the draft with the tool as it is answered."""
    numbers, known = _numbers(draft), draft.table("point", "name", "tool")
    asked = Asked(talk, PointTable, "tool", known)
    record: dict[str, Any] = {"name": "tool", "body": known.get("body") or draft.last_link()}
    if _is_wanted("location", only):
        record["at"] = asked.value(
            "at", "location in the last joint's frame, m", numbers.place("m"), "0, 0, 0"
        )
    if _is_wanted("rotation", only):
        record |= _rotation(asked, "rotation", numbers)
    return draft.with_only("point", "name", record)


def _rotation(asked: Asked, words_: str, numbers: Numbers) -> dict[str, Any]:
    """Return turns, in place of a matrix where there are some."""
    turns = asked.value("turn", words_, numbers.turns, "none")
    return {"turn": turns, "matrix": None} if turns else {"turn": turns}


# -- links -----------------------------------------------------------------------------------------
def ask_new_link(talk: Talk, draft: Draft, above: str) -> Draft:
    """Return the draft with a new link behind a body, as it is answered."""
    count = len(draft.links) + 1
    talk.say(f"joint {count} and the link that follows it:")
    asked = Asked(talk, BodyTable, f"link {count}")
    name = asked.value("name", "name", new_name(draft.names), f"q{count}")
    body = {"name": name, "parent": None if above == "n" else above, "joint": "hinge"}
    return ask_link(talk, draft.with_link_after(above, body), name, new=True)


def ask_link(
    talk: Talk, draft: Draft, name: str, only: str | None = None, *, new: bool = False
) -> Draft:
    """Return the draft with a link as it is answered, in one category or in all of them."""
    numbers, k = _numbers(draft), draft.number("body", "name", name)
    assert k is not None
    known = {} if new else draft.bodies[k]
    asked = Asked(talk, BodyTable, name, known)
    record: dict[str, Any] = {}
    if _is_wanted("type", only):
        kinds = tuple(OWN_AXIS)
        record["joint"] = asked.value(
            "joint", "type (hinge, swivel, sliding)", choice(kinds), "hinge", kinds
        )
        if record["joint"] != known.get("joint"):
            record |= dict.fromkeys(_OTHER)
    if _is_wanted("location", only):
        record["at"] = asked.value(
            "at", "location in the previous frame, m", numbers.place("m"), "0, 0, 0"
        )
    if _is_wanted("rotation", only):
        record["turn"] = asked.value("turn", "rotation", numbers.turns, "none")
    draft = draft.with_keys(("body", k), record)
    angle = draft.unit_of(name)
    speed, effort = (f"{angle}/s", "N" if angle == "m" else "N*m")
    if _is_wanted("variable", only):
        draft = _asked_start(talk, draft, name, angle)
    if _is_wanted("mass", only):
        mass = asked.value("mass", "mass, kg", numbers.one("kg", least=0), "0")
        com = asked.value("com", "mass center, m", numbers.place("m"), "0, 0, 0")
        about = "joint" if new else known.get("inertia_about", "com")
        where = "joint" if about == "joint" else "mass center"
        inertia = asked.value(
            "inertia", f"moments of inertia about the {where}, kg*m^2", numbers.moments, "0"
        )
        found = {"mass": mass, "com": com, "inertia": inertia, "inertia_about": about}
        draft = draft.with_keys(("body", k), found)
    if _is_wanted("size", only):
        draft = _asked_size(talk, draft, name)
    if _is_wanted("limits", only):
        draft = _asked_limits(talk, draft, name, (angle, speed, effort))
    return draft


def _asked_start(talk: Talk, draft: Draft, name: str, unit: str) -> Draft:
    there = draft.data.get("initial", {}).get(name)
    shown = "0" if there is None else _typed(there, unit)
    question = Question(
        f"{name}: variable at the start, {_SHOWN.get(unit, unit)}",
        keeping(_numbers(draft).one(unit), there, shown),
        shown,
        "The joint's angle or displacement where a run or a task starts.",
    )
    value = talk.ask(question)
    if there is None and value == 0:
        return draft
    return draft.with_keys(("initial",), {name: value})


def _typed(value: Any, unit: str) -> str:
    return (
        f"{value!r} rad" if unit == "rad" and not isinstance(value, str) and value else f"{value}"
    )


def _asked_size(talk: Talk, draft: Draft, name: str) -> Draft:
    numbers, own = _numbers(draft), f"{name}_link"
    known = draft.table("shape", "name", own)
    asked = Asked(talk, ShapeTable, name, {"radius": known.get("radius")})
    radius = asked.value(
        "radius", "radius of the link's cylinder, m, or none", numbers.maybe("m"), "none"
    )
    if radius is None:
        return draft.without("shape", "name", own)
    span = _span(known)
    ends = talk.ask(
        Question(
            f"{name}: where the cylinder begins and ends along x, m",
            keeping(numbers.pair("m"), span and (), span),
            span,
            "The cylinder of the link lies along x of its joint's frame.",
        )
    )
    if not ends:  # as it was
        return draft.with_only("shape", "name", {"name": own, "radius": radius})
    start, end = ends
    whole_, middle = (end, f"({end})/2") if start == 0 else (f"({end}) - ({start})", "")
    middle = middle or f"(({start}) + ({end}))/2"
    if not isinstance(start, str) and not isinstance(end, str):
        whole_, middle = end - start, (start + end) / 2
    if constant_or_one(whole_) <= 0:
        raise InputError(
            "the cylinder ends where it begins, or before", remedy="give 0, 12 in", code="R110"
        )
    shape = {"name": own, "body": name, "kind": "cylinder", "radius": radius, "length": whole_}
    shape |= {"at": [middle, 0, 0], "turn": [["y", "90 deg"]]}
    return draft.with_only("shape", "name", shape)


def _span(known: dict[str, Any]) -> str | None:
    """Return where a cylinder begins and ends, as it was answered; None where nobody knows.

    >>> (
    ...     _span({"length": "12 in", "at": ["(12 in)/2", 0, 0]}),
    ...     _span({"length": 2, "at": [2, 0, 0]}),
    ... )
    ('0, 12 in', '1.0, 3.0')
    """
    middle = known.get("at", [0, 0, 0])[0]
    if isinstance(middle, str):
        if found := re.fullmatch(r"\(\((.*)\) \+ \((.*)\)\)/2", middle):
            return f"{found[1]}, {found[2]}"
        found = re.fullmatch(r"\((.*)\)/2", middle)
        return f"0, {found[1]}" if found and found[1] == known.get("length") else None
    length = known.get("length")
    if isinstance(length, str) or length is None:
        return None
    return f"{middle - length / 2}, {middle + length / 2}"


def constant_or_one(value: Any) -> float:
    """Return the number of a value; one where it depends on parameters.

    >>> constant_or_one("2 - 3"), constant_or_one("L")
    (-1.0, 1.0)
    """
    try:
        return constant(value)
    except InputError:
        return 1.0


def _asked_limits(talk: Talk, draft: Draft, name: str, units: tuple[str, str, str]) -> Draft:
    numbers, known = _numbers(draft), draft.table("limit", "coordinate", name)
    angle, speed, effort = units
    shown = {k: _typed(known[k], angle) for k in ("lower", "upper") if known.get(k) is not None}
    shown |= {k: f"{known[k]} {u}" for k, u in (("speed", speed), ("effort", effort)) if k in known}
    asked = Asked(talk, Limit, name, known, shown)
    record: dict[str, Any] = {"coordinate": name}
    for key in ("lower", "upper"):
        words_ = f"{key} limit, {_SHOWN.get(angle, angle)}, or none"
        record[key] = asked.value(key, words_, numbers.maybe(angle), "none")
    for key, unit in (("speed", speed), ("effort", effort)):
        words_ = f"greatest {key}, {_SHOWN.get(unit, unit)}, or none"
        record[key] = asked.value(key, words_, _in_si(numbers, unit), "none")
    low, high = (
        constant_or_one(record[k]) if record[k] is not None else None for k in ("lower", "upper")
    )
    if low is not None and high is not None and low >= high:
        raise InputError(
            f"the limits of {name} exclude each other", remedy="the lower is below", code="R110"
        )
    if all(record[key] is None for key in ("lower", "upper", "speed", "effort")):
        return draft.without("limit", "coordinate", name)
    return draft.with_only("limit", "coordinate", record)


def _finite(value: object) -> float:
    """Return the number of a value; an infinite one, or one with parameters, is a wrong answer."""
    try:
        return constant(value)
    except InputError as error:
        raise wrong(error.what, error.remedy or "give a number") from None


def _in_si(numbers: Numbers, unit: str) -> Reader:
    """Return the reader of a number that is kept in SI units, above zero, or of none."""

    def read(text: str) -> float | None:
        if text.strip() == "none":
            return None
        return _finite(numbers.above_zero(unit)(text))

    return read


# -- shapes ----------------------------------------------------------------------------------------
def ask_shape(talk: Talk, draft: Draft, bodies: Sequence[str], title: str) -> Draft:
    """Return the draft with a shape of one of some bodies, in place of the one of its name."""
    numbers = _numbers(draft)
    first = Asked(talk, ShapeTable, title)
    name = first.value("name", "name", words, "shape")
    if not name:
        raise wrong("a shape needs a name here", "so that it can be changed")
    known = draft.table("shape", "name", name)
    asked = Asked(talk, ShapeTable, name, known)
    record: dict[str, Any] = {"name": name}
    record["body"] = asked.value("body", "on which body", choice(bodies), bodies[0], bodies)
    kinds = tuple(_SIZES)
    record["kind"] = asked.value(
        "kind", "kind (box, sphere, cylinder)", choice(kinds), "box", kinds
    )
    sizes = {
        "edges": ("edges along x, y and z, m", numbers.place("m")),
        "radius": ("radius, m", numbers.above_zero("m")),
        "length": ("length along z, m", numbers.above_zero("m")),
    }
    for key, (words_, read) in sizes.items():
        wanted = key in _SIZES[record["kind"]]
        record[key] = asked.value(key, words_, read) if wanted else None
    record["at"] = asked.value("at", "where its middle is, m", numbers.place("m"), "0, 0, 0")
    record["turn"] = asked.value("turn", "rotation", numbers.turns, "none")
    color = asked.value("color", "color, or none", _color, "none")
    return draft.with_only("shape", "name", record | {"color": color})


def _color(text: str) -> str | None:
    from linkwright.mechanism.shapes import color_of

    if text == "none":
        return None
    try:
        color_of(text)
    except InputError as error:
        raise wrong(error.what, error.remedy or "give a name or #rrggbb") from None
    return text


# -- options ---------------------------------------------------------------------------------------
def ask_options(talk: Talk, draft: Draft, only: str | None = None) -> Draft:
    """Return the draft with gravity, and with end and step of its runs."""
    numbers, data = _numbers(draft), draft.data
    if _is_wanted("gravity", only):
        asked = Asked(talk, Gravity, "gravity", data.get("gravity"))
        directions = ("-z", "-y", "-x", "x", "y", "z", "none")
        shown = "-z" if "gravity" not in data else None
        along = asked.value(
            "along", "direction in which things fall", choice(directions), shown, directions
        )
        if along == "none":
            raise wrong("a model is edited with gravity", "give g = 0 for none")
        g = asked.value("g", "acceleration, m/s^2", numbers.one("m/s^2", least=0), "9.81")
        draft = draft.with_keys(("gravity",), {"along": along, "g": g})
    if _is_wanted("run", only):
        asked = Asked(talk, RunTable, "run", data.get("run"))
        until = asked.value("until", "end, s", _seconds(numbers), "10")
        step = asked.value("step", "step, s", _seconds(numbers), "0.001")
        every = asked.value("every", "steps from one record to the next", whole(1), "1")
        if step > until:
            raise InputError(
                f"a run of {until} s cannot go in steps of {step} s",
                remedy="give a shorter step",
                code="R110",
            )
        run = {"until": until, "step": step, "every": every}
        draft = draft.with_keys(("run",), run)
    return draft


def _seconds(numbers: Numbers) -> Reader:
    def read(text: str) -> int | float:
        value = numbers.above_zero("s")(text)
        return _finite(value) if isinstance(value, str) else value

    return read
