"""``linkwright analyze drives``: run a joint's drive, and say what each of its signals reached."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from linkwright.cli.models import MODEL, SET, UNTIL
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.simulation.run import Run
    from linkwright.system import System

_OUT = typer.Option(
    None, "-o", "--out", metavar="FILE", help="Also write the recording: .parquet, .csv, .npz, ..."
)

_FIT = typer.Option(
    None, "--fit", metavar="FILE", help="Find its parameters from a recording instead."
)
_VALIDATE = typer.Option(
    None, "--validate", metavar="FILE", help="With --fit: judge them by another recording."
)

_MOST = 200_000
"""Samples of a recording, at most, in which each instant has one."""


def command(
    model: str = MODEL,
    joint: str = typer.Option("", "--joint", metavar="NAME", help="This drive alone."),
    until: float | None = UNTIL,
    settings: list[str] = SET,
    update: str = typer.Option(
        "", "--update", metavar="RULE", help="exact, simultaneous or sequential, of a chain."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the noise."),
    out: Path | None = _OUT,
    plot: bool = typer.Option(False, "--plot", help="Plot the drive as a PNG."),
    fit: Path | None = _FIT,
    validate: Path | None = _VALIDATE,
    bode: str = typer.Option(
        "",
        "--bode",
        metavar="LOOP",
        help="Cut the position, speed or current loop, or a port: margins, and a Bode plot.",
    ),
    limit_cycle: bool = typer.Option(
        False, "--limit-cycle", help="Find the limit cycles of the gear instead."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    force: bool = typer.Option(False, "--force", help="Overwrite existing files."),
) -> None:
    """Run the drives of a model: what each signal reaches, and when.

    \b
    Examples:
      linkwright analyze drives joint-drive --until 2 --plot
      linkwright analyze drives joint-drive:noise=1 --update sequential --seed 3
      linkwright analyze drives joint-drive --set motor.R=1.2 --set reference=0.3 -o run.csv
      linkwright analyze drives shoulder.toml --fit run.parquet --validate other.parquet
      linkwright analyze drives joint-drive --bode position
      linkwright analyze drives shoulder.toml --joint joint --bode position --limit-cycle
    """
    from linkwright.models.library import opened
    from linkwright.models.sources import stem_of
    from linkwright.simulation import simulate
    from linkwright.system import System

    _refuse_catalog(model)
    found = opened(model)
    if not isinstance(found, System):
        found = System(found)
    names = _drives(found, joint)
    _edit(found, names, settings, update, model)
    if fit is not None:
        from linkwright.cli.drive_fits import print_fit

        print_fit(found.members[names[0]].block, fit, validate, as_json)
        return
    if bode or limit_cycle:
        from linkwright.cli.drive_loops import print_loops

        print_loops(
            found,
            names,
            bode=bode,
            cycles=limit_cycle,
            stem=stem_of(model),
            force=force,
            as_json=as_json,
        )
        return
    for target in (out, Path(stem_of(model) + ".png") if plot else None):
        _refuse_taken(target, force or out is None)
    run = simulate(found, until, seed=seed, every=_every(found, until))
    if out is not None:
        run.save(out, replace=force)
    picture = _draw(run, names, Path(stem_of(model) + ".png")) if plot else None
    rows = _reached(run, names)
    if as_json:
        told: dict[str, Any] = {"model": model, "time": run.time, "signals": rows}
        if picture is not None:
            told["plot"] = str(picture)
        echo(json.dumps(told, indent=2))
        return
    _say(model, run, rows)
    for what, path in (("recording", out), ("picture", picture)):
        if path is not None:
            echo(f"{what}: {path}")


def _refuse_catalog(model: str) -> None:
    from linkwright.elements.drives import DriveError
    from linkwright.formats.catalog.reader import is_catalog

    if model.endswith(".toml") and Path(model).is_file() and is_catalog(model):
        raise DriveError(
            f"{model} is a catalog: it names the parts of drives, but neither what they turn nor "
            "their controllers",
            remedy="write the System of the sizing: lw.write_model(found.system()), and give its "
            "file",
            code="R423",
        )


def _drives(system: System, joint: str) -> list[str]:
    from linkwright.base.errors import suggestion
    from linkwright.elements.drives import Chain, CoupledDrives, Drive, DriveError

    kinds = (Chain, CoupledDrives, Drive)
    known = [name for name, member in system.members.items() if isinstance(member.block, kinds)]
    if not known:
        raise DriveError(
            f"{system.name!r} has no drives", remedy="give a model with a Chain", code="R411"
        )
    if joint and joint not in known:
        raise DriveError(
            f"{system.name!r} has no drive {joint!r}",
            remedy=suggestion(joint, known, f"it has {', '.join(known)}"),
            code="R411",
        )
    return [joint] if joint else known


def _edit(system: System, names: list[str], settings: list[str], update: str, model: str) -> None:
    """Change chains where a setting names a field of theirs, and the System otherwise."""
    from linkwright.cli.models import read_settings
    from linkwright.elements.drives import Chain
    from linkwright.system.composite import exchange_member

    blocks = [system.members[name].block for name in names]
    units = {key: u for block in blocks if isinstance(block, Chain) for key, u in _units(block)}
    plain = [text for text in settings if text.partition("=")[0].strip() not in units]
    given: dict[str, Any] = dict(read_settings(plain, model=model))
    for text in settings:
        if text not in plain:
            key, _, value = (part.strip() for part in text.partition("="))
            given[key] = _amount(key, value, units[key])
    for name in names:
        block = system.members[name].block
        if not isinstance(block, Chain):
            continue
        edits = {key: value for key, value in given.items() if key in block.editable()}
        edits |= {"update": update} if update else {}
        if edits:
            exchange_member(system, name, block.edited(edits))
        given = {key: value for key, value in given.items() if key not in edits}
    system.set(given)


def _units(chain: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a chain's parts that are numbers, with their units."""
    for part in chain.parts.all:
        for item in fields(part):
            if "unit" in item.metadata:
                yield f"{part.role}.{item.name}", item.metadata["unit"]


def _amount(key: str, value: str, unit: str) -> float:
    """Return a number in the unit of a field of a part."""
    from linkwright.algebra.units import amount
    from linkwright.base.errors import Error
    from linkwright.elements.drives import DriveError

    try:
        return amount(value, f"--set {key}", unit)
    except Error as error:
        raise DriveError(error.what, remedy=error.remedy, code="R401") from None


def _every(system: System, until: float | None) -> int | None:
    """Return 1, so that no peak is missed, unless that makes a very long recording."""
    timing = system.mechanism.timing
    end = until or (timing.until if timing else 10.0)
    short = not system.is_continuous and end / float(system.clock().tick) < _MOST
    return 1 if short else None


def _refuse_taken(path: Path | None, allowed: bool) -> None:
    from linkwright.base.errors import InputError

    if path is not None and path.exists() and not allowed:
        raise InputError(f"{path} is there already", remedy="--force overwrites it")


def _channels(run: Run, names: list[str]) -> list[Any]:
    return [
        c
        for c in run.recording.channels
        if any(c.name.startswith(f"{name}.") for name in names) and "[" not in c.name
    ]


def _reached(run: Run, names: list[str]) -> list[dict[str, Any]]:
    """Return what each signal reached, when, and where it ended."""
    import numpy as np

    rows = []
    for channel in _channels(run, names):
        values = run[channel.name]
        at = int(np.argmax(np.abs(values)))
        rows.append(
            {
                "signal": channel.name,
                "peak": float(values[at]),
                "time": float(run.times[at]),
                "final": float(values[-1]),
                "unit": "" if channel.unit in ("?", "1") else channel.unit,
            }
        )
    return rows


def _say(model: str, run: Run, rows: list[dict[str, Any]]) -> None:
    from linkwright.cli.tables import print_table

    table = [
        (r["signal"], f"{r['peak']:.6g}", f"{r['time']:.4g}", f"{r['final']:.6g}", r["unit"])
        for r in rows
    ]
    head = ("signal", "peak", "at s", "final", "unit")
    title = f"{model}: {run.time:g} s"
    print_table(head, table, title=title, numbers=["peak", "at s", "final"])


def _draw(run: Run, names: list[str], path: Path) -> Path:
    from linkwright.recording.plots import figure, save_figure

    wanted = [c.name for c in _channels(run, names)]
    save_figure(path, figure([run.recording], wanted))
    return path
