"""What the commands about models share: reading a model with changed parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.errors import InputError

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.scene.previews import PreviewOptions
    from linkwright.system import System


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
    from linkwright.mechanism import Mechanism, mechanism_of
    from linkwright.models import opened

    model = opened(name, trust=trust)
    values = read_settings(settings, model=mechanism_of(model))
    if isinstance(model, Mechanism):
        model.set_values(values)
    else:
        model.set(values)
    return model


def open_mechanism(name: str, settings: Sequence[str] | None = None) -> Mechanism:
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
