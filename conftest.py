"""Settings of every test: what decides whether it passes is the code alone.

Native code is kept between runs in `.pytest_cache/native`, never in the user's own folder. Keys of
entries hold all code that an entry comes from, the processor and LLVM: what an older version left
behind does not decide (`tests/base/test_cache_keys.py`); `make test-cold` starts without it and
compares. Examples of Hypothesis are the same in every run; with `LINKWRIGHT_SEED`
(`make test-random`) they are new ones.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, core, settings

from tests.seeds import ALL
from tests.support.memory import keep_little, megabytes

pytest_plugins = [
    "tests.support.lanes",
    "tests.support.times",
    "tests.support.examples",
    "tests.support.rest",
]

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
if "LINKWRIGHT_SEED" in os.environ:  # so that the number repeats what Hypothesis drew, too
    core.global_force_seed = int(os.environ["LINKWRIGHT_SEED"])  # type: ignore[assignment]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test-all` and `make test-cold` ask for."""
    parser.addoption("--all", action="store_true", help="all seeds of batteries, not only a few")
    parser.addoption("--native", metavar="DIR", help="where native code is kept between runs")


def pytest_configure(config: pytest.Config) -> None:
    """Tell batteries and lanes by the environment, before anything is imported."""
    if config.getoption("--all") or config.getoption("--rest"):
        os.environ[ALL] = "1"
    elif "LINKWRIGHT_SEED" not in os.environ:
        os.environ.setdefault("LINKWRIGHT_EFFORT", "0")  # code in a third of the time, equal bits
    native = config.getoption("--native") or config.rootpath / ".pytest_cache" / "native"
    os.environ["LINKWRIGHT_CACHE_DIR"] = str(Path(native).absolute())


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out pages that `test_book.py` runs."""
    page = collection_path.suffix == ".md"
    return True if page and {collection_path.name, collection_path.parent.name} & _BOOK else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage: thousands of tests and all modules stay to the end.

    After that look rarely: deriving makes millions of small objects, hardly any of them in cycles.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.collect()  # trees of rewritten tests: their memory is free for the tests
        gc.freeze()
        gc.set_threshold(*RARELY)
        gc.enable()


#: Pages, and folders of pages, that `tests/package/test_book.py` runs, most of them seldom.
_BOOK = {"tutorials", "how-to", "coming-from.md"}

#: Megabytes that a worker may grow by until it looks for garbage again.
GROWTH = 20.0
_after_last_look = [0.0]


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
    """Mark the tests of files that open pages in a browser."""
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item.module, "opened"):
            item.add_marker(pytest.mark.browser)
