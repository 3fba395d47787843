"""Complaints about a part of a text model, placed at the key or the character that is wrong.

What goes wrong while a part is built comes from the expression language, which knows the text and
the place in it, or from the mechanism, which may quote the text. The expression is looked up among
the values of the part, and the complaint gets the place where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linkwright.algebra.language import LanguageError
from linkwright.base.errors import Error, InputError
from linkwright.formats.text import tables
from linkwright.formats.text.components import Part
from linkwright.formats.text.document import TextSource, path_text
from linkwright.formats.text.positions import Path

_NOT_EXPRESSIONS = {"name", "parent", "doc", "unit", "body", "on", "to", "reaction", "wheel"}


@contextmanager
def placed(source: TextSource, part: Part) -> Iterator[None]:
    """Give what goes wrong inside the place of the part, or of the expression in it.

    >>> with placed(TextSource(), Part("L/0", ("variables", "a"), "L/0")):
    ...     raise Error("'L/0' has no value")
    Traceback (most recent call last):
        ...
    linkwright.InputError: variables.a: 'L/0' has no value
    """
    try:
        yield
    except LanguageError as error:
        path, written = _find(part, error.source)
        same = written == error.source
        shown = "" if same else f" (in {error.source[:80]!r})"
        raise source.error(
            path, error.what + shown, error.remedy, character=error.position if same else 0
        ) from error
    except InputError as error:
        known = error.line is not None or error.file is not None
        if known or error.what.startswith(path_text(part.path)):
            raise
        raise source.error(part.path, error.what, error.remedy, code=error.code) from error
    except Error as error:
        path = _mentioned(part, error.what)
        raise source.error(path, error.what, error.remedy, code=error.code) from error
    except (ArithmeticError, ValueError) as error:
        raise source.error(part.path, f"has no value ({error})") from error


def _find(part: Part, text: str) -> tuple[Path, Any]:
    """Return the key path of an expression in a part, and how it was written there."""
    for path, item in _texts(part):
        if item == text:
            written = part.written
            for key in path[len(part.path) :]:
                written = _entry(written, key)
            return path, written
    return part.path, None


def _mentioned(part: Part, message: str) -> Path:
    """Return the key path of the expression that a message quotes, or of a key that it names."""
    quoted = (path for path, text in _texts(part) if repr(text) in message)
    keys = part.value.model_fields_set if isinstance(part.value, tables.MemberTable) else ()
    words = message.replace("'", " ").split()
    named = ((*part.path, key) for key in sorted(keys, key=len, reverse=True) if key in words)
    return next(quoted, None) or next(named, part.path)


def _texts(part: Part) -> Iterator[tuple[Path, str]]:
    """Yield the expressions in a part with their key paths, in the order of its keys."""
    value = part.value
    if isinstance(value, tables.Record):
        value = value.model_dump(exclude_unset=True, exclude=_NOT_EXPRESSIONS)
    stack: list[tuple[Path, Any]] = [(part.path, value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, str):
            yield path, item
        elif isinstance(item, dict):
            stack.extend(((*path, k), x) for k, x in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend(((*path, k), x) for k, x in reversed(list(enumerate(item))))


def _entry(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) else None
