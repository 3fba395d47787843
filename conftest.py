"""Settings of every test: native code is cached in a folder of the run, never in the user's own.

A kernel that an older version of the generator left behind must not decide whether a test passes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWRIGHT_CACHE_DIR", str(tmp_path_factory.mktemp("native") / "cache"))
        yield
