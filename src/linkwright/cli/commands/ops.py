"""``linkwright analyze ops``: operations of a model's program, by stage."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linkwright.cli.models import MODEL, SET
from linkwright.cli.tables import print_table
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.program import Program
    from linkwright.robots import Quantity

_NUMBERS = ("add", "mul", "call", "select", "parameter", "total")


def command(
    model: str = MODEL,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    passes: bool = typer.Option(False, "--passes", help="Show the counts after each pass."),
    formulation: str = typer.Option(
        "auto", "--formulation", metavar="NAME", help="Formulation of the equations."
    ),
    kernel: str = typer.Option(
        "forward",
        "--kernel",
        metavar="NAME",
        help="What to count: forward (accelerations), inverse (forces) or mass (the matrix); of a "
        "robot file also any quantity, as gravity, or pose:FRAME.",
    ),
    thorough: bool = typer.Option(
        False, "--thorough", help="Use the smallest shipped program, or search for one."
    ),
    moves: int = typer.Option(
        0, "--moves", metavar="N", help="Number of moves to search, even if a program is shipped."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the search."),
    compare: bool = typer.Option(
        False, "--compare", help="Count every formulation, after each pass."
    ),
    split: bool = typer.Option(
        False, "--split", help="Count computed torque in the background and the foreground."
    ),
    settings: list[str] = SET,
) -> None:
    """Count the operations of a model's equations, stage by stage.

    Binary plus and minus are adds; times, divide, squares and square roots are multiplies; the
    parameter stage runs once and is not part of the derivative, nor are the outputs.

    \b
    Examples:
      linkwright analyze ops car
      linkwright analyze ops stanford-arm --compare
      linkwright analyze ops puma560 --split
    """
    from linkwright.cli.models import open_mechanism
    from linkwright.equations import derive
    from linkwright.equations.kernels import kernel_program
    from linkwright.program import Rate, counts_as_dict, stage_counts
    from linkwright.program.passes import PASSES, optimize
    from linkwright.program.report import ops_as_dict, ops_table

    if split:
        _split(model, settings, as_json)
        return
    if compare:
        searching = moves if thorough or moves else None
        _compare(model, kernel, settings, searching, seed, as_json)
        return
    if formulation == "auto" and not settings and _is_robot(model):
        _of_robot(model, kernel, moves if thorough or moves else None, seed, as_json, passes)
        return
    equations = derive(open_mechanism(model, settings), formulation)
    written = kernel_program(equations, kernel)
    wanted = thorough or moves > 0
    program = _smallest(written, moves, seed) if wanted else optimize(written)
    shown = kernel == "forward" and bool(equations.outputs) and not wanted
    outputs = optimize(equations.program()) if shown else None
    if as_json:
        info = counts_as_dict(program)
        if outputs is not None:
            by_stage = {**stage_counts(program), Rate.OUTPUT: stage_counts(outputs)[Rate.OUTPUT]}
            info["stages"] = {rate.label: c.as_dict() for rate, c in by_stage.items()}
        if passes:
            info["passes"] = ops_as_dict(written, tuple(PASSES))["passes"]
        echo(json.dumps(info, indent=2))
        return
    columns, *rows = ops_table(program)
    if outputs is not None:
        rows[-1:-1] = [row for row in ops_table(outputs) if row[0] == "output"]
    title = f"{model}: {len(equations.parameters())} parameters, {equations.formulation}"
    print_table(columns, rows, title=title, numbers=_NUMBERS)
    if passes:
        _print_passes(written)


def _split(model: str, settings: list[str], as_json: bool) -> None:
    """Print the counts of computed torque in the background, in the foreground, and whole."""
    from linkwright.cli.models import open_mechanism
    from linkwright.program import count_operations
    from linkwright.robots import Robot

    made = Robot(open_mechanism(model, settings)).split_dynamics()
    parts = {"background": made.background, "foreground": made.foreground, "whole": made.whole}
    counts = {name: count_operations(part) for name, part in parts.items()}
    if as_json:
        info: dict[str, object] = {name: c.as_dict() for name, c in counts.items()}
        info |= {"terms": list(made.names), "speeds": made.speeds}
        echo(json.dumps(info, indent=2))
        return
    columns = ("computed torque", "add", "mul", "call", "select", "total")
    rows = [(n, c.add, c.mul, c.call, c.select, c.total) for n, c in counts.items()]
    cells = [tuple(str(x) for x in row) for row in rows]
    title = f"{model}: {len(made.names)} terms, speeds {made.speeds}"
    print_table(columns, cells, title=title, numbers=_NUMBERS)


def _print_passes(written: Program) -> None:
    from linkwright.program.report import passes_table

    echo()
    columns, *rows = passes_table(written)
    print_table(columns, rows, title="after each pass", numbers=_NUMBERS)
    echo("\none after the other; above is the best of several orders")


def _is_robot(model: str) -> bool:
    """Whether a model is a robot file, which is counted as `linkwright.load` computes it."""
    from linkwright.formats.robot.files import robot_format

    return Path(model).is_file() and robot_format(model) not in (None, "text")


def _of_robot(
    model: str, kernel: str, moves: int | None, seed: int, as_json: bool, passes: bool
) -> None:
    """Count a quantity of a robot."""
    from linkwright.program import counts_as_dict
    from linkwright.program.passes import PASSES
    from linkwright.program.report import ops_as_dict, ops_table
    from linkwright.program.search import MOVES

    quantity = _quantity(model, kernel)
    program = quantity.program
    if moves is not None:
        program = _searched(quantity.derived(), moves or MOVES, seed)
    if as_json:
        info = counts_as_dict(program)
        if passes:
            info["passes"] = ops_as_dict(quantity.derived(), tuple(PASSES))["passes"]
        echo(json.dumps(info, indent=2))
        return
    columns, *rows = ops_table(program)
    print_table(columns, rows, title=f"{model}: {quantity.name}", numbers=_NUMBERS)
    if passes:
        _print_passes(quantity.derived())


def _quantity(model: str, kernel: str) -> Quantity:
    """Return a quantity of a robot by its name, that of a frame as NAME:FRAME."""
    from linkwright.base.errors import InputError
    from linkwright.robots import FrameQuantity, Quantity, Robot

    short = {"forward": "forward_dynamics", "inverse": "inverse_dynamics", "mass": "mass_matrix"}
    name, colon, frame = short.get(kernel, kernel).partition(":")
    if name.startswith("_") or not hasattr(Robot, name):
        raise InputError(f"a robot has no quantity {name!r}", remedy="docs/robots.md lists them")
    found = getattr(Robot(model), name)
    if isinstance(found, FrameQuantity) and colon:
        return found[frame]
    if isinstance(found, Quantity) and not colon:
        return found
    if isinstance(found, FrameQuantity):
        raise InputError(f"{name} is that of a frame", remedy=f"ask for {name}:FRAME")
    raise InputError(f"{kernel!r} is not a quantity of a robot", remedy="docs/robots.md lists them")


def _smallest(written: Program, moves: int, seed: int) -> Program:
    """Return the Program that ships where one does, or search, with a progress bar."""
    from linkwright.equations.shipped import shipped_program
    from linkwright.program.search import MOVES

    if not moves:
        found = shipped_program(written)
        if found is not None:
            echo("the program that ships with the model; --moves N searches anew", err=True)
            return found
        moves = MOVES
    return _searched(written, moves, seed)


def _searched(written: Program, moves: int, seed: int) -> Program:
    """Return what a search makes of a Program; on a terminal with a progress bar."""
    from linkwright.program.search import thorough

    if not sys.stderr.isatty():
        return thorough(written, moves=moves, seed=seed)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("searching", total=moves)

        def show(made: int, _: int, operations: int) -> None:
            bar.update(task, completed=made, description=f"searching: {operations} operations")

        return thorough(written, moves=moves, seed=seed, progress=show)


def _compare(
    model: str, kernel: str, settings: list[str], moves: int | None, seed: int, as_json: bool
) -> None:
    """Print every formulation as it is written, after each pass and, where asked, the search."""
    from linkwright.base.errors import InputError
    from linkwright.cli.models import open_mechanism
    from linkwright.equations.comparison import compared
    from linkwright.equations.kernels import KERNELS
    from linkwright.program.search import MOVES

    if kernel not in KERNELS:
        raise InputError(f"there is no kernel {kernel!r}; there are {', '.join(KERNELS)}")

    def search(written: Program) -> Program:
        return _searched(written, moves or MOVES, seed)

    further = {} if moves is None else {"thorough": search}
    rows = list(compared(open_mechanism(model, settings), kernel, further=further))
    columns = ("formulation", "after", "add", "mul", "call", "total")
    info = [
        (r.formulation, r.after, r.counts.add, r.counts.mul, r.counts.call, r.counts.total)
        for r in rows
        if r.counts is not None
    ]
    refused = [r for r in rows if r.counts is None]
    if as_json:
        data: list[dict[str, object]] = [dict(zip(columns, row, strict=True)) for row in info]
        data += [{"formulation": r.formulation, "refused": r.refused} for r in refused]
        echo(json.dumps(data, indent=2))
        return
    cells = [tuple(str(x) for x in row) for row in info]
    print_table(columns, cells, title=f"{model}, {kernel}", numbers=_NUMBERS)
    for r in refused:
        echo(f"{r.formulation}: {r.refused}")
