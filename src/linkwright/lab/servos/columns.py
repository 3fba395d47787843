"""Numbers of a laboratory's joints as columns, and words that its blocks share."""

from __future__ import annotations

import math

from linkwright.algebra import Expr, absolute, total
from linkwright.lab.config import LabConfig

LARGEST = 1e12
"""What is greater is not a command and no reading: a stand-in for no bound, and for infinity."""


def column(config: LabConfig, name: str) -> list[float]:
    """Return one number of every joint; no bound becomes `LARGEST`.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import JointConfig
    >>> joint = JointConfig("elbow", 0.0, 2.0, kp=30.0)
    >>> lab = LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,))
    >>> column(lab, "kp"), column(lab, "max_effort")
    ([30.0], [1000000000000.0])
    """
    found = [float(getattr(joint, name)) for joint in config.joints]
    return [math.copysign(LARGEST, x) if math.isinf(x) else x for x in found]


def is_number(*values: Expr) -> Expr:
    """Return whether values are finite numbers of a size that can be meant.

    >>> from linkwright.algebra import evaluate, symbols
    >>> x, y = symbols("x y")
    >>> [bool(evaluate(is_number(x, y), {x: v, y: 1.0})) for v in (3.0, math.nan, -math.inf)]
    [True, False, False]
    """
    return absolute(total(values)) <= LARGEST  # a sum is finite where all its terms are
