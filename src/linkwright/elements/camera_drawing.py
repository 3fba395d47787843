"""Binary pictures of what a camera sees: whole, in fields, and woven of two fields.

A pixel is set where its middle is in the picture of a target. Two fields of a target that moves,
taken one after the other, do not fit each other: woven into one picture, they make a comb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.elements.camera import PinholeCamera

Picture = NDArray[np.bool_]
_NEAR = 1e-6
"""m before the camera, where what reaches behind it is cut off."""
_ROUND = 256


class PictureMaker:
    """Draws what a camera sees of its targets, from its output `outline`.

    Args:
        camera: whose pictures they are.

    >>> from linkwright import Mechanism
    >>> from linkwright.elements import DiscTarget
    >>> m = Mechanism("m")
    >>> eye = PinholeCamera(m, "n", [DiscTarget(0.1)], focal=(100, 100), pixels=(40, 30))
    >>> ahead = [0.1, 0, 0, 0, 0.1, 0, 0, 0, 1.0]  # square to the axis, 1 m away
    >>> PictureMaker(eye).frame(ahead).sum(), PictureMaker(eye).field(ahead, 0).shape
    (np.int64(316), (15, 40))
    """

    def __init__(self, camera: PinholeCamera) -> None:
        values = {name: p.value for name, p in camera.parameters.items()}
        self.focal = np.array([values["focal_u"], values["focal_v"]])
        self.center = np.array([values["center_u"], values["center_v"]])
        self.width, self.height = (round(values[f"pixels_{c}"]) for c in "uv")
        self.shapes = tuple(target.corners() for target in camera.targets)

    def __repr__(self) -> str:
        return f"<PictureMaker of {len(self.shapes)} targets, {self.width}×{self.height} pixels>"

    def frame(self, outline: ArrayLike) -> Picture:
        """Return a whole picture.

        Args:
            outline: nine numbers for each target, as the camera puts them out; or a row of them
                for each of several instants of an exposure, of which a pixel needs half.
        """
        return self._drawn(outline, np.arange(self.height) + 0.5)

    def field(self, outline: ArrayLike, parity: int) -> Picture:
        """Return the lines of a field.

        Args:
            outline: as for `frame`.
            parity: 0 for even lines, 1 for odd ones.
        """
        return self._drawn(outline, np.arange(int(parity) % 2, self.height, 2) + 0.5)

    def woven(self, even: ArrayLike, odd: ArrayLike) -> Picture:
        """Return a picture of two fields: even lines of one instant, odd lines of another.

        Args:
            even: the outline of the even lines.
            odd: that of the odd ones.
        """
        made = np.zeros((self.height, self.width), dtype=np.bool_)
        made[::2], made[1::2] = self.field(even, 0), self.field(odd, 1)
        return made

    def _drawn(self, outline: ArrayLike, lines: NDArray[np.floating[Any]]) -> Picture:
        given = np.asarray(outline, dtype=float)
        count = 9 * len(self.shapes)
        if given.ndim not in (1, 2) or given.shape[-1] != count or not np.isfinite(given).all():
            raise InputError(
                f"an outline has the shape {given.shape}",
                remedy=f"give the {count} finite numbers of the camera's output `outline`",
            )
        if given.ndim == 2:
            share = np.mean([self._drawn(row, lines) for row in given], axis=0)
            return np.asarray(share >= 0.5)
        made = np.zeros((len(lines), self.width), dtype=np.bool_)
        for numbers, corners in zip(given.reshape(-1, 3, 3), self.shapes, strict=True):
            self._draw(made, lines, numbers.T, corners)
        return made

    def _draw(
        self,
        made: Picture,
        lines: NDArray[np.floating[Any]],
        H: NDArray[np.floating[Any]],
        corners: Sequence[tuple[float, float]],
    ) -> None:
        whole = H[2, 2] ** 2 - H[2, 0] ** 2 - H[2, 1] ** 2
        if not corners and whole > 0 and H[2, 2] > _NEAR:
            self._ellipse(made, lines, H, whole)
            return
        plane = np.array(corners)
        if not corners:
            phi = np.linspace(0, 2 * np.pi, _ROUND, endpoint=False)
            plane = np.column_stack([np.cos(phi), np.sin(phi)])
        points = _in_front(np.column_stack([plane, np.ones(len(plane))]) @ H.T)
        if len(points) > 2:
            self._polygon(made, lines, self.center + self.focal * points[:, :2] / points[:, 2:])

    def _ellipse(
        self,
        made: Picture,
        lines: NDArray[np.floating[Any]],
        H: NDArray[np.floating[Any]],
        whole: float,
    ) -> None:
        dual = H @ np.diag([1.0, 1.0, -1.0]) @ H.T / whole
        middle = -dual[:2, 2]
        shape = (dual[:2, :2] + np.outer(middle, middle)) * np.outer(self.focal, self.focal)
        u, v = self.center + self.focal * middle
        if shape[1, 1] <= 0:
            return
        away = lines - v
        inside = np.flatnonzero(away**2 <= shape[1, 1])
        tilt = shape[0, 1] / shape[1, 1]
        left = max(shape[0, 0] - tilt * shape[0, 1], 0.0)
        half = np.sqrt(left * np.maximum(1 - away[inside] ** 2 / shape[1, 1], 0))
        at = u + tilt * away[inside]
        columns = np.arange(self.width) + 0.5
        lowest, highest = (
            float(np.min(at - half, initial=np.inf)),
            float(np.max(at + half, initial=-np.inf)),
        )
        box = slice(max(int(lowest), 0), max(min(int(highest) + 1, self.width), 0))
        within = np.abs(columns[None, box] - at[:, None]) <= half[:, None]
        made[inside, box] |= within

    def _polygon(
        self, made: Picture, lines: NDArray[np.floating[Any]], points: NDArray[np.floating[Any]]
    ) -> None:
        turns = np.zeros((len(lines), self.width + 1), dtype=np.int64)
        for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, axis=0), strict=True):
            rows = np.flatnonzero((lines >= min(y0, y1)) & (lines < max(y0, y1)))
            at = x0 + (lines[rows] - y0) * ((x1 - x0) / (y1 - y0 if y1 != y0 else 1.0))
            np.add.at(turns, (rows, np.clip(np.ceil(at - 0.5), 0, self.width).astype(np.int64)), 1)
        made |= (np.cumsum(turns, axis=1)[:, :-1] % 2).astype(np.bool_)


def _in_front(points: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return a polygon without what is behind the camera (Sutherland and Hodgman 1974)."""
    kept = []
    for p, q in zip(points, np.roll(points, -1, axis=0), strict=True):
        if p[2] > _NEAR:
            kept.append(p)
        if (p[2] > _NEAR) != (q[2] > _NEAR):
            kept.append(p + (q - p) * (_NEAR - p[2]) / (q[2] - p[2]))
    return np.array(kept)
