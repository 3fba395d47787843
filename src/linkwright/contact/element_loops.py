"""A wrist's loop along one axis, built from the elements that arms are built from.

An arm of some mass with a quick servo takes the place of one that jumps where it is sent; the wrist
is a `CompliantWrist`, the law `PositionCompensation` or `ForceControl`, and the surroundings a
`Contact` that only pushes. What these do is close to the exact sampled loop in the order
"old-place", as long as contact is not lost.
"""

from __future__ import annotations

from typing import Any

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.blocks import sampled
from linkwright.contact.wrist_loops import WristLoop
from linkwright.control import PD, ForceControl, PositionCompensation
from linkwright.elements import CompliantWrist, Contact, Plane
from linkwright.mechanism import Mechanism
from linkwright.system import System

__all__ = ["element_system"]

ORDER = "old-place"
_ARM = 5.0  # kg


@worded
def element_system(loop: WristLoop, *, push: float = 5.0, quickness: float = 20.0) -> System:
    """Return a wrist's loop as a System of a wrist, a law, a servo and, with Ke, a contact.

    The arm is `arm` and the tool's deflection `tool`, in m; z points up, and the surface is z = 0,
    which the tool touches at the start. The gain is the parameter `law.KF` or `law.Kp`, the
    filter's pole `law.filter`. A law of force presses down with `push`.

    Args:
        loop: its law and numbers, in the order "old-place", which is that of the elements.
        push: with which laws of force press, N.
        quickness: of the arm's servo: its natural frequency times the period T.

    >>> from linkwright.simulation import simulate
    >>> loop = WristLoop("accumulating", 0.2, m=0.1, Cw=5.0, Kw=500.0, a=0.8, Ke=1e4)
    >>> run = simulate(element_system(loop), 3.0, method="rk4", step=0.001)
    >>> round(run.final["wrist.wrench[2]"], 2)
    5.0
    """
    if loop.order != ORDER:
        raise InputError(
            f"the elements of force take the deflection in the order {ORDER!r}, not {loop.order!r}",
            remedy=f"use loop.changed(order={ORDER!r})",
        )
    m = Mechanism("wrist-axis")
    arm = m.body("arm", translate="z", mass=_ARM)
    mass = m.parameter("m", loop.m, unit="kg")
    tool = m.body("tool", parent=arm, translate="z", mass=mass)
    s = System(m)
    wrist = CompliantWrist(
        m, arm, tool, stiffness=[loop.Kw] * 6, damping=[loop.Cw] * 6, name="wrist"
    )
    s.add(wrist)
    if loop.Ke or loop.Ce:
        s.add(Contact(m, [tool], Plane(), stiffness=loop.Ke, damping=loop.Ce))
    shared: dict[str, Any] = {"filter": loop.a, "forced": True, "name": "law"}
    law: PositionCompensation | ForceControl
    if loop.law == "position":
        law = PositionCompensation(m, wrist, loop.gain, **shared)
    else:
        base: Any = "current" if loop.law == "accumulating" else "specified"
        law = ForceControl(m, wrist, loop.gain, base=base, force="z", push={"z": -push}, **shared)
    sent = s.add(law, rate=sampled(period=loop.T))
    w = quickness / loop.T
    servo = s.add(PD(m, kp=[_ARM * w * w], kd=[2 * _ARM * w], joints=["arm"]))
    s.connect(sent.command, servo.target)
    return s
