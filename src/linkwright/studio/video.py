"""Videos of motions: frames of the page in a headless Chromium, put together by FFmpeg or Pillow.

Without a Chromium, or without Playwright to drive it, a plain renderer draws the triangles of the
scene from far to near, with one light and without shadows, labels and arrows.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from queue import Full, Queue
from shutil import copyfileobj, which
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_with
from linkwright.base.optional import extra
from linkwright.base.rotations import quaternion_matrix
from linkwright.pages.page import page_text
from linkwright.scene.motions import SceneMotion
from linkwright.scene.viewpoint import ANGLE, seen_of, upright

Array = NDArray[np.float64]
CODECS = {".mp4": "libx264", ".webm": "libvpx-vp9"}
STILLS = {".gif": "GIF", ".webp": "WEBP"}
MOST_FRAMES = 20_000
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    *("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    "--ignore-gpu-blocklist",
)
_BARE = "header, footer, aside, #views, #story, #notes, #chip { display: none !important }"
_GRAY = (0.6, 0.63, 0.67)
_PAPER, _NIGHT = (238, 241, 244), (21, 26, 32)


@dataclass(frozen=True, slots=True)
class VideoLook:
    """How a video looks.

    Args:
        size: width and height, pixels.
        rate: frames in a second.
        speed: seconds of the motion in a second of the video.
        camera: azimuth and height of the camera, degrees, and its distance of the usual one.
        dark: the dark looks.
    """

    size: tuple[int, int] = (1280, 720)
    rate: float = 30.0
    speed: float = 1.0
    camera: tuple[float | None, float | None, float] = (None, None, 1.0)
    dark: bool = False

    def times(self, motion: SceneMotion) -> Array:
        """Return the times of the motion that are shown, s."""
        times = motion.recording.times
        count = int((times[-1] - times[0]) / self.speed * self.rate + 1e-9) + 1
        if count > MOST_FRAMES:
            raise InputError(
                f"the video would have {count} frames, and {MOST_FRAMES} are allowed",
                remedy="show it at a higher --pace, or with a lower --rate",
            )
        return np.asarray(times[0] + np.arange(count) * self.speed / self.rate)


def check_target(path: Path, look: VideoLook) -> None:
    """Reject what cannot become a video, before anything is computed."""
    kinds = {**CODECS, **STILLS}
    if path.suffix.lower() not in kinds:
        raise InputError(f"a video is written to a file that ends in {', '.join(kinds)}", file=path)
    if any(not 16 <= n <= 4096 or n % 2 for n in look.size):
        raise InputError(
            f"the size {look.size[0]}x{look.size[1]} is not one of a video",
            remedy="give even numbers of pixels from 16 to 4096: 1280x720, say",
        )
    for value, name in (
        (look.rate, "--rate"),
        (look.speed, "--pace"),
        (look.camera[2], "--camera"),
    ):
        if not 0 < value < 1000:
            raise InputError(f"{name} {value:g} is out of range", remedy="give a number above 0")
    extra("PIL.Image", "video")
    if path.suffix.lower() in CODECS:
        extra("imageio_ffmpeg", "video")


def write_video(
    path: str | os.PathLike[str],
    motions: Sequence[SceneMotion],
    look: VideoLook | None = None,
    *,
    progress: Callable[[int], object] | None = None,
    plain: bool = False,
) -> tuple[int, str]:
    """Write a video of a motion, others as ghosts; return its frames, and how they were drawn.

    Args:
        path: of the file: .mp4, .webm, .gif or .webp.
        motions: what moves.
        look: how it looks.
        progress: called with the frames that are done.
        plain: whether to draw it without a browser, which is the way where there is none.
    """
    target, look = Path(path), look or VideoLook()
    check_target(target, look)
    first = motions[0]
    if first.scene is None or first.q is None:
        raise InputError(
            f"{first.name}: there is nothing to see, since no model is known",
            remedy="name its model: --model",
        )
    times = look.times(first)
    browser = None if plain else _browser()
    if browser is None:
        drawn = _plain(first, times, look)
    else:
        drawn = _from_thread(_shots(browser, motions, times, look))

    def counted() -> Iterator[Any]:
        for k, frame in enumerate(drawn):
            yield frame
            if progress is not None:
                progress(k + 1)

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"video{target.suffix.lower()}"
        (_encode if made.suffix in CODECS else _animate)(made, counted(), look)
        with made.open("rb") as file:
            write_with(target, lambda out: copyfileobj(file, out), replace=True)
    return len(times), "in Chromium" if browser else "by the plain renderer"


# -- files -----------------------------------------------------------------------------------------
def _encode(path: Path, frames: Iterator[Any], look: VideoLook) -> None:
    """Let FFmpeg put frames together."""
    exe = extra("imageio_ffmpeg", "video").get_ffmpeg_exe()
    wide, tall = look.size
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{tall}", "-r", f"{look.rate:g}"]
    made = ["-c:v", CODECS[path.suffix], "-pix_fmt", "yuv420p", "-crf", "20", "-b:v", "0"]
    words = [exe, "-y", "-loglevel", "error", *given, "-i", "-", "-an", *made, str(path)]
    with (
        tempfile.TemporaryFile() as told,
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=told
        ) as running,
    ):
        assert running.stdin is not None
        try:
            for frame in frames:
                running.stdin.write(frame.tobytes())
            running.stdin.close()
            failed = running.wait(timeout=600)
        except BrokenPipeError:
            failed = 1
        except BaseException:
            running.kill()
            raise
        if failed:
            told.seek(0)
            why = told.read().decode(errors="replace").strip()
            raise Error(f"FFmpeg could not write the video: {why[-300:]}")


def _animate(path: Path, frames: Iterator[Any], look: VideoLook) -> None:
    """Let Pillow put frames together."""
    options: dict[str, Any] = {"quality": 80, "method": 4} if path.suffix == ".webp" else {}
    held = max(round(1000 / look.rate), 20)  # browsers hold shorter ones for longer
    first = next(frames)
    first.save(
        path, STILLS[path.suffix], save_all=True, append_images=frames, duration=held, loop=0,
        **options,
    )  # fmt: skip


# -- frames of the page ----------------------------------------------------------------------------
def _browser() -> str | None:
    """Return a Chromium that can be driven here."""
    if find_spec("playwright") is None:
        return None
    return next((found for found in map(which, _BROWSERS) if found), None)


def _from_thread(make: Iterator[Any]) -> Iterator[Any]:
    """Yield what another thread makes: Playwright cannot run where a notebook's loop does."""
    waiting: Queue[tuple[Any, BaseException | None]] = Queue(4)
    ended = threading.Event()

    def put(frame: Any, error: BaseException | None) -> None:
        while not ended.is_set():
            with suppress(Full):
                waiting.put((frame, error), timeout=0.2)
                break

    def work() -> None:
        try:
            for frame in make:
                put(frame, None)
                if ended.is_set():
                    break
            put(None, None)
        except BaseException as error:
            put(None, error)
        finally:
            make.close()  # type: ignore[attr-defined]

    thread = threading.Thread(target=work, name="frames of a video", daemon=True)
    thread.start()
    try:
        while True:
            frame, error = waiting.get()
            if error is not None:
                raise Error(f"the browser did not draw the video: {error}") from error
            if frame is None:
                return
            yield frame
    finally:
        ended.set()
        thread.join(30)


def _shots(
    browser: str, motions: Sequence[SceneMotion], times: Array, look: VideoLook
) -> Iterator[Any]:
    """Yield pictures of the page at times."""
    image = extra("PIL.Image", "video")
    sync_playwright = extra("playwright.sync_api", "video").sync_playwright
    azimuth, height, closer = look.camera
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        file = Path(folder) / "page.html"
        file.write_text(page_text(motions), encoding="utf-8")
        running = play.chromium.launch(executable_path=browser, args=list(_FLAGS))
        try:
            wide, tall = look.size
            page = running.new_page(
                viewport={"width": wide, "height": tall}, reduced_motion="reduce"
            )
            page.goto(file.as_uri() + ("#dark" if look.dark else "#light"))
            page.wait_for_selector("html[data-ready]", state="attached")
            page.add_style_tag(content=_BARE)
            page.evaluate(
                """([azimuth, height, closer]) => { const v = studio.view; v.distance *= closer;
                document.body.classList.add("bare");
                studio.level = 0;
                if (azimuth !== null) v.azimuth = azimuth;
                if (height !== null) v.height = height;
                return new Promise((done) => requestAnimationFrame(() =>
                    requestAnimationFrame(done))); }""",
                [azimuth, height, closer],
            )
            for t in times:
                page.evaluate(
                    "(t) => { point(studio, t); studio.dirty = false; render(studio); }", float(t)
                )
                yield image.open(BytesIO(page.screenshot())).convert("RGB")
        finally:
            running.close()


# -- the plain renderer ----------------------------------------------------------------------------
def _plain(motion: SceneMotion, times: Array, look: VideoLook) -> Iterator[Any]:
    """Yield pictures of the triangles of a scene, drawn from far to near."""
    image, brush = extra("PIL.Image", "video"), extra("PIL.ImageDraw", "video")
    scene, rows = motion.scene, motion.q
    assert scene is not None
    assert rows is not None
    own = motion.recording.times
    q = np.column_stack([np.interp(times, own, column) for column in rows.T])
    poses = upright(scene, scene.poses(q).poses)
    view = seen_of(scene, motion).view
    azimuth, height, closer = look.camera
    a = math.radians(view["azimuth"] if azimuth is None else azimuth)
    h = math.radians(view["height"] if height is None else height)
    away = np.array([math.cos(a) * math.cos(h), math.sin(a) * math.cos(h), math.sin(h)])
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    axes = np.array([right, np.cross(away, right), away])
    center, far = np.array(view["center"]), view["distance"] * closer
    wide, tall = look.size
    focal = tall / 2 / math.tan(ANGLE / 2) * min(1.0, wide / tall / 1.2)
    parts = [
        (k, mesh.points, mesh.faces, 255 * np.array(mesh.color or _GRAY)[:3])
        for k, meshes in enumerate(scene.surfaces_within(6000))
        for mesh in meshes
    ]
    light = np.array([0.3, 0.6, 0.74])
    for pose in poses:
        depths, shapes, colors = [], [], []
        for k, points, faces, color in parts:
            seen = points @ quaternion_matrix(pose[k, 3:]).T + pose[k, :3] - center
            seen = seen @ axes.T
            corners = seen[faces]
            normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            size = np.linalg.norm(normal, axis=1)
            shade = 0.45 + 0.55 * np.abs(normal @ light) / np.where(size > 0, size, 1.0)
            kept = np.flatnonzero((corners[:, :, 2] < 0.95 * far).all(axis=1))
            flat = focal * corners[kept, :, :2] / (far - corners[kept, :, 2:])
            shapes.append(flat * [1, -1] + [wide / 2, tall / 2])
            depths.append(corners[kept, :, 2].mean(axis=1))
            colors.append(np.outer(shade[kept], color))
        picture = image.new("RGB", look.size, _NIGHT if look.dark else _PAPER)
        draw = brush.Draw(picture)
        shape, color = np.concatenate(shapes), np.concatenate(colors).clip(0, 255).astype(int)
        for n in np.argsort(np.concatenate(depths), kind="stable"):
            draw.polygon([tuple(p) for p in shape[n]], fill=tuple(map(int, color[n])))
        yield picture
