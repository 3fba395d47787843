"""What the commands about models share: reading a model with changed parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linkwright.base.errors import InputError

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.scene.previews import PreviewOptions
    from linkwright.system import System

MODEL = typer.Argument(
    ...,
    metavar="MODEL",
    help="A shipped model (NAME or NAME:OPTION=VALUE), or a file: .toml, .urdf, .xml, .dyn.",
)
SET = typer.Option(
    [],
    "--set",
    metavar="NAME=VALUE",
    help="Set a parameter, as in L=0.5 or L='50 cm' (repeatable).",
)
INITIAL = typer.Option(
    [],
    "--initial",
    metavar="NAME=VALUE",
    help="Initial value of a coordinate, speed or state, as in phi='30 deg' (repeatable).",
)
TRUST = typer.Option(
    False, "--trust", help="Run C and Python code in the model file. Read it first."
)
UNTIL = typer.Option(
    None, "--until", metavar="T", help="End time in s. Default: the model's own, or 10."
)
DRAWN = typer.Option(
    "",
    "--model",
    metavar="MODEL",
    help="The model to draw, for recordings that do not name one.",
)
MESH_DIRS = typer.Option([], "--mesh-dir", metavar="DIR", help="A folder with meshes (repeatable).")
SCENE = typer.Option(
    "",
    "--scene",
    metavar="FILE",
    help="Scene file with shapes and surroundings, or a shipped one (work-cell, puma-lab).",
)


def read_settings(
    texts: Sequence[str],
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
    for text in texts:
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
    until: float | None, settings: Sequence[str], initial: Sequence[str], model: str | None = None
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


def folders(named: Sequence[Path]) -> list[Path]:
    """Return the folders of ``--mesh-dir``; one that is not there is an error.

    >>> folders([Path()])
    [PosixPath('.')]
    """
    for folder in named:
        if not folder.is_dir():
            raise InputError("there is no such folder", file=folder, remedy="see --mesh-dir")
    return list(named)


def open_model(
    name: str, settings: Sequence[str] = (), *, trust: bool = False
) -> Mechanism | System:
    """Return a model with changed parameters; an unknown name is an error.

    >>> open_model("pendulum", ["L=2"]).values["L"]
    2.0
    """
    from linkwright.mechanism import Mechanism, mechanism_of
    from linkwright.models import opened

    model = opened(name, trust=trust)
    values = read_settings(settings, model=mechanism_of(model))
    if isinstance(model, Mechanism):
        model.set_values(values)
    else:
        model.set(values)
    return model


def open_mechanism(name: str, settings: Sequence[str] = ()) -> Mechanism:
    """Return a mechanism with changed parameters; a System with members is refused.

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
