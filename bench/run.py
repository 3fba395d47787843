"""``python -m bench.run [NAME ...]``: run the benches and print their tables.

A bench is a module ``bench_NAME.py`` beside this one, with a constant ``TITLE`` and a function
``run() -> list[Row]``. Bars are printed, and a bar that is missed is marked; the exit code stays 0,
for times depend on the machine. ``--strict`` makes it 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.measure import Row
from linkwright.cli.machine import describe

PEERS = ("sympy", "casadi", "pin", "mujoco")


def names() -> list[str]:
    """Return the names of the benches, in order."""
    return sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benches that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="Run the benches.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(names())}")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a bar is missed")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(names()))
    if unknown:
        parser.error(f"no bench is called {', '.join(unknown)}; there are: {', '.join(names())}")

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)
    for label, value in describe(PEERS).lines():
        console.print(f"{label:<10} {value}", markup=False, soft_wrap=True)
    missed = 0
    for name in chosen.names or names():
        module = import_module(f"bench.bench_{name}")
        start = time.perf_counter()
        rows: list[Row] = module.run()
        console.print(table(f"{module.TITLE} ({time.perf_counter() - start:.1f} s)", rows))
        missed += sum(row.met is False for row in rows)
    return 1 if missed and chosen.strict else 0


def table(title: str, rows: Sequence[Row]) -> Table:
    """Lay out the rows of one bench."""
    result = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    result.add_column("what")
    result.add_column("figure", justify="right")
    result.add_column("bar", justify="right")
    result.add_column("met")
    result.add_column("note", style="dim")
    for row in rows:
        sign = "≤" if row.better == "lower" else "≥"
        bar = "" if row.bar is None else f"{sign} {figure(row.bar, row.unit)}"
        met = {None: "", True: "[green]yes[/]", False: "[bold red]NO[/]"}[row.met]
        result.add_row(row.what, figure(row.value, row.unit), bar, met, row.note)
    return result


def figure(value: float, unit: str) -> str:
    """Write a figure with three digits and a fitting prefix for seconds; a ratio has no unit."""
    if unit == "1":
        return f"{value:.3g}"
    if unit == "s":
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if value >= scale:
                return f"{value / scale:.3g} {name}"
        return f"{value / 1e-9:.3g} ns"
    return f"{value:.4g} {unit}"


if __name__ == "__main__":
    sys.exit(main())
