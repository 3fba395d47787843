"""``linkwright cell serve``: run a cell, live and on the network, or in virtual time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.cells import Authority, Certificate, Key
from linkwright.cli.options import Force, option, own
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.server.cell import Cell
    from linkwright.server.launch import DeviceLaunch
    from linkwright.server.live import LiveCell
    from linkwright.server.network import Credentials
    from linkwright.simulation.recorder import Target

_UNTIL = 10.0  # s of a virtual cell
_BEYOND = "with TLS, sensors and lw.server.coordinate are started by hand, with certificates"


def command(
    cell: Annotated[
        str,
        typer.Argument(
            metavar="CELL", help="A cell.toml, or the name of a cell that ships: cell1, axes2."
        ),
    ],
    virtual: Annotated[bool, option("--virtual", "As one System.")] = False,
    until: Annotated[float | None, option("--until", "With --virtual 10 by default.")] = None,
    record: Annotated[
        Path | None,
        own("FILE", "Record every tick, with the tape for a rerun."),
    ] = None,
    listen: Annotated[str | None, option("--listen", "Default: that of the file.")] = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
    force: Force = False,
) -> None:
    """Run a cell: live with a device process and on the network, or in virtual time.

    \b
    Examples:
      linkwright cell serve cell1
      linkwright cell serve cell.toml --record cell.parquet
      linkwright cell serve cell.toml --virtual --until 10
    """
    from linkwright.base.errors import InputError
    from linkwright.server.cell_file import read_cell
    from linkwright.simulation.recorder import Target

    if until is not None and not 0 < until < 1e7:
        raise InputError(f"--until {until:g}: a cell runs for more than 0 s, and less than 1e7 s")
    target = None if record is None else Target(record, force, force)
    if target is not None:
        target.check()
    if virtual:
        _virtual(read_cell(cell), _UNTIL if until is None else until, target)
    else:
        _live(cell, until, target, listen, _credentials(certificate, key, authority))


def _credentials(
    certificate: str | None, key: str | None, authority: str | None
) -> Credentials | None:
    from linkwright.base.errors import InputError
    from linkwright.server.network import Credentials

    if certificate is None and key is None and authority is None:
        return None
    if certificate is None or key is None or authority is None:
        raise InputError("TLS takes all of --certificate, --key and --authority")
    return Credentials(certificate, key, authority)


def _about(cell: Cell) -> str:
    arms = f"{len(cell.arms)} arm{'s' if len(cell.arms) != 1 else ''}"
    return f"{cell.name}: {arms}, {cell.axes} axes, {cell.rate:g} Hz"


def _virtual(cell: Cell, until: float, target: Target | None) -> None:
    from linkwright.server.cell_file import refuse_weak
    from linkwright.server.virtual import VirtualCell

    refuse_weak(cell)
    made = VirtualCell(cell, record=target, tell=_note)
    began = time.perf_counter()
    made.advance(round(until * cell.rate))
    seconds = time.perf_counter() - began
    if target is not None:
        echo(f"writing the recording {target.path}", err=True)
    made.finish()
    echo(f"{_about(cell)}, virtual: {made.tick} ticks in {seconds:.3g} s")
    _recorded(target)


def _live(
    source: str,
    until: float | None,
    target: Target | None,
    listen: str | None,
    credentials: Credentials | None,
) -> None:
    from linkwright.server.launch import DEVICE_LOG, DeviceLaunch
    from linkwright.server.registry import runtime_folder

    runtime_folder()  # refused where others may enter it
    with ExitStack() as stack:
        log = None if target is None else target.path.with_suffix(DEVICE_LOG)
        launch = DeviceLaunch(source, log=log)  # it imports what it needs while we do
        stack.callback(launch.close)
        _served(source, launch, until, target, listen, credentials)


def _served(
    source: str,
    launch: DeviceLaunch,
    until: float | None,
    target: Target | None,
    listen: str | None,
    credentials: Credentials | None,
) -> None:
    from linkwright.server.cell_file import read_cell, refuse_weak
    from linkwright.server.host import CellHost, quick_switches
    from linkwright.server.listening import listening_of, require_alone
    from linkwright.server.live import LiveCell
    from linkwright.server.sensing import SensingProcesses, sensors_line

    cell = read_cell(source)
    where = listening_of(cell, listen=listen, credentials=credentials)  # before anything starts
    require_alone(cell)
    refuse_weak(cell)
    here = where.endpoint.protocol != "tls"
    for note in where.notes:
        _note(note)
    address, named, shown = str(where.endpoint), where.clients, where.credentials

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with (
        quick_switches(),
        LiveCell(source, record=target, tell=_note, launch=launch, cell=cell) as live,
        CellHost(live, listen=address, clients=named, credentials=shown) as host,
        SensingProcesses(source, cell if here else replace(cell, sensors=()), live.folder) as nodes,
    ):
        rights = live.loop.rights
        how = "real-time priority" if rights.priority else "no real-time priority"
        echo(f"{_about(live.cell)}, {host.endpoint}, {how}")
        for line in rights.refused:
            _note(line)
        if target is not None:
            _note(_size_line(live))
        if cell.sensors:
            echo(sensors_line(cell)) if here else _note(_BEYOND)
        lives, kept = _Lives(live), True
        end = None if until is None else time.monotonic() + until
        while not ended.wait(0.1) and (end is None or time.monotonic() < end):
            for line in (*live.look(), *nodes.look(), *lives.look()):
                _note(line)
            if kept and live.loop.unkept is not None:
                kept = False
                _note(f"the cell goes on, but is not recorded any more: {live.loop.unkept}")
            if not live.loop.running:
                break
        if target is not None:
            echo(f"writing the recording {target.path}", err=True)
    counted = live.loop.counters
    silent = f", {counted.timeouts} while the device was silent" if counted.timeouts else ""
    late = f"{counted.missed} missed, {counted.overrun} overrun"
    echo(f"{live.name}: {counted.total} ticks{silent}, {late}")
    if counted.lost:
        _note(f"{counted.lost} ticks are not in the recording: too busy to write them in time")
    _recorded(target)


class _Lives:
    """Reports arms that come into PANIC, and out of it."""

    def __init__(self, live: LiveCell) -> None:
        self._live, self._told = live, dict.fromkeys(live.arms, "")

    def look(self) -> Iterator[str]:
        """Yield a line for each arm of which there is something new."""
        from linkwright.server.face import LIVES

        state = self._live.latest().values
        for name, before in self._told.items():
            life = LIVES[int(state[f"{name}.life"])]
            cause = self._live.causes[int(state[f"{name}.cause"])]
            now = f"PANIC ({cause})" if life == "fault" else ""
            if now != before:
                self._told[name] = now
                yield f"{name}: {now}; clear and enable it" if now else f"{name}: PANIC is over"


def _size_line(live: LiveCell) -> str:
    from linkwright.server.recorded import hourly_bytes

    still, moving = (size / 1e9 for size in hourly_bytes(live.cell, live.loop.session))
    return f"the journal of the recording takes {still:.2g} GB an hour, {moving:.2g} while all move"


def _note(line: str) -> None:
    echo(f"note: {line}", err=True)


def _recorded(target: Target | None) -> None:
    if target is not None:
        echo(f"recorded in {target.path}; linkwright rerun {target.path}")
