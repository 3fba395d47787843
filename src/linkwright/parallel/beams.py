"""Links as beams: sections, deflection and stress of cantilevers, and Euler's load.

The formulas are those of Euler and Bernoulli: a cantilever of length L under a force F at its tip
bends by F L^3 / (3 E I), and its root is stressed by F L c / I, with c the distance of the
outermost fiber (the antenna-mount thesis, chapter 3, sizes its legs, arms and yokes so).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from linkwright.base.errors import InputError

__all__ = ["BeamSection", "buckling_load", "root_stress", "tip_deflection"]

ALUMINIUM = 70e9
STEEL = 200e9


@dataclass(frozen=True, slots=True)
class BeamSection:
    """The cross section of a uniform link.

    Args:
        area: m^2.
        bending: second moment of area about both axes across the link, m^4.
        torsion: constant of torsion, m^4; twice the bending of a round section.
        depth: distance of the outermost fiber from the neutral axis, m.
        elasticity: Young's modulus, Pa.
        shear: shear modulus, Pa; by default that of a Poisson ratio of 0.3.

    >>> tube = BeamSection.tube(0.1, 0.004)
    >>> round(tube.bending * 1e6, 3)
    1.392
    """

    area: float
    bending: float
    torsion: float
    depth: float
    elasticity: float = ALUMINIUM
    shear: float = 0.0

    def __post_init__(self) -> None:
        for name in ("area", "bending", "torsion", "depth", "elasticity"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise InputError(
                    f"the {name} of a section is {value}",
                    remedy="give a positive number",
                )
        if not self.shear:
            object.__setattr__(self, "shear", self.elasticity / 2.6)

    @classmethod
    def tube(cls, diameter: float, wall: float, elasticity: float = ALUMINIUM) -> BeamSection:
        """Return a round tube.

        Args:
            diameter: outer, m.
            wall: thickness, m; half the diameter for a solid bar.
            elasticity: Young's modulus, Pa.

        >>> round(BeamSection.tube(0.02, 0.01).area * 1e4, 4)
        3.1416
        """
        inner = diameter - 2.0 * wall
        if not 0.0 < wall <= diameter / 2.0:
            raise InputError(
                f"a tube of {diameter} m has no wall of {wall} m",
                remedy="give a wall above 0 and up to half the diameter",
            )
        area = math.pi / 4.0 * (diameter**2 - inner**2)
        bending = math.pi / 64.0 * (diameter**4 - inner**4)
        return cls(area, bending, 2.0 * bending, diameter / 2.0, elasticity)


def tip_deflection(force: float, length: float, bending: float, elasticity: float) -> float:
    """Return how far the tip of a cantilever gives way, m.

    Args:
        force: across its tip, N.
        length: m.
        bending: second moment of area, m^4.
        elasticity: Young's modulus, Pa.

    >>> round(1e3 * tip_deflection(1425, 0.8416, 3.34e-6, ALUMINIUM), 1)
    1.2
    """
    return force * length**3 / (3.0 * elasticity * bending)


def root_stress(force: float, length: float, bending: float, depth: float) -> float:
    """Return the largest bending stress of a cantilever, at its root, Pa.

    Args:
        force: across its tip, N.
        length: m.
        bending: second moment of area, m^4.
        depth: distance of the outermost fiber from the neutral axis, m.

    >>> round(root_stress(1425, 0.12, 3.07e-7, 0.0125) / 1e6)
    7
    """
    return force * length * depth / bending


def buckling_load(length: float, bending: float, elasticity: float) -> float:
    """Return the load at which a strut with a pin at each end buckles (Euler), N.

    Args:
        length: m.
        bending: second moment of area, m^4.
        elasticity: Young's modulus, Pa.

    >>> round(buckling_load(1.0, 1e-6, STEEL) / 1e3)
    1974
    """
    return math.pi**2 * elasticity * bending / length**2
