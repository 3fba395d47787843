"""The equations of motion of a robot as quantities: forces, accelerations, mass matrices, loads.

`linkwright.equations.kernels` and `linkwright.robots.joint_loads` say how they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from linkwright.base.lazy import Later
from linkwright.robots.loaded_quantity import LoadedQuantity
from linkwright.robots.quantities import carriers
from linkwright.robots.quantity import Quantity

if TYPE_CHECKING:
    from linkwright.equations import kernels
    from linkwright.equations.background import SplitDynamics
    from linkwright.equations.tree import Tree
    from linkwright.program import Program
    from linkwright.robots import derivatives, joint_loads as loads_of
    from linkwright.robots.robot import Robot
else:
    derivatives = Later("linkwright.robots.derivatives")
    kernels = Later("linkwright.equations.kernels")
    loads_of = Later("linkwright.robots.joint_loads")


def inverse_dynamics(robot: Robot) -> LoadedQuantity:
    """Inverse dynamics (RNEA), forces from accelerations: `inverse_dynamics(q, u, a)`; with
    `wrench=` (or `payload=`) and `frame=`, what it takes to carry that too."""

    def slopes(by: Sequence[str]) -> Program:
        return derivatives.inverse_dynamics_derivative(
            robot.mass_matrix.program, robot.inverse_dynamics.program, by, robot._tangents(by)
        )

    return robot._quantity_of_kind(
        LoadedQuantity, "inverse_dynamics", lambda tree: kernels.inverse_dynamics(tree), slopes
    ).with_loads(_under(robot, "tau"))


def reactions(robot: Robot) -> LoadedQuantity:
    """Force and moment that each joint puts on its link (of `links`), about the link's origin
    along its axes, N and N*m, n x 6: `reactions(q, u, a)`; `wrench=`, `payload=` and `base=`
    act too."""
    under = _under(robot, "reactions")
    return robot._quantity_of_kind(
        LoadedQuantity,
        "reactions",
        lambda tree: loads_of.loads_program(tree, carriers(robot), None, (), ["reactions"]),
    ).with_loads(under)


def joint_loads(robot: Robot) -> LoadedQuantity:
    """Efforts of inverse dynamics and `reactions` from one kernel: `joint_loads(q, u, a)`."""
    results = "tau", "reactions"
    return robot._quantity_of_kind(
        LoadedQuantity,
        "joint_loads",
        lambda tree: loads_of.loads_program(tree, carriers(robot), None, (), results),
    ).with_loads(_under(robot, *results))


def loop_loads(robot: Robot) -> LoadedQuantity:
    """Efforts, `reactions` of the tree's joints, and force and moment (N, N*m, n x 6) that what
    closes each loop (of `loops`) puts on its second body, about that one's point along the
    ground's axes: `loop_loads(q, u, a)`. A relation that others imply carries nothing."""
    results = "tau", "reactions", "loops"
    return robot._quantity_of_kind(
        LoadedQuantity,
        "loop_loads",
        lambda tree: loads_of.loads_program(tree, carriers(robot), None, (), results),
    ).with_loads(_under(robot, *results))


def _under(robot: Robot, *results: str) -> Callable[[str | None, tuple[str, ...]], Quantity]:
    """Return what makes quantities of joint loads under some loads, each once."""
    known: dict[tuple[str | None, tuple[str, ...]], Quantity] = {}

    def under(frame: str | None, loads: tuple[str, ...]) -> Quantity:
        def derived(tree: Tree) -> Program:
            spot = None if frame is None else robot.spot(frame)
            return loads_of.loads_program(tree, carriers(robot), spot, loads, results)

        if frame is not None and frame not in robot.frames:
            robot.spot(frame)  # which says what is wrong
        if (frame, loads) not in known:
            name = f"{' and '.join(results)} under {', '.join(loads)} of {frame!r}"
            known[frame, loads] = robot.quantity(name, derived)
        return known[frame, loads]

    return under


def split_dynamics(robot: Robot, speeds: str = "auto") -> SplitDynamics:
    """Return computed torque in two Programs, of the background and of the foreground.

    The background has the terms of the model where the robot is, the foreground products with them;
    beside them is the whole law.

    Args:
        speeds: that count in centrifugal and Coriolis forces: "frozen", the background's,
            "fresh", the foreground's, or "auto", fresh where that is cheap.
    """
    from linkwright.equations.background import split_dynamics

    return split_dynamics(robot.tree, speeds).optimized()


def forward_dynamics(robot: Robot) -> Quantity:
    """Forward dynamics (ABA): the accelerations of forces: `forward_dynamics(q, u, tau)`."""

    def slopes(by: Sequence[str]) -> Program:
        return derivatives.forward_dynamics_derivative(
            robot.mass_matrix.program,
            robot.inverse_dynamics.program,
            kernels.efforts_of(robot.tree),
            by,
            robot._tangents(by),
        )

    return robot.quantity("forward_dynamics", lambda tree: kernels.forward_dynamics(tree), slopes)
