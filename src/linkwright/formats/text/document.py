"""A text model that has been read: the model, and where each part of it stands in the text.

Whatever is wrong is an `InputError` with file, line, column and key. `ModelError` holds all that
is wrong with the shape of a file; its own message is the first of them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from linkwright.base.errors import InputError, suggestion
from linkwright.formats.text.positions import Path, Positions, scan
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.tables import Record

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.system import System

_DIGITS = 308  # of a whole number that is a float, too
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")
_REPR = re.compile(r"\w+")

Table = TypeVar("Table", bound=Record)


@dataclass(frozen=True, slots=True)
class TextLimits:
    """What a text may at most contain, so that no file can take all time and memory."""

    size: int = 4_000_000
    nesting: int = 24
    parts: int = 20_000


@dataclass(frozen=True, slots=True)
class TextSource:
    """Where a model came from, for complaints about it."""

    file: str | None = None
    positions: Positions | None = None
    code: str | None = None  # the number of errors about such a text, where they have one

    def error(
        self,
        path: Path,
        what: str,
        remedy: str | None = None,
        *,
        key: bool = False,
        character: int | None = None,
        code: str | None = None,
    ) -> InputError:
        """Return the error about a key or its value."""
        line, column = None, None
        if self.positions is not None:
            line, column = self.positions.place(path, key=key, character=character)
        spelled = path_text(path)
        return InputError(
            f"{spelled}: {what}" if spelled else what,
            file=self.file,
            line=line,
            column=column,
            remedy=remedy,
            code=code or self.code,
        )


class ModelError(InputError):
    """A text model with one or more faults in its shape; `faults` holds each of them."""

    def __init__(self, faults: Sequence[InputError]) -> None:
        first = faults[0]
        super().__init__(
            first.what,
            file=first.file,
            line=first.line,
            column=first.column,
            remedy=first.remedy,
            code=first.code,
        )
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Document:
    """A model with its source."""

    model: ModelFile
    source: TextSource
    limits: TextLimits = TextLimits()

    def build(self, **more: Any) -> Mechanism:
        """Return the mechanism that is described; see `linkwright.formats.text.builder.build`."""
        from linkwright.formats.text.builder import build

        return build(self.model, source=self.source, limits=self.limits, **more)

    def system(self, **more: Any) -> System:
        """Return the System that is described; without members, that of the mechanism alone."""
        from linkwright.formats.text.system_builder import build_system

        return build_system(self.model, source=self.source, limits=self.limits, **more)


def path_text(path: Path) -> str:
    """Return a key path as people write it.

    >>> path_text(("body", 2, "at", 0))
    'body[2].at[0]'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif text:
            text += f".{part}"
        else:
            text = part
    return text


def parse_model(
    text: str, *, file: str | os.PathLike[str] | None = None, limits: TextLimits | None = None
) -> Document:
    """Return the model of a text, checked against the schema.

    >>> try:
    ...     parse_model('format = 1\\nname = "m"\\n[[body]]\\nmas = 1\\n')
    ... except ModelError as error:
    ...     print(error)
    line 4, column 1: body[0].mas: unknown key 'mas'; did you mean 'mass'?
    """
    limits = limits or TextLimits()
    model, source = parse_record(text, ModelFile, file=file, limits=limits)
    return Document(model, source, limits)


def parse_record(
    text: str,
    schema: type[Table],
    *,
    file: str | os.PathLike[str] | None = None,
    limits: TextLimits | None = None,
    code: str | None = None,
    amounts: str | None = None,
) -> tuple[Table, TextSource]:
    """Return the record that a TOML text holds, checked against its schema, and its source.

    Errors carry `code`, where such texts have a number for what is wrong with them; wrong amounts
    have another where it is given.

    >>> record, source = parse_record('format = 1\\nname = "m"\\n', ModelFile)
    >>> record.name
    'm'
    """
    limits = limits or TextLimits()
    name = None if file is None else os.fspath(file)
    if len(text) > limits.size:
        raise InputError(
            f"the text has {len(text)} characters, and at most {limits.size} are read",
            file=name,
            code=code,
        )
    data = _toml(text, name, code)
    source = TextSource(name, code=code)
    too_large = _check_nesting(data, limits, source)
    source = TextSource(name, scan(text), code)
    if too_large is not None:
        digits = f"a number of more than {_DIGITS} digits"
        raise source.error(too_large, f"{digits} is beyond all that are computed with")
    if "format" in data or schema.model_fields["format"].is_required():
        _check_format(data, source)
    return checked(schema, data, source, amounts), source


def checked(
    schema: type[Table], data: object, source: TextSource, amounts: str | None = None
) -> Table:
    """Return the record of values by key."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise ModelError(_faults(error, data, source, amounts)) from None


def _toml(text: str, file: str | None, code: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError("arrays or tables are nested too deeply", file=file, code=code) from None
    except ValueError as error:
        message = str(error)
        found = _AT.search(message)
        line, column = None, None
        if found is not None:
            message = message[: found.start()]
            line, column = text.count("\n") + 1, None
            if found[1] is not None:
                line, column = int(found[1]), int(found[2])
        raise InputError(
            f"this is not TOML: {message[:1].lower()}{message[1:200]}",
            file=file,
            line=line,
            column=column,
            code=code,
        ) from None


def _check_nesting(data: dict[str, Any], limits: TextLimits, source: TextSource) -> Path | None:
    """Reject what is nested too deeply; return where a whole number is that no float can hold."""
    stack: list[tuple[Any, Path]] = [(data, ())]
    too_large = None
    while stack:
        value, path = stack.pop()
        if len(path) > limits.nesting:
            raise source.error((), "arrays or tables are nested too deeply")
        if isinstance(value, dict | list):
            members = value.items() if isinstance(value, dict) else enumerate(value)
            stack.extend((x, (*path, key)) for key, x in members)
        elif isinstance(value, int) and abs(value) >= 10**_DIGITS:
            too_large = path
    return too_large


def _check_format(data: dict[str, Any], source: TextSource) -> None:
    if "format" not in data:
        raise source.error(
            (), "the text does not say its format", "write `format = 1` on its first line"
        )
    if data["format"] != 1 or isinstance(data["format"], bool):
        raise source.error(
            ("format",), f"format {data['format']!r} is not known", "this version reads format 1"
        )


def _faults(
    error: ValidationError, data: object, source: TextSource, amounts: str | None
) -> list[InputError]:
    """Return what is wrong, in the order of the text."""
    found: list[InputError] = []
    seen: set[Path] = set()
    for fault in error.errors(include_url=False, include_input=False):
        path = _path_in(data, fault["loc"])
        context = fault.get("ctx", {})
        kind = fault["type"]
        if kind not in ("unknown_key", "missing"):
            if path in seen:  # another way to read the same value
                continue
            seen.add(path)
        if kind == "unknown_key":
            path = (*path, context["key"])
            near = context["near"]
            what, known = f"unknown key {context['key']!r}", context["known"]
            remedy = f"did you mean {near!r}?" if near else f"there are {known}"
            if path == ("robot",):
                remedy = "`linkwright lab open` opens a laboratory"
            found.append(source.error(path, what, remedy, key=True))
        elif kind == "unknown_kind":
            near, known = context["near"], context["known"]
            remedy = f"did you mean {near!r}?" if near else f"known are {known}"
            path = (*path, "kind")
            found.append(source.error(path, f"there is no kind {context['kind']!r}", remedy))
        elif kind == "missing":
            key = context.get("key") or fault["loc"][-1]
            what, remedy = f"the key {key!r} is missing", f"add {key} = ..."
            if isinstance(key, int):  # of a list with a fixed number of values
                what, remedy = f"the list ends after {key} values", "give one more"
            found.append(source.error(path, what, remedy))
        elif kind == "wrong_quantity":
            found.append(source.error(path, *fault_text(path, context), code=amounts))
        elif kind == "literal_error":
            found.append(source.error(path, *_choice(data, path, str(context["expected"]))))
        else:
            found.append(source.error(path, _plain(fault["msg"])))
    return sorted(found, key=lambda e: (e.line or 0, e.column or 0))


def fault_text(path: Path, context: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return what is wrong with a quantity, of which "it" is the key, and what to do."""
    what: str = context["what"]
    key = next((part for part in reversed(path) if isinstance(part, str)), "it")
    return re.sub(r"^it\b", lambda _: key, what), context["remedy"]


def _choice(data: object, path: Path, expected: str) -> tuple[str, str]:
    for part in path:
        data = data[part]  # type: ignore[index]
    return (
        f"{str(data)[:40]!r} is not one of {expected}",
        suggestion(str(data), _REPR.findall(expected), "choose one of them"),
    )


def _plain(message: str) -> str:
    message = message.removeprefix("Value error, ")
    swaps = {
        "Input should be a valid dictionary or instance of": "a table is needed here, for",
        "Input should be a valid dictionary": "a table is needed here",
        "Input should be a valid list": "an array is needed here",
        "Input should be a valid tuple": "an array is needed here",
        "Input should be a valid string": "a text in quotes is needed here",
        "Input should be a valid boolean": "true or false is needed here",
        "Input should be a valid integer": "a whole number is needed here",
        "Input should be": "it should be",
    }
    for start, words in swaps.items():
        if message.startswith(start):
            return words + message[len(start) :]
    return message[:1].lower() + message[1:]


def _path_in(data: object, location: Sequence[str | int]) -> Path:
    """Return the part of pydantic's location that exists in the data."""
    path: list[str | int] = []
    for part in location:
        inside = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if inside or (isinstance(data, dict) and part in data):
            data = data[part]  # type: ignore[index]
        elif isinstance(data, list) and isinstance(part, str):  # of several types the one
            continue
        else:
            break
        path.append(part)
    return tuple(path)
