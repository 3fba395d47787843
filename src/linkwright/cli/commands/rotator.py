"""``linkwright mount rotator``: a mount that Gpredict, SatNOGS and rotctl drive."""

from __future__ import annotations

import signal
import threading

import typer

from linkwright.cli.terminal import echo

_MOUNT = typer.Argument(..., metavar="MOUNT", help="A mount, such as mount-prismatic.")
_PORT = typer.Option(4533, "--port", metavar="N", help="Where to listen; 0 picks a free port.")
_HOST = typer.Option("127.0.0.1", "--host", metavar="NAME", help="Where to listen.")
_SPEED = typer.Option(5.0, "--speed", metavar="DEG/S", help="The greatest speed.")
_ACCELERATION = typer.Option(5.0, "--acceleration", metavar="DEG/S2", help="The acceleration.")
_LOWEST = typer.Option(0.0, "--lowest", metavar="DEG", help="The lowest elevation.")
_WATCHDOG = typer.Option(
    10.0, "--watchdog", metavar="S", help="Silence after which a move in a direction ends."
)
_PARKS = typer.Option(False, "--park", help="Park after that silence, whatever was going on.")
_EASYCOMM = typer.Option(False, "--easycomm", help="Listen on a pseudo-terminal too.")
_STUDIO = typer.Option(False, "--studio", help="Show the mount and its path in the sky.")


def command(
    mount: str = _MOUNT,
    port: int = _PORT,
    host: str = _HOST,
    speed: float = _SPEED,
    acceleration: float = _ACCELERATION,
    lowest: float = _LOWEST,
    watchdog: float = _WATCHDOG,
    park: bool = _PARKS,
    easycomm: bool = _EASYCOMM,
    studio: bool = _STUDIO,
) -> None:
    """Let programs for satellites drive a mount: Hamlib's rotctld protocol, by the clock.

    It listens on this machine alone unless --host says otherwise; whoever reaches the port drives
    the mount. The first line that is printed says where it listens. With --easycomm it also prints
    the pseudo-terminal on which it speaks EasyComm II, with --studio the address of a page on which
    the mount moves. Ctrl-C ends it. It begins and parks in the zenith, or where a mount looks at
    first that does not reach the zenith. The dish goes along great circles at the speed given, with
    serial mounts too: their keyholes are not simulated here.

    \b
    Examples:
      linkwright mount rotator mount-prismatic
      linkwright mount rotator mount-2-rotary --port 0 --easycomm
      linkwright mount rotator mount-prismatic --port 4533 --studio
      rotctl -m 2 -r 127.0.0.1:4533 P 180 45
    """
    from contextlib import ExitStack

    from linkwright.mounts.aiming import Aiming
    from linkwright.mounts.easycomm import EasyCommPort
    from linkwright.mounts.rotator import Rotator, RotatorPort, listening_socket
    from linkwright.mounts.rotctl_language import RotatorLimits

    ended = threading.Event()
    with listening_socket(host, port) as listening, ExitStack() as more:  # before what takes long
        aim = Aiming(mount)
        rotator = more.enter_context(
            Rotator(
                aim.name,
                reaches=aim.reaches,
                speed=speed,
                acceleration=acceleration,
                limits=RotatorLimits(min_el=lowest),
                park=aim.park,
                watchdog=watchdog,
                parks=park,
            )
        )
        door = more.enter_context(RotatorPort(rotator, listening=listening))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        echo(f"{mount} listens on {host}:{door.port}")
        if easycomm:
            echo(f"EasyComm II on {more.enter_context(EasyCommPort(rotator)).path}")
        if studio:
            from linkwright.studio.panel_rotator import open_rotator_studio

            page = more.enter_context(open_rotator_studio(rotator, mount, aim))
            echo(f"the studio is at {page.address}")
        while not ended.wait(0.2) and rotator.loop.running:
            pass
    counted = rotator.counters
    echo(f"{mount}: {counted.total} ticks, {counted.missed} missed")
