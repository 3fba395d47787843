"""From a `Description` to a text model, by way of the mechanism that it is.

Links on fixed joints are joined to the bodies that carry them, and body frames are those that the
mechanism has chosen; the origins of links and named frames are points of the text model.
"""

from __future__ import annotations

from linkwright.formats.robot.description import Description, WrittenDescription
from linkwright.formats.robot.names import code_names
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.to_mechanism import assembled
from linkwright.formats.text.files import write_model


def robot_text(description: Description) -> WrittenDescription:
    """Return a robot as a text model, with what that cannot hold."""
    left = Leftovers()
    made = assembled(description)
    m = made.mechanism
    taken = {*m.bodies, *m.coordinates, *m.parameters, *m.inputs, *m.points, "n", "t", "o"}
    taken |= {f"{name}{end}" for name in m.bodies for end in ("0", "cm")}
    names = code_names(made.places, taken)
    for name, (body, place) in made.places.items():
        if body is m.ground or any(place.position):
            m.point(names[name], body, place.position)
    if any(link.shapes for link in description.links):
        left.add("shapes", 0, "a text model has none")
    most = [x for joint in description.joints for x in (joint.limits.speed, joint.limits.effort)]
    if any(x is not None for x in most):
        left.add("greatest speeds and efforts of joints", 0, "a text model has none")
    if any(joint.kind == "weld" for joint in description.joints):
        left.add("links on fixed joints", 0, "joined to the bodies that carry them")
    return WrittenDescription(write_model(m), left.entries())
