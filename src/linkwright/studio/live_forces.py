"""The forces of a live run, computed from the state that is shown.

What a System records of its forces costs nothing when nobody asks for it; here just those channels
are compiled apart, and the run itself takes no notice. Forces of the mechanism itself are computed
again from its states (`linkwright.scene.load_arrows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.program import ProgramPort, optimize
from linkwright.scene.forces import Arrows, NodeForce, arrows_of, joint_arrows
from linkwright.scene.load_arrows import OwnForces
from linkwright.scene.scene import Scene
from linkwright.system.phases import Phases

Array: TypeAlias = NDArray[np.float64]


class Felt:
    """What computes the forces of a state, compiled."""

    def __init__(
        self, scene: Scene, phases: Phases, values: Mapping[str, float], pulls: Sequence[NodeForce]
    ) -> None:
        about = phases.meta or {}
        info = (*arrows_of(scene, about.get("forces")).each, *joint_arrows(scene, about))
        names = [n for a in info for n in (*a.force, *([a.touch] if a.touch else []))]
        self._own = OwnForces(scene.robot.mechanism, values, about)
        names += self._own.names_in(
            [s.name for s in phases.outputs]
        )  # speeds that depend on others
        self._names = list(dict.fromkeys(names))
        self._kernel = channels_kernel(phases, self._names) if names else None
        known = {s.name for a in (phases.p, phases.w, phases.x) for s in a}
        known |= {*self._names, phases.time.name}
        mine = self._own.columns(dict.fromkeys(known, 0.0).get)
        own = (a for a in self._own.arrows if a.force[0] in mine)
        self.arrows = Arrows(scene, (*info, *own, *pulls))
        if self._kernel is not None:  # it is compiled when it is first called
            arrays = (phases.x, phases.d, phases.p, phases.w)
            self._kernel(*(np.array([s.value for s in a]) for a in arrays), np.zeros(1))

    def columns(
        self, phases: Phases, values: Mapping[str, float], x: Array, d: Array, w: Array, time: float
    ) -> dict[str, Any]:
        """Return all that the arrows need to know of a state, by name (`time` in s)."""
        p = np.array([values.get(s.name, s.value) for s in phases.p])
        known: dict[str, Any] = {phases.time.name: time}
        for signals, numbers in ((phases.p, p), (phases.w, w), (phases.x, x)):
            known.update(zip((s.name for s in signals), numbers.tolist(), strict=True))
        if self._kernel is not None:
            found = self._kernel(x, d, p, w, np.array([time]))
            known.update(zip(self._names, np.asarray(found).tolist(), strict=True))
        known.update(self._own.columns(known.get))
        return known


def channels_kernel(phases: Phases, names: Sequence[str]) -> Callable[..., Array]:
    """Return a kernel from x, d, p, w and t to some of the channels that phases record."""
    from linkwright.backends.kernel import compile as compiled

    whole = phases.output
    assert whole is not None
    place = {s.name: k for k, s in enumerate(phases.outputs)}
    entries = tuple(whole.outputs[0].entries[place[name]] for name in names)
    few = ProgramPort(whole.outputs[0].name, (len(entries),), entries)
    made: Callable[..., Array] = compiled(optimize(replace(whole, outputs=(few,))))
    return made
