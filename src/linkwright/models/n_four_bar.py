"""A row of n four-bar linkages: 2n+1 uniform links, one degree of freedom (IFToMM A02).

n+1 cranks stand on the ground side by side, one link apart, and n couplers join their tips. The row
is singular whenever it is flat. It starts upright, and the tip B0 of the first crank with 1 m/s
along x. Angles of the cranks are clockwise from upright; those of the couplers are relative to
their crank.
"""

from __future__ import annotations

from linkwright.base.errors import InputError
from linkwright.mechanism import Body, Mechanism
from linkwright.models.declare import declare


def build(n: int = 2) -> Mechanism:
    """Return the row.

    >>> m = build(3)
    >>> len(m.bodies), len(m.constraints)
    (7, 6)
    """
    if n < 1:
        raise InputError(f"n-four-bar has at least one four-bar linkage, not {n}", remedy="n=2")
    m = Mechanism("n-four-bar", f"{n} four-bar linkages in a row, {2 * n + 1} uniform links")
    m.positive("m", "L")
    declare(m, "kg", "mass of a link", m=1)
    declare(m, "m", "length of a link", L=1)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    inertia = (0, 0, "m*L**2/12")
    cranks: list[Body] = []
    couplers: list[Body] = []
    for i in range(n + 1):
        crank = m.body(
            f"a{i}",
            rotate="-z",
            reference="x",
            at=(f"{i}*L", 0, 0),
            mass="m",
            com=(0, "-L/2", 0),
            inertia=inertia,
            doc=f"crank {i}",
        )
        cranks.append(crank)
        if i < n:
            couplers.append(
                m.body(
                    f"c{i}",
                    parent=crank,
                    rotate="z",
                    at=(0, "-L", 0),
                    mass="m",
                    com=("L/2", 0, 0),
                    inertia=inertia,
                    doc=f"coupler {i}",
                )
            )
    m.gravity(along="-y", g="g")
    tips = [m.point(f"B{i}", crank, (0, "-L", 0)) for i, crank in enumerate(cranks)]
    for i, coupler in enumerate(couplers):
        end = m.point(f"e{i}", coupler, ("L", 0, 0))
        m.constrain_points(end, tips[i + 1], "y", name=f"B{i + 1} closes in y")
        m.constrain_points(end, tips[i + 1], "x", name=f"B{i + 1} closes in x")
    m.output("x", tips[0].position @ m.x, unit="m", doc="tip of the first crank, x")
    m.output("y", tips[0].position @ m.y, unit="m", doc="tip of the first crank, y")
    m.set_initial(a0_dot=1.0)
    return m
