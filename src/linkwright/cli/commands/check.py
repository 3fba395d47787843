"""``linkwright check``: is a model or robot file right, and what is it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from linkwright.mechanism.rigidity import Finding

BAD = 1


def command(
    file: Annotated[
        Path, typer.Argument(help="A text model or Denavit-Hartenberg table (.toml), .urdf, ...")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="Set one of the model's options, as in n=4."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow C code in the file to be compiled.")
    ] = False,
    repair: Annotated[
        Path | None,
        typer.Option("--repair", metavar="OUT", help="Write the robot with repairs made."),
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", metavar="DIR", help="A folder in which meshes may lie."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file OUT if it is there already.")
    ] = False,
) -> None:
    """Validate a text model or a robot file: can it be read and derived, can it be real."""
    from linkwright.formats.robot_files import robot_format

    key = robot_format(file) if file.is_file() else None
    if key in (None, "text") and repair is None:
        _check_model(file, as_json, option or [], trust)
    else:
        _check_robot(file, as_json, root or [], repair, force)


def _check_model(file: Path, as_json: bool, option: list[str], trust: bool) -> None:
    from linkwright.formats.checking import check
    from linkwright.formats.document import ModelError
    from linkwright.formats.text import open_model

    try:
        document = open_model(file)
    except ModelError as error:
        for fault in error.faults[1:]:
            typer.echo(f"also: {fault}", err=True)
        raise
    report = check(document, options=_options(option), trust=trust)
    if as_json:
        facts = [{"what": label, "is": text} for label, text in report.facts]
        typer.echo(json.dumps({"facts": facts, "warnings": report.warnings}, indent=2))
        return
    for label, text in report.facts:
        typer.echo(f"{label:<12} {text}")
    for warning in report.warnings:
        typer.echo(f"warning: {warning}", err=True)
    count = len(report.warnings)
    typer.echo(f"{file}: sound" + (f", with {count} warning(s)" if count else ""))


def _check_robot(
    file: Path, as_json: bool, roots: list[Path], repair: Path | None, force: bool
) -> None:
    from linkwright.formats.converting import write_description
    from linkwright.formats.examining import description_findings, repaired
    from linkwright.formats.robot_files import read_description, robot_format
    from linkwright.formats.robot_summary import summary

    robot = read_description(file, roots=roots)
    findings = description_findings(robot)
    left = findings
    files: list[str] = []
    if repair is not None:
        better, left = repaired(robot)
        files = [str(path) for path in write_description(better, repair, replace=force).files]
    facts = summary(robot, robot_format(file) or "")
    if as_json:
        report = {
            "facts": [{"what": label, "is": text} for label, text in facts],
            "findings": [asdict(found) for found in findings],
            "not read": [asdict(entry) for entry in robot.ignored],
            "notes": list(robot.notes),
            "written": files,
        }
        typer.echo(json.dumps(report, indent=2))
    else:
        for label, text in facts:
            typer.echo(f"{label:<12} {text}")
        for entry in robot.ignored:
            typer.echo(f"not read: {entry.words}", err=True)
        for note in robot.notes:
            typer.echo(f"note: {note}", err=True)
        for found in findings:
            typer.echo(_line(found), err=True)
        typer.echo(_verdict(file, findings, left, files))
    if any(found.severity == "error" for found in left):
        raise typer.Exit(BAD)


def _line(found: Finding) -> str:
    offer = f" (repair: {found.repair})" if found.repair else ""
    return f"{found.severity}: {found}{offer}"


def _verdict(
    file: Path, findings: tuple[Finding, ...], left: tuple[Finding, ...], files: list[str]
) -> str:
    counts = {s: sum(f.severity == s for f in findings) for s in ("error", "warning")}
    words = ", ".join(f"{count} {severity}(s)" for severity, count in counts.items() if count)
    state = f"with {words}" if words else "sound"
    if not files:
        return f"{file}: {state}"
    serious = sum(found.severity != "note" for found in left)
    rest = f", {serious} finding(s) left" if serious else ""
    return f"{file}: {state}; wrote {', '.join(files)}{rest}"


def _options(words: list[str]) -> dict[str, int]:
    from linkwright.errors import InputError

    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not value.strip().lstrip("-").isdecimal():
            raise InputError(f"option {word!r} is not NAME=N with a whole number N")
        found[name.strip()] = int(value)
    return found
