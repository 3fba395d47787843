"""``linkwright analyze drives``: run the drives of joints, fit them, and cut their loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.base.errors import Error, InputError, unknown
from linkwright.base.files import write_text
from linkwright.cli.options import Force, Model, Seed, Set, Until, option, own, read_settings
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.linear.frequency import OpenLoop
    from linkwright.linear.limit_cycles import LimitCycle
    from linkwright.simulation.run import Run
    from linkwright.system import System

FIT = "Find the parameters of a drive from a recording instead."
VALIDATE = "With --fit: judge them by another recording."
UPDATE = "exact, simultaneous or sequential, of a chain."
BODE = "Cut the position, speed or current loop, or a port: margins, and a Bode plot."

FILTER = "Add the Kalman filter of the chain: XHAT, SIGMAX, ZHAT, DZ and NIS."
FEEDBACK = "Give the controller what the filter makes of the sensors."
PRINT = "Write JNTMOD's prints: initial conditions, all arrays by block, and the filter."
EVERY = "Interval of the prints, s. Default: each instant."

_MOST = 200_000
"""Samples of a recording, at most, in which each instant has one."""
_MISFIT = 10.0
"""Innovations squared of a fit, in units of their variance, at most."""
_ARRAYS = ("R", "U", "XHOM", "XPAR", "XWON", "W", "Z", "ZWON", "V", "y", "DZ", "ZHAT")
_BENT = ("gap", "second_stiffness", "hysteresis")


def command(
    model: Model,
    joint: Annotated[str, own("NAME", "This drive alone.")] = "",
    until: Until = None,
    settings: Set = None,
    update: Annotated[str, own("RULE", UPDATE)] = "",
    seed: Seed = 0,
    out: Annotated[Path | None, option("--out", "The recording: .parquet, .csv, .npz, ...")] = None,
    plot: Annotated[bool, option("--plot")] = False,
    fit: Annotated[Path | None, own("FILE", FIT)] = None,
    validate: Annotated[Path | None, own("FILE", VALIDATE)] = None,
    bode: Annotated[str, own("LOOP", BODE)] = "",
    limit_cycle: Annotated[
        bool, own(None, "Find the limit cycles of the gear instead.", "--limit-cycle")
    ] = False,
    kalman: Annotated[bool, own(None, FILTER, "--filter")] = False,
    feedback: Annotated[bool, own(None, FEEDBACK, "--filter-feedback")] = False,
    listing: Annotated[Path | None, own("FILE", PRINT, "--print")] = None,
    every: Annotated[float | None, own("S", EVERY, "--print-every")] = None,
    force: Force = False,
) -> CommandResult:
    """Run the drives of a model: what each signal reaches, and when.

    \b
    Examples:
      linkwright analyze drives joint-drive --until 2 --plot
      linkwright analyze drives joint-drive:noise=1 --update sequential --seed 3
      linkwright analyze drives joint-drive --set motor.R=1.2 --set reference=0.3 -o run.csv
      linkwright analyze drives shoulder.toml --fit run.parquet --validate other.parquet
      linkwright analyze drives joint-drive --bode position
      linkwright analyze drives shoulder.toml --joint joint --bode position --limit-cycle
      linkwright analyze drives joint-drive:noise=1 --filter-feedback --print joint.txt
    """
    from linkwright.models.library import opened
    from linkwright.models.sources import stem_of
    from linkwright.recording.plots import figure, save_figure
    from linkwright.simulation import simulate
    from linkwright.system import System

    _refuse_catalog(model)
    found = opened(model)
    if not isinstance(found, System):
        found = System(found)
    names = _drives(found, joint)
    _edit(found, names, settings or [], update, model)
    if fit is not None:
        return _fitted(found.members[names[0]].block, fit, validate)
    if bode or limit_cycle:
        pictures = {n: Path(f"{stem_of(model)}-{n}-bode.png") for n in names} if bode else {}
        return _loops(found, names, bode, limit_cycle, pictures, force)
    picture = Path(stem_of(model) + ".png") if plot else None
    _refuse_taken(out, force)
    _refuse_taken(listing, force)
    filters = _filters(found, names, feedback) if kalman or feedback else {}
    _refuse_taken(picture, force or out is None)
    run = simulate(found, until, seed=seed, every=_every(found, until))
    if listing is not None:
        write_text(listing, _prints(run, found, names, filters, every), replace=force)
    if out is not None:
        run.recording.with_extrema().save(out, replace=force)
    if picture is not None:
        save_figure(picture, figure([run.recording], [c.name for c in _channels(run, names)]))
    rows = _reached(run, [*names, *filters.values()])
    table = [
        (r["signal"], f"{r['peak']:.6g}", f"{r['time_s']:.4g}", f"{r['final']:.6g}", r["unit"])
        for r in rows
    ]
    head = ("signal", "peak", "at s", "final", "unit")
    return CommandResult(
        {"model": model, "time_s": run.time, "signals": rows},
        [TextTable(head, table, f"{model}: {run.time:g} s", ["peak", "at s", "final"])],
        files={"recording": out, "plot": picture, "print": listing},
        next=f"plot {out}" if out is not None else f"analyze drives {model} --bode position",
    )


def _refuse_catalog(model: str) -> None:
    from linkwright.elements.drives.parts import DriveError
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
    from linkwright.elements.drives import Chain, CoupledDrives, Drive
    from linkwright.elements.drives.parts import DriveError

    kinds = (Chain, CoupledDrives, Drive)
    known = [name for name, member in system.members.items() if isinstance(member.block, kinds)]
    if not known:
        raise DriveError(
            f"{system.name!r} has no drives", remedy="give a model with a Chain", code="R411"
        )
    if joint and joint not in known:
        raise unknown("drive", joint, known, owner=repr(system.name), kind=DriveError, code="R411")
    return [joint] if joint else known


def _edit(system: System, names: list[str], settings: list[str], update: str, model: str) -> None:
    """Change chains where a setting names a field of theirs, and the System otherwise."""
    from linkwright.elements.drives import Chain
    from linkwright.system.composite import exchange_member

    blocks = [system.members[name].block for name in names]
    units = {key: u for block in blocks if isinstance(block, Chain) for key, u in _units(block)}
    own = [text for text in settings if text.partition("=")[0].strip() in units]
    given: dict[str, Any] = dict(read_settings([t for t in settings if t not in own], model=model))
    for text in own:
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
    system.set_parameters(given)


def _units(chain: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a chain's parts that are numbers, with their units."""
    for part in chain.parts.all:
        for item in fields(part):
            if "unit" in item.metadata:
                yield f"{part.role}.{item.name}", item.metadata["unit"]


def _amount(key: str, value: str, unit: str) -> float:
    """Return a number in the unit of a field of a part."""
    from linkwright.algebra.units import amount
    from linkwright.elements.drives.parts import DriveError

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


def _filters(system: System, names: list[str], feedback: bool) -> dict[str, str]:
    """Add a filter to each chain."""
    from linkwright.linear.drive_filter import add_filter

    return {name: add_filter(system, name, feedback=feedback) for name in names}


def _prints(
    run: Run, system: System, names: list[str], filters: dict[str, str], every: float | None
) -> str:
    """Return the prints of all chains."""
    from linkwright.elements.drives import Chain
    from linkwright.elements.drives.parts import DriveError
    from linkwright.heritage.joint_prints import joint_print

    texts = []
    for name in names:
        block = system.members[name].block
        if not isinstance(block, Chain) or block.rate is None:
            raise DriveError(
                f"{name!r} has no arrays to print: it is not a Chain with a rate",
                remedy="give a Chain with a rate, such as joint-drive",
                code="R411",
            )
        texts.append(joint_print(run.recording, name, block, every, filters.get(name, "")))
    return "\n".join(texts)


def _refuse_taken(path: Path | None, allowed: bool) -> None:
    if path is not None and path.exists() and not allowed:
        raise InputError(f"{path} is there already", remedy="--force overwrites it", code="R112")


def _channels(run: Run, names: list[str]) -> list[Any]:
    return [
        c
        for c in run.recording.channels
        if any(c.name.startswith(f"{name}.") for name in names)
        and "[" not in c.name
        and not any(f".{array}." in c.name for array in _ARRAYS)
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
                "time_s": float(run.times[at]),
                "final": float(values[-1]),
                "unit": "" if channel.unit in ("?", "1") else channel.unit,
            }
        )
    return rows


# -- fits ------------------------------------------------------------------------------------------
def _fitted(chain: Any, fit: Path, validate: Path | None) -> CommandResult:
    """Fit a drive to a recording."""
    from linkwright.elements.drives import Chain
    from linkwright.elements.drives.parts import DriveError
    from linkwright.recording import read_recording
    from linkwright.robots.identification import fit_drive

    if not isinstance(chain, Chain):
        raise DriveError(
            f"{chain.name!r} drives a joint of a mechanism, and has no load of its own",
            remedy="fit a Chain, with what it turns as its load",
            code="R652",
        )
    found = fit_drive(read_recording(fit), chain)
    if not found.nis < _MISFIT:
        raise DriveError(
            f"no parameters of {chain.name!r} explain {fit}: innovations squared are "
            f"{found.nis:.3g} in units of their variance, 1 where all fits",
            remedy="check units, signs and ratio of the recording, and that the drive has the "
            "parts that were recorded",
            code="R655",
        )
    data: dict[str, Any] = {
        "fit": fit,
        "parameters": [
            {
                "parameter": p.name,
                "value": p.value,
                "deviation": p.deviation,
                "confidence": p.confidence,
                "unit": p.unit,
            }
            for p in found.parameters
        ],
        "nis": found.nis,
    }
    came = f"{found.samples} samples at {found.rate:g} Hz"
    lines = [found.summary(), f"{came}; innovations squared {found.nis:.3g} (1 where all fits)"]
    if validate is not None:
        checked = found.validated(read_recording(validate))
        data["validation"] = {
            "recording": validate,
            "nis": checked.nis,
            "errors": checked.errors,
            "shares": checked.shares,
        }
        shares = ", ".join(f"{n} {100 * s:.2g} %" for n, s in checked.shares.items())
        lines.append(
            f"validation: innovations squared {checked.nis:.3g}; errors of a simulation: {shares}"
        )
    return CommandResult(data, lines)


# -- loops -----------------------------------------------------------------------------------------
def _loops(
    system: System,
    drives: list[str],
    bode: str,
    cycles: bool,
    pictures: dict[str, Path],
    force: bool,
) -> CommandResult:
    """Cut the loops of drives, draw them, and look for limit cycles."""
    from linkwright.linear import cut_loop, limit_cycles
    from linkwright.linear.cuts import drive_port
    from linkwright.recording.plots import save_figure

    data: list[dict[str, Any]] = []
    text: list[str | TextTable] = []
    loops: dict[str, OpenLoop] = {}
    for name in drives:
        found: dict[str, Any] = {"drive": name}
        if bode:
            loops[name] = cut_loop(system, drive_port(system, name, bode))
            _refuse_taken(pictures[name], force)
            margins = loops[name].margins()
            found |= {"cut": loops[name].port, **margins.as_dict(), "plot": pictures[name]}
            head, *rows = margins.table()
            title = f"{name}: loop cut at {loops[name].port}"
            text += [
                TextTable(head, rows, title, ["value", "at rad/s"]),
                f"picture: {pictures[name]}",
            ]
        if cycles:
            _refuse_linear(system, name)
            orbits = limit_cycles(system, f"{name}.train.torque", f"{name}.train.twist")
            found["limit_cycles"] = [orbit.as_dict() for orbit in orbits]
            text.append(_cycles(name, orbits))
        data.append(found)
    for name, loop in loops.items():
        save_figure(pictures[name], loop.response().bode())
    return CommandResult(data, text)


def _cycles(name: str, orbits: list[LimitCycle]) -> TextTable:
    keys = ("frequency_rad_s", "amplitude", "multiplier", "predicted_frequency_rad_s")
    columns = ("rad/s", "amplitude rad", "multiplier", "predicted rad/s", "kind")
    cells = [orbit.as_dict() for orbit in orbits]
    rows = [
        (*(f"{c[k]:.5g}" for k in keys), "stable" if c["stable"] else "unstable") for c in cells
    ]
    return TextTable(columns, rows, f"{name}: limit cycles of the gear's twist", columns[:4])


def _refuse_linear(system: System, name: str) -> None:
    """Raise an error where the limit cycles of a gear that is linear are asked for."""
    train = getattr(getattr(system.members[name].block, "parts", None), "train", None)
    if train is not None and not any(getattr(train, key, None) for key in _BENT):
        raise InputError(
            f"the gear of {name!r} is linear: it has no gap, no slopes and no hysteresis, so it "
            "makes no limit cycle",
            remedy="give the train a gap, in rad: --set train.gap=0.001",
            code="R611",
        )
