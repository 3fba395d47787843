"""The studio's server: what a frame costs, and that no browser can hold a run up."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.mechanism import Mechanism
from linkwright.scene.motions import scene_motion
from linkwright.scene.scene import scene_of
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from linkwright.studio.server import Studio, open_studio
from tests.seeds import seldom

BODIES = 30
MOST_BYTES = 2500  # for a frame in which all thirty bodies move
MOST_MESSAGES = BODIES + 3  # a turn for each, and the sliders of the panels


def _chain() -> Studio:
    m = Mechanism("chain")
    above = m.ground
    for k in range(BODIES):
        above = m.body(f"b{k}", parent=above, at=(0.2, 0, 0), rotate="xyz"[k % 3], mass=1)
    scene = scene_of(m)
    times = np.linspace(0, 4, 201)
    q = np.sin(times[:, None] + np.arange(BODIES)) * 0.5
    recording = lw.Recording(times, [lw.Channel(n) for n in scene.poses.coordinates], q)
    return Studio([scene_motion("waving", recording, scene)])


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    made = _chain()
    yield made
    made.close()


def _connected(studio: Studio) -> Any:
    import viser
    from websockets.sync.client import connect

    return connect(
        studio.address.replace("http", "ws"),
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        max_size=None,
    )


def _kinds(received: bytes) -> list[str]:
    """Return the kinds of the messages that a browser has received at once."""
    import msgspec
    import zstandard

    size = int.from_bytes(received[8:16], "little")
    text = zstandard.ZstdDecompressor().decompress(received[16 : 16 + size])
    return [m["type"] for m in msgspec.msgpack.decode(text)["messages"]]


def test_a_frame_of_thirty_bodies_is_small_in_bytes_and_in_messages(studio: Studio) -> None:
    with _connected(studio) as client, _without_desk(studio):
        _drain(client)
        received = []
        for k in range(60):
            studio.player.go_to(0.053 * (k + 1))
            studio.server.flush()
            received.append(client.recv(timeout=5))
        received += _drain(client)
    # How many parts a frame comes in is the machine's business; what all of it holds is not.
    assert sum(len(_kinds(each)) for each in received) <= 60 * MOST_MESSAGES
    assert sum(map(len, received)) <= 60 * MOST_BYTES
    for each in received:
        kinds = _kinds(each)
        assert kinds.count("SetOrientationMessage") <= BODIES
        assert kinds.count("SetPositionMessage") == 0  # no joint slides
        assert len(kinds) <= MOST_MESSAGES
        assert len(each) <= MOST_BYTES
    assert sum(_kinds(each).count("SetOrientationMessage") for each in received) > 20 * BODIES


@contextmanager
def _without_desk(studio: Studio) -> Iterator[None]:
    """Keep panels from refreshing themselves, which they do by the clock and not by the frame."""
    panels = studio.panels
    kept, panels.rounds.refreshers = panels.rounds.refreshers, []
    try:
        yield
    finally:
        panels.rounds.refreshers = kept


def _drain(client: Any) -> list[bytes]:
    """Receive until there is nothing more."""
    received: list[bytes] = []
    while True:
        try:
            received.append(client.recv(timeout=0.5))
        except TimeoutError:
            return received


@pytest.mark.parametrize("t", [0.0, 0.02, 0.513, 1.777, 4.0])
def test_frames_that_hang_on_each_other_stand_where_the_bodies_are(
    studio: Studio, t: float
) -> None:
    stage, scene = studio.stage, studio.motions[0].scene
    assert stage is not None
    assert scene is not None
    for other in (0.7, t):  # from elsewhere
        studio.player.go_to(other)
    world = [np.eye(4)]
    for k in range(BODIES + 1):  # each hangs on the one before
        handle = stage.handles[k]
        assert handle.name.count("/") == k + 2
        local = np.eye(4)
        local[:3, :3] = Rotation.from_quat(np.roll(handle.wxyz, -1)).as_matrix()
        local[:3, 3] = handle.position
        world.append(world[-1] @ local)
    wanted = scene.poses(np.sin(t + np.arange(BODIES)) * 0.5).poses
    for k in range(BODIES + 1):
        np.testing.assert_allclose(world[k + 1][:3, 3], wanted[k, :3], atol=2e-3)
        turn = Rotation.from_quat(np.roll(wanted[k, 3:], -1)).as_matrix()
        np.testing.assert_allclose(world[k + 1][:3, :3], turn, atol=2e-3)


def test_movement_too_slow_for_a_frame_is_not_lost(studio: Studio) -> None:
    stage, track = studio.stage, studio.tracks[0]
    assert stage is not None
    assert track is not None
    poses, center, hung = track.at(1.0)
    stage.show_upright(poses, center, hung)
    for _ in range(100):
        hung = hung.copy()
        hung[5, :3] += 2e-6 * stage.size
        stage.show_upright(poses, center, hung)
    np.testing.assert_allclose(stage.handles[5].position, hung[5, :3], atol=2e-5 * stage.size)
    studio.player.go_to(1.0)


@contextmanager
def _stalled(studio: Studio) -> Iterator[socket.socket]:
    """Yield a socket that has asked for the messages of a studio and never reads any."""
    import viser

    with socket.socket() as plug:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plug.connect((studio.host, studio.port))
        plug.sendall(
            f"GET /{studio.gate.token}/ HTTP/1.1\r\nHost: {studio.host}:{studio.port}\r\n".encode()
            + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Protocol: viser-v" + viser.__version__.encode() + b"\r\n\r\n"
        )
        assert plug.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 101"
        yield plug


@seldom(daily="test_a_browser_that_vanishes_does_not_stop_playing")
def test_a_browser_that_stalls_holds_neither_the_player_up_nor_memory(studio: Studio) -> None:
    def play(frames: int) -> None:
        for k in range(frames):
            studio.player.go_to((k % 199) * 0.0201)

    with _stalled(studio), _without_desk(studio):
        done = threading.Event()
        grown = []

        def watched() -> None:
            play(150)
            tracemalloc.start()
            try:
                play(50)
                before = tracemalloc.get_traced_memory()[0]
                play(400)
                grown.append(tracemalloc.get_traced_memory()[0] - before)
            finally:
                tracemalloc.stop()
            done.set()

        thread = threading.Thread(target=watched, daemon=True)
        thread.start()
        thread.join(timeout=60)
        assert done.is_set()
        assert grown[0] < 200_000  # the frames would be 600 kB


def test_a_live_run_is_the_same_whoever_looks_and_stalls() -> None:
    model = lw.load("double-pendulum")
    alone = Live(plant_of(model), scene_of(model))
    for _ in range(120):
        alone.advance(6)
    studio = open_studio(["double-pendulum"])
    try:
        panels = studio.panels
        panels.maker.make()
        live = panels.live
        assert live is not None
        panels.take_over("live")
        with _stalled(studio), _stalled(studio):
            for _ in range(120):
                live.advance(6)
                panels.rounds.go_round(time.monotonic())
        assert panels.troubles.words == []
        assert live.latest.tick == alone.latest.tick == 720
        np.testing.assert_array_equal(live.latest.x, alone.latest.x)
    finally:
        studio.close()


def test_a_browser_that_vanishes_does_not_stop_playing(studio: Studio) -> None:
    client = _connected(studio)
    client.socket.close()  # without a word
    studio.player.go_to(1.0)
    assert studio.player.time == 1.0
    track, stage = studio.tracks[0], studio.stage
    assert track is not None
    assert stage is not None
    poses, _, _ = track.at(1.0)
    np.testing.assert_allclose(stage.position(BODIES), poses[BODIES, :3], atol=1e-6)


def test_what_stands_still_is_not_sent(studio: Studio) -> None:
    stage = studio.stage
    assert stage is not None
    sent: list[Any] = []
    api = stage.handles[0]._impl.api
    original = api._queue_scene_message

    def noted(message: Any) -> None:
        sent.append(message)
        original(message)

    api._queue_scene_message = noted
    try:
        studio.player.go_to(2.0)
        moved = len(sent)
        sent.clear()
        studio.player.go_to(2.0)
    finally:
        api._queue_scene_message = original
    assert moved >= BODIES
    assert sent == []


def test_the_server_is_bound_to_the_loopback(studio: Studio) -> None:
    assert studio.address.startswith("http://127.0.0.1:")


def test_unknown_inputs_are_errors() -> None:
    with pytest.raises(lw.Error, match="there is no model"):
        open_studio(["no-such-model"])
    with pytest.raises(lw.Error, match="something to show"):
        open_studio([])


ROOMS = """
import sys
from linkwright.base.lazy import named
from linkwright.studio.server import PANELS
for home in PANELS.values():
    named(home)
print([r for r in ("server", "lab", "mounts") if f"linkwright.{r}" in sys.modules])
"""


def test_the_tabs_of_a_model_load_no_room_of_what_it_is_not_connected_to() -> None:
    """Cells, laboratories and mounts have tabs of their own, which only their studios load."""
    made = subprocess.run([sys.executable, "-c", ROOMS], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
