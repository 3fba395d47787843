"""A quadruped on its feet, here and in MuJoCo, each with the largest step that it can afford.

A step fits where, in the stand and in the drop, no foot is ever more than 2 mm below the ground,
neither with this step nor with the engine's finest one, and the base's height stays within 1 mm of
the run with the finest step and the same settings. Each engine gets the settings with which its
step is largest. What is timed is both cases for a batch of runs that start a little higher each, in
processor time of one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import quadruped
from bench.measure import Row, interleaved
from bench.quadruped import CASES, Course, Ours, Theirs
from linkwright.backends.llvm.compile import compile_ir
from linkwright.backends.llvm.target import host
from linkwright.program import count_operations
from linkwright.simulation.native.methods import method_named
from linkwright.simulation.native.steps import bundle_ir
from linkwright.system import System
from linkwright.system.phases import Phases

TITLE = "A quadruped on its feet"
STEPS = (5e-3, 4e-3, 2.5e-3, 2e-3, 1.25e-3, 1e-3, 8e-4, 5e-4, 4e-4, 2.5e-4)
DEEPEST, FARTHEST = 2e-3, 1e-3
_OUR_SETTINGS = tuple(
    Ours(method, stiffness, damping)
    for method in ("verlet", "semi-implicit")
    for stiffness in (8e4, 1e5)
    for damping in (100.0, 150.0)
)
_THEIR_SETTINGS = tuple(
    Theirs(integrator, constant, impedance)
    for integrator in ("EULER", "IMPLICITFAST")
    for constant in (0.002, 0.004, 0.008)
    for impedance in ((0.9, 0.95), (0.95, 0.99))
)
_RUNS, _PEER_RUNS = 256, 8


@dataclass(frozen=True, slots=True)
class Fit:
    """An engine with a step that fits.

    Args:
        engine: with its settings.
        step: s.
        depths: the deepest foot in each case, m.
        errors: of the base's height in each case, m.
    """

    engine: Ours | Theirs
    step: float
    depths: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def near(self) -> float:
        """How near to a limit it comes, 1 at the limit."""
        return max(max(self.depths) / DEEPEST, max(self.errors) / FARTHEST)

    def told(self) -> str:
        """Return step, settings and errors in words."""
        deep = " and ".join(f"{1e3 * x:.2f}" for x in self.depths)
        off = " and ".join(f"{1e3 * x:.2f}" for x in self.errors)
        return f"{1e3 * self.step:g} ms ({self.engine.told()}), depth {deep} mm, height {off} mm"


def largest(settings: Iterable[Ours | Theirs], steps: Sequence[float] = STEPS) -> Fit:
    """Return the settings with the largest step that fits; of equals the more exact one."""
    best: Fit | None = None
    for engine in settings:
        references = {case: engine.course(case, engine.finest) for case in CASES}
        if max(course.depth for course in references.values()) >= DEEPEST:
            continue
        for step in steps:
            if best is not None and step < best.step:
                break
            found = _fit(engine, step, references)
            if found is None:
                continue
            if best is None or step > best.step or found.near < best.near:
                best = found
            break
    if best is None:
        raise RuntimeError("no step fits")
    return best


def _fit(engine: Ours | Theirs, step: float, references: dict[str, Course]) -> Fit | None:
    depths, errors = [], []
    for case, reference in references.items():
        course = engine.course(case, step)
        depths.append(course.depth)
        errors.append(course.away(reference))
        if not (depths[-1] < DEEPEST and errors[-1] < FARTHEST):
            return None
    return Fit(engine, step, tuple(depths), tuple(errors))


def run() -> list[Row]:
    """Find the steps, then time batches."""
    return [*_speed(largest(_OUR_SETTINGS), largest(_THEIR_SETTINGS)), _agreement(), *_sizes()]


def _agreement() -> Row:
    """Return how far apart the engines are where both have stiff contacts and small steps."""
    ours = Ours("verlet", 1e6, 300.0, 1e6, 300.0)
    theirs = Theirs("EULER", 0.002, (0.99, 0.999), "ELLIPTIC", 100.0)
    apart = max(
        abs(float(ours.course(c, ours.finest).heights[-1] - theirs.course(c, 2.5e-4).heights[-1]))
        for c in CASES
    )
    note = "heights of the base at the end; ours 1e6 N/m, MuJoCo elliptic cones and impratio 100"
    return Row("both engines with stiff contacts apart", 1e3 * apart, "mm", None, "lower", note)


def _speed(ours: Fit, theirs: Fit) -> list[Row]:
    sides = {"ours": (ours, _RUNS), "peer": (theirs, _PEER_RUNS)}
    ends: dict[str, dict[str, float]] = {name: {} for name in sides}

    def both_cases(name: str) -> None:
        fit, runs = sides[name]
        for case in CASES:
            found = fit.engine.batch(case, fit.step, np.linspace(0.0, 1e-3, runs))
            ends[name][case] = float(found[0])

    times = interleaved(
        {name: partial(both_cases, name) for name in sides}, rounds=7, clock=time.process_time
    )
    seconds = sum(duration for _, duration in CASES.values())
    pace = {name: runs * seconds / times[name] for name, (_, runs) in sides.items()}
    step = {name: fit.step / pace[name] for name, (fit, _) in sides.items()}
    heights = ", ".join(f"{ends['ours'][c]:.4f} and {ends['peer'][c]:.4f} m" for c in CASES)
    note = (
        f"simulated s per s of one core: {pace['ours']:.0f} and {pace['peer']:.0f}; ours "
        f"{ours.told()}; MuJoCo {theirs.told()}; heights at the end {heights}"
    )
    return [
        Row("Go2, stand and drop, batch by MuJoCo's", pace["ours"] / pace["peer"], "1", 1, "higher",
            note),
        Row("the same, aim", pace["ours"] / pace["peer"], "1", 4, "higher", ""),
        Row("a step of one run in a batch", 1e9 * step["ours"], "ns", None, "lower",
            f"{_RUNS} runs, {host().lanes('f64')} lanes; MuJoCo {1e9 * step['peer']:.0f} ns"),
    ]  # fmt: skip


def _sizes() -> list[Row]:
    """Return how large the Programs are, and what flattening and compiling take without a cache."""
    robot = quadruped.loaded()
    plain = count_operations(quadruped.system(robot, contact=False).phases(()).derivative)
    phases, *quick = _made(quadruped.system(robot))
    larger, *slow = _made(quadruped.humanoid())
    full = count_operations(phases.derivative)
    after = 0 if phases.accepted is None else count_operations(phases.accepted).total
    note = (
        f"free base and 12 joints; {plain.total} without contacts; {full.call} calls of functions, "
        f"{full.select} selects; memory after a step {after}"
    )
    compiling = f"compiling the step with contacts, {host().lanes('f64')} lanes"
    operations = count_operations(larger.derivative).total
    more = f"29 joints, 8 points; {operations} operations; {_words(*slow)}"
    return [
        Row(f"Go2, {compiling}", quick[1], "s", 15, "lower", _words(*quick)),
        Row(f"G1 (humanoid), {compiling}", slow[1], "s", 15, "lower", more),
        Row("Go2, operations of the derivative", full.total, "1", None, "lower", note),
    ]


def _made(system: System) -> tuple[Phases, float, float]:
    """Return the phases of a System, and the times to flatten and to compile it."""
    start = time.process_time()
    phases = system.phases(())
    flattened = time.process_time() - start
    start = time.process_time()
    compile_ir(bundle_ir(phases, method_named("semi-implicit"), host().lanes("f64")))
    return phases, flattened, time.process_time() - start


def _words(flattened: float, _: float) -> str:
    return f"processor time, no cache; flattening before it {flattened:.2g} s"
