"""A camera of Video4Linux 2: numbers of the kernel's header, and a driver that is played."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import linkwright.server.video_device as video
from linkwright.base.errors import InputError
from linkwright.server.video_device import BUFFER, VideoDevice, brightness, picture_format

PROGRAM = """
#include <stdio.h>
#include <stddef.h>
#include <linux/videodev2.h>
#define P(x) printf("%lu ", (unsigned long)(x));
#define AT(x) P(offsetof(struct v4l2_buffer, x))
int main(void)
{
    P(VIDIOC_QUERYCAP) P(VIDIOC_S_FMT) P(VIDIOC_REQBUFS) P(VIDIOC_QUERYBUF) P(VIDIOC_QBUF)
    P(VIDIOC_DQBUF) P(VIDIOC_STREAMON) P(VIDIOC_STREAMOFF) P(V4L2_BUF_TYPE_VIDEO_CAPTURE)
    P(V4L2_MEMORY_MMAP) P(V4L2_CAP_DEVICE_CAPS) P(V4L2_CAP_READWRITE) P(V4L2_CAP_STREAMING)
    P(V4L2_PIX_FMT_GREY) P(V4L2_PIX_FMT_YUYV)
    AT(index) AT(type) AT(bytesused) AT(memory) AT(m.offset) AT(length)
    P(sizeof(struct v4l2_buffer)) P(sizeof(struct v4l2_format)) P(sizeof(struct v4l2_capability))
    P(offsetof(struct v4l2_capability, capabilities)) P(sizeof(struct v4l2_requestbuffers))
    P(offsetof(struct v4l2_format, fmt.pix.pixelformat))
    P(offsetof(struct v4l2_format, fmt.pix.bytesperline))
    return 0;
}
"""


def test_requests_and_structures_are_those_of_the_kernel(tmp_path: Path) -> None:
    """What a C compiler makes of <linux/videodev2.h>."""
    (tmp_path / "v.c").write_text(PROGRAM)
    subprocess.run(["cc", "v.c", "-o", "v"], cwd=tmp_path, check=True, timeout=60)
    said = subprocess.run([tmp_path / "v"], check=True, timeout=60, capture_output=True).stdout
    numbers = [int(x) for x in said.split()]
    names = "QUERYCAP S_FMT REQBUFS QUERYBUF QBUF DQBUF STREAMON STREAMOFF CAPTURE MAPPED "
    names += "OF_DEVICE READ STREAM GREY YUYV"
    assert numbers[:15] == [getattr(video, name) for name in names.split()]
    packed = BUFFER.pack(1, 2, 3, 4, 5, 6)
    places = [packed.index(k.to_bytes(4, "little")) for k in range(1, 7)]
    assert numbers[15:22] == [*places, len(packed)]
    assert numbers[22:] == [len(picture_format(1, 1, 1)), 104, 84, 20, 16, 24]


class Buffer(ctypes.Structure):
    """struct v4l2_buffer, written down on its own."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("index", "type", "bytesused", "flags", "field")),
        ("timestamp", ctypes.c_int64 * 2),
        ("timecode", ctypes.c_uint32 * 4),
        *((name, ctypes.c_uint32) for name in ("sequence", "memory")),
        ("offset", ctypes.c_uint64),
        ("rest", ctypes.c_uint32 * 4),
    ]


@dataclass
class Driver:
    """A driver that keeps the rules: a buffer is filled while it is queued, and taken in turn."""

    memory: Path
    formats: tuple[bytes, ...] = (b"YUYV",)
    line: int = 20
    abilities: int = video.STREAM | video.CAPTURE
    room: int = mmap.PAGESIZE
    queued: list[int] = field(default_factory=list)
    filled: list[int] = field(default_factory=list)
    on: bool = False
    gone: bool = False

    def film(self, picture: np.ndarray) -> None:
        """Put a picture into the next buffer."""
        k = self.queued.pop(0)
        rows = np.zeros((len(picture), self.line), np.uint8)
        rows[:, : 2 * picture.shape[1] : 2] = picture
        with self.memory.open("r+b") as file:
            file.seek(k * self.room)
            file.write(rows.tobytes())
        self.filled.append(k)

    def ioctl(self, file: int, request: int, data: bytearray) -> int:
        del file
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")
        words = (ctypes.c_uint32 * (len(data) // 4)).from_buffer(data)
        if request == video.QUERYCAP:
            words[21], words[22] = video.OF_DEVICE, self.abilities
        elif request == video.S_FMT:
            wanted = bytes(data[16:20])
            data[16:20] = wanted if wanted in self.formats else self.formats[0]
            words[2], words[3], words[6] = 8, 4, self.line
        elif request == video.REQBUFS:
            words[0] = 2
        elif request in (video.STREAMON, video.STREAMOFF):
            self.on = request == video.STREAMON
        else:
            found = Buffer.from_buffer(data)
            assert (found.type, found.memory) == (1, 1)
            if request == video.QUERYBUF:
                found.offset, found.rest[0] = found.index * self.room, self.line * 4
            elif request == video.QBUF:
                assert found.index not in self.queued
                self.queued.append(found.index)
            elif not self.filled:
                raise OSError(errno.EAGAIN, "nothing yet")
            else:
                assert self.on
                found.index, found.bytesused = self.filled.pop(0), self.line * 4
        return 0


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    memory = tmp_path / "video0"
    memory.write_bytes(bytes(2 * mmap.PAGESIZE))
    made = Driver(memory)
    monkeypatch.setattr(fcntl, "ioctl", made.ioctl)
    return made


def test_each_picture_of_a_stream_is_seen_and_its_buffer_given_back(driver: Driver) -> None:
    camera = VideoDevice(str(driver.memory), 640, 480)
    assert (camera.width, camera.height, driver.on) == (8, 4, True)
    pictures = np.random.default_rng(5).integers(0, 256, (5, 4, 8), dtype=np.uint8)
    for picture in pictures:  # more than there are buffers
        driver.film(picture)
        assert np.array_equal(camera(0.0), picture / 255)  # type: ignore[arg-type]
    assert camera(0.0) is None
    assert sorted(driver.queued) == [0, 1]
    camera.close()
    assert not driver.on


def test_two_that_are_ready_are_taken_and_the_second_counts(driver: Driver) -> None:
    camera = VideoDevice(str(driver.memory), 640, 480)
    pictures = np.random.default_rng(6).integers(0, 256, (2, 4, 8), dtype=np.uint8)
    driver.film(pictures[0])
    driver.film(pictures[1])
    found = camera(0.0)
    assert found is not None
    assert found.tolist() == (pictures[1] / 255).tolist()
    driver.gone = True
    with pytest.raises(OSError, match="No such device"):
        camera(0.0)
    camera.close()


def test_a_camera_that_can_be_read_is_read(driver: Driver) -> None:
    driver.abilities, driver.formats, driver.line = video.READ | 1, (b"GREY",), 8
    driver.memory.write_bytes(bytes(range(32)))
    camera = VideoDevice(str(driver.memory), 8, 4)
    found = camera(0.0)
    assert found is not None
    assert (255 * found).round().tolist() == np.arange(32).reshape(4, 8).tolist()
    camera.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formats": (b"MJPG",)}, "neither gray nor YUYV"),
        ({"abilities": video.STREAM}, "takes no pictures"),
        ({"abilities": video.CAPTURE}, "neither way"),
        ({"gone": True}, "not a camera: No such device"),
    ],
)
def test_what_is_no_camera_is_rejected(
    driver: Driver, change: dict[str, object], message: str
) -> None:
    for key, value in change.items():
        setattr(driver, key, value)
    with pytest.raises(InputError, match=message):
        VideoDevice(str(driver.memory), 8, 4)


def test_brightness_of_rows_with_something_at_their_end() -> None:
    assert brightness(bytes([0, 51, 255, 102]), 2, 2, video.GREY).tolist() == [[0, 0.2], [1, 0.4]]
    assert brightness(bytes([51, 9, 102, 9]), 2, 1, video.YUYV).tolist() == [[0.2, 0.4]]
    assert brightness(bytes([51, 9, 9, 102, 9, 9]), 1, 2, video.GREY, 3).tolist() == [[0.2], [0.4]]
    with pytest.raises(InputError, match="/dev/nothing: cannot open the camera"):
        VideoDevice("/dev/nothing", 640, 480)
