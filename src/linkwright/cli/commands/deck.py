"""``linkwright mount deck``: what a mount carries at sea, beside what it carries ashore."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from linkwright.algebra.units import amount
from linkwright.base.errors import Error, InputError
from linkwright.base.files import file_exists, is_there
from linkwright.cli.options import Force, Model, Set, Trust, open_model, option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.mounts.deck_comparison import DeckComparison

TOWARD = "Azimuth from x to y and elevation of the dish on its deck, deg."
SHIP = "Default: the report's, of 10,000 tons, on a stabilized platform."


def command(
    mount: Model,
    settings: Set = None,
    trust: Trust = False,
    toward: Annotated[str, own("AZ,EL", TOWARD)] = "0,0",
    ship: Annotated[Path | None, option("--ship", SHIP)] = None,
    until: Annotated[float, option("--until")] = 70.0,
    step: Annotated[float, option("--step", "From instant to instant.")] = 0.25,
    out: Annotated[Path | None, option("--out", "A page with pictures (.html).")] = None,
    recording: Annotated[Path | None, option("--recording", "What joints carry at sea.")] = None,
    force: Force = False,
) -> CommandResult:
    """Compare a mount on a ship with itself ashore: actuators, and the joints of its platform.

    \b
    Examples:
      linkwright mount deck mount-prismatic --set strut_balance_mass=261.26 -o deck.html
      linkwright mount deck mount-2-rotary --toward 90,30 --ship rough.toml --json
    """
    from linkwright.mounts import compare_deck, read_ship
    from linkwright.mounts.ships import report_ship

    azimuth, elevation = _toward(toward)
    if not 0 < step <= until < math.inf:
        raise InputError(f"--step {step:g} --until {until:g} are not instants", remedy="in s")
    refuse_existing(out, recording, force=force)
    opened = open_model(mount, settings, trust=trust)
    carried = report_ship(stabilized=True) if ship is None else read_ship(ship)
    d = (
        math.cos(elevation) * math.cos(azimuth),
        math.cos(elevation) * math.sin(azimuth),
        math.sin(elevation),
    )
    times = np.linspace(0.0, until, 1 + math.ceil(until / step - 1e-9))
    found = compare_deck(opened, d, times, carried)
    if recording is not None:
        found.at_sea.save(recording, replace=force)
    if out is not None:
        found.save(out, replace=force)
    return CommandResult(found, _text(found), files={"page": out, "recording": recording})


def refuse_existing(*targets: Path | None, force: bool) -> None:
    """Reject files that are there, before anything is computed."""
    for target in targets:
        if target is not None and not force and is_there(target):
            raise file_exists(target)


def _toward(text: str) -> tuple[float, float]:
    try:
        azimuth, elevation = (amount(part, "--toward", "deg") for part in text.split(","))
    except (Error, ValueError):
        raise InputError(
            f"--toward {text!r} is not AZ,EL", remedy="give two angles, such as 90,30"
        ) from None
    return math.radians(azimuth), math.radians(elevation)


def _text(found: DeckComparison) -> Iterator[TextTable | str]:
    rows = [
        (r.name, r.kind, f"{r.ashore:.5g} {r.unit}", f"{r.most:.5g} {r.unit}", f"{r.at:.4g}",
         f"{r.ratio:.3g}" if math.isfinite(r.ratio) else "from nothing")
        for r in found.rows()
    ]  # fmt: skip
    head = ("", "what", "ashore", "greatest at sea", "at s", "ratio")
    yield TextTable(head, rows, f"{found.mount} at sea for {found.at_sea.times[-1]:g} s", head[2:])
