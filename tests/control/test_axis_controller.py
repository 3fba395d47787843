"""The axis controller against plain integers, and against what the motor report says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.blocks import Block
from linkwright.cli import main
from linkwright.control import AxisController
from linkwright.control.axis.ports import PARTS
from linkwright.simulation.native.machine import Machine
from linkwright.simulation.native.session import Session
from linkwright.system.controllers import controller_phases
from tests.backends.test_firmware import Firmware
from tests.oracles.axis_reference import Reference
from tests.seeds import cases

Array = NDArray[np.float64]
AXES = 6
ROWS = 3000

#: The inputs of the random runs: how often each changes, in ticks, and between what.
RANDOM: dict[str, tuple[int, int, int]] = {
    "demand": (3, -900, 900), "encoder": (1, 0, 65535), "adc": (1, -2048, 2047),
    "offset": (40, -50, 50), "mode": (60, 1, 4), "coulcomp": (50, 0, 1), "adfb": (70, 0, 1),
    "zerofb": (70, 0, 1), "addmd": (90, 0, 1), "adoff": (90, 0, 1), "poschk": (30, 0, 1),
    "softerr": (20, 0, 40), "a0": (50, -60, 60), "a1": (50, -40, 40), "a2": (50, -30, 30),
    "b0": (50, -300, 300), "b1": (50, -40, 20), "b2": (50, -8, 8), "ic_pos": (80, -40, 40),
    "ic_neg": (80, -40, 40), "ilim": (80, 100, 2500), "ilimmax": (80, 0, 3), "plo": (80, -900, 0),
    "phi": (80, 0, 900), "adc_a": (80, -3, 3), "adc_b": (80, -100, 100), "ipole": (80, -1023, 1023),
    "clkdivisor": (99, 1, 4), "preset": (35, -32768, 32767), "presets": (400, 0, 3),
    "dac": (90, -3000, 3000), "enable": (3, -1, 9), "clear": (3, 0, 1), "service": (5, 0, 20),
    "heartbeat": (1000, 0, 0), "button": (6, -150, 1), "connected": (6, 0, 150),
    "panic_line": (6, -150, 1), "encoder_loop": (200, -3, 1), "analog_loop": (100, -2, 1),
    "double_buffer": (100, -1, 1), "fault": (6, -150, 1), "leds": (100, 0, 255),
}  # fmt: skip


SMOOTH = ("demand", "encoder", "adc", "offset", "demand_rate", "demand_acceleration", "home_place")
"""Inputs of the SI form that are no whole numbers in random runs."""


class Player:
    """A System whose members are fed from a table, row by row, natively.

    Args:
        block: what is fed.
        table: for each port the rows; a port that is not there has its default.
    """

    def __init__(self, block: Block, table: Mapping[str, Array], rate: float = 1000.0) -> None:
        self.block = block
        s = lw.System(name="rig")
        s.add(block, name="axes", rate=rate)
        self.count = len(next(iter(table.values())))
        self.session = Session(s.phases(), 1e6, every=1, rows=self.count + 1)
        self.places = {s.name: i for i, s in enumerate(self.session.phases.w)}
        self.table = table

    def run(self) -> dict[str, Array]:
        """Run all rows, and return what came out at each."""
        count, machine = self.count, self.session.machine
        assert isinstance(machine, Machine)
        rows = np.tile(machine.rows_of("w")[0], (count, 1))
        for key, given in self.table.items():
            for k in range(given.shape[1] if given.ndim > 1 else 1):
                place = self.places[f"axes.{key}[{k}]" if given.ndim > 1 else f"axes.{key}"]
                rows[:, place] = given[:, k] if given.ndim > 1 else given
        inputs = machine.array("w")[0, :, 0]
        machine.budget(4 * count + 10)
        for row in range(count):
            inputs[:] = rows[row]
            machine.extend(row)
            machine.run(0, 1)
        assert machine.field("row")[0] == count
        names = [s.name.removeprefix("axes.") for s in self.session.phases.outputs]
        return dict(zip(names, machine.samples[0, :count, :, 0].T.copy(), strict=True))


def random_inputs(block: AxisController, rows: int, seed: int) -> dict[str, Array]:
    """Return random rows for each input, each held for some ticks."""
    rng = np.random.default_rng(seed)
    table = {}
    for key, port in block.inputs.items():
        if key not in RANDOM:
            continue
        hold, low, high = RANDOM[key]
        shape = (rows, *port.shape)
        fresh = rng.integers(low, high, shape, endpoint=True)
        change = rng.random(shape) < 1 / hold
        change[0] = True
        each = np.arange(rows).reshape(-1, *[1] * (len(shape) - 1))
        index = np.maximum.accumulate(np.where(change, each, 0))
        values = np.take_along_axis(fresh, index, axis=0)
        if low < 0 <= high <= 1 or key in ("enable", "service", "connected", "softerr"):
            values = (values > 0).astype(int)
        if key == "ipole":
            values = np.maximum(values, 0)
        if key == "b0":
            values = np.where(values, values, 1)
        if key == "mode":
            values = np.where(rng.random(shape) < 0.02, 0, values)
        table[key] = values.astype(float)
    walk = rng.integers(-40, 41, (rows, len(block.axes))).cumsum(axis=0)
    table["encoder"] = (walk % 65536).astype(float)
    return table


def test_the_integer_form_is_the_reference_bit_for_bit() -> None:
    """Check 8. Over random samples in every mode, with everything changing while it runs."""
    block = AxisController([f"axis{k}" for k in range(AXES)], integers=True)
    table = random_inputs(block, ROWS, seed=15)
    found = Player(block, table).run()
    reference = Reference(AXES)
    seen: Counter[tuple[int, ...]] = Counter()
    for row in range(ROWS):
        given = {key: [int(x) for x in np.atleast_1d(rows[row])] for key, rows in table.items()}
        wanted = reference.step(given, 1000)
        for key, values in wanted.items():
            names = [f"{key}[{k}]" for k in range(len(values))] if len(values) > 1 else [key]
            got = [found[name][row] for name in names]
            assert got == values, (row, key, given)
        for k in range(AXES):
            if wanted["brake"][k] == 0:
                seen[given["mode"][k], given["adfb"][k], given["zerofb"][k]] += 1
    assert len(seen) == 16
    assert min(seen.values()) > 200
    assert seen.total() > 8_000


@pytest.mark.parametrize("integers", cases([True, False], daily=[False]))
def test_firmware_of_axes_gives_the_bits_of_the_native_run(integers: bool, tmp_path: Path) -> None:
    """A tick in C99, compiled by the machine's own compiler, against random inputs."""
    names = ["left", "right"]
    if integers:
        block = AxisController(names, integers=True)
        table = random_inputs(block, 400, seed=3)
    else:
        block = AxisController(names, kp=3.0, ki=2.0, kd=0.02, also=PARTS, rate=1000)
        table = random_inputs(block, 400, seed=3)
        rng = np.random.default_rng(3)
        for key, rows in table.items():
            if key in SMOOTH:
                table[key] = np.sin(rng.uniform(0, 0.2) * np.cumsum(np.ones_like(rows), axis=0))
        table["mode"] = np.where(np.arange(400)[:, None] > 300, 5.0, table["mode"])
    s = lw.System(name="board")
    s.add(block, name="axes", rate=1000)
    if integers:
        (tmp_path / "board.toml").write_text(lw.write_model(s))
        given = ["codegen", str(tmp_path / "board.toml"), "--target", "firmware"]
        assert main([*given, "--out", str(tmp_path / "board")]) == 0
    else:
        lw.codegen(s, tmp_path / "board", target="firmware")
    phases = controller_phases(s)
    firmware = Firmware(tmp_path / "board", "board", phases)
    ports = [signal.name.removeprefix("axes.") for signal in phases.w]
    start = {signal.name.removeprefix("axes."): signal.value for signal in phases.w}
    columns = {
        (f"{key}[{k}]" if rows.ndim > 1 else key): (rows[:, k] if rows.ndim > 1 else rows)
        for key, rows in table.items()
        for k in range(rows.shape[1] if rows.ndim > 1 else 1)
    }
    made = np.array(
        [
            firmware.tick([columns.get(p, [start[p]] * 400)[row] for p in ports])
            for row in range(400)
        ]
    )
    found = Player(block, table).run()
    held = [x.name.removeprefix("axes.") for x in phases.d if x.kind == "held"]
    assert np.array_equal(made.T, np.array([found[name] for name in held]))
    assert np.abs(made[:, held.index("current[0]")]).max() > 1.0
