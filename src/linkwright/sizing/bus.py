"""The bus that all drives share: power of the supply, energy that comes back, and where it goes.

What a motor takes is R i² + T w, through its amplifier's losses in either direction. Joints that
brake feed those that drive; what is left charges the capacitor, and above its highest voltage the
resistor burns it, or the supply takes it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.sizing.pairs import shaft_torque
from linkwright.sizing.verdicts import Verdict

if TYPE_CHECKING:
    from linkwright.formats.catalog.schema import SupplyEntry
    from linkwright.sizing.choice import Sizing

__all__ = ["BusLoad", "bus_load"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class BusLoad:
    """What all drives ask of the bus in a cycle that repeats.

    Args:
        times: of the samples, s.
        power: of all drives together, W; negative where energy comes back.
        energy: from the supply in one cycle, J.
        regenerated: that came back to the bus, J.
        burned: in the resistor, J.
        returned: to the mains, J.
        capacitance: that would keep all of it, F.
        verdicts: on supply and resistor; none where the catalog has no supply.
    """

    times: Array
    power: Array
    energy: float
    regenerated: float
    burned: float
    returned: float
    capacitance: float
    verdicts: tuple[Verdict, ...]

    @property
    def margin(self) -> float:
        """The smallest of all."""
        return min((v.margin for v in self.verdicts), default=np.inf)

    def __str__(self) -> str:
        rows = [f"  {v}\n         {v.formula}" for v in self.verdicts]
        head = (
            f"energy {self.energy:.4g} J a cycle, {self.regenerated:.4g} J come back, "
            f"{self.burned:.4g} J are burned"
        )
        return "\n".join([head, *rows])


def joint_power(found: Sizing, joint: str) -> Array:
    """Return what the bus gives to one joint's amplifier at each sample, W."""
    choice, options = found.chosen[joint], found.options[joint]
    catalog = found.catalog
    motor = catalog.motor[choice.motor]
    brake = catalog.brake[choice.brake].J if choice.brake else 0.0
    torque = shaft_torque(options.load, motor, catalog.gear[choice.gear], brake)
    hot = motor.R * (1.0 + motor.alpha * (motor.hottest - 20.0))
    speed = catalog.gear[choice.gear].reduction * options.load.cycle.speed
    taken = hot * (torque / motor.kt) ** 2 + torque * speed
    share = catalog.amplifier[choice.amplifier].efficiency if choice.amplifier else 1.0
    return np.asarray(np.where(taken > 0.0, taken / share, taken * share))


def bus_load(found: Sizing) -> BusLoad:
    """Return what the drives that were chosen ask of the bus together."""
    times = next(iter(found.options.values())).load.cycle.times
    power = np.sum([joint_power(found, joint) for joint in found.chosen], axis=0)
    work = 0.5 * (power[1:] + power[:-1]) * np.diff(times)
    back = float(np.maximum(-work, 0.0).sum())
    supply = found.catalog.supply.get(found.supply)
    if supply is None:
        energy = float(np.maximum(work, 0.0).sum())
        return BusLoad(times, power, energy, back, 0.0, 0.0, 0.0, ())
    given, spilled = _run(work, supply)
    energy, lost = float(given.sum()), float(spilled.sum())
    rise = _largest_rise(work)
    room = 0.5 * (supply.highest**2 - supply.voltage**2)
    verdicts = _verdicts(times, power, given, spilled, supply)
    burned, returned = (0.0, lost) if supply.takes_back else (lost, 0.0)
    needed = rise / room if room > 0.0 else np.inf
    return BusLoad(times, power, energy, back, burned, returned, needed, verdicts)


def _run(work: Array, supply: SupplyEntry) -> tuple[Array, Array]:
    """Return what the supply gives and what is left over in each interval of a periodic cycle."""
    room = 0.5 * supply.capacitance * (supply.highest**2 - supply.voltage**2)
    given, spilled = np.zeros(len(work)), np.zeros(len(work))
    # With a surplus the store fills over the cycles, without one it empties: a cycle from there.
    stored = room if _surplus(work) else 0.0
    for _ in range(2):
        for k, asked in enumerate(work.tolist()):
            stored -= asked
            given[k], spilled[k] = max(-stored, 0.0), max(stored - room, 0.0)
            stored = min(max(stored, 0.0), room)
    return given, spilled


def _surplus(work: Array) -> bool:
    """Return whether a cycle gives back more than it takes."""
    return bool(work.sum() < -1e-12 * np.abs(work).sum())


def _largest_rise(work: Array) -> float:
    """Return the most that is stored where nothing is burned; infinite where it always grows."""
    if _surplus(work):
        return float("inf")
    stored = most = 0.0
    for asked in (*work.tolist(), *work.tolist()):
        stored = max(stored - asked, 0.0)
        most = max(most, stored)
    return most


def _verdicts(
    times: Array, power: Array, given: Array, spilled: Array, supply: SupplyEntry
) -> tuple[Verdict, ...]:
    duration = float(times[-1] - times[0])
    steps = np.diff(times)
    at = int(np.argmax(power))
    mean = float(given.sum()) / duration
    found = [
        _verdict("supply peak", float(power[at]), supply.peak, float(times[at]), "max sum P <= P"),
        _verdict("supply", mean, supply.continuous, None, "energy/cycle time <= P"),
    ]
    lost = float(spilled.sum()) / duration
    if lost > 0.0 and not supply.takes_back:
        worst = int(np.argmax(spilled / steps))
        peak = float(spilled[worst] / steps[worst])
        most = 0.0 if supply.resistor is None else supply.highest**2 / supply.resistor
        when = float(times[worst])
        found += [
            _verdict("resistor peak", peak, most, when, "max P burned <= U_max^2/R"),
            _verdict("resistor", lost, supply.resistor_power, None, "mean P burned <= P"),
        ]
    return tuple(found)


def _verdict(name: str, value: float, limit: float, time: float | None, formula: str) -> Verdict:
    margin = (limit - value) / limit if limit > 0.0 else -np.inf
    return Verdict(name, value, limit, "W", margin, time, formula)
