"""``linkwright simulate``: run a model, record it, say what happened."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from linkwright.cli.models import INITIAL, MODEL, SET, TRUST, UNTIL
from linkwright.cli.terminal import echo
from linkwright.simulation.settings import DEFAULTS, RunSettings

if TYPE_CHECKING:
    from linkwright.simulation.run import Run

_OUT = typer.Option(
    None,
    "-o",
    "--out",
    metavar="FILE",
    help="The recording: .parquet, .csv, .npz, .mcap, .erd or dNNNNN. Default: MODEL.parquet "
    "(.npz without PyArrow) in this folder, replaced if it is there.",
)
_SHOWN = 12


class _Base(StrEnum):
    file = "file"
    free = "free"
    fixed = "fixed"


_BASE = typer.Option(
    _Base.file,
    "--base",
    metavar="KIND",
    help="Base of a robot file: file (as in the file), free or fixed.",
)


def command(
    model: str = MODEL,
    until: float | None = UNTIL,
    step: float | None = typer.Option(
        None,
        "--step",
        metavar="H",
        help="Step in s of a fixed-step method; otherwise the time between samples.",
    ),
    method: str = typer.Option(
        DEFAULTS.method,
        "--method",
        metavar="NAME",
        help="dop853, dopri5, rodas4 (stiff); fixed steps: midpoint, rk4, semi-implicit, "
        "implicit-speeds (strong damping), verlet.",
    ),
    settings: list[str] = SET,
    initial: list[str] = INITIAL,
    every: int | None = typer.Option(
        None, "--every", metavar="N", help="Record every N steps. Default: about 1000 samples."
    ),
    tolerance: float = typer.Option(
        DEFAULTS.tolerance,
        "--tolerance",
        metavar="E",
        help="Relative error per step of an adaptive method.",
    ),
    absolute: float | None = typer.Option(
        None, "--absolute", metavar="E", help="The same for states near zero, in SI units."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the noise."),
    reactions: bool = typer.Option(
        False, "--reactions", help="Also record the reaction forces and moments in all joints."
    ),
    ground: bool = typer.Option(
        False,
        "--ground",
        help="Add ground contact for a robot file: its own plane, or z = 0.",
    ),
    base: _Base = _BASE,
    no_limits: bool = typer.Option(False, "--no-limits", help="Ignore joint limits."),
    trust: bool = TRUST,
    out: Path | None = _OUT,
    plot: bool = typer.Option(False, "--plot", help="Also plot the recording as a PNG."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print only errors."),
    force: bool = typer.Option(False, "--force", help="Overwrite existing files."),
) -> None:
    """Simulate a model, and write a recording.

    \b
    Examples:
      linkwright simulate pendulum
      linkwright simulate stanford-arm-controlled --until 10 --plot
      linkwright simulate slider-crank --reactions
      linkwright simulate quadruped.urdf --ground --until 2
      linkwright simulate car --set STEER=0.02 --method rk4 --step 0.001 --out turn.csv
    """
    from linkwright.base.errors import InputError
    from linkwright.cli.models import read_settings
    from linkwright.cli.progress import run_bar
    from linkwright.models.runner import Request, run_model
    from linkwright.models.sources import stem_of
    from linkwright.models.starts import STARTS

    if plot and find_spec("matplotlib") is None:
        raise InputError(
            "a picture needs Matplotlib, which is not installed",
            remedy="pip install 'linkwright[plot]'",
        )
    request = Request(
        model,
        RunSettings(until, step, method, tolerance, absolute, every, seed=seed),
        read_settings(settings, model=model, trust=trust),
        read_settings(initial, "--initial", model, trust=trust) or dict(STARTS.get(model, {})),
        trust,
        reactions,
        ground,
        not no_limits,
        base.value,
    )
    ending = ".parquet" if find_spec("pyarrow") else ".npz"
    target = Path(stem_of(model) + ending) if out is None else out
    with run_bar(f"simulating {model}", quiet=quiet or as_json) as show:
        found = run_model(
            request,
            target,
            replace_file=force or out is None,
            replace_journal=force,
            progress=show,
        )
    picture = _draw(found, target) if plot and len(found.recording) > 1 else None
    if as_json:
        echo(json.dumps(_told(found, picture), indent=2))
    elif not quiet:
        if model in STARTS and not initial:
            shown = ", ".join(f"{n} = {v:g}" for n, v in STARTS[model].items())
            echo(f"{model} starts with {shown}; --initial starts it otherwise")
        _say(model, found, picture)
    if found.failed:
        _fail(found)
    if found.interrupted:
        raise typer.Exit(130)


def _fail(found: Run) -> None:
    """Raise the error of a run that could not go on."""
    from linkwright.base.errors import DomainError

    kept = "nothing was recorded"
    if found.path is not None:
        end = found.recording.times[-1]
        kept = f"{len(found.recording)} samples up to t = {end:.6g} s are in {found.path}"
    assert found.stop is not None
    raise DomainError(f"the run stopped: {found.stop.reason}; {kept}", remedy=found.remedy)


def _draw(found: Run, target: Path) -> Path:
    """Write a picture of a recording beside it."""
    from linkwright.recording.plots import figure, save_figure

    picture = target.with_suffix(".png")
    save_figure(picture, figure([found.recording]))
    return picture


def _told(found: Run, picture: Path | None) -> dict[str, Any]:
    """Return what happened, for machines."""
    from linkwright.simulation.balance import balance

    energies = balance(found.recording)
    info: dict[str, Any] = {
        "model": found.recording.metadata["model"],
        "time": found.time,
        "final": found.recording.final,
        "energy": None if energies is None else energies.as_dict(),
        "steps": found.steps,
        "seconds": found.seconds,
        "preparing": found.preparing,
        "samples": len(found.recording),
        "events": [{"name": e.name, "time": e.time} for e in found.events],
        "recording": None if found.path is None else str(found.path),
        "method": found.recording.metadata["method"],
        "step": found.recording.metadata["step"],
        "hash": found.recording.metadata.get("hash", ""),
    }
    if picture is not None:
        info["plot"] = str(picture)
    if found.stop is not None:
        info["stopped"] = dict(found.metadata["stopped"])
    if found.interrupted:
        info["interrupted"] = True
    return info


def _say(model: str, found: Run, picture: Path | None) -> None:
    """Say what happened, in words."""
    from linkwright.cli.progress import brief_seconds, real_time
    from linkwright.simulation.balance import balance

    pace = real_time(found.time, found.seconds)
    about = found.recording.metadata
    echo(
        f"{model}: {found.time:g} s simulated in {brief_seconds(found.seconds)} ({pace}), "
        f"{found.steps:,} steps of {about['method']}, "
        f"after {brief_seconds(found.preparing)} of preparing"
    )
    if found.interrupted:
        kept = "nothing was recorded" if found.path is None else "what was recorded is kept"
        echo(f"interrupted at t = {found.time:.6g} s; {kept}")
    elif found.stop is not None and not found.failed:
        echo(found.stop.reason)
    for event in found.events[:_SHOWN]:
        echo(f"event at t = {event.time:.6g} s: {event.name}")
    if len(found.events) > _SHOWN:
        echo(f"and {len(found.events) - _SHOWN} more events")
    for sentence in found.report:
        echo(sentence)
    _say_final(found)
    energies = balance(found.recording.printed)
    if energies is not None and energies.scale > 0:
        worked = f", work of loads {energies.work:.6g} {energies.unit}" if energies.work else ""
        if energies.drift is not None:
            worked += f"; {abs(energies.drift):.2g} {energies.unit} unaccounted for"
        elif worked and not about.get("driven"):
            worked += " as sampled: end stops and loads that jump work between samples too"
        echo(
            f"energy: {energies.kinetic:.6g} {energies.unit} kinetic, "
            f"{energies.potential:.6g} {energies.unit} potential; gain {energies.gain:.6g} "
            f"{energies.unit}{worked}"
        )
    if found.path is not None:
        size = f"{len(found.recording)} samples of {len(found.recording.channels)} channels"
        echo(f"recording: {found.path} ({size})")
    if picture is not None:
        echo(f"picture: {picture}")
        if sys.stdout.isatty():
            _draw_here(found)


def _say_final(found: Run) -> None:
    """Print the last values of the channels."""
    from linkwright.cli.tables import print_table

    if not len(found.recording):
        return
    printed = found.recording.printed
    last = printed.final
    rows = [
        (c.name, f"{last[c.name]:.6g}", "" if c.unit in ("?", "1") else c.unit, c.long)
        for c in printed.channels
        if not c.name.startswith("energy.")
    ]
    shown = rows if len(rows) <= 2 * _SHOWN else rows[: 2 * _SHOWN]
    title = f"at t = {found.recording.times[-1]:g} s"
    print_table(("channel", "value", "unit", "meaning"), shown, title=title, numbers=["value"])
    if len(shown) < len(rows):
        echo(f"and {len(rows) - len(shown)} more channels")


def _draw_here(found: Run) -> None:
    """Draw the recording in the terminal."""
    from linkwright.recording.plots import drawn_lines
    from linkwright.recording.terminal import text_plot

    for unit, lines in drawn_lines([found.recording], (), None, False, False, 0).items():
        for name, x, curves in lines:
            label = name if unit in ("?", "1") else f"{name} ({unit})"
            echo("\n".join([label, *text_plot(x, curves, width=72, height=6), ""]))
