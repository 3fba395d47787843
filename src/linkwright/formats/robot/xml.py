"""XML read without trust: a small tree of elements that know their lines.

Robot files come from anywhere. Expat reads them with all that switched off which a robot file does
not need: a DOCTYPE is rejected before anything in it is looked at, so there are no entities to
expand and nothing outside the file to fetch. The size of the file, the depth of the tree and the
number and length of its parts are capped. What the readers of URDF and MJCF ask of an element (a
number, three numbers, one of some words) is answered here, with one complaint for one fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from linkwright.base.errors import InputError
from linkwright.base.files import read_bytes

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
LARGEST = 1e60
_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "utf-16", "utf16"})


@dataclass(frozen=True, slots=True)
class Caps:
    """How much XML is read before it is rejected."""

    size: int = 32 * 2**20
    depth: int = 200
    elements: int = 200_000
    attributes: int = 100
    length: int = 2**20


DEFAULT_CAPS = Caps()


@dataclass(frozen=True, slots=True)
class XmlElement:
    """An element of an XML file."""

    tag: str  # its name, with the prefix it has in the file
    attributes: Mapping[str, str] = field(default_factory=dict)  # their values as text
    children: tuple[XmlElement, ...] = ()  # the elements in it, in order
    text: str = ""  # the characters right in it, without the blanks around
    line: int = 0  # where it starts, from 1
    column: int = 0  # in that line, from 1
    file: str = ""  # for messages

    def error(self, what: str, remedy: str | None = None) -> InputError:
        """Return the complaint about this element, to be raised.

        >>> print(XmlElement("link", line=3, column=5, file="a.urdf").error("it has no name"))
        a.urdf:3:5: it has no name
        """
        return InputError(
            what,
            file=self.file or None,
            line=self.line or None,
            column=self.column or None,
            remedy=remedy,
        )

    def all(self, *tags: str) -> Iterator[XmlElement]:
        """Yield the children with one of these tags, in order."""
        return (child for child in self.children if child.tag in tags)

    def one(self, tag: str) -> XmlElement | None:
        """Return the child with this tag, or None; several are an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(
                f"a second <{tag}> in the same <{self.tag}>; the first is in line {found[0].line}",
                "keep one of them",
            )
        return found[0] if found else None

    def required(self, tag: str) -> XmlElement:
        """Return the child with this tag; none is an error."""
        found = self.one(tag)
        if found is None:
            raise self.error(f"{self.words} has no <{tag}>", "add it")
        return found

    @property
    def words(self) -> str:
        """How a complaint calls this element: with its name, where it has one.

        >>> XmlElement("joint", {"name": "elbow"}).words
        "<joint name='elbow'>"
        """
        name = self.attributes.get("name", "")
        return f"<{self.tag} name={_shortened(name)}>" if name else f"<{self.tag}>"

    def value(self, name: str) -> str:
        """Return an attribute as text without blanks around; none, or an empty one, is an error."""
        found = self.attributes.get(name, "").strip()
        if not found:
            raise self.error(f"{self.words} has no attribute {name!r}", f'add {name}="..."')
        return found

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> str:
        """Return an attribute that must be one of some words."""
        found = self.value(name) if default is None else self.attributes.get(name, default).strip()
        if found not in options:
            raise self.error(
                f"{name} of {self.words} is {_shortened(found)}", f"use one of {', '.join(options)}"
            )
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """Return an attribute as a finite number; one that is absent is `default`, or an error.

        >>> XmlElement("mass", {"value": " 1.5e0 "}).number("value")
        1.5
        """
        if default is not None and name not in self.attributes:
            return default
        return self._finite(name, self.value(name))

    def maybe(self, name: str) -> float | None:
        """Return an attribute as a finite number, or None where there is none."""
        return self.number(name) if name in self.attributes else None

    def numbers(
        self,
        name: str,
        count: int | None = None,
        default: tuple[float, ...] | None = None,
        *,
        infinite: bool = False,
    ) -> tuple[float, ...]:
        """Return an attribute as numbers with blanks between, `count` of them.

        They are finite, unless ``inf`` is allowed.

        >>> XmlElement("axis", {"xyz": "0 0 -1"}).numbers("xyz", 3)
        (0.0, 0.0, -1.0)
        """
        if default is not None and name not in self.attributes:
            return default
        parts = self.value(name).split()
        if count is not None and len(parts) != count:
            raise self.error(
                f"{name} of {self.words} has {len(parts)} numbers where {count} are needed",
                "put blanks between them, nothing else",
            )
        words = ("inf", "+inf", "-inf") if infinite else ()
        return tuple(float(x) if x in words else self._finite(name, x) for x in parts)

    def triple(
        self, name: str, default: tuple[float, float, float] | None = None
    ) -> tuple[float, float, float]:
        """Return an attribute as three finite numbers."""
        x, y, z = self.numbers(name, 3, default)
        return x, y, z

    def _finite(self, name: str, text: str) -> float:
        found = finite(text)
        if found is None:
            raise self.error(
                f"{name} of {self.words} is {_shortened(text)}, not a finite decimal number",
                f"write it as 0.5 or 5e-1, up to {LARGEST:g}",
            )
        return found


def finite(text: str) -> float | None:
    """Return the number that a text is in decimal writing, or None.

    Python's own reading also takes ``nan``, ``1_000`` and digits of other scripts. A number beyond
    No robot has 1e60; without them no product of a few overflows.

    >>> finite("-1.5e3"), finite("nan"), finite("0x10"), finite("1e999"), finite("1_0")
    (-1500.0, None, None, None, None)
    """
    if len(text) > 400 or _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if abs(number) <= LARGEST else None


def read_xml(path: str | Path, caps: Caps = DEFAULT_CAPS) -> XmlElement:
    """Return the root element of an XML file."""
    return parse_xml(read_bytes(path, caps.size), file=str(path), caps=caps)


def parse_xml(text: str | bytes, *, file: str = "", caps: Caps = DEFAULT_CAPS) -> XmlElement:
    """Return the root element of an XML text.

    >>> root = parse_xml("<robot name='r'>\\n  <link name='a'/>\\n</robot>")
    >>> root.children[0].line, root.children[0].attributes["name"]
    (2, 'a')
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > caps.size:
        raise InputError(f"the file is longer than {caps.size} bytes", file=file or None)
    return _Builder(file, caps, "utf-8" if isinstance(text, str) else None).run(data)


class _RootFound(Exception):
    """The root element has been seen; nothing further is read."""


def root_tag(data: bytes, *, file: str = "") -> str:
    """Return the name of the root element without reading further.

    >>> root_tag(b"<?xml version='1.0'?><!-- a robot --><robot name='r'><link")
    'robot'
    """
    builder = _Builder(file, DEFAULT_CAPS, None)
    found = ""

    def stop(tag: str, _attributes: dict[str, str]) -> None:
        nonlocal found
        found = tag
        raise _RootFound

    builder.parser.StartElementHandler = stop
    try:
        builder.parse(data)
    except _RootFound:
        return found
    return found


class _Open:
    """An element whose end has not come yet."""

    __slots__ = ("attributes", "children", "column", "length", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, column: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.column = column
        self.children: list[XmlElement] = []
        self.text: list[str] = []
        self.length = 0


class _Builder:
    """One run of expat over a text."""

    def __init__(self, file: str, caps: Caps, encoding: str | None) -> None:
        self.file = file
        self.caps = caps
        self.stack: list[_Open] = []
        self.root: XmlElement | None = None
        self.count = 0
        self.parser: XMLParserType = expat.ParserCreate(encoding)

    def run(self, data: bytes) -> XmlElement:
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parse(data)
        assert self.root is not None
        return self.root

    def parse(self, data: bytes) -> None:
        parser = self.parser
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            words = expat.ErrorString(error.code) or "malformed"
            raise InputError(
                f"this is not well-formed XML: {words}",
                file=self.file or None,
                line=error.lineno,
                column=error.offset + 1,
            ) from None

    def _fault(self, what: str, remedy: str | None = None) -> InputError:
        return InputError(
            what,
            file=self.file or None,
            line=self.parser.CurrentLineNumber,
            column=self.parser.CurrentColumnNumber + 1,
            remedy=remedy,
        )

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise self._fault(
                f"the encoding {_shortened(encoding)} is not read", "store the file as UTF-8"
            )

    def _doctype(self, *_: object) -> None:
        raise self._fault(
            "a DOCTYPE is rejected, since what it declares could reach outside the file",
            "remove the DOCTYPE; robot files need none",
        )

    def _entity(self, *_: object) -> None:
        raise self._fault("an entity is declared", "write its text out where it is used")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        caps = self.caps
        self.count += 1
        if self.count > caps.elements:
            raise self._fault(f"there are more than {caps.elements} elements")
        if len(self.stack) >= caps.depth:
            raise self._fault(f"elements stand in each other deeper than {caps.depth}")
        if len(attributes) > caps.attributes:
            raise self._fault(f"an element has more than {caps.attributes} attributes")
        if len(tag) > 1000:
            raise self._fault("the name of an element is longer than 1000 characters")
        for name, value in attributes.items():
            if len(value) > caps.length or len(name) > 1000:
                raise self._fault(
                    f"the attribute {_shortened(name)} is longer than {caps.length} characters"
                )
        self.stack.append(
            _Open(
                tag,
                attributes,
                self.parser.CurrentLineNumber,
                self.parser.CurrentColumnNumber + 1,
            )
        )

    def _characters(self, text: str) -> None:
        top = self.stack[-1]
        top.length += len(text)
        if top.length > self.caps.length:
            raise self._fault(f"a text is longer than {self.caps.length} characters")
        top.text.append(text)

    def _end(self, _tag: str) -> None:
        top = self.stack.pop()
        text = "".join(top.text).strip()
        found = XmlElement(
            top.tag, top.attributes, tuple(top.children), text, top.line, top.column, self.file
        )
        if self.stack:
            self.stack[-1].children.append(found)
        else:
            self.root = found


def _shortened(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[: most - 3] + "...")
