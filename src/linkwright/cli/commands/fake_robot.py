"""``linkwright lab fake-robot``: a simulated robot in a process of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwright.cli.options import Seed, option, own
from linkwright.cli.terminal import echo


def command(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A laboratory or a robot, as for lab open.")
    ],
    listen: Annotated[
        str, option("--listen", "Of udp://, unix:// or shm://.")
    ] = "udp://127.0.0.1:0",
    time: Annotated[str, own("WHO", "Who keeps time: lab or robot.")] = "lab",
    loss: Annotated[float, own("SHARE", "Share of datagrams that get lost, 0 to 1.")] = 0.0,
    delay: Annotated[float, own("MS", "Delay of each datagram, ms.")] = 0.0,
    seed: Seed = 0,
) -> None:
    """Run a simulated robot by the clock, for a laboratory in another process to drive.

    It damps its joints after five periods without a command. Port 0 picks one; the first line that
    is printed says where the robot is. Ctrl-C ends it.

    \b
    Examples:
      linkwright lab fake-robot sl-arm --listen udp://127.0.0.1:9300
      linkwright lab fake-robot sl-arm --listen unix:///tmp/arm --loss 0.05 --seed 3
    """
    from linkwright.lab.drivers.relay import Troubles
    from linkwright.lab.fake_robot import FakeRobot
    from linkwright.lab.sources import lab_config

    troubles = Troubles(loss, delay / 1000, seed) if loss or delay else None
    config = lab_config(source)
    with FakeRobot(config, listen, keeps_time=time, troubles=troubles) as robot:
        echo(robot.url)
        if config.misc_sensors:
            echo(f"not simulated, so that they read 0: {', '.join(config.misc_sensors)}")
        driver = ""

        def goes_on() -> bool:
            nonlocal driver
            now = str(robot.end.driver or "")
            if now != driver:
                driver = now
                echo(f"driven by {driver}" if driver else "driven by nobody")
            return True

        robot.serve(goes_on)
