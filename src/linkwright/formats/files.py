"""Writing a file so that it is either all there or not there at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

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
    target = Path(path)
    if not replace and target.exists():
        raise InputError("the file exists already", file=target, remedy="use --force to replace it")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    except OSError as error:
        raise InputError(f"the file cannot be written: {error.strerror}", file=target) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(0o644)
        if replace:
            temporary.replace(target)
        else:
            os.link(temporary, target)  # fails where another has made it meanwhile
    except FileExistsError:
        raise InputError(
            "the file exists already", file=target, remedy="use --force to replace it"
        ) from None
    except OSError as error:
        raise InputError(f"the file cannot be written: {error.strerror}", file=target) from None
    finally:
        temporary.unlink(missing_ok=True)
