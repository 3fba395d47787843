"""Operations of the shipped models against the bars, and what they are worth in time.

A row holds adds and multiplies together; the note has adds / multiplies / calls of the smallest
program that ships, of fast mode and of the equations as they are derived. The time is of one state
in a batch of 4,096 on one core, with the parameter stage computed beforehand, and its bar is fast
mode's: counts are not speed, and this is where it would show. ``python -m bench.bench_counts``
prints the table of `docs/smallest-programs.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.measure import Row, interleaved
from linkwright.backends import kernel as kernels
from linkwright.models.smallest import SHIPPED, Shipped, shipped_program
from linkwright.program import Program, Rate, count, optimise, split

TITLE = "operations of the shipped models, and time of an evaluation"

STATES = 4_096


@dataclass(frozen=True, slots=True)
class Bar:
    """What must be reached: adds, multiplies, and whether calls count as multiplies."""

    add: int
    mul: int
    with_calls: bool = False
    published: str = ""


BARS: dict[str, Bar] = {
    "stanford-arm": Bar(165, 230, published="AUTOSIM 240 / 353 / 8"),
    "spacecraft-2": Bar(235, 312, published="AUTOSIM 338 / 455 with calls"),
    "spacecraft-1": Bar(365, 455, published="AUTOSIM 628 / 773 / 18"),
    "puma560-drives-off-inverse": Bar(
        148, 172, published="Pinocchio through CasADi 245 / 331 / 10"
    ),
    "puma560-drives-off": Bar(250, 320, published="SymPy Kane, M and forcing, 813 / 1505 / 10"),
    "cart": Bar(36, 70, published="AUTOSIM 48 / 94 / 4"),
    "stanford-arm-controlled": Bar(200, 265, published="AUTOSIM 268 / 378 / 8"),
    "spacecraft-1-small": Bar(350, 410, with_calls=True, published="AUTOSIM 442 / 514 with calls"),
    "car": Bar(65, 100, published="AUTOSIM 69 / 108 / 6"),
    "car-small": Bar(
        15, 19, with_calls=True, published="AUTOSIM, best of three, 15 / 19 with calls"
    ),
    "four-bar": Bar(75, 125, published="AUTOSIM 81 / 141 / 6"),
    "whipple": Bar(520, 680, published="PyDy, M and forcing, 2367 in all"),
}


def run() -> list[Row]:
    """Count and time every model that ships with its smallest program."""
    rows: list[Row] = []
    for shipped in SHIPPED:
        rows += _rows(shipped)
    return rows


def _rows(shipped: Shipped) -> list[Row]:
    source = shipped.source()
    fast = optimise(source)
    found = shipped_program(shipped.model, shipped.kernel, source)
    programs = {"derived": source, "fast": fast, "thorough": found or fast}
    name = shipped.path.stem
    bar = BARS[name]
    c = count(programs["thorough"])
    mul = c.mul + c.call if bar.with_calls else c.mul
    met = c.add <= 1.03 * bar.add and mul <= 1.03 * bar.mul
    told = ", ".join(f"{k} {_counts(p)}" for k, p in reversed(programs.items()))
    times = interleaved({k: _timed(p) for k, p in programs.items()}, rounds=15)
    per_state = {k: t / STATES for k, t in times.items()}
    times_told = ", ".join(f"{k} {t * 1e9:.1f} ns" for k, t in per_state.items())
    limit = bar.add + bar.mul if met else -1
    return [
        Row(f"{name}: adds and multiplies", c.add + mul, "ops", bar=limit, note=told),
        Row(
            f"{name}: time of a state, thorough",
            per_state["thorough"],
            "s",
            bar=1.05 * per_state["fast"],
            note=times_told,
        ),
    ]


def _counts(program: Program) -> str:
    c = count(program)
    return f"{c.add}/{c.mul}/{c.call}"


def _timed(program: Program) -> Callable[[], object]:
    """Return a call that evaluates the moving part at many states."""
    first, second = split(program, Rate.PARAMETER)
    draw = np.random.default_rng(0)
    fixed = [np.full(port.shape, 1.0) + draw.uniform(0, 0.5, port.shape) for port in first.inputs]
    constants = kernels.compile(first)(*fixed)
    kernel = kernels.compile(second)
    inputs = []
    for port in second.inputs:
        if port.name == "constants":
            inputs.append(np.broadcast_to(constants, (STATES, *port.shape)).copy())
        else:
            inputs.append(draw.uniform(-1, 1, (STATES, *port.shape)))
    out = kernel.batch(*inputs)
    return lambda: kernel.batch(*inputs, out=out)


def markdown() -> str:
    """Return the table of published counts, fast mode and the smallest programs."""
    lines = ["| model | published | fast | thorough |", "|---|---|---|---|"]
    for shipped in sorted(SHIPPED, key=lambda s: s.path.stem):
        source = shipped.source()
        found = shipped_program(shipped.model, shipped.kernel, source)
        cells = [_counts(p).replace("/", " / ") for p in (optimise(source), found) if p is not None]
        name = f"{shipped.model} --kernel {shipped.kernel}"
        name = name.removesuffix(" --kernel forward")
        lines.append(f"| `{name}` | {BARS[shipped.path.stem].published} | {' | '.join(cells)} |")
    return "\n".join(lines)


__all__ = ["BARS", "TITLE", "markdown", "run"]

if __name__ == "__main__":
    print(markdown())
