"""Calibrated cameras: what they see of a point, and the point of what several see.

A camera at the position c, whose axes are the columns of R, sees the point x of the frame of vision
at u = u0 + f X / Z with (X, Y, Z) = R' (x - c), and at v likewise. Each picture gives two equations
that are linear in x; those of all cameras that see it are solved by least squares (the linear
method of Hartley and Sturm 1997, Triangulation), in lengths over the focal length.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, where
from linkwright.algebra.triples import dot
from linkwright.base.errors import InputError
from linkwright.blocks import Block, checked
from linkwright.elements.camera_targets import pictured
from linkwright.formats.robot.transforms import euler_rotation, transposed
from linkwright.lab.config import Camera, LabConfig
from linkwright.lab.servos.columns import is_number

APART, AWAY = 0.4, 2.0
"""m, between cameras that nobody has placed, and from the robot."""


def cameras_of(config: LabConfig) -> tuple[Camera, ...]:
    """Return the cameras of a laboratory.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> lab = LabConfig("arm", Description("arm", (Link("base"),), ()), ())
    >>> [camera.position for camera in cameras_of(lab)]
    [(-0.2, 2.0, 0.0), (0.2, 2.0, 0.0)]
    """
    vision = config.vision
    if vision.eyes:
        if len(vision.eyes) != vision.cameras:
            raise InputError(
                f"{config.name!r} has {vision.cameras} cameras, and {len(vision.eyes)} are placed",
                remedy="place each of them, or none",
            )
        eyes = vision.eyes
    else:
        middle = (vision.cameras - 1) / 2
        eyes = tuple(Camera((APART * (i - middle), AWAY, 0.0)) for i in range(vision.cameras))
    if len(eyes) == 1:
        raise InputError(
            "one camera does not determine how far a blob is", remedy="use two or more cameras"
        )
    return eyes


def seen_by(camera: Camera, point: Sequence[Expr]) -> tuple[Expr, Expr, Expr]:
    """Return where a camera sees a point, in pixels, and how far before it that is, m.

    Units: `point` in m.
    """
    rows = transposed(euler_rotation(camera.a))
    away = [x - c for x, c in zip(point, camera.position, strict=True)]
    across, up, depth = (dot(row, away) for row in rows)
    return *pictured(camera.focal, camera.center, across, up, depth), depth


def triangulated(
    block: Block,
    cameras: Sequence[Camera],
    pixels: Sequence[tuple[Expr, Expr]],
    visible: Sequence[Expr],
) -> tuple[list[Expr], Expr, list[list[Expr]]]:
    """Return the point that cameras see, in the frame of vision, and whether it is known.

    The third result is the covariance of its error for pictures with a deviation of one pixel:
    with the rows r of the least squares, and d the depth over the focal length of each,
    (sum r r')^-1 (sum d^2 r r') (sum r r')^-1.
    """
    hold = block.intermediate
    sums: dict[tuple[int, int], Expr] = {}
    seen: list[tuple[list[Expr], list[Expr], Expr, Expr]] = []
    """Of each row: it, the axis of the view, where that begins, the focal length."""
    right: list[Expr] = [block.expr(0)] * 3
    count = block.expr(0)
    for camera, (u, v), sees in zip(cameras, pixels, visible, strict=True):
        counts = hold(where(sees, 1, 0) * where(is_number(u) & is_number(v), 1, 0))
        count = count + counts
        rows = transposed(euler_rotation(camera.a))
        for pixel, center, focal, axis in (
            (u, camera.center[0], camera.focal[0], rows[0]),
            (v, camera.center[1], camera.focal[1], rows[1]),
        ):
            slope = hold(where(counts, (pixel - center) / focal, 0))
            row = [hold(counts * (slope * z - x)) for x, z in zip(axis, rows[2], strict=True)]
            at = hold(dot(camera.position, row))
            deep = [block.expr(x) for x in rows[2]]
            seen.append((row, deep, hold(dot(camera.position, deep)), block.expr(focal)))
            for i in range(3):
                right[i] = right[i] + row[i] * at
                for j in range(i, 3):
                    sums[i, j] = sums.get((i, j), block.expr(0)) + row[i] * row[j]
    a, b, c, d, e, f = (hold(sums[key]) for key in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    x, y, z = (hold(value) for value in right)
    # the adjugate of the symmetric matrix, and its determinant
    aa, ab, ac = hold(d * f - e * e), hold(c * e - b * f), hold(b * e - c * d)
    bb, bc, cc = hold(a * f - c * c), hold(b * c - a * e), hold(a * d - b * b)
    size = hold(a * aa + b * ab + c * ac)
    known = hold((count > 1) & (size > 1e-12))
    share = hold(1 / where(known, size, 1))
    found = [
        hold(share * (aa * x + ab * y + ac * z)),
        hold(share * (ab * x + bb * y + bc * z)),
        hold(share * (ac * x + bc * y + cc * z)),
    ]
    point = [hold(x) for x in found]
    spread: list[list[Expr]] = [[block.expr(0)] * 3 for _ in range(3)]
    inverse = [[aa, ab, ac], [ab, bb, bc], [ac, bc, cc]]
    for row, deep, begins, focal_length in seen:
        depth = hold((dot(deep, point) - begins) / focal_length)
        lever = [hold(share * depth * dot(line, row)) for line in inverse]
        spread = [[spread[i][j] + lever[i] * lever[j] for j in range(3)] for i in range(3)]
    return point, known, spread


class SimulatedCameras(Block):
    """Pictures of blobs whose places are known, with noise, delay and occlusion.

    Inputs are `NAME_x`, where each blob really is in the robot's frame; `occluded`, for each blob
    and camera not zero where something hides it; and `noise`, the deviation of a picture in
    pixels. Outputs are `pixels`, for each blob and camera the two of its center, `visible`, and
    `stamp`, the time at which the picture was taken; all after the delay. What lies behind a camera
    or beside its picture is not visible. Noise depends on the seed of the run.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import VisionConfig
    >>> eyes = VisionConfig(blobs=("blob1",))
    >>> lab = LabConfig("arm", Description("arm", (Link("base"),), ()), (), vision=eyes)
    >>> SimulatedCameras(lab)
    SimulatedCameras(cameras: blob1_x, occluded, noise -> pixels, visible, stamp)
    """

    needs_rate = True
    """It takes pictures at instants."""

    def __init__(self, config: LabConfig, name: str = "cameras", *, hidden: bool = False) -> None:
        super().__init__(name, doc="simulated cameras")
        vision, hold = config.vision, self.intermediate
        eyes, blobs = cameras_of(config), vision.blobs
        turn = transposed(euler_rotation(vision.a))
        places = {blob: self.input_vector(f"{blob}_x", 3, unit="m") for blob in blobs}
        occluded = self.input_vector(
            "occluded", len(blobs) * len(eyes), float(hidden), doc="by blob and camera"
        )
        noise = self.input("noise", checked(vision.noise, "noise of cameras", least=0))
        ticks = round(checked(vision.delay, "delay of cameras", least=0) * config.vision_rate)
        pixels, visible = [], []
        for i, (blob, place) in enumerate(places.items()):
            away = [x - c for x, c in zip(place, vision.position, strict=True)]
            point = [hold(dot(row, away)) for row in turn]
            for k, camera in enumerate(eyes):
                *found, depth = (hold(x) for x in seen_by(camera, point))
                inside = depth > 0
                for axis, (pixel, size) in enumerate(zip(found, camera.size, strict=True)):
                    rough = hold(pixel + noise * self.noise(f"noise_{blob}_{k}_{axis}"))
                    inside = inside & (rough >= 0) & (rough <= size)
                    pixels.append(rough)
                covered = occluded[i * len(eyes) + k]
                visible.append(where(inside & ~where(covered, 1, 0), 1, 0))
        stamp: Expr = self.time
        if ticks:
            pixels = [self.delay(x, ticks, name=f"late{i}") for i, x in enumerate(pixels)]
            visible = [self.delay(x, ticks, name=f"lately{i}") for i, x in enumerate(visible)]
            stamp = self.delay(stamp, ticks, -1.0, name="stamped")
        self.output_vector("pixels", pixels, doc="by blob, camera and axis")
        self.output_vector("visible", visible, doc="by blob and camera")
        self.output("stamp", stamp, unit="s", doc="when the picture was taken")
