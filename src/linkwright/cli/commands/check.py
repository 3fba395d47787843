"""``linkwright model check``: what a file is, and whether it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.base.errors import InputError
from linkwright.cli.options import Force, MeshDirs, RobotModel, Trust, own
from linkwright.cli.results import CommandResult, labeled
from linkwright.cli.robots import is_shipped, open_robot
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.formats.text.check import Report
    from linkwright.mechanism import Mechanism
    from linkwright.mechanism.rigidity import Finding
    from linkwright.parallel.mobility_counts import Mobility

Facts = Sequence[tuple[str, object]]


def command(
    file: RobotModel,
    option: Annotated[
        list[str] | None,
        own("NAME=N", "Set one of the model's options, as in n=4."),
    ] = None,
    trust: Trust = False,
    repair: Annotated[
        Path | None,
        own("OUT", "Write a repaired copy of the robot.", "--repair"),
    ] = None,
    root: MeshDirs = None,
    force: Force = False,
) -> CommandResult:
    """Check a model, robot, catalog, cell or laboratory: syntax, equations, plausibility.

    \b
    Examples:
      linkwright model check swing.toml
      linkwright model check robot.urdf --repair better.urdf
      linkwright model check sl-arm
    """
    from linkwright.formats.catalog.reader import is_catalog
    from linkwright.formats.robot.files import robot_format
    from linkwright.formats.text.document import ModelError
    from linkwright.lab.sources import is_lab
    from linkwright.server.cell_file import is_cell

    try:
        if is_cell(file):
            return _cell(file)
        if is_catalog(file):
            return _catalog(file)
        if is_lab(file):
            return _lab(file, repair, force)
        key = robot_format(file) if Path(file).is_file() else None
        if key in (None, "text") and repair is None:
            return _model(file, option or [], trust)
        return _robot(file, root or [], repair, force)
    except ModelError as error:
        _print_others(error.faults)
        raise


def _print_others(faults: Sequence[object]) -> None:
    """Print what is wrong beside the first fault, which the error itself says."""
    for fault in faults[1:]:
        echo(f"also: {fault}", err=True)


def _outcome(
    file: str,
    facts: Facts,
    findings: Sequence[Finding] = (),
    *,
    left: Sequence[Finding] | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    files: Sequence[Path] = (),
    next: str = "",  # noqa: A002 - as in `CommandResult`
    **more: Any,
) -> CommandResult:
    """Return what was found out about a file; its exit code is 1 where an error is left.

    A key that its format does not have is one, too.
    """
    left = findings if left is None else left
    data = {
        "facts": [{"what": label, "is": text} for label, text in facts],
        "warnings": warnings,
        "findings": findings,
        "notes": notes,
        "written": files,
        **more,
    }
    state = f"{file}: {_state(findings, len(warnings))}"
    if files:
        serious = sum(found.severity != "note" for found in left)
        state += f"; wrote {', '.join(map(str, files))}"
        state += f", {serious} finding(s) left" if serious else ""
    lines = [note if note.startswith("not read") else f"note: {note}" for note in notes]
    lines += [f"warning: {warning}" for warning in warnings]
    lines += [
        f"{found.severity}: {found}" + (f" (repair: {found.repair})" if found.repair else "")
        for found in findings
    ]
    bad = any(found.severity == "error" for found in left)
    bad = bad or any(entry.mistake for entry in more.get("not_read", ()))
    return CommandResult(data, [*labeled(facts), state], lines, next=next, code=int(bad))


def _state(findings: Sequence[Finding], warnings: int) -> str:
    """Return in words how many errors and warnings there are."""
    counts = {s: sum(f.severity == s for f in findings) for s in ("error", "warning")}
    counts["warning"] += warnings
    words = ", ".join(f"{count} {severity}(s)" for severity, count in counts.items() if count)
    return f"with {words}" if words else "sound"


def _model(file: str, option: list[str], trust: bool) -> CommandResult:
    report, mechanism = _model_report(file, option, trust)
    counted = mobility_of(mechanism)
    facts: list[tuple[str, object]] = [*report.facts]
    more: dict[str, Any] = {}
    if counted is not None:
        facts.append(("mobility", counted.words))
        more = {"mobility": counted}
    return _outcome(
        file,
        facts,
        report.findings,
        warnings=report.warnings,
        next=f"simulate {file}",
        **more,
    )


def mobility_of(mechanism: Mechanism) -> Mobility | None:
    """Return the mobility of a mechanism with closed loops whose numbers are known."""
    from linkwright.parallel.mobility_counts import mobility

    if not mechanism.constraints or any(n not in mechanism.values for n in mechanism.parameters):
        return None
    return mobility(mechanism)


def _model_report(file: str, option: list[str], trust: bool) -> tuple[Report, Mechanism]:
    from linkwright.formats.text.check import check_model
    from linkwright.formats.text.files import open_model
    from linkwright.mechanism import mechanism_of

    if is_shipped(file):
        from linkwright.models import opened

        model = opened(":".join([file, *([",".join(option)] if option else [])]))
    else:
        document = open_model(file)
        build = document.system if document.model.is_system else document.build
        model = build(options=_options(option), trust=trust)
    return check_model(model), mechanism_of(model)


def _options(words: list[str]) -> dict[str, int]:
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


def _catalog(file: str) -> CommandResult:
    from linkwright.formats.catalog.reader import read_catalog
    from linkwright.formats.catalog.schema import KINDS

    catalog = read_catalog(file)
    return _outcome(file, [(kind, len(getattr(catalog, kind))) for kind in KINDS])


def _cell(file: str) -> CommandResult:
    from linkwright.server.cell_file import read_cell, refuse_weak
    from linkwright.server.cell_system import refuse_unbuilt
    from linkwright.server.listening import listening_of

    cell = read_cell(file)
    refuse_unbuilt(cell)
    refuse_weak(cell)
    facts = [("cell", cell.name), ("rate", f"{cell.rate:g} Hz"), ("address", cell.address)]
    facts += [("arm", f"{arm.name}: {arm.model}, {len(arm.axes)} axes") for arm in cell.arms]
    facts += [("frame", f"{frame.name}: {frame.kind}") for frame in cell.frames]
    facts += [("sensor", f"{sensor.name}: {sensor.kind}") for sensor in cell.sensors]
    facts += [("client", f"{client.name}: {', '.join(client.rights)}") for client in cell.clients]
    return _outcome(file, facts, notes=listening_of(cell).notes, next=f"cell serve {file}")


def _lab(file: str, repair: Path | None, force: bool) -> CommandResult:
    from linkwright.formats.robot.plausibility import description_findings, repaired
    from linkwright.lab.contacts import law_of, surface_of
    from linkwright.lab.files.conversion import convert_lab
    from linkwright.lab.files.summary import lab_facts, preference_faults
    from linkwright.lab.sources import lab_config

    config = lab_config(file)
    for thing in config.objects:
        surface_of(thing)
        if thing.contact_model:
            law_of(thing)
    faults = preference_faults(config)
    if faults:
        _print_others(faults)
        raise faults[0]
    findings = left = description_findings(config.description)
    files: Sequence[Path] = ()
    if repair is not None:
        better, left = repaired(config.description)
        files = convert_lab(replace(config, description=better), repair, replace=force).files
    return _outcome(
        file,
        lab_facts(config),
        findings,
        left=left,
        notes=(*config.description.notes, *config.notes),
        files=files,
        next=f"lab open {file}",
    )


def _robot(file: str, roots: list[Path], repair: Path | None, force: bool) -> CommandResult:
    from linkwright.formats.robot.conversion import write_description
    from linkwright.formats.robot.plausibility import description_findings, repaired
    from linkwright.formats.robot.summary import summary

    robot, form = open_robot(file, roots)
    findings = left = description_findings(robot)
    files: Sequence[Path] = ()
    if repair is not None:
        better, left = repaired(robot)
        files = write_description(better, repair, replace=force).files
    return _outcome(
        file,
        summary(robot, form),
        findings,
        left=left,
        notes=(*(f"not read: {entry.words}" for entry in robot.ignored), *robot.notes),
        files=files,
        next=f"studio {file}",
        not_read=robot.ignored,
    )
