"""Object code on disk, so that a kernel that was built once is ready in milliseconds.

Object code is executable content, so an entry is trusted only when it is in a folder that belongs
to the user and that nobody else may enter (mode 0700), when the file belongs to the user too, and
when header, key, length and digest agree. Anything else is a miss: the entry is built again and
replaced. An entry holds no address of any process.

Entries are written under a temporary name and renamed, so a reader sees a whole entry or none, and
several writers of one key do no harm. The folder is capped in size; the entries that were used
least recently go first. A cache that cannot be used never stops a kernel from being built: it says
so once and stays out of the way.

Settings, from the environment: `LINKWRIGHT_CACHE_DIR` (the folder; empty or `off` for no cache;
otherwise `linkwright` in `XDG_CACHE_HOME` or in `~/.cache`) and `LINKWRIGHT_CACHE_MB` (the cap).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from linkwright.base.errors import Error

T = TypeVar("T")

DIRECTORY_VARIABLE = "LINKWRIGHT_CACHE_DIR"
SIZE_VARIABLE = "LINKWRIGHT_CACHE_MB"
DEFAULT_MEGABYTES = 512
PATIENCE = 60.0
"""s, for which an entry that another process makes is waited for."""
FORMAT = 1

_MAGIC = b"LWNATIVE"
_DIGEST = 32
_HEADER = struct.Struct(f"<8sIQ{_DIGEST}s{_DIGEST}s")
_SUFFIX = ".lwo"
_TEMPORARY = ".writing"
_ABANDONED_AFTER = 3600.0
_KEEP_WHEN_FULL = 0.9
_LOOKS_PER_CAP = 16  # a folder is looked through once for so large a part of its cap
_room: dict[Path, int] = {}  # bytes that may be written to a folder before it is looked through
_warned: set[str] = set()

# A link is not followed, and nobody is waited for who would have to write into a pipe.
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of entries that was found to be private to the user, and its cap in bytes."""

    folder: Path
    limit: int

    def fetch(self, key: bytes) -> bytes | None:
        """The code stored under `key`, or None when there is no sound entry."""
        path = self._path(key)
        try:
            handle = os.open(path, _FLAGS)
        except OSError:
            return None
        state = os.fstat(handle)
        if stat.S_ISREG(state.st_mode) and _is_own(state):
            with os.fdopen(handle, "rb") as file:
                code = _open_entry(key, file.read())
        else:
            os.close(handle)
            code = None
        with suppress(OSError):
            if code is None:
                path.unlink()
            else:
                os.utime(path)
        return code

    def put(self, key: bytes, code: bytes) -> None:
        """Store `code` under `key`; a disk that is full or read-only is reported and ignored."""
        entry = _HEADER.pack(_MAGIC, FORMAT, len(code), key, _digest(code)) + code
        if len(entry) > self.limit:
            return
        temporary = None
        try:
            handle, temporary = tempfile.mkstemp(_TEMPORARY, "entry-", self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(entry)
            Path(temporary).replace(self._path(key))
        except OSError as error:
            _warn_once(f"cannot write native code to {self.folder} ({error.strerror})")
            if temporary is not None:
                with suppress(OSError):
                    Path(temporary).unlink()
            return
        _room[self.folder] = _room.get(self.folder, 0) - len(entry)
        if _room[self.folder] < 0:
            self.trim()

    @contextmanager
    def making(self, key: bytes, patience: float = PATIENCE) -> Iterator[None]:
        """Make an entry that takes long in here: others who want the same one wait meanwhile.

        Units: `patience` in s.
        """
        path = self.folder / (key.hex() + _TEMPORARY)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield
            return
        try:
            end = time.monotonic() + patience
            while _is_locked(handle) and time.monotonic() < end:
                time.sleep(0.05)
            yield
        finally:
            with suppress(OSError):
                path.unlink()
            os.close(handle)

    def trim(self) -> None:
        """Delete what was used least recently until the folder is below its cap."""
        entries = []
        now = time.time()
        with suppress(OSError), os.scandir(self.folder) as listing:
            for item in listing:
                with suppress(OSError):
                    state = item.stat(follow_symlinks=False)
                    if item.name.endswith(_SUFFIX):
                        entries.append((state.st_mtime_ns, state.st_size, item.path))
                    elif item.name.endswith(_TEMPORARY) and now - state.st_mtime > _ABANDONED_AFTER:
                        Path(item.path).unlink()
        total = sum(size for _, size, _ in entries)
        _room[self.folder] = min(self.limit // _LOOKS_PER_CAP, self.limit - total)
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            if total <= _KEEP_WHEN_FULL * self.limit:
                break
            with suppress(OSError):
                Path(path).unlink()
            total -= size

    def _path(self, key: bytes) -> Path:
        return self.folder / (key.hex() + _SUFFIX)


def entry_key(content: bytes, settings: str) -> bytes:
    """Key of an entry: a hash of what the code is made from and of how it is made.

    >>> entry_key(b"program", "opt 2") == entry_key(b"program", "opt 3")
    False
    """
    digest = hashlib.blake2b(digest_size=_DIGEST, person=b"lw-native-code")
    digest.update(struct.pack("<IQ", FORMAT, len(content)))
    digest.update(content)
    digest.update(settings.encode())
    return digest.digest()


def known(key: bytes, read: Callable[[Any], T]) -> T | None:
    """What is read from the plain data under a key; None where there is none of the kind."""
    store = open_cache()
    entry = None if store is None else store.fetch(key)
    if entry is None:
        return None
    try:
        return read(json.loads(entry))
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, Error):
        return None


def keep(key: bytes, data: Any) -> None:
    """Store plain data under a key; None is not stored."""
    store = open_cache()
    if store is not None and data is not None:
        store.put(key, json.dumps(data).encode())


def stored(
    key: bytes, read: Callable[[Any], T], make: Callable[[], T], write: Callable[[T], Any]
) -> T:
    """What is known under a key; else it is made once, by one process, and kept as written.

    >>> stored(entry_key(b"no cache is needed", "doc"), float, lambda: 2.0, repr)
    2.0
    """
    found = known(key, read)
    if found is None:
        store = open_cache()
        with nullcontext() if store is None else store.making(key):
            found = known(key, read)  # made by another process meanwhile
            if found is None:
                found = make()
                keep(key, write(found))
    return found


def cache_folder() -> Path | None:
    """The folder that the environment asks for, or None when it asks for no cache.

    >>> folder = cache_folder()
    >>> folder is None or folder.is_absolute()
    True
    """
    asked = os.environ.get(DIRECTORY_VARIABLE)
    if asked is not None:
        if asked.strip().lower() in ("", "off"):
            return None
        try:
            return Path(asked).expanduser().absolute()
        except RuntimeError as error:
            _warn_once(f"native code is not cached: {DIRECTORY_VARIABLE}={asked!r}: {error}")
            return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "linkwright"


def open_cache() -> Cache | None:
    """The user's cache, created when it is missing; None when it is off or not private."""
    root = cache_folder()
    if root is None:
        return None
    folder = root / "native"
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        for path in (root, folder):
            path.mkdir(mode=0o700, exist_ok=True)
            fault = _fault(path)
            if fault:
                _warn_once(
                    f"native code is not cached: {path} {fault}; make it yours with mode 0700 "
                    f"(chmod 700), or point {DIRECTORY_VARIABLE} to another folder"
                )
                return None
    except OSError as error:
        _warn_once(f"native code is not cached: cannot use {folder} ({error.strerror})")
        return None
    return Cache(folder, _limit())


def _is_locked(handle: int) -> bool:
    """Lock an open file for this process, unless another has it locked."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, ModuleNotFoundError):  # a system without such locks
        pass
    return False


def _limit() -> int:
    text = os.environ.get(SIZE_VARIABLE, "")
    try:
        megabytes = float(text) if text else float(DEFAULT_MEGABYTES)
        return max(int(megabytes * 1_000_000), 0)
    except (ValueError, OverflowError):
        _warn_once(f"{SIZE_VARIABLE}={text!r} is not a number; using {DEFAULT_MEGABYTES}")
        return DEFAULT_MEGABYTES * 1_000_000


def _fault(path: Path) -> str:
    state = path.lstat()
    if not stat.S_ISDIR(state.st_mode):
        return "is not a folder"
    if not _is_own(state):
        return "belongs to another user"
    if os.name == "posix" and stat.S_IMODE(state.st_mode) != 0o700:
        return f"has mode {stat.S_IMODE(state.st_mode):04o}"
    return ""


def _is_own(state: os.stat_result) -> bool:
    return os.name != "posix" or state.st_uid == os.geteuid()


def _open_entry(key: bytes, entry: bytes) -> bytes | None:
    if len(entry) < _HEADER.size:
        return None
    magic, version, length, stored_key, digest = _HEADER.unpack_from(entry)
    code = entry[_HEADER.size :]
    sound = (magic, version, length, stored_key) == (_MAGIC, FORMAT, len(code), key)
    return code if sound and digest == _digest(code) else None


def _digest(code: bytes) -> bytes:
    return hashlib.blake2b(code, digest_size=_DIGEST).digest()


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
