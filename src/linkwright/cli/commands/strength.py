"""``linkwright mount strength``: what the links of a mount carry at worst."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from linkwright.base.errors import DomainError, InputError
from linkwright.cli.commands.deck import refuse_existing
from linkwright.cli.options import Force, Model, Set, Trust, open_model, option, own, read_tubes
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkwright.parallel import BeamSection
    from linkwright.parallel.member_loads import MemberStrength
    from linkwright.robots import Robot

SHEET = "A dimensioned sheet (.svg, .png, .pdf, or .dxf for CAD)."
LEVELS = tuple(85.0 - 5.0 * k for k in range(18))  # elevations, deg


def command(
    mount: Model,
    tube: Annotated[list[str], option("--tube")],
    settings: Set = None,
    trust: Trust = False,
    stress: Annotated[float, own("MPA", "What the material stands, MPa.")] = 70.0,
    azimuths: Annotated[int, option("--azimuths", "At each elevation.")] = 24,
    out: Annotated[Path | None, option("--out", SHEET)] = None,
    force: Force = False,
) -> CommandResult:
    """Check the links of a mount at rest over the hemisphere: stress, deflection, buckling.

    A name that is not a link stands for all that begin with it. With -o it draws a dimensioned
    sheet: three views, each link with its section, and a list of parts. The exit code is 1 if one
    link is too weak.

    \b
    Examples:
      linkwright mount strength mount-2-rotary --tube arm='100 mm,5 mm' --tube upper='70 mm,4 mm'
      linkwright mount strength mount-prismatic --tube strut='40 mm,3 mm,200 GPa' --stress 200
      linkwright mount strength mount-2-rotary --tube arm='100 mm,5 mm' -o sheet.svg
    """
    from linkwright.mounts.drawing import checked_sheet, mount_sheet
    from linkwright.parallel import member_strength
    from linkwright.robots import Robot

    if out is not None:
        refuse_existing(checked_sheet(out), force=force)
    if not 0 < stress < math.inf:
        raise InputError(f"--stress {stress:g} MPa is not a strength", remedy="above 0")
    robot = Robot(open_model(mount, settings, trust=trust))
    sections = _sections(tube, robot.links)
    if azimuths < 1:
        raise InputError(f"--azimuths {azimuths} are none", remedy="give 1 or more")
    turns = np.arange(azimuths) * 360.0 / azimuths
    found = member_strength(robot, _poses(robot, turns), sections)
    rows = []
    for each in found:
        level, k = divmod(each.pose, azimuths)
        rows.append((each, float(turns[k]), LEVELS[level]))
    weak = [m.name for m in found if m.stress > stress * 1e6 or m.safety < 1.0]
    data = {
        "mount": robot.mechanism.name,
        "stress_limit_pa": stress * 1e6,
        "members": [
            {"name": m.name, "length_m": m.length, "moment_nm": m.moment, "push_n": m.push,
             "stress_pa": m.stress, "deflection_m": m.deflection, "buckling_n": m.buckling,
             "azimuth_deg": azimuth, "elevation_deg": level}
            for m, azimuth, level in rows
        ],
        "weak": weak,
    }  # fmt: skip
    if out is not None:
        mount_sheet(robot, sections).save(out)
    words = _text(robot.mechanism.name, rows, weak)
    return CommandResult(data, words, files={"sheet": out}, code=1 if weak else 0)


def _poses(robot: Robot, turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return poses that look along compass azimuths at each elevation, from the zenith down."""
    from linkwright.robots import closed

    m = robot.mechanism
    azimuth, level = np.radians(turns), np.radians(LEVELS)[:, None]
    parts = np.sin(azimuth) * np.cos(level), np.cos(azimuth) * np.cos(level), np.sin(level)
    d = np.stack(np.broadcast_arrays(*parts), axis=-1)
    more = {"distance": np.array(m.values["D"])} if len(robot.speeds) == 3 else {}
    found = closed(robot, {"direction": d} | more, follow=True)
    if not found.closed.all():
        i, k = (int(x) for x in np.argwhere(~found.closed)[0])
        raise DomainError(
            f"{m.name!r} does not reach azimuth {turns[k]:g} deg, elevation {LEVELS[i]:g} deg: "
            f"{found.words(i, k)}",
            remedy="take a mount that reaches the hemisphere",
        )
    return np.asarray(found.q).reshape(-1, found.q.shape[-1])


def _sections(tubes: Sequence[str], links: Sequence[str]) -> dict[str, BeamSection]:
    from linkwright.parallel.flexing import named_links, tube_section

    found: dict[str, BeamSection] = {}
    for name, parts in read_tubes(tubes).items():
        section = tube_section(name, parts)
        found |= dict.fromkeys(named_links(name, links), section)
    return found


def _text(
    mount: str, rows: Sequence[tuple[MemberStrength, float, float]], weak: Sequence[str]
) -> Iterator[TextTable | str]:
    head = ("link", "length m", "moment N*m", "stress MPa", "deflection mm", "push N", "buckles N",
            "worst at az, el")  # fmt: skip
    cells = [
        (m.name, f"{m.length:.4g}", f"{m.moment:.4g}", f"{m.stress / 1e6:.4g}",
         f"{m.deflection * 1e3:.3g}", f"{m.push:.4g}", f"{m.buckling:.4g}",
         f"{azimuth:.0f}, {level:.0f} deg")
        for m, azimuth, level in rows
    ]  # fmt: skip
    yield TextTable(head, cells, f"{mount} at rest over the hemisphere", head[1:])
    yield f"too weak: {', '.join(weak)}" if weak else "all of them stand it"
