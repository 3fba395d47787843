"""``linkwright cell watch``: the arms of a running cell, as they move."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.base.results import plain
from linkwright.cli.cells import Authority, Cell, Certificate, Client, Key, open_cell
from linkwright.cli.options import option, own
from linkwright.cli.terminal import echo, harmless

if TYPE_CHECKING:
    from linkwright.server.client import ArmState, RemoteCell

COLUMNS = ("arm", "life", "moving", "q", "target", "current", "taken", "done", "cause", "holder")


def command(
    cell: Cell,
    once: Annotated[bool, own(None, "Print one state and end.", "--once")] = False,
    as_json: Annotated[bool, option("--json", "A line for each state.")] = False,
    rate: Annotated[float, option("--rate")] = 10.0,
    client: Client = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
) -> None:
    """Show the arms of a running cell as they move; looking takes no lease.

    \b
    Examples:
      linkwright cell watch cell1
      linkwright cell watch cell1 --once --json
      linkwright cell watch tls/10.0.0.5:7447 --certificate me.pem --key me.key --authority ca.pem
    """
    with open_cell(cell, client, certificate, key, authority, rate) as found:
        if as_json:
            _lines(found, once, rate)
        elif once or not sys.stdout.isatty():
            from linkwright.cli.tables import print_table

            echo(_head(found))
            print_table(COLUMNS, _rows(found))
        else:
            _live(found, rate)


def _lines(cell: RemoteCell, once: bool, rate: float) -> None:
    echo(json.dumps(_told(cell)))
    while not once:
        time.sleep(1.0 / rate)
        echo(json.dumps(_told(cell)))


def _live(cell: RemoteCell, rate: float) -> None:
    from rich import box
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    def table() -> Table:
        found = Table(*COLUMNS, title=_head(cell), title_justify="left", box=box.SIMPLE_HEAD)
        for row in _rows(cell):
            found.add_row(*(Text(harmless(text)) for text in row))
        return found

    with Live(table(), refresh_per_second=rate, transient=True) as shown:
        while True:
            time.sleep(1.0 / rate)
            shown.update(table())


def _states(cell: RemoteCell) -> dict[str, ArmState]:
    frame = cell.frame
    return {name: cell.arm(name).state_of(frame) for name in cell.arms}


def _head(cell: RemoteCell) -> str:
    values, frame, interval = cell.frame.values, cell.frame, cell.states.interval
    counts = ", ".join(
        f"{values[f'cell.{n}']:g} {n}"
        for n in ("total", "missed", "overrun")
        if f"cell.{n}" in values
    )
    if unkept := values.get("cell.unkept"):
        counts += f", NOT RECORDED any more: {unkept:g} samples are lost"
    return (
        f"{cell.name}: {cell.rate:g} Hz, tick {frame.tick} ({counts}), "
        f"state {cell.age * 1e3:.1f} ms old"
    ) + ("" if math.isnan(interval) else f", every {interval * 1e3:.1f} ms")


def _rows(cell: RemoteCell) -> list[tuple[str, ...]]:
    return [
        (
            name,
            state.life,
            "yes" if state.moving else "no",
            *(
                " ".join(f"{x:.3f}" for x in part)
                for part in (state.q, state.target, state.current)
            ),
            str(state.taken),
            str(state.done),
            state.cause,
            str(state.holder or "nobody"),
        )
        for name, state in _states(cell).items()
    ]


def _told(cell: RemoteCell) -> dict[str, Any]:
    frame = cell.frame
    loop = {n: v for n, v in frame.values.items() if n.startswith("cell.")}
    found: dict[str, Any] = plain(
        {
            "cell": cell.name,
            "tick": frame.tick,
            "clock": frame.clock,
            "age_s": cell.age,
            "interval_s": cell.states.interval,
            "loop": loop,
            "arms": _states(cell),
        }
    )
    return found
