"""``linkwright mount bench``: an experiment with a mount at rest, modeled with its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from linkwright.algebra.units import amount
from linkwright.base.errors import Error, InputError
from linkwright.base.files import csv_rows, read_text
from linkwright.cli.commands.deck import refuse_existing
from linkwright.cli.options import Force, Model, Set, Trust, open_model, option, own, read_settings
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.mounts.bench_tests import BenchTest

LOCK = "Where another actuator is held, as in arm1='20 deg' (repeatable)."
MOVE = "The actuator that moves, and its places: arm3=0:120:20, in deg or m."
MEASURED = "What was measured: a place (deg or m) and an effort in each line (.csv)."
_MOST, _PLACES = 1_000_000, 10_000  # characters, and places of the actuator


def command(
    mount: Model,
    move: Annotated[str, own("NAME=FROM:TO:STEP", MOVE)],
    lock: Annotated[list[str] | None, own("NAME=VALUE", LOCK)] = None,
    settings: Set = None,
    trust: Trust = False,
    measured: Annotated[Path | None, own("FILE", MEASURED)] = None,
    out: Annotated[Path | None, option("--out", "A picture (.svg, .png, .pdf).")] = None,
    force: Force = False,
) -> CommandResult:
    """Model an experiment: some drives of a mount held, one moved, with the errors of a balance.

    The exit code is 1 if what was measured lies outside the errors.

    \b
    Examples:
      linkwright mount bench mount-3-rotary --lock arm1='20 deg' --lock arm2=0 --move arm3=0:120:20
      linkwright mount bench mount-2-rotary --lock arm1='20 deg' --move arm2=-15:105:20 -o b.svg
    """
    from linkwright.mechanism import mechanism_of
    from linkwright.mounts import bench_test
    from linkwright.recording.plots import ENDINGS, save_figure
    from linkwright.robots import Robot

    if out is not None and out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"the ending {out.suffix!r} does not name a picture", remedy=f"use {', '.join(ENDINGS)}"
        )
    refuse_existing(out, force=force)
    opened = open_model(mount, settings, trust=trust)
    m = mechanism_of(opened)
    name, equals, span = (part.strip() for part in move.partition("="))
    if not equals:
        raise InputError(f"--move {move!r} is not NAME=FROM:TO:STEP", remedy="as in arm3=0:120:20")
    unit = "deg" if m.units.get(name) == "rad" else "m"
    factor = np.pi / 180 if unit == "deg" else 1.0
    places = factor * _places(span, unit)
    points = [] if measured is None else _points(measured, factor)
    held = read_settings(lock, "--lock", m)
    found = bench_test(Robot(m), held, name, places, measured=points)
    if out is not None:
        save_figure(out, found.plot())
    return CommandResult(
        found, _text(found, unit), files={"picture": out}, code=1 if found.outside else 0
    )


def _places(span: str, unit: str) -> np.ndarray:
    try:
        low, high, step = (amount(part, "--move", unit) for part in span.split(":"))
    except (Error, ValueError):
        raise InputError(f"--move: {span!r} is not FROM:TO:STEP", remedy="as in 0:120:20") from None
    if not abs(step) > 0 or not 1 <= (high - low) / step <= _PLACES:
        wide = abs(step) > 0 and (high - low) / step > _PLACES
        wrong = f"has more than {_PLACES} places" if wide else "has no places"
        raise InputError(f"--move: {span!r} {wrong}", remedy="as in 0:120:20")
    return low + step * np.arange(1 + int((high - low) / step + 1e-9))


def _points(file: Path, factor: float) -> list[tuple[float, float]]:
    """Return pairs of place and effort, from a table whose first line may be a head."""
    found = []
    for k, row in enumerate(csv_rows(read_text(file, _MOST), file), 1):
        try:
            at, effort = map(float, row[:2])
        except ValueError:
            if k == 1:
                continue
            raise InputError(
                "a measurement is a place and an effort", file=str(file), line=k
            ) from None
        found.append((factor * at, effort))
    if not found or not np.isfinite(found).all():
        raise InputError(f"{file} has no measurements", remedy="write a place and an effort a line")
    return found


def _text(found: BenchTest, unit: str) -> Iterator[TextTable | str]:
    rows = [(f"{at:.4g}", f"{effort:.4g}", f"{off:.3g}") for at, effort, off in found.rows()]
    head = (f"{found.moved} {unit}", f"effort {found.unit}", "may be off by")
    yield TextTable(head, rows, f"{found.mount}: what holds {found.moved}", head)
    if len(found.measured):
        n = len(found.measured)
        yield f"{n - found.outside} of {n} measurements lie within the errors"
