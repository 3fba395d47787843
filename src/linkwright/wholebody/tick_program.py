"""All that a whole-body controller needs of a robot in one state, as one native Program.

Mass matrix, nonlinear effects, contact points, frames, center of mass and angular momentum share
most of their subexpressions; written together, they are one call and the optimizer sees them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import as_expr
from linkwright.algebra.triples import add, apply
from linkwright.equations.kernels import mass_and_effects
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.robots import kinematics, momentum
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.wholebody.contacts import FlatContact

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]
_SEEN = "local-world-aligned"

Terms = dict[str, Any]
"""By name: `M`, `h`, of all contact points `J`, `drift` and `x`; of a frame `pose of`, `J of`,
`drift of`; of the center of mass `c`, `Jc`; of the momentum `A`, `momentum drift`."""


def terms_of(
    robot: Robot,
    contacts: Sequence[FlatContact],
    frames: Sequence[str],
    *,
    center: bool,
    spin: bool,
) -> Callable[[Array, Array], Terms]:
    """Return the function of coordinates and speeds that gives all terms by name."""
    spots = {name: robot.spot(name) for name in (*frames, *(c.frame for c in contacts))}

    def write(writer: Writer, tree: Tree, dynamics: Callable[[Writer], Results]) -> Results:
        results: dict[str, Any] = dict(dynamics(writer))
        rates = tree.all_rates(writer)
        points = [
            _at(spots[c.frame], p) for c in contacts for p in np.asarray(c.points, dtype=float)
        ]
        if points:
            rows, drift, place = [], [], []
            for spot in points:
                at, J = kinematics.pose_and_jacobian(writer, tree, spot, _SEEN)
                rows += J[:3]
                drift += kinematics.acceleration(writer, tree, spot, _SEEN, rates)[:3]
                place.append(list(at.position))
            results |= {"J": rows, "drift": drift, "x": place}
        for k, name in enumerate(frames):
            at, J = kinematics.pose_and_jacobian(writer, tree, spots[name], _SEEN)
            slow = kinematics.acceleration(writer, tree, spots[name], _SEEN, rates)
            results |= {f"T_{k}": kinematics.homogeneous(at), f"J_{k}": J, f"d_{k}": slow}
        if center:
            middle, J = momentum.mass_center_jacobian(writer, tree)
            results |= {"c": list(middle), "Jc": J}
        if center or spin:
            results["A"] = momentum.centroidal_matrix(writer, tree)[1]
            results["p"] = momentum.centroidal_momentum(writer, tree, rates)[1]
        return results

    def derive(tree: Tree) -> Any:
        dynamics = mass_and_effects(tree)
        return tree.program("whole_body", ["q", "u"], lambda w: write(w, tree, dynamics))

    told = [(c.frame, np.asarray(c.points, dtype=float).tolist()) for c in contacts]
    quantity = robot.quantity(f"whole body {told} {list(frames)} {center} {spin}", derive)
    order = ["M", "h", *(["J", "drift", "x"] if contacts else [])]
    for k in range(len(frames)):
        order += [f"T_{k}", f"J_{k}", f"d_{k}"]
    order += ["c", "Jc"] if center else []
    order += ["A", "p"] if center or spin else []
    public = {f"T_{k}": f"pose of {f}" for k, f in enumerate(frames)}
    public |= {f"J_{k}": f"J of {f}" for k, f in enumerate(frames)}
    public |= {f"d_{k}": f"drift of {f}" for k, f in enumerate(frames)}
    public["p"] = "momentum drift"
    keys = [public.get(name, name) for name in order]

    def evaluate(q: Array, u: Array) -> Terms:
        return dict(zip(keys, quantity(q, u), strict=True))

    return evaluate


def _at(spot: FixedFrame, point: Array) -> FixedFrame:
    """Return the frame moved to a point that is given in it."""
    x, y, z = (as_expr(float(v)) for v in point)
    return FixedFrame(spot.body, spot.rotation, add(spot.position, apply(spot.rotation, (x, y, z))))
