"""Operations of the shipped models against the bars, and what they are worth in time.

A row holds adds and multiplies together; the note has adds / multiplies / calls of the smallest
program that ships, of fast mode and of the equations as they are derived. Counts are not speed, so
there are two times beside them, of one state in a batch of 4,096 on one core, and of a single call
from Python, which adds about 0.1 µs to each; both with the parameter stage computed beforehand and
shared by all states. The bar of each is the time of fast mode. ``python -m bench.bench_counts``
prints the tables of `docs/smallest-programs.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.measure import Row, interleaved
from linkwright.backends import kernel as kernels
from linkwright.equations import derive
from linkwright.equations.comparison import compared
from linkwright.equations.kernels import kernel_program
from linkwright.equations.shipped import shipped_program
from linkwright.models import load_model
from linkwright.models.smallest import SHIPPED, Shipped
from linkwright.program import Program, Rate, count_operations, optimize, split

Array = npt.NDArray[np.float64]

TITLE = "operations of the shipped models, and time of an evaluation"

STATES = 4_096
CALLS = 2_000
STEPS = (
    ("puma560:drives=off", "forward"),
    ("puma560:drives=off", "inverse"),
    ("spacecraft-1", "forward"),
    ("spacecraft-2", "forward"),
    ("stanford-arm", "forward"),
    ("whipple", "forward"),
)


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
    fast = optimize(source)
    found = shipped_program(source)
    programs = {"derived": source, "fast": fast, "thorough": found or fast}
    name = shipped.path.stem
    bar = BARS[name]
    c = count_operations(programs["thorough"])
    mul = c.mul + c.call if bar.with_calls else c.mul
    met = c.add <= 1.03 * bar.add and mul <= 1.03 * bar.mul
    told = ", ".join(f"{k} {_counts(p)}" for k, p in reversed(programs.items()))
    limit = bar.add + bar.mul if met else -1
    rows = [Row(f"{name}: adds and multiplies", c.add + mul, "ops", bar=limit, note=told)]
    both = ratio(shipped)
    if both is not None:
        rows.append(
            Row(f"{name}: part of what is published", both[0] / both[1], note=bar.published)
        )
    stages = {k: _stages(p) for k, p in programs.items()}
    for what, prepare in (("in a batch", _in_a_batch), ("alone", _alone)):
        ready = {k: prepare(*stage) for k, stage in stages.items()}
        times = interleaved({k: call for k, (call, _) in ready.items()}, rounds=25)
        each = {k: t / ready[k][1] for k, t in times.items()}
        rows.append(
            Row(
                f"{name}: time of a state {what}, thorough",
                each["thorough"],
                "s",
                bar=1.05 * each["fast"],
                note=", ".join(f"{k} {t * 1e9:.1f} ns" for k, t in each.items()),
            )
        )
    return rows


def _counts(program: Program) -> str:
    c = count_operations(program)
    return f"{c.add}/{c.mul}/{c.call}"


def _stages(program: Program) -> tuple[kernels.Kernel, Array]:
    """Return the kernel of the moving part, and the constants that it takes last."""
    first, second = split(program, Rate.PARAMETER)
    draw = np.random.default_rng(0)
    fixed = [np.full(port.shape, 1.0) + draw.uniform(0, 0.5, port.shape) for port in first.inputs]
    return kernels.compile(second), np.asarray(kernels.compile(first)(*fixed))


def _in_a_batch(kernel: kernels.Kernel, constants: Array) -> tuple[Callable[[], object], int]:
    """Return a call that evaluates many states, and how many."""
    draw = np.random.default_rng(1)
    ports = kernel.program.inputs[:-1]
    inputs = [draw.uniform(-1, 1, (STATES, *port.shape)) for port in ports]
    out = kernel.batch(*inputs, constants)
    return lambda: kernel.batch(*inputs, constants, out=out), STATES


def _alone(kernel: kernels.Kernel, constants: Array) -> tuple[Callable[[], object], int]:
    """Return a call that evaluates one state again and again, and how often."""
    draw = np.random.default_rng(1)
    inputs = [draw.uniform(-1, 1, port.shape) for port in kernel.program.inputs[:-1]]
    arrays = [*inputs, constants, *(np.zeros(port.shape) for port in kernel.program.outputs)]
    call = kernel.scalar

    def calls() -> None:
        for _ in range(CALLS):
            call(*arrays)

    return calls, CALLS


def ratio(shipped: Shipped) -> tuple[int, int] | None:
    """Return the operations of the program that ships and the published ones, where they compare.

    Adds and multiplies, and calls where what was published has them among the multiplies.
    """
    bar = BARS[shipped.path.stem]
    published = re.search(r"(\d+) / (\d+)", bar.published)
    if published is None:
        return None
    counts = json.loads(shipped.path.read_text(encoding="utf-8"))["counts"]
    ours = counts["add"] + counts["mul"] + (counts["call"] if "with calls" in bar.published else 0)
    return ours, int(published[1]) + int(published[2])


def ratios_markdown() -> str:
    """Return the table of the README."""
    lines = ["| model | ours | published | by | ratio |", "|---|---|---|---|---|"]
    for shipped in sorted(SHIPPED, key=lambda s: s.path.stem):
        both = ratio(shipped)
        if both is None:
            continue
        by = re.split(r"[,\d]", BARS[shipped.path.stem].published)[0].strip()
        name = f"`{shipped.model}`" + (" inverse" if shipped.kernel == "inverse" else "")
        lines.append(f"| {name} | {both[0]} | {both[1]} | {by} | {both[0] / both[1]:.2f} |")
    return "\n".join(lines) + "\n"


def markdown() -> str:
    """Return the table of published counts, the formulation taken, fast mode and the search."""
    lines = [
        "| model | published | how | derived | fast | thorough |",
        "|---|---|---|---|---|---|",
    ]
    for shipped in sorted(SHIPPED, key=lambda s: s.path.stem):
        equations = derive(load_model(shipped.model))
        source = kernel_program(equations, shipped.kernel)
        found = shipped_program(source)
        programs = (source, optimize(source), found)
        cells = [_counts(p).replace("/", " / ") for p in programs if p is not None]
        name = f"{shipped.model} --kernel {shipped.kernel}"
        name = name.removesuffix(" --kernel forward")
        how = equations.formulation if shipped.kernel == "forward" else "recursive"
        published = BARS[shipped.path.stem].published
        lines.append(f"| `{name}` | {published} | {how} | {' | '.join(cells)} |")
    return "\n".join(lines)


def steps_markdown() -> str:
    """Return the table of what each step leaves of some models: adds and multiplies together."""
    lines = [
        "| model | as usual | regrouped | chosen | fast | thorough |",
        "|---|---|---|---|---|---|",
    ]
    for model, kernel in STEPS:
        method = "composite" if kernel == "forward" else "recursive"
        rows = compared(load_model(model), kernel)
        totals = {(r.formulation, r.after): r.counts.total for r in rows if r.counts is not None}
        written = [totals[f"{method}{end}", "written"] for end in ("-plain", "-usual", "")]
        source = kernel_program(derive(load_model(model)), kernel)
        found = shipped_program(source)
        smallest = "" if found is None else count_operations(found).total
        name = f"{model} --kernel {kernel}".removesuffix(" --kernel forward")
        cells = [*written, totals[method, "all, fast"], smallest]
        lines.append(f"| `{name}` | {' | '.join(str(n) for n in cells)} |")
    return "\n".join(lines)


__all__ = ["BARS", "TITLE", "markdown", "run", "steps_markdown"]

if __name__ == "__main__":
    print(markdown())
    print()
    print(steps_markdown())
