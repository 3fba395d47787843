"""Objects of a laboratory that its robot can touch: one contact element each.

The contact models are SL's (technical report, section 5.8). Model 1, damped springs with viscous
friction, has the parameters k_n, b_n, b_v; model 2, Coulomb friction that sticks and slips, has
k_n, b_n, k_c, c_s, c_d. Further parameters are not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwright.base.errors import InputError
from linkwright.elements import Contact
from linkwright.elements.surfaces import BoxSurface, EllipsoidSurface, SphereSurface, Surface
from linkwright.formats.robot.transforms import euler_rotation
from linkwright.formats.sl.configuration import SceneObject
from linkwright.lab.config import LabConfig
from linkwright.lab.plant import LabMechanism, object_body

MODELS = {1: ("stiffness", "damping", "viscous")} | {
    2: ("stiffness", "damping", "tangential", "static", "dynamic")
}
"""Parameters of the contact models, in the order of the files."""


def surface_of(thing: SceneObject, body: str | None = None) -> Surface:
    """Return the surface of an object, which a body carries where it moves.

    >>> floor = SceneObject("floor", "cube", (), (0, 0, -1.3), (0, 0, 0), (4, 4, 0.1), 1)
    >>> surface_of(floor).center
    (0, 0, -1.3)
    """
    if min(thing.scale) <= 0:
        raise InputError(
            f"the object {thing.name!r} has a scale that is not above 0: {thing.scale}",
            remedy="give the lengths of its edges, or its diameters, in m",
        )
    place: dict[str, Any] = {"body": body}
    if body is None:
        place |= {"center": thing.position, "rotation": euler_rotation(thing.rotation)}
    if thing.kind == "cube":
        return BoxSurface(thing.scale, **place)
    radii = tuple(x / 2 for x in thing.scale)
    if len(set(radii)) == 1:
        return SphereSurface(radii[0], **place)
    return EllipsoidSurface(radii, **place)


def law_of(thing: SceneObject) -> dict[str, float]:
    """Return the numbers of an object's contact model, by the words of `Contact`.

    >>> thing = SceneObject(
    ...     "o", "cube", (), (0, 0, 0), (0, 0, 0), (1, 1, 1), 1, (), (1e4, 50, 20)
    ... )
    >>> law_of(thing)
    {'stiffness': 10000.0, 'damping': 50, 'viscous': 20}
    """
    if thing.contact_model not in MODELS:
        raise InputError(
            f"the object {thing.name!r} has the contact model {thing.contact_model}",
            remedy="give 1 (damped spring), 2 (Coulomb friction), or 0 for none",
        )
    keys, given = MODELS[thing.contact_model], thing.contact_parameters
    if len(given) < len(keys):
        raise InputError(
            f"the object {thing.name!r} has {len(given)} contact parameters",
            remedy=f"contact model {thing.contact_model} has {', '.join(keys)}",
        )
    return dict(zip(keys, given, strict=False))


def stands(config: LabConfig) -> bool:
    """Whether shapes of a robot touch a level ground: it floats, and nothing else can be touched.

    The ground is that of `simulate --ground`.
    """
    floats = config.ground and config.base == "floating"
    return floats and not any(x.contact_model for x in config.objects)


def contacts(config: LabConfig, robot: LabMechanism) -> Iterator[Contact]:
    """Yield the contacts of a laboratory, named after their objects.

    Vertices touch each object; the corners of cubes that move touch the others too.
    """
    for thing in config.objects:
        points = [robot.point(frame) for frame in config.vertices.values()]
        corners = (p for name, own in robot.corners.items() if name != thing.name for p in own)
        points += corners
        if not thing.contact_model or not points:
            continue
        numbers: dict[str, Any] = {**law_of(thing)}
        yield Contact(
            robot.mechanism,
            points,
            surface_of(thing, object_body(thing) if thing.mass else None),
            events=False,
            name=thing.name,
            **numbers,
        )
