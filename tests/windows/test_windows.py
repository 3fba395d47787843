"""Records and windows: one layout of bytes, and memory that processes share."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.recording import Channel
from linkwright.recording.journal import Journal, sample_record
from linkwright.windows import Field, Record, RecordError, Window
from linkwright.windows.records import HEAD, MULTIPLIER, TYPES
from tests.seeds import seldom

CODES = dict(zip(TYPES, "dfqihbQIHB", strict=True))  # Python's `struct` for our types
STATE = Record(
    "state",
    Field("q", "rad", shape=(6,)),
    Field("life", type="u8"),
    Field("csr", type="u16", shape=(3,)),
    Field("frame", "m", "f32", (2, 2)),
)
VALUES = {"q": np.arange(6) / 8, "life": 2, "csr": [1, 2, 65535], "frame": [[0.5, 1], [2, -4]]}


def sum_of(data: bytes) -> int:
    """Compute the checksum as the text of the layout says, word by word."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    total = 0
    for word in words[:10] + words[12:14] + words[16:]:
        total = (total * MULTIPLIER + word) % 2**64
    return total


def packed_by_struct(
    record: Record, values: dict[str, np.ndarray], sequence: int, tick: int, clock: int
) -> bytes:
    """Lay out a frame with Python's `struct` alone."""
    payload = b""
    for field in record.fields:
        flat = values[field.name].ravel().tolist()
        part = struct.pack(f"<{len(flat)}{CODES[field.type]}", *flat)
        payload += part + bytes(-len(part) % 8)
    head = b"LWR1" + struct.pack("<HHQQqq", 1, 0, record.schema, sequence, tick, clock)
    data = head + struct.pack("<QQII", 0, len(payload), 0, 0) + payload
    return data[:40] + struct.pack("<Q", sum_of(data)) + data[48:]


def random_record(seed: random.Random) -> tuple[Record, dict[str, np.ndarray]]:
    """Return a record of random fields, with values that fill their types."""
    noise = np.random.default_rng(seed.randrange(2**32))
    fields, values = [], {}
    for number in range(seed.randrange(1, 8)):
        shape = tuple(seed.randrange(1, 5) for _ in range(seed.randrange(4)))
        field = Field(f"x{number}", seed.choice(["1", "rad", "N m"]), seed.choice([*TYPES]), shape)
        kind = np.dtype(TYPES[field.type])
        if kind.kind == "f":
            value = noise.standard_normal(shape).astype(kind)
        else:
            limits = np.iinfo(kind)
            value = noise.integers(limits.min, limits.max, shape, kind, endpoint=True)
        fields.append(field)
        values[field.name] = np.asarray(value, kind)
    return Record(f"r{seed.randrange(100)}", *fields), values


def test_bytes_are_those_that_struct_gives() -> None:
    """Check 1: random records at their declared offsets, laid out a second time by `struct`."""
    seed = random.Random(15)
    for _ in range(200):
        record, values = random_record(seed)
        numbers = seed.randrange(2**64), seed.randrange(-(2**63), 2**63), seed.randrange(2**40)
        sequence, tick, clock = numbers
        data = record.pack(values, sequence=sequence, tick=tick, clock=clock)
        assert data == packed_by_struct(record, values, *numbers)
        frame = record.unpack(data)
        assert (frame.sequence, frame.tick, frame.clock) == numbers
        for name, value in values.items():
            assert np.array_equal(frame.values[name], value)
            at = record.offsets[name]
            assert at % 8 == 0
            assert data[at : at + value.nbytes] == value.tobytes()
        assert Record.from_text(record.text) == record


def test_the_digest_is_of_names_units_types_shapes_and_places() -> None:
    base = Record("state", Field("q", "rad"), Field("u", "rad/s"))
    assert base.schema == Record("state", Field("q", "rad"), Field("u", "rad/s")).schema
    others = [
        Record("states", Field("q", "rad"), Field("u", "rad/s")),
        Record("state", Field("q", "deg"), Field("u", "rad/s")),
        Record("state", Field("q", "rad", "i64"), Field("u", "rad/s")),
        Record("state", Field("q", "rad", shape=(1,)), Field("u", "rad/s")),
        Record("state", Field("u", "rad/s"), Field("q", "rad")),
    ]
    assert len({base.schema, *(r.schema for r in others)}) == 6
    for other in others:
        with pytest.raises(RecordError) as refused:
            base.unpack(
                other.pack(
                    {
                        name: np.ones(f.shape)
                        for name, f in zip(other.names, other.fields, strict=True)
                    }
                )
            )
        assert refused.value.reason == "schema"


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [(0, 0, "magic"), (4, 2, "version"), (6, 1, "version"), (8, 0, "schema"), (16, 9, "checksum"),
     (24, 9, "checksum"), (32, 9, "checksum"), (40, 0, "checksum"), (48, 9, "length"),
     (64, 9, "checksum")],
)  # fmt: skip
def test_each_damage_has_a_reason(at: int, value: int, reason: str) -> None:
    data = bytearray(STATE.pack(VALUES, sequence=4, tick=5, clock=6))
    assert data[at] != value
    data[at] = value
    with pytest.raises(RecordError) as refused:
        STATE.unpack(data)
    assert refused.value.reason == reason


def test_frames_of_another_length_are_refused() -> None:
    data = STATE.pack(VALUES)
    for length in range(len(data)):
        with pytest.raises(RecordError) as refused:
            STATE.unpack(data[:length])
        assert refused.value.reason == "short"
    with pytest.raises(RecordError) as refused:
        STATE.unpack(data + bytes(8))
    assert refused.value.reason == "length"


def test_of_mutated_frames_none_is_taken() -> None:
    """Bits, bytes, cuts, words that change places, parts of other frames: 20,000 of them."""
    seed = random.Random(20000)
    sent = [
        STATE.pack({**VALUES, "q": [seed.random() for _ in range(6)]}, sequence=n, tick=n)
        for n in range(16)
    ]
    known, taken = set(sent), 0
    for number in range(20000):
        data = bytearray(sent[number % 16])
        at, other = seed.randrange(len(data)), seed.randrange(len(data))
        match number % 5:
            case 0:
                data[at] ^= 1 << seed.randrange(8)
            case 1:
                data[at : at + 8] = seed.randbytes(seed.choice((7, 8, 9)))
            case 2:
                a, b = at // 4 * 4, other // 4 * 4
                data[a : a + 4], data[b : b + 4] = data[b : b + 4], data[a : a + 4]
            case 3:
                data[at:] = seed.choice(sent)[at:]
            case _:
                del data[at : at + seed.randrange(1, 9)]
        try:
            frame = STATE.unpack(data)
        except RecordError:
            continue
        assert frame.data in known
        taken += 1
    assert 0 < taken < 2000  # those that were changed into themselves


@pytest.mark.parametrize(
    ("change", "words"),
    [({"life": 256}, "whole numbers from 0 to 255"), ({"life": 0.5}, "whole numbers"),
     ({"life": float("nan")}, "whole numbers"), ({"q": np.zeros(5)}, "shape"),
     ({"q": 0.0}, "shape"), ({"q": ["a"] * 6}, "numbers"), ({"csr": [0, -1, 0]}, "from 0 to 65535"),
     ({"lif": 0}, "did you mean 'life'"), ({"frame": [[1, 2], [3, 1e300]]}, "f32")],
)  # fmt: skip
def test_a_value_that_a_field_cannot_hold_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        STATE.pack({**VALUES, **change})


def test_every_field_needs_a_value() -> None:
    with pytest.raises(InputError, match="needs a value for 'life'"):
        STATE.pack({name: value for name, value in VALUES.items() if name != "life"})


@pytest.mark.parametrize(
    "make",
    [lambda: Field("q", type="float"), lambda: Field("", "rad"), lambda: Field("a\tb"),
     lambda: Field("q", shape=(0,)), lambda: Record("r"),
     lambda: Record("r", Field("q"), Field("q")),
     lambda: Record.from_text("LWR1\tr\nq\trad\tf64\t-\t72\n"), lambda: Record.from_text("")],
)  # fmt: skip
def test_a_wrong_declaration_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(InputError):
        make()


def test_a_frame_is_the_same_bytes_in_window_and_wire(tmp_path: Path) -> None:
    """A frame that was read from a window can be sent on as it is."""
    with Window.create(tmp_path / "state", STATE) as window:
        window.write(VALUES, tick=3, clock=4)
        window.wake()
        frame = window.read()
        assert frame.data == STATE.pack(VALUES, sequence=2, tick=3, clock=4)
        file = (tmp_path / "state").read_bytes()
        assert file[:56] + bytes(8) + file[HEAD:] == frame.data
        assert file[56:HEAD] == struct.pack("<II", 1, 0)
        assert STATE.pack(frame.values, sequence=2, tick=3, clock=4) == frame.data


def test_one_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with Window.create(path, STATE) as window:
        with pytest.raises(InputError, match="claimed"):
            Window.create(path, STATE)
        with pytest.raises(InputError, match="claimed"):
            Window.create(path, Record("other", Field("x")))
        with Window.open(path, STATE) as reader:
            assert window.writable
            assert not reader.writable
            with pytest.raises(Error, match="opened to be read"):
                reader.write(VALUES)
        window.write(VALUES)
    with Window.create(path, STATE) as window:  # goes on where the last one ended
        assert window.read().sequence == 2
    with Window.create(path, Record("other", Field("x"))) as other:
        assert other.read().values["x"] == 0


def test_of_many_that_want_to_write_one_does(tmp_path: Path) -> None:
    """They make, replace and give back one file at the same time; no two ever have it."""
    records = [STATE, Record("other", Field("x"))]
    holders, most, made = [0], [0], [0]
    lock = threading.Lock()

    def want(number: int) -> None:
        for turn in range(40):
            try:
                window = Window.create(tmp_path / "state", records[(number + turn) % 2])
            except InputError:
                continue
            with lock:
                holders[0] += 1
                made[0] += 1
                most[0] = max(most[0], holders[0])
            found = (tmp_path / "state").stat()
            assert window._claim is not None
            assert window._claim.inode == (found.st_dev, found.st_ino)
            with lock:
                holders[0] -= 1
            window.close()

    threads = [threading.Thread(target=want, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert made[0] > 0


def test_a_window_of_another_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    Window.create(path, STATE).close()
    with pytest.raises(RecordError) as refused:
        Window.open(path, Record("state", Field("q", "rad", shape=(6,))))
    assert refused.value.reason in ("schema", "short")
    with pytest.raises(InputError, match="start its writer first"):
        Window.open(tmp_path / "none", STATE)


def test_a_reader_sees_whole_frames_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "state"
    record = Record("many", Field("x", shape=(500,)))
    program = (
        "import sys; from linkwright.windows import *\n"
        "record = Record('many', Field('x', shape=(500,)))\n"
        "window = Window.create(sys.argv[1], record)\n"
        "for n in range(3000): window.write({'x': [float(n)] * 500}, tick=n)\n"
        "window.wake()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)]) as writer:
        try:
            reader = Window.open(path, record, within=30.0)
            ticks: list[int] = []
            while not ticks or ticks[-1] < 2999:
                assert writer.poll() in (None, 0)
                frame = reader.read()
                assert set(frame.values["x"]) == {float(frame.tick)}
                ticks.append(frame.tick)
            assert ticks == sorted(ticks)
            assert reader.wait(30.0)
            assert not reader.wait(0.0)
        finally:
            writer.kill()


def test_a_dead_writer_loses_its_claim_and_its_half_frame(tmp_path: Path) -> None:
    """Killed in the middle of a frame, it leaves an odd sequence: told, and mended by the next."""
    path = tmp_path / "state"
    program = (
        "import sys, time; from linkwright.windows import *\n"
        "record = Record('one', Field('x'))\n"
        "window = Window.create(sys.argv[1], record)\n"
        "window.write({'x': 1.0}); window._mapped.memory[16] = 3; print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    arguments = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            record = Record("one", Field("x"))
            reader = Window.open(path, record)
            with pytest.raises(RecordError) as refused:
                reader.read()
            assert refused.value.reason == "torn"
            with pytest.raises(InputError, match="claimed"):
                Window.create(path, record)
            writer.send_signal(signal.SIGKILL)
            writer.wait(30)
            with Window.create(path, record) as window:
                assert reader.read().sequence == 4
                window.write({"x": 2.0})
                assert reader.read().values["x"] == 2.0
        finally:
            writer.kill()


def test_a_forked_child_has_no_claim(tmp_path: Path) -> None:
    """It may read, not write; and when the parent is gone, so is the claim, though it lives on."""
    window = Window.create(tmp_path / "state", STATE)
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            window.read()
            window.write(VALUES)
        except Error as error:
            os.write(tell, f"{error} {window.writable}".encode())
            time.sleep(60)  # keeps the memory of the parent's window
        os._exit(1)
    try:
        os.close(tell)
        said = os.read(told, 1000).decode()
        assert "no claim" in said
        assert said.endswith("False")
        window.write(VALUES)
        window.close()
        with Window.create(tmp_path / "state", STATE) as again:
            assert again.read().sequence == 2
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(told)


def test_a_file_that_was_cut_is_an_error_of_the_caller(tmp_path: Path) -> None:
    """Check 3: touching what is gone would be a SIGBUS; reads and writes say so instead."""
    path = tmp_path / "state"
    with Window.create(path, STATE) as window, Window.open(path, STATE) as reader:
        os.truncate(path, 0)
        with pytest.raises(InputError, match="has 0 bytes"):
            reader.read()
        with pytest.raises(InputError, match="has 0 bytes"):
            window.write(VALUES)
        with pytest.raises(InputError, match="has 0 bytes"):
            window.wake()
    with Window.in_memory(STATE) as window:
        with pytest.raises(PermissionError):
            os.truncate(window.descriptor, 0)
        window.write(VALUES)
        with Window.open(window.descriptor, STATE) as seen:
            assert seen.read() == window.read()


def test_a_closed_window_is_an_error(tmp_path: Path) -> None:
    window = Window.create(tmp_path / "state", STATE)
    window.close()
    window.close()
    for use in (window.read, window.wake, lambda: window.write(VALUES), lambda: window.address):
        with pytest.raises(Error, match=r"closed|no claim"):
            use()


def test_a_journal_holds_the_same_frames(tmp_path: Path) -> None:
    """Its blocks are laid out a second time by `struct`; `Record.unpack` takes each as it is."""
    noise = np.random.default_rng(4)
    parts = [noise.standard_normal((rows, 3)) for rows in (1, 7, 400)]
    with Journal(tmp_path / "run.journal", [Channel("x", "m"), Channel("y")]) as journal:
        for number, part in enumerate(parts):
            part[:, 0] = number
            journal.append(part[:, 0], part[:, 1:])
    data = (tmp_path / "run.journal").read_bytes()
    place = data.index(b"\n", data.index(b"\n") + 1) + 1
    rows = 0
    for number, part in enumerate(parts):
        record = sample_record(*part.shape)
        block = data[place : place + record.size]
        frame = record.unpack(block)
        assert block == packed_by_struct(record, {"rows": part}, number, rows, frame.clock)
        place, rows = place + record.size, rows + len(part)
    assert place == len(data)


def test_a_writer_that_is_kept_from_a_processor_for_a_while_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = Record("one", Field("x"))
    with Window.in_memory(record) as window:
        window.write({"x": 1.5})
        (sequence,) = struct.unpack_from("<Q", window.memory, 16)
        struct.pack_into("<Q", window.memory, 16, sequence - 1)
        naps: list[float] = []

        def nap(seconds: float) -> None:
            naps.append(seconds)
            if len(naps) == 12:
                struct.pack_into("<Q", window.memory, 16, sequence)

        monkeypatch.setattr(time, "monotonic", lambda: 1.0 + sum(naps))
        monkeypatch.setattr(time, "sleep", nap)
        assert window.read().values["x"] == 1.5
        assert len(naps) == 12


@seldom(daily="test_a_file_that_was_cut_is_an_error_of_the_caller")
def test_systems_without_file_locks_import_all_and_refuse_windows_with_a_remedy() -> None:
    program = (
        "import sys; sys.modules['fcntl'] = None\n"
        "import linkwright.windows, linkwright.server, linkwright.server.host\n"
        "import linkwright.server.live, linkwright.simulation.hardware, linkwright.base.files\n"
        "from linkwright.windows import Field, Record, Window\n"
        "try:\n"
        "    Window.create(sys.argv[1], Record('one', Field('x')))\n"
        "except linkwright.Error as error:\n"
        "    print(error)\n"
    )
    arguments = [sys.executable, "-c", program, "unmade"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120)
    assert "no such locks" in done.stdout
