"""``linkwright analyze grasp``: where fingers hold an object, and how well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.checks import checked
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import brief
from linkwright.cli.options import option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.grasp import FingerContact, Grasp, GraspObject

OBJECT = "A mesh (.stl, .obj, .msh), or box:LENGTH,WIDTH,HEIGHT, or cylinder:RADIUS,HEIGHT."
CONTACT = "Judge this finger's contact: place and inward normal, in m (repeatable)."
GRAVITY = 9.81


def command(
    target: Annotated[str, typer.Argument(metavar="OBJECT", help=OBJECT)],
    contact: Annotated[list[str] | None, own("X,Y,Z,NX,NY,NZ", CONTACT)] = None,
    fingers: Annotated[int, own("N", "Fingers of a planned grasp, 2 to 5.")] = 2,
    friction: Annotated[float, own("MU", "Coefficient of friction.")] = 0.5,
    patch: Annotated[
        str, own("LENGTH", "Radius of a soft finger's contact, as '5 mm'; 0 for hard ones.")
    ] = "",
    opening: Annotated[str, own("LENGTH", "Greatest distance of two fingers.")] = "",
    mass: Annotated[str, option("--mass", "To be held, with z up.")] = "",
    seed: Annotated[int, option("--seed")] = 0,
    out: Annotated[Path | None, option("--out", "A picture (.png, .svg, .pdf).")] = None,
) -> CommandResult:
    """Plan grasps of an object, or judge one: closure, quality, finger forces.

    The quality is the least wrench that breaks the grasp while normal forces add up to 1 N; moments
    are divided by the object's reach. The exit code is 1 where no grasp is closed.

    \b
    Examples:
      linkwright analyze grasp part.stl --fingers 3 --friction 0.4
      linkwright analyze grasp box:0.2,0.06,0.06 --opening '8 cm' --mass 0.3 -o grasp.png
      linkwright analyze grasp cylinder:30mm,12cm --contact 0.03,0,0,-1,0,0 \\
        --contact=-0.03,0,0,1,0,0 --patch '5 mm'
    """
    from linkwright.algebra.units import amount
    from linkwright.grasp import Grasp, grasp_object, plan_grasps
    from linkwright.recording.plots import ENDINGS, save_figure

    if out is not None and out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a picture is not written as {out.suffix!r}",
            file=out,
            remedy=f"end the name with one of {', '.join(ENDINGS)}",
        )
    radius = amount(_number(patch), "the patch", "m") if patch else None
    load = amount(_number(mass), "the mass", "kg") if mass else 0.0
    checked(load, "the mass in kg", least=0)
    torsion = None if radius is None else 2 / 3 * friction * radius
    given = grasp_object(target)
    if contact:
        held = [_contact(text, friction, torsion or 0.0) for text in contact]
        found = [Grasp(held, given.center, given.reach)]
        data: dict[str, object] = {"object": given.name, "grasps": [found[0].as_dict()]}
        told = f"{given.name}: a grasp of {len(held)}"
    else:
        wide = amount(_number(opening), "the opening", "m") if opening else float("inf")
        planned = plan_grasps(
            given, fingers=fingers, friction=friction, torsion=torsion, opening=wide, seed=seed
        )
        found, data = list(planned.grasps), planned.as_dict()
        told = f"{given.name}: the best of {planned.tried} candidates"
    forces = [_held(grasp, load) for grasp in found] if load else []
    if forces:
        data["largest_normal_forces_newton"] = forces
    if out is not None and found:
        save_figure(out, _picture(given, found[0]))
    closed = any(grasp.closure != "none" for grasp in found)
    return CommandResult(
        data,
        _tables(told, found, forces),
        [] if found else [f"note: no grasp of {fingers} fingers was found on {given.name}"],
        {"plot": out if found else None},
        code=0 if closed else 1,
    )


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _contact(text: str, friction: float, torsion: float) -> FingerContact:
    from linkwright.grasp import FingerContact

    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 6:
        raise InputError(
            f"--contact {brief(text)} is not six numbers",
            remedy="give place and inward normal: --contact 0.03,0,0,-1,0,0",
        )
    return FingerContact(numbers[:3], numbers[3:], friction, torsion, name=text)


def _held(grasp: Grasp, mass: float) -> float | None:
    """Return the largest normal force with which a grasp holds a mass, or nothing."""
    try:
        held = grasp.forces([0, 0, -GRAVITY * mass, 0, 0, 0])
    except DomainError:
        return None
    normals = [c.direction for c in grasp.contacts]
    return max(float(f[:3] @ n) for f, n in zip(held, normals, strict=True))


def _tables(told: str, found: list[Grasp], forces: list[float | None]) -> Iterator[str | TextTable]:
    rows = []
    for k, grasp in enumerate(found):
        for i, contact in enumerate(grasp.contacts):
            first = [str(k + 1), grasp.closure, f"{grasp.quality:.4g}"] if i == 0 else [""] * 3
            if forces:
                force = forces[k]
                first += ["" if i else "cannot" if force is None else f"{force:.4g}"]
            place = " ".join(f"{x + 0.0:.4g}" for x in contact.at)
            normal = " ".join(f"{x + 0.0:.3g}" for x in contact.direction)
            rows.append([*first, place, normal])
    head = ["grasp", "closure", "quality"] + ["normal force, N"] * bool(forces)
    yield TextTable([*head, "finger at, m", "normal"], rows, told)


def _picture(given: GraspObject, grasp: Grasp) -> Figure:
    """Return the object with the fingers of a grasp as arrows."""
    import numpy as np

    from linkwright.base.optional import extra

    drawing: Figure = extra("matplotlib.figure", "plot").Figure((6, 5), layout="constrained")
    axes = drawing.add_subplot(projection="3d")
    axes.plot_trisurf(
        *given.points.T, triangles=given.faces, color=(0.66, 0.77, 0.88, 0.35),
        edgecolor=(0.2, 0.3, 0.4, 0.35), linewidth=0.3,
    )  # fmt: skip
    at = np.array([c.at for c in grasp.contacts])
    along = 0.5 * given.reach * np.array([c.direction for c in grasp.contacts])
    axes.quiver(*(at - along).T, *along.T, color="#c8553d", arrow_length_ratio=0.2)
    axes.scatter(*at.T, color="#c8553d")
    axes.set_aspect("equal")
    axes.set_title(f"{given.name}: {grasp.words}, quality {grasp.quality:.3g}")
    for name in "xyz":
        getattr(axes, f"set_{name}label")(f"{name} - m")
    return drawing
