"""Reading and writing text models (TOML).

`read_model` goes from a file or text to a Mechanism, `write_model` back. `parse_model` stops at the
`Model`, which `model_text` writes again: text and model are the same thing in different scene_file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from linkwright.border import worded
from linkwright.errors import InputError
from linkwright.formats.text.document import Document, Limits, parse_model
from linkwright.formats.text.schema import Model
from linkwright.formats.text.writer import model_text
from linkwright.mechanism import Mechanism
from linkwright.mechanism.provenance import from_file

__all__ = [
    "Document",
    "Limits",
    "Model",
    "model_text",
    "open_model",
    "parse_model",
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
    limits: Limits | None = None,
) -> Mechanism:
    """Return the mechanism of a text model.

    Args:
        source: the path of a file, or the text itself where it has more than one line.
        functions: Python callables, or `foreign(...)` functions, for the model's `[[function]]`s.
        options: whole numbers in place of the model's `[options]`.
        trust: whether C code in the file may be compiled.
        limits: what a text may at most contain.

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
    document = open_model(source, limits=limits)
    made = document.build(functions=functions, options=options, trust=trust)
    file = "" if _is_text(source) else os.fspath(source)
    from_file(made, file, options, is_whole=lambda *_: True)
    return made


@worded
def write_model(mechanism: Mechanism) -> str:
    """Return the text model of a mechanism, from which `read_model` builds an equal one.

    Args:
        mechanism: what to write.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=0)
    >>> print(write_model(m).splitlines()[-1])
    mass = 1
    """
    from linkwright.formats.text.from_mechanism import describe

    return model_text(describe(mechanism))


def open_model(source: str | os.PathLike[str], *, limits: Limits | None = None) -> Document:
    """Return the model of a file or text, with the places of its parts.

    >>> open_model('format = 1\\nname = "m"\\n').model.name
    'm'
    """
    if _is_text(source):
        return parse_model(os.fspath(source), limits=limits)
    return parse_model(_contents(Path(source), limits or Limits()), file=source, limits=limits)


def _is_text(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and "\n" in source


def _contents(path: Path, limits: Limits) -> str:
    try:
        if path.is_file() and path.stat().st_size > 4 * limits.size:
            raise InputError(f"the file has more than {limits.size} characters", file=path)
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start} is not UTF-8", file=path, remedy="save the file as UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the file cannot be read: {reason}", file=str(path)[:200]) from None
