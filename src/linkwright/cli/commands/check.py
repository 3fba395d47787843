"""``linkwright model check``: what a file is, and whether it is right."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.cli.robots import ROBOT, is_shipped, open_robot
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.formats.text.check import Report
    from linkwright.formats.text.document import ModelError
    from linkwright.mechanism import Mechanism
    from linkwright.mechanism.rigidity import Finding
    from linkwright.parallel.mobility_counts import Mobility

BAD = 1


def command(
    file: Annotated[str, typer.Argument(metavar="ROBOT", help=ROBOT)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="Set one of the model's options, as in n=4."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run C and Python code in the file. Read it first."),
    ] = False,
    repair: Annotated[
        Path | None,
        typer.Option("--repair", metavar="OUT", help="Write a repaired copy of the robot."),
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option("--mesh-dir", metavar="DIR", help="A folder with meshes (repeatable)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT if it exists.")] = False,
) -> None:
    """Check a model, robot file, catalog, cell or laboratory: syntax, equations, plausibility.

    \b
    Examples:
      linkwright model check swing.toml
      linkwright model check robot.urdf --repair better.urdf
      linkwright model check sl-arm
    """
    from linkwright.formats.catalog.reader import is_catalog
    from linkwright.formats.robot.files import robot_format
    from linkwright.lab.sources import is_lab
    from linkwright.server.cell_file import is_cell

    if is_cell(file):
        _check_cell(file, as_json)
        return
    if is_catalog(file):
        _check_catalog(file, as_json)
        return
    if is_lab(file):
        _check_lab(file, as_json, repair, force)
        return
    key = robot_format(file) if Path(file).is_file() else None
    if key in (None, "text") and repair is None:
        _check_model(file, as_json, option or [], trust)
    else:
        _check_robot(file, as_json, root or [], repair, force)


def _check_model(file: str, as_json: bool, option: list[str], trust: bool) -> None:
    report, mechanism = _model_report(file, option, trust)
    counted = mobility_of(mechanism)
    if as_json:
        info: dict[str, Any] = {
            "facts": [{"what": label, "is": text} for label, text in report.facts],
            "warnings": report.warnings,
            "findings": [asdict(found) for found in report.findings],
        }
        if counted is not None:
            info["mobility"] = {**asdict(counted), "words": counted.words}
        echo(json.dumps(info, indent=2))
    else:
        for label, text in report.facts:
            echo(f"{label:<12} {text}")
        if counted is not None:
            echo(f"{'mobility':<12} {counted.words}")
        for warning in report.warnings:
            echo(f"warning: {warning}", err=True)
        for found in report.findings:
            echo(_line(found), err=True)
        echo(f"{file}: {_state(report.findings, len(report.warnings))}")
    if any(found.severity == "error" for found in report.findings):
        raise typer.Exit(BAD)


def mobility_of(mechanism: Mechanism) -> Mobility | None:
    """Return the mobility of a mechanism with closed loops whose numbers are known."""
    from linkwright.parallel.mobility_counts import mobility

    if not mechanism.constraints or any(n not in mechanism.values for n in mechanism.parameters):
        return None
    return mobility(mechanism)


def _model_report(file: str, option: list[str], trust: bool) -> tuple[Report, Mechanism]:
    from linkwright.formats.text.check import check_model
    from linkwright.formats.text.document import ModelError
    from linkwright.formats.text.files import open_model
    from linkwright.mechanism import mechanism_of

    if is_shipped(file):
        from linkwright.models import opened

        model = opened(":".join([file, *([",".join(option)] if option else [])]))
        return check_model(model), mechanism_of(model)
    try:
        document = open_model(file)
    except ModelError as error:
        _say_all_but_first(error)
        raise
    build = document.system if document.model.is_system else document.build
    model = build(options=_options(option), trust=trust)
    return check_model(model), mechanism_of(model)


def _check_catalog(file: str, as_json: bool) -> None:
    from linkwright.formats.catalog.reader import read_catalog
    from linkwright.formats.catalog.schema import KINDS
    from linkwright.formats.text.document import ModelError

    try:
        catalog = read_catalog(file)
    except ModelError as error:
        _say_all_but_first(error)
        raise
    counts = {kind: len(getattr(catalog, kind)) for kind in KINDS}
    if as_json:
        echo(json.dumps({"facts": [{"what": k, "is": n} for k, n in counts.items()]}, indent=2))
        return
    for kind, count in counts.items():
        echo(f"{kind:<12} {count}")
    echo(f"{file}: sound")


def _check_cell(file: str, as_json: bool) -> None:
    from linkwright.formats.text.document import ModelError
    from linkwright.server.cell_file import read_cell, refuse_weak
    from linkwright.server.cell_system import refuse_unbuilt
    from linkwright.server.listening import listening_of

    try:
        cell = read_cell(file)
        refuse_unbuilt(cell)
        refuse_weak(cell)
        notes = listening_of(cell).notes
    except ModelError as error:
        _say_all_but_first(error)
        raise
    facts = [("cell", cell.name), ("rate", f"{cell.rate:g} Hz"), ("address", cell.address)]
    facts += [("arm", f"{arm.name}: {arm.model}, {len(arm.axes)} axes") for arm in cell.arms]
    facts += [("frame", f"{frame.name}: {frame.kind}") for frame in cell.frames]
    facts += [("sensor", f"{sensor.name}: {sensor.kind}") for sensor in cell.sensors]
    facts += [("client", f"{client.name}: {', '.join(client.rights)}") for client in cell.clients]
    if as_json:
        told = {"facts": [{"what": k, "is": v} for k, v in facts], "notes": list(notes)}
        echo(json.dumps(told, indent=2))
        return
    for label, text in facts:
        echo(f"{label:<12} {text}")
    for note in notes:
        echo(f"note: {note}", err=True)
    echo(f"{file}: sound")


def _check_lab(file: str, as_json: bool, repair: Path | None, force: bool) -> None:
    from linkwright.formats.robot.plausibility import description_findings, repaired
    from linkwright.formats.text.document import ModelError
    from linkwright.lab.contacts import law_of, surface_of
    from linkwright.lab.files.conversion import convert_lab
    from linkwright.lab.files.summary import lab_facts, preference_faults
    from linkwright.lab.sources import lab_config

    try:
        config = lab_config(file)
    except ModelError as error:
        _say_all_but_first(error)
        raise
    for thing in config.objects:
        surface_of(thing)
        if thing.contact_model:
            law_of(thing)
    faults = preference_faults(config)
    if faults:
        for fault in faults[1:]:
            echo(f"also: {fault}", err=True)
        raise faults[0]
    findings = left = description_findings(config.description)
    files: list[str] = []
    if repair is not None:
        better, left = repaired(config.description)
        done = convert_lab(replace(config, description=better), repair, replace=force)
        files = [str(path) for path in done.files]
    facts, notes = lab_facts(config), (*config.description.notes, *config.notes)
    if as_json:
        report = {
            "facts": [{"what": label, "is": text} for label, text in facts],
            "findings": [asdict(found) for found in findings],
            "notes": list(notes),
            "written": files,
        }
        echo(json.dumps(report, indent=2))
    else:
        for label, text in facts:
            echo(f"{label:<12} {text}")
        for note in notes:
            echo(note if note.startswith("not read") else f"note: {note}", err=True)
        for found in findings:
            echo(_line(found), err=True)
        echo(_verdict(file, findings, left, files))
    if any(found.severity == "error" for found in left):
        raise typer.Exit(BAD)


def _say_all_but_first(error: ModelError) -> None:
    """Print what is wrong beside the first fault, which the error itself says."""
    for fault in error.faults[1:]:
        echo(f"also: {fault}", err=True)


def _check_robot(
    file: str, as_json: bool, roots: list[Path], repair: Path | None, force: bool
) -> None:
    from linkwright.formats.robot.conversion import write_description
    from linkwright.formats.robot.plausibility import description_findings, repaired
    from linkwright.formats.robot.summary import summary

    robot, form = open_robot(file, roots)
    findings = description_findings(robot)
    left = findings
    files: list[str] = []
    if repair is not None:
        better, left = repaired(robot)
        files = [str(path) for path in write_description(better, repair, replace=force).files]
    facts = summary(robot, form)
    if as_json:
        report = {
            "facts": [{"what": label, "is": text} for label, text in facts],
            "findings": [asdict(found) for found in findings],
            "not read": [asdict(entry) for entry in robot.ignored],
            "notes": list(robot.notes),
            "written": files,
        }
        echo(json.dumps(report, indent=2))
    else:
        for label, text in facts:
            echo(f"{label:<12} {text}")
        for entry in robot.ignored:
            echo(f"not read: {entry.words}", err=True)
        for note in robot.notes:
            echo(f"note: {note}", err=True)
        for found in findings:
            echo(_line(found), err=True)
        echo(_verdict(file, findings, left, files))
    if any(found.severity == "error" for found in left):
        raise typer.Exit(BAD)


def _line(found: Finding) -> str:
    offer = f" (repair: {found.repair})" if found.repair else ""
    return f"{found.severity}: {found}{offer}"


def _verdict(
    file: str, findings: tuple[Finding, ...], left: tuple[Finding, ...], files: list[str]
) -> str:
    state = _state(findings)
    if not files:
        return f"{file}: {state}"
    serious = sum(found.severity != "note" for found in left)
    rest = f", {serious} finding(s) left" if serious else ""
    return f"{file}: {state}; wrote {', '.join(files)}{rest}"


def _state(findings: tuple[Finding, ...], warnings: int = 0) -> str:
    """Return in words how many errors and warnings there are."""
    counts = {s: sum(f.severity == s for f in findings) for s in ("error", "warning")}
    counts["warning"] += warnings
    words = ", ".join(f"{count} {severity}(s)" for severity, count in counts.items() if count)
    return f"with {words}" if words else "sound"


def _options(words: list[str]) -> dict[str, int]:
    from linkwright.base.errors import InputError
    from linkwright.base.files import integer
    from linkwright.base.reprs import brief

    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        number = integer(value)
        if not equals or number is None:
            raise InputError(f"option {brief(word)} is not NAME=N with a whole number N")
        found[name.strip()] = number
    return found
