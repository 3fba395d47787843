"""``linkwright ops``: operations of a model's program, by stage."""

from __future__ import annotations

import json

import typer

from linkwright.cli.models import MODEL, SET

_NUMBERS = ("add", "mul", "call", "select", "parameter")


def command(
    model: str = MODEL,
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    passes: bool = typer.Option(False, "--passes", help="Show what each pass leaves."),
    formulation: str = typer.Option(
        "auto", "--formulation", metavar="NAME", help="Pin one formulation of the equations."
    ),
    kernel: str = typer.Option(
        "forward",
        "--kernel",
        metavar="NAME",
        help="What to count: forward (accelerations), inverse (forces) or mass (the matrix).",
    ),
    settings: list[str] = SET,
) -> None:
    """Count adds, multiplies and calls of a model's derivative, stage by stage.

    Binary plus and minus are adds; times, divide, squares and square roots are multiplies; the
    parameter stage runs once and is not part of the derivative, nor are the outputs.
    """
    from linkwright.cli.models import open_model
    from linkwright.cli.tables import print_table
    from linkwright.equations import derive
    from linkwright.equations.kernels import kernel_program
    from linkwright.program import Rate, counts_as_dict, stage_counts
    from linkwright.program.passes import PASSES, optimise
    from linkwright.program.report import ops_as_dict, ops_table, passes_table

    equations = derive(open_model(model, settings), formulation)
    written = kernel_program(equations, kernel)
    program = optimise(written)
    shown = kernel == "forward" and bool(equations.outputs)
    outputs = optimise(equations.program()) if shown else None
    if as_json:
        told = counts_as_dict(program)
        if outputs is not None:
            by_stage = {**stage_counts(program), Rate.OUTPUT: stage_counts(outputs)[Rate.OUTPUT]}
            told["stages"] = {rate.label: c.as_dict() for rate, c in by_stage.items()}
        if passes:
            told["passes"] = ops_as_dict(written, tuple(PASSES))["passes"]
        typer.echo(json.dumps(told, indent=2))
        return
    columns, *rows = ops_table(program)
    if outputs is not None:
        rows[-1:-1] = [row for row in ops_table(outputs) if row[0] == "output"]
    title = f"{model}: {len(equations.parameters())} parameters, {equations.formulation}"
    print_table(columns, rows, title=title, numbers=_NUMBERS)
    if passes:
        typer.echo()
        columns, *rows = passes_table(written)
        print_table(columns, rows, title="after each pass", numbers=_NUMBERS)
