"""Two threads against two processes, on the same batch of runs.

Each contender does the same work on both sides at the same time, half each; the processes are
started beforehand and wait at a barrier. Cores obtained are CPU time by wall time.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from dataclasses import dataclass
from typing import Any

from bench.panda_control import panda_phases
from linkwright.simulation.native.batch import run_batch

RUNS, SECONDS = 2048, 0.25


@dataclass(frozen=True, slots=True)
class Speed:
    """Runs' steps per second, and the cores that were obtained."""

    steps: float
    cores: float


def work(runs: int, threads: int) -> int:
    """Run a batch and return its steps."""
    return run_batch(panda_phases(), SECONDS, method="midpoint", runs=runs, threads=threads).steps


def with_threads() -> Speed:
    """Return the speed of two threads."""
    start, cpu = time.perf_counter(), time.process_time()
    steps = work(RUNS, 2)
    wall = time.perf_counter() - start
    return Speed(steps / wall, (time.process_time() - cpu) / wall)


def _process(barrier: Any, results: Any, rounds: int) -> None:
    work(64, 1)
    for _ in range(rounds):
        barrier.wait()
        start, cpu = time.perf_counter(), time.process_time()
        steps = work(RUNS // 2, 1)
        results.put((steps, start, time.perf_counter(), time.process_time() - cpu))
        barrier.wait()


class Processes:
    """Two processes that are ready to work."""

    def __init__(self, rounds: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.barrier: Any = context.Barrier(3)
        self.results: Any = context.Queue()
        arguments = (self.barrier, self.results, rounds)
        self.workers = [context.Process(target=_process, args=arguments) for _ in range(2)]
        for worker in self.workers:
            worker.start()

    def speed(self) -> Speed:
        """Return the speed of both together."""
        self.barrier.wait()
        found = [self.results.get() for _ in self.workers]
        self.barrier.wait()
        steps = sum(f[0] for f in found)
        wall = max(f[2] for f in found) - min(f[1] for f in found)
        return Speed(steps / wall, sum(f[3] for f in found) / wall)

    def close(self) -> None:
        """Wait for the processes to end."""
        for worker in self.workers:
            worker.join()


def measured(rounds: int = 7) -> list[tuple[Speed, Speed]]:
    """Return speeds of threads and of processes, taking turns."""
    if (os.cpu_count() or 1) < 2:
        return []
    work(64, 2)
    processes = Processes(rounds)
    found = [(with_threads(), processes.speed()) for _ in range(rounds)]
    processes.close()
    return found
