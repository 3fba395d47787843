"""The disk cache: what it keeps, what it refuses, and that it never stops a kernel being built."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from linkwright.base import cache
from linkwright.base.fingerprint import fingerprint
from tests.seeds import seldom
from tests.support.native_axpy import axpy_result
from tests.support.native_ir import fresh_cache

KEY = cache.entry_key(b"program", "settings")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the entries of this test lie; warnings already given elsewhere are forgotten."""
    monkeypatch.setattr(cache, "_warned", set())
    return fresh_cache(monkeypatch, tmp_path)


def opened() -> cache.Cache:
    store = cache.open_cache()
    assert store is not None
    return store


def test_folder_and_entries_are_private(folder: Path) -> None:
    axpy_result()
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    entries = list(folder.iterdir())
    assert entries
    assert all(entry.stat().st_mode & 0o077 == 0 for entry in entries)


def test_an_entry_is_made_once_by_whoever_wants_it_at_the_same_time(folder: Path) -> None:
    made: list[int] = []
    given: list[float] = []

    def make(k: int) -> float:
        made.append(k)
        time.sleep(0.1)
        return float(k)

    def want(k: int) -> None:
        given.append(cache.stored(KEY, float, lambda: make(k), repr))

    threads = [threading.Thread(target=want, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert given == 4 * [float(made[0])]
    assert len(made) == 1
    assert [path.suffix for path in opened().folder.iterdir()] == [".lwo"]


def test_who_makes_an_entry_for_too_long_is_not_waited_for(folder: Path) -> None:
    with opened().making(KEY), opened().making(KEY, patience=0.1):
        assert opened().fetch(KEY) is None


def test_what_was_stored_comes_back(folder: Path) -> None:
    store = opened()
    assert store.fetch(KEY) is None
    store.put(KEY, b"code" * 1000)
    assert opened().fetch(KEY) == b"code" * 1000
    assert [path.name for path in folder.iterdir()] == [KEY.hex() + ".lwo"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(position=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_any_changed_byte_makes_the_entry_unusable(folder: Path, position: int, flip: int) -> None:
    store = opened()
    store.put(KEY, bytes(range(256)))
    path = next(folder.iterdir())
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= flip
    path.write_bytes(content)
    assert store.fetch(KEY) is None
    assert not path.exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(lost=st.integers(1, 340))
def test_a_truncated_entry_is_unusable(folder: Path, lost: int) -> None:
    store = opened()
    store.put(KEY, bytes(range(256)))
    path = next(folder.iterdir())
    os.truncate(path, max(path.stat().st_size - lost, 0))
    assert store.fetch(KEY) is None


def test_an_entry_under_the_wrong_name_is_unusable(folder: Path) -> None:
    store = opened()
    store.put(KEY, b"code")
    other = cache.entry_key(b"another program", "settings")
    next(folder.iterdir()).rename(folder / (other.hex() + ".lwo"))
    assert store.fetch(other) is None


def test_a_symbolic_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    store = opened()
    store.put(KEY, b"code")
    path = next(folder.iterdir())
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert store.fetch(KEY) is None


def test_a_folder_in_place_of_an_entry_is_survived(folder: Path) -> None:
    store = opened()
    (folder / f"{KEY.hex()}.lwo").mkdir()
    assert store.fetch(KEY) is None
    with pytest.warns(RuntimeWarning, match="cannot write native code"):
        store.put(KEY, b"code")
    assert store.fetch(KEY) is None


def test_a_pipe_in_place_of_an_entry_does_not_hang(folder: Path) -> None:
    """Nobody writes into it; it goes, and the entry takes its place."""
    found: list[bytes | None] = []
    store = opened()
    os.mkfifo(folder / f"{KEY.hex()}.lwo")

    def use() -> None:
        found.append(store.fetch(KEY))
        store.put(KEY, b"code")
        found.append(store.fetch(KEY))

    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join(240)
    assert found == [None, b"code"]


def test_the_home_of_nobody_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, "~nobody-of-this-name/x")
    with pytest.warns(RuntimeWarning, match="native code is not cached.*nobody-of-this-name"):
        assert cache.open_cache() is None
    assert axpy_result() == (False, [7.0, 9.0])


def test_a_spoiled_kernel_is_built_again_and_right(folder: Path) -> None:
    assert axpy_result() == (False, [7.0, 9.0])
    assert axpy_result() == (True, [7.0, 9.0])
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    assert axpy_result() == (False, [7.0, 9.0])
    assert axpy_result() == (True, [7.0, 9.0])


def test_entries_hold_no_addresses_of_the_process(folder: Path) -> None:
    """Two processes, whose memory lies elsewhere, write the same bytes."""
    fingerprint.cache_clear()  # the digest of our sources is an entry, too
    axpy_result()
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    run_in_process("from tests.support.native_axpy import axpy_result; axpy_result()").wait()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_a_folder_open_to_others_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o755)
    with pytest.warns(RuntimeWarning, match="mode 0755"):
        assert cache.open_cache() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # It is said once only.
        assert axpy_result() == (False, [7.0, 9.0])
    assert list(folder.iterdir()) == []


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match="another user"):
        assert cache.open_cache() is None


def test_a_file_in_place_of_the_folder_is_survived(folder: Path) -> None:
    folder.parent.write_text("not a folder")
    with pytest.warns(RuntimeWarning, match="not cached"):
        assert axpy_result() == (False, [7.0, 9.0])


@pytest.mark.parametrize("value", ["", "off", "OFF"])
def test_the_cache_can_be_switched_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("LINKWRIGHT_CACHE_DIR", value)
    assert cache.open_cache() is None
    assert axpy_result() == axpy_result() == (False, [7.0, 9.0])


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINKWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert cache.cache_folder() == Path("/somewhere/cache/linkwright")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # The specification says to ignore it.
    assert cache.cache_folder() == Path.home() / ".cache" / "linkwright"


def test_the_least_recently_used_entries_go_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWRIGHT_CACHE_MB", "0.1")
    store = opened()
    keys = [cache.entry_key(bytes([i]), "") for i in range(9)]
    for age, key in enumerate(keys):
        store.put(key, bytes(10_000))
        os.utime(folder / (key.hex() + ".lwo"), (1000.0 + age, 1000.0 + age))
    assert store.fetch(keys[0]) is not None  # Used now, so the next are the oldest.
    store.put(cache.entry_key(b"new", ""), bytes(10_000))
    kept = [store.fetch(key) is not None for key in keys]
    # Ten entries are just above the cap; it goes down to nine tenths of it, which is eight.
    assert kept == [True, False, False, *[True] * 6]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 90_000


def test_an_entry_above_the_cap_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWRIGHT_CACHE_MB", "0.001")
    opened().put(KEY, bytes(2000))
    assert list(folder.iterdir()) == []


def test_a_cap_that_is_no_number_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWRIGHT_CACHE_MB", "plenty")
    with pytest.warns(RuntimeWarning, match="plenty"):
        assert opened().limit == 512_000_000


def test_leftovers_of_a_writer_that_died_are_removed(folder: Path) -> None:
    store = opened()
    old, young = folder / "entry-old.writing", folder / "entry-young.writing"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (1000.0, 1000.0))
    store.put(KEY, b"code")
    assert not old.exists()
    assert young.exists()


def run_in_process(source: str) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).parents[2])
    start = f"import sys; sys.path.insert(0, {here!r}); "
    return subprocess.Popen([sys.executable, "-c", start + source])


@seldom(daily="test_several_processes_may_build_one_kernel_at_once")
def test_several_processes_may_write_and_read_one_key_at_once(folder: Path) -> None:
    """Each of four processes replaces and reads the same entry; no read is ever torn."""
    source = (
        "import sys; from tests.base.test_cache import KEY, opened\n"
        "s = opened(); d = bytes(200_000)\n"
        "for i in range(60):\n"
        "    s.put(KEY, d)\n"
        "    if s.fetch(KEY) != d: sys.exit(3)\n"
    )
    processes = [run_in_process(source) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert [path.name for path in folder.iterdir()] == [KEY.hex() + ".lwo"]


def test_several_processes_may_build_one_kernel_at_once(folder: Path) -> None:
    source = (
        "from tests.support.native_axpy import axpy_result\n"
        "assert [axpy_result()[1] for i in range(3)] == 3 * [[7.0, 9.0]]"
    )
    processes = [run_in_process(source) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert axpy_result() == (True, [7.0, 9.0])
