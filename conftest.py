"""Settings of every test: what decides whether it passes is the code alone.

Native code is cached in a folder of the run, never in the user's own: a kernel that an older
version of the generator left behind must not decide. Examples of Hypothesis are the same in every
run; with `LINKWRIGHT_SEED` (`make test-random`) they are new ones.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.times"]

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


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark the tests of files that open pages in a browser."""
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item.module, "opened"):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # workers share what they compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWRIGHT_CACHE_DIR", str(base / "native"))
        yield
