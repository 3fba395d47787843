"""Native runs against MuJoCo, Exudyn and SciPy: speed, with the errors of both."""

from __future__ import annotations

import statistics

import numpy as np

from bench import car_sweep, four_bar, panda_control, thread_scaling
from bench.measure import Row, interleaved
from linkwright.simulation.native.batch import run_batch
from linkwright.simulation.native.session import Session

TITLE = "Native runs"
_CAR_RUNS, _CAR_SAMPLE = 10_000, 8
_PANDA_STEPS, _PANDA_RUNS = 10_000, 512
_FOUR_BAR_STEPS = (0.01, 0.005, 0.004, 0.0025, 0.002, 0.001)


def run() -> list[Row]:
    """Time arms, linkages, cars and threads."""
    return [*_panda(), *_four_bar(), *_car(), *_threads()]


def _panda() -> list[Row]:
    phases, peer = panda_control.panda_phases(), panda_control.panda_peer()
    tight = Session(phases, 1.0, tolerance=1e-12, every=0).run()
    wanted = np.array(list(tight.x.values()))[:7]
    theirs = float(np.abs(peer.run(1000)[0] - wanted).max())
    seconds = _PANDA_STEPS * panda_control.STEP
    short = 0.2
    rows = []
    for method in ("verlet", "midpoint"):
        end = Session(phases, 1.0, method=method, every=0).run()
        ours = float(np.abs(np.array(list(end.x.values()))[:7] - wanted).max())

        def single(method: str = method) -> object:
            return Session(phases, seconds, method=method, every=0).run()

        def batch(method: str = method) -> object:
            return run_batch(phases, short, method=method, runs=_PANDA_RUNS, threads=1)

        times = interleaved(
            {"ours": single, "peer": lambda: peer.run(_PANDA_STEPS), "batch": batch}, rounds=7
        )
        step, other = times["ours"] / _PANDA_STEPS, times["peer"] / _PANDA_STEPS
        lane = times["batch"] / (_PANDA_RUNS * short / panda_control.STEP)
        note = (
            f"1 kHz, held torque, 1 ms steps; angle error at 1 s {ours:.1e} rad, "
            f"MuJoCo (Euler, rollout) {theirs:.1e} rad"
        )
        single_note = f"{1 / step:.3g} and {1 / other:.3g} steps/s; {note}"
        batch_note = f"{1 / lane:.3g} steps/s on one thread; {note}"
        rows += [
            Row(
                f"Panda, {method}, single run by MuJoCo's",
                other / step,
                "1",
                4,
                "higher",
                single_note,
            ),
            Row(f"Panda, {method}, batch by MuJoCo's", other / lane, "1", 25, "higher", batch_note),
        ]
    return rows


def _four_bar() -> list[Row]:
    peer = four_bar.FourBarPeer()
    wanted = four_bar.reference(1.0)
    step = 1e-3
    theirs = float(np.linalg.norm(peer.run(1.0, step) - wanted))

    def error(size: float) -> float:
        phases = four_bar.four_bar_phases(size)
        end = Session(phases, 1.0, method="rk4", every=0).run()
        return float(np.linalg.norm(four_bar.crank_tip(end.x["crank"]) - wanted))

    errors = {size: error(size) for size in _FOUR_BAR_STEPS}
    size = max(s for s, e in errors.items() if all(errors[r] <= theirs for r in errors if r <= s))
    phases = four_bar.four_bar_phases(size)
    times = interleaved(
        {
            "ours": lambda: Session(phases, 100.0, method="rk4", every=0).run(),
            "peer": lambda: peer.run(1.0, step),
        },
        rounds=7,
    )
    ratio = times["peer"] / (times["ours"] / 100.0)
    note = (
        f"rk4 with {1e3 * size:g} ms: tip error {errors[size]:.1e} m, "
        f"{100 / times['ours']:.3g} s/s; Exudyn, generalized-alpha with 1 ms: {theirs:.1e} m, "
        f"{1 / times['peer']:.3g} s/s"
    )
    return [Row("four-bar by Exudyn's at no larger error", ratio, "1", 20, "higher", note)]


def _car() -> list[Row]:
    phases, peer = car_sweep.car_phases(), car_sweep.CarPeer()
    swept = car_sweep.sweep(_CAR_RUNS)
    few = [{k: float(v[i]) for k, v in swept.items()} for i in range(_CAR_SAMPLE)]
    tight = [peer.run(values, 1e-12, 1e-12, method="DOP853") for values in few]

    def error(found: object) -> float:
        parts = zip(np.asarray(found), tight, strict=True)
        return max(float(np.abs((a - b) / np.maximum(1, np.abs(b))).max()) for a, b in parts)

    def ours(threads: int = 1) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return run_batch(
            phases,
            car_sweep.UNTIL,
            method="dopri5",
            tolerance=1e-6,
            absolute=1e-9,
            values=swept,
            threads=threads,
        ).x

    def theirs() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
        return [peer.run(values, 1e-6, 1e-9) for values in few]

    times = interleaved({"one": ours, "two": lambda: ours(2), "peer": theirs}, rounds=5)
    mine, other = error(ours()[:_CAR_SAMPLE]), error(theirs())
    each = times["peer"] / _CAR_SAMPLE
    note = (
        f"dopri5, relative tolerance 1e-6: {times['one']:.3g} s on one thread, "
        f"{times['two']:.3g} s on two, error {mine:.1e}; "
        f"SciPy RK45 at 1e-6: {1e3 * each:.3g} ms a run, error {other:.1e}"
    )
    ratio = each * _CAR_RUNS / times["one"]
    return [Row("car, 10,000 responses of 5 s by SciPy's", ratio, "1", 200, "higher", note)]


def _threads() -> list[Row]:
    found = thread_scaling.measured()
    if not found:
        return []
    ratio = statistics.median(t.steps / p.steps for t, p in found)
    each = statistics.median((t.steps / t.cores) / (p.steps / p.cores) for t, p in found)
    threads, processes = (
        f"{statistics.median(s.steps for s in side):.3g} steps/s on "
        f"{statistics.median(s.cores for s in side):.2f} cores"
        for side in zip(*found, strict=True)
    )
    note = f"threads {threads}, processes {processes}; by core {each:.3f}"
    return [Row("two threads by two processes", ratio, "1", 0.95, "higher", note)]
