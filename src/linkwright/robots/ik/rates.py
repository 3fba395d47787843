"""Rates of joints that give a frame a velocity, as Programs: u = J⁺ v + N aim, within limits.

The inverses J⁺ and the projections N on the null space are those of `inverses`: by least squares
of the weighted Jacobian for any arm, or by a partition of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from linkwright.algebra import ZERO, Expr, atan2, constant, sqrt, symbol, total
from linkwright.algebra.functions import maximum
from linkwright.algebra.triples import add, cross, dot, subtract, times, transposed
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Program
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.inverses import orthogonalized, partitioned
from linkwright.robots.ik.saturation import bounds, clipped, limit_inputs, saturated
from linkwright.robots.kinematics import Stance, pose_and_jacobian

if TYPE_CHECKING:
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

_HALF = constant(0.5)
_TINY = constant(1e-300)


def rate_inputs(name: str, count: int, owner: str = "joint rates") -> tuple[Expr, ...]:
    """Return symbols for the entries of an input."""
    return tuple(symbol(f"{name}[{k}]", "input", owner=owner) for k in range(count))


def kept_quantity(
    robot: Robot, name: str, frames: Sequence[str], derive: Callable[..., Program]
) -> Quantity:
    """Return a quantity of frames, once for each name; `derive` takes the tree and places."""
    if name not in robot.kept:
        spots = [robot.spot(frame) for frame in frames]
        robot.kept[name] = robot.quantity(name, lambda tree: derive(tree, *spots), weighs=False)
    return robot.kept[name]


def has_quaternions(tree: Tree) -> bool:
    """Return whether there are joints that have not one coordinate and one speed each."""
    q, speeds = tree.coordinates, set(tree.speeds)
    return len(q) != len(speeds) or any(tree.kinematics.rates[x] not in speeds for x in q)


def refuse_quaternions(tree: Tree) -> None:
    """Reject robots with joints that have not one coordinate and one speed each."""
    if has_quaternions(tree):
        raise InputError(
            "joint rates are those of joints with one degree of freedom, and here are others",
            remedy="fix the base, and use angles in place of quaternions",
            code="R214",
        )


def pose_errors(
    writer: Writer, at: Stance, place: Sequence[Expr], turn: Sequence[Sequence[Expr]]
) -> tuple[list[Expr], list[Expr]]:
    """Return the way to a place, m, and the rotation vector to a rotation matrix, rad, both in the
    world's axes."""
    shift = [writer.hold(x) for x in subtract(place, at.position)]
    axes = list(zip(transposed(at.rotation), transposed(turn), strict=True))
    sines = writer.triple(times(_HALF, add(*(cross(a, b) for a, b in axes))))
    cosine = writer.hold(_HALF * (total(dot(a, b) for a, b in axes) - 1))
    size = writer.hold(sqrt(total([*(s**2 for s in sines), _TINY])))
    factor = writer.hold(atan2(size, cosine) / size)
    return shift, [writer.hold(factor * s) for s in sines]


def rates_program(
    tree: Tree, spot: FixedFrame, *, goal: bool = False, saturates: int | None = None
) -> Program:
    """Return the Program of joint rates by least squares.

    Its inputs are `q`, `rate` (6, in the world's axes), `weights` (6), `aim` (n), `settings`
    (damping and threshold); its outputs `rates` (n), `residual` (6: what is left of the rate),
    `rank` and `ratio` (of the smallest pivot to the first). With a goal it also takes `place` (3)
    and `turn` (a 3 x 3 rotation) where the frame should be, and `axes` (3 x 3, from the axes of the
    weights to the world's); it gives `error` (6: the way there), `step` (n) that closes it, and
    `missed` (2 x 6): residual and error along the axes of the weights, weighted. With `saturates`
    it keeps limits, and so many joints may be put on them: it also takes the inputs of
    `saturation` and gives the `scale` of the rate that they allow.
    """
    refuse_quaternions(tree)
    n = len(tree.coordinates)
    sizes = {"rate": 6, "weights": 6, "aim": n, "settings": 2}
    sizes |= {"place": 3, "turn": 9, "axes": 9} if goal else {}
    more = {name: rate_inputs(name, count) for name, count in sizes.items()}
    if saturates is not None:
        more |= limit_inputs(n)

    def write(writer: Writer) -> Results:
        hold, rate, aim = writer.hold, more["rate"], more["aim"]
        at, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")

        def weighted(six: Sequence[Expr]) -> list[Expr]:
            """Return six components along the axes of the weights, weighted."""
            seen = list(six)
            if goal:
                axes = [more["axes"][i::3] for i in range(3)]
                seen = [dot(row, six[h : h + 3]) for h in (0, 3) for row in axes]
            return [hold(w * x) for w, x in zip(more["weights"], seen, strict=True)]

        columns = [weighted(column) for column in zip(*jacobian, strict=True)]
        made = orthogonalized(writer, list(zip(*columns, strict=True)), *more["settings"])
        rights = [weighted(rate)]
        results: dict[str, Any] = {}
        if goal:
            turned = [more["turn"][i : i + 3] for i in (0, 3, 6)]
            shift, turn = pose_errors(writer, at, more["place"], turned)
            results["error"] = [*shift, *turn]
            rights.append(weighted(results["error"]))
        task, *steps = made.solved(*rights)
        free = made.null(aim)
        if saturates is None:
            rates = [hold(x + z) for x, z in zip(task, free, strict=True)]
        else:
            low, high = bounds(writer, tree.coordinates, more)
            rates, scale = saturated(writer, task, free, made.projector(), low, high, saturates)
            results["scale"] = [scale]
        residual = [hold(v - dot(row, rates)) for v, row in zip(rate, jacobian, strict=True)]
        if goal:
            results |= {"step": steps[0], "missed": [weighted(residual), rights[1]]}
        return {
            "rates": rates,
            "residual": residual,
            "rank": [total(made.live)],
            "ratio": [maximum(made.ratio, ZERO)],
            **results,
        }

    return tree.program("joint_rates", ["q"], write, more)


def partition_program(
    tree: Tree, spot: FixedFrame, rows: Sequence[int], *, aimed: bool, limited: bool
) -> Program:
    """Return the Program of joint rates by a partition.

    Its inputs are `q`, `rate` (6, in the world's axes), with an aim also `aim` (n), `settings`
    (the threshold), with limits also those of `saturation`; its outputs `rates` (n), `residual`
    (6; zero for components that do not count), `rank`, `ratio`, `free` (the numbers of the joints
    that the square part leaves), and with limits `scale`.
    """
    refuse_quaternions(tree)
    n = len(tree.coordinates)
    sizes = {"rate": 6, "settings": 1, **({"aim": n} if aimed else {})}
    more = {name: rate_inputs(name, count) for name, count in sizes.items()}
    if limited:
        more |= limit_inputs(n)

    def write(writer: Writer) -> Results:
        hold, rate = writer.hold, more["rate"]
        whole = list(more.get("aim", [ZERO] * n))
        _, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
        chosen = [jacobian[k] for k in rows]
        moving = [j for j in range(n) if any(row[j] is not ZERO for row in chosen)]
        spare = len(moving) - len(rows)
        chosen = [[row[j] for j in moving] for row in chosen]
        made = partitioned(writer, chosen, [rate[k] for k in rows], *more["settings"])
        aim = [whole[j] for j in moving]
        results: dict[str, Any] = {}
        if limited:
            low, high = bounds(writer, tree.coordinates, more)
            whole = [clipped(writer, *row) for row in zip(whole, low, high, strict=True)]
            rates, scale = saturated(
                writer,
                made.nearest([ZERO] * len(moving)),
                made.null(aim),
                made.projector(),
                [low[j] for j in moving],
                [high[j] for j in moving],
                spare,
            )
            results["scale"] = [scale]
        else:
            rates = made.nearest(aim)
        for j, x in zip(moving, rates, strict=True):
            whole[j] = x
        residual: list[Expr] = [ZERO] * 6
        for k, row in zip(rows, chosen, strict=True):
            residual[k] = hold(rate[k] - dot(row, rates))
        if spare:
            results["free"] = made.permuted([constant(j) for j in moving])[len(rows) :]
        return {
            "rates": whole,
            "residual": residual,
            "rank": [total(made.live)],
            "ratio": [made.ratio],
            **results,
        }

    return tree.program("partition_rates", ["q"], write, more)
