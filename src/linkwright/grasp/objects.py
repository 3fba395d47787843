"""What is grasped: triangles with normals, from a box, a cylinder or a mesh file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.formats.meshes.files import read_mesh
from linkwright.formats.meshes.solids import hull, mesh_mass

__all__ = ["GraspObject", "grasp_object"]

Array = NDArray[np.float64]
Triangles = NDArray[np.int64]
SIDES = 64
"""Sides of the prism that a cylinder counts as."""
MOST = 200_000
"""Triangles of a mesh on which grasps are planned."""
_KINDS = {"box": ("length", "width", "height"), "cylinder": ("radius", "height")}


@dataclass(frozen=True, slots=True, eq=False)
class GraspObject:
    """The surface of an object.

    Args:
        points: corners of its triangles, m.
        faces: triangles, three numbers of points each, counterclockwise from outside.
        center: its mass center, m.
        name: of it.

    >>> GraspObject.box((0.2, 0.1, 0.1))
    GraspObject('box', 12 triangles)
    """

    points: Array
    faces: Triangles
    center: tuple[float, float, float]
    name: str = "object"

    def __repr__(self) -> str:
        return f"GraspObject({self.name!r}, {len(self.faces)} triangles)"

    @classmethod
    def of(cls, points: ArrayLike, faces: ArrayLike, name: str = "object") -> GraspObject:
        """Return the object of a closed surface.

        Args:
            points: corners of its triangles, m.
            faces: triangles; all counterclockwise from outside, or all from inside.
            name: of it.
        """
        p, f = np.asarray(points, dtype=float), np.asarray(faces, dtype=np.int64)
        a, b, c = (p[f[:, k]] for k in range(3))
        doubled = np.cross(b - a, c - a)
        keep = np.linalg.norm(doubled, axis=1) > 0
        f, doubled = f[keep], doubled[keep]
        if len(f) == 0:
            raise InputError(f"{name} has no surface", remedy="give a closed mesh")
        if np.einsum("ij,ij->i", p[f[:, 0]], doubled).sum() < 0:
            f = f[:, ::-1]
        mass = mesh_mass(p, f, "exact")
        if mass is None:
            raise InputError(f"{name} has no volume", remedy="give a closed mesh")
        return cls(p, f, mass.center, name)

    @classmethod
    def box(cls, size: ArrayLike) -> GraspObject:
        """Return a box about the origin.

        Args:
            size: its edges along x, y and z, m.
        """
        half = np.asarray(size, dtype=float) / 2
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
        return cls.of(corners, hull(corners), "box")

    @classmethod
    def cylinder(cls, radius: float, height: float) -> GraspObject:
        """Return a cylinder about the z axis, as a prism of 64 sides.

        Args:
            radius: m.
            height: m.
        """
        angle = 2 * np.pi * np.arange(SIDES) / SIDES
        ring = radius * np.column_stack([np.cos(angle), np.sin(angle)])
        ends = [np.column_stack([ring, np.full(SIDES, z)]) for z in (-height / 2, height / 2)]
        points = np.concatenate(ends)
        return cls.of(points, hull(points), "cylinder")

    @property
    def normals(self) -> Array:
        """Normals of the triangles, into the object, of length one."""
        a, b, c = (self.points[self.faces[:, k]] for k in range(3))
        doubled = np.cross(b - a, c - a)
        return np.asarray(-doubled / np.linalg.norm(doubled, axis=1, keepdims=True))

    @property
    def reach(self) -> float:
        """The farthest point from the mass center, m: by it moments are divided."""
        used = self.points[np.unique(self.faces)]
        return float(np.linalg.norm(used - self.center, axis=1).max())

    def sample(self, count: int, seed: int) -> tuple[Array, Triangles]:
        """Return points spread evenly over the surface, and their triangles.

        Args:
            count: how many.
            seed: of what is random.
        """
        rng = np.random.default_rng(seed)
        a, b, c = (self.points[self.faces[:, k]] for k in range(3))
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        face = rng.choice(len(area), count, p=area / area.sum())
        u, v = rng.random((2, count, 1))
        u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
        return a[face] + u * (b - a)[face] + v * (c - a)[face], face

    def opposite(self, at: Array, along: Array, face: int) -> tuple[Array, int] | None:
        """Return where a ray through the object leaves it for the last time, and which triangle.

        Args:
            at: where it begins, on triangle `face`, m.
            along: its direction.
            face: the triangle that it begins on.
        """
        a, b, c = (self.points[self.faces[:, k]] for k in range(3))
        first, second = b - a, c - a
        across = np.cross(along, second)
        size = np.einsum("ij,ij->i", first, across)
        with np.errstate(divide="ignore", invalid="ignore"):
            back = at - a
            u = np.einsum("ij,ij->i", back, across) / size
            turned = np.cross(back, first)
            v = turned @ along / size
            way = np.einsum("ij,ij->i", second, turned) / size
            hit = (u > -1e-12) & (v > -1e-12) & (u + v < 1 + 1e-12) & (way > 1e-9)
        hit[face] = False
        if not hit.any():
            return None
        k = int(np.flatnonzero(hit)[np.argmax(way[hit])])
        return at + way[k] * along, k


def grasp_object(given: str | Path) -> GraspObject:
    """Return an object of a mesh file, or of words: "box:0.2,0.1,0.1", "cylinder:30mm,12cm".

    Args:
        given: a file that ends in .stl, .obj or .msh, in m; or a kind with its sizes.

    >>> grasp_object("cylinder:30mm,0.12")
    GraspObject('cylinder', 252 triangles)
    """
    kind, colon, sizes = str(given).partition(":")
    if colon and kind in _KINDS:
        names = _KINDS[kind]
        words = [word.strip() for word in sizes.split(",")]
        if len(words) != len(names):
            raise InputError(
                f"{brief(str(given))} has {len(words)} sizes",
                remedy=f"give {', '.join(names)}: {kind}:{','.join(['0.1'] * len(names))}",
            )
        values = [
            _positive(word, f"the {name} of the {kind}")
            for word, name in zip(words, names, strict=True)
        ]
        return GraspObject.box(values) if kind == "box" else GraspObject.cylinder(*values)
    path = Path(given)
    if not path.suffix:
        raise InputError(
            f"{brief(str(given))} is not an object",
            remedy="give a mesh (.stl, .obj, .msh), box:LENGTH,WIDTH,HEIGHT or "
            "cylinder:RADIUS,HEIGHT",
        )
    points, faces = read_mesh(path)
    if len(faces) > MOST:
        raise InputError(
            f"{len(faces)} triangles are too many, {MOST} are the most",
            file=path,
            remedy="simplify the mesh",
        )
    try:
        return GraspObject.of(points, faces, path.stem)
    except InputError as error:
        raise InputError(error.what, file=path, remedy=error.remedy or "") from None


def _positive(word: str, what: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = amount(word, what, "m")
    if not 0 < value < 1e6:
        raise InputError(f"{what} is {brief(word)}", remedy="give a length above 0, m")
    return value
