"""What errors say, and that they survive a trip between processes."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path

import pytest

from linkwright.base import errors
from linkwright.base.errors import InputError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("bad"), "bad"),
        (InputError("bad", remedy="do this"), "bad; do this"),
        (InputError("bad", file="a.toml"), "a.toml: bad"),
        (InputError("bad", file=Path("a.toml"), line=3), "a.toml:3: bad"),
        (InputError("bad", file="a.toml", line=3, column=7), "a.toml:3:7: bad"),
        # In a file, a column means nothing without its line.
        (InputError("bad", file="a.toml", column=7), "a.toml: bad"),
        (InputError("bad", line=3), "line 3: bad"),
        (InputError("bad", line=3, column=7, remedy="fix"), "line 3, column 7: bad; fix"),
        (InputError("bad", column=7), "column 7: bad"),
    ],
)
def test_input_error_says_where(error: InputError, message: str) -> None:
    assert str(error) == message


def test_copies_keep_what_was_known() -> None:
    """Copying rebuilds an exception the way a worker process hands it to its parent."""
    error = InputError("bad", file="a.toml", line=3, column=7, remedy="do this")
    again = copy.copy(error)
    assert again is not error
    assert vars(again) == vars(error)
    assert str(again) == str(error)


def test_all_errors_derive_from_error() -> None:
    classes = [getattr(errors, n) for n in errors.__all__ if inspect.isclass(getattr(errors, n))]
    homes = (errors.__name__, "linkwright")  # errors say that they are of the package
    own = {k for k, v in vars(errors).items() if getattr(v, "__module__", "") in homes}
    assert {n for n in own if not n.startswith("_")} == set(errors.__all__)
    assert all(issubclass(c, errors.Error) for c in classes)
