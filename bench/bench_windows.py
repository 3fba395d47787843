"""Frames and windows from Python: what a frame costs, and how fast a window wakes a process.

The frame is the state of a six-axis arm. Peers in the same run: Python's `struct` with `zlib.crc32`
for the same numbers, and a pair of pipes between the same two processes for the way there and back.
"""

from __future__ import annotations

import multiprocessing
import os
import struct
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from bench.measure import Row, interleaved
from linkwright.windows import Field, Record, Window

TITLE = "frames and windows"
STATE = Record(
    "state",
    *(Field(name, "rad", shape=(6,)) for name in ("q", "u", "target", "current")),
    *(Field(name, type="u32") for name in ("life", "taken", "done", "cause")),
    Field("age", "s"),
)
VALUES = {f.name: [0.5] * 6 if f.shape else 1 for f in STATE.fields}
PEER = struct.Struct("<24dQQQQd")
FLAT = [0.5] * 24 + [1] * 4 + [1.0]
WAKES = 2000


def run() -> list[Row]:
    """Time frames, then wake-ups between two processes."""
    data = STATE.pack(VALUES)
    plain = PEER.pack(*FLAT)
    check = zlib.crc32(plain)

    def peer_pack() -> bytes:
        packed = PEER.pack(*FLAT)
        return packed + zlib.crc32(packed).to_bytes(4, "little")

    def peer_unpack() -> object:
        return zlib.crc32(plain) == check and PEER.unpack(plain)

    with Window.in_memory(STATE) as window, Window.open(window.descriptor, STATE) as seen:
        times = interleaved(
            {
                "pack": lambda: STATE.pack(VALUES),
                "unpack": lambda: STATE.unpack(data),
                "use": lambda: STATE.unpack(data).values["q"],
                "write": lambda: window.write(VALUES),
                "read": lambda: seen.read(),
                "struct pack": peer_pack,
                "struct unpack": peer_unpack,
            },
            calls=2000,
        )
    rows = [
        Row(f"pack a frame of {STATE.size} bytes", times["pack"], "s", note=_peer(times, "pack")),
        Row("unpack it, all checks", times["unpack"], "s", note=_peer(times, "unpack")),
        Row("unpack it and take an array", times["use"], "s"),
        Row("write a window", times["write"], "s"),
        Row("read a window", times["read"], "s"),
    ]
    there, peer = _echo(_window_echo), _echo(_pipe_echo)
    for share in (50, 99):
        ours, theirs = (float(np.percentile(found, share)) for found in (there, peer))
        note = f"a byte through two pipes: {1e6 * theirs:.0f} µs"
        rows.append(Row(f"there and back by windows, {share} %", ours, "s", note=note))
    return rows


def _peer(times: dict[str, float], what: str) -> str:
    return f"struct and crc32 alone: {1e6 * times[f'struct {what}']:.2f} µs"


def _echo(kind: object) -> list[float]:
    """Return the times of exchanges with another process."""
    assert callable(kind)
    with tempfile.TemporaryDirectory() as folder:
        found: list[float] = kind(Path(folder))
        return found


def _window_answers(folder: Path) -> None:
    back = Window.create(folder / "back", STATE)
    with back, Window.open(folder / "there", STATE, within=30) as there:
        for _ in range(WAKES):
            there.wait(30)
            frame = there.read()
            back.write(frame.values, tick=frame.tick)
            back.wake()


def _window_echo(folder: Path) -> list[float]:
    other = multiprocessing.get_context("spawn").Process(target=_window_answers, args=(folder,))
    other.start()
    times = []
    try:
        there = Window.create(folder / "there", STATE)
        with there, Window.open(folder / "back", STATE, within=30) as back:
            time.sleep(0.5)  # it has opened ours by then
            for tick in range(WAKES):
                begun = time.perf_counter()
                there.write(VALUES, tick=tick)
                there.wake()
                back.wait(30)
                assert back.read().tick == tick
                times.append(time.perf_counter() - begun)
    finally:
        other.kill()
        other.join()
    return times


def _pipe_echo(_: Path) -> list[float]:
    inward, there = os.pipe()
    back, outward = os.pipe()
    child = os.fork()
    if child == 0:
        for _number in range(WAKES):
            os.write(outward, os.read(inward, 1))
        os._exit(0)
    times = []
    for _number in range(WAKES):
        begun = time.perf_counter()
        os.write(there, b"!")
        os.read(back, 1)
        times.append(time.perf_counter() - begun)
    os.waitpid(child, 0)
    for opened in (inward, there, back, outward):
        os.close(opened)
    return times
