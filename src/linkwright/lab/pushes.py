"""Forces and moments of the user on links of the simulated robot (SL: uext_sim).

A push acts at a place of a link, along the world's axes, until its time is over; contacts and what
joints are given act beside it. `Pushing` counts the ticks of the motor servo for which it lasts;
`Pushes` puts it on the bodies: with R the turn of a body, f and m along the world's axes, and the
arm a along the body's, it is the force R'f and the moment R'm + a x R'f in the body's origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import equal, where
from linkwright.base.errors import InputError
from linkwright.blocks import Block, Element
from linkwright.formats.robot.description import Place
from linkwright.formats.robot.transforms import composed
from linkwright.lab.loop import require_simulated
from linkwright.lab.plant import LabMechanism, place_of
from linkwright.lab.world import is_number, triple
from linkwright.mechanism import Body

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

UNITS = ("N",) * 3 + ("N*m",) * 3 + ("m",) * 3


def pushed_bodies(robot: LabMechanism) -> tuple[Body, ...]:
    """Return the bodies that can be pushed: all that move."""
    found = dict.fromkeys(body for body, _ in robot.assembled.places.values())
    ground = robot.mechanism.ground
    return tuple(body for body in found if body is not ground)


class Pushing(Block):
    """Whether each body is pushed: from the tick in which its number changes, for some ticks."""

    needs_rate = True
    """It counts ticks."""

    def __init__(self, bodies: Sequence[Body], name: str = "pushing") -> None:
        super().__init__(name, doc="whether bodies are pushed")
        for body in bodies:
            number = self.input(f"{body.name}_number", unit="1", doc="another one begins a push")
            ticks = self.input(f"{body.name}_ticks", unit="1", doc="for which it lasts")
            seen = self.discrete_state(f"{body.name}_seen", unit="1")
            left = self.discrete_state(f"{body.name}_left", unit="1")
            now = self.intermediate(where(equal(number, seen), left, ticks))
            self.update(seen, number)
            self.update(left, where(now > 0.5, now - 1, 0))
            self.output(f"{body.name}_acts", where(now > 0.5, 1, 0), unit="1", doc="1 or 0")


class Pushes(Element):
    """Forces and moments on bodies, while they are pushed."""

    def __init__(self, robot: LabMechanism, name: str = "pushes") -> None:
        super().__init__(name, robot.mechanism, doc="forces and moments of the user")
        for body in pushed_bodies(robot):
            acts = self.input(f"{body.name}_acts", doc="1 while it is pushed")
            x = self.input_vector(body.name, 9, unit=UNITS, doc="force, moment, arm")
            frame = robot.mechanism.ground.frame
            force, moment = frame.vector(*x[:3]), frame.vector(*x[3:6])
            axes, (a, b, c) = body.frame.axes, x[6:]
            f = [self.intermediate(acts * (force @ axis)) for axis in axes]
            turned = [b * f[2] - c * f[1], c * f[0] - a * f[2], a * f[1] - b * f[0]]
            for k, axis in enumerate(axes):
                at = f"{body.name}_{k + 1}"
                self.force(f"{at}_f", f[k], at=body, along=axis, shown=False)
                self.moment(f"{at}_m", acts * (moment @ axis) + turned[k], on=body, about=axis)


def push(
    lab: Lab,
    link: str,
    force: Sequence[float] = (0.0, 0.0, 0.0),
    moment: Sequence[float] = (0.0, 0.0, 0.0),
    *,
    seconds: float | None = None,
) -> None:
    """Push a link of the simulated robot, from the next tick on.

    Args:
        link: a link, a frame, a vertex or an end-effector; the push acts at its origin.
        force: along the world's axes, N.
        moment: about the world's axes, N*m.
        seconds: how long, s; until it is pushed otherwise by default. No force ends a push.
    """
    require_simulated(lab, "only a hand can push it")
    body, place = _place(lab, link)
    if body is lab.mechanism.mechanism.ground:
        raise InputError(f"{link!r} stands in the world", remedy="push a link that moves")
    given = [*triple("force", force), *triple("moment", moment), *place.position]
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise InputError(f"a push of {seconds!r} s does not act", remedy="give more than 0")
    ticks = 1e15  # years, and a whole number
    if not any(given[:6]):
        ticks = 0.0
    elif seconds is not None:
        ticks = max(1.0, float(round(seconds * float(lab.rates["motor"]))))
    name = f"pushing.{body.name}"
    numbers = {f"{name}_number": lab.given(f"{name}_number") + 1, f"{name}_ticks": ticks}
    values = {f"pushes.{body.name}[{i}]": float(v) for i, v in enumerate(given)}
    lab.put({**values, **numbers})


def _place(lab: Lab, name: str) -> tuple[Body, Place]:
    """Return the body of what is pushed, and where in it that is now."""
    if name in lab.end_effectors:
        effector = lab.end_effectors[name]
        body, at = lab.mechanism.place(effector.link)
        return body, composed(at, place_of(effector))
    return lab.mechanism.place(lab.config.vertices.get(name, name))


def pushed(lab: Lab) -> dict[str, list[float]]:
    """Return the forces and moments that push bodies now, N and N*m along the world's axes."""
    found = {}
    if lab.simulated:
        for body in pushed_bodies(lab.mechanism):
            (acts,) = lab.values(f"pushing.{body.name}_acts")
            if acts[0]:
                found[body.name] = [lab.given(f"pushes.{body.name}[{i}]") for i in range(6)]
    return found


def calm(lab: Lab) -> dict[str, float]:
    """Return the inputs with which no body is pushed after a reset."""
    names = [f"pushing.{body.name}" for body in pushed_bodies(lab.mechanism)]
    return {f"{name}_{key}": 0.0 for name in names for key in ("number", "ticks")}
