"""What Linkwright can use beside itself: extras, compiler, card, browser, rights, cache."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

from linkwright.base.errors import Error
from linkwright.base.optional import EXTRAS

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "firefox")
_EXTRA = re.compile(r"""([\w.-]+)[^;]*;.*extra == ["']([\w-]+)["']""")


class Surrounding(NamedTuple):
    """Something to use: whether it is there, what it is, what it adds and how to get it."""

    name: str
    there: bool
    found: str
    adds: str
    remedy: str


def surroundings() -> list[Surrounding]:
    """Look at what is there.

    >>> {part.name for part in surroundings()} >= {"python", "compiler", "card", "cache"}
    True
    """
    return [_python(), *_extras(), _compiler(), _card(), _browser(), *_rights(), _cache()]


def _python() -> Surrounding:
    found = f"{sys.version.partition(' ')[0]} at {sys.executable}"
    return Surrounding("python", True, found, "", "")


def packages_of(extra: str) -> list[str]:
    """Return the packages that an extra installs.

    >>> packages_of("studio")
    ['viser']
    """
    matches = (_EXTRA.match(line) for line in requires("linkwright") or ())
    return [m[1] for m in matches if m and m[2] == extra and m[1] != "linkwright"]


def _extras() -> Iterator[Surrounding]:
    """Yield each extra that installs something, with the packages of it that are there."""
    for extra, adds in EXTRAS.items():
        packages = packages_of(extra)
        numbers = {name: _version(name) for name in packages}
        lacking = [name for name, number in numbers.items() if not number]
        found = ", ".join(f"{name} {number}" for name, number in numbers.items() if number)
        if packages:
            words = f"{adds} (missing: {', '.join(lacking)})" if lacking else adds
            remedy = f"pip install 'linkwright[{extra}]'"
            yield Surrounding(f"[{extra}]", not lacking, found, words, remedy)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _compiler() -> Surrounding:
    from linkwright.backends.c.compiler import find_compiler

    adds = "C functions in models, the backend c, and building what `codegen` writes"
    remedy = {
        "darwin": "xcode-select --install",
        "win32": "install LLVM, and set CC=clang",
    }.get(sys.platform, "apt install gcc, or dnf install gcc")
    try:
        found = " ".join(find_compiler())
    except Error:
        found = ""
    return Surrounding("compiler", bool(found), found, adds, remedy)


def _card() -> Surrounding:
    from linkwright.backends.cuda.driver import card

    try:
        found = card().name
    except Error as error:
        found, what = "", str(error).partition(";")[0]
    else:
        what = ""
    adds = "thousands of runs at once on a card of NVIDIA"
    return Surrounding("card", bool(found), found, adds, f"{what}; install NVIDIA's driver")


def _browser() -> Surrounding:
    found = next(filter(None, map(shutil.which, _BROWSERS)), "")
    if not found and sys.platform in ("darwin", "win32"):
        found = "the browser of the system"
    adds = "pages, the studio and live pages, in Chromium, Chrome, Edge or Firefox"
    return Surrounding(
        "browser", bool(found), found, adds, "apt install chromium, or open pages elsewhere"
    )


def _rights() -> Iterator[Surrounding]:
    """Yield the rights that a loop by the clock asks for, without taking them."""
    try:
        import resource
    except ImportError:
        yield Surrounding("real-time", False, "", "ticks that are on time under load", "use Linux")
        return
    boundless = resource.RLIM_INFINITY
    limit = getattr(resource, "RLIMIT_RTPRIO", None)
    most = resource.getrlimit(limit)[0] if limit is not None else 0
    may = hasattr(os, "geteuid") and os.geteuid() == 0
    yield Surrounding(
        "real-time",
        may or most == boundless or most > 0,
        "real-time priority is allowed",
        "ticks that are on time while others compute",
        "ulimit -r 99, or `@realtime - rtprio 99` in /etc/security/limits.conf",
    )
    yield Surrounding(
        "locked memory",
        resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == boundless,
        "memory may be locked",
        "no tick that waits for a page of memory",
        "ulimit -l unlimited, or `@realtime - memlock unlimited` in /etc/security/limits.conf",
    )


def _cache() -> Surrounding:
    from linkwright.base.cache import cache_folder

    place = cache_folder()
    adds = "a second start without compiling"
    remedy = "set LINKWRIGHT_CACHE_DIR to a folder that you may write"
    if place is None:
        return Surrounding("cache", False, "", adds, remedy)
    above = next(p for p in (place, *place.parents) if p.exists())
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
    return Surrounding(
        "cache", os.access(above, os.W_OK), f"{size:.0f} MB in {Path(place)}", adds, remedy
    )
