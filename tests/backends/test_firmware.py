"""Controllers as firmware: strict C99 whose numbers are the bits of the native run."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import Lookup1D
from linkwright.backends.c.compiler import find_compiler, load_library
from linkwright.backends.c.functions import BITS, OWN, function_text
from linkwright.backends.llvm.functions import FUNCTIONS
from linkwright.blocks import BlockError
from linkwright.program import program
from linkwright.simulation.native.session import Session
from linkwright.system import Phases, System
from linkwright.system.controllers import controller_phases
from tests.random.systems import Maker
from tests.seeds import cases

STRICT = [
    "-std=c99",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Wvla",
    "-Werror",
    "-ffp-contract=off",
]
Array = NDArray[np.float64]


class Firmware:
    """Firmware in a shared library of its own, with one state struct."""

    def __init__(self, folder: Path, name: str, phases: Phases) -> None:
        library = folder / f"{name}.so"
        words = ["-fPIC", "-shared", f"{name}.c", "-o", str(library), "-lm"]
        done = subprocess.run(
            [*find_compiler(), *STRICT, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = ctypes.CDLL(str(library))
        self._tick = getattr(found, f"{name}_tick")
        self.inputs = np.zeros(max(len(phases.w), 1))
        self.outputs = np.zeros(max(sum(s.kind == "held" for s in phases.d), 1))
        self.state = ctypes.create_string_buffer(1 << 16)
        getattr(found, f"{name}_init")(self.state)

    def tick(self, inputs: Sequence[float]) -> Array:
        """Run one tick and return the outputs."""
        self.inputs[: len(inputs)] = inputs
        given, made = (ctypes.c_void_p(a.ctypes.data) for a in (self.inputs, self.outputs))
        self._tick(self.state, given, made)
        return self.outputs.copy()


def controlled_arm() -> System:
    """Two links: a reference with a delay, a filter with memory, a servo; three rates."""
    m = lw.Mechanism("two_links")
    first = m.body("a", rotate="z", mass=2, com=(0.4, 0, 0), inertia=(0, 0, 0.05))
    m.body("b", parent=first, at=(0.8, 0, 0), rotate="z", mass=1, com=(0.3, 0, 0), inertia=0.02)
    m.gravity(along="-y")
    s = System(m)
    servo = s.add(lw.control.ComputedTorque(m, kp=90, kd=19, limit=40, name="servo"), rate=500)
    plan = lw.Block("plan")
    table = Lookup1D([0.0, 0.1, 0.3, 0.5], [0.0, 0.3, 0.1, 0.4], name="lift")
    plan.output("y", plan.delay(table(plan.time) + 0.1 * lw.sin(7 * plan.time), 2))
    plan.output("z", 0.02 * plan.noise() + lw.exp(-plan.time))
    added = s.add(plan, rate=lw.sampled(100, offset=0.004))
    smooth = lw.Block("smooth")
    u, x = smooth.input("u"), smooth.discrete_state("x", 0.1)
    smooth.update(x, 0.7 * x + 0.3 * u)
    smooth.output("y", x + lw.atan2(u, 2.0))
    filtered = s.add(smooth, rate=250)
    s.connect(added.y, filtered.u)
    s.connect([filtered.y, added.z], servo.target)
    s.set_initial({"a": -0.3, "b": 0.4})
    return s


def test_firmware_in_the_loop_gives_the_bits_of_the_native_run(tmp_path: Path) -> None:
    """At every tick, from what the native run's plant was then, the same commands."""
    s = controlled_arm()
    done = lw.codegen(s, tmp_path, target="firmware")
    assert [p.name for p in done.files] == ["two_links.h", "two_links.c"]
    phases = controller_phases(s)
    held = [x.name for x in phases.d if x.kind == "held"]
    assert [x.name for x in phases.w][:4] == ["a", "b", "a_dot", "b_dot"]
    names = [*(x.name for x in phases.w), *held]
    run = lw.simulate(s, until=0.6, method="rk4", record=names, every=1)
    firmware = Firmware(tmp_path, "two_links", phases)
    inputs = np.array([run[x.name] for x in phases.w]).T
    wanted = np.array([run[name] for name in held]).T
    assert np.ptp(wanted, axis=0).min() > 0.1
    found = np.array([firmware.tick(row) for row in inputs])
    assert np.array_equal(found, wanted)


def test_firmware_closes_the_loop_around_a_plant(tmp_path: Path) -> None:
    """In place of its controllers, the plant follows the same motion."""
    s = controlled_arm()
    lw.codegen(s, tmp_path, target="firmware")
    phases = controller_phases(s)
    firmware = Firmware(tmp_path, "two_links", phases)
    held = [x.name for x in phases.d if x.kind == "held"]
    places = [held.index(f"servo.tau_{q}") for q in "ab"]
    free = len(phases.w) - 4
    plant = System(s.mechanism)

    def board(t: float, q: Array, u: Array) -> Array:
        made = firmware.tick([*q, *u, *[0.0] * free])
        return np.array([made[k] for k in places])

    added = plant.add(board, rate=500, outputs={"tau": 2})
    drive = lw.Element("drive", s.mechanism)
    for i, q in enumerate("ab"):
        drive.effort(f"tau{i}", q, drive.input(f"u{i}"))
    driven = plant.add(drive)
    plant.connect(added.tau[0], driven.u0)
    plant.connect(added.tau[1], driven.u1)
    plant.set_initial({"a": -0.3, "b": 0.4})
    ends = [lw.simulate(x, until=0.6, method="rk4").final for x in (s, plant)]
    for name in ("a", "b", "a_dot", "b_dot"):
        assert ends[0][name] == pytest.approx(ends[1][name], abs=1e-10)


@pytest.mark.parametrize("seed", cases([7, 8, 19, 24], daily=[8, 19]))
def test_firmware_of_random_systems_gives_the_bits_of_native_ticks(
    seed: int, tmp_path: Path
) -> None:
    """Their controllers alone, natively and in C, with the same inputs at every tick."""
    system = Maker(seed).make().system
    phases = controller_phases(system)
    lw.codegen(system, tmp_path, target="firmware")
    given = {s.name: 0.3 - 0.1 * i for i, s in enumerate(phases.w)}
    ticks = 40
    session = Session(phases, ticks * phases.tick_seconds, method="rk4", inputs=given)
    wanted = session.run().samples.values
    firmware = Firmware(tmp_path, "s", phases)
    found = np.array([firmware.tick(list(given.values())) for _ in range(ticks + 1)])
    assert np.array_equal(found[:, : wanted.shape[1]], wanted)


def test_elementary_functions_in_c_have_the_bits_of_native_kernels() -> None:
    """From tiny to large arguments, with zeros, infinities and nan."""
    texts = ["#include <math.h>", "#include <stdint.h>", "#include <string.h>", BITS]
    for name in OWN:
        two = FUNCTIONS[name].arity == 2
        texts.append(function_text(name))
        texts.append(
            f"void all_{name}(const double *x, const double *y, double *z, int n) {{ (void)y; "
            f"for (int i = 0; i < n; ++i) z[i] = lw_{name}(x[i]{', y[i]' if two else ''}); }}"
        )
    library = load_library("\n".join(texts), ("-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror"))
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.integers(-8, 8, 3000)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 5e-324, 709.9, -745.2, 1e8]
    x = np.concatenate([rng.normal(size=3000) * sizes, special])
    y = np.roll(x, 5)
    a, b = lw.symbols("a b")
    for name in OWN:
        value = a**b if name == "pow" else getattr(lw, name)(*(a, b)[: FUNCTIONS[name].arity])
        kernel = lw.compile(program("f", {"a": a, "b": b}, {"f": value}))
        wanted = np.array([kernel(*pair) for pair in zip(x, y, strict=True)])
        found = np.zeros_like(x)
        places = [ctypes.c_void_p(v.ctypes.data) for v in (x, y, found)]
        getattr(library, f"all_{name}")(*places, len(x))
        same = found.view(np.uint64) == wanted.view(np.uint64)
        assert np.all(same | (np.isnan(found) & np.isnan(wanted))), name


def test_header_tells_units_rates_and_defaults(tmp_path: Path) -> None:
    lw.codegen(controlled_arm(), tmp_path, target="firmware", controllers=["servo"])
    header = (tmp_path / "two_links.h").read_text()
    assert "every 0.002 s (500 Hz)" in header
    assert re.search(r"double a_dot; /\* a_dot, rad/s: .*\*/", header)
    assert re.search(r"double servo_tau_a; /\* servo.tau_a, N\*m: torque on a \*/", header)
    assert "; 90.0 by default */" in header
    source = (tmp_path / "two_links.c").read_text()
    for word in ("malloc", "printf", "goto"):
        assert word not in source


def test_what_cannot_be_firmware_is_refused(tmp_path: Path) -> None:
    s = controlled_arm()
    s.add(lambda t: t, rate=10, name="script", outputs="y")
    lag = lw.Block("lag")
    lag.output("y", lag.state("x", "-x"))
    s.add(lag)
    for names, what in (
        (["script"], "'script' is a Python function"),
        (["lag"], "'lag' is continuous"),
        (["servo", "serve"], "no member 'serve'"),
    ):
        with pytest.raises(BlockError, match=what):
            lw.codegen(s, tmp_path / "out", target="firmware", controllers=names)
    with pytest.raises(BlockError, match="no member runs at a rate"):
        lw.codegen(lw.load("pendulum"), tmp_path / "out", target="firmware")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="make test installs gcc-arm-none-eabi"
)
def test_example_compiles_for_cortex_m(tmp_path: Path) -> None:
    """With Debian's compiler, for a part with and one without hardware doubles; nothing to link
    but the mathematics of newlib, and no memory but the caller's."""
    lw.codegen(controlled_arm(), tmp_path, target="firmware")
    for cpu, unit in (("cortex-m4", "fpv4-sp-d16"), ("cortex-m7", "fpv5-d16")):
        words = [f"-mcpu={cpu}", f"-mfpu={unit}", "-mfloat-abi=hard", "-mthumb"]
        subprocess.run(
            ["arm-none-eabi-gcc", *STRICT, *words, "-c", "two_links.c", "-o", f"{cpu}.o"],
            cwd=tmp_path,
            check=True,
        )
        table = subprocess.run(
            ["arm-none-eabi-nm", f"{cpu}.o"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        rows = [line.split() for line in table.splitlines()]
        assert not [row for row in rows if row[-2] in "bBdDC"], table  # no data that changes
        needed = {row[-1] for row in rows if row[-2] == "U"}
        own = {"fma", "cos", "sin", "tan", "floor", "memcpy", "sqrt"}
        assert {n for n in needed if not n.startswith("__aeabi_")} <= own, needed
