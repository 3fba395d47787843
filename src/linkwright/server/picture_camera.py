"""Real cameras: pictures of a folder or of a device, and where a target of known size is.

A camera sees a region of known area: where its centroid is, how far away by the pixels that it
covers (`depth_from_area`), and how it is turned about the optical axis by its second moments.
Devices are those of Video4Linux 2, which give gray or YUYV pictures.
"""

from __future__ import annotations

import math
import os
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
from linkwright.server.video_device import VideoDevice

Array = NDArray[np.float64]
ENDINGS = (".pgm", ".ppm", ".png")
_PIXEL = 0.5  # of the centroid's error


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
        whole = [r for r in find_regions(binary, min_area=least) if not r.cut]
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
