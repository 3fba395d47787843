"""Real cameras: pictures of a folder or of a device, and where a target of known size is.

A camera sees a region of known area: where its centroid is, how far away by the pixels that it
covers (`depth_from_area`), and how it is turned about the optical axis by its second moments.
Devices are those of Video4Linux 2 that can be read; they give gray or YUYV pictures.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import is_there
from linkwright.base.rotations import exponential
from linkwright.blocks import checked, checked_all
from linkwright.elements.camera_calibration import PixelScale, depth_from_area
from linkwright.elements.camera_regions import PictureRegion, find_regions
from linkwright.elements.picture_processing import adaptive_threshold, read_picture, threshold
from linkwright.server.sensors import SensorNode, Sight, sensor

Array = NDArray[np.float64]
ENDINGS = (".pgm", ".ppm", ".png")
_PIXEL = 0.5  # of the centroid's error
S_FMT, CAPTURE, READ = 0xC0D05605, 1, 0x01000000  # VIDIOC_S_FMT; of linux/videodev2.h
QUERYCAP = 0x80685600  # VIDIOC_QUERYCAP
GREY, YUYV = (int.from_bytes(word, "little") for word in (b"GREY", b"YUYV"))


class PictureFolder:
    """The pictures of a folder, by name: the first at time zero, and one after each period.

    Args:
        folder: where they lie.
        rate: pictures in a second.
    """

    def __init__(self, folder: str | os.PathLike[str], rate: float) -> None:
        self.folder, self.rate = Path(folder), rate
        self.files = sorted(p for p in self.folder.iterdir() if p.suffix.lower() in ENDINGS)
        if not self.files:
            raise InputError(
                "there are no pictures here",
                file=self.folder,
                remedy="put .pgm or .png files there",
            )

    def __call__(self, seconds: float) -> Array | None:
        """Return the picture of a time; None after the last."""
        k = math.floor(seconds * self.rate + 1e-6)
        return read_picture(self.files[k]) if 0 <= k < len(self.files) else None


class VideoDevice:
    """A camera of Video4Linux 2 that is read picture by picture.

    Args:
        path: such as "/dev/video0".
        width: of its pictures, pixels.
        height: likewise.
    """

    def __init__(self, path: str, width: int, height: int) -> None:
        import fcntl

        try:
            self._file = os.open(path, os.O_RDWR)
        except OSError as error:
            raise InputError(f"cannot open the camera: {error.strerror}", file=path) from None
        found = bytearray(104)
        try:
            fcntl.ioctl(self._file, QUERYCAP, found)
            if not struct.unpack_from("<I", found, 88)[0] & READ:
                raise InputError(
                    "the camera gives no pictures by read()",
                    file=path,
                    remedy="copy its pictures to a folder, as with ffmpeg",
                )
            kept = bytearray(picture_format(width, height, GREY))
            fcntl.ioctl(self._file, S_FMT, kept)
            self.width, self.height, self.kind = struct.unpack_from("<III", kept, 8)
            if self.kind not in (GREY, YUYV):
                raise InputError("the camera gives neither gray nor YUYV pictures", file=path)
        except OSError as error:
            os.close(self._file)
            raise InputError(f"this is not a camera: {error.strerror}", file=path) from None
        except InputError:
            os.close(self._file)
            raise

    def __call__(self, seconds: float) -> Array | None:
        """Return the next picture."""
        del seconds
        size = self.width * self.height * (1 if self.kind == GREY else 2)
        data = os.read(self._file, size)
        return brightness(data, self.width, self.height, self.kind) if len(data) == size else None

    def close(self) -> None:
        """Give it back."""
        os.close(self._file)


def picture_format(width: int, height: int, kind: int) -> bytes:
    """Return struct v4l2_format of a picture: 208 bytes."""
    return struct.pack("<II4I", CAPTURE, 0, width, height, kind, 1).ljust(208, b"\0")


def brightness(data: bytes, width: int, height: int, kind: int) -> Array:
    """Return the brightness from 0 to 1 of the bytes of a gray or YUYV picture.

    >>> brightness(bytes([0, 128, 255, 128]), 2, 1, YUYV).tolist()
    [[0.0, 1.0]]
    """
    rows = np.frombuffer(data, np.uint8)[:: 1 if kind == GREY else 2]
    return np.asarray(rows.reshape(height, width) / 255.0)


def target_pose(
    region: PictureRegion, area: float, focal: Sequence[float], middle: Sequence[float]
) -> tuple[float, ...]:
    """Return the pose of a flat target, square to the axis: x right, y down, z away, and its turn.

    Units: `focal` in pixels.

    >>> disc = PictureRegion(1600.0, 420.0, 240.0, (1.0, 0.0, 2.0), (0, 0, 0, 0), False)
    >>> [round(x, 3) for x in target_pose(disc, 0.01, (800, 800), (320, 240))]
    [0.25, 0.0, 2.0, 0.707, 0.0, 0.0, 0.707]
    """
    depth = depth_from_area(area, region.area, PixelScale(1 / focal[0], 1 / focal[1]))
    uu, uv, vv = region.variance
    a, b = 1 / focal[0], 1 / focal[1]
    angle = 0.5 * math.atan2(2 * a * b * uv, a * a * uu - b * b * vv)
    x, y = depth * (region.u - middle[0]) * a, depth * (region.v - middle[1]) * b
    w, i, j, k = exponential(np.array([0.0, 0.0, angle]))
    return (x, y, depth, float(w), float(i), float(j), float(k))


def picture_camera(
    source: str | os.PathLike[str] | Callable[[float], Array | None],
    *,
    area: float,
    focal: Sequence[float],
    rate: float = 60.0,
    name: str = "camera",
    label: str = "",
    level: float | None = None,
    window: int | None = None,
    dark: bool = False,
    least: float = 20.0,
    size: tuple[int, int] = (640, 480),
) -> SensorNode:
    """Make a camera of real pictures, which speaks in the frame of its own name.

    It sees the largest region that is not cut off by the picture's edge.

    Args:
        source: a folder of pictures, in the order of their names; a device such as "/dev/video0";
            or a function of seconds that gives brightness, or None.
        area: of the target, m^2.
        focal: focal lengths, pixels, along u and v.
        rate: pictures in a second.
        name: of the node, and of its frame.
        label: of what it sees.
        level: of brightness from 0 to 1; by default the best of each picture.
        window: compare with the mean around each pixel instead: the width of that square.
        dark: whether the target is darker than what is around it.
        least: pixels of the smallest region that counts.
        size: of a device's pictures.

    >>> field = np.zeros((100, 100))
    >>> field[40:60, 55:75] = 1.0
    >>> eye = picture_camera(lambda t: field, area=0.01, focal=(200, 200), label="part")
    >>> [round(x, 3) for x in eye.seen(0)[0].value[:3]]
    [0.075, 0.0, 1.0]
    """
    checked(area, "area", above=0)
    f = checked_all(focal, "focal lengths", count=2)
    if min(f) <= 0:
        raise InputError("focal lengths are above 0", remedy="give pixels, such as (800, 800)")
    look: Callable[[float], Array | None]
    if callable(source):
        look = source
    elif Path(source).is_dir():
        look = PictureFolder(source, rate)
    elif is_there(str(source)):
        look = VideoDevice(str(source), *size)
    else:
        raise InputError("there is no such folder or camera", file=str(source))

    def seen(seconds: float) -> Sight | None:
        picture = look(seconds)
        if picture is None:
            return None
        if window is not None:
            binary = adaptive_threshold(picture, window, dark=dark)
        else:
            binary = threshold(picture, level, dark=dark)
        whole = [r for r in find_regions(binary, least=least) if not r.cut]
        if not whole:
            return None
        middle = (picture.shape[1] / 2, picture.shape[0] / 2)
        pose = target_pose(whole[0], area, f, middle)
        depth, count = pose[2], whole[0].area
        across = depth * _PIXEL / min(f)
        along = depth * _PIXEL / math.sqrt(count)
        turn = 1 / math.sqrt(count)
        return Sight(pose, (across**2, across**2, along**2, 0.04, 0.04, turn**2))

    return sensor(seen, rate, name=name, label=label, frame=name)
