"""Robots of mechanisms that were robots before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from linkwright.robots.robot import Robot

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism


def robot_of(source: Robot | Mechanism) -> Robot:
    """Return the robot that a mechanism is: of the description it was assembled from, if of any.

    >>> puma = Robot("puma560")
    >>> robot_of(puma) is puma, robot_of(puma.mechanism).coordinates == puma.coordinates
    (True, True)
    """
    from linkwright.mechanism.structure import structure_of

    if isinstance(source, Robot):
        return source
    known = source.provenance
    if known is None or known.robot is None:
        return Robot(source)
    description, assembled = known.robot
    made = Robot(description, **known.options)
    made.__dict__["assembled"] = replace(assembled, mechanism=source)
    source.when_changed(made.forget)
    if known.structure != structure_of(source):  # the disk cache knows it as it was
        made.__dict__["_digest"] = ""
    return made
