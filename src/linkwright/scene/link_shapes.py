"""Solids of the shapes that links and bodies have themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linkwright.base.errors import Error
from linkwright.formats.robot.body_shapes import drawn
from linkwright.formats.robot.description import LinkShape, Place
from linkwright.formats.robot.transforms import composed
from linkwright.mechanism import Body
from linkwright.mechanism.shapes import Mesh
from linkwright.scene.body_geometry import Geometry
from linkwright.scene.solids import Solid


def own_solids(
    geometry: Geometry, bodies: Sequence[Body], roots: Sequence[str | Path], notes: list[str]
) -> dict[Body, list[Solid]]:
    """Return the solids of bodies that were given shapes, in place of generated ones."""
    found: dict[Body, list[Solid]] = {}
    for body in bodies:
        for shape in geometry.mechanism.shapes.get(body.name, ()):
            if not shape.seen:
                continue
            try:
                info = drawn(shape, lambda values: geometry.numbers(values).tolist())
            except Error as error:  # with these values
                notes.append(f"{body.name!r}: {error.what}")
                continue
            source = shape.source if isinstance(shape, Mesh) else ""
            # What the model says counts before colors in the mesh.
            own = replace(info, material=info.material or ("own" if info.color else ""))
            made = solid_of(body.name, own, Place(), source, roots, notes)
            if made is not None:
                found.setdefault(body, []).append(replace(made, link=""))
    return found


def solid_of(
    link: str,
    shape: LinkShape,
    place: Place,
    source: str,
    roots: Sequence[str | Path],
    notes: list[str],
) -> Solid | None:
    """Return the solid of a shape of a link, or None where its mesh cannot be had."""
    at = composed(place, shape.place)
    if shape.kind != "mesh":
        return Solid(shape.kind, shape.size, at, shape.color, link=link)
    from linkwright.formats.meshes.lookup import ENDINGS, find_mesh
    from linkwright.scene.solids import read_surfaces

    try:
        path = find_mesh(shape.mesh, source, roots)
        if path.suffix.lower() not in ENDINGS:
            notes.append(f"the mesh of {link!r} is in a format that is not read")
            return None
        read_surfaces(path)
    except Error as error:
        notes.append(str(error))
        return None
    # Colors in a mesh count before a material that says nothing: one without a name, or white.
    plain = not shape.material or (shape.color or ())[:3] == (1.0, 1.0, 1.0)
    return Solid("mesh", (), at, shape.color, path, shape.scale, link, plain)


def summary(notes: Sequence[str]) -> tuple[str, ...]:
    """Return what a scene reports shapes that could not be had, in one sentence."""
    if not notes:
        return ()
    more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
    return (f"{notes[0]}{more}; generated shapes stand in",)
