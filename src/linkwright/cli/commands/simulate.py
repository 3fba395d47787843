"""``linkwright simulate``: run a model, record it, say what happened."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.cli.options import (
    Base,
    Force,
    Initial,
    Model,
    Seed,
    Set,
    Trust,
    Until,
    option,
    own,
    read_settings,
)
from linkwright.cli.results import CommandResult, TextTable
from linkwright.simulation.settings import DEFAULTS, RunSettings

if TYPE_CHECKING:
    from linkwright.cli.progress import Show
    from linkwright.simulation.run import Run

OUT = (
    "A recording: .parquet, .csv, .npz, .mcap, .mat, .erd or dNNNNN. Default: MODEL.parquet (.npz "
    "without PyArrow) in this folder, replaced if it is there."
)
METHOD = (
    "dop853, dopri5, rodas4 (stiff); fixed steps: midpoint, rk4, semi-implicit, implicit-speeds "
    "(strong damping), verlet; auto says what it chose."
)
REACTIONS = "Also record the reaction forces and moments in all joints."
GROUND = "Add ground contact for a robot file: its own plane, or z = 0."
_SHOWN = 12


def command(
    model: Model,
    until: Until = None,
    step: Annotated[
        float | None,
        option("--step", "Of a fixed-step method; otherwise the time between samples."),
    ] = None,
    method: Annotated[str, own("NAME", METHOD)] = DEFAULTS.method,
    settings: Set = None,
    initial: Initial = None,
    every: Annotated[
        int | None,
        own("N", "Record every N steps. Default: about 1000 samples."),
    ] = None,
    tolerance: Annotated[
        float, own("E", "Relative error per step of an adaptive method.")
    ] = DEFAULTS.tolerance,
    absolute: Annotated[
        float | None,
        own("E", "The same for states near zero, in SI units."),
    ] = None,
    seed: Seed = 0,
    reactions: Annotated[bool, own(None, REACTIONS, "--reactions")] = False,
    ground: Annotated[bool, own(None, GROUND, "--ground")] = False,
    base: Annotated[Base, option("--base")] = Base.file,
    no_limits: Annotated[bool, own(None, "Ignore joint limits.", "--no-limits")] = False,
    trust: Trust = False,
    out: Annotated[Path | None, option("--out", OUT)] = None,
    plot: Annotated[bool, option("--plot")] = False,
    force: Force = False,
    quiet: bool = False,
) -> CommandResult:
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
        _base_of(model, base),
    )
    ending = ".parquet" if find_spec("pyarrow") else ".npz"
    target = Path(stem_of(model) + ending) if out is None else out
    with _bar(model, quiet) as show:
        found = run_model(
            request,
            target,
            replace_file=force or out is None,
            replace_journal=force,
            progress=show,
        )
    picture = _draw(found, target) if plot and len(found.recording) > 1 else None
    start = {} if initial else STARTS.get(model, {})
    return CommandResult(
        lambda: _data(found, picture),
        _text(model, found, start, picture),
        next=f"plot {found.path}" if found.path is not None else "",
        code=130 if found.interrupted else 0,
        error=_failure(found) if found.failed else None,
    )


def _bar(model: str, quiet: bool) -> AbstractContextManager[Show | None]:
    """Return the bar that shows how far the run is, or nothing."""
    if quiet:
        return nullcontext()
    from linkwright.cli.progress import run_bar

    return run_bar(f"simulating {model}")


def _base_of(model: str, base: Base) -> str:
    """Return how the base of a robot file is held; `auto` lets go of one that walks."""
    if base is not Base.auto:
        return base.value
    from linkwright.formats.robot.files import robot_format

    if not Path(model).is_file() or robot_format(model) in (None, "text"):
        return "file"
    from linkwright.robots import Robot
    from linkwright.scene.stance import walks

    return "free" if walks(Robot(model), ()) else "file"


def _failure(found: Run) -> Any:
    """Return the error of a run that could not go on."""
    from linkwright.base.errors import DomainError

    kept = "nothing was recorded"
    if found.path is not None:
        end = found.recording.times[-1]
        kept = f"{len(found.recording)} samples up to t = {end:.6g} s are in {found.path}"
    assert found.stop is not None
    return DomainError(f"the run stopped: {found.stop.reason}; {kept}", remedy=found.remedy)


def _draw(found: Run, target: Path) -> Path:
    """Write a picture of a recording beside it."""
    from linkwright.recording.plots import figure, save_figure

    picture = target.with_suffix(".png")
    save_figure(picture, figure([found.recording]))
    return picture


def _data(found: Run, picture: Path | None) -> dict[str, Any]:
    """Return what happened, for programs."""
    from linkwright.simulation.balance import balance

    about = found.recording.metadata
    data: dict[str, Any] = {
        "model": about["model"],
        "time_s": found.time,
        "final": found.recording.final,
        "energy": balance(found.recording),
        "steps": found.steps,
        "run_s": found.seconds,
        "preparing_s": found.preparing,
        "samples": len(found.recording),
        "events": [{"name": e.name, "time_s": e.time} for e in found.events],
        "recording": found.path,
        "method": about["method"],
        "step_s": about["step"],
        "hash": about.get("hash", ""),
    }
    if picture is not None:
        data["plot"] = picture
    if found.stop is not None:
        data["stopped"] = found.metadata["stopped"]
    if found.interrupted:
        data["interrupted"] = True
    return data


def _text(
    model: str, found: Run, start: dict[str, float], picture: Path | None
) -> Iterator[str | TextTable]:
    """Yield what happened, in words."""
    from linkwright.cli.progress import brief_seconds, real_time

    if start:
        shown = ", ".join(f"{n} = {v:g}" for n, v in start.items())
        yield f"{model} starts with {shown}; --initial starts it otherwise"
    yield (
        f"{model}: {found.time:g} s simulated in {brief_seconds(found.seconds)} "
        f"({real_time(found.time, found.seconds)}), {found.steps:,} steps of "
        f"{found.recording.metadata['method']}, after {brief_seconds(found.preparing)} of preparing"
    )
    if found.interrupted:
        kept = "nothing was recorded" if found.path is None else "what was recorded is kept"
        yield f"interrupted at t = {found.time:.6g} s; {kept}"
    elif found.stop is not None and not found.failed:
        yield found.stop.reason
    for event in found.events[:_SHOWN]:
        yield f"event at t = {event.time:.6g} s: {event.name}"
    if len(found.events) > _SHOWN:
        yield f"and {len(found.events) - _SHOWN} more events"
    yield from found.report
    yield from _final(found)
    yield from _energy(found)
    if found.path is not None:
        size = f"{len(found.recording)} samples of {len(found.recording.channels)} channels"
        yield f"recording: {found.path} ({size})"
    if picture is not None:
        yield f"picture: {picture}"
        if sys.stdout.isatty():
            yield from _drawing(found)


def _final(found: Run) -> Iterator[str | TextTable]:
    """Yield the last values of the channels."""
    if not len(found.recording):
        return
    printed = found.recording.printed
    last = printed.final
    rows = [
        (c.name, f"{last[c.name]:.6g}", "" if c.unit in ("?", "1") else c.unit, c.long)
        for c in printed.channels
        if not c.name.startswith("energy.")
    ]
    shown = rows[: 2 * _SHOWN]
    title = f"at t = {found.recording.times[-1]:g} s"
    yield TextTable(("channel", "value", "unit", "meaning"), shown, title, ["value"])
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown)} more channels"


def _energy(found: Run) -> Iterator[str]:
    from linkwright.simulation.balance import balance

    e = balance(found.recording.printed)
    if e is None or not e.scale > 0:
        return
    worked = f", work of loads {e.work:.6g} {e.unit}" if e.work else ""
    if e.drift is not None:
        worked += f"; {abs(e.drift):.2g} {e.unit} unaccounted for"
    elif worked and not found.recording.metadata.get("driven"):
        worked += " as sampled: end stops and loads that jump work between samples too"
    yield (
        f"energy: {e.kinetic:.6g} {e.unit} kinetic, {e.potential:.6g} {e.unit} potential; gain "
        f"{e.gain:.6g} {e.unit}{worked}"
    )


def _drawing(found: Run) -> Iterator[str]:
    """Yield the recording, drawn in the terminal."""
    from linkwright.recording.plots import drawn_lines
    from linkwright.recording.terminal import text_plot

    for unit, lines in drawn_lines([found.recording], (), None, False, False, 0).items():
        for name, x, curves in lines:
            label = name if unit in ("?", "1") else f"{name} ({unit})"
            yield "\n".join([label, *text_plot(x, curves, width=72, height=6), ""])
