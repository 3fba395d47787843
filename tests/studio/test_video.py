"""Videos of motions: what is seen in them, by two renderers, and what cannot become one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageSequence

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.mechanism import Mechanism
from linkwright.studio import video
from linkwright.studio.display import motion_of

SIZE = (320, 200)


def _frames(path: Path, size: tuple[int, int] = SIZE) -> list[NDArray[Any]]:
    """Return the pictures of a video."""
    if path.suffix in (".mp4", ".webm"):
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        words = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path), *raw]
        data = subprocess.run(words, capture_output=True, check=True, timeout=60).stdout
        return list(np.frombuffer(data, np.uint8).reshape(-1, size[1], size[0], 3))
    with Image.open(path) as picture:
        return [np.asarray(part.convert("RGB")) for part in ImageSequence.Iterator(picture)]


def _bob(frame: NDArray[Any]) -> NDArray[Any]:
    """Return where the red bob of the pendulum is, pixels."""
    red, green, blue = frame.astype(int).transpose(2, 0, 1)
    rows, columns = np.nonzero((red > 120) & (red > 1.6 * green) & (red > 1.6 * blue))
    return np.array([columns.mean(), rows.mean()])


def test_a_video_shows_the_motion_at_its_pace(tmp_path: Path) -> None:
    """The bob is where the page and the plain renderer have it, and swings as the run says."""
    run = lw.simulate("pendulum", 1.0, initial={"phi": 0.7})
    assert run.video(tmp_path / "a.mp4", size=SIZE, rate=4.0) == 5
    assert main([
        *("video", "pendulum", "--until", "1", "--initial", "phi=0.7", "--pixels", "320x200"),
        *("--rate", "4", "--pace", "0.5", "--plain", "-o", str(tmp_path / "b.gif")),
    ]) == 0  # fmt: skip
    page, plain = (_frames(tmp_path / name) for name in ("a.mp4", "b.gif"))
    assert (len(page), len(plain)) == (5, 9)  # half the speed takes twice the time
    assert page[0].shape == plain[0].shape == (200, 320, 3)
    seen, drawn = (np.array([_bob(f) for f in frames]) for frames in (page, plain[::2]))
    np.testing.assert_allclose(seen, drawn, atol=2.0)
    phi = np.interp([0, 0.25, 0.5, 0.75, 1], run.times, run["phi"])
    assert np.corrcoef(np.sin(phi), drawn[:, 0])[0, 1] ** 2 > 0.99


def test_pillow_and_ffmpeg_write_what_the_name_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, head in (("c.webp", b"RIFF"), ("d.webm", b"\x1a\x45\xdf\xa3")):
        words = ("pendulum", "--until", "0.5", "--pixels", "64x64", "--rate", "4", "--plain")
        assert (
            main(["video", *words, "--dark", "--camera=10,40,2", "-o", str(tmp_path / name)]) == 0
        )
        assert (tmp_path / name).read_bytes()[:4] == head
        assert len(_frames(tmp_path / name, (64, 64))) == 3
        assert "3 frames, 0.00 MB, drawn by the plain renderer" in capsys.readouterr().out
    assert _frames(tmp_path / "c.webp")[0].mean() < 80  # dark


def test_without_a_browser_it_is_drawn_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "which", lambda _: None)
    motion = motion_of(lw.simulate("pendulum", 0.1))
    look = video.VideoLook((64, 64), rate=10.0)
    done: list[int] = []
    made = video.write_video(tmp_path / "a.gif", [motion], look, progress=done.append)
    assert made == (2, "by the plain renderer")
    assert done == [1, 2]


def test_what_cannot_become_a_video_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {
        ("-o", "a.avi"): "ends in .mp4, .webm, .gif, .webp",
        ("-o", "a.mp4", "--pixels", "321x200"): "give even numbers of pixels",
        ("-o", "a.mp4", "--pixels", "large"): "is not a size",
        ("-o", "a.mp4", "--rate", "0"): "give a number above 0",
        ("-o", "a.mp4", "--pace=-1"): "give a number above 0",
        ("-o", "a.mp4", "--camera=1"): "give azimuth and height in degrees",
        ("-o", "a.mp4", "--pace", "0.001"): "are allowed",
        ("-o", "no/a.mp4"): "no such folder",
    }
    for words, why in wrong.items():
        given = [str(tmp_path / w) if w.endswith((".mp4", ".avi")) else w for w in words]
        assert main(["video", "pendulum", "--until", "1", "--plain", *given]) == 2, words
        assert why in capsys.readouterr().err
    rod = Mechanism("rod")
    rod.body("rod", rotate="z", mass=1, inertia=1)
    with pytest.raises(InputError, match="not one of a video"):
        lw.simulate(rod, 0.1).video(tmp_path / "a.mp4", size=(0, 0))
    assert not list(tmp_path.iterdir())
