"""Where the studio serves: beside taken ports, at the last port, and to other machines."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.request import urlopen

import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.studio.access import Gate
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.side_pages import SidePages, as_json


@pytest.mark.parametrize("taken", [True, False])
def test_side_pages_take_another_port_where_theirs_cannot_be(taken: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1] if taken else 65_536  # beyond the last
        pages = SidePages(Gate("127.0.0.1"), port)
        try:
            assert pages.port != port
            pages.routes["GET", "there"] = lambda _: as_json("here")
            with urlopen(f"{pages.address}there", timeout=30) as reply:
                assert reply.read() == b'"here"'
        finally:
            pages.close()


def test_serving_to_other_machines_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Studio, "wait", Studio.close)
    assert main(["studio", "pendulum", "--no-browser", "--host", "0.0.0.0"]) == 0
    told = capsys.readouterr()
    assert "warning: other machines" in told.err
    assert "web sites" in told.err
    assert told.out.startswith("studio: http://localhost:")
    assert main(["studio", "pendulum", "--no-browser"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_serving_to_other_machines_is_told_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    studio = lw.show(lw.load("pendulum"), block=False, browser=False, host="0.0.0.0")
    assert studio is not None
    studio.close()
    assert "warning: other machines" in capsys.readouterr().err


def test_the_background_is_before_the_camera_in_scenes_of_any_size(tmp_path: Path) -> None:
    """Viser draws it at a distance of 1; a machine may be a hundred times that."""
    m = lw.Mechanism("bridge")
    m.body("span", translate="z", mass=1)
    m.body("far", at=(300, 0, 0), translate="z", mass=1)
    (tmp_path / "bridge.toml").write_text(lw.write_model(m))
    with open_studio([str(tmp_path / "bridge.toml")]) as studio:
        assert studio.size > 50
        assert studio.server.initial_camera.near < 1
