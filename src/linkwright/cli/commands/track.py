"""``linkwright mount track``: a mount follows a satellite, in simulation or by a rotator."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError
from linkwright.base.files import integer
from linkwright.base.reprs import brief
from linkwright.cli.commands.passes import ORBITS, SITE, START
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.cli.progress import Show
    from linkwright.mounts import Pass
    from linkwright.simulation import Run

_EVERY = 20  # ticks from sample to sample


def command(
    mount: Annotated[str, typer.Argument(metavar="MOUNT", help="A shipped mount, or a file.")],
    orbits: Annotated[Path, typer.Argument(metavar="ELEMENTS", help=ORBITS)],
    satellite: Annotated[str, typer.Option(metavar="NAME", help="Name or catalog number.")],
    site: Annotated[Path, typer.Option(metavar="FILE", help=SITE)],
    ship: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The ship that carries it (.toml).")
    ] = None,
    wind: Annotated[float, typer.Option(metavar="SPEED", help="Wind with gusts, m/s.")] = 0.0,
    wind_from: Annotated[
        float, typer.Option(metavar="DEGREES", help="Where the wind comes from.")
    ] = 0.0,
    beamwidth: Annotated[
        float, typer.Option(metavar="DEGREES", help="Full width of the beam at half power.")
    ] = 0.8,
    days: Annotated[float, typer.Option(metavar="DAYS", help="How long to look.")] = 3.0,
    above: Annotated[
        float, typer.Option(metavar="DEGREES", help="Elevation from which a pass counts.")
    ] = 10.0,
    start: Annotated[str, typer.Option(metavar="TIME", help=START)] = "",
    number: Annotated[
        int, typer.Option("--pass", metavar="NUMBER", help="Which pass, from 1. Default: highest.")
    ] = 0,
    limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="Follow it for so long. Default: all of it.")
    ] = 0.0,
    to: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Drive the rotctld there, by the clock.")
    ] = "",
    speed: Annotated[
        float, typer.Option(metavar="TIMES", help="With --to: how many times as fast.")
    ] = 1.0,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the recording.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Follow a satellite with a mount: pointing error, loss, and whether a licence was kept.

    \b
    Examples:
      linkwright mount track mount-prismatic iss.json --satellite 25544 --site site.toml
      linkwright mount track mount-2-rotary iss.json --satellite 25544 --site s.toml --ship a.toml
      linkwright mount track mount-prismatic iss.json --satellite 25544 --site site.toml --to :4533
    """
    from linkwright.mounts import read_orbits, read_site
    from linkwright.mounts.passes import find_passes

    known, place = read_orbits(orbits), read_site(site)
    found = find_passes(place, known[satellite], days, above, start or None)
    if not found:
        raise InputError(
            "; ".join(found.words), remedy="look for longer, or lower: --days, --above"
        )
    if not 0 <= number <= len(found):
        raise InputError(
            f"there are {len(found)} passes, and no number {number}",
            remedy="list them with linkwright mount passes",
        )
    chosen = found[number - 1] if number else max(found, key=lambda p: p.culmination)
    lasts = min(limit, chosen.duration) if limit > 0 else chosen.duration
    told: dict[str, Any] = {
        "satellite": chosen.orbit.name,
        "rise": chosen.rise.isoformat(timespec="seconds"),
        "culmination": round(chosen.culmination, 3),
        "duration": round(lasts, 3),
        "words": list(found.warnings),
    }
    if to:
        told |= _driven(to, chosen, lasts, speed)
    else:
        run = _followed(mount, chosen, lasts, beamwidth, ship, wind, wind_from, as_json)
        told |= _measured(mount, run, beamwidth)
        if output is not None:
            run.save(output)
            told["recording"] = str(output)
    if as_json:
        echo(json.dumps(told, indent=2))
        return
    _print(told)


def _followed(
    mount: str,
    chosen: Pass,
    lasts: float,
    beamwidth: float,
    ship: Path | None,
    wind: float,
    wind_from: float,
    quiet: bool,
) -> Run:
    from linkwright.cli.progress import run_bar
    from linkwright.doors import load
    from linkwright.mounts import Wind, read_ship, tracking
    from linkwright.simulation import simulate

    system = tracking(
        load(mount),
        chosen,
        beamwidth=beamwidth,
        ship=None if ship is None else read_ship(ship),
        wind=Wind(wind, wind_from) if wind else None,
    )
    with run_bar(f"following by {mount}", quiet=quiet) as show:
        bar = None if show is None else partial(_shown, show, lasts)
        return simulate(system, lasts, method="rk4", every=_EVERY, progress=bar)


def _shown(show: Show, lasts: float, t: float) -> None:
    show(t, lasts)


def _angle(degrees: float) -> str:
    """Return an angle with digits that say something.

    >>> _angle(0.31234), _angle(0.0002)
    ('0.3123°', '0.720″')
    """
    return f"{degrees:.4f}°" if abs(degrees) >= 0.01 else f"{3600.0 * degrees:.3f}″"


def _measured(mount: str, run: Run, beamwidth: float) -> dict[str, Any]:
    import numpy as np

    from linkwright.mounts import VESSELS

    error, on = run["pointing error"], run["transmitter.transmits"]
    loss = run["pointing loss"]
    period = float(run.times[1] - run.times[0]) if len(run.times) > 1 else 0.0
    return {
        "mount": mount,
        "beamwidth": beamwidth,
        "error": {
            "greatest": round(float(error.max()), 9),
            "of 95 %": round(float(np.percentile(error, 95)), 9),
            "root mean square": round(float(np.sqrt(np.mean(error**2))), 9),
        },
        "loss": round(float(loss.max()), 4),
        "beyond half the beam": round(float((error > beamwidth / 2).mean() * run.times[-1]), 3),
        "cuts": round(float(run.final["transmitter.cuts"])),
        "verdict": VESSELS.verdict(error, on, period),
    }


def _driven(to: str, chosen: Pass, lasts: float, speed: float) -> dict[str, Any]:
    from linkwright.mounts import drive_rotator

    host, _, port = to.rpartition(":")
    number = integer(port)
    if number is None or not 0 < number < 65536:
        raise InputError(f"{brief(to)} is not HOST:PORT", remedy="such as 127.0.0.1:4533")
    path = _Part(chosen, lasts)
    led = drive_rotator(host or "127.0.0.1", number, path, speed=speed)
    worst = max(led.errors, default=0.0)
    return {"rotator": to, "commands": len(led.commands), "error": {"greatest": round(worst, 3)}}


class _Part:
    """The beginning of a pass."""

    def __init__(self, whole: Pass, duration: float) -> None:
        self.whole, self.duration = whole, duration

    def __call__(self, t: float) -> Any:
        return self.whole(t)


def _print(told: dict[str, Any]) -> None:
    from linkwright.cli.tables import print_table

    rows = [["culmination", f"{told['culmination']:.2f}°"], ["lasts", f"{told['duration']:.1f} s"]]
    rows += [[f"pointing error, {k}", _angle(v)] for k, v in told["error"].items()]
    if "rotator" in told:
        rows.append(["commands", str(told["commands"])])
    else:
        rows += [
            ["loss, greatest", f"{told['loss']:.3f} dB"],
            ["beyond half the beam", f"{told['beyond half the beam']:.2f} s"],
            ["transmitter silenced", f"{told['cuts']} times"],
        ]
    by = told.get("mount") or told["rotator"]
    print_table(["", ""], rows, title=f"{told['satellite']} from {told['rise']} by {by}")
    if "verdict" in told:
        echo(f"licence of stations on vessels {told['verdict']}")
    for words in told["words"]:
        echo(words)
