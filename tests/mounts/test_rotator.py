"""A mount as a rotator: Hamlib's own programs drive it, and nobody who speaks to it disturbs it."""

from __future__ import annotations

import math
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pytest
from numpy.typing import ArrayLike

from linkwright.base.errors import InputError
from linkwright.mounts.pointing import direction
from linkwright.mounts.rotator import CLIENTS, Rotator, RotatorPort
from linkwright.mounts.rotator_client import RotatorClient, RotatorError, drive_rotator
from linkwright.mounts.rotctl_language import COMMANDS, DOWN, RIGHT, UP, answer
from tests.seeds import seldom
from tests.support.skies import degrees
from tests.support.waiting import soon

LIMIT = 30.0  # s, for anything that has to happen


def program(name: str) -> str:
    """Return one of Hamlib's programs."""
    found = shutil.which(name)
    assert found is not None, f"there is no {name}; run sh scripts/need_hamlib.sh"
    return found


@contextmanager
def dummy() -> Iterator[int]:
    """Run Hamlib's rotctld with its dummy rotator; yield its port."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = int(chosen.getsockname()[1])
    process = subprocess.Popen(
        [program("rotctld"), "-m", "1", "-T", "127.0.0.1", "-t", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def listens() -> bool:
        assert process.poll() is None
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    try:
        soon(listens)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def port() -> Iterator[RotatorPort]:
    """A port in front of a quick rotator, by the clock on the wall."""
    with (
        Rotator(
            "test", speed=math.radians(720), acceleration=math.radians(7200), patience=20.0
        ) as rotator,
        RotatorPort(rotator, port=0) as port,
    ):
        yield port


def said(port: int, data: bytes, *, ends: bool = True) -> bytes:
    """Return all that answers some bytes, up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as client:
        client.sendall(data + (b"q\n" if ends else b""))
        client.shutdown(socket.SHUT_WR)
        got = b""
        with suppress(ConnectionResetError):  # rotctld may close before it has read the last word
            while chunk := client.recv(65536):
                got += chunk
        return got


def rotctl(port: int, *commands: str) -> str:
    """Let Hamlib's rotctl speak to a port, and return what it prints."""
    done = subprocess.run(
        [program("rotctl"), "-m", "2", "-r", f"127.0.0.1:{port}", "-"],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_rotctl_opens_reads_points_stops_parks_and_sweeps(port: RotatorPort) -> None:
    before = port.rotator.counters.missed
    told = rotctl(port.port, "P 90 20", "S", "K", "M 16 50", "S", "_", "P 180 45")
    assert "Linkwright test" in told
    soon(lambda: math.dist(degrees(port.rotator), (180, 45)) < 0.001)
    assert "180.00" in rotctl(port.port, "p")
    assert "45.00" in rotctl(port.port, "p")
    assert port.rotator.counters.missed == before


SCRIPT = (
    *("p", r"\get_pos", "P 180 45", r"\set_pos 10 20", "S", "K", "M 16 50", "M 3 50", "S", "R 1"),
    *("_", r"\get_info", r"\dump_state", "+p", ";p", "|p", ",p", "+P 10 20", ";P 10 20", "+S"),
    *("+_", r"+\dump_state", "+M 16 50", "P 500 20", "+P 500 20", "P 180 91", "P a b", "p p", "pp"),
    *("P 1 2 p", "V SPEED 3", "v SPEED", "+V SPEED 2", "+v SPEED", "v FOO", "V FOO 1", "U FOO 1"),
    *("u FOO", "X FOO 1", "x FOO", "+u FOO", "u ?", "+u ?", "x ?", "X ?", "U ?", "+K", "+R 1"),
    *("L 13.5 52.5 6", "+L 13.5 52.5 6", "l JO62rm", "+l JO62rm", "l zz", "D 45 30 15 0"),
    *("+D 45 30 15 1", "d 45.5", "+d -45.5", "E 45 30.5 0", "e 45.5", "+e 45.5", "+B 0 0 10 10"),
    *("A 30", "+A 30", "a 1000", "+a 1000", "C FOO 1", "p # x", "# x", "p\r", "P 1e2 4e1"),
)
NUMBERS_TOO = (
    "L ",
    "+L",
    "l ",
    "+l",
    "D ",
    "+D",
    "d ",
    "+d",
    "E ",
    "e ",
    "+e",
    "A ",
    "+A",
    "a ",
    "+a",
)


def shape(text: str) -> str:
    """Return an answer with its numbers left out, but for statuses."""
    text = re.sub(r"(?<!RPRT )-?\d+\.\d+", "#", text)
    text = re.sub(r"Rotor Model: \d+|(?<=^1\n)\d+(?=\nmin_az)", "model", text)
    text = re.sub(r"(?<=Info: ).*|Linkwright test|Dummy rotator", "name", text)
    return re.sub(r"RPRT -\d+", "RPRT -", text)


def test_answers_have_the_shape_of_rotctlds_and_places_its_numbers(port: RotatorPort) -> None:
    with dummy() as peer:
        for line in SCRIPT:
            ours = said(port.port, f"{line}\n".encode()).decode()
            theirs = said(peer, f"{line}\n".encode()).decode()
            assert shape(ours) == shape(theirs), line
            if line.startswith(NUMBERS_TOO):
                assert ours == theirs, line
    tried = {name for line in SCRIPT for name in re.findall(r"^[+;|,]?(\\?\w+)", line)}
    left = {c.name for c in COMMANDS if c.letter not in tried and f"\\{c.name}" not in tried}
    assert left == {"dump_caps", "get_status", "send_cmd"}


def test_bad_input_is_refused_and_moves_nothing(port: RotatorPort) -> None:
    client = RotatorClient(port=port.port)
    client.go(*np.radians([100, 30]))
    soon(lambda: degrees(client) == pytest.approx((100, 30)))
    refused = {
        b"P nan 45\n": b"RPRT -1\n",
        b"P inf 45\n": b"RPRT -1\n",
        b"P 500 20\n": b"RPRT -1\n",
        b"P 20 -1\n": b"RPRT -1\n",
        b"P\n": b"RPRT -1\n",
        b"P 20\n": b"RPRT -1\n",
        b"P 1_0 20\n": b"RPRT -1\n",
        b"M 16 nan\n": b"RPRT -1\n",
        b"M 16 101\n": b"RPRT -1\n",
        b"\\foo 1 2\n": b"RPRT -1\n",
        b"\xff\xfe\x00 45\n": b"RPRT -1\n",
        "P ４５ 20\n".encode(): b"RPRT -1\n",
        b"P " + b"9" * 2_000_000 + b" 20\n": b"RPRT -8\n",
        b"\\dec2dms 1e308\n": b"RPRT -1\n",  # R27
        b"\\dec2dmmm -1e308\n": b"RPRT -1\n",
        b"w x\n": b"RPRT -11\n",
        b"V SPEED 0\n": b"RPRT -1\n",
        b"\n \n;\n": b"",
    }
    for data, status in refused.items():
        assert said(port.port, data) == status, data[:40]
    said(port.port, b"P 20 2", ends=False)  # half a line, and the client is gone
    assert said(port.port, b"P " + b"1" * 5000 + b"\np\n") == b"RPRT -8\n100.00\n30.00\n"
    assert degrees(client) == pytest.approx((100, 30))
    client.close()


def test_no_tick_is_missed_whoever_speaks_and_goes(port: RotatorPort) -> None:
    rotator, counters = port.rotator, port.rotator.counters
    with ExitStack() as stack:
        address = ("127.0.0.1", port.port)
        flood = stack.enter_context(socket.create_connection(address, timeout=LIMIT))
        flood.setblocking(False)
        with suppress(BlockingIOError):  # it asks and asks, and never reads
            for _ in range(10_000):
                flood.send(b"\\dump_caps\n" * 200)
        many = [socket.create_connection(address, timeout=LIMIT) for _ in range(200)]
        for i, client in enumerate(many):
            stack.callback(client.close)
            client.sendall(f"P {i} 20\np\n".encode())
        for client in many:
            got = b""
            while got.count(b"\n") < 3:
                got += client.recv(100)
            assert got.startswith(b"RPRT 0\n")
        extra = [
            stack.enter_context(socket.create_connection(address, timeout=LIMIT))
            for _ in range(CLIENTS - 200)
        ]
        assert extra[-1].recv(100) == b"RPRT -9\n"  # one too many
        mover = many.pop()
        mover.sendall(b"P 300 10\n")
        assert mover.recv(100) == b"RPRT 0\n"
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        mover.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        mover.close()  # reset in mid-move
        soon(lambda: math.dist(degrees(rotator), (300, 10)) < 0.01)
    soon(lambda: port.clients == 0)
    after = rotator.counters
    assert after.total > counters.total
    assert after.missed == counters.missed


def test_the_last_command_wins_and_a_sweep_ends_with_its_client_silent() -> None:
    with Rotator(
        speed=math.radians(10), acceleration=math.radians(20), watchdog=2.0, clock="virtual"
    ) as rotator:
        answer("P 90 0", rotator)
        rotator.advance(1.0)
        assert answer("s", rotator).text == "MOVING \n"
        answer("P 180 45", rotator)
        rotator.advance(20.0)
        assert answer("p", rotator).text == "180.00\n45.00\n"
        assert answer("s", rotator).text == "\n"
        rotator.hear()
        answer("M 16 50", rotator)  # clockwise, 5 degrees/s on the great circle of the azimuth
        rotator.advance(1.0)
        rotator.hear()
        rotator.advance(30.0)
        swept = degrees(rotator)
        rotator.advance(5.0)
        assert degrees(rotator) == swept
        assert 180 + 5.0 * 2.5 < swept[0] < 180 + 5.0 * 3.5
        assert math.isclose(swept[1], 45, abs_tol=0.05)
        answer("M 4 100", rotator)
        for _ in range(8):
            rotator.hear()
            rotator.advance(1.0)
        assert answer("p", rotator).text.split()[1] == "0.00"  # a limit of elevation
        answer("K", rotator)
        rotator.advance(20.0)
        assert math.isclose(degrees(rotator)[1], 90.0, abs_tol=1e-6)


def test_a_silent_station_parks_where_that_is_asked_for() -> None:
    with Rotator(
        speed=math.radians(10),
        acceleration=math.radians(20),
        watchdog=3.0,
        parks=True,
        park=(math.radians(0), math.radians(80)),
        clock="virtual",
    ) as rotator:
        answer("P 350 20", rotator)
        rotator.hear()
        rotator.advance(2.9)
        assert degrees(rotator)[1] < 60
        rotator.advance(20.0)
        azimuth, elevation = degrees(rotator)
        assert math.isclose(elevation, 80, abs_tol=1e-6)
        assert math.isclose(azimuth % 360, 0, abs_tol=1e-6) or azimuth % 360 > 359.999999


def test_moves_keep_to_speed_and_acceleration_across_the_zenith() -> None:
    """Across the zenith and between opposite points of the horizon no angle turns wildly."""
    with Rotator(speed=math.radians(10), acceleration=math.radians(20), clock="virtual") as rotator:
        for azimuth, elevation in ((0, 0), (180, 0), (179.99, 89.99), (270, 1)):
            rotator.go(*np.radians([azimuth, elevation]))
            now = before = rotator.looks_along()
            slower = seen = 0.0
            for _ in range(400):
                rotator.advance(0.1)
                now = rotator.looks_along()
                rate = math.degrees(math.dist(now, before)) / 0.1
                assert rate <= 10.0001
                assert abs(rate - slower) <= 20 * 0.1 + 1e-3
                assert now[2] > -1e-6
                before, slower, seen = now, rate, max(seen, rate)
            assert seen > 9.9
            assert math.dist(now, direction(azimuth, elevation)) < 1e-9


@pytest.mark.parametrize("way", [RIGHT, UP])
def test_a_sweep_keeps_to_the_share_of_speed(way: int) -> None:
    with Rotator(
        speed=math.radians(10),
        acceleration=math.radians(100),
        park=(math.radians(10), math.radians(10)),
        clock="virtual",
    ) as rotator:
        rotator.percent = 20.0
        rotator.sweep(way, 100)
        rotator.advance(1.0)
        before = degrees(rotator)
        rotator.advance(1.0)
        after = degrees(rotator)
    assert math.dist(before, after) == pytest.approx(2.0, rel=1e-6)


class Arc:
    """A path through the sky, over North."""

    duration = 10.0

    def __call__(self, t: float) -> ArrayLike:
        return direction(340 + 4 * t, 20 + 2 * t)


def test_a_tracker_leads_the_dummy_rotator_of_hamlib() -> None:
    with dummy() as peer:
        led = drive_rotator("127.0.0.1", peer, Arc(), every=2.5, speed=50)
        assert [round(math.degrees(c[0]), 6) for c in led.commands] == [-20, -10, 0, 10, 20]
        assert [round(math.degrees(c[1]), 6) for c in led.commands] == [20, 25, 30, 35, 40]
        with RotatorClient(port=peer) as client:
            client.go(*np.radians([10, 5]))
            soon(lambda: math.dist(degrees(client), (10, 5)) < 0.01)
            with pytest.raises(RotatorError, match="-1"):
                client.go(*np.radians([500, 20]))


def test_a_tracker_leads_our_own_rotator_within_its_lag() -> None:
    now = 0.0
    with (
        Rotator(
            speed=math.radians(20),
            acceleration=math.radians(100),
            park=(math.radians(340), math.radians(20)),
            clock="virtual",
        ) as rotator,
        RotatorPort(rotator, port=0) as port,
    ):

        def pause(seconds: float) -> None:
            nonlocal now
            rotator.advance(seconds)
            now += seconds

        errors = [
            drive_rotator(
                "127.0.0.1",
                port.port,
                Arc(),
                every=every,
                lead=every,
                clock=lambda: now,
                pause=pause,
            ).errors
            for every in (1.0, 0.5)
        ]
    assert [len(found) for found in errors] == [11, 21]
    assert math.degrees(max(errors[0][1:])) < 0.02  # it is there when the next command comes
    assert math.degrees(max(errors[1][10:])) < 0.02


def test_a_port_that_is_taken_and_a_rotator_that_is_not_there_are_told(port: RotatorPort) -> None:
    with pytest.raises(InputError, match="cannot listen"):
        RotatorPort(port.rotator, port=port.port)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(RotatorError, match="no rotator"):
            RotatorClient(port=nobody.getsockname()[1])


def test_a_command_from_python_counts_as_heard() -> None:
    with Rotator(
        speed=math.radians(10),
        acceleration=math.radians(20),
        park=(math.radians(0), math.radians(30)),
        clock="virtual",
    ) as rotator:
        rotator.advance(15)  # longer than the watchdog's 10 s
        rotator.sweep(UP, 50)
        rotator.advance(2)
        assert degrees(rotator)[1] > 35


def test_a_sweep_leaves_the_zenith_along_the_last_azimuth() -> None:
    with Rotator(
        speed=math.radians(10),
        acceleration=math.radians(20),
        park=(math.radians(70), math.radians(90)),
        clock="virtual",
    ) as rotator:
        rotator.sweep(DOWN, 50)
        rotator.advance(3)
        azimuth, elevation = degrees(rotator)
    assert azimuth == pytest.approx(70, abs=1e-6)
    assert 70 < elevation < 80


@seldom(daily="test_rotctl_opens_reads_points_stops_parks_and_sweeps")
def test_the_studio_shows_the_mount_as_it_looks_and_stops_it() -> None:
    from linkwright.mounts.aiming import Aiming
    from linkwright.studio.panel_rotator import open_rotator_studio
    from linkwright.studio.rotator_link import RotatorLink

    aim = Aiming("mount-x-y")
    with (
        Rotator(
            aim.name, speed=math.radians(20), acceleration=math.radians(40), clock="virtual"
        ) as rotator,
        open_rotator_studio(rotator, "mount-x-y", aim) as studio,
    ):
        link = studio.link
        assert isinstance(link, RotatorLink)
        rotator.go(*np.radians([30, 45]))
        rotator.advance(10)
        east, north, up = direction(30, 45)  # in closed form: an axis to the East, one across it
        shown = dict(zip(aim.names, link.coordinates(), strict=True))
        assert shown["x_axis"] == pytest.approx(-math.atan2(north, up), abs=1e-6)
        assert shown["y_axis"] == pytest.approx(math.asin(east), abs=1e-6)
        soon(lambda: bool(len(link.samples()[0]) and abs(link.samples()[1][-1, 1] - 45) < 1e-6))
        rotator.go(*np.radians([200, 20]))
        rotator.advance(1)
        link.halt()
        rotator.advance(3)
        stood = degrees(rotator)
        rotator.advance(1)
        assert degrees(rotator) == stood
        assert link.bar().pace == "stands"
