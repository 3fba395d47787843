"""What a frame of the studio costs: a chain of thirty bodies that all move, sixty times a second.

The peer is a plain loop over the same nodes on a server of its own, which sets where each frame of
Viser's is and how it is turned. Times are the processor's, so that others on the machine do not
count; a browser, where there is one, draws without a graphics card, so that its frames in a second
say little of a laptop's, while the time of its main thread does.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import linkwright as lw
from bench.example_robots import EXAMPLES, path_of
from bench.measure import Row
from linkwright.mechanism import Mechanism
from linkwright.pages.page import write_page
from linkwright.scene.motions import SceneMotion, scene_motion
from linkwright.scene.scene import scene_of
from linkwright.scene.stance import footing_of
from linkwright.studio.live import Live
from linkwright.studio.live_system import RATE, plant_of
from linkwright.studio.server import LOOPBACK, Studio, free_port

TITLE = "the studio: a frame of thirty moving bodies"
BODIES = 30
FRAMES = 240
BUDGET = 1 / 60  # s
SAMPLES = 241
LONG = 4.0  # s
STANDING = 2  # s


def run() -> list[Row]:
    """Measure the server's cost, its traffic, and a browser's cost where there is a browser."""
    motion = waving()
    studio = Studio([motion])
    try:
        rows = [*_server(studio), *_studio_drawn(studio), *_live(studio)]
    finally:
        studio.close()
    return [*rows, *_standing(), *_page_drawn(motion)]


def waving() -> SceneMotion:
    """Return a recording of a chain whose joints all turn."""
    m = Mechanism("chain")
    above = m.ground
    for k in range(BODIES):
        above = m.body(
            f"b{k}",
            parent=above,
            at=(0.2, 0, 0),
            rotate="xyz"[k % 3],
            mass=1,
            com=(0.1, 0, 0),
            inertia=0.001,
        )
    m.gravity()
    scene = scene_of(m)
    times = np.linspace(0, LONG, SAMPLES)
    q = np.sin(times[:, None] + np.arange(BODIES)) * 0.5
    recording = lw.Recording(times, [lw.Channel(n, "rad") for n in scene.poses.coordinates], q)
    return scene_motion("waving", recording, scene)


# -- the server ------------------------------------------------------------------------------------
def _server(studio: Studio) -> list[Row]:
    track, stage, panels = studio.tracks[0], studio.stage, studio.panels
    assert track is not None
    assert stage is not None
    rounds = panels.rounds
    kept, rounds.refreshers = rounds.refreshers, []  # panels go by the clock, not by the frame

    def shown(t: float) -> None:
        stage.show_upright(*track.at(t))

    with _plain(track.poses[0]) as (server, plainly):
        ours = _pushed(studio.address, shown)
        theirs = _pushed(
            f"http://{LOOPBACK}:{server.get_port()}", lambda t: plainly(track.at(t)[0])
        )
    rounds.refreshers = kept
    note = f"{1e3 * ours['push']:.2f} ms; plain loop: {1e3 * theirs['push']:.2f} ms"
    whole = f"{1e3 * ours['all']:.2f} ms; plain loop: {1e3 * theirs['all']:.2f} ms"
    return [
        Row("pushing a frame, share of 1/60 s", ours["push"] / BUDGET, bar=0.18, note=note),
        Row("the same over a plain loop of Viser's setters", ours["push"] / theirs["push"], bar=1),
        Row("with its way to one browser, share of 1/60 s", ours["all"] / BUDGET, note=whole),
        Row("the same over the plain loop", ours["all"] / theirs["all"], bar=1),
        Row("bytes in a frame", ours["bytes"], "B", 2500, note=f"{theirs['bytes']:.0f} B plainly"),
        Row("messages in a frame", ours["messages"], "", BODIES + 3, note=_count(theirs)),
    ]


def _live(studio: Studio) -> list[Row]:
    """Let the chain fall, and time a frame's ticks and the showing of where they lead."""
    panels = studio.panels
    panels.maker.make()
    panels.take_over("live")
    panels.close()  # its thread would show the same
    live = panels.live
    assert live is not None
    ticks = RATE // 60
    gone, shown = [], []
    for _ in range(FRAMES // 2):
        start = time.thread_time()
        live.advance(ticks)
        between = time.thread_time()
        panels.show_live()
        gone.append(between - start)
        shown.append(time.thread_time() - between)
    assert not live.latest.stopped
    go, show = statistics.median(gone), statistics.median(shown)
    return [
        Row(
            f"live: {ticks} ticks of a frame, share of 1/60 s",
            go / BUDGET,
            note=f"{1e3 * go:.2f} ms",
        ),
        Row("live: showing where they lead", show / BUDGET, bar=0.18, note=f"{1e3 * show:.2f} ms"),
    ]


def _standing() -> list[Row]:
    """Let robots that walk stand on the ground, and compare with the clock on the wall."""
    rows = []
    for example in (e for e in EXAMPLES if e.name in ("Go2", "Talos")):
        start = time.perf_counter()
        scene = scene_of(lw.load(path_of(example), base="free"))
        footing = footing_of(scene)
        assert footing is not None
        begin = dict(zip(scene.poses.coordinates, map(float, footing.start), strict=True))
        live = Live(plant_of(scene.robot, begin, scene.poses.values, footing), scene)
        live.set_ground(True)
        live.advance(1)
        built = time.perf_counter() - start
        start = time.perf_counter()
        live.advance(STANDING * RATE)
        pace = STANDING / (time.perf_counter() - start)
        assert not live.latest.stopped
        note = f"made ready in {built:.1f} s, with kernels of earlier runs where there are some"
        what = f"live: {example.name} on the ground, by the clock"
        rows.append(Row(what, pace, bar=1, better="higher", note=note))
    return rows


def _count(found: dict[str, float]) -> str:
    return f"{found['messages']:.0f} plainly"


@contextmanager
def _plain(first: Any) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """Yield a server of Viser's with as many frames, and the loop that moves them."""
    import viser

    with redirect_stdout(StringIO()):
        server = viser.ViserServer(host=LOOPBACK, port=free_port(LOOPBACK), verbose=False)
    handles = [
        server.scene.add_frame(f"/{k} node", show_axes=False, position=row[:3], wxyz=row[3:])
        for k, row in enumerate(first.astype(float))
    ]

    def move(poses: Any) -> None:
        with server.atomic():
            for handle, row in zip(handles, poses, strict=True):
                handle.position = row[:3]
                handle.wxyz = row[3:]

    try:
        yield server, move
    finally:
        with redirect_stdout(StringIO()):
            server.stop()


def _pushed(address: str, show: Callable[[float], None]) -> dict[str, float]:
    """Return what frames cost while a process of its own receives them."""
    import subprocess

    receiver = subprocess.Popen(
        [sys.executable, "-m", "bench.bench_studio", address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert receiver.stdout is not None
    receiver.stdout.readline()  # it has all that was there before
    spent, begun = [], time.process_time()
    due = time.perf_counter()
    for k in range(FRAMES):
        start = time.thread_time()
        show(LONG * (k + 0.5) / FRAMES)
        spent.append(time.thread_time() - start)
        due += BUDGET
        time.sleep(max(0.0, due - time.perf_counter()))
    whole = time.process_time() - begun
    told, _ = receiver.communicate("\n", timeout=30)
    size, messages = map(float, told.split())
    return {
        "push": statistics.median(spent),
        "all": whole / FRAMES,
        "bytes": size / FRAMES,
        "messages": messages / FRAMES,
    }


def _receive(address: str) -> None:
    """Receive what a server sends until a line comes in; print bytes and messages."""
    import msgspec
    import viser
    import zstandard
    from websockets.asyncio.client import connect

    over = threading.Event()

    def wait() -> None:
        sys.stdin.readline()
        over.set()

    async def listen() -> None:
        received: list[Any] = []
        protocol: Any = f"viser-v{viser.__version__}"
        async with connect(
            address.replace("http", "ws"), subprotocols=[protocol], max_size=None
        ) as client:
            with suppress(TimeoutError):
                while True:
                    await asyncio.wait_for(client.recv(), 1.0)
            print("ready", flush=True)
            threading.Thread(target=wait, daemon=True).start()
            while not over.is_set():
                with suppress(TimeoutError):
                    received.append(await asyncio.wait_for(client.recv(), 0.3))
        messages = 0
        for each in received:
            size = int.from_bytes(each[8:16], "little")
            text = zstandard.ZstdDecompressor().decompress(each[16 : 16 + size])
            messages += len(msgspec.msgpack.decode(text)["messages"])
        print(sum(map(len, received)), messages)

    asyncio.run(listen())


# -- the browser -----------------------------------------------------------------------------------
_SPARED = """for (const kind of ["drawElements", "drawArrays"])
    for (const many of ["", "Instanced"]) WebGL2RenderingContext.prototype[kind + many] = () => {};
window.drawn = 0; const count = () => { window.drawn++; requestAnimationFrame(count); }; count();"""
_PAGE = """() => {
    const s = window.studio, n = 240, start = performance.now();
    for (let k = 0; k < n; k++) { goTo(s, s.from + (s.to - s.from) * k / n); render(s); }
    return (performance.now() - start) / n / 1000;
}"""
_SPARED_NOTE = "drawing calls left out, for there is no graphics card"


def _browser() -> bool:
    from importlib.util import find_spec

    from tests.support.chromium import chromium

    try:
        chromium()
    except RuntimeError:
        return False
    return find_spec("playwright") is not None


def _metrics(page: Any) -> Callable[[], dict[str, float]]:
    """Return a function that tells the seconds spent by a page's main thread, and its frames."""
    told = page.context.new_cdp_session(page)
    told.send("Performance.enable")

    def now() -> dict[str, float]:
        found = told.send("Performance.getMetrics")["metrics"]
        own = {"drawn": float(page.evaluate("window.drawn")), "at": time.perf_counter()}
        return own | {m["name"]: m["value"] for m in found}

    return now


def _during(now: Callable[[], dict[str, float]], seconds: float) -> dict[str, float]:
    before = now()
    time.sleep(seconds)
    after = now()
    return {name: after[name] - before[name] for name in before}


def _studio_drawn(studio: Studio) -> list[Row]:
    """Let a browser show the studio playing; return how much of its main thread that takes."""
    if not _browser():
        return []
    from tests.support.chromium import opened

    with opened(studio.address, script=_SPARED) as (page, _):
        page.get_by_role("tab", name="Play").wait_for(timeout=60_000)
        time.sleep(2)
        now = _metrics(page)
        studio.player.playing = True
        time.sleep(1)
        spent = _during(now, 4)
        studio.player.playing = False
    share, script = (spent[n] / spent["at"] for n in ("TaskDuration", "ScriptDuration"))
    return [
        Row(
            "studio: share of the browser's main thread",
            share,
            bar=0.8,
            note=f"scripts {script:.2f}",
        ),
        Row("studio: frames in a second", spent["drawn"] / spent["at"], "/s", note=_SPARED_NOTE),
    ]


def _page_drawn(motion: SceneMotion) -> list[Row]:
    """Let a browser play the page of the same recording."""
    if not _browser():
        return []
    from tests.support.chromium import opened

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.html"
        write_page(path, [motion])
        with opened(path, offline=True, script=_SPARED) as (page, _):
            page.wait_for_function("document.documentElement.dataset.ready")
            cost = page.evaluate(_PAGE)
            now = _metrics(page)
            page.evaluate("play(window.studio, true)")
            time.sleep(1)
            spent = _during(now, 3)
    share = spent["TaskDuration"] / spent["at"]
    return [
        Row(
            "page: scripts in a frame, share of 1/60 s",
            cost / BUDGET,
            bar=0.5,
            note=f"{1e3 * cost:.2f} ms",
        ),
        Row("page: share of the browser's main thread", share, bar=0.8),
        Row("page: frames in a second", spent["drawn"] / spent["at"], "/s", note=_SPARED_NOTE),
    ]


if __name__ == "__main__":
    _receive(sys.argv[1])
