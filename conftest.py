"""Settings of every test: what decides whether it passes is the code alone.

Native code is kept between runs in `.pytest_cache/native`, never in the user's own folder. Keys of
entries hold all code that an entry comes from, the processor and LLVM: what an older version left
behind does not decide (`tests/package/test_cache_keys.py`); `make test-cold` starts without it and
compares. Examples of Hypothesis are the same in every run; with `LINKWRIGHT_SEED`
(`make test-random`) they are new ones.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.seeds import ALL

pytest_plugins = ["tests.support.times", "tests.support.examples"]

# Jobs in the background and some runners of tests ignore Ctrl-C or a hang-up, and the commands that
# tests start would inherit that; with a handler here they begin as they do in a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _signal in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, lambda *_: None)

#: Objects made between two looks for garbage among young ones, and looks before older ones' turn.
RARELY = (100_000, 20, 20)

_BASE = settings(database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", _BASE, derandomize=True)  # a busy machine changes nothing
settings.register_profile("random", _BASE, derandomize=False)
settings.load_profile("random" if "LINKWRIGHT_SEED" in os.environ else "fixed")


#: The variable with the file whose lock says who may run.
TURNS = "LINKWRIGHT_TEST_TURNS"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test-all` and `make test-cold` ask for."""
    parser.addoption("--all", action="store_true", help="all seeds of batteries, not only a few")
    parser.addoption("--rest", action="store_true", help="only files that --all adds seeds to")
    parser.addoption("--native", metavar="DIR", help="where native code is kept between runs")


def pytest_configure(config: pytest.Config) -> None:
    """Tell workers and batteries by the environment, before anything is imported."""
    if config.getoption("--all") or config.getoption("--rest"):
        os.environ[ALL] = "1"
    if hasattr(config, "workerinput"):
        return
    native = config.getoption("--native") or config.rootpath / ".pytest_cache" / "native"
    os.environ["LINKWRIGHT_CACHE_DIR"] = str(Path(native).absolute())
    if config.getoption("numprocesses", None):
        handle, os.environ[TURNS] = tempfile.mkstemp("-turns")
        os.close(handle)
        config.add_cleanup(lambda: Path(os.environ.pop(TURNS)).unlink(missing_ok=True))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that `--rest` adds no seeds to."""
    if not config.getoption("--rest") or collection_path.suffix not in (".py", ".md"):
        return None
    return None if "daily=" in collection_path.read_text(encoding="utf-8") else True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage: thousands of tests and all modules stay to the end.

    After that look rarely: deriving makes millions of small objects, hardly any of them in cycles.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*RARELY)
        gc.enable()


#: Megabytes that a worker may grow by until it looks for garbage again.
GROWTH = 20.0
_after_last_look = [0.0]


@cache
def _c_library() -> Any:
    """The C library of this process, where it gives memory back on request: glibc's."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None


def keep_little() -> None:
    """Let freed memory go back to the system: what LLVM frees lies in pieces and would stay."""
    library = _c_library()
    if library is not None:
        library.malloc_trim(0)


def megabytes() -> float:
    """The memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Let go of what a file has kept for its tests when it is left, and of memory that is free."""
    yield
    left = nextitem is None or nextitem.path != item.path
    if left and isinstance(item, pytest.Function):
        for value in vars(item.module).values():
            if getattr(value, "__module__", "") == item.module.__name__:
                getattr(value, "cache_clear", int)()
    if megabytes() > _after_last_look[0] + GROWTH:
        if left:
            gc.collect()
        keep_little()
        _after_last_look[0] = megabytes()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of files that open pages in a browser; what goes by the clock comes last."""
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item.module, "opened"):
            item.add_marker(pytest.mark.browser)
    items.sort(key=goes_by_the_clock)


def goes_by_the_clock(item: pytest.Item) -> bool:
    """Whether a test is marked as one that runs alone, when the others are done."""
    return item.get_closest_marker("realtime") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tests of all workers run side by side; one that goes by the clock runs alone.

    The lock is taken before the limit of time of the test begins, and a process that ends lets go
    of it. Others come first where both wait, so that those by the clock end up last.
    """
    path = os.environ.get(TURNS)
    if path is None:  # one worker alone
        yield
        return
    with Path(path).open("a") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX if goes_by_the_clock(item) else fcntl.LOCK_SH)
        yield
