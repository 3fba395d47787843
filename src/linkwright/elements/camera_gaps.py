"""When a camera did not see its targets in a run, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.results import Result


class _Recorded(Protocol):
    @property
    def times(self) -> NDArray[np.floating[Any]]: ...

    def __getitem__(self, name: str) -> NDArray[Any]: ...

    def __contains__(self, name: object) -> bool: ...


@dataclass(frozen=True, slots=True)
class ViewGap(Result):
    """A time in which a target was not seen.

    Args:
        camera: that did not see it.
        target: its number, from 0.
        start: when that began, s.
        end: when it was seen again, or the end of the run, s.

    >>> print(ViewGap("camera", 0, 2.0, 3.5))
    target 0 is not whole in the picture of 'camera', or hidden, from 2 s to 3.5 s
    """

    camera: str
    target: int
    start: float
    end: float
    _units = (
        ("start", "s"),
        ("end", "s"),
    )

    def __str__(self) -> str:
        return (
            f"target {self.target} is not whole in the picture of {self.camera!r}, or hidden, "
            f"from {self.start:.4g} s to {self.end:.4g} s"
        )


def view_gaps(run: _Recorded, camera: str = "camera") -> tuple[ViewGap, ...]:
    """Return when targets of a camera were out of view, from the first field that arrived on.

    Args:
        run: a run or a recording.
        camera: the name of the camera's member.

    >>> import linkwright as lw
    >>> m = lw.Mechanism("m")
    >>> ball = m.body("ball", translate="x", mass=1)
    >>> s = lw.System(m)
    >>> disc = lw.elements.DiscTarget(0.1, body=ball, center=(0, 0, 2))
    >>> eye = s.add(lw.elements.PinholeCamera(m, "n", [disc]), rate=60)
    >>> run = lw.simulate(s, until=2.0, initial={"ball_dot": 1.0})
    >>> [(gap.target, round(gap.start, 1), gap.end) for gap in view_gaps(run)]
    [(0, 0.8, 2.0)]
    """
    if f"{camera}.count" not in run or f"{camera}.visible[0]" not in run:
        raise InputError(
            f"the run has no camera {camera!r}", remedy="give the name of a PinholeCamera's member"
        )
    return tuple(_gaps(run, camera))


def _gaps(run: _Recorded, camera: str) -> Iterator[ViewGap]:
    times, begun = run.times, run[f"{camera}.count"] > 0
    target = 0
    while (name := f"{camera}.visible[{target}]") in run:
        hidden = begun & (run[name] < 0.5)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], hidden, [False]]).astype(int)))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            end = times[min(stop, len(times) - 1)]
            yield ViewGap(camera, target, float(times[start]), float(end))
        target += 1
