"""``linkwright tools latency``: how late instants are met on this machine."""

from __future__ import annotations

import typer

from linkwright.cli.terminal import echo

_RATE = typer.Option(500.0, "--rate", metavar="HZ", help="Instants in a second.")
_TRIALS = typer.Option(1, "--trials", metavar="N", help="How often it is measured.", min=1)
_EVENTS = typer.Option(1000, "--events", metavar="N", help="Instants of each trial.", min=1)


def command(rate: float = _RATE, trials: int = _TRIALS, events: int = _EVENTS) -> None:
    """Measure how late the native loop and a Python thread meet their instants.

    \b
    Examples:
      linkwright tools latency --rate 500
      linkwright tools latency --trials 10 --events 10000
    """
    from linkwright.simulation.pacing.latency import Latency, measured

    refused: set[str] = set()

    def tell(found: Latency) -> None:
        for line in found.lines():
            echo(line)
        for line in found.rights.refused:
            if line not in refused:
                echo(line)
        refused.update(found.rights.refused)

    measured(rate, trials, events, tell)
