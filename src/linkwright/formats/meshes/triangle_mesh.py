"""Triangles of one color: what mesh files hold, and what scenes are drawn with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points = NDArray[np.float64]
Faces = NDArray[np.int64]
Color = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class TriangleMesh:
    """Triangles of one color."""

    points: Points
    faces: Faces
    color: Color | None = None

    def moved(self, rotation: ArrayLike, position: ArrayLike) -> TriangleMesh:
        """Return the surface turned, then shifted."""
        turned = self.points @ np.asarray(rotation, float).T + np.asarray(position, float)
        mirrored = np.linalg.det(np.asarray(rotation, float)) < 0
        return replace(self, points=turned, faces=self.faces[:, ::-1] if mirrored else self.faces)
