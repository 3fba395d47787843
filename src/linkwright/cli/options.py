"""Options of commands: what one of them is called, takes and means, in all commands alike.

An option that two commands have stands in `OPTIONS`; a test over all commands holds its name, type
and meaning. What a command adds to the meaning follows it: ``option("--out", "Default: a PNG.")``.
The types below are those of arguments and options that many commands take as they are.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer


class Base(StrEnum):
    """How the root of a robot is held."""

    auto = "auto"
    file = "file"
    free = "free"
    fixed = "fixed"


class SharedOption(NamedTuple):
    """What an option takes, a word for the help or nothing for a flag, and what it means."""

    takes: str | None
    words: str
    short: str = ""


OPTIONS: dict[str, SharedOption] = {
    "--above": SharedOption("DEG", "Elevation from which a pass counts, deg."),
    "--at": SharedOption("NAME=VALUE", "Where: a value, as in q1='30 deg' (repeatable)."),
    "--authority": SharedOption("PEM", "Who signed the cell's certificate."),
    "--base": SharedOption(
        "KIND", "Base of a robot file: auto (free where it walks), file (as it says), free, fixed."
    ),
    "--beamwidth": SharedOption("DEG", "Full width of the beam at half power, deg."),
    "--certificate": SharedOption("PEM", "Our certificate, for TLS."),
    "--client": SharedOption("NAME", "Name to connect as, where enforce = true."),
    "--commands": SharedOption("COMMANDS", "Commands, as in 'st sine; run 5; saveData'.", "-c"),
    "--days": SharedOption("DAYS", "How many days to look ahead."),
    "--folder": SharedOption("DIR", "Folder for what is kept."),
    "--force": SharedOption(None, "Overwrite what is there."),
    "--formulation": SharedOption("NAME", "Formulation of the equations."),
    "--frame": SharedOption("NAME", "Frame of the tool, instead of the task's."),
    "--host": SharedOption("ADDRESS", "Address to listen on."),
    "--initial": SharedOption(
        "NAME=VALUE",
        "Initial value of a coordinate, speed or state, as in phi='30 deg' (repeatable).",
    ),
    "--json": SharedOption(None, "Print JSON."),
    "--key": SharedOption("PEM", "The private key of our certificate."),
    "--listen": SharedOption("ADDRESS", "Address to listen on."),
    "--mesh-dir": SharedOption("DIR", "A folder with meshes (repeatable)."),
    "--model": SharedOption("MODEL", "The model to draw, for recordings that do not name one."),
    "--out": SharedOption("PATH", "Write the result there.", "-o"),
    "--over": SharedOption("NAME=FROM:TO", "A range to cover (repeatable)."),
    "--pace": SharedOption("TIMES", "How many times as fast as the clock."),
    "--payload": SharedOption(
        "KG", "Point mass in the tool's origin, as 3 or '500 g', or a range 0..3."
    ),
    "--plot": SharedOption(None, "Also plot what was recorded, as a PNG."),
    "--points": SharedOption("N", "Number of points along an axis."),
    "--port": SharedOption("N", "Port to listen on; 0 picks a free one."),
    "--quiet": SharedOption(None, "Print only what is wrong.", "-q"),
    "--rate": SharedOption("HZ", "How many times a second."),
    "--resume": SharedOption(None, "Continue what was interrupted."),
    "--satellite": SharedOption("NAME", "Name or catalog number of a satellite."),
    "--scene": SharedOption(
        "FILE", "Scene file with shapes and surroundings, or a shipped one (work-cell, puma-lab)."
    ),
    "--seed": SharedOption("N", "Seed of what is random."),
    "--set": SharedOption("NAME=VALUE", "Set a parameter, as in L=0.5 or L='50 cm' (repeatable)."),
    "--site": SharedOption("FILE", "Where the antenna stands (.toml)."),
    "--speed": SharedOption("DEG/S", "Greatest speed of an axis, deg/s."),
    "--start": SharedOption("TIME", "When to begin, UTC, as 2026-11-16T12:00. Default: the epoch."),
    "--step": SharedOption("S", "Time step, s."),
    "--studio": SharedOption(None, "Show it in the studio too."),
    "--threads": SharedOption("N", "Number of threads. Default: all processors."),
    "--title": SharedOption("TEXT", "Title."),
    "--trust": SharedOption(None, "Run C and Python code in the model file. Read it first."),
    "--until": SharedOption("S", "End time, s."),
    "--virtual": SharedOption(None, "In virtual time, without a network."),
}
"""The options that more than one command has."""


def option(name: str, more: str = "") -> Any:
    """Return an option of the table for `Annotated`; what this command adds ends its help.

    >>> option("--seed").help
    'Seed of what is random.'
    """
    takes, words, short = OPTIONS[name]
    return typer.Option(
        *filter(None, (short, name)), metavar=takes, help=f"{words} {more}".rstrip()
    )


Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A shipped model (NAME or NAME:OPTION=VALUE), or a file: .toml, .urdf, .xml, .dyn.",
    ),
]
RobotModel = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A robot file (.urdf, .xml, .dyn, .toml), or a shipped model (NAME or "
        "NAME:OPTION=VALUE).",
    ),
]
Set = Annotated[list[str] | None, option("--set")]
Trust = Annotated[bool, option("--trust")]
Force = Annotated[bool, option("--force")]
Initial = Annotated[list[str] | None, option("--initial")]
Until = Annotated[float | None, option("--until", "Default: the model's own, or 10.")]
Seed = Annotated[int, option("--seed")]
Step = Annotated[float, option("--step", "The longest between samples.")]
Frame = Annotated[str, option("--frame")]
Payload = Annotated[str, option("--payload")]
Formulation = Annotated[str, option("--formulation")]
MeshDirs = Annotated[list[Path] | None, option("--mesh-dir")]
Scene = Annotated[str, option("--scene")]
Drawn = Annotated[str, option("--model")]
