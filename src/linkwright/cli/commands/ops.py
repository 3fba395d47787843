"""``linkwright analyze ops``: operations of a model's program, by stage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.base.errors import InputError
from linkwright.cli.options import Formulation, Model, Seed, Set, open_mechanism, own
from linkwright.cli.results import CommandResult, TextTable
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.program import Program
    from linkwright.robots import Quantity

KERNEL = (
    "What to count: forward (accelerations), inverse (forces) or mass (the matrix); of a robot "
    "file also any quantity, as gravity, or pose:FRAME."
)
MOVES = "Number of moves to search, even if a program is shipped."
THOROUGH = "Use the smallest shipped program, or search for one."
SPLIT = "Count computed torque in the background and the foreground."
WITHOUT = (
    "Count with rules left out, by commas: smallness, composite, rotor, constants, intermediates, "
    "factoring; or all. Each alone, and all of them together."
)

_NUMBERS = ("add", "mul", "call", "select", "parameter", "total")


def command(
    model: Model,
    passes: Annotated[bool, own(None, "Show the counts after each pass.", "--passes")] = False,
    formulation: Formulation = "auto",
    kernel: Annotated[str, own("NAME", KERNEL)] = "forward",
    thorough: Annotated[bool, own(None, THOROUGH, "--thorough")] = False,
    moves: Annotated[int, own("N", MOVES)] = 0,
    seed: Seed = 0,
    compare: Annotated[
        bool, own(None, "Count every formulation, after each pass.", "--compare")
    ] = False,
    split: Annotated[bool, own(None, SPLIT, "--split")] = False,
    without: Annotated[str, own("RULES", WITHOUT)] = "",
    settings: Set = None,
) -> CommandResult:
    """Count the operations of a model's equations, stage by stage.

    Binary plus and minus are adds; times, divide, squares and square roots are multiplies; the
    parameter stage runs once and is not part of the derivative, nor are the outputs.

    \b
    Examples:
      linkwright analyze ops car
      linkwright analyze ops stanford-arm --compare
      linkwright analyze ops puma560 --split
      linkwright analyze ops car-small --without smallness,intermediates
    """
    from linkwright.equations import derive
    from linkwright.equations.kernels import kernel_program
    from linkwright.program import Rate, stage_counts
    from linkwright.program.passes import optimize
    from linkwright.program.report import ops_table

    if without:
        if kernel != "forward" or compare or split or thorough or moves or passes:
            raise InputError(
                "--without counts the accelerations, by itself",
                remedy="leave the other options out",
            )
        return _without(model, without, formulation, settings)
    if moves < 0:
        raise InputError(f"{moves} moves cannot be searched", remedy="give --moves 1 or more")
    if split:
        return _split(model, settings)
    searching = moves if thorough or moves else None
    if compare:
        return _compare(model, kernel, settings, searching, seed)
    if formulation == "auto" and not settings and _is_robot(model):
        return _of_robot(model, kernel, searching, seed, passes)
    equations = derive(open_mechanism(model, settings), formulation)
    written = kernel_program(equations, kernel)
    program = optimize(written) if searching is None else _smallest(written, searching, seed)
    title = f"{model}: {len(equations.parameters())} parameters, {equations.formulation}"
    counted: Any = _counted(program, written, title, passes)
    if kernel == "forward" and equations.outputs and searching is None:
        outputs = optimize(equations.program())
        by_stage = {**stage_counts(program), Rate.OUTPUT: stage_counts(outputs)[Rate.OUTPUT]}
        counted.data["stages"] = {rate.label: c.as_dict() for rate, c in by_stage.items()}
        rows = counted.text[0].rows
        rows[-1:-1] = [row for row in ops_table(outputs) if row[0] == "output"]
    return CommandResult(counted.data, counted.text)


def _counted(program: Program, written: Program, title: str, passes: bool) -> CommandResult:
    """Return the counts of a Program, and those of what it was written from after each pass."""
    from linkwright.program import counts_as_dict
    from linkwright.program.passes import PASSES
    from linkwright.program.report import ops_as_dict, ops_table, passes_table

    data = counts_as_dict(program)
    columns, *rows = ops_table(program)
    text: list[str | TextTable] = [TextTable(columns, rows, title, _NUMBERS)]
    if passes:
        data["passes"] = ops_as_dict(written, tuple(PASSES))["passes"]
        columns, *rows = passes_table(written)
        text += ["", TextTable(columns, rows, "after each pass", _NUMBERS)]
        text += ["\none after the other; above is the best of several orders"]
    return CommandResult(data, text)


def _without(
    model: str, names: str, formulation: str, settings: Sequence[str] | None
) -> CommandResult:
    """Return the operations with each of some rules left out, and with all of them."""
    from linkwright.equations.rules import RULES, operations_without

    given = [name.strip() for name in names.split(",") if name.strip()]
    wanted = list(RULES) if given == ["all"] else list(dict.fromkeys(given))
    sets = [[], *([name] for name in wanted)]
    if 1 < len(wanted) < len(RULES):
        sets.append(wanted)
    columns = ("left out", "add", "mul", "call", "select", "total", "times")
    data, rows, usual = [], [], 0
    for rules in sets:
        c = operations_without(lambda: open_mechanism(model, settings), rules, formulation)
        usual = usual or max(1, c.total + c.call)
        times = (c.total + c.call) / usual
        name = " and ".join(rules) or "nothing"
        data.append({"left_out": rules, **c.as_dict(), "total": c.total, "times": times})
        cells = (c.add, c.mul, c.call, c.select, c.total)
        rows.append((name, *(str(x) for x in cells), f"{times:.3g}"))
    notes = [f"{name}: {RULES[name]}" for name in wanted]
    return CommandResult(
        {"rules": data},
        [TextTable(columns, rows, f"{model}, derivative", (*_NUMBERS, "times")), "", *notes],
    )


def _split(model: str, settings: Sequence[str] | None) -> CommandResult:
    """Return the counts of computed torque in the background, in the foreground, and whole."""
    from linkwright.program import count_operations
    from linkwright.robots import Robot

    made = Robot(open_mechanism(model, settings)).split_dynamics()
    parts = {"background": made.background, "foreground": made.foreground, "whole": made.whole}
    counts = {name: count_operations(part) for name, part in parts.items()}
    columns = ("computed torque", "add", "mul", "call", "select", "total")
    rows = [(n, c.add, c.mul, c.call, c.select, c.total) for n, c in counts.items()]
    data = {name: c.as_dict() for name, c in counts.items()}
    return CommandResult(
        {**data, "terms": made.names, "speeds": made.speeds},
        [
            TextTable(
                columns,
                [tuple(str(x) for x in row) for row in rows],
                f"{model}: {len(made.names)} terms, speeds {made.speeds}",
                _NUMBERS,
            )
        ],
    )


def _is_robot(model: str) -> bool:
    """Whether a model is a robot file, which is counted as `linkwright.load` computes it."""
    from linkwright.formats.robot.files import robot_format

    return Path(model).is_file() and robot_format(model) not in (None, "text")


def _of_robot(model: str, kernel: str, moves: int | None, seed: int, passes: bool) -> CommandResult:
    """Count a quantity of a robot."""
    from linkwright.program.search import MOVES

    quantity = _quantity(model, kernel)
    program = quantity.program
    if moves is not None:
        program = _searched(quantity.derived(), moves or MOVES, seed)
    return _counted(program, quantity.derived(), f"{model}: {quantity.name}", passes)


def _quantity(model: str, kernel: str) -> Quantity:
    """Return a quantity of a robot by its name, that of a frame as NAME:FRAME."""
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
    model: str, kernel: str, settings: Sequence[str] | None, moves: int | None, seed: int
) -> CommandResult:
    """Return every formulation as it is written, after each pass and, where asked, the search."""
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
    counted = [
        (r.formulation, r.after, r.counts.add, r.counts.mul, r.counts.call, r.counts.total)
        for r in rows
        if r.counts is not None
    ]
    rejected = [r for r in rows if r.counts is None]
    data: list[dict[str, object]] = [dict(zip(columns, row, strict=True)) for row in counted]
    data += [{"formulation": r.formulation, "rejected": r.refused} for r in rejected]
    cells = [tuple(str(x) for x in row) for row in counted]
    notes = [f"{r.formulation}: {r.refused}" for r in rejected]
    return CommandResult(data, [TextTable(columns, cells, f"{model}, {kernel}", _NUMBERS), *notes])
