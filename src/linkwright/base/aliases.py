"""Old public names and keywords, and what they are called now: one table.

`base.lazy` reads it where a room is asked for a name that it does not have. An old name works for
one release and warns, once, with the new one. `docs/migration.md` is made from this table.
"""

from __future__ import annotations

import warnings
from typing import Any

NAMES: dict[str, str] = {
    "control.corrected": "control.correct",
    "control.discretized": "control.discretize",
    "control.intersected": "control.intersect",
    "control.predicted": "control.predict",
    "control.saturated": "control.saturate",
    "elements.calibrated_scale": "elements.calibrate_scale",
    "elements.regions": "elements.find_regions",
    "linear.fitted_sine": "linear.fit_sine",
    "linear.measured_margins": "linear.measure_margins",
    "linear.measured_response": "linear.measure_response",
    "linear.opened": "linear.open_loop",
    "linear.proposed_gains": "linear.propose_gains",
    "mounts.comparison": "mounts.study_mounts",
    "mounts.passage": "mounts.keyhole_passage",
    "mounts.ranked": "mounts.rank_mounts",
    "mounts.shaped": "mounts.shape_path",
    "mounts.streamed": "mounts.stream_moves",
    "mounts.synchronized": "mounts.synchronize",
    "mounts.tracking": "mounts.track_pass",
    "parallel.assemblies": "parallel.find_assemblies",
    "parallel.balance": "parallel.counterbalance",
    "parallel.joined": "parallel.connect_poses",
    "parallel.sampled_poses": "parallel.sample_poses",
}
"""Old public names below `linkwright`, and the new ones; one with a colon is not public any more:
`module:name` is where it is at home."""


def renamed(package: str, name: str) -> Any:
    """Return what an old name of a room stands for, with a warning; None where it is not one."""
    old = f"{package}.{name}".partition(".")[2]
    new = NAMES.get(old)
    if new is None:
        return None
    from linkwright.base.lazy import named

    module, _, last = new.replace(":", ".").rpartition(".")
    warnings.warn(
        f"linkwright.{old} is now linkwright.{new.replace(':', '.')}; "
        "the next release drops the old name",
        DeprecationWarning,
        stacklevel=3,
    )
    return named(f"linkwright.{module}:{last}" if module else f"linkwright:{last}")
