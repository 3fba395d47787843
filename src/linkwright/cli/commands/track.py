"""``linkwright mount track``: a mount follows a satellite, in simulation or by a rotator."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError
from linkwright.base.files import integer
from linkwright.base.reprs import brief
from linkwright.cli.options import Force, option, own
from linkwright.cli.results import CommandResult, TextTable
from linkwright.cli.satellites import (
    Above,
    Days,
    Elements,
    SiteFile,
    Start,
    find_passes,
)

if TYPE_CHECKING:
    from linkwright.mounts.passes import Pass
    from linkwright.mounts.shaping import ShapedPath

SHAPE = "Let the azimuth lead and lag near the zenith, by an error of so much, deg."
_EVERY = 20  # ticks from sample to sample


def command(
    mount: Annotated[str, typer.Argument(metavar="MOUNT", help="A shipped mount, or a file.")],
    elements: Elements,
    satellite: Annotated[list[str], option("--satellite", "One.")],
    site: SiteFile,
    ship: Annotated[Path | None, option("--ship")] = None,
    wind: Annotated[float, own("SPEED", "Wind with gusts, m/s.")] = 0.0,
    wind_from: Annotated[float, own("DEG", "Where the wind comes from, deg from North.")] = 0.0,
    beamwidth: Annotated[float, option("--beamwidth")] = 0.8,
    spare: Annotated[str, option("--spare")] = "",
    shape: Annotated[float, own("DEG", SHAPE)] = 0.0,
    days: Days = 3.0,
    above: Above = 10.0,
    start: Start = "",
    number: Annotated[int, own("NUMBER", "Which pass, from 1. Default: highest.", "--pass")] = 0,
    limit: Annotated[float, own("SECONDS", "Follow it for so long. Default: all of it.")] = 0.0,
    to: Annotated[str, own("HOST:PORT", "Drive the rotctld there, by the clock.")] = "",
    pace: Annotated[float, option("--pace", "With --to.")] = 1.0,
    out: Annotated[Path | None, option("--out", "The recording.")] = None,
    force: Force = False,
    quiet: bool = False,
) -> CommandResult:
    """Follow a satellite with a mount: pointing error, loss, and whether a license was kept.

    \b
    Examples:
      linkwright mount track mount-prismatic iss.json --satellite 25544 --site site.toml
      linkwright mount track mount-2-rotary iss.json --satellite 25544 --site s.toml --ship a.toml
      linkwright mount track mount-alt-az iss.json --satellite 25544 --site s.toml --shape 0.4
      linkwright mount track mount-prismatic iss.json --satellite 25544 --site site.toml --to :4533
    """
    if not satellite or len(satellite) > 1:
        raise InputError("a mount follows one satellite", remedy="give one --satellite")
    if out is not None and not to:
        from linkwright.simulation.recorder import Target

        Target(out, replace=force, replace_journal=True).check()
    _, (found,) = find_passes(elements, site, satellite, days, above, start)
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
    data: dict[str, Any] = {
        "satellite": chosen.orbit.name,
        "rise": chosen.rise.isoformat(timespec="seconds"),
        "culmination_deg": round(math.degrees(chosen.culmination), 3),
        "duration_s": round(lasts, 3),
        "words": list(found.warnings),
    }
    rows = [
        ("culmination", f"{math.degrees(chosen.culmination):.2f}°"),
        ("lasts", f"{lasts:.1f} s"),
    ]
    verdict = []
    if to:
        driven = _driven(to, chosen, lasts, pace)
        data |= driven
        rows += [
            ("pointing error, greatest", f"{driven['error_max_deg']:.3f}°"),
            ("commands", str(driven["commands"])),
        ]
    else:
        from linkwright.mounts.tracking_report import tracking_report

        shaped = _shaped(mount, chosen, shape) if shape else None
        if shaped is not None:
            plain, rate = (math.degrees(x) for x in (shaped.plain, shaped.rate))
            data["shape"] = {"plain_deg_s": plain, "shaped_deg_s": rate}
            rows += [
                ("azimuth, fastest, plain", f"{plain:.3f}°/s"),
                ("azimuth, fastest, shaped", f"{rate:.3f}°/s"),
            ]
        run = _followed(
            mount, chosen, lasts, beamwidth, ship, (wind, wind_from), spare, shaped, quiet
        )
        report = tracking_report(run, math.radians(beamwidth))
        data |= {"mount": mount, "beamwidth_deg": beamwidth, **report.as_dict()}
        rows += report.rows()
        verdict = [f"license of stations on vessels {report.verdict}"]
        if out is not None:
            run.save(out, replace=force)
    title = f"{data['satellite']} from {data['rise']} by {to or mount}"
    return CommandResult(
        data,
        [TextTable(["", ""], rows, title), *verdict, *found.warnings],
        files={"recording": None if to else out},
        next=f"plot {out}" if out is not None and not to else "",
    )


def _shaped(mount: str, chosen: Pass, error: float) -> ShapedPath:
    """Return the path of an alt-az mount that leads and lags within an error in degrees."""
    from linkwright.doors import load
    from linkwright.mechanism import mechanism_of
    from linkwright.mounts import TrackingServo, shape_path

    m = mechanism_of(load(mount))
    if [q.name for q in m.actuators] != ["azimuth", "tilt"]:
        raise InputError(
            f"--shape is for mounts of azimuth and tilt, and {brief(mount)} has no such keyhole",
            remedy="leave it out, or track with mount-alt-az",
        )
    if not 0 < error < 45:
        raise InputError(f"--shape {error:g} deg is not a pointing error", remedy="such as 0.4")
    return shape_path(
        chosen, error=math.radians(error), speed=TrackingServo().turning, over_the_top=False
    )


def _followed(
    mount: str,
    chosen: Pass,
    lasts: float,
    beamwidth: float,
    ship: Path | None,
    wind: tuple[float, float],
    spare: str,
    shaped: ShapedPath | None,
    quiet: bool,
) -> Any:
    from linkwright.cli.progress import run_bar
    from linkwright.doors import load
    from linkwright.mounts import Wind, read_ship, track_pass
    from linkwright.simulation import simulate

    system = track_pass(
        load(mount),
        chosen,
        beamwidth=math.radians(beamwidth),
        ship=None if ship is None else read_ship(ship),
        wind=Wind(wind[0], math.radians(wind[1])) if wind[0] else None,
        spare=spare,
        aim=None if shaped is None else shaped.aim,
    )
    with run_bar(f"following by {mount}", quiet=quiet) as show:
        bar = None if show is None else partial(_shown, show, lasts)
        return simulate(system, lasts, method="rk4", every=_EVERY, progress=bar)


def _shown(show: Any, lasts: float, t: float) -> None:
    show(t, lasts)


def _driven(to: str, chosen: Pass, lasts: float, pace: float) -> dict[str, Any]:
    from linkwright.mounts import drive_rotator

    host, _, port = to.rpartition(":")
    number = integer(port)
    if number is None or not 0 < number < 65536:
        raise InputError(f"{brief(to)} is not HOST:PORT", remedy="such as 127.0.0.1:4533")
    led = drive_rotator(host or "127.0.0.1", number, _Part(chosen, lasts), speed=pace)
    worst = math.degrees(max(led.errors, default=0.0))
    return {"rotator": to, "commands": len(led.commands), "error_max_deg": round(worst, 3)}


class _Part:
    """The beginning of a pass."""

    def __init__(self, whole: Pass, duration: float) -> None:
        self.whole, self.duration = whole, duration

    def __call__(self, t: float) -> Any:
        return self.whole(t)
