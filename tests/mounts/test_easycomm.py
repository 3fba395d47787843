"""EasyComm II: Hamlib's rotctl drives a mount through a pseudo-terminal."""

from __future__ import annotations

import math
import subprocess

from linkwright.mounts.easycomm import EasyComm, EasyCommPort
from linkwright.mounts.pseudo_terminals import PseudoTerminal
from linkwright.mounts.rotator import Rotator
from tests.mounts.test_rotator import LIMIT, program
from tests.support.skies import degrees
from tests.support.waiting import soon


def rotctl(path: str, *commands: str) -> str:
    """Let Hamlib's rotctl speak EasyComm II to a terminal, and return what it prints."""
    done = subprocess.run(
        [program("rotctl"), "-m", "202", "-r", path, "-"],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rotctl_drives_a_mount_by_easycomm() -> None:
    heard = b""
    with Rotator(speed=math.radians(720), acceleration=math.radians(7200)) as rotator:
        language = EasyComm(rotator)

        def take(data: bytes) -> bytes:
            nonlocal heard
            heard += data
            return language.take(data)

        with PseudoTerminal(take) as line:
            rotctl(line.path, "P 180 45")
            soon(lambda: math.dist(degrees(rotator), (180, 45)) < 0.01)
            told = rotctl(line.path, "p", "M 16 50", "S", "K", "R 1")
        assert "180.00" in told
        assert "45.00" in told
        assert heard == b"AZ180.0 EL45.0\nAZ EL \nMR\nSA SE \nPARK\nRESET\n"
        assert language.refused == 0
        with EasyCommPort(rotator) as port:
            rotctl(port.path, "P 20 30")
            soon(lambda: math.dist(degrees(rotator), (20, 30)) < 0.01)


def test_what_easycomm_cannot_mean_is_counted_and_moves_nothing() -> None:
    with Rotator(
        speed=math.radians(50), acceleration=math.radians(500), clock="virtual"
    ) as rotator:
        line = EasyComm(rotator)
        line.take(b"AZ100.0 EL30")
        rotator.advance(5)
        assert degrees(rotator)[1] == 90.0  # half a line
        line.take(b".0\r\n")
        rotator.advance(5)
        assert line.take(b"AZ EL\n") == b"AZ100.0 EL30.0\n"
        for bad in (
            b"AZnan EL45\n",
            b"AZ500 EL20\n",
            b"\xff\xfe\n",
            b"XY1\n",
            b"AZ" + b"1" * 9999 + b"\n",
        ):
            before = line.refused
            assert line.take(bad) == b""
            assert line.refused > before
        rotator.advance(5)
        assert line.take(b"EL\nVE\n").startswith(b"EL30.0\nVELinkwright")
        line.take(b"EL60\n")  # the azimuth stays
        rotator.advance(5)
        assert line.take(b"AZ EL\n") == b"AZ100.0 EL60.0\n"
