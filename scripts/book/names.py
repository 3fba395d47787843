"""The pages of public names, made from signatures and docstrings: one page for each room."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from textwrap import dedent
from typing import Any

import linkwright
from scripts.book.commands import escaped

_HEAD = """\
# Python

Every public name, by room. `help(linkwright.NAME)` prints the same. Quantities are in SI units and
angles in radians, unless the name of an argument has another unit. Everything starts with
`import linkwright as lw`.
"""
_ROOMS: dict[str, tuple[str, ...]] = {
    "Symbols and expressions": ("algebra",),
    "Programs and kernels": ("program", "backends"),
    "Mechanisms and equations": ("mechanism", "equations", "system", "blocks"),
    "Files and models": ("doors", "formats", "codegen"),
    "Runs and recordings": ("simulation", "sweeps", "recording", "linear"),
    "Robots, tasks and laboratories": ("robots", "motion", "lab"),
    "Errors and the package": ("base", "version", ""),
}
_PLACES = {"linkwright.base.viewer": "simulation"}
"""Pages of the names that stand at the top, by the packages that they come from."""
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes|Examples?|Note):$")
_WORDS = {"Args": "Arguments", "Example": "", "Examples": ""}
_TALL = 88


def public() -> dict[str, object]:
    """Return every public name with its value: those of the package, and those of its rooms."""
    found: dict[str, object] = {}
    top: list[str] = vars(linkwright)["__all__"]
    waiting: list[tuple[str, object]] = [(name, getattr(linkwright, name)) for name in top]
    while waiting:
        name, value = waiting.pop(0)
        found[name] = value
        if inspect.ismodule(value):
            inner = getattr(value, "__all__", ())
            waiting += [(f"{name}.{each}", getattr(value, each)) for each in inner]
    return found


def pages() -> dict[str, str]:
    """Return the pages of all public names, by their names in the folder `python`."""
    names = public()
    rooms: dict[str, list[str]] = {title: [] for title in _ROOMS}
    for name, value in names.items():
        if inspect.ismodule(value):
            rooms.setdefault(name, [])
    for name, value in names.items():
        if not inspect.ismodule(value):
            rooms[name.rpartition(".")[0] or _home(value)].append(name)
    found, rows = {}, []
    for room, members in rooms.items():
        if not members:
            continue
        page = re.sub(r"[^a-z.]+", "-", room.lower())
        module = names.get(room)
        title = room if room in _ROOMS else f"linkwright.{room}"
        about = summary(module) if module is not None else ""
        found[page] = _page(title, about, sorted(members, key=str.lower), names)
        rows.append(f"| [{title}]({page}.md) | {about or _first(members)} |")
    tree = [":::{toctree}", ":hidden:", "", *found, ":::", ""]
    return found | {"index": "\n".join([_HEAD, "| room | |", "|---|---|", *rows, "", *tree])}


def _first(members: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in members[:6]) + (" …" if len(members) > 6 else "")


def _home(value: object) -> str:
    """Return the page of a name that stands at the top."""
    module = str(getattr(value, "__module__", None) or type(value).__module__)
    room = _PLACES.get(module) or module.removeprefix("linkwright").lstrip(".").partition(".")[0]
    return next((title for title, rooms in _ROOMS.items() if room in rooms), [*_ROOMS][-1])


def summary(value: object) -> str:
    """Return the first paragraph of a docstring, as Markdown."""
    return escaped((inspect.getdoc(value) or "").partition("\n\n")[0])


def _page(title: str, about: str, members: list[str], names: dict[str, object]) -> str:
    room = members[0].rpartition(".")[0]
    module = f"linkwright.{room}".rstrip(".")
    lines = [f"# {title}\n", f"{about}\n" if about else ""]
    lines.append(f":::{{py:currentmodule}} {module}\n:::\n")
    lines += ["| name | meaning |", "|---|---|"]
    for name in members:
        value = names[name]
        words = summary(value) if callable(value) else _constant(value)
        lines.append(f"| {{py:obj}}`~linkwright.{name}` | {words} |")
    lines.append("")
    for name in members:
        value = names[name]
        lines += [f"## {name.rpartition('.')[2]}\n", *_entry(name, value, names)]
    return "\n".join(lines)


def _constant(value: object) -> str:
    kind = type(value).__name__
    return f"A constant, of the type `{kind}`."


def _entry(name: str, value: Any, names: dict[str, object]) -> Iterator[str]:
    """Yield the description of a name, and those of its methods."""
    if not callable(value):
        yield from (f":::::{{py:data}} {name.rpartition('.')[2]}", f"{_constant(value)}", ":::::\n")
        return
    kind = "class" if inspect.isclass(value) else "function"
    yield f":::::{{py:{kind}}} {name.rpartition('.')[2]}{_signature(value)}\n"
    if inspect.isclass(value):
        bases = [b for b in value.__bases__ if b in names.values() and b is not object]
        shown = [f"{{py:obj}}`linkwright.{k}`" for k, v in names.items() if v in bases]
        yield f"Base: {', '.join(shown)}\n" if shown else ""
    yield from described(value, set(names))
    if inspect.isclass(value) and not issubclass(value, BaseException):
        for inner, member in vars(value).items():
            if not inner.startswith("_"):
                yield from _member(inner, member, set(names))
    yield ":::::\n"


def _member(name: str, member: Any, names: set[str]) -> Iterator[str]:
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if inspect.isfunction(member):
        given = _signature(member, method=True)
        yield f"::::{{py:method}} {name}{given}\n"
    elif isinstance(member, property | cached_property) or hasattr(member, "func"):
        yield f"::::{{py:property}} {name}\n"
        member = getattr(member, "fget", None) or getattr(member, "func", member)
    else:
        return
    yield from described(member, names)
    yield "::::\n"


def _signature(value: Callable[..., object], method: bool = False) -> str:
    """Return the signature as it is typed, without what Python made of defaults."""
    if inspect.isclass(value) and (
        issubclass(value, Enum) or getattr(value, "_is_protocol", False)
    ):
        return ""
    try:
        given = inspect.signature(value)
    except ValueError:
        return ""
    parameters = list(given.parameters.values())
    if method and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    given = given.replace(parameters=[_shown(p) for p in parameters])
    if inspect.isclass(value):
        given = given.replace(return_annotation=inspect.Signature.empty)
    text = str(given).replace("'", "\0").replace("\n", " ")
    text = re.sub(r"(: |-> )\0([^\0]*)\0", r"\1\2", text).replace("\0", "'")
    return re.sub(r"\bcollections\.abc\.|\btyping\.|\bnumpy\.|\blinkwright(\.\w+)+\.", "", text)


class _Default(str):
    """The default of an argument that has no short text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "..."


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    if default is inspect.Parameter.empty or re.fullmatch(
        r"[\w\s.,'\"()\[\]{}:+-]{0,60}", repr(default)
    ):
        return parameter
    return parameter.replace(default=_Default())


def described(value: object, names: set[str]) -> Iterator[str]:
    """Yield a docstring as Markdown: prose, lists of arguments, examples as code."""
    lines = (inspect.getdoc(value) or "").split("\n")
    while lines:
        line = lines.pop(0)
        section = _SECTION.fullmatch(line)
        if section:
            body = []
            while lines and (not lines[0] or lines[0].startswith(" ")):
                body.append(lines.pop(0))
            title = _WORDS.get(section[1], section[1])
            if title:
                yield f"**{title}**\n"
            text = dedent("\n".join(body)).strip()
            if ">>>" in text:
                yield from described_lines(text.split("\n"))
            elif section[1] == "Returns" or section[1] == "Note":
                yield f"{linked(escaped(text), names)}\n"
            else:
                yield from _arguments(text, names)
        else:
            block = [line]
            while line and lines and lines[0] and not _SECTION.fullmatch(lines[0]):
                block.append(lines.pop(0))
            yield from described_lines(block, names)


def described_lines(block: list[str], names: set[str] | None = None) -> Iterator[str]:
    """Yield a paragraph: an example or a drawing as code, a list as one, prose as it flows."""
    text = "\n".join(block).strip("\n")
    if not text:
        return
    if text.lstrip().startswith(">>>"):
        yield f"```python\n{text}\n```\n"
    elif ">>>" in text:
        head, _, rest = text.partition("\n>>>")
        yield f"{escaped(head)}\n"
        yield f"```python\n>>>{rest}\n```\n"
    elif re.match(r"\s+\S", block[0]):
        yield f"```\n{text}\n```\n"
    elif re.match(r"[-*] ", text):
        items = re.split(r"\n(?=[-*] )", text)
        yield "".join(f"- {linked(escaped(item[2:]), names or set())}\n" for item in items)
    else:
        yield f"{linked(escaped(text), names or set())}\n"


def _arguments(text: str, names: set[str]) -> Iterator[str]:
    """Yield a list of arguments with their meaning."""
    items = re.split(r"\n(?=\S)", text)
    rows = []
    for item in items:
        name, colon, meaning = item.partition(": ")
        words = linked(escaped(meaning), names)
        rows.append(f"- `{name.strip()}`: {words}" if colon else f"- {escaped(item)}")
    yield "\n".join(rows) + "\n"


def linked(text: str, names: set[str]) -> str:
    """Return Markdown whose names in backquotes lead to their descriptions."""

    def link(match: re.Match[str]) -> str:
        name = match[1].removeprefix("linkwright.").removeprefix("lw.")
        telling = name[:1].isupper() or "." in name
        return (
            f"{{py:obj}}`{match[1]} <linkwright.{name}>`" if telling and name in names else match[0]
        )

    return re.sub(r"(?<!`)`([\w.]+)`(?!`)", link, text)
