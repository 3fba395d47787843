"""Files: writing one so that it is either all there or not there at all, and a digest of one."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from linkwright.base.errors import Error, InputError
from linkwright.base.reprs import brief

LARGEST = 32 * 2**20
"""Bytes of a model or robot file."""


def path_of(given: object, what: str = "a file") -> Path:
    """Return a path that is given as a text or a path; anything else is rejected.

    >>> path_of("a.toml").name
    'a.toml'
    """
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise InputError(f"{what} is named by a text or a path, not by {brief(given)}")
    return Path(os.fspath(given))


@dataclass(frozen=True, slots=True)
class OpenedFile(os.PathLike[str]):
    """A file that was read once; whoever needs its bytes takes them from here."""

    path: Path
    content: bytes = field(repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def own_folder(folder: Path, remedy: str) -> Path:
    """Return a folder that belongs to this user alone; it is made where it is missing.

    A link, a folder of somebody else's and one that others may enter are rejected.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise Error(
            f"the folder {folder} cannot be made: {error.strerror}", remedy=remedy
        ) from None
    ours = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    if not stat.S_ISDIR(found.st_mode) or not ours:
        raise Error(
            f"others may enter the folder {folder}", remedy=f"chmod 700 {folder}, or {remedy}"
        )
    return folder


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is a file or folder; a name that no file can have is that of none.

    >>> is_there("a" * 300), is_there(".")
    (False, True)
    """
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def parse_json(text: str | bytes) -> Any:
    """Return what JSON says; ValueError where it is damaged, or nested too deeply.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def integer(text: str) -> int | None:
    """Return the whole number of up to 12 digits that a text writes; None where it writes none.

    >>> integer(" -12 "), integer("--5"), integer("\u00b2"), integer("9" * 5000)
    (-12, None, None, None)
    """
    found = re.fullmatch(r"[+-]?[0-9]{1,12}", text.strip())
    return None if found is None else int(found[0])


def opened_file(path: str | os.PathLike[str], most: int = LARGEST) -> OpenedFile:
    """Return a file with its bytes; one that was opened is returned as it is."""
    if isinstance(path, OpenedFile):
        return path
    return OpenedFile(Path(path), read_bytes(path, most))


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of an ordinary file of at most that size."""
    if isinstance(path, OpenedFile):
        return path.content
    path = Path(path)
    try:
        if not path.is_file():
            why = "it is a folder" if path.is_dir() else "there is no such file"
            raise InputError(f"cannot read: {why}", file=path)
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", file=path) from None
    except ValueError:  # a null character in the name
        raise InputError(f"cannot read {str(path)!r}: that is not a file name") from None
    if len(data) > most:
        raise InputError(f"the file is longer than {most} bytes", file=path)
    return data


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Return the text of an ordinary file of at most that size."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start} is not UTF-8", file=path, remedy="save the file as UTF-8"
        ) from None


def csv_rows(text: str, file: str | os.PathLike[str] | None = None) -> list[list[str]]:
    r"""Return the cells of a table, line by line.

    >>> csv_rows("a, b\n1,2")
    [['a', ' b'], ['1', '2']]
    """
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise InputError(f"this is not a table of CSV: {error}", file=file) from None


def write_text(path: str | os.PathLike[str], text: str, *, replace: bool = False) -> None:
    """Write a text file under a temporary name and give it its own when it is complete.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "a.toml", "format = 1")
    ...     (Path(folder) / "a.toml").read_text()
    'format = 1'
    """
    write_bytes(path, text.encode(), replace=replace)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, replace: bool = False) -> None:
    """Write a file under a temporary name and give it its own when it is complete.

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

    A symbolic link is followed. The contents are on the disk before the name is, and the name is
    when this returns. A file that is replaced keeps its mode, a new one has that of the umask. To a
    pipe or a character device the contents are written when they are complete; a folder, a socket
    or a disk is rejected.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_with(Path(folder) / "a.txt", lambda file: file.write(b"one"))
    ...     [p.name for p in Path(folder).iterdir()]
    ['a.txt']
    """
    named = Path(path)
    try:
        target = named.resolve() if named.is_symlink() else named
        if target.is_symlink():  # from Python 3.13 on, `resolve` does not complain of circles
            raise RuntimeError("its links go in a circle")
        there = target.stat() if target.exists() else None
        if there is not None and not stat.S_ISREG(there.st_mode):
            _write_through(named, target, there.st_mode, fill)
        elif there is not None and not replace:
            raise file_exists(named)
        else:
            _write_whole(target, there, fill, replace)
    except FileExistsError:
        raise file_exists(named) from None
    except RuntimeError as error:  # of `resolve`, for links that go in a circle
        raise InputError(f"the file cannot be written: {error}", file=named) from None
    except OSError as error:
        raise file_refused(named, error) from None


def _write_through(
    named: Path, target: Path, mode: int, fill: Callable[[BinaryIO], object]
) -> None:
    """Write to what takes bytes as they come; its name stays what it is."""
    if not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
        kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISBLK, "a disk"), (stat.S_ISSOCK, "a socket"))
        kind = next((words for test, words in kinds if test(mode)), "no file")
        raise InputError(f"this is {kind}, where nothing can be written", file=named)
    with tempfile.TemporaryFile() as complete:
        fill(complete)
        complete.seek(0)
        with target.open("wb") as file:
            shutil.copyfileobj(complete, file)


def _write_whole(
    target: Path, there: os.stat_result | None, fill: Callable[[BinaryIO], object], replace: bool
) -> None:
    """Write a plain file under another name, flush it to the disk, and rename it."""
    _remove_stale(target)
    handle, temporary = _temporary(target, 0o666 if there is None else stat.S_IMODE(there.st_mode))
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
            file.flush()
            if there is not None:
                _keep_owner_and_mode(handle, there)
            os.fsync(handle)
            if replace:
                temporary.replace(target)
            else:
                _name(temporary, target)
        flush_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(target: Path, mode: int) -> tuple[int, Path]:
    """Open a file beside a target; it is locked as long as whoever writes it lives."""
    while True:
        path = target.parent / f"{_prefix(target)}{secrets.token_hex(4)}{_NEW}"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            continue
        if not try_lock(handle) or os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # another took it for stale before it was locked


def _remove_stale(target: Path) -> None:
    """Remove what writers of a target that were killed have left beside it."""
    with suppress(OSError):
        name = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{8}" + re.escape(_NEW))
        for path in target.parent.iterdir():
            if name.fullmatch(path.name):
                with suppress(OSError), path.open("rb") as file:
                    if try_lock(file.fileno()):
                        path.unlink()


def _prefix(target: Path) -> str:
    return f".{target.name[:48]}."


def _keep_owner_and_mode(handle: int, there: os.stat_result) -> None:
    if (os.fstat(handle).st_uid, os.fstat(handle).st_gid) != (there.st_uid, there.st_gid):
        with suppress(PermissionError):
            os.fchown(handle, there.st_uid, there.st_gid)
    os.fchmod(handle, stat.S_IMODE(there.st_mode))


def _name(temporary: Path, target: Path) -> None:
    """Give a file a name that is free; FileExistsError where another has taken it meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        temporary.replace(target)


def try_lock(handle: int) -> bool:
    """Lock an open file for this process, which goes with it; False where another has it locked.

    On a system without such locks it is always False: a file that is there counts as in use.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, ModuleNotFoundError):
        return False
    return True


@contextmanager
def locked_folder(folder: Path, timeout: float = 30.0) -> Iterator[None]:
    """Let nobody else who asks for it be in here with the same folder.

    On a system without such locks everybody is let in.

    Units: `timeout` in s.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked_folder(Path(folder)):
    ...     (Path(folder) / "a").touch()
    """
    if importlib.util.find_spec("fcntl") is None:
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise file_refused(folder, error) from None
    try:
        limit = time.monotonic() + timeout
        while not try_lock(handle):
            if time.monotonic() > limit:
                raise InputError(
                    f"another program has had the folder for {timeout:g} s", file=folder
                )
            time.sleep(0.002)
        yield
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that they outlast a power failure."""
    with suppress(OSError):  # some file systems cannot, and then need not
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def file_exists(target: Path) -> InputError:
    """Return the error of a file that is there already."""
    return InputError("the file exists already", file=target, remedy="use --force to replace it")


def file_refused(target: Path, error: OSError) -> InputError:
    """Return the error of a file that cannot be written."""
    return InputError(
        f"the file cannot be written: {error.strerror or error}", file=target, remedy=_ADVICE
    )


_NEW = ".new"
_ADVICE = "see that the folder is there, may be written, and has room"


def digest_of(content: bytes) -> str:
    """Return a digest that stands for what a file holds.

    >>> digest_of(b"format = 1")[:8]
    '5c098799'
    """
    return hashlib.blake2b(content, digest_size=16).hexdigest()
