"""Files: writing one so that it is either all there or not there at all, and a digest of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from linkwright.errors import InputError


def write_text(path: str | os.PathLike[str], text: str, *, replace: bool = False) -> None:
    """Write a text file under a temporary name and give it its own when it is complete.

    Args:
        path: where to.
        text: its contents.
        replace: whether a file that is there already may be replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "a.toml", "format = 1")
    ...     (Path(folder) / "a.toml").read_text()
    'format = 1'
    """
    write_bytes(path, text.encode(), replace=replace)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, replace: bool = False) -> None:
    """Write a file under a temporary name and give it its own when it is complete.

    Args:
        path: where to.
        content: its contents.
        replace: whether a file that is there already may be replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(Path(folder) / "a.bin", b"123")
    ...     (Path(folder) / "a.bin").stat().st_size
    3
    """
    write_with(path, lambda file: file.write(content), replace=replace)


def write_with(
    path: str | os.PathLike[str], fill: Callable[[BinaryIO], object], *, replace: bool = False
) -> None:
    """Let a function fill a file, which gets its name when that has ended well.

    Args:
        path: where to.
        fill: writes the contents to the open file.
        replace: whether a file that is there already may be replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_with(Path(folder) / "a.txt", lambda file: file.write(b"one"))
    ...     [p.name for p in Path(folder).iterdir()]
    ['a.txt']
    """
    target = Path(path)
    if not replace and target.exists():
        raise _there(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    except OSError as error:
        raise _refused(target, error) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
        temporary.chmod(0o644)
        if replace:
            temporary.replace(target)
        else:
            os.link(temporary, target)  # fails where another has made it meanwhile
    except FileExistsError:
        raise _there(target) from None
    except OSError as error:
        raise _refused(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def _there(target: Path) -> InputError:
    return InputError("the file exists already", file=target, remedy="use --force to replace it")


def _refused(target: Path, error: OSError) -> InputError:
    return InputError(
        f"the file cannot be written: {error.strerror or error}", file=target, remedy=_ADVICE
    )


_ADVICE = "see that the folder is there, may be written, and has room"


def digest_of(content: bytes) -> str:
    """Return a digest that stands for what a file holds.

    Args:
        content: of the file.

    >>> digest_of(b"format = 1")[:8]
    '5c098799'
    """
    return hashlib.blake2b(content, digest_size=16).hexdigest()
