"""Inverse kinematics as a sampled element: a damped step of Newton's method a tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from linkwright.algebra import ONE, ZERO, Expr, absolute, maximum, sqrt, total
from linkwright.algebra.triples import Quaternion, Triple
from linkwright.blocks import Block, Rate
from linkwright.motion.chains.poses import (
    MovingVector,
    Pose,
    Turning,
    inverse_pose,
    multiplied_poses,
)
from linkwright.motion.trajectory import MotionError
from linkwright.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class ToolKinematics:
    """How the joints of an arm move its tool; `linkwright.robots.ik.tool_kinematics` makes it.

    Args:
        joints: names of the coordinates.
        forward: of `q`, `u` and `a`; it gives `place`, `turn`, `twist` and `bend` of the tool.
        tick: of `q`, the wanted pose (`goal_place`, `goal_turn`), how it moves (`flow`, `slope`,
            `second`), another twist (`probe`), `sigma` and `damping`; it gives the `error`, and of
            the joints `joint_flow`, `joint_slope`, `joint_second`, `joint_step`, `joint_probe`.

    >>> from linkwright.robots import Robot
    >>> from linkwright.robots.ik import tool_kinematics
    >>> tool_kinematics(Robot("puma560"), "tool").joints
    ('q1', 'q2', 'q3', 'q4', 'q5', 'q6')
    """

    joints: tuple[str, ...]
    forward: Program
    tick: Program


@dataclass(frozen=True, slots=True)
class Solved:
    """What kinematics at a tick say; velocities are `flow + sigma * slope`."""

    error: tuple[Expr, ...]
    flow: tuple[Expr, ...]
    slope: tuple[Expr, ...]
    second: tuple[Expr, ...]
    step: tuple[Expr, ...]
    probe: tuple[Expr, ...]


def tool_at(block: Block, arm: ToolKinematics, q: Sequence[Expr]) -> tuple[Triple, Quaternion]:
    """Return place and rotation of a tool."""
    nothing = [ZERO] * len(q)
    found = block.embed(arm.forward, {"q": q, "u": nothing, "a": nothing})
    x, y, z = (block.intermediate(e) for e in found["place"])
    w, i, j, k = (block.intermediate(e) for e in found["turn"])
    return (x, y, z), (w, i, j, k)


def solved(
    block: Block,
    arm: ToolKinematics,
    q: Sequence[Expr],
    goal: Pose,
    sigma: Expr,
    damping: Expr,
    probe: Sequence[Expr] = (ZERO,) * 6,
) -> Solved:
    """Return where the tool is and how its joints follow a wanted pose."""
    place, turn = goal.place, goal.turn
    found = block.embed(
        arm.tick,
        {
            "q": q,
            "goal_place": place.at,
            "goal_turn": turn.at,
            "flow": [*place.flow, *turn.flow],
            "slope": [*place.slope, *turn.slope],
            "second": [*place.second, *turn.second],
            "sigma": [sigma],
            "damping": [damping],
            "probe": probe,
        },
    )
    names = ("error", *(f"joint_{x}" for x in ("flow", "slope", "second", "step", "probe")))
    return Solved(*(tuple(block.intermediate(x) for x in found[name]) for name in names))


class ToolPose(Block):
    """Where a tool is and how it moves, from its joints: forward kinematics as a block.

    Its outputs fit the ports of a frame of another arm, which then follows the tool.

    Args:
        arm: kinematics of the tool, from `linkwright.robots.ik.tool_kinematics`.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> from linkwright.robots import Robot
    >>> from linkwright.robots.ik import tool_kinematics
    >>> ToolPose(tool_kinematics(Robot("puma560"), "tool"))
    ToolPose(tool_pose: q, u, a -> pose, twist, acceleration)
    """

    def __init__(
        self,
        arm: ToolKinematics,
        *,
        name: str = "tool_pose",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="forward kinematics of a tool")
        n = len(arm.joints)
        words = {"q": "joints", "u": "their rates", "a": "their accelerations"}
        given = {key: self.input_vector(key, n, doc=doc) for key, doc in words.items()}
        found = self.embed(arm.forward, given)
        self.output_vector("pose", [*found["place"], *found["turn"]], doc="of the tool")
        self.output_vector("twist", found["twist"], doc="m/s and rad/s, in the axes of the base")
        self.output_vector("acceleration", found["bend"], doc="rates of the twist")


class FrameProduct(Block):
    """The product of frames that stand or move: an equation of positions solved for a frame.

    Each factor has ports for its pose, twist and acceleration, as frames of an arm have, and so has
    the product. Where the base of an arm moves, `base^-1 frame` is the frame as that arm sees it.

    Args:
        factors: names of the factors, from the left.
        inverse: those of them of which the inverse counts.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> FrameProduct(["base", "table"], inverse=["base"]).outputs.keys()
    dict_keys(['pose', 'twist', 'acceleration'])
    """

    def __init__(
        self,
        factors: Sequence[str],
        *,
        inverse: Sequence[str] = (),
        name: str = "frame_product",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="product of frames")
        unknown = sorted(set(inverse) - set(factors))
        if not factors or unknown:
            raise MotionError(
                f"a product of {', '.join(factors) or 'nothing'} with the inverse of "
                f"{', '.join(unknown) or 'nothing'}",
                remedy="name one or more factors, and inverses among them",
            )
        found: Pose | None = None
        let = self.intermediate
        for factor in factors:
            pose = self.input_vector(f"{factor}_pose", 7, [0, 0, 0, 1, 0, 0, 0], doc="of a factor")
            twist = self.input_vector(f"{factor}_twist", 6, doc="m/s and rad/s")
            bend = self.input_vector(f"{factor}_acceleration", 6, doc="rates of the twist")
            here = given_pose(pose, twist, bend)
            here = inverse_pose(let, here) if factor in inverse else here
            found = here if found is None else multiplied_poses(let, found, here)
        assert found is not None
        place, turn = found.place, found.turn
        self.output_vector("pose", [*place.at, *turn.at], doc="x, y, z and w, x, y, z")
        self.output_vector("twist", [*place.flow, *turn.flow], doc="m/s and rad/s")
        self.output_vector("acceleration", [*place.second, *turn.second], doc="rates of the twist")


def given_pose(pose: Sequence[Expr], twist: Sequence[Expr], bend: Sequence[Expr]) -> Pose:
    """Return a pose from ports: x, y, z and a quaternion, twist and acceleration."""
    x, y, z, a, b, c, d = pose
    v, w = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    return Pose(
        MovingVector((x, y, z), v, second=(bend[0], bend[1], bend[2])),
        Turning((a, b, c, d), w, second=(bend[3], bend[4], bend[5])),
    )


class SampledIK(Block):
    """Joints that keep a tool at a pose which moves: inverse kinematics at each instant.

    The pose comes in as x, y, z and a unit quaternion, with its twist and acceleration, which are
    fed forward; the damped step of Newton's method takes away what is left. It starts at `start`,
    and comes to a pose that is far away in steps of bounded speed.

    Args:
        arm: kinematics of the tool, from `linkwright.robots.ik.tool_kinematics`.
        start: joints at the beginning.
        damping: of the inverse of the Jacobian near singular poses, in its units.
        speed: largest speed of the joints on the way to a pose, rad/s or m/s.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> from linkwright.robots import Robot
    >>> from linkwright.robots.ik import tool_kinematics
    >>> puma = Robot("puma560")
    >>> SampledIK(tool_kinematics(puma, puma.frames[-1]), [0, 0.8, 3.1, 0, 0.8, 0], rate=1000)
    SampledIK(sampled_ik: pose, twist, acceleration -> q, u, a, error, turn_error)
    """

    def __init__(
        self,
        arm: ToolKinematics,
        start: Sequence[float],
        *,
        damping: float = 1e-3,
        speed: float = 5.0,
        name: str = "sampled_ik",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="inverse kinematics at each instant")
        if len(start) != len(arm.joints):
            raise MotionError(f"{len(start)} joints at the start of an arm with {len(arm.joints)}")
        let = self.intermediate
        pose = self.input_vector("pose", 7, [0, 0, 0, 1, 0, 0, 0], doc="of the tool")
        twist = self.input_vector("twist", 6, doc="m/s and rad/s, in the axes of the base")
        bend = self.input_vector("acceleration", 6, doc="rates of the twist")
        slack = self.parameter("damping", float(damping), sign="positive")
        most = self.parameter("speed", float(speed), sign="positive")
        q = [self.discrete_state(f"q{k}", initial=float(x)) for k, x in enumerate(start)]
        goal = given_pose(pose, twist, bend)
        found = solved(self, arm, q, goal, ONE, slack)
        self.output_vector("q", q, doc="joints")
        self.output_vector("u", found.flow, doc="their rates")
        self.output_vector("a", found.second, doc="their accelerations")
        self.output("error", size(found.error[:3]), unit="m", doc="from the tool to the pose")
        self.output("turn_error", size(found.error[3:]), unit="rad", doc="likewise")
        step = limited(self, found.step, let(most * self.period))
        for x, u, a, s in zip(q, found.flow, found.second, step, strict=True):
            self.update(x, x + self.period * (u + self.period * a / 2) + s)


def size(v: Sequence[Expr]) -> Expr:
    """Return the length of a vector."""
    return sqrt(total(x**2 for x in v))


def limited(block: Block, step: Sequence[Expr], most: Expr) -> list[Expr]:
    """Return a step of joints that is shortened where one of them would go too far."""
    far = block.intermediate(maximum(*(absolute(x) for x in step), most))
    return [block.intermediate(x * (most / far)) for x in step]
