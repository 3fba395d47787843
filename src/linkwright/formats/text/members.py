"""The members of a System as tables of a text model, made from the signatures of what makes them.

`MAKERS` gathers the registries: elements, controllers, plain blocks and motions. Each maker becomes
a `Record` with a key for each of its arguments, typed by `linkwright.formats.text.arguments` and
explained by its docstring, so that a maker that is registered is known to the reader, the writer,
the JSON schema and the documentation at once. Arguments that are things themselves, such as the
surface of a contact, are tables with a `kind` of their own.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from linkwright.blocks import BLOCKS, Block
from linkwright.control.computed_torque import TrajectoryLike
from linkwright.control.linear import Linear, StateModel
from linkwright.control.registry import CONTROLLERS
from linkwright.elements.registry import ELEMENTS, SURFACES, TIRE_LAWS
from linkwright.elements.surfaces import Surface
from linkwright.elements.tire_laws import TireLaw
from linkwright.errors import nearest
from linkwright.formats.text.arguments import (
    RATE,
    TEXT,
    Form,
    Makers,
    Names,
    Unwritable,
    form_of,
)
from linkwright.formats.text.schema import Member, Record
from linkwright.formats.text.values import Name, wrong
from linkwright.motion import Trajectory
from linkwright.motion.optimal import Limits
from linkwright.motion.registry import MOTIONS

_BLOCKS: Makers = tuple(kind.block for kind in (*BLOCKS, *ELEMENTS, *CONTROLLERS))
_PATHS = tuple(maker for maker in MOTIONS if maker.__name__ != "minimum_jerk")

MAKERS: dict[str, Callable[..., Any]] = dict(
    sorted((maker.__name__, maker) for maker in (*_BLOCKS, *MOTIONS))
)
"""What makes a member, by its name."""

_PARTS: dict[Any, Makers] = {
    Surface: SURFACES,
    TireLaw: TIRE_LAWS,
    TrajectoryLike: _PATHS,
    Trajectory: _PATHS,
    Linear: (StateModel,),
    Limits: (Limits,),
    **{surface: (surface,) for surface in SURFACES},
}
_GIVEN = ("mechanism", "name", "rate")
_ENTRY = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a maker: its form, whether it is needed, its default, and what it is."""

    form: Form
    needed: bool
    default: Any
    doc: str


# -- from signatures -------------------------------------------------------------------------------
@cache
def arguments(maker: Callable[..., Any]) -> dict[str, Argument]:
    """Return the arguments of a maker that a text can give, by name.

    >>> arguments(MAKERS["Spring"])["stiffness"].doc
    'N/m.'
    """
    hints = typing.get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)
    docs = _documented(maker)
    found = {}
    for key, parameter in inspect.signature(maker).parameters.items():
        form = None if key in _GIVEN else form_of(hints[key], _Parts())
        needed = parameter.default is inspect.Parameter.empty
        if form is None:
            assert key in _GIVEN or not needed, f"{maker.__name__}: {key} has no form as text"
            continue
        default = parameter.default
        if not needed and default is not None:
            default = form.write(default, _no_names())
        found[key] = Argument(form, needed, None if needed else default, docs.get(key, ""))
    return found


def _documented(maker: Callable[..., Any]) -> dict[str, str]:
    """Return what a docstring says of each argument, that of bases included."""
    found: dict[str, str] = {}
    for home in reversed(maker.__mro__ if inspect.isclass(maker) else (maker,)):
        _, _, rest = (inspect.getdoc(home) or "").partition("Args:\n")
        key = ""
        for line in rest.splitlines():
            entry = _ENTRY.match(line)
            if entry is not None:
                key = entry[1]
                found[key] = entry[2]
            elif key and line.startswith(" " * 8):
                found[key] += f" {line.strip()}"
            else:
                break
    return found


class _Parts:
    def makers(self, hint: Any) -> Makers:
        return _PARTS.get(hint, ())

    def form(self, makers: Makers) -> Form:
        known = {maker.__name__: maker for maker in makers}
        return Form(
            "table with `kind` " + ", ".join(f"`{name}`" for name in sorted(known)),
            {"type": "object"},
            partial(_check_part, known),
            partial(_read_part, known),
            partial(_write_part, known),
        )


def _check_part(known: Mapping[str, Callable[..., Any]], value: Any) -> Any:
    if isinstance(value, Record):
        return value
    return record_of(known[_kind(known, value)]).model_validate(value)


def _kind(known: Mapping[str, Callable[..., Any]], value: Any) -> str:
    """Return the kind of a table, or say that there is none such."""
    if not isinstance(value, Mapping):
        raise wrong("a table with a `kind` is needed here")
    kind = value.get("kind")
    if kind is None:
        raise PydanticCustomError("missing", "missing", {"key": "kind"})
    if not isinstance(kind, str) or kind not in known:
        near = nearest(str(kind), list(known))
        raise PydanticCustomError(
            "unknown_kind",
            "there is no kind {kind}",
            {"kind": str(kind)[:60], "near": near, "known": ", ".join(known)},
        )
    return kind


def _read_part(known: Mapping[str, Callable[..., Any]], value: Any, names: Names) -> Any:
    maker = known[value.kind]
    return maker(**read_arguments(maker, value, names))


def _write_part(known: Mapping[str, Callable[..., Any]], value: Any, names: Names) -> Any:
    chosen = known.get(type(value).__name__)
    if chosen is None:  # something else with the same parts, such as a linear model
        fit = (m for m in known.values() if all(hasattr(value, k) for k in arguments(m)))
        chosen = next(fit, None)
    if chosen is None or isinstance(value, Mapping):
        raise Unwritable(f"{str(value)[:60]!r} cannot be written as text")
    given = {key: getattr(value, key) for key in arguments(chosen)}
    return {"kind": chosen.__name__, **write_arguments(chosen, given, names)}


@cache
def record_of(maker: Callable[..., Any], member: bool = False) -> type[Record]:
    """Return the table of a maker: of a member of a System, or of an argument.

    >>> list(record_of(MAKERS["Delay"], member=True).model_fields)
    ['kind', 'name', 'rate', 'ticks', 'count', 'initial']
    """
    fields: dict[str, Any] = {"kind": (_described(Literal[maker.__name__], "what it is"), ...)}
    if member:
        fields["name"] = (_described(Name, "its name, of which its ports have theirs"), ...)
        fields["rate"] = (_typed(RATE, "instants; without, it is continuous"), None)
        if maker in _PATHS:
            fields["unit"] = (_typed(TEXT, "of the values"), "rad")
    for key, argument in arguments(maker).items():
        default = ... if argument.needed else argument.default
        fields[key] = (_typed(argument.form, argument.doc), default)
    made = create_model(maker.__name__, __base__=Member if member else Record, **fields)
    made.__doc__ = (inspect.getdoc(maker) or "").partition("\n")[0]
    return made


def _described(kind: Any, doc: str) -> Any:
    return Annotated[kind, Field(description=doc)]


def _typed(form: Form, doc: str) -> Any:
    checks = (PlainValidator(form.check), WithJsonSchema(dict(form.schema)), form.words)
    return Annotated[Any, *checks, Field(description=doc.rstrip("."))]


# -- reading and writing ---------------------------------------------------------------------------
def member_of(value: Any) -> Record:
    """Return the table of a member, checked; what is wrong is raised for pydantic."""
    if isinstance(value, Record):
        return value
    return record_of(MAKERS[_kind(MAKERS, value)], member=True).model_validate(value)


def read_arguments(maker: Callable[..., Any], record: Record, names: Names) -> dict[str, Any]:
    """Return the arguments that a table gives."""
    forms = arguments(maker)
    given = record.model_fields_set & set(forms)
    return {k: forms[k].form.read(getattr(record, k), names) for k in forms if k in given}


def write_arguments(
    maker: Callable[..., Any], given: Mapping[str, Any], names: Names
) -> dict[str, Any]:
    """Return the entries of a table from the arguments that were given, without defaults."""
    found = {}
    for key, argument in arguments(maker).items():
        if key not in given or given[key] is None:
            continue
        value = argument.form.write(given[key], names)
        if argument.needed or value != argument.default:
            found[key] = value
    unknown = set(given) - set(arguments(maker)) - {*_GIVEN, "unit"}
    for key in sorted(unknown):
        if given[key] is not None:
            raise Unwritable(f"the argument {key!r} of a {maker.__name__} has no place in a text")
    return found


def made(record: Any, mechanism: Any, names: Names) -> tuple[Block, Any]:
    """Return the block that a table describes, and the rate that it is added at."""
    maker = MAKERS[record.kind]
    given = read_arguments(maker, record, names)
    rate = None if record.rate is None else RATE.read(record.rate, names)
    takes = inspect.signature(maker).parameters
    if "mechanism" in takes:
        given["mechanism"] = mechanism
    if "rate" in takes and rate is not None:
        given["rate"] = rate
    if "name" in takes:
        given["name"] = record.name
    found = maker(**given)
    if not isinstance(found, Block):
        found = found.block(record.name, unit=record.unit)
    return found, rate


def written(block: Block, name: str, rate: Any, names: Names) -> dict[str, Any]:
    """Return the table of a member, from what its block was made with."""
    kind, given = block.made_with
    maker = MAKERS.get(kind)
    if maker is None:
        raise Unwritable(
            f"the member {name!r} is a {kind}, which has no text form",
            remedy="use a kind that is registered, or add it in Python",
        )
    data: dict[str, Any] = {"kind": kind, "name": name}
    if rate is not None:
        data["rate"] = RATE.write(rate, names)
    if given.get("unit", "rad") != "rad" and maker in _PATHS:
        data["unit"] = given["unit"]
    return {**data, **write_arguments(maker, given, names)}


@cache
def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a member: one of the kinds."""
    kinds = [record_of(maker, member=True) for maker in MAKERS.values()]
    return {"anyOf": [kind.model_json_schema() for kind in kinds]}


def _no_names() -> Any:
    return None
