"""The bearing that carries a joint: the lightest of the catalog that lives long enough."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.formats.catalog.schema import Catalog
from linkwright.sizing.life import BearingLife, bearing_life
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.pairs import Demands
from linkwright.sizing.verdicts import Verdict

__all__ = ["Mounted", "mounted"]

SAFETY = 1.5
"""The least static safety, C0/P0."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """The bearing of a joint; without a name where there is nothing to choose from or for."""

    name: str = ""
    life: BearingLife | None = None

    def margin(self, terms: Demands) -> float:
        """Return the smaller margin of life and static safety."""
        if self.life is None:
            return float("inf")
        return min(self.life.hours / terms.life, self.life.safety / SAFETY) - 1.0

    def verdicts(self, terms: Demands, load: JointLoad) -> list[Verdict]:
        """Return what is said about it."""
        if self.life is None:
            return []
        life = self.life
        time = float(load.cycle.times[life.at])
        static = Verdict(
            "bearing safety",
            life.safety,
            SAFETY,
            "",
            life.safety / SAFETY - 1.0,
            time,
            "C0/P0 >= 1.5, P0 = F_r + 2 M/d + 0.44 F_a",
        )
        dynamic = Verdict(
            "bearing life",
            life.hours,
            terms.life,
            "h",
            life.hours / terms.life - 1.0,
            None,
            "10^6 (C/P)^p turns >= life, P = X (F_r + 2 M/d) + Y F_a (ISO 281)",
        )
        return [dynamic, static]

    def notes(self, load: JointLoad) -> tuple[str, ...]:
        """Return warnings."""
        notes = []
        if load.cycle.force is None:
            notes.append("the force in the joint is not known, so no bearing was judged")
        if load.inertia is None:
            notes.append(
                "no robot was given: emergency stop, inertia ratio, resonance and the masses of "
                "drives were not judged"
            )
        if self.life is not None and self.life.warning:
            notes.append(self.life.warning)
        return tuple(notes)


def mounted(catalog: Catalog, load: JointLoad, terms: Demands) -> Mounted:
    """Return the lightest bearing that fits, or the one that comes nearest."""
    cycle = load.cycle
    if cycle.force is None or cycle.moment is None or cycle.kind != "revolute":
        return Mounted()
    best = Mounted()
    for name in sorted(catalog.bearing, key=lambda n: catalog.bearing[n].mass):
        life = bearing_life(
            catalog.bearing[name], cycle.position, cycle.times, cycle.force, cycle.moment
        )
        now = Mounted(name, life)
        if now.margin(terms) >= 0.0:
            return now
        if not best.name or now.margin(terms) > best.margin(terms):
            best = now
    return best
