"""Options of commands: what one of them is called, takes and means, in all commands alike.

An option that two commands have stands in `OPTIONS`; a test over all commands holds its name, type
and meaning. What a command adds to the meaning follows it: ``option("--out", "Default: a PNG.")``.
The types below it are those of arguments and options that many commands take as they are, and the
functions at the end read what is given with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linkwright.base.errors import InputError

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.scene.previews import PreviewOptions
    from linkwright.system import System


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
    "--azimuths": SharedOption("N", "Number of azimuths."),
    "--base": SharedOption(
        "KIND", "Base of a robot file: auto (free where it walks), file (as it says), free, fixed."
    ),
    "--beamwidth": SharedOption("DEG", "Full width of the beam at half power, deg."),
    "--certificate": SharedOption("PEM", "Our certificate, for TLS."),
    "--client": SharedOption("NAME", "Name to connect as, where enforce = true."),
    "--commands": SharedOption("COMMANDS", "Commands, as in 'st sine; run 5; saveData'.", "-c"),
    "--device": SharedOption("DEVICE", "The device:"),
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
    "--mass": SharedOption("KG", "Mass, as 0.3 or '300 g'."),
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
    "--recording": SharedOption("FILE", "Write the recording too (.parquet, .csv)."),
    "--resume": SharedOption(None, "Continue what was interrupted."),
    "--satellite": SharedOption("NAME", "Name or catalog number of a satellite."),
    "--scene": SharedOption(
        "FILE", "Scene file with shapes and surroundings, or a shipped one (work-cell, puma-lab)."
    ),
    "--seed": SharedOption("N", "Seed of what is random."),
    "--set": SharedOption("NAME=VALUE", "Set a parameter, as in L=0.5 or L='50 cm' (repeatable)."),
    "--ship": SharedOption("FILE", "The ship that carries it (.toml)."),
    "--site": SharedOption("FILE", "Where the antenna stands (.toml)."),
    "--speed": SharedOption("DEG/S", "Greatest speed of an axis, deg/s."),
    "--spare": SharedOption(
        "AIM",
        "For what 3 or 6 actuators plunge: 'farthest from singular', stiffest, 'least effort'.",
    ),
    "--start": SharedOption("TIME", "When to begin, UTC, as 2026-11-16T12:00. Default: the epoch."),
    "--step": SharedOption("S", "Time step, s."),
    "--studio": SharedOption(None, "Show it in the studio too."),
    "--threads": SharedOption("N", "Number of threads. Default: all processors."),
    "--title": SharedOption("TEXT", "Title."),
    "--trust": SharedOption(None, "Run C and Python code in the model file. Read it first."),
    "--tube": SharedOption(
        "NAME=D,WALL[,E]",
        "A tube: diameter, wall and perhaps Young's modulus, as in arm='100 mm,4 mm' (repeatable).",
    ),
    "--until": SharedOption("S", "End time, s."),
    "--virtual": SharedOption(None, "In virtual time, without a network."),
}
"""The options that more than one command has."""


def completion(name: str) -> Callable[..., list[str]]:
    """Return what completes a word, from `linkwright.cli.completions`, imported when it does."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from linkwright.cli import completions

        function = getattr(completions, name)
        found: list[str] = function(incomplete) if name == "models" else function(ctx, incomplete)
        return found

    return complete


_COMPLETIONS = {"--set": "parameters", "--initial": "states", "--at": "states"}


def option(name: str, more: str = "") -> Any:
    """Return an option of the table for `Annotated`; what this command adds ends its help.

    >>> option("--seed").help
    'Seed of what is random.'
    """
    takes, words, short = OPTIONS[name]
    known = _COMPLETIONS.get(name)
    return typer.Option(
        *filter(None, (short, name)),
        metavar=takes,
        help=f"{words} {more}".rstrip(),
        autocompletion=None if known is None else completion(known),
    )


def own(takes: str | None, words: str, *names: str) -> Any:
    """Return an option that one command alone has; without names it is called as its argument.

    >>> own("DEG", "The lowest elevation, deg.").metavar
    'DEG'
    """
    return typer.Option(*names, metavar=takes, help=words)


Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A shipped model (NAME or NAME:OPTION=VALUE), or a file: .toml, .urdf, .xml, .dyn.",
        autocompletion=completion("models"),
    ),
]
_ROBOT = typer.Argument(
    metavar="ROBOT",
    help="A robot file (.urdf, .xml, .dyn, .toml), or a shipped model (NAME or NAME:OPTION=VALUE).",
    autocompletion=completion("models"),
)
RobotModel = Annotated[str, _ROBOT]
AnyRobot = Annotated[str | None, _ROBOT]
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


# -- values ----------------------------------------------------------------------------------------
def read_tubes(texts: Sequence[str] | None) -> dict[str, list[str]]:
    """Return diameter, wall and perhaps Young's modulus of tubes, by name.

    >>> read_tubes(["arm=100 mm, 4 mm"])
    {'arm': ['100 mm', '4 mm']}
    """
    found = {}
    for name, parts in read_named(texts, "--tube", "arm='100 mm,4 mm'").items():
        found[name] = [part.strip() for part in parts.split(",")]
    return found


def read_named(texts: Sequence[str] | None, option: str, example: str) -> dict[str, str]:
    """Return texts such as NAME=VALUE by name.

    >>> read_named(["ball2=0.1 mm"], "--clearance", "ball2='0.1 mm'")
    {'ball2': '0.1 mm'}
    """
    found = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise InputError(f"{option} {text!r} is not NAME=VALUE", remedy=f"as in {example}")
        found[name] = value
    return found


def read_settings(
    texts: Sequence[str] | None,
    option: str = "--set",
    model: str | Mechanism | None = None,
    *,
    trust: bool = False,
) -> dict[str, float]:
    """Return the values of options such as ``--set NAME=VALUE`` in SI units.

    VALUE may have a unit; a plain number is in the unit in which the model prints it.

    >>> read_settings(["phi=90 deg"], model="pendulum")
    {'phi': 1.5707963267948966}
    >>> read_settings(["L1=0.5", "F = 1e3"])
    {'L1': 0.5, 'F': 1000.0}
    """
    result = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError(f"{option} {text!r} is not NAME=VALUE")
        result[name] = _in_si(name, value, option, model, trust)
        if not math.isfinite(result[name]):
            raise InputError(f"{option} {name}: {value!r} is not finite", remedy="give a number")
    return result


def _in_si(name: str, value: str, option: str, model: str | Mechanism | None, trust: bool) -> float:
    from linkwright.algebra.units import amount
    from linkwright.mechanism import mechanism_of
    from linkwright.models import opened

    what = f"{option} {name}"
    try:
        plain = float(value)
    except ValueError:
        plain = None
    robot = isinstance(model, str) and Path(model).suffix.lower() not in ("", ".toml")
    if model is None or (robot and plain is not None):  # a robot file is in SI units
        return amount(value, what) if plain is None else plain
    mechanism = mechanism_of(opened(model, trust=trust) if isinstance(model, str) else model)
    mechanism.kinematics()  # speeds get their units
    unit = mechanism.units.get(name, "?")
    if plain is None:
        return amount(value, what, unit)
    return plain * mechanism.display.printed(unit)[1]


def read_asked(
    until: float | None,
    settings: Sequence[str] | None,
    initial: Sequence[str] | None,
    model: str | None = None,
) -> PreviewOptions | None:
    """Return what is asked of a motion that is made to be looked at.

    >>> read_asked(2.0, ["L=2"], [])
    PreviewOptions(until=2.0, values={'L': 2.0}, initial={})
    """
    from linkwright.scene.previews import PreviewOptions
    from linkwright.simulation.settings import require_end

    if until is not None:
        require_end(until)
    found = PreviewOptions(
        until,
        read_settings(settings, model=model),
        read_settings(initial, "--initial", model),
    )
    return found or None


def in_rad(name: str, value: float) -> float:
    """Return what was given for an axis of a chart: angles of directions and poses are in degrees.

    >>> in_rad("zenith", 180), in_rad("x", 0.5)
    (3.141592653589793, 0.5)
    """
    from linkwright.parallel.chart_space import ANGLES

    return math.radians(value) if name in ANGLES else value


def read_range(text: str, form: str) -> tuple[str, tuple[float, ...]]:
    """Return the name and the numbers of ``--over NAME=FROM:TO``, as many as the form has.

    >>> read_range("zenith=0:90:10", "FROM:TO:COUNT")
    ('zenith', (0.0, 90.0, 10.0))
    """
    name, _, values = (part.strip() for part in text.partition("="))
    example = "-1:1" if form == "FROM:TO" else "0:90:91"
    try:
        numbers = tuple(map(float, values.split(":")))
        if len(numbers) != len(form.split(":")) or not all(map(float.is_integer, numbers[2:])):
            raise ValueError(values)
    except ValueError:
        raise InputError(
            f"--over {text!r} is not NAME={form}", remedy=f"such as --over {name or 'x'}={example}"
        ) from None
    return name, numbers


def folders(named: Sequence[Path] | None) -> list[Path]:
    """Return the folders of ``--mesh-dir``; one that is not there is an error.

    >>> folders([Path()])
    [PosixPath('.')]
    """
    for folder in named or ():
        if not folder.is_dir():
            raise InputError("there is no such folder", file=folder, remedy="see --mesh-dir")
    return list(named or ())


def open_model(
    name: str, settings: Sequence[str] | None = None, *, trust: bool = False
) -> Mechanism | System:
    """Return a model with changed parameters; an unknown name is an error.

    >>> open_model("pendulum", ["L=2"]).values["L"]
    2.0
    """
    from linkwright.mechanism import mechanism_of
    from linkwright.models import opened

    model = opened(name, trust=trust)
    values = read_settings(settings, model=mechanism_of(model))
    model.set_parameters(values)
    return model


def open_mechanism(name: str, settings: Sequence[str] | None = None) -> Mechanism:
    """Return a mechanism with changed parameters; a System with members is rejected.

    >>> open_mechanism("pendulum").name
    'pendulum'
    """
    from linkwright.mechanism import Mechanism

    found = open_model(name, settings)
    if not isinstance(found, Mechanism):
        raise InputError(
            f"{name!r} is a System with members, and this command takes a mechanism alone",
            remedy="leave the members out of the file",
        )
    return found
