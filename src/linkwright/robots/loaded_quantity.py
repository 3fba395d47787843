"""A quantity of the motion that can also be asked under loads, which `joint_loads` explains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from linkwright.base.errors import InputError
from linkwright.robots.quantity import Quantity

LOADS = {"wrench": 6, "payload": 10, "base": 3}
"""What a Program can take beside the motion, and how many numbers each has."""

_SHORTCUTS = 32  # kinds of calls of one quantity that go to native code, at most
Under = Callable[[str | None, tuple[str, ...]], Quantity]


class LoadedQuantity(Quantity):
    """A quantity of `q, u, a` that can also be asked with loads: `wrench=`, `payload=`, `base=`.

    >>> import numpy as np
    >>> from linkwright.robots import Robot
    >>> arm = Robot("puma560")
    >>> still = [0.0] * 6
    >>> push = arm.inverse_dynamics(
    ...     still, still, still, wrench=[0, 0, 10, 0, 0, 0], frame="tool"
    ... )
    >>> more = push - arm.inverse_dynamics(still, still, still)
    >>> np.allclose(more, arm.jacobian(still, "tool")[2] * 10)
    True
    """

    _under: Under

    def with_loads(self, under: Under) -> LoadedQuantity:
        """Return this, with what makes the quantity of a frame and some loads."""
        self._under = under
        self._known: dict[tuple[object, ...], str | None] = {}
        return self

    def under(self, frame: str | None = None, *loads: str) -> Quantity:
        """Return the quantity with more inputs, in the order of the names of the loads.

        Args:
            frame: that carries wrench and payload.
            loads: some of "wrench" (6), "payload" (10 inertial parameters) and "base" (3).
        """
        unknown = [name for name in loads if name not in LOADS]
        if unknown:
            raise InputError(
                f"there is no load {unknown[0]!r}",
                remedy=f"choose among {', '.join(LOADS)}",
                code="R211",
            )
        if frame is None and {"wrench", "payload"} & set(loads):
            raise InputError(
                "a wrench or a payload needs the name of the frame that carries it",
                remedy='such as frame="tool"',
                code="R211",
            )
        return self._under(frame, tuple(name for name in LOADS if name in loads))

    def _sort_out(
        self,
        *inputs: Any,
        out: Any = None,
        wrench: ArrayLike | None = None,
        payload: ArrayLike | None = None,
        base: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Any:
        """Evaluate inputs that are not plain vectors; loads have axes as the motion has."""
        given = zip(LOADS, (wrench, payload, base), strict=True)
        loads = {name: x for name, x in given if x is not None}
        if not loads:
            return super()._sort_out(*inputs, out=out)
        loaded = self.under(frame, *loads)
        arrays = (*inputs[:3], *loads.values(), *inputs[3:])
        result = loaded(*arrays) if out is None else loaded(*arrays, out=out)
        asked = (id(frame), *loads)
        if asked not in self._known and len(self._known) < _SHORTCUTS:
            from linkwright.backends.llvm.fastcall import add_shortcut

            self._known[asked] = frame  # from now on such calls go to native code
            last = () if frame is None else ("frame",)
            add_shortcut(self.func, 3, (*loads, *last), frame, loaded.func)
        return result
