"""``linkwright tools latency``: how late instants are met on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwright.cli.options import option
from linkwright.cli.terminal import echo


def command(
    rate: Annotated[float, option("--rate")] = 500.0,
    trials: Annotated[int, typer.Option(metavar="N", help="How often it is measured.", min=1)] = 1,
    events: Annotated[int, typer.Option(metavar="N", help="Instants of each trial.", min=1)] = 1000,
) -> None:
    """Measure how late the native loop and a Python thread meet their instants.

    \b
    Examples:
      linkwright tools latency --rate 500
      linkwright tools latency --trials 10 --events 10000
    """
    from linkwright.simulation.pacing.latency import Latency, measured

    lacking: set[str] = set()

    def tell(found: Latency) -> None:
        for line in found.lines():
            echo(line)
        for line in found.rights.refused:
            if line not in lacking:
                echo(line)
        lacking.update(found.rights.refused)

    measured(rate, trials, events, tell)
