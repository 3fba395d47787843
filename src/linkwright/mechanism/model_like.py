"""What a function that takes a model takes: the one place where that is decided."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeAlias

from linkwright.base.reprs import brief
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.mechanism import Mechanism


class HasMechanism(Protocol):
    """A robot or a System: something with a mechanism."""

    @property
    def mechanism(self) -> Mechanism:
        """What moves."""


ModelLike: TypeAlias = Mechanism | HasMechanism | str | os.PathLike[str]
"""A mechanism, a robot, a System, the path of a file, or the name of a shipped model."""


def resolved(given: Any) -> Any:
    """Return what a file or the name of a model holds; anything else is returned as it is.

    Files and shipped models stand above this layer: the package's own `load` opens them.

    >>> resolved("pendulum").name
    'pendulum'
    """
    if not isinstance(given, str | os.PathLike):
        return given
    from linkwright.base.hooks import load

    return load(given)


def mechanism_of(given: ModelLike, what: str = "") -> Mechanism:
    """Return the mechanism of a robot, a System, a file or a model's name; or a mechanism itself.

    With `what`, something that depends on all that acts, the members of a System are not left out
    without being asked for: a System that has some is rejected.

    >>> mechanism_of(Mechanism("m")).name
    'm'
    """
    model = resolved(given)
    found = model if isinstance(model, Mechanism) else getattr(model, "mechanism", None)
    if not isinstance(found, Mechanism):
        raise MechanismError(
            f"{brief(given)} is not a model",
            remedy="give a Mechanism, a Robot, a System, the path of a model's file, or the name "
            "of a shipped model",
        )
    if what and getattr(model, "members", None):
        raise MechanismError(
            f"{what} takes a mechanism alone, and {found.name!r} is a System with "
            f"{', '.join(model.members)}",
            remedy="give its .mechanism to leave these out",
        )
    return found
