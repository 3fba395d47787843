"""The commands that drive mounts: rotator and move."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from linkwright.cli import main
from linkwright.mounts.rotator_client import RotatorClient, RotatorError
from tests.mounts.test_own_mounts import JACK
from tests.mounts.test_rotator import LIMIT, rotctl
from tests.random.own_machines import save
from tests.seeds import seldom
from tests.support.processes import Begin, begin as begin
from tests.support.waiting import soon

ORBIT = "examples/mounts/orbit.toml"


@seldom(daily="test_a_mount_is_moved_along_an_orbit_by_command")
def test_a_mount_is_a_rotator_by_command(
    begin: Begin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line says where it listens, rotctl drives it, Ctrl-C ends it cleanly.

    It is a mount of one's own whose jack does not lift it to the zenith: it begins elsewhere.
    """
    mount = str(save(tmp_path, JACK, "jack.toml"))
    process = begin(
        "mount", "rotator", mount, "--port", "0", "--speed", "720", "--acceleration", "7200"
    )
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    found = re.fullmatch(rf"{re.escape(mount)} listens on 127\.0\.0\.1:(\d+)", line)
    assert found is not None, line
    port = int(found[1])
    with RotatorClient(port=port) as client:
        assert client.position() == pytest.approx(np.radians([90.0, 45.0]))
        assert "Linkwright azel" in rotctl(port, "P 180 45", "_")
        soon(lambda: client.position() == pytest.approx(np.radians([180.0, 45.0])))
    assert main(["mount", "rotator", mount, "--port", str(port)]) == 2
    assert "cannot listen" in capsys.readouterr().err
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert re.search(r"jack.toml: \d+ ticks, \d+ missed", out)
    assert "Traceback" not in err
    with pytest.raises(RotatorError):
        RotatorClient(port=port)


def test_a_mount_is_moved_along_an_orbit_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Mount check 56, from the command line."""
    assert main(["mount", "move", "mount-2-rotary", ORBIT, "--device", "simulated", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["waypoints"] == 37
    assert told["overflows"] == 0
    assert told["stretched"] == []
    assert 0 < told["buffer_max_bytes"] < 512
    assert told["duration_s"] == pytest.approx(24.0)
    assert told["device_s"] > 24.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kind = "orbit"\nradius = 1\nspeed = 1', "an orbit needs height"),
        ('kind = "spiral"\nspeed = 1', "kind"),
        ('kind = "orbit"\nradius = 1\nheight = 1\nspeed = 0', "speed"),
        (
            'kind = "orbit"\nradius = 1\nheight = 1\nspeed = 1\nnormal = [0, 0, 1]',
            "takes no normal",
        ),
        ('kind = "line"\nstart = 1\nend = [1, 0, 1]\nspacing = 1\nspeed = 1', "start as a point"),
        (
            'kind = "circle"\ncenter = [0, 0, 1]\nstart = [1, 0, 1]\nnormal = [1, 0, 0]\n'
            "spacing = 0.1\nspeed = 1",
            "along its radius",
        ),
        (
            'kind = "line"\nstart = [0, 0, 1]\nend = [1, 0, -3]\nspacing = 1\nspeed = 1',
            r"waypoints that cannot be reached: 3 \(mount-2-rotary cannot look",
        ),
        ("kind = ", r"path\.toml:2:8"),
    ],
)
def test_a_path_that_cannot_be_is_told_with_its_file(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mount check 57, from the command line."""
    file = tmp_path / "path.toml"
    file.write_text(f"format = 1\n{text}\n", encoding="utf-8")
    assert main(["mount", "move", "mount-2-rotary", str(file)]) == 2
    err = capsys.readouterr().err
    assert re.search(said, err), err
    assert "Traceback" not in err


def test_devices_and_mounts_that_are_none_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mount", "move", "mount-x-y", ORBIT, "--device", "/dev/null"]) == 2
    assert "not a serial port" in capsys.readouterr().err
    assert main(["mount", "rotator", "pendulum", "--port", "0"]) == 2
    assert main(["mount", "rotator", "no-such-mount", "--port", "0"]) == 2
    assert main(["mount", "rotator", "stewart", "--port", "0"]) == 2
    assert "6 actuators" in capsys.readouterr().err
