"""Tables of files, each described once: fields have a unit, a range, a default and a sentence.

    speed: Annotated[float, Amount("rad/s", "largest speed", above=0.0)] = 2.0

A table is a `Record`, or a frozen dataclass whose annotated fields are keys: `table_of` makes its
record. From that come reading with the place of what is wrong, JSON schema, text and object.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, MISSING, dataclass, fields, is_dataclass
from functools import lru_cache, partial, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    create_model,
)
from pydantic_core import CoreSchema, PydanticCustomError

from linkwright.algebra.units import amount
from linkwright.base.checks import checked_angle
from linkwright.base.errors import Error, InputError
from linkwright.base.files import path_of, read_text
from linkwright.base.reprs import brief
from linkwright.formats.text.document import TextSource, checked, fault_text, parse_record
from linkwright.formats.text.positions import Path
from linkwright.formats.text.tables import Record

_GREATEST = 1e300  # what is greater overflows as soon as it is computed with
_STRICT: dict[Any, Any] = {str: StrictStr, bool: StrictBool, int: StrictInt}
_Class = TypeVar("_Class", bound=type[Any])
_Record = TypeVar("_Record", bound=Record)


@dataclass(frozen=True, slots=True)
class Key:
    """What a field is, in one sentence."""

    doc: str
    _: KW_ONLY
    key: str = ""  # in the file, where that is not the field's name
    ruled: bool = False  # what is left out follows from the rest of the file
    internal: bool = False  # it is in no file

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), "description": self.doc}


Format: TypeAlias = Annotated[Literal[1], Key("version of this format")]


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in a unit, or a row or a table of them; a text may have another unit of its kind.

    What a file has in degrees, its object has in radians.

    The unit of what turns or slides, "rad|m", is that of the joint, which `given` knows, or
    follows from whether the key `by` was given before. A row has one unit, or one for each number.
    """

    unit: str
    doc: str
    _: KW_ONLY
    above: float = -math.inf  # all numbers are greater
    least: float = -math.inf
    most: float = math.inf
    among: tuple[float, ...] = ()  # the only ones that there are
    bare: bool = True  # a number other than 0 needs no unit
    endless: bool = False  # it may be infinite
    texts: bool = True  # it may be a text with a unit
    each: bool = False  # one number may stand for all of a row
    by: str = ""
    key: str = ""  # as of `Key`
    ruled: bool = False

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return handler.generate_schema(self._typed(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), "description": self.doc, "unit": self.unit}

    def _typed(self, kind: Any) -> Any:
        """Return a type whose numbers are checked where they stand."""
        origin, args = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return self._typed(next(x for x in args if x is not NoneType)) | None
        if origin is Annotated:
            return self._typed(args[0])
        if origin is tuple:
            units = self.unit.split(", ")
            if args[-1] is Ellipsis and get_args(args[0]):
                return GenericAlias(tuple, (self._typed(args[0]), ...))
            if args[-1] is Ellipsis and len(units) == 1:
                row = GenericAlias(tuple, (self._one(units[0]), ...))
                both: Any = Annotated[self._one(units[0]), Tag("one")] | Annotated[row, Tag("row")]
                return Annotated[both, Discriminator(_form)] if self.each else row
            units *= 1 if args[-1] is Ellipsis else len(args) // len(units)
            row = GenericAlias(tuple, tuple(map(self._one, units)))
            return Annotated[row, BeforeValidator(_sized(units))]
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return GenericAlias(dict, (StrictStr, self._typed(args[1])))
        return self._one(self.unit)

    def _one(self, unit: str) -> Any:
        low = {"exclusiveMinimum": self.above} if self.above > -math.inf else {}
        low |= {"minimum": self.least} if self.least > -math.inf else {}
        number = {
            "type": "number",
            **low,
            **({"maximum": self.most} if self.most < math.inf else {}),
        }
        if self.among:
            number = {"enum": list(self.among)}
        if not self.bare and unit != "1":
            number = {"const": 0}
        forms = [number, {"type": "string"}] if self.texts else [number]
        form = {"anyOf": forms, "title": f"quantity in {unit}"}
        return Annotated[float, PlainValidator(partial(self._checked, unit)), WithJsonSchema(form)]

    def _checked(self, unit: str, value: object, info: ValidationInfo) -> object:
        turning, _, sliding = unit.partition("|")
        if sliding and self.by:
            turning, sliding = (sliding if info.data.get(self.by) is not None else turning), ""
        if sliding and isinstance(value, str):
            with suppress(Error):
                amount(value, "it", sliding)
                return value  # the joint will say which it is
            self.number(value, turning)
            return value
        return self.number(value, turning)

    def number(self, value: object, unit: str) -> float:
        """Return a number in a unit, within the range; "it" in an error stands for the key."""
        if not self.texts and isinstance(value, str):
            raise _refused(f"it is {brief(value)}, and not a number", "give one without quotes")
        if not self.bare and unit != "1" and _is_bare(value):
            needed = f'write a text with one, such as "{value} {unit}"'
            raise _refused(f"it is {value} without a unit", needed)
        try:
            found = amount(value, "it", unit)
        except Error as error:
            as_in = "" if unit in ("?", "1") else f', as in "1.5 {unit}"'
            raise _refused(error.what, error.remedy or f"give a number{as_in}") from None
        if not abs(found) <= _GREATEST and not (self.endless and found == math.inf):
            raise _refused(f"{found} is not a finite number", "give one that is")
        if not found > self.above:
            what = f"{found:.6g} is not above {f'{self.above:g}' if self.above else 'zero'}"
            if not self.bare:
                what = f"it is {found:g}, and has to be above {self.above:g}"
            if not self.texts:
                what = f"a number above {self.above:g} is needed here"
            raise _refused(what, f"give a number above {self.above:g}")
        if found < self.least:
            raise _refused(f"{found:.6g} is below {self.least:g}", f"give {self.least:g} or more")
        if found > self.most:
            raise _refused(f"{found:.6g} is above {self.most:g}", f"give {self.most:g} at most")
        if self.among and found not in self.among:
            listed = " or ".join(f"{x:g}" for x in self.among)
            raise _refused(f"{found:.6g} is not {listed}", "give one of them")
        return found


def _form(value: object) -> str:
    return "row" if isinstance(value, list | tuple) else "one"


def _refused(what: str, remedy: str | None) -> PydanticCustomError:
    context = {"what": what, "remedy": remedy}
    return PydanticCustomError("wrong_quantity", "{what}", context)


def _is_bare(value: object) -> bool:
    """Return whether it is a number other than 0 without a unit, as a number or as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return float(value) != 0.0
    except ValueError:
        return False


def _sized(units: list[str]) -> Callable[[object], object]:
    """Return what rejects a row that has not one number for each unit."""

    def check(row: object) -> object:
        if isinstance(row, list | tuple) and len(row) != len(units):
            listed = ", ".join(dict.fromkeys(units))
            needed = f"give {len(units)}" if listed == "1" else f"give {len(units)}: in {listed}"
            raise _refused(f"has {len(row)} numbers", needed)
        return row

    return check


# -- tables that a dataclass describes -------------------------------------------------------------
class Table(Record):
    """The table of a frozen dataclass."""

    of_class: ClassVar[type[Any]]

    if TYPE_CHECKING:  # its fields are those of the dataclass

        def __init__(self, **values: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def made(self, **more: Any) -> Any:
        """Return the object that the table describes; `more` are fields that are in no file."""
        alone = set(type(self).model_fields) - {field.name for field in fields(self.of_class)}
        return self.of_class(**{**given(self, leave=alone | set(more), usual=True), **more})

    @classmethod
    def of(cls, source: object, /, **more: Any) -> Table:
        """Return the table of an object, to be written; what no file may have is rejected."""
        values = {}
        for name, field in cls.model_fields.items():
            if name in more or hasattr(source, name):
                value = more[name] if name in more else getattr(source, name)
                value = _in_table(value, note_of(field.metadata))
                values[field.alias or name] = bool(value) if field.annotation is bool else value
        return checked(cls, values, TextSource())


def given(
    table: Record,
    source: TextSource | None = None,
    path: Path = (),
    *,
    slides: bool = False,
    leave: Collection[str] = (),
    usual: bool = False,
) -> dict[str, Any]:
    """Return the fields that a table gives, but some; those of a joint in the unit that it has.

    What it leaves out is there too where what is `usual` counts.
    """
    values: dict[str, Any] = {}
    for name, field in type(table).model_fields.items():
        unset = not usual and name not in table.model_fields_set
        unset = unset or getattr(table, name) is None
        if unset or name in leave:
            continue
        value, note = getattr(table, name), note_of(field.metadata)
        if isinstance(note, Amount) and "|" in note.unit and not note.by:
            try:
                value = note.number(value, note.unit.split("|")[slides])
            except PydanticCustomError as error:
                at = (*path, note.key or name)
                text = fault_text(at, error.context or {})
                raise (source or TextSource()).error(at, *text) from None
        values[name] = _object(_in_si(value, note))
    return values


def _object(value: Any) -> Any:
    if isinstance(value, Table):
        return value.made()
    return tuple(map(_object, value)) if isinstance(value, list | tuple) else value


def _in_si(value: Any, note: Key | Amount | None) -> Any:
    """Return what an object has where a file has degrees."""
    if not isinstance(note, Amount) or note.unit != "deg":
        return value
    return (
        tuple(_in_si(x, note) for x in value) if isinstance(value, tuple) else math.radians(value)
    )


def in_degrees(angle: float) -> float:
    """Return degrees whose radians are the same again, in the fewest digits.

    >>> in_degrees(math.radians(172.58)), in_degrees(0.1)
    (172.58, 5.729577951308233)
    """
    exact = math.degrees(angle)
    short = round(exact, 9)
    return short if math.radians(short) == angle else exact


def _in_table(value: Any, note: Key | Amount | None) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        kind: Any = type(value)
        return _own_table(kind).of(value)
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, list | tuple):
        return tuple(_in_table(x, note) for x in value)
    if isinstance(value, Mapping):
        return {k: _in_table(x, note) for k, x in value.items()}
    if isinstance(note, Amount) and isinstance(value, int | float):
        return in_degrees(value) if note.unit == "deg" else float(value)
    return value


def note_of(metadata: Any) -> Key | Amount | None:
    """Return what a field says, from its metadata."""
    return next((x for x in metadata if isinstance(x, Key | Amount)), None)


def require_ranges(thing: Any, what: str) -> None:
    """Reject an object with a number that its class says to be out of range."""
    for name, hint in get_type_hints(type(thing), include_extras=True).items():
        note, value = note_of(getattr(hint, "__metadata__", ())), getattr(thing, name)
        if not isinstance(note, Amount):
            continue
        number = math.nan
        with suppress(TypeError, ValueError):
            number = math.nan if isinstance(value, str) else float(value)
        if note.unit == "deg" and math.isfinite(number):
            least, most = math.radians(note.least), math.radians(note.most)
            checked_angle(number, f"the {name} of {what}", least=least, most=most)
        elif not note.least <= number <= note.most:
            shown = brief(value) if math.isnan(number) else f"{number:g}"
            raise InputError(
                f"the {name} of {what} is {shown}",
                remedy=f"give {note.least:g} to {note.most:g}",
            )


def described(kind: _Class) -> _Class:
    """Add the sentences of a dataclass's fields to its docstring, with their units."""
    head, _, example = (kind.__doc__ or "").partition("\n\n")
    lines = ["Args:"]
    for name, hint in get_type_hints(kind, include_extras=True).items():
        note = note_of(getattr(hint, "__metadata__", ()))
        if note is not None:
            unit = f", {note.unit}" if isinstance(note, Amount) and note.unit != "1" else ""
            unit = ", rad" if unit == ", deg" else unit
            lines.append(f"    {name}: {note.doc}{unit}.")
    kind.__doc__ = f"{head}\n\n    " + "\n    ".join(lines) + f"\n\n{example}"
    return kind


def table_of(kind: type[Any], /, **more: Any) -> type[Table]:
    """Return the record of a dataclass; fields without a sentence are in no file.

    `more` are keys that the class has not, or has otherwise: their type, notes and default.
    """
    hints = get_type_hints(kind, include_extras=True)
    found: dict[str, Any] = {}
    for name in (*(x for x in more if x not in hints), *hints):
        if name in more:
            shape, *notes, usual = more[name]
            note = note_of(notes)
        else:
            shape, *notes = get_args(hints[name]) or (None,)
            note, field = note_of(notes), kind.__dataclass_fields__[name]
            if note is None or (isinstance(note, Key) and note.internal):
                continue
            shape, usual = _in_file(shape, note), field.default
            if field.default_factory is not MISSING:
                usual = field.default_factory()
            if note.ruled:
                shape, usual = shape | None, None
            notes += [empty_as(())] if usual == () and isinstance(note, Amount) else []
            usual = ... if usual is MISSING else _in_table(usual, note)
        key = (note.key if note else "") or None
        annotated = Annotated[shape, *notes] if notes else shape
        found[name] = (annotated, Field(default=usual, alias=key))
    doc = (kind.__doc__ or "").partition("\n")[0]
    made = create_model(kind.__name__, __base__=Table, __doc__=doc, **found)
    made.of_class = kind
    return made


def empty_as(usual: tuple[float, ...]) -> WrapValidator:
    """Return what lets an empty array stand for numbers that are usual."""
    return WrapValidator(lambda value, read: read(value) if value not in ([], ()) else usual)


def rows(table: type[Record]) -> Any:
    """Return the type of an array of tables."""
    return GenericAlias(list, (table,))


_own_table: Callable[[Any], type[Table]] = lru_cache(maxsize=None)(table_of)


def _in_file(kind: Any, note: Key | Amount) -> Any:
    """Return the type that a field has in a file: strict, with tables in place of dataclasses."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(note, Amount) or kind in _STRICT:
        return kind if isinstance(note, Amount) else _STRICT[kind]
    if is_dataclass(kind):
        return _own_table(kind)
    if origin is tuple:
        return GenericAlias(tuple, tuple(x if x is ... else _in_file(x, note) for x in args))
    if origin in (Union, UnionType):
        return reduce(or_, (_in_file(x, note) for x in args))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return GenericAlias(dict, (StrictStr, _in_file(args[1], note)))
    return kind


# -- reading ---------------------------------------------------------------------------------------
def read_record(
    source: str | os.PathLike[str],
    schema: type[_Record],
    what: str,
    *,
    most: int = 2**22,
    code: str | None = None,
    amounts: str | None = None,
) -> tuple[_Record, TextSource]:
    """Return the record of a file, or of a text of more than one line, and where it stands."""
    if isinstance(source, str) and "\n" in source:
        return parse_record(source, schema, code=code, amounts=amounts)
    place = path_of(source, what)
    text = read_text(place, most)
    return parse_record(text, schema, file=place, code=code, amounts=amounts)
