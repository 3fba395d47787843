"""The rotator port: how long clients wait for answers, and whether the control misses a tick."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import time

import numpy as np

from bench.measure import Row
from linkwright.mounts.rotator import Rotator, RotatorPort

TITLE = "The rotator port: 100 clients at 10 Hz"

CLIENTS, RATE, SECONDS = 100, 10, 5.0


async def _client(port: int, number: int, waits: list[float]) -> None:
    """Ask for the position at a rate, and now and then send the mount elsewhere."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.monotonic() + number / (CLIENTS * RATE)
    for k in range(int(SECONDS * RATE)):
        await asyncio.sleep(max(0.0, begin + k / RATE - time.monotonic()))
        moves = k % 10 == 9
        asked = time.perf_counter()
        writer.write(f"P {number + 10} 45\n".encode() if moves else b"p\n")
        await reader.readline()
        if not moves:
            await reader.readline()
        waits.append(time.perf_counter() - asked)
    writer.close()


async def _clients(port: int) -> list[float]:
    waits: list[float] = []
    await asyncio.gather(*(_client(port, i, waits) for i in range(CLIENTS)))
    return waits


def _waits(port: int) -> list[float]:
    """Let clients in a process of their own ask, and return how long each answer took, s."""
    command = [sys.executable, "-m", "bench.bench_rotator", str(port)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [float(x) for x in json.loads(done.stdout)]


def _row(name: str, waits: list[float], bar: float | None, note: str) -> Row:
    return Row(
        f"{name}: 99 % of {len(waits)} answers within",
        float(np.percentile(waits, 99)) * 1e3,
        "ms",
        bar,
        note=f"median {np.median(waits) * 1e3:.2f} ms, worst {max(waits) * 1e3:.1f} ms{note}",
    )


def _peer() -> Row | None:
    """Measure Hamlib's rotctld with its dummy rotator, where it is installed."""
    program = shutil.which("rotctld")
    if program is None:
        return None
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = int(chosen.getsockname()[1])
    process = subprocess.Popen(
        [program, "-m", "1", "-T", "127.0.0.1", "-t", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 10
        while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < end:
            time.sleep(0.02)
        return _row("Hamlib's rotctld", _waits(port), None, "")
    finally:
        process.kill()
        process.wait()


def run() -> list[Row]:
    """Measure."""
    with Rotator() as rotator, RotatorPort(rotator, port=0) as port:
        before = rotator.counters
        waits = _waits(port.port)
        counted = rotator.counters.since(before)
    rows = [
        _row("ours", waits, 50.0, ""),
        Row(
            f"ticks of the control that were missed, of {counted.due}",
            float(counted.missed),
            "1",
            0.0,
            note=f"worst lateness {counted.worst * 1e3:.2f} ms; a tick is 10 ms",
        ),
    ]
    peer = _peer()
    return rows if peer is None else [*rows, peer]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_clients(int(sys.argv[1])))))
