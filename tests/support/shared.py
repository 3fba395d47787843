"""Models that many tests use, made once in a worker with the kernels that they come to hold.

Nobody changes them: a Robot has no setters, and mechanisms are frozen. A test that changes a model
loads its own.
"""

from __future__ import annotations

from functools import cache

import linkwright as lw
from linkwright.mechanism import Mechanism
from linkwright.models import load_model


@cache
def robot(name: str) -> lw.Robot:
    """Return a robot that ships: "puma560", "puma560:drives=off", "stanford-arm".

    >>> robot("puma560") is robot("puma560")
    True
    """
    return lw.Robot(name)


@cache
def model(name: str) -> Mechanism:
    """Return a mechanism that ships, as a snapshot that cannot be changed.

    >>> model("pendulum").is_frozen
    True
    """
    return load_model(name).frozen()
