"""Reading and writing text models (TOML).

`read_model` goes from a file or text to a Mechanism, `write_model` back. `parse_model` stops at the
`ModelFile`, which `model_text` writes again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from linkwright.base.arguments import worded
from linkwright.base.files import OpenedFile, opened_file, read_text
from linkwright.formats.text.document import Document, TextLimits, parse_model
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.writer import model_text
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of, resolved
from linkwright.mechanism.provenance import from_file
from linkwright.system import System

__all__ = [
    "Document",
    "ModelFile",
    "TextLimits",
    "model_text",
    "open_model",
    "parse_model",
    "read_any",
    "read_model",
    "write_model",
]


@worded
def read_model(
    source: str | os.PathLike[str],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    options: Mapping[str, int] | None = None,
    trust: bool = False,
    limits: TextLimits | None = None,
) -> Mechanism:
    """Return the mechanism of a text model.

    >>> m = read_model('''
    ... format = 1
    ... name = "pendulum"
    ... [parameters]
    ... L = { value = 1, unit = "m" }
    ... [gravity]
    ... along = "-y"
    ... [[body]]
    ... name = "rod"
    ... rotate = "z"
    ... mass = 1
    ... com = [0, "-L", 0]
    ... ''')
    >>> list(m.coordinates)
    ['rod']
    """
    source = source if _is_text(source) else _opened(source, limits or TextLimits())
    document = open_model(source, limits=limits)
    made = document.build(functions=functions, options=options, trust=trust)
    _note(made, source, options)
    return made


def read_any(
    source: str | os.PathLike[str],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    options: Mapping[str, int] | None = None,
    trust: bool = False,
) -> Mechanism | System:
    """Return what a text model describes: a System where it has members, else a mechanism.

    The arguments are those of `read_model`; `trust` allows Python code in the file as well.

    >>> read_any('format = 1\\nname = "m"\\n[[member]]\\nkind = "Integrator"\\nname = "sum"\\n')
    System(m: sum)
    """
    source = source if _is_text(source) else _opened(source, TextLimits())
    document = open_model(source)
    build = document.system if document.model.is_system else document.build
    made = build(functions=functions, options=options, trust=trust)
    _note(mechanism_of(made), source, options)
    return made


def _note(
    made: Mechanism, source: str | os.PathLike[str], options: Mapping[str, int] | None
) -> None:
    """Note where a mechanism comes from."""
    if isinstance(source, OpenedFile):
        from_file(made, os.fspath(source), source.content, options)
    else:
        from_file(made, options=options)


@worded
def write_model(model: ModelLike) -> str:
    """Return the text model of a mechanism or a System, from which an equal one is built.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=0)
    >>> print(write_model(m).splitlines()[-1])
    mass = 1
    """
    from linkwright.formats.text.from_mechanism import describe

    model = resolved(model)
    if isinstance(model, System):
        from linkwright.formats.text.from_system import describe_system

        return model_text(describe_system(model))
    return model_text(describe(mechanism_of(model)))


def open_model(source: str | os.PathLike[str], *, limits: TextLimits | None = None) -> Document:
    """Return the model of a file or text, with the places of its parts.

    >>> open_model('format = 1\\nname = "m"\\n').model.name
    'm'
    """
    if _is_text(source):
        return parse_model(os.fspath(source), limits=limits)
    file = _opened(source, limits or TextLimits())
    return parse_model(read_text(file, len(file.content)), file=os.fspath(file), limits=limits)


def _is_text(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and "\n" in source


def _opened(path: str | os.PathLike[str], limits: TextLimits) -> OpenedFile:
    if isinstance(path, OpenedFile):
        return path
    return opened_file(path, 4 * limits.size)
