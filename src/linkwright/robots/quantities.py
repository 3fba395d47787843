"""What can be asked of the motion and the masses of a robot, by name.

`linkwright.robots.frames`, `momentum` and `regressor` say how each is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from linkwright.base.forking import cached_property
from linkwright.base.lazy import Later
from linkwright.robots.quantity import USUAL_REFERENCE, FrameQuantity, Quantity, frame_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkwright.equations.tree import Tree
    from linkwright.program import Program
    from linkwright.robots import frames, regressor as regressors
    from linkwright.robots.fixed_frames import FixedFrame
    from linkwright.robots.regressor import ColumnBasis
    from linkwright.robots.robot import Robot
else:
    frames = Later("linkwright.robots.frames")
    regressors = Later("linkwright.robots.regressor")

Slopes = Callable[[Sequence[str]], "Program"]


def of_frames(doc: str) -> cached_property[FrameQuantity]:
    """Return a quantity of a robot's frames, which is called as the attribute that it becomes."""
    made: cached_property[FrameQuantity] = cached_property(
        lambda robot: _frame_quantity(robot, made.attrname or "")
    )
    made.__doc__ = doc
    return made


def of_tree(derive: Callable[[Tree], Program], doc: str) -> cached_property[Quantity]:
    """Return a quantity of a robot's tree, which is called as the attribute that it becomes."""
    made: cached_property[Quantity] = cached_property(
        lambda robot: robot.quantity(made.attrname, derive)
    )
    made.__doc__ = doc
    return made


def _frame_quantity(robot: Robot, name: str) -> FrameQuantity:
    """Return a quantity of frames; what derives it is imported where it must be derived."""

    def of_frame(frame: str, **options: str) -> Quantity:
        def derived(tree: Tree) -> Program:
            return frames.frame_program(name, tree, robot.spot(frame), options)

        if frame not in robot.frames:
            robot.spot(frame)  # which says what is wrong
        chosen = (v for v in options.values() if v != USUAL_REFERENCE)
        return robot.quantity(frame_label(name, frame, chosen), derived, weighs=False)

    return FrameQuantity(name, of_frame)


def carriers(robot: Robot) -> list[FixedFrame]:
    """Return the links that joints move, as body and place."""
    return [robot.spot(link) for link in robot.links]


def inertial_parameters(robot: Robot) -> NDArray[Any]:
    """Ten numbers for each of `links`: mass, first moments x, y, z, and Ixx, Ixy, Iyy, Ixz,
    Iyz, Izz about the origin of the link's frame along its axes; links that are fixed to it
    count with it."""
    return regressors.inertial_parameters(
        robot.tree, carriers(robot), robot.tree.kinematics.mechanism.values
    )


def inertial_names(robot: Robot) -> tuple[str, ...]:
    """The names of `inertial_parameters`, as `link.Ixx`."""
    return tuple(f"{link}.{name}" for link in robot.links for name in regressors.INERTIAL)


def regressor(robot: Robot) -> Quantity:
    """The matrix Y with inverse dynamics = Y inertial_parameters, without friction and rotors:
    `regressor(q, u, a)`."""
    return robot.quantity(
        "regressor",
        lambda tree: regressors.regressor_of(tree, carriers(robot)),
        weighs=False,
    )


def joint_regressor(robot: Robot) -> Quantity:
    """Y with three more columns for each joint with one coordinate: rotor inertia, viscous and
    dry friction: `joint_regressor(q, u, a)`."""
    return robot.quantity(
        "joint_regressor",
        lambda tree: regressors.joint_regressor_of(
            tree, carriers(robot), regressors.jointed_speeds(tree)
        ),
        weighs=False,
    )


def full_names(robot: Robot) -> tuple[str, ...]:
    """The names of the columns of `joint_regressor`."""
    joints = [u.name.removesuffix("_dot") for u in regressors.jointed_speeds(robot.tree)]
    return (
        *robot.inertial_names,
        *(f"{joint}.{name}" for joint in joints for name in regressors.JOINT),
    )


def base(robot: Robot) -> ColumnBasis:
    """The inertial parameters that motion can distinguish, and what the others add to them."""
    count = -(-2 * len(robot.inertial_names) // max(1, len(robot.tree.speeds))) + 4
    samples = robot.regressor(*regressors.random_states(robot.tree, count))
    return regressors.base_of(samples, robot.inertial_names)


def base_regressor(robot: Robot) -> Quantity:
    """The matrix with inverse dynamics = Y base.regrouping @ inertial_parameters:
    `base_regressor(q, u, a)`."""
    return robot.quantity(
        "base_regressor",
        lambda tree: regressors.columns_of(
            robot.regressor.program, robot.base.columns, "base_regressor"
        ),
        weighs=False,
    )
