"""Image-based control of points: each of them goes to its place in the picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwright.algebra import Expr
from linkwright.blocks import BlockError, Location, checked, checked_all
from linkwright.control.visual_interaction import point_interaction
from linkwright.control.visual_joints import UNTURNED, ImageLaw


class ImagePoints(ImageLaw):
    """Control of points in the picture of a camera that joints move, with their interaction matrix.

    Inputs: `u` and `v`, where the points are seen (pixels); `depth`, how far each is along the
    camera's axis (m; that of the argument where nothing is connected); `wanted_u`, `wanted_v`;
    `seen` and `field` as those of `VisualCompensator`. Outputs: `command` and `command_rate` for
    each joint, `twist` of the camera, `distance` of all errors, `missed`, `lost`.

    Four points that lie on no circle with the camera fix all six directions; the depth only has to
    be about right.

    Args:
        mechanism: what is driven.
        at: where the camera sits: a point, a body for its origin, or a name.
        wanted: where the points should be in the picture: u and v of each, pixels.
        depth: of the points along the camera's axis, about, m.
        joints: names of the coordinates; by default all that move the camera.
        rotation: rows of the matrix from the camera's axes to those of where it sits.
        focal: of the camera, pixels along u and v.
        center: where its axis meets the picture, pixels.
        pixels: width and height of the picture, in which goals must lie; twice the center by
            default.
        gain: how fast errors die out, 1/s; less than 1 over the time of all delays together.
        damping: of the least squares, as a slope for a unit of the joints.
        patience: instants for which rates are held where nothing is seen.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> hand = m.body("hand", translate="xyz", mass=1)
    >>> law = ImagePoints(m, hand, [(200, 256), (312, 256)], depth=1.0)
    >>> list(law.outputs)[:3]
    ['command', 'command_rate', 'twist']
    """

    def __init__(
        self,
        mechanism: Any,
        at: Location,
        wanted: Sequence[Sequence[float]],
        *,
        depth: float,
        joints: Iterable[str] | None = None,
        rotation: Sequence[Sequence[float]] = UNTURNED,
        focal: Sequence[float] = (600.0, 600.0),
        center: Sequence[float] = (256.0, 256.0),
        pixels: Sequence[float] | None = None,
        gain: float = 1.0,
        damping: float = 1e-3,
        patience: float = 30.0,
        name: str = "image_points",
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
        given: object = wanted
        if not isinstance(given, Sequence | np.ndarray) or not len(given):
            raise BlockError(
                f"wanted of {name!r} is {wanted!r}", remedy="give (u, v) of each point"
            )
        goals = [checked_all(p, f"wanted of {name!r}", count=2) for p in wanted]
        for goal in goals:
            self.check_goal(*goal)
        n = len(goals)
        about = checked(depth, f"depth of {name!r}", above=0)
        us = self.input_vector("u", n, unit="1", doc="points, pixels")
        vs = self.input_vector("v", n, unit="1", doc="points, pixels")
        length = "m"
        far = self.input_vector("depth", n, about, unit=length, doc="of the points")
        goal_u = self.input_vector("wanted_u", n, [p[0] for p in goals], unit="1")
        goal_v = self.input_vector("wanted_v", n, [p[1] for p in goals], unit="1")
        errors: list[Expr] = []
        rows: list[Sequence[Expr]] = []
        for u, v, z, to_u, to_v in zip(us, vs, far, goal_u, goal_v, strict=True):
            x, y = self.slopes(u, v)
            wanted_x, wanted_y = self.slopes(to_u, to_v)
            errors += [self.intermediate(x - wanted_x), self.intermediate(y - wanted_y)]
            rows += point_interaction(x, y, z)
        self.close(errors, rows)
