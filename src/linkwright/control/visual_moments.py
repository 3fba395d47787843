"""Image-based control of a region: centroid and area go to where they should be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linkwright.algebra import ZERO, Expr, maximum, sqrt
from linkwright.blocks import Location, checked, checked_all
from linkwright.control.visual_interaction import place_interaction
from linkwright.control.visual_joints import UNTURNED, ImageLaw


class ImageMoments(ImageLaw):
    """Control of a region of known area in the picture of a camera that joints move.

    The region's place, x u, y u and u with the depth u = sqrt(A/(N Kx Ky)) from its area, goes to
    where it should be; the plane of the region is taken to be square to the camera's axis. Inputs:
    `u`, `v`, `area` (pixels) and `variance` (3; pixels^2) of the region; `wanted` (3: u and v in
    pixels, distance in m); `seen` and `field` as those of `VisualCompensator`. Outputs: `command`
    and `command_rate` for each joint, `twist` of the camera, `depth` (m), `distance` of all errors
    (m), `missed`, `lost`.

    Args:
        mechanism: what is driven.
        at: where the camera sits: a point, a body for its origin, or a name.
        area: of what is seen, m^2.
        wanted: where it should be seen: u and v, pixels, and how far away, m.
        joints: names of the coordinates; by default all that move the camera.
        rotation: rows of the matrix from the camera's axes to those of where it sits.
        focal: of the camera, pixels along u and v: 1/Kx and 1/Ky.
        center: where its axis meets the picture, pixels.
        pixels: width and height of the picture, in which goals must lie; twice the center by
            default.
        gain: how fast errors die out, 1/s; less than 1 over the time of all delays together.
        damping: of the least squares, m for a unit of the joints.
        patience: instants for which rates are held where nothing is seen.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> hand = m.body("hand", translate="xyz", mass=1)
    >>> law = ImageMoments(m, hand, area=0.01, wanted=(256, 256, 0.5))
    >>> law.inputs["wanted"].shape
    (3,)
    """

    def __init__(
        self,
        mechanism: Any,
        at: Location,
        *,
        area: float,
        wanted: Sequence[float],
        joints: Iterable[str] | None = None,
        rotation: Sequence[Sequence[float]] = UNTURNED,
        focal: Sequence[float] = (600.0, 600.0),
        center: Sequence[float] = (256.0, 256.0),
        pixels: Sequence[float] | None = None,
        gain: float = 1.0,
        damping: float = 1e-3,
        patience: float = 30.0,
        name: str = "image_moments",
    ) -> None:
        super().__init__(
            name,
            mechanism,
            at,
            joints,
            rotation=rotation,
            focal=focal,
            center=center,
            pixels=pixels,
            gain=gain,
            damping=damping,
            patience=patience,
        )
        length = "m"
        checked(area, f"area of {name!r}", above=0)
        goal = checked_all(wanted, f"wanted of {name!r}", count=3)
        checked(goal[2], f"wanted distance of {name!r}", above=0)
        self.check_goal(goal[0], goal[1])
        true_area = self.parameter("true_area", area, unit=f"{length}^2", sign="positive")
        u, v = self.input("u", unit="1"), self.input("v", unit="1")
        covered = self.input("area", 1.0, unit="1", doc="pixels")
        spread = self.input_vector("variance", 3, unit="1", doc="pixels^2")
        to_u, to_v, far = self.input_vector("wanted", 3, goal, doc="u, v, distance")
        (fx, fy), hold = self._lens, self.intermediate
        x, y = self.slopes(u, v)
        depth = hold(sqrt(true_area * fx * fy / maximum(covered, 1e-9)))
        variance = [hold(s / k) for s, k in zip(spread, (fx**2, fx * fy, fy**2), strict=True)]
        flat: list[Expr] = [ZERO, ZERO, hold(1 / depth)]
        wanted_x, wanted_y = self.slopes(to_u, to_v)
        errors = [
            hold(x * depth - wanted_x * far),
            hold(y * depth - wanted_y * far),
            hold(depth - far),
        ]
        self.output("depth", depth, unit=length, doc="of the region, from its area")
        self.close(errors, place_interaction(x, y, depth, variance, flat))
