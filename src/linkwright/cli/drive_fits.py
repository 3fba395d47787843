"""What ``linkwright analyze drives --fit`` prints: the parameters of a drive from a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from linkwright.cli.terminal import echo

_MOST = 10.0
"""Innovations squared of a fit, in units of their variance, at most."""


def print_fit(chain: Any, fit: Path, validate: Path | None, as_json: bool) -> None:
    """Fit a drive to a recording, and print what was found."""
    from linkwright.elements.drives import Chain, DriveError
    from linkwright.recording import read_recording
    from linkwright.robots.identification import fit_drive

    if not isinstance(chain, Chain):
        raise DriveError(
            f"{chain.name!r} drives a joint of a mechanism, and has no load of its own",
            remedy="fit a Chain, with what it turns as its load",
            code="R652",
        )
    found = fit_drive(read_recording(fit), chain)
    if not found.nis < _MOST:
        raise DriveError(
            f"no parameters of {chain.name!r} explain {fit}: innovations squared are "
            f"{found.nis:.3g} in units of their variance, 1 where all fits",
            remedy="check units, signs and ratio of the recording, and that the drive has the "
            "parts that were recorded",
            code="R655",
        )
    checked = None if validate is None else found.validated(read_recording(validate))
    if as_json:
        rows = [
            {
                "parameter": p.name,
                "value": p.value,
                "deviation": p.deviation,
                "confidence": list(p.confidence),
                "unit": p.unit,
            }
            for p in found.parameters
        ]
        told: dict[str, Any] = {"fit": str(fit), "parameters": rows, "nis": found.nis}
        if checked is not None:
            told["validation"] = {
                "recording": str(validate),
                "nis": checked.nis,
                "errors": dict(checked.errors),
                "shares": checked.shares,
            }
        echo(json.dumps(told, indent=2))
        return
    echo(found.table())
    told_rate = f"{found.samples} samples at {found.rate:g} Hz"
    echo(f"{told_rate}; innovations squared {found.nis:.3g} (1 where all fits)")
    if checked is not None:
        shares = ", ".join(f"{n} {100 * s:.2g} %" for n, s in checked.shares.items())
        echo(f"validation: innovations squared {checked.nis:.3g}; errors of a simulation: {shares}")
