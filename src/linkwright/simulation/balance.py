"""How well energy is accounted for in a recording.

Without friction or drives the sum of kinetic energy and energy in the field of gravity stays what
it was; otherwise it changes by the work of loads, the integral of their power, which Simpson's rule
gives. What is left is the error of the integration. Constraints that move do work that is not
known here, and Simpson's rule knows nothing of loads that jump between samples.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from linkwright.base.energies import ENERGIES
from linkwright.base.results import Result
from linkwright.recording.recording import Array, Recording


@dataclass(frozen=True, slots=True)
class Balance(Result):
    """Energies at the end of a run, in the unit given."""

    kinetic: float  # kinetic energy
    potential: float  # energy in the field of gravity
    gain: float  # of both together since the start
    work: float  # of loads since the start
    # what the gain is more than the work; None where that is not known from samples: constraints
    # that move work too, a joint may have met its end stop, or loads jump between samples, at ticks
    # of sampled members and at events
    drift: float | None
    scale: float  # the largest of the energies on the way, less the smallest
    unit: str  # of all of them

    def as_dict(self) -> dict[str, float | str | None]:
        """Return it as plain data."""
        return asdict(self)


def balance(recording: Recording) -> Balance | None:
    """Return the balance of energies at the end; None where they were not recorded.

    >>> from linkwright.models.runner import Request, run_model
    >>> found = balance(run_model(Request("pendulum")).recording)
    >>> abs(found.drift) < 1e-6 * found.scale, found.unit
    (True, 'J')
    """
    if any(name not in recording for name in ENERGIES) or len(recording) < 2:
        return None
    kinetic, potential, power = (recording[name] for name in ENERGIES)
    total = kinetic + potential
    gain = float(total[-1] - total[0])
    work = integral(recording.times, power) if np.any(power) else 0.0
    scale = max(float(np.ptp(part)) for part in (kinetic, potential, total))
    unit = recording.channel(ENERGIES[0]).unit
    about = recording.metadata
    unknown = about.get("driven") or ((about.get("limits") or about.get("jumps")) and work)
    drift = None if unknown else gain - work
    return Balance(float(kinetic[-1]), float(potential[-1]), gain, work, drift, scale, unit)


def integral(times: Array, values: Array) -> float:
    """Return the integral of samples by parabolas through three of them (Simpson's rule).

    >>> t = np.linspace(0, 2, 5)
    >>> integral(t, t**2 - t)
    0.6666666666666666
    """
    count = len(times)
    if count < 3:
        return float(np.diff(times) @ (values[1:] + values[:-1]) / 2) if count == 2 else 0.0
    last = count - 1 if count % 2 else count - 2
    h0 = times[1:last:2] - times[0 : last - 1 : 2]
    h1 = times[2 : last + 1 : 2] - times[1:last:2]
    a, b, c = values[0 : last - 1 : 2], values[1:last:2], values[2 : last + 1 : 2]
    whole = h0 + h1
    found = float(
        np.sum(whole / 6 * ((2 - h1 / h0) * a + whole**2 / (h0 * h1) * b + (2 - h0 / h1) * c))
    )
    if count % 2:
        return found
    h0, h1 = times[-2] - times[-3], times[-1] - times[-2]
    a, b, c = values[-3], values[-2], values[-1]
    # the last interval from the parabola through the last three samples
    found += float(
        h1 * (2 * h1 + 3 * h0) / (6 * (h0 + h1)) * c
        + h1 * (h1 + 3 * h0) / (6 * h0) * b
        - h1**3 / (6 * h0 * (h0 + h1)) * a
    )
    return found
