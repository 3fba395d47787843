"""The studio's server: what a frame costs, and that no browser can hold a run up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.mechanism import Mechanism
from linkwright.studio.scene import scene_of
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.takes import scene_take

BODIES = 30
MOST_BYTES = 4000  # for a frame in which all thirty bodies move


def _chain() -> Studio:
    m = Mechanism("chain")
    above = m.ground
    for k in range(BODIES):
        above = m.body(f"b{k}", parent=above, at=(0.2, 0, 0), rotate="xyz"[k % 3], mass=1)
    scene = scene_of(m)
    times = np.linspace(0, 4, 201)
    q = np.sin(times[:, None] + np.arange(BODIES)) * 0.5
    recording = lw.Recording(times, [lw.Channel(n) for n in scene.poses.coordinates], q)
    return Studio([scene_take("waving", recording, scene)])


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


def test_a_frame_of_thirty_bodies_is_small(studio: Studio) -> None:
    with _connected(studio) as client:
        _drain(client)
        frames, received = 60, 0
        for k in range(frames):
            studio.player.go_to(0.05 * (k + 1))
            studio.server.flush()
            received += len(client.recv(timeout=5))
        received += _drain(client)
        assert received / frames < MOST_BYTES


def _drain(client: Any) -> int:
    """Receive until there is nothing more; return how many bytes that were."""
    received = 0
    while True:
        try:
            received += len(client.recv(timeout=1.0))
        except TimeoutError:
            return received


def test_a_browser_that_reads_nothing_does_not_hold_the_player_up(studio: Studio) -> None:
    with _connected(studio):
        done = threading.Event()

        def play() -> None:
            for k in range(300):
                studio.player.go_to((k % 200) * 0.02)
            done.set()

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        thread.join(timeout=60)
        assert done.is_set()


def test_a_browser_that_vanishes_does_not_stop_playing(studio: Studio) -> None:
    client = _connected(studio)
    client.socket.close()  # without a word
    studio.player.go_to(1.0)
    assert studio.player.time == 1.0
    track, stage = studio.tracks[0], studio.stage
    assert track is not None
    assert stage is not None
    poses, _ = track.at(1.0)
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
    assert moved > BODIES
    assert sent == []


def test_the_server_is_bound_to_the_loopback(studio: Studio) -> None:
    assert studio.address.startswith("http://127.0.0.1:")


def test_unknown_inputs_are_errors() -> None:
    with pytest.raises(lw.Error, match="there is no model"):
        open_studio(["no-such-model"])
    with pytest.raises(lw.Error, match="something to show"):
        open_studio([])
