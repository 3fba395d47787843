"""Quantities of the frames of a robot: where they are and how they move.

Each is made for one frame, and for one way of looking at it, when it is first called; see
`linkwright.robots.kinematics` for the views and for what the six components are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from linkwright.algebra import ZERO, symbol
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer, add, apply
from linkwright.errors import InputError
from linkwright.program import Namer, Program, ProgramPort
from linkwright.program.derivatives.forward import ForwardCalls, forward
from linkwright.program.inline import inlined
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import check
from linkwright.robots import kinematics
from linkwright.robots.derivatives import named
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.quantity import USUAL_REFERENCE, FrameQuantity, Quantity, frame_label

WORLD_ALIGNED = USUAL_REFERENCE


class FrameSource(Protocol):
    """What the quantities of frames need of a robot."""

    @property
    def tree(self) -> Tree:
        """The tree of its bodies."""

    def spot(self, frame: str) -> FixedFrame:
        """Return body and place of a frame."""

    def quantity(
        self, name: str, derive: Callable[[Tree], Program], *, weighs: bool = True
    ) -> Quantity:
        """Return a quantity that is derived from the tree."""


Write: TypeAlias = Callable[[Writer, Tree, FixedFrame], Results]
Ask: TypeAlias = Callable[..., Write]


def _of_frames(
    robot: FrameSource, name: str, takes: Sequence[str], ask: Ask, **defaults: str
) -> FrameQuantity:
    """Return a quantity of frames."""

    def of_frame(frame: str, **options: str) -> Quantity:
        chosen = _chosen(name, defaults, options)
        write, spot = ask(**chosen), robot.spot(frame)
        return robot.quantity(
            frame_label(name, frame, (v for k, v in chosen.items() if v != defaults[k])),
            lambda tree: tree.program(name, takes, lambda w: write(w, tree, spot)),
            weighs=False,
        )

    return FrameQuantity(name, of_frame)


def _chosen(name: str, defaults: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(set(options) - set(defaults))
    if unknown:
        raise InputError(
            f"{name} has no option {', '.join(unknown)}",
            remedy=f"it has {', '.join(defaults)}" if defaults else "",
        )
    return {**defaults, **options}


# -- places ----------------------------------------------------------------------------------------
def pose(robot: FrameSource) -> FrameQuantity:
    """Return the homogeneous 4 x 4 matrix from a frame to the world."""
    return _of_frames(
        robot,
        "pose",
        ["q"],
        lambda: (
            lambda w, tree, spot: {"T": kinematics.homogeneous(kinematics.spot_stance(w, spot))}
        ),
    )


def position(robot: FrameSource) -> FrameQuantity:
    """Return the origin of a frame in the world, m."""
    return _of_frames(
        robot,
        "position",
        ["q"],
        lambda: lambda w, tree, spot: {"x": list(kinematics.spot_stance(w, spot).position)},
    )


def orientation(robot: FrameSource) -> FrameQuantity:
    """Return the unit quaternion (w, x, y, z), w not negative, from a frame to the world."""
    return _of_frames(
        robot,
        "orientation",
        ["q"],
        lambda: (
            lambda w, tree, spot: {
                "e": kinematics.quaternion(w, kinematics.spot_stance(w, spot).rotation)
            }
        ),
    )


def rpy(robot: FrameSource) -> FrameQuantity:
    """Return roll, pitch and yaw of a frame, rad: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return _of_frames(
        robot,
        "rpy",
        ["q"],
        lambda: (
            lambda w, tree, spot: {
                "rpy": kinematics.rpy(w, kinematics.spot_stance(w, spot).rotation)
            }
        ),
    )


# -- Jacobians -------------------------------------------------------------------------------------
def jacobian(robot: FrameSource) -> FrameQuantity:
    """Return the geometric Jacobian of a frame, 6 x n."""

    def ask(reference: str) -> Write:
        kinematics.checked_reference(reference)
        return lambda w, tree, spot: {"J": kinematics.jacobian(w, tree, spot, reference)}

    return _of_frames(robot, "jacobian", ["q"], ask, reference=WORLD_ALIGNED)


def pose_and_jacobian(robot: FrameSource) -> FrameQuantity:
    """Return pose and geometric Jacobian of a frame from one kernel."""

    def ask(reference: str) -> Write:
        kinematics.checked_reference(reference)

        def write(writer: Writer, tree: Tree, spot: FixedFrame) -> Results:
            at, rows = kinematics.pose_and_jacobian(writer, tree, spot, reference)
            return {"T": kinematics.homogeneous(at), "J": rows}

        return write

    return _of_frames(robot, "pose_and_jacobian", ["q"], ask, reference=WORLD_ALIGNED)


def analytic_jacobian(robot: FrameSource) -> FrameQuantity:
    """Return the Jacobian of position and orientation as numbers, 6 x n or 7 x n."""

    def ask(orientation: str) -> Write:
        kinematics.checked_orientation(orientation)
        return lambda w, tree, spot: {"J": kinematics.analytic_jacobian(w, tree, spot, orientation)}

    return _of_frames(robot, "analytic_jacobian", ["q"], ask, orientation="rpy")


def jacobian_rate(robot: FrameSource) -> FrameQuantity:
    """Return the time derivative of the geometric Jacobian of a frame, 6 x n."""

    def of_frame(frame: str, **options: str) -> Quantity:
        chosen = _chosen("jacobian_rate", {"reference": WORLD_ALIGNED}, options)
        reference = kinematics.checked_reference(chosen["reference"])
        spot = robot.spot(frame)

        def derive(tree: Tree) -> Program:
            plain = tree.program(
                "jacobian",
                ["q"],
                lambda w: {"J": kinematics.jacobian(w, tree, spot, reference)},
            )
            return rate_program(tree, plain, "jacobian_rate", "J_dot")

        other = [reference] if reference != WORLD_ALIGNED else []
        return robot.quantity(frame_label("jacobian_rate", frame, other), derive, weighs=False)

    return FrameQuantity("jacobian_rate", of_frame)


def rate_program(tree: Tree, program: Program, name: str, output: str) -> Program:
    """Return the Program of the time derivative of a quantity that is a function of `q`."""
    rates = tree.program(
        "rates",
        ["q", "u"],
        lambda w: {"q_dot": [tree.kinematics.rates[q] for q in tree.coordinates]},
    )
    (port,) = program.outputs
    inputs = (*program.inputs, rates.port("u"))
    source = Program(name, inputs, program.outputs, program.statements)
    namer = Namer(source, "along")
    given = {p.name: source.port(p.name).entries for p in rates.inputs}
    statements, found = inlined(rates, given, namer)
    moving = named(found["q_dot"], namer, statements)
    q, u = source.port("q"), source.port("u")
    seeds = {x: {0: rate} for x, rate in zip(q.entries, moving, strict=True)}
    tangents = forward(source, seeds, ForwardCalls())
    entries = tuple(lanes.get(0, ZERO) for lanes in tangents.lanes)
    rest = tuple(p for p in source.inputs if p.name not in ("q", "u"))
    everything = (*statements, *tangents.statements)
    made = Program(name, (q, u, *rest), (ProgramPort(output, port.shape, entries),), everything)
    check(made)
    return liveness(made)


# -- motion ----------------------------------------------------------------------------------------
def velocity(robot: FrameSource) -> FrameQuantity:
    """Return velocity and angular velocity of a frame, m/s and rad/s."""

    def ask(reference: str) -> Write:
        kinematics.checked_reference(reference)
        return lambda w, tree, spot: {"v": kinematics.velocity(w, tree, spot, reference)}

    return _of_frames(robot, "velocity", ["q", "u"], ask, reference=WORLD_ALIGNED)


def acceleration(robot: FrameSource) -> FrameQuantity:
    """Return the rate of the velocity of a frame for given rates of speeds."""

    def ask(reference: str) -> Write:
        kinematics.checked_reference(reference)

        def write(writer: Writer, tree: Tree, spot: FixedFrame) -> Results:
            rates = tree.all_rates(writer, tree.accelerations)
            return {"v_dot": kinematics.acceleration(writer, tree, spot, reference, rates)}

        return write

    return _of_frames(robot, "acceleration", ["q", "u", "a"], ask, reference=WORLD_ALIGNED)


def drift(robot: FrameSource) -> FrameQuantity:
    """Return the rate of the velocity of a frame while all speeds keep their values: J' u."""

    def ask(reference: str) -> Write:
        kinematics.checked_reference(reference)

        def write(writer: Writer, tree: Tree, spot: FixedFrame) -> Results:
            rates = tree.all_rates(writer)
            return {"drift": kinematics.acceleration(writer, tree, spot, reference, rates)}

        return write

    return _of_frames(robot, "drift", ["q", "u"], ask, reference=WORLD_ALIGNED)


# -- points ----------------------------------------------------------------------------------------
def _of_points(
    robot: FrameSource,
    name: str,
    takes: Sequence[str],
    write: Callable[[Writer, Tree, FixedFrame], Results],
) -> FrameQuantity:
    """Return a quantity of points that are fixed in frames and given when it is called."""

    def of_frame(frame: str, **options: str) -> Quantity:
        _chosen(name, {}, options)
        fixed = robot.spot(frame)

        def derive(tree: Tree) -> Program:
            owner = tree.kinematics.mechanism.name
            x, y, z = (symbol(f"point.{k}", "input", owner=owner) for k in "xyz")

            def written(writer: Writer) -> Results:
                place = add(fixed.position, apply(fixed.rotation, (x, y, z)))
                return write(writer, tree, FixedFrame(fixed.body, fixed.rotation, place))

            return tree.program(name, takes, written, {"point": (x, y, z)})

        return robot.quantity(frame_label(name, frame), derive, weighs=False)

    return FrameQuantity(name, of_frame)


def point_position(robot: FrameSource) -> FrameQuantity:
    """Return where a point of a frame is in the world, m."""
    return _of_points(
        robot,
        "point_position",
        ["q"],
        lambda w, tree, spot: {"x": list(kinematics.spot_stance(w, spot).position)},
    )


def point_velocity(robot: FrameSource) -> FrameQuantity:
    """Return the velocity of a point of a frame along the world's axes, m/s."""
    return _of_points(
        robot,
        "point_velocity",
        ["q", "u"],
        lambda w, tree, spot: {"v": kinematics.velocity(w, tree, spot, WORLD_ALIGNED)[:3]},
    )


def point_jacobian(robot: FrameSource) -> FrameQuantity:
    """Return the Jacobian of the position of a point of a frame, 3 x n."""
    return _of_points(
        robot,
        "point_jacobian",
        ["q"],
        lambda w, tree, spot: {"J": kinematics.jacobian(w, tree, spot, WORLD_ALIGNED)[:3]},
    )


def point_drift(robot: FrameSource) -> FrameQuantity:
    """Return the acceleration of a point of a frame while all speeds keep their values, m/s^2."""

    def write(writer: Writer, tree: Tree, spot: FixedFrame) -> Results:
        rates = tree.all_rates(writer)
        return {"drift": kinematics.acceleration(writer, tree, spot, WORLD_ALIGNED, rates)[:3]}

    return _of_points(robot, "point_drift", ["q", "u"], write)
