"""``linkwright mount rotator``: a mount that Gpredict, SatNOGS and rotctl drive."""

from __future__ import annotations

import math
import signal
import threading
from typing import Annotated

import typer

from linkwright.cli.options import option, own
from linkwright.cli.terminal import echo

_WATCHDOG = "Silence after which a move in a direction ends, s."


def command(
    mount: Annotated[
        str, typer.Argument(metavar="MOUNT", help="A mount, such as mount-prismatic.")
    ],
    port: Annotated[int, option("--port")] = 4533,
    host: Annotated[str, option("--host")] = "127.0.0.1",
    speed: Annotated[float, option("--speed")] = 5.0,
    acceleration: Annotated[float, own("DEG/S2", "The acceleration, deg/s^2.")] = 5.0,
    lowest: Annotated[float, own("DEG", "The lowest elevation, deg.")] = 0.0,
    watchdog: Annotated[float, own("S", _WATCHDOG)] = 10.0,
    park: Annotated[
        bool, own(None, "Park after that silence, whatever was going on.", "--park")
    ] = False,
    easycomm: Annotated[bool, own(None, "Listen on a pseudo-terminal too.", "--easycomm")] = False,
    studio: Annotated[bool, option("--studio", "The mount and its path in the sky.")] = False,
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
                speed=math.radians(speed),
                acceleration=math.radians(acceleration),
                limits=RotatorLimits(min_el=math.radians(lowest)),
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
