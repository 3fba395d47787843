"""Every exception that Linkwright raises on purpose.

All of them derive from `Error`, so ``except linkwright.Error`` catches what a caller can act on and
nothing else. A message says what was wrong, where, and what to do about it. The command line prints
such a message on one line; any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar, overload

__all__ = [
    "BackendError",
    "CompileError",
    "DomainError",
    "Error",
    "InputError",
    "ShapeError",
    "UnitError",
    "nearest",
    "suggestion",
    "unknown",
]


class Error(Exception):
    """Base of all errors raised by Linkwright.

    Args:
        what: what was wrong, in one sentence without a final full stop.
        remedy: what the caller can do about it, or None where there is nothing to advise.
        code: its number in `linkwright.cli.error_codes`, where it has one.

    Example:
        >>> print(Error("no symbol is called 'q9'", remedy="declare it first"))
        no symbol is called 'q9'; declare it first
        >>> print(Error("there is no number R999", code="R101"))
        there is no number R999 [R101]
    """

    def __init__(self, what: str, *, remedy: str | None = None, code: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.code = code

    def __str__(self) -> str:
        said = self.what if self.remedy is None else f"{self.what}; {self.remedy}"
        return said if self.code is None else f"{said} [{self.code}]"


class InputError(Error):
    """A model, expression or file given by the user cannot be read.

    Args:
        what: what was wrong, in one sentence without a final full stop.
        file: the file it was found in, if it came from one.
        line: the line in that file, counted from 1.
        column: the column in that line, counted from 1.
        remedy: what the caller can do about it.
        code: its number, where it has one.

    Example:
        >>> print(
        ...     InputError(
        ...         "unknown joint type 'hinje'",
        ...         file="arm.toml",
        ...         line=4,
        ...         column=9,
        ...         remedy="did you mean 'hinge'?",
        ...     )
        ... )
        arm.toml:4:9: unknown joint type 'hinje'; did you mean 'hinge'?
        >>> print(InputError("unexpected ')'", column=7))
        column 7: unexpected ')'
    """

    def __init__(
        self,
        what: str,
        *,
        file: str | os.PathLike[str] | None = None,
        line: int | None = None,
        column: int | None = None,
        remedy: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(what, remedy=remedy, code=code)
        self.file = None if file is None else os.fspath(file)
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        """Where it was wrong, as ``file:line:column`` or as words; empty when nothing is known."""
        if self.file is not None:
            known = [self.file]
            if self.line is not None:
                known.append(str(self.line))
                if self.column is not None:
                    known.append(str(self.column))
            return ":".join(known)
        words = []
        if self.line is not None:
            words.append(f"line {self.line}")
        if self.column is not None:
            words.append(f"column {self.column}")
        return ", ".join(words)

    def __str__(self) -> str:
        message = super().__str__()
        place = self.place
        return f"{place}: {message}" if place else message


class UnitError(Error):
    """Quantities of different dimension were added, compared or assigned to each other."""


class ShapeError(Error):
    """An array has the wrong shape, type or memory for the argument it was passed as."""


class DomainError(Error):
    """A value lies where the mathematics has no answer: a singular matrix, a log of a negative."""


class BackendError(Error):
    """A backend is unknown, or cannot run on this machine."""


class CompileError(BackendError):
    """A Program could not be turned into a kernel."""


for _error in (Error, InputError, UnitError, ShapeError, DomainError, BackendError, CompileError):
    _error.__module__ = "linkwright"  # where callers find them; tracebacks say so


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the known name whose spelling is nearest, or nothing where none is near.

    >>> nearest("hinje", ["slider", "hinge"]), nearest("q", ["slider"])
    ('hinge', '')
    """
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, cutoff)), "")


@overload
def suggestion(name: str, known: Iterable[str], otherwise: str) -> str: ...


@overload
def suggestion(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None: ...


def suggestion(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the remedy for a name that is not known: the nearest one, or something else.

    >>> suggestion("hinje", ["slider", "hinge"]), suggestion("q", ["slider"], "name a joint")
    ("did you mean 'hinge'?", 'name a joint')
    """
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else otherwise


_Made = TypeVar("_Made", bound=Error)


def unknown(
    what: str,
    name: object,
    known: Iterable[str],
    otherwise: str | None = None,
    *,
    owner: str = "",
    kind: type[_Made] = InputError,  # type: ignore[assignment]
    **more: Any,
) -> _Made:
    """Return the error for a name that is not known: the remedy is the nearest, or the names.

    `owner` is what should have it, and `more` is what the error takes: a code, a file, a line.

    >>> print(unknown("law", "harmonik", ["harmonic", "cubic"]))
    there is no law 'harmonik'; did you mean 'harmonic'?
    >>> print(unknown("joint", "q", ["elbow", "wrist"], owner="the robot"))
    the robot has no joint 'q'; it has elbow, wrist
    """
    names = [str(each) for each in known]
    some = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    listed = f"{'it has' if owner else 'there are'} {some or 'none'}"
    text = os.fspath(name) if isinstance(name, str | os.PathLike) else name
    said = repr(text[:60] if isinstance(text, str) else text)
    lead = f"{owner} has no" if owner else "there is no"
    return kind(
        f"{lead} {what} {said}",
        remedy=suggestion(str(name), names, listed if otherwise is None else otherwise),
        **more,
    )
