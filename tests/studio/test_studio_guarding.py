"""What a studio keeps out: other pages of the browser, scripts in names, trouble in its threads."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET, create_connection, gethostname
from urllib.request import urlopen

import msgspec
import numpy as np
import pytest
import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from linkwright.base.errors import InputError
from linkwright.models import load_model
from linkwright.pages.page import write_page
from linkwright.recording import Channel, Recording
from linkwright.scene.motions import open_motion, recorded_motion
from linkwright.scene.scene import scene_of
from linkwright.studio.access import Gate, refused
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from linkwright.studio.server import LOOPBACK, PANELS, Studio, free_port, open_studio
from linkwright.studio.side_pages import SidePages, as_json
from linkwright.studio.state import panels_of
from tests.support.chromium import opened
from tests.support.waiting import soon

HACK = "<img src=x onerror=top.hacked=1>"
END = "</script><script>top.hacked=1</script>"
LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>"""


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    t = np.linspace(0, 1, 50)
    made = Studio([recorded_motion("waves", Recording(t, [Channel("s", "m")], np.sin(t)[:, None]))])
    yield made
    made.close()


def status(
    port: int, path: str, *, method: str = "POST", body: bytes = b"{}", **headers: str
) -> tuple[int, bytes]:
    """Return what is answered to a request with just these headers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=240)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("served", "host", "origin", "fine"),
    [
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8080", True),
        ("127.0.0.1", "LOCALHOST:8080", "http://localhost:8080", True),
        ("127.0.0.1", "[::1]:8080", "http://[::1]:8080", True),
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8081", False),
        ("127.0.0.1", "127.0.0.1:8080", "null", False),
        ("127.0.0.1", "localhost.example.org:8080", "http://localhost.example.org:8080", False),
        ("127.0.0.1", "127.0.0.1.example.org", "http://127.0.0.1.example.org", False),
        ("127.0.0.1", "[", "http://[", False),
        ("127.0.0.1", "192.168.0.7:8080", "http://192.168.0.7:8080", False),
        ("0.0.0.0", "lab.example.org:8080", "http://lab.example.org:8080", True),
        ("0.0.0.0", "LAB.example.org.:8080", "http://LAB.example.org.:8080", True),
        ("0.0.0.0", "lab.example.org:8080", "http://example.org", False),
        ("0.0.0.0", "evil.com:8080", "http://evil.com:8080", False),
        ("0.0.0.0", "192.168.0.7.evil.com:8080", "http://192.168.0.7.evil.com:8080", False),
        ("0.0.0.0", "192.168.0.7:8080", "http://192.168.0.7:8080", True),
        ("0.0.0.0", "localhost:8080", "http://localhost:8080", True),
        ("0.0.0.0", f"{gethostname()}:8080", f"http://{gethostname()}:8080", True),
        ("::", "[fe80::1]:8080", "http://[fe80::1]:8080", True),
        ("arm.example.org", "arm.example.org:8080", "http://arm.example.org:8080", True),
        ("arm.example.org", "evil.com:8080", "http://evil.com:8080", False),
    ],
)
def test_only_own_pages_may_ask(served: str, host: str, origin: str, fine: bool) -> None:
    names = ["lab.example.org"] if served == "0.0.0.0" else []
    assert (refused(served, [host], [origin], names) == "") == fine


def test_requests_without_one_host_are_refused() -> None:
    assert refused("127.0.0.1", [], [])
    assert refused("127.0.0.1", ["localhost", "example.org"], [])


def test_own_pages_answer_no_other_page(studio: Studio) -> None:
    pages = studio.pages
    place, own = f"/{pages.token}/scope/ask", f"127.0.0.1:{pages.port}"
    assert status(pages.port, place, Host=own)[0] == 200
    assert status(pages.port, place, Host=own, Origin=f"http://{own}")[0] == 200
    for headers in (
        {"Host": own, "Origin": "https://example.org"},
        {"Host": own, "Origin": "null"},
        {"Host": f"example.org:{pages.port}"},
        {},
    ):
        code, words = status(pages.port, place, method="POST", body=b"{}", **headers)
        assert code == 403
        assert words.startswith(b"rejected: ")


def test_what_is_no_request_gets_an_answer(studio: Studio) -> None:
    pages = studio.pages
    own = f"127.0.0.1:{pages.port}"
    for path in (f"/{pages.token}", f"/{pages.token}/", f"/{pages.token}/nothing"):
        assert status(pages.port, path, Host=own)[0] == 404
    for path in ("nothing", "//[", "/", "*", f"/{pages.token}x/", f"/x{pages.token}/"):
        assert status(pages.port, path, Host=own)[0] == 403
    ask = f"/{pages.token}/scope/ask"
    for size in ("many", "-1", str(1 << 21), "9" * 400):
        told = {"Host": own, "Content-Length": size}
        code, words = status(pages.port, ask, body=b"", **told)
        assert code == 200
        assert "cannot be sent here" in json.loads(words)["error"]


def test_pages_that_were_closed_answer_nobody() -> None:
    pages = SidePages(Gate(LOOPBACK))
    pages.routes["POST", "ask"] = lambda _: as_json("here")
    connection = HTTPConnection(LOOPBACK, pages.port, timeout=240)
    try:
        connection.request("POST", f"/{pages.token}/ask", b"{}")
        assert connection.getresponse().read() == b'"here"'
        pages.close()
        connection.request("POST", f"/{pages.token}/ask", b"{}")
        with pytest.raises(RemoteDisconnected):
            connection.getresponse()
    finally:
        connection.close()


def test_viser_takes_no_connection_from_another_page(studio: Studio) -> None:
    """A WebSocket is not bound to the page's own origin, and would tell all that is shown."""
    address, own = studio.address.replace("http:", "ws:"), f"127.0.0.1:{studio.port}"
    version = [Subprotocol(f"viser-v{viser.__version__}")]
    for origin in ("https://example.org", "null", f"http://127.0.0.1:{studio.port + 1}"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(address, origin=Origin(origin), subprotocols=version)
    with connect(address, origin=Origin(f"http://{own}"), subprotocols=version) as socket:
        assert socket.recv(timeout=240)
    home = f"/{studio.gate.token}/"
    assert status(studio.port, home, method="GET", body=b"", Host=own)[0] == 200
    assert status(studio.port, home, method="GET", body=b"", Host="example.org")[0] == 403


def test_nothing_is_answered_without_the_word_of_the_address(studio: Studio) -> None:
    """Other users of this machine reach the port, and need no browser to send what they like."""
    own, token = f"127.0.0.1:{studio.port}", studio.gate.token
    version = [Subprotocol(f"viser-v{viser.__version__}")]
    for path in ("/", "/index.html", "/state", f"/{token}x/", f"/{token[:-1]}/", "/../"):
        code, words = status(studio.port, path, method="GET", body=b"", Host=own)
        assert code == 403
        assert b"open the address" in words
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{own}{path}", subprotocols=version)
    assert status(studio.port, f"/{token}/nothing", method="GET", body=b"", Host=own)[0] == 404


@pytest.mark.parametrize("framed", [False, True])
def test_other_pages_cannot_show_the_studio_in_a_frame(framed: bool) -> None:
    """But a notebook may, and the studio shows its own pages."""
    t = np.linspace(0, 1, 50)
    motion = recorded_motion("waves", Recording(t, [Channel("s", "m")], np.sin(t)[:, None]))
    with Studio([motion], framed=framed) as studio:
        pages = studio.pages
        told = []
        for address in (studio.address, f"{pages.address}scope"):
            with urlopen(address, timeout=240) as answer:
                told.append(answer.headers["Content-Security-Policy"])
        if framed:
            assert told == [None, None]
        else:
            around = f"http://127.0.0.1:{studio.port} https://127.0.0.1:{studio.port}"
            assert told == ["frame-ancestors 'self'", f"frame-ancestors {around}"]


def test_no_tunnel_is_opened_whoever_asks(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_tunnels: list[object] = []

    class Tunnel:
        def __init__(self, *told: object) -> None:
            opened_tunnels.append(told)
            raise AssertionError("a tunnel")

    monkeypatch.setattr("viser._viser.ViserTunnel", Tunnel)
    asked: list[bool] = []
    plain = studio.server.request_share_url
    monkeypatch.setattr(studio.server, "request_share_url", lambda: asked.append(plain() is None))
    version = [Subprotocol(f"viser-v{viser.__version__}")]
    request = msgspec.msgpack.encode({"type": "ShareUrlRequest"})
    with connect(studio.address.replace("http:", "ws:"), subprotocols=version) as socket:
        socket.send(request)
        assert soon(lambda: bool(asked))
    assert asked == [True]
    assert opened_tunnels == []


def test_connections_that_break_off_are_not_told_in_the_terminal(
    studio: Studio, capfd: pytest.CaptureFixture[str]
) -> None:
    pages = studio.pages
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    reset = struct.pack("ii", 1, 0)  # what has not been sent is dropped, and the other is told so
    for port in (studio.port, pages.port):
        own = f"Host: 127.0.0.1:{port}\r\n"
        for words in ("", "GET ", f"GET /{studio.gate.token}/ HTTP/1.1\r\n{own}", "\0\0\r\n\r\n",
                      f"POST /{pages.token}/scope/ask HTTP/1.1\r\n{own}Content-Length: 9\r\n\r\n",
                      f"GET /{studio.gate.token}/ HTTP/1.1\r\n{own}{upgrade}\r\n"):  # fmt: skip
            with create_connection((LOOPBACK, port), timeout=240) as line:
                line.sendall(words.encode())
                line.setsockopt(SOL_SOCKET, SO_LINGER, reset)
    for port, place in ((studio.port, ""), (pages.port, "scope")):  # and it still answers
        with urlopen(f"http://{LOOPBACK}:{port}/{pages.token}/{place}", timeout=240) as answer:
            assert answer.status == 200
    assert soon(lambda: threading.active_count() < 60)
    assert capfd.readouterr().err == ""


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A robot and a recording of it whose names would be scripts if they were not escaped."""
    folder = tmp_path_factory.mktemp("nasty")
    a, b, j = (json.dumps(x.replace("<", "&lt;"))[1:-1] for x in (HACK, END, f"j{HACK}"))
    robot = folder / "arm.urdf"
    robot.write_text(
        f'<robot name="{a}">{LINK.format(a)}{LINK.format(b)}<joint name="{j}" type="revolute">'
        f'<parent link="{a}"/><child link="{b}"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    t = np.linspace(0, 1, 60)
    channels = [Channel(f"j{HACK}", "rad", END, END, HACK), Channel(END, END, HACK)]
    made = Recording(t, channels, np.column_stack([np.sin(t), t]), {"title": END, "note": np.nan})
    made.save(folder / "moved.npz")
    return robot, folder / "moved.npz"


def test_names_in_a_page_are_only_names(nasty: tuple[Path, Path], tmp_path: Path) -> None:
    robot, moved = nasty
    write_page(tmp_path / "a.html", [open_motion(str(moved), model=str(robot))], title=END)
    with opened(tmp_path / "a.html", offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        assert page.locator("#title").inner_text() == END
        assert page.title() == f"{END} · Linkwright"
        page.locator(f'[data-channel="{END}"]').first.wait_for()
        assert page.locator("#follow option").all_inner_texts()[-1:] == [END]
        assert page.evaluate("top.hacked === undefined && !document.querySelector('img[src=x]')")
        assert wrong == []


def test_names_in_the_studio_are_only_names(
    nasty: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise InputError(HACK)

    monkeypatch.setattr("linkwright.studio.state.plant_of", none)
    robot, moved = nasty
    with open_studio([str(moved)], model=str(robot)) as studio:
        address = studio.pages.address
        with opened(address + "inspect") as (page, wrong):
            page.wait_for_selector("html[data-ready=yes]")
            page.locator("#tree [role=treeitem]").last.click()
            for view in ("equations", "code", "warnings"):
                page.locator(f"[data-view={view}]").click()
                page.wait_for_function(f"document.documentElement.dataset.shown.includes('{view}')")
            assert page.evaluate(
                "top.hacked === undefined && !document.querySelector('img[src=x]')"
            )
            assert wrong == []
        with opened(address + "scope") as (page, wrong):
            page.wait_for_selector("html[data-ready=yes]")
            page.locator(f'[data-channel="{END}"]').first.wait_for()
            assert page.evaluate(
                "top.hacked === undefined && !document.querySelector('img[src=x]')"
            )
            assert wrong == []
        with opened(studio.address) as (page, wrong):
            page.get_by_text(HACK).first.wait_for()  # the robot's name, in the tab Play
            page.get_by_role("tab", name="Live").click()
            page.get_by_text(f"Cannot run live: {HACK}").first.wait_for()
            assert page.evaluate(
                "top.hacked === undefined && !document.querySelector('img[src=x]')"
            )
            assert wrong == []


# -- trouble in threads ----------------------------------------------------------------------------
def test_a_live_run_that_fails_stops_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model("pendulum")
    live = Live(plant_of(model), scene_of(model))
    live.start()
    try:
        monkeypatch.setattr(live._loop, "_go", lambda: 1 / 0)
        live.play()
        assert soon(lambda: bool(live.latest.stopped))
        assert live.latest.stopped == "ZeroDivisionError: division by zero"
        assert not live.latest.running
        monkeypatch.undo()
        live.reset()
        live.play()
        assert soon(lambda: live.latest.tick > 0)  # the thread is still there
    finally:
        live.close()


def test_trouble_of_one_is_told_and_the_others_go_on(studio: Studio) -> None:
    panels, player = panels_of(studio), studio.player
    calls: list[float] = []

    def bad(t: float) -> None:
        raise ValueError("no such frame")

    def worse() -> None:
        raise KeyError("gone")

    player.listeners.append(bad)
    panels.every(0.0, worse)
    panels.every(0.0, lambda: calls.append(1.0))
    try:
        player.playing = True
        assert soon(lambda: "ValueError: no such frame" in panels.troubles.words)
        assert soon(lambda: len(calls) > 3)
        assert panels.troubles.words.count("KeyError: 'gone'") == 1  # not sixty times a second
        assert not player.playing
        player.listeners.remove(bad)
        before = player.time
        player.playing = True
        assert soon(lambda: player.time != before)
    finally:
        player.playing = False
        del panels.rounds.refreshers[-2:]
        panels.troubles.words.clear()


def test_trouble_that_never_ends_takes_little_room(studio: Studio) -> None:
    panels = panels_of(studio)
    for k in range(1000):
        panels.report(f"trouble {k}")
    assert len(panels.troubles.words) < 100
    assert panels.troubles.words[-1] == "trouble 999"
    panels.troubles.words.clear()


def test_a_studio_that_cannot_be_built_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    port, before = free_port(LOOPBACK), threading.active_count()
    monkeypatch.setitem(PANELS, "Help", "linkwright.studio.panel_help:nothing")
    with pytest.raises(AttributeError):
        Studio(
            [recorded_motion("still", Recording([0.0], [Channel("s", "m")], [[1.0]]))], port=port
        )
    assert free_port(LOOPBACK, port) == port
    assert soon(lambda: threading.active_count() <= before)
