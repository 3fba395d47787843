"""How well a mount has followed a pass: pointing error, loss, and whether the license was kept."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwright.base.results import Result
from linkwright.mounts.license import VESSELS, License

if TYPE_CHECKING:
    from linkwright.simulation.run import Run


@dataclass(frozen=True, slots=True)
class TrackingReport(Result):
    """What a run of a mount that follows a pass has reached; names end in units.

    >>> report = TrackingReport(0.31, 0.2, 0.1, 1.25, 0.5, 0, "kept")
    >>> report.rows()[0]
    ('pointing error, greatest', '0.3100°')
    """

    error_max_deg: float
    error_p95_deg: float
    error_rms_deg: float
    loss_max_db: float
    beyond_half_beam_s: float
    cuts: int  # how often the transmitter was silenced
    verdict: str  # on the license

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return label and value of each line of a table."""
        return [
            ("pointing error, greatest", angle_text(self.error_max_deg)),
            ("pointing error, 95 % below", angle_text(self.error_p95_deg)),
            ("pointing error, root mean square", angle_text(self.error_rms_deg)),
            ("loss, greatest", f"{self.loss_max_db:.3f} dB"),
            ("beyond half the beam", f"{self.beyond_half_beam_s:.2f} s"),
            ("transmitter silenced", f"{self.cuts} times"),
        ]


def tracking_report(
    run: Run,
    beamwidth: float,
    license: License = VESSELS,  # noqa: A002
) -> TrackingReport:
    """Return how well the mount of a System of `track_pass` has followed its pass.

    Units: `beamwidth` in rad.
    """
    error, on = run["pointing error"], run["transmitter.transmits"]
    period = float(run.times[1] - run.times[0]) if len(run.times) > 1 else 0.0
    return TrackingReport(
        error_max_deg=round(math.degrees(error.max()), 9),
        error_p95_deg=round(math.degrees(np.percentile(error, 95)), 9),
        error_rms_deg=round(math.degrees(np.sqrt(np.mean(error**2))), 9),
        loss_max_db=round(float(run["pointing loss"].max()), 4),
        beyond_half_beam_s=round(float((error > beamwidth / 2).mean() * run.times[-1]), 3),
        cuts=round(float(run.final["transmitter.cuts"])),
        verdict=license.verdict(error, on, period),
    )


def angle_text(degrees: float) -> str:
    """Return an angle with digits that say something.

    >>> angle_text(0.31234), angle_text(0.0002)
    ('0.3123°', '0.720″')
    """
    return f"{degrees:.4f}°" if abs(degrees) >= 0.01 else f"{3600.0 * degrees:.3f}″"
