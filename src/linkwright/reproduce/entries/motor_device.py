"""Motion server, appendices 1 and 2: latency, the motor device, and registers in a window."""

from __future__ import annotations

import random
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from linkwright.base.errors import Error
from linkwright.control.axis.codes import DAC_SCALE
from linkwright.heritage.motor_card import (
    MD_VEL,
    McFlag,
    McParam,
    McRequest,
    MotorDevice,
    MotorPlant,
)
from linkwright.reproduce.reproduction import (
    Check,
    DataTable,
    Listing,
    Panel,
    Reproduction,
    Series,
)
from linkwright.simulation.pacing.counters import edges
from linkwright.simulation.pacing.latency import Latency, measured
from linkwright.windows import Register, RegisterWindow

RATE, TRIALS, EVENTS = 500, 10, 20  # 2 ms as printed; 10,000 events of each trial there


def latency() -> Reproduction:
    """Return figures 1 to 3: how late instants are met, as a histogram and sorted."""
    found: list[Latency] = []
    measured(RATE, TRIALS, EVENTS, found.append)
    panels, rows = [], []
    made = [Check("wait between events", "2", 1e3 / RATE, "ms"), Check("trials", "10", TRIALS)]
    for number, name in ((1, "a Python thread"), (2, "the native loop")):
        runs = [each.counters for each in found if each.name == name]
        counted = np.sum([run.histogram for run in runs], axis=0)
        middles = 1e3 * (edges()[:-1] + edges()[1:]) / 2
        late = np.repeat(middles, counted)
        met, missed = (sum(getattr(run, what) for run in runs) for what in ("total", "missed"))
        mean = float(late.mean())
        made += [
            Check(f"{name}: events of all trials, met or missed", str(TRIALS * EVENTS),
                  min(met + missed, TRIALS * EVENTS), recomputed=True),
            Check(f"{name}: events outside the histogram", "0", met - len(late), recomputed=True),
        ]  # fmt: skip
        used = np.flatnonzero(counted)
        order = np.arange(1, len(late) + 1)
        panels += [
            Panel([Series(middles[used], counted[used], style="o")], "latency - ms", "events",
                  f"Figure {number}: {name}"),
            Panel([Series(order, late)], "sorted event", "latency - ms", f"Sorted: {name}",
                  logarithmic=True),
        ]  # fmt: skip
        below = 100 * float((late < mean).mean())
        rows.append(
            (
                name.split()[-1],
                f"{mean:.3f}",
                f"{below:.0f} %",
                f"{late.max():.3f}",
                str(missed),
            )
        )
    rows += [("kernel [1989]", "0.122", "98 %", "", ""), ("user [1989]", "0.702", "93 %", "", "")]
    head = ("", "mean", "below", "worst", "missed")
    return Reproduction(
        [*panels, DataTable(head, rows, "Latency, ms")],
        made,
        across=2,
        note="Times are those of this machine, and are not compared with a MicroVAX's: only counts "
        "are. The whole experiment is `linkwright tools latency --trials 10 --events 10000`.",
    )


def initial_parameters() -> Reproduction:
    """Return table 2.1: the parameters of an axis after opening."""
    with MotorDevice(cards=1) as mc:
        held = mc.ioctl(McRequest.MGETPARAM, McParam(1))
        limit = DAC_SCALE // 2
    assert isinstance(held, McParam)
    printed = {"a0": 1, "a1": 0, "a2": 0, "b0": 1, "b1": 0, "b2": 0, "ic_pos": 0, "ic_neg": 0,
               "ilim": limit, "ilimmax": 0, "adc_a": 1, "adc_b": 0, "mode": 0, "clkdivisor": 1,
               "ipole": 0}  # fmt: skip
    values = asdict(held)
    words = {"ilim": "1/2 maximum current", "mode": "MD_OFF"}
    rows = [(name, words.get(name, str(values[name]))) for name in printed]
    made = [Check(name, str(value), values[name]) for name, value in printed.items()]
    note = f"The maximum of a current is {DAC_SCALE} of the converter; MD_OFF is 0."
    return Reproduction([DataTable(("Structure element", "Initial value"), rows)], made, note=note)


LIMIT = 6000  # counts
PROGRAM = """\
mc = MotorDevice(cards=1, plants=MotorPlant(reversed=True))
axes = 2 * mc.ioctl(McRequest.MGETNUMCARDS)
mc.ioctl(McRequest.MSETNUMJOINTS, axes)
mc.ioctl(McRequest.MSETINTERVAL, 2000)
param = mc.ioctl(McRequest.MGETPARAM, McParam(0))
param = replace(param, a0=50, b0=-1, mode=MD_VEL | McFlag.SOFTERR | McFlag.POSCHK,
                plo=-6000, phi=6000)
for axis in range(axes):
    mc.ioctl(McRequest.MSETENC, axis)
    mc.ioctl(McRequest.MSETPARAM, replace(param, which=axis))
mc.ioctl(McRequest.MENABLE)
mc.write(speeds)
mc.signal(turn)  # a random speed the other way, for the axis of MGETLASTERR"""


def two_axes() -> Reproduction:
    """Return figures 2.2 to 2.4: two axes in velocity mode that turn at their limits."""
    chance = random.Random(1)
    speeds = [chance.randrange(20) + 10 for _ in range(2)]
    turns: list[tuple[int, int]] = []
    places: list[list[int]] = [[], []]
    with MotorDevice(cards=1, plants=MotorPlant(reversed=True)) as mc:
        mc.ioctl(McRequest.MSETNUMJOINTS, 2)
        mc.ioctl(McRequest.MSETINTERVAL, 2000)
        held = mc.ioctl(McRequest.MGETPARAM, McParam(0))
        assert isinstance(held, McParam)
        mode = MD_VEL | McFlag.SOFTERR | McFlag.POSCHK
        param = replace(held, a0=50, b0=-1, mode=mode, plo=-LIMIT, phi=LIMIT)
        for axis in range(2):
            mc.ioctl(McRequest.MSETENC, axis)
            mc.ioctl(McRequest.MSETPARAM, replace(param, which=axis))
        mc.ioctl(McRequest.MENABLE)
        mc.write(speeds)

        def turn() -> None:
            code = mc.ioctl(McRequest.MGETLASTERR)
            assert isinstance(code, int)
            axis = code & 0xFF
            new = chance.randrange(20) + 10
            speeds[axis] = new if speeds[axis] < 0 else -new
            mc.write(speeds)
            turns.append((mc.read()[axis].encnow, speeds[axis]))

        mc.signal(turn)
        for _ in range(250):
            mc.run(20)
            for axis, state in enumerate(mc.read()):
                places[axis].append(state.encnow)
    time = 0.04 * np.arange(1, 251)
    curves = [Series(time, seen, f"axis {axis}") for axis, seen in enumerate(places)]
    past = [abs(place) - LIMIT for place, _ in turns]
    asked = [abs(speed) for _, speed in turns]
    wrong = sum((place > 0) == (speed > 0) for place, speed in turns)
    return Reproduction(
        [Listing(PROGRAM, "MMCS code example"), Panel(curves, "time - s", "encoder - counts")],
        [
            Check("limit of position, where an axis turns first", "6000", LIMIT + min(past),
                  "counts", within=29.0, why="a sample of the highest speed"),
            Check("farthest from a limit at its error", "29", max(past), "counts", at_most=True,
                  why="a sample of the highest speed"),
            Check("lowest random speed", "10", min(asked), "counts", within=3.0,
                  why="the lowest of a few random ones"),
            Check("highest random speed", "29", max(asked), "counts", at_most=True),
            Check("turns away from the wrong side", "0", wrong, recomputed=True),
        ],
        note=f"{len(turns)} turns in 10 s; how far an axis is past its limit at the first sample "
        "there, and the least of so many random speeds, depend on chance.",
    )  # fmt: skip


DIRECT = """\
device = RegisterWindow("/dev/uio0", Register("csr", 0), Register("obuf", 2),
                        Register("ibuf", 4, access="read"), offset=0o172410 & 0xFFF)
device.write("obuf", 0xBEEF)
word = device.read("ibuf")
RegisterWindow("/dev/uio0", Register("far", 8192))  # outside: an error here, and nowhere else"""


def direct_access() -> Reproduction:
    """Return figure 2.5: registers of a device in the memory of a program."""
    base = 0o172410 & 0xFFF
    registers = (Register("csr", 0), Register("obuf", 2), Register("ibuf", 4, access="read"))
    refused = ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drv11c"
        bytes_of = bytearray(8192)
        bytes_of[base + 4 : base + 6] = (0x1234).to_bytes(2, "little")
        path.write_bytes(bytes_of)
        with RegisterWindow(path, *registers, offset=base) as device:
            device.write("obuf", 0xBEEF)
            word = device.read("ibuf")
        written = int.from_bytes(path.read_bytes()[base + 2 : base + 4], "little")
        changed = sum(a != b for a, b in zip(bytes_of, path.read_bytes(), strict=True))
        try:
            RegisterWindow(path, Register("far", 8192))
        except Error as error:
            refused = str(error).replace(f"{folder}/", "")
    rows = [("ibuf, read", f"{word:#06x}"), ("obuf, written", f"{written:#06x}"),
            ("a register beyond its end", refused)]  # fmt: skip
    return Reproduction(
        [Listing(DIRECT, "Direct hardware access"), DataTable(("register", "found"), rows)],
        [
            Check("ibuf", str(0x1234), word, recomputed=True),
            Check("obuf in the device", str(0xBEEF), written, recomputed=True),
            Check("bytes of the device that changed", "2", changed, recomputed=True),
            Check("accesses outside that were rejected", "1", bool(refused), recomputed=True),
        ],
        note="The program of SunOS prints no numbers: these are those of a parallel interface "
        "(DRV-11C, figure 2 of appendix 1) in a file.",
    )
