"""The members of a System as tables of a text model, made from the signatures of what makes them.

`MAKERS` gathers the registries: elements, drives, controllers, plain blocks, motions. Each becomes
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

from pydantic import Field, create_model
from pydantic_core import PydanticCustomError

from linkwright.algebra.units import parse_unit
from linkwright.base.errors import UnitError, nearest
from linkwright.blocks import BLOCKS, Block, Element, Foreign, Rate
from linkwright.control.computed_torque import TrajectoryLike
from linkwright.control.force.ports import WristLike
from linkwright.control.linear import Linear, StateModel
from linkwright.control.registry import CONTROLLERS
from linkwright.elements.camera_targets import CameraTarget
from linkwright.elements.drives import Brake, DriveNoise, Rating, Thermal
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.registry import DRIVES, parts_of
from linkwright.elements.drives.trains import Train
from linkwright.elements.registry import ELEMENTS, SURFACES, TARGETS, TIRE_LAWS
from linkwright.elements.surfaces import Surface
from linkwright.elements.tire_laws import TireLaw
from linkwright.elements.wrist_linkage import WristLinkage
from linkwright.formats.text.arguments import (
    RATE,
    TEXT,
    ArgumentForm,
    ArgumentNames,
    KnownNames,
    Makers,
    Unwritable,
    form_of,
)
from linkwright.formats.text.custom_members import (
    CUSTOM,
    CustomBlock,
    PythonFunction,
    block_table,
    custom_block,
    python_function,
    python_table,
)
from linkwright.formats.text.tables import MemberTable, Record
from linkwright.formats.text.values import Name, wrong
from linkwright.mechanism import Mechanism
from linkwright.motion import Trajectory
from linkwright.motion.limits import Limits
from linkwright.motion.registry import MOTIONS
from linkwright.system import System

_BLOCKS: Makers = tuple(kind.block for kind in (*BLOCKS, *ELEMENTS, *CONTROLLERS, *DRIVES))
_AT_INSTANTS = ("ChainMotion", "FrameProduct", "minimum_jerk", "online")  # blocks, not paths
_PATHS = tuple(maker for maker in MOTIONS if maker.__name__ not in _AT_INSTANTS)

MAKERS: dict[str, Callable[..., Any]] = dict(
    sorted((maker.__name__, maker) for maker in (*_BLOCKS, *MOTIONS))
)
"""What makes a member, by its name."""

_PARTS: dict[Any, Makers] = {
    Surface: SURFACES,
    CameraTarget: TARGETS,
    TireLaw: TIRE_LAWS,
    TrajectoryLike: _PATHS,
    Trajectory: _PATHS,
    Linear: (StateModel,),
    Limits: (Limits,),
    DriveNoise: (DriveNoise,),
    Rating: (Rating,),
    WristLinkage: (WristLinkage,),
    **{
        base: parts_of(base)
        for base in (Controller, Amplifier, Motor, Train, DriveLoad, Thermal, Brake)
    },
    **{surface: (surface,) for surface in SURFACES},
}
_GIVEN = ("mechanism", "name", "rate")
_PLAIN = r"(?:kg|rad|ohm|Hz|[NmsVAWJFHK])"
_UNIT = re.compile(  # in a sentence: "of the stop, N*m/rad or N/m"
    rf"(?:^|, |or |and |in |: )((?:1/)?{_PLAIN}(?:[*/^]\(?(?:{_PLAIN}|\d|h)\)?)*)"
    r"(?=[,.;:]?(?:\s|$))"
)
_ENTRY = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class MakerArgument:
    """An argument of a maker: its form, whether it is needed, its default, and what it is."""

    form: ArgumentForm
    needed: bool
    default: Any
    doc: str
    units: tuple[str, ...] = ()


# -- from signatures -------------------------------------------------------------------------------
@cache
def arguments(maker: Callable[..., Any]) -> dict[str, MakerArgument]:
    """Return the arguments of a maker that a text can give, by name.

    >>> arguments(MAKERS["Spring"])["stiffness"].doc
    'N/m.'
    """
    hints = typing.get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)
    docs = _documented(maker)
    found = {}
    for key, parameter in inspect.signature(maker).parameters.items():
        form = None if key in _GIVEN else form_of(hints[key], _Parts())
        open_ = type(None) in typing.get_args(hints[key])
        needed = parameter.default is inspect.Parameter.empty and not open_
        if form is None:
            assert key in _GIVEN or not needed, f"{maker.__name__}: {key} has no form as text"
            continue
        default = parameter.default
        if not needed and default not in (None, inspect.Parameter.empty):
            default = form.write(default, _no_names())
        default = None if default is inspect.Parameter.empty else default
        doc = docs.get(key, "")
        found[key] = MakerArgument(form, needed, default, doc, _units(maker, key, doc))
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


def _units(maker: Callable[..., Any], key: str, doc: str) -> tuple[str, ...]:
    """Return the units of an argument: of the field that it is, or as its documentation has them.

    >>> _units(MAKERS["Stop"], "stiffness", "of the stop, N*m/rad or N/m.")
    ('N*m/rad', 'N/m')
    """
    field = getattr(maker, "__dataclass_fields__", {}).get(key)
    if field is not None and "unit" in field.metadata:
        return (field.metadata["unit"],)
    found = [word for word in _UNIT.findall(doc.partition(";")[0]) if word != "K"]
    return tuple(found[1:] if len(found) > 1 and found[0] in ("A", "J") else found)


class _Parts:
    def names_member(self, hint: Any) -> bool:
        return hint is WristLike or (inspect.isclass(hint) and issubclass(hint, Block))

    def makers(self, hint: Any) -> Makers:
        return _PARTS.get(hint, ())

    def form(self, makers: Makers) -> ArgumentForm:
        known = {maker.__name__: maker for maker in makers}
        return ArgumentForm(
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


def _kind(known: Mapping[str, Any], value: Any) -> str:
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


def _read_part(known: Mapping[str, Callable[..., Any]], value: Any, names: KnownNames) -> Any:
    maker = known[value.kind]
    return maker(**read_arguments(maker, value, names))


def _write_part(known: Mapping[str, Callable[..., Any]], value: Any, names: ArgumentNames) -> Any:
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
        fields["rate"] = (
            Annotated[Any, *RATE.annotations("instants; without, it is continuous")],
            None,
        )
        if maker in _PATHS:
            fields["unit"] = (Annotated[Any, *TEXT.annotations("of the values")], "rad")
    for key, argument in arguments(maker).items():
        default = ... if argument.needed else argument.default
        fields[key] = (Annotated[Any, *argument.form.annotations(argument.doc)], default)
    made = create_model(maker.__name__, __base__=MemberTable if member else Record, **fields)
    made.__doc__ = (inspect.getdoc(maker) or "").partition("\n")[0]
    return made


def _described(kind: Any, doc: str) -> Any:
    return Annotated[kind, Field(description=doc)]


# -- reading and writing ---------------------------------------------------------------------------
def member_of(value: Any) -> Record:
    """Return the table of a member, checked; what is wrong is raised for pydantic."""
    if isinstance(value, Record):
        return value
    return member_records()[_kind(member_records(), value)].model_validate(value)


@cache
def member_records() -> dict[str, type[Record]]:
    """Return the table of every kind of member, by name."""
    made = {name: record_of(maker, member=True) for name, maker in MAKERS.items()}
    return dict(sorted({**made, **CUSTOM}.items()))


def read_arguments(maker: Callable[..., Any], record: Record, names: KnownNames) -> dict[str, Any]:
    """Return the arguments that a table gives."""
    forms = arguments(maker)
    given = record.model_fields_set & set(forms)
    for key in given:
        _check_units(key, getattr(record, key), forms[key].units, names)
    own = inspect.signature(maker).parameters
    found = {k: None for k in forms if own[k].default is inspect.Parameter.empty}
    return found | {k: forms[k].form.read(getattr(record, k), names) for k in forms if k in given}


def _check_units(key: str, value: Any, units: tuple[str, ...], names: KnownNames) -> None:
    """Reject a quantity in a unit that its argument does not have."""
    if isinstance(value, list | tuple | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            _check_units(key, item, units, names)
    elif isinstance(value, str) and units:
        found = names.mechanism.scope.written_unit(value)
        fit = [x for x in units if found is not None and found.stands_for(parse_unit(x))]
        if found is not None and not fit:
            raise UnitError(f"{key!r} is in {' or '.join(units)}, so {value!r} does not fit")
        if fit and parse_unit(fit[0]) != parse_unit(fit[0]).si:
            raise UnitError(f"{key!r} is in {fit[0]}, not {value!r}", remedy="give a number")


def write_arguments(
    maker: Callable[..., Any], given: Mapping[str, Any], names: ArgumentNames
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


def add_member(
    system: System,
    record: Any,
    names: KnownNames,
    function: Callable[..., Any] | None = None,
    trust: bool = False,
    file: str = "",
) -> None:
    """Add the member that a table describes to a System."""
    rate = None if record.rate is None else RATE.read(record.rate, names)
    if isinstance(record, PythonFunction):
        code = python_function(record, function, trust, file)
        inputs, outputs = (
            {n: size or None for n, size in ports.items()}
            for ports in (record.inputs, record.outputs)
        )
        added = system.add(code, rate=rate, name=record.name, inputs=inputs, outputs=outputs)
        added.block.made_with = ("Python", record.model_dump(exclude_unset=True))
        return
    if isinstance(record, CustomBlock):
        block = custom_block(record)
    else:
        block = _made(record, system.mechanism, rate, names)
    system.add(block, rate=rate, name=record.name)


def _made(record: Any, mechanism: Mechanism, rate: Rate | None, names: KnownNames) -> Block:
    maker = MAKERS[record.kind]
    given = read_arguments(maker, record, names)
    takes = inspect.signature(maker).parameters
    own = {"mechanism": mechanism, "name": record.name}
    given |= {key: value for key, value in own.items() if key in takes}
    if "rate" in takes and rate is not None:
        given["rate"] = rate
    found = maker(**given)
    return found if isinstance(found, Block) else found.block(record.name, unit=record.unit)


def written(block: Block, name: str, rate: Rate | None, names: ArgumentNames) -> dict[str, Any]:
    """Return the table of a member, from what its block was made with."""
    kind, given = block.made_with
    maker = MAKERS.get(kind)
    data: dict[str, Any] = {"kind": kind, "name": name}
    if isinstance(block, Foreign):
        data = python_table(block, name)
    elif maker is not None:
        data |= write_arguments(maker, given, names)
    elif isinstance(block, Element):
        raise Unwritable(
            f"the member {name!r} is a {kind}, which has no text form",
            remedy="register its class in linkwright.elements.registry",
        )
    else:
        data = block_table(block, name)
    if maker in _PATHS and given.get("unit", "rad") != "rad":
        data["unit"] = given["unit"]
    if rate is not None:
        data["rate"] = RATE.write(rate, names)
    return data


def _no_names() -> Any:
    return None
