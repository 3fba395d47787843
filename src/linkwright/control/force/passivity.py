"""Passivity: the energy that a law puts into an arm and what it touches, and damping of an excess.

Torques that are held over a period do the work tau (q[k+1] - q[k]) in it, exactly, whatever the arm
does in between (Stramigioli and others 2005). What of it is not in the field of gravity, the law
has given to the arm's motion and to the contact:

    given = sum tau dq - (V - V(0)),    contact = given - (T - T(0)),

with the kinetic energy T and the potential V of the arm. A law is passive as long as it gives no
more than it had stored (`budget`, such as K e^2/2 of its spring) and what its reference brings (the
port `supply`, W). The observer keeps the account

    excess = given - budget - sum supply T - damped,

and where that is above zero the controller brakes the joints so that they lose it within a period,
as far as the damping that is allowed can do it (Hannaford and Ryu 2002). Sampling, delays and
filters make laws active that are passive on paper; the account notices them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linkwright.algebra import Expr, as_expr, maximum, minimum, substitute_all, total, where
from linkwright.algebra.triples import dot
from linkwright.control.joints import JointElement, PerJoint, gains
from linkwright.control.models import kinetic_energy
from linkwright.equations.energy import energy


class PassivityObserver(JointElement):
    """Meters the energy that a law's torques give, and damps what is too much of it.

    The torques of the law go into the port `tau`; with `acts` they go on to the joints, less
    those of the damping. `supply` is the power that the law's reference brings, W. It needs a rate,
    that of the law. Loads of the mechanism itself other than gravity (friction, springs) take their
    part of what counts as the contact's.

    Outputs, J: `given` to arm and contact, `contact` of that, `damped` by the controller, and
    `excess`; `share` is how much of the damping acts, 0 to 1, and `brake` its torques.

    Args:
        mechanism: that is driven.
        budget: energy that the law may give besides what is supplied, J.
        damping: the largest that is used, N*m*s/rad or N*s/m; 0 to observe only. Stable at a rate
            where it is below the inertia over the period.
        joints: names of the coordinates; all that can be driven by default.
        values: numbers of the mechanism's parameters as the observer believes them to be.
        acts: whether it puts the law's torques and those of the damping on the joints; otherwise
            the output `brake` has to be added to the law's.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("slide")
    >>> b = m.body("b", translate="x", mass=2)
    >>> list(PassivityObserver(m, budget=0.5, damping=20).outputs)
    ['given', 'contact', 'damped', 'excess', 'share', 'brake', 'tau_b']
    """

    def __init__(
        self,
        mechanism: Any,
        budget: float,
        damping: PerJoint = 0.0,
        *,
        joints: Iterable[str] | None = None,
        values: Mapping[str, float] | None = None,
        acts: bool = True,
        name: str = "passivity_observer",
    ) -> None:
        super().__init__(name, mechanism, joints)
        names, n, T = self.names_of_joints, len(self.joints), self.period
        joule = "J"
        wanted = self.input_vector("tau", n, doc="torques or forces of the law")
        supply = self.input("supply", unit="W", doc="power that the reference brings")
        allowed = self.parameter("budget", budget, unit=joule, lower=0.0)
        damp = gains(self, "damping", damping, names)
        kinetic, potential = self._energies(values)
        started = self.discrete_state("started", 1.0, unit="1")
        work = self._work(started, "tau", joule)
        lost = self._work(started, "brake", joule)
        first, base = (
            self._since(started, x, word)
            for x, word in ((kinetic, "kinetic0"), (potential, "potential0"))
        )
        given = self.output(
            "given", work - (potential - base), unit=joule, doc="energy given to arm and contact"
        )
        net = given - lost - (kinetic - first)
        self.output("contact", net, unit=joule, doc="energy that has gone into the contact")
        self.output("damped", lost, unit=joule, doc="energy that the damping has taken")
        brought = self.discrete_state("brought", unit=joule, doc="energy that was supplied")
        self.update(brought, brought + T * supply)
        excess = self.output(
            "excess", given - lost - allowed - brought, unit=joule, doc="above what is allowed"
        )
        full = [d * u for d, u in zip(damp, self.u, strict=True)]
        power = self.intermediate(dot(full, self.u))
        lack = maximum(excess, 0.0)
        enough = where(T * power > lack, lack / where(power > 0, T * power, 1.0), 1.0)
        share = self.output(
            "share", where(excess > 0, minimum(enough, 1.0), 0.0), unit="1", doc="of the damping"
        )
        brakes = [self.intermediate(share * x) for x in full]
        self._remember("tau", wanted)
        self._remember("brake", brakes)
        for k, q in enumerate(self.q):
            self.update(self._places[k], q)
        self.output_vector("brake", [-x for x in brakes], doc="torques or forces of the damping")
        if acts:
            tau = [x - y for x, y in zip(wanted, brakes, strict=True)]
            self.efforts("tau", self.joints, tau)

    def _energies(self, values: Mapping[str, float] | None) -> tuple[Expr, Expr]:
        """Return kinetic and potential energy of the arm as the observer knows it."""
        m = self.mechanism
        q, u = self.by_joint(self.q), self.by_joint(self.u)
        kinetic = kinetic_energy(self, q, u, values=values)
        known: dict[Expr, Any] = dict(q)
        known |= {m.parameters[n]: as_expr(x) for n, x in (values or {}).items()}
        (potential,) = substitute_all([energy(m).potential], known)
        return self.intermediate(kinetic), self.intermediate(potential)

    def _work(self, started: Expr, kind: str, unit: str) -> Expr:
        """Return the work of torques that are held over each period."""
        if kind == "tau":
            self._places = [self.discrete_state(f"q{k}") for k in range(len(self.joints))]
            self._held: dict[str, list[Expr]] = {}
        held = [self.discrete_state(f"{kind}{k}") for k in range(len(self.joints))]
        self._held[kind] = held
        before = self.discrete_state(f"work_{kind}", unit=unit)
        steps = zip(held, self.q, self._places, strict=True)
        done = total([x * (q - then) for x, q, then in steps])
        now = self.intermediate(where(started > 0, before + done, 0.0))
        self.update(before, now)
        return now

    def _remember(self, kind: str, values: Iterable[Expr]) -> None:
        for memory, x in zip(self._held[kind], values, strict=True):
            self.update(memory, x)

    def _since(self, started: Expr, value: Expr, name: str) -> Expr:
        """Return what a value was at the first instant."""
        memory = self.discrete_state(name, unit="J")
        first = self.intermediate(where(started > 0, memory, value))
        self.update(memory, first)
        return first
