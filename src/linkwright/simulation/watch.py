"""Watching a run for singular configurations.

The constraints J u + b = 0 lose rank where a singular value of J goes through zero. Singular values
are not negative, so a zero between two steps does not show in them. It shows in W = S⁻¹ Uᵀ J₁ V,
with J₀ = U S Vᵀ before the step and J₁ after it: W is near the identity for a short step, and a
singular value that has changed its sign gives it a negative eigenvalue. No property of any linkage
is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwright.equations.closure import Relations, decomposed
from linkwright.equations.evaluation import Array
from linkwright.equations.redundant import SINGULAR

_NEAR = 0.3


@dataclass(slots=True)
class _Look:
    """J and its singular values at one time, and the speeds there."""

    t: float
    jacobian: Array
    s: Array
    speeds: Array


class Watch:
    """Looks at J after every accepted step."""

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        self.rank = 0
        self.condition = 1.0
        self.usual = 0.0
        self.report: list[str] = []
        self._last: _Look | None = None

    def look(self, t: float, q: Array, speeds: Array) -> Array:
        """Return J at an accepted state, and report a singularity that was passed on the way."""
        jacobian, _ = self.relations.speed(q, t)
        s: Array = np.asarray(np.linalg.svd(jacobian, compute_uv=False), dtype=np.float64)
        now = _Look(t, jacobian, s, speeds)
        rank = int((s > SINGULAR * s[0]).sum())
        if self._last is None or rank > self.rank:
            self.rank = rank
        elif rank < self.rank:
            self._say(
                t, self.rank - rank, now, f"stands at a singular configuration at t = {t:.6g} s"
            )
        else:
            self._crossed(self._last, now)
        self.condition = float(s[0] / s[self.rank - 1]) if s[self.rank - 1] > 0 else np.inf
        if rank == self.rank:
            self.usual = max(self.usual, float(s[rank - 1]))
            self._last = now
        return jacobian

    def forget(self) -> None:
        """Compare the next state with none before it, because it was watched in another way."""
        self._last = None

    def _crossed(self, old: _Look, now: _Look) -> None:
        small = [i for i in range(self.rank) if old.s[i] < _NEAR * old.s[0]]
        if not small:
            return
        u, s, vt = decomposed(old.jacobian)
        inner = u[:, small].T @ now.jacobian @ vt[small].T
        values = np.linalg.eigvals(inner / s[small][:, None])
        turned = [v for v in values if v.real < 0]
        if not turned:
            return
        part = min(1.0 / (1.0 - v.real) for v in turned)
        t = old.t + part * (now.t - old.t)
        self._say(t, len(turned), now, f"went through a singular configuration at t = {t:.6g} s")

    def _say(self, t: float, lost: int, now: _Look, what: str) -> None:
        """Report in one line what happened, and where the motion went on."""
        assert self._last is not None
        before, after = self._last.speeds, now.speeds
        sizes = np.linalg.norm(before) * np.linalg.norm(after)
        angle = np.degrees(np.arccos(np.clip(before @ after / sizes, -1, 1))) if sizes > 0 else 0.0
        kept = "kept to its branch" if angle < 45.0 else "changed to another branch"
        fastest = int(np.abs(after).argmax())
        name = self.relations.speeds[fastest].name
        self.report.append(
            f"{what} ({lost} of {self.rank} constraints dependent), {kept}, went on with "
            f"{name} = {after[fastest]:.4g}"
        )
