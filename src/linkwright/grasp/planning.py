"""Where to put two or three fingers, or more: candidates over the surface, judged by their quality.

Two fingers stand opposite each other: a ray from a point through the object, along the normal and
near it, whose ends have their normals within the friction cones (Nguyen 1988). More fingers are
drawn at random; those whose normals nearly balance are judged. The search has a fixed number of
candidates and a seed: it finds good grasps, and does not say that there are no better ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.grasp.contacts import FingerContact
from linkwright.grasp.grasps import Grasp
from linkwright.grasp.objects import GraspObject

__all__ = ["PlannedGrasps", "plan_grasps"]

Array = NDArray[np.float64]
_JUDGED = 60  # candidates whose quality is computed: the best by what is quick to tell
_APART = 0.05  # of the object's reach: fingers of a grasp, and grasps of a list, are so far apart


@dataclass(frozen=True, slots=True, eq=False)
class PlannedGrasps(Result):
    """Grasps of an object, the best first.

    Args:
        target: the object.
        grasps: those that were found, by falling quality.
        tried: candidates that were looked at.
        judged: those whose quality was computed.

    >>> plan_grasps(GraspObject.box((0.1, 0.1, 0.1)), samples=20, count=2)
    PlannedGrasps(2 of box, best quality 0.033)
    """

    target: GraspObject
    grasps: tuple[Grasp, ...]
    tried: int
    judged: int

    def __repr__(self) -> str:
        best = f", best quality {self.grasps[0].quality:.3g}" if self.grasps else ""
        return f"PlannedGrasps({len(self.grasps)} of {self.target.name}{best})"

    def as_dict(self) -> dict[str, Any]:
        """Return the grasps as plain data."""
        return {
            "object": self.target.name,
            "center_m": list(self.target.center),
            "tried": self.tried,
            "judged": self.judged,
            "grasps": [grasp.as_dict() for grasp in self.grasps],
        }


def plan_grasps(
    target: GraspObject,
    *,
    fingers: int = 2,
    friction: float = 0.5,
    torsion: float | None = None,
    opening: float = math.inf,
    count: int = 5,
    samples: int = 200,
    seed: int = 0,
) -> PlannedGrasps:
    """Return good grasps of an object.

    Args:
        target: the object.
        fingers: how many, 2 to 5.
        friction: coefficient of Coulomb's friction of each.
        torsion: moment about the normal by the normal force, m; by default that of a patch of
            a tenth of the object's reach with two fingers, and 0 with more.
        opening: greatest distance between two fingers, m.
        count: how many grasps at most.
        samples: points on the surface from which they start.
        seed: of what is random.

    >>> found = plan_grasps(GraspObject.box((0.2, 0.06, 0.06)), opening=0.1, samples=40)
    >>> found.grasps[0].closure
    'force'
    """
    if not 2 <= fingers <= 5:
        raise InputError(f"grasps of {fingers} fingers are not planned", remedy="take 2 to 5")
    if not (count > 0 and 0 < samples <= 100_000):
        raise InputError(
            f"{count} grasps from {samples} samples", remedy="take 1 or more, up to 100,000"
        )
    checked(friction, "the friction", least=0)
    if not opening > 0:
        raise InputError(f"an opening of {opening:g} m", remedy="give a length above 0, m")
    if torsion is None:
        torsion = 2 / 3 * friction * 0.1 * target.reach if fingers == 2 else 0.0
    given: dict[str, Any] = {"friction": friction, "torsion": torsion}
    points, faces = target.sample(samples, seed)
    draw = _pairs if fingers == 2 else _groups
    tried, found, cells = 0, [], set()
    cost, groups = [], []
    for badness, places, normals in draw(target, points, faces, friction, fingers, seed):
        tried += 1
        if _fit(places, opening, target.reach):
            cost.append(badness)
            groups.append((places, normals))
    for k in np.argsort(cost, kind="stable"):
        places, normals = groups[k]
        cell = frozenset(map(tuple, np.round(places / (3 * _APART * target.reach)).tolist()))
        if cell in cells:
            continue
        cells.add(cell)
        contacts = [
            FingerContact(tuple(p), tuple(n), **given)
            for p, n in zip(places.tolist(), normals.tolist(), strict=True)
        ]
        found.append(Grasp(contacts, target.center, target.reach))
        if len(found) == _JUDGED:
            break
    closed = sorted((g for g in found if g.closure != "none"), key=lambda g: -g.quality)
    return PlannedGrasps(target, tuple(_apart(closed, count, target.reach)), tried, len(found))


def _fit(places: Array, opening: float, reach: float) -> bool:
    """Say whether fingers are neither too far apart nor in each other's way."""
    spans = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(len(places), 1)]
    return bool(spans.max() <= opening and spans.min() >= _APART * reach)


def _pairs(
    target: GraspObject, points: Array, faces: NDArray[np.int64], friction: float, *_: int
) -> Iterator[tuple[float, Array, Array]]:
    """Yield two places with their normals, opposite each other within the friction cones.

    Those are better whose line is along both normals and passes near the mass center.
    """
    inward = target.normals
    half = math.atan(friction)
    for at, face in zip(points, faces.tolist(), strict=True):
        axes = FingerContact((0, 0, 0), tuple(inward[face].tolist())).axes
        for tilt, turn in ((0.0, 0.0), *((0.5 * half, k * math.pi / 2) for k in range(4))):
            around = math.cos(turn) * axes[:, 1] + math.sin(turn) * axes[:, 2]
            along = math.cos(tilt) * axes[:, 0] + math.sin(tilt) * around
            other = target.opposite(at, along, face)
            if other is None:
                continue
            there, k = other
            end = math.acos(float(np.clip(-along @ inward[k], -1, 1)))
            if end < half:
                beside = np.linalg.norm(np.cross(target.center - at, along)) / target.reach
                yield (
                    max(tilt, end) / half + float(beside),
                    np.array([at, there]),
                    inward[[face, k]],
                )


def _groups(
    target: GraspObject, points: Array, faces: NDArray[np.int64], friction: float,
    fingers: int, seed: int,
) -> Iterator[tuple[float, Array, Array]]:  # fmt: skip
    """Yield groups of places with their normals: those first whose wrenches nearly balance."""
    rng = np.random.default_rng(seed + 1)
    normals = target.normals[faces]
    groups = rng.integers(0, len(points), (20 * len(points), fingers))
    arms = (points - target.center) / target.reach
    wrenches = np.concatenate([normals, np.cross(arms, normals)], axis=1)[groups]
    gram = np.einsum("kic,kjc->kij", wrenches, wrenches)
    ones = np.ones((len(groups), fingers, 1))
    regular = gram + 0.1 * np.eye(fingers)
    weights = np.linalg.solve(regular, ones)[:, :, 0]
    weights = np.clip(weights, 0.05, None)
    weights /= weights.sum(axis=1, keepdims=True)
    left = np.linalg.norm(np.einsum("ki,kic->kc", weights, wrenches), axis=1)
    for k in np.argsort(left, kind="stable")[: 20 * _JUDGED]:
        yield float(left[k]), points[groups[k]], normals[groups[k]]


def _apart(grasps: list[Grasp], count: int, reach: float) -> list[Grasp]:
    """Return the first grasps that differ from those before them."""
    kept: list[Grasp] = []
    for grasp in grasps:
        at = np.array([c.at for c in grasp.contacts])
        others = (np.array([c.at for c in other.contacts]) for other in kept)
        if all(
            np.linalg.norm(at[:, None] - o[None], axis=2).min(axis=1).max() > 3 * _APART * reach
            for o in others
        ):
            kept.append(grasp)
        if len(kept) == count:
            break
    return kept
