"""``linkwright parallel compliance``: stiffness and compliance of a platform on springy legs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import option, own, read_range
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.parallel.decoupled_compliance import LegPlatform

LEGS = "A platform (.toml), or mechanism-1, mechanism-2 or octahedral, as octahedral:a=0.3,h=0.2."
WISH = "Find legs with this diagonal of A, as x=2.25 or rz=0.1; up to three (repeatable)."

_KEYS = {"bases": "bases_m", "tips": "tips_m", "leg stiffness": "leg_stiffness_newton_per_m"}


def command(
    legs: Annotated[str, typer.Argument(metavar="LEGS", help=LEGS)],
    over: Annotated[list[str] | None, option("--over", "Of a or h: the diagonal along it.")] = None,
    mass: Annotated[str, option("--mass", "Of the platform, for its frequencies.")] = "",
    shift: Annotated[str, own("X,Y,Z", "How near legs come on a way of this shift, m.")] = "",
    synthesize: Annotated[list[str] | None, own("AXIS=VALUE", WISH)] = None,
    seed: Annotated[int, option("--seed")] = 0,
    out: Annotated[Path | None, option("--out", "A picture of --over (.png, .svg, .pdf).")] = None,
) -> CommandResult:
    """Say how a platform on six springy legs gives way, and whether it is decoupled.

    With --synthesize the legs of the platform are taken for their length and height, and others of
    that size are found that are decoupled. The exit code is 1 if legs meet, or none are found.

    \b
    Examples:
      linkwright parallel compliance mechanism-2:a=0.3,h=0.2 --over a=0.1:1 -o curves.png
      linkwright parallel compliance legs.toml --shift 0.05,0,0 --mass 2
      linkwright parallel compliance mechanism-1:a=0.4,h=0.25 --synthesize x=2.25
    """
    from linkwright.algebra.units import amount
    from linkwright.parallel.decoupled_compliance import link_distances
    from linkwright.parallel.decoupled_compliance.leg_files import read_legs
    from linkwright.recording.plots import ENDINGS, save_figure

    if out is not None and (not over or out.suffix.lower() not in ENDINGS):
        raise InputError(
            "a picture is that of --over" if not over else f"the ending {out.suffix!r} is none",
            remedy=f"give --over a=0.1:1 and one of {', '.join(ENDINGS)}",
        )
    given = read_legs(legs)
    found = _synthesized(given, synthesize, seed) if synthesize else None
    platform = given if found is None else found.platform
    data: dict[str, Any] = {_KEYS.get(k, k): v for k, v in platform.as_dict().items()}
    text: list[str | TextTable] = list(_lines(platform))
    code = 0
    if found is not None:
        text.append(f"synthesis   {found.words}")
        data["synthesis"] = found.words
        code = 0 if found.reached else 1
    if mass:
        value = amount(_number(mass), "the mass", "kg")
        if not value > 0:
            raise InputError(f"--mass {value:g} kg is not above 0", remedy="give a mass")
        waves = platform.frequencies(value, [value * 0.01] * 3)
        data["frequencies_hz"] = (waves / 6.283185307179586).tolist()
        words = ", ".join(f"{x:.4g}" for x in data["frequencies_hz"])
        text.append(f"frequencies {words} Hz, with radii of gyration of 0.1 m")
    if shift:
        near = link_distances(platform, _way(shift))
        (one, two), pose, far = near.nearest
        data |= {"nearest_legs": [one, two], "nearest_m": far, "legs_meet": bool(near.collisions)}
        text.append(f"legs        {one} and {two} come nearest, {far:.4g} m, at pose {pose}")
        for pair, at, _ in near.collisions:
            text.append(f"legs        {pair[0]} and {pair[1]} meet at pose {at}")
        code = max(code, int(bool(near.collisions)))
    if over:
        curves = _curves(platform, over)
        data["over"] = {name: {"at": x, "diagonal": y} for name, (x, y) in curves.items()}
        text += [_table(name, *each) for name, each in curves.items()]
        if out is not None:
            save_figure(out, _picture(curves))
    return CommandResult(data, text, files={"plot": out}, code=code)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _lines(platform: LegPlatform) -> Iterator[str | TextTable]:
    import numpy as np

    from linkwright.blocks.places import AXES

    A, slopes = np.diag(platform.A), {n: platform.sensitivity(n) for n in platform.values}
    rows = [
        (axis, f"{A[k]:.6g}", f"{platform.stiffness * A[k]:.6g}",
         *(f"{slope[k, k]:.6g}" for slope in slopes.values()))
        for k, axis in enumerate(AXES)
    ]  # fmt: skip
    heads = ("axis", "A", "stiffness", *(f"dA/d{n}" for n in slopes))
    yield TextTable(heads, rows, repr(platform), heads[1:])


def _way(text: str) -> Any:
    import numpy as np

    try:
        end = [float(word) for word in text.split(",")]
    except ValueError:
        end = []
    if len(end) != 3 or not np.isfinite(end).all():
        raise InputError(f"--shift {text!r} is not three numbers", remedy="such as 0.05,0,0")
    poses = np.tile(np.eye(4), (51, 1, 1))
    poses[:, :3, 3] = np.linspace(0, 1, 51)[:, None] * end
    return poses


def _synthesized(given: LegPlatform, wishes: list[str], seed: int) -> Any:
    import numpy as np

    from linkwright.parallel.decoupled_compliance import synthesize

    wanted = {}
    for word in wishes:
        axis, _, value = word.partition("=")
        try:
            wanted[axis] = float(value)
        except ValueError:
            raise InputError(
                f"--synthesize {word!r} is not an element of A", remedy="such as x=2.25 or rz=0.1"
            ) from None
    bases, tips = given.points
    way = tips - bases
    lengths = np.linalg.norm(way, axis=1)
    if np.ptp(lengths) > 1e-9 * lengths.max() or np.ptp(way[:, 2]) > 1e-9 * lengths.max():
        raise InputError(
            "the legs differ in length or height", remedy="give a platform of equal legs"
        )
    return synthesize(float(lengths[0]), float(way[0, 2]), diagonals=wanted, seed=seed)


def _curves(platform: LegPlatform, over: list[str]) -> dict[str, tuple[list[float], list[Any]]]:
    from dataclasses import replace

    import numpy as np

    found = {}
    for text in over:
        name, (low, high) = read_range(text, "FROM:TO")
        if name not in platform.values or not 0 < low < high:
            known = f"it has {', '.join(platform.values)}" if platform.values else "it has none"
            raise InputError(
                f"{text!r} is not a range of a size of the platform", remedy=f"{known}; as a=0.1:1"
            )
        at = np.linspace(low, high, 41)
        rows = [
            np.diag(replace(platform, values={**platform.values, name: float(x)}).A).tolist()
            for x in at
        ]
        found[name] = (at.tolist(), rows)
    return found


def _table(name: str, at: list[float], rows: list[Any]) -> TextTable:
    from linkwright.blocks.places import AXES

    chosen = range(0, len(at), 8)
    cells = [(f"{at[k]:.4g}", *(f"{x:.4g}" for x in rows[k])) for k in chosen]
    return TextTable((name, *AXES), cells, f"A over {name}", (name, *AXES))


def _picture(curves: dict[str, tuple[list[float], list[Any]]]) -> Figure:
    from linkwright.base.optional import extra
    from linkwright.blocks.places import AXES
    from linkwright.recording.plots import styled

    with styled():
        drawing: Figure = extra("matplotlib.figure", "plot").Figure(
            (5.0 * len(curves), 4.0), layout="constrained"
        )
        panels = drawing.subplots(1, len(curves), squeeze=False)[0]
        for axes, (name, (at, rows)) in zip(panels, curves.items(), strict=True):
            for k, axis in enumerate(AXES):
                style = ("-", "--", ":")[k % 3]
                axes.plot(at, [row[k] for row in rows], style, label=axis)
            axes.set_xlabel(f"{name} - m")
            axes.set_ylabel("diagonal of A: 1, m²")
            axes.legend()
    return drawing
