"""Devices behind windows: registers at their places, memories in blocks, interrupts with owners."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.windows import (
    Field,
    Interrupts,
    Record,
    Register,
    RegisterWindow,
    Window,
    mapping,
)

DRV11C = (Register("csr", 0), Register("obuf", 2), Register("ibuf", 4, access="read"))
PICTURE = 512 * 512
DT2651 = tuple(Register(f"buffer{k}", k * PICTURE, "u8", (512, 512)) for k in (0, 1))


def until(done: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait for something, with a limit."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def process(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Start Python, which says "ready" before it goes on."""
    started = subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def end(*started: subprocess.Popen[str]) -> None:
    for one in started:
        one.kill()
        one.communicate()


def test_registers_lie_where_the_device_has_them(tmp_path: Path) -> None:
    """Check 1: each field at its offset and in its width, as `struct` computes it."""
    device = tmp_path / "drv11c"
    base, seed, new = 0o172410 & 0xFFF, random.Random(1), 0
    device.write_bytes(bytes(seed.randrange(256) for _ in range(4096)))
    with RegisterWindow(device, *DRV11C, offset=base) as window:
        for _ in range(50):
            values = [seed.randrange(65536) for _ in range(3)]
            with device.open("r+b") as fake:
                fake.seek(base)
                fake.write(struct.pack("<HHH", *values))
            assert [window.read(r.name) for r in DRV11C] == values
            new = seed.randrange(65536)
            before = bytearray(device.read_bytes())
            window.write("obuf", new)
            struct.pack_into("<H", before, base + 2, new)
            assert device.read_bytes() == before
        assert ctypes.c_uint16.from_address(window.address + 2).value == new
        ctypes.c_uint16.from_address(window.address + 2).value = 7
        assert window.read("obuf") == 7


def test_two_pictures_are_mapped_in_blocks_of_512_bytes(tmp_path: Path) -> None:
    """Check 2."""
    device = tmp_path / "dt2651"
    device.write_bytes(bytes(2 * PICTURE))
    for length in (2 * PICTURE - 1, 2 * PICTURE + 1, 511, 0):
        with pytest.raises(InputError, match="multiple of 512"):
            RegisterWindow(device, *DT2651, length=length, block=512)
    picture = np.random.default_rng(2).integers(0, 256, (512, 512), np.uint8)
    with RegisterWindow(device, *DT2651, length=2 * PICTURE, block=512) as window:
        window.write("buffer1", picture)
        assert np.array_equal(window.read("buffer1"), picture)
        assert not window.read("buffer0").any()
        assert window.read("buffer1", at=(3, 500)) == picture[3, 500]
        window.write("buffer0", 9, at=(511, 511))
    assert device.read_bytes()[PICTURE - 1] == 9
    assert device.read_bytes()[PICTURE:] == picture.tobytes()
    with pytest.raises(InputError, match="has 524288 bytes"):
        RegisterWindow(device, *DT2651, length=2 * PICTURE + 512, block=512)


def test_a_wrong_access_is_an_error_of_the_caller_alone(tmp_path: Path) -> None:
    """Check 3: of two processes on one device, one goes wrong in every way; the host runs on."""
    device, counted = tmp_path / "drv11c", tmp_path / "count"
    device.write_bytes(bytes(4096))
    record = Record("count", Field("n", type="u64"))
    host = process(
        "import sys, time; from linkwright.windows import *\n"
        "registers = RegisterWindow(sys.argv[1], Register('csr', 0))\n"
        "window = Window.create(sys.argv[2], Record('count', Field('n', type='u64')))\n"
        "print('ready', flush=True)\n"
        "for n in range(1, 100000):\n"
        "    registers.write('csr', n % 65536); window.write({'n': n}); time.sleep(0.001)\n",
        device,
        counted,
    )
    try:
        with RegisterWindow(device, *DRV11C) as window, Window.open(counted, record) as count:
            wrong: list[Callable[[], object]] = [
                lambda: window.read("ibuff"),
                lambda: window.read("csr", at=0),
                lambda: window.write("csr", 65536),
                lambda: window.write("csr", -1),
                lambda: window.write("csr", 0.5),
                lambda: window.write("csr", [1, 2]),
                lambda: window.write("ibuf", 1),
                lambda: RegisterWindow(device, Register("far", 4096)),
                lambda: RegisterWindow(device, *DRV11C, offset=4094),
                lambda: RegisterWindow(device, Register("a", 0), Register("a", 2)),
                lambda: RegisterWindow(device, *DRV11C, length=4),
                lambda: RegisterWindow(tmp_path, *DRV11C),
                lambda: RegisterWindow(tmp_path / "none", *DRV11C),
                lambda: RegisterWindow("/dev/null", *DRV11C),
            ]
            for use in wrong:
                with pytest.raises(InputError):
                    use()
            crash = subprocess.run(  # one that ends by a signal takes nobody with it
                [sys.executable, "-c",
                 "import sys, ctypes; from linkwright.windows import *\n"
                 "window = RegisterWindow(sys.argv[1], Register('csr', 0))\n"
                 "ctypes.string_at(window.address + 2**40, 8)\n", str(device)],
                check=False, timeout=60,
            )  # fmt: skip
            assert crash.returncode in (-signal.SIGSEGV, -signal.SIGBUS)
            before = count.read().values["n"]
            assert until(lambda: count.read().values["n"] > before + 3)
            assert host.poll() is None
    finally:
        end(host)


def test_a_device_file_that_was_cut_is_told_and_no_signal(tmp_path: Path) -> None:
    """Check 3: a mapping beyond the end of its file would be a SIGBUS."""
    device = tmp_path / "device"
    device.write_bytes(bytes(8192))
    with RegisterWindow(device, Register("last", 8190)) as window:
        window.write("last", 5)
        os.truncate(device, 4096)
        with pytest.raises(InputError, match="has 4096 bytes"):
            window.read("last")
        with pytest.raises(InputError, match="has 4096 bytes"):
            window.write("last", 5)
        assert device.stat().st_size == 4096


def test_a_device_of_the_kernel_is_mapped_by_the_size_of_its_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A character device, here that of zeros, in the place of a UIO device with two maps."""
    number = Path("/dev/zero").stat().st_rdev
    for k, size in enumerate(("0x1000", "0x200")):
        folder = tmp_path / "uio0" / "maps" / f"map{k}"
        folder.mkdir(parents=True)
        (folder / "size").write_text(f"{size}\n")
    (tmp_path / "uio0" / "dev").write_text(f"{os.major(number)}:{os.minor(number)}\n")
    with pytest.raises(InputError, match="none of the kernel's UIO devices"):
        RegisterWindow("/dev/zero", *DRV11C)
    monkeypatch.setattr(mapping, "_UIO", tmp_path)
    with RegisterWindow("/dev/zero", *DRV11C, offset=16) as window:
        window.write("obuf", 0xBEEF)
        assert window.read("obuf") == 0xBEEF
        assert ctypes.c_uint16.from_address(window.address + 2).value == 0xBEEF
    with RegisterWindow("/dev/zero", Register("a", 8, "u32", (4,))) as window:
        window.write("a", [1, 2, 3, 2**32 - 1])
        window.write("a", 9, at=1)
        assert window.read("a").tolist() == [1, 9, 3, 2**32 - 1]
    for offset, length in ((mmap.PAGESIZE, 0x202), (2 * mmap.PAGESIZE, 2), (0, 0x1002)):
        with pytest.raises(InputError, match="bytes from byte"):
            RegisterWindow("/dev/zero", Register("a", 0), offset=offset, length=length)


@pytest.mark.parametrize(
    "make",
    [lambda: Register("r", 1), lambda: Register("r", -2), lambda: Register("r", 0, "u24"),
     lambda: Register("r", 0, shape=(0,)), lambda: Register("r", 0, access="none")],
)  # fmt: skip
def test_a_wrong_register_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        make()


def test_an_interrupt_calls_its_owner_and_without_one_is_a_stray(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Check 4: logged without an owner, handled with one, and closing removes it."""
    counts: list[int] = []
    with Interrupts(tmp_path / "a" / "b") as lines:
        assert not lines.send(0o300)
        assert [s.vector for s in lines.strays()] == [0o300]
        assert lines.strays()[0].process == os.getpid()
        assert "interrupt 192 of" in caplog.text
        with lines.claim(0o300, counts.append) as claim, lines.claim(0o304, counts.append):
            assert claim.descriptor > 0
            for _ in range(10):
                assert lines.send(0o300, 3)
            assert until(lambda: sum(counts) == 30)
        for _ in range(2):
            assert not lines.send(0o300)
        assert len(lines.strays()) == 3
        assert sum(counts) == 30
        with pytest.raises(Error, match="no claim"):
            _ = claim.descriptor
        with lines.claim(0o300, counts.append):
            assert lines.send(0o300)
            assert until(lambda: sum(counts) == 31)
        for vector, count in ((-1, 1), (65536, 1), (1, 0)):
            with pytest.raises(InputError):
                lines.send(vector, count)


def test_a_handler_may_fail_or_close_its_claim(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Interrupts(tmp_path) as lines:
        seen: list[int] = []

        def handler(count: int) -> None:
            seen.append(count)
            if len(seen) == 1:
                raise ValueError("of the user's own")
            claim.close()

        claim = lines.claim(1, handler)
        assert lines.send(1)
        assert until(lambda: "of the user's own" in caplog.text)
        assert lines.send(1)
        assert until(lambda: not claim._claim.held)
        assert not lines.send(1)
        assert len(seen) == 2


OWNER = (
    "import sys, time; from linkwright.windows import *\n"
    "record = Record('count', Field('n', type='u64')); n = 0\n"
    "window = Window.create(sys.argv[2], record)\n"
    "def handler(count):\n"
    "    global n; n += count; window.write({'n': n})\n"
    "claim = Interrupts(sys.argv[1]).claim(5, handler)\n"
    "print('ready', flush=True); sys.stdin.read()\n"
)


def test_two_processes_cannot_claim_one_vector(tmp_path: Path) -> None:
    """Check 5: refused while the owner lives; a dead one loses its claim at once."""
    folder, counted = tmp_path / "lines", tmp_path / "count"
    owner = process(OWNER, folder, counted)
    try:
        record = Record("count", Field("n", type="u64"))
        with Interrupts(folder) as lines, Window.open(counted, record) as count:
            with pytest.raises(InputError, match="vector 5 is claimed"):
                lines.claim(5, print)
            assert all(lines.send(5) for _ in range(100))
            assert until(lambda: count.read().values["n"] == 100)
            owner.send_signal(signal.SIGKILL)
            owner.wait(30)
            assert not lines.send(5)
            came = threading.Event()
            with lines.claim(5, lambda n: came.set()):
                assert lines.send(5)
                assert came.wait(30)
            assert len(lines.strays()) == 1
    finally:
        end(owner)


def test_a_forked_child_has_no_vector(tmp_path: Path) -> None:
    """It can give nothing back and hold nothing: its parent's end frees the vector."""
    counts: list[int] = []
    with Interrupts(tmp_path) as lines:
        claim = lines.claim(7, counts.append)
        assert lines.send(7)
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                claim.close()  # does nothing
                os.write(tell, b"%d" % claim.descriptor)
            except Error as error:
                os.write(tell, str(error).encode())
                time.sleep(60)
            os._exit(1)
        try:
            os.close(tell)
            assert b"no claim on vector 7" in os.read(told, 1000)
            assert lines.send(7)
            assert until(lambda: sum(counts) == 2)
            claim.close()
            assert not lines.send(7)
            with lines.claim(7, counts.append):
                assert lines.send(7)
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(told)


def test_senders_that_come_and_go_leave_no_descriptors(tmp_path: Path) -> None:
    counts: list[int] = []
    with Interrupts(tmp_path) as lines, lines.claim(1, counts.append) as claim:
        lines.send(1)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(20):
            with Interrupts(tmp_path) as other:
                other.send(1)
        assert until(lambda: sum(counts) == 21 and len(claim._connections) == 1)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
