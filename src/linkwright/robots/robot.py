"""A robot: a mechanism with kernels at hand.

Conventions
- Coordinates and speeds are in the order of the tree; `Robot.coordinates` and `Robot.speeds` name
  them. A joint with one degree of freedom has its angle (rad) or displacement (m) and its rate.
- A free base has seven coordinates: x, y, z of the base link's origin in the ground's frame, then a
  unit quaternion (w, x, y, z) that takes the link's axes from the ground's; its six speeds are the
  velocity of that origin, then the angular velocity, both along the axes of the base link.
- Forces belong to speeds: for a free base, force and moment about the base link's origin, along
  its axes.
- Gravity is what the file says, 9.81 m/s^2 along -z by default.
- Six-vectors of motion hold the linear part first; `reference` is "local-world-aligned" (the
  default), "local" or "world" (`linkwright.robots.kinematics`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, suggestion
from linkwright.base.forking import cached_property
from linkwright.base.lazy import Later
from linkwright.base.viewer import Shown
from linkwright.formats.robot.description import Description, Ignored
from linkwright.robots import dynamics, quantities
from linkwright.robots.quantities import Slopes
from linkwright.robots.quantity import Quantity
from linkwright.robots.sources import read_source, refuse_choices

if TYPE_CHECKING:
    from linkwright.algebra import Expr
    from linkwright.equations import kernels
    from linkwright.equations.tree import Tree
    from linkwright.formats.robot.to_mechanism import Assembled
    from linkwright.mechanism import Mechanism, ModelLike, Point, kinematics, plausibility
    from linkwright.mechanism.parts import Platform
    from linkwright.program import Program
    from linkwright.robots import conventions, coriolis, derivatives, ik, momentum
    from linkwright.robots.fixed_frames import FixedFrame
    from linkwright.robots.ik import JointRates, RateLimits, Solution, Solver
    from linkwright.robots.ik.resolution import Method
    from linkwright.robots.states import Facts
else:
    conventions = Later("linkwright.robots.conventions")
    coriolis = Later("linkwright.robots.coriolis")
    derivatives = Later("linkwright.robots.derivatives")
    ik = Later("linkwright.robots.ik")
    kernels = Later("linkwright.equations.kernels")
    kinematics = Later("linkwright.mechanism.kinematics")
    momentum = Later("linkwright.robots.momentum")
    plausibility = Later("linkwright.mechanism.plausibility")

Array: TypeAlias = NDArray[np.float64]
_Q = TypeVar("_Q", bound=Quantity)


class Robot(Shown):
    """A robot from a file, a description or a mechanism.

    Args:
        model: the path of a file (URDF, MJCF, a Denavit-Hartenberg table, SL, a text model), the
            name of a shipped model, a description, or a mechanism whose parameters have values.
        base: "file" for a root link that stands on the ground and joints as they are, "free" for a
            root link that moves freely, "fixed" to hold a root that is free in the file,
            where the file draws it.
        roots: folders in which meshes may lie.
        friction: whether joints have the damping, dry friction and springs that the file gives, in
            runs and in all that the robot computes of itself. (Pinocchio leaves them out.)
        mimic: whether joints follow others where the file says so.
        limits: whether runs stop joints at the limits that the file gives, as MuJoCo and Drake do;
            what a robot computes of itself (dynamics, Jacobians) knows of no limits.
        locked: coordinates at which joints are held, by name, rad or m.
        symbolic: keep inertial parameters, or all those of a mechanism, as the last input `p` of
            quantities, which is their values where it is left out.
        actuators: names of the coordinates that are driven, in place of the mechanism's own. Where
            loops are closed, their speeds are the robot's.
        platform: name of the point or body that the robot moves, in place of the mechanism's own.

    >>> from linkwright.formats.robot.description import Link, LinkJoint, Mass
    >>> links = Link("base"), Link("rod", Mass(1.0, (0.5, 0.0, 0.0)))
    >>> joint = LinkJoint("hinge", "revolute", "base", "rod", axis=(0.0, 1.0, 0.0))
    >>> swing = Robot(Description("swing", links, (joint,)))
    >>> swing.inverse_dynamics([0.0], [0.0], [0.0])
    array([-4.905])
    >>> swing.coordinates, swing.frames
    (('hinge',), ('base', 'rod'))
    >>> puma = Robot("puma560")
    >>> puma
    Robot('puma560': 6 coordinates, 6 speeds, 8 frames)
    >>> q, u, a = [0, 0.8, 3.1, 0, 0.8, 0], [0] * 6, [1] * 6
    >>> puma.inverse_dynamics(q, u, a).round(2)
    array([ 3.3 , 35.38,  7.24,  0.19,  0.2 ,  0.19])
    """

    @worded
    def __init__(
        self,
        model: Description | ModelLike,
        *,
        base: str = "file",
        roots: Sequence[str | os.PathLike[str]] = (),
        friction: bool = True,
        mimic: bool = True,
        limits: bool = True,
        locked: Mapping[str, float] | None = None,
        symbolic: bool = False,
        actuators: Sequence[str] | None = None,
        platform: str | None = None,
    ) -> None:
        started = time.perf_counter()
        self.timings: dict[str, float] = {}
        self._source = read_source(model, roots)
        if not isinstance(self._source, Description):
            refuse_choices(base=base, friction=friction, mimic=mimic, locked=locked)
        elif self._source is not model:
            self.timings["read"] = time.perf_counter() - started
        self._options: dict[str, Any] = {
            "base": base,
            "friction": friction,
            "mimic": mimic,
            "limits": limits,
            "locked": locked,
            "symbolic": symbolic,
        }
        self._drives = (None if actuators is None else tuple(actuators), platform)
        self._told: Mechanism | None = None

    # -- what there is -----------------------------------------------------------------------------
    @property
    def source(self) -> Description | Mechanism:
        """What the robot was made from."""
        return self._source

    @property
    def ignored(self) -> tuple[Ignored, ...]:
        """What the file says and was not used, each kind once with the line where it stands."""
        return self._source.ignored if isinstance(self._source, Description) else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done while reading and assembling that somebody may want to know."""
        return self.assembled.notes

    def __repr__(self) -> str:
        sizes = f"{len(self.coordinates)} coordinates, {len(self.speeds)} speeds"
        return f"Robot({self._source.name!r}: {sizes}, {len(self.frames)} frames)"

    @cached_property
    def assembled(self) -> Assembled:
        """The mechanism with the places of links and frames."""
        from linkwright.formats.robot.to_mechanism import as_assembled, assembled

        started = time.perf_counter()
        source, (actuators, platform) = self._source, self._drives
        if isinstance(source, Description):
            made = assembled(source, **self._options)
            made.mechanism.actuate(*(actuators or ()))
            if platform is not None:
                made.mechanism.set_platform(platform)
        else:
            if self._drives != (None, None):
                source.when_changed(self._forget_all)
                source = source.with_drives(actuators, platform)
            made = as_assembled(source, symbolic=self._options["symbolic"])
        self.timings["assemble"] = time.perf_counter() - started
        if self._told is not made.mechanism:
            made.mechanism.when_changed(self.forget)
            self._told = made.mechanism
        return made

    def _forget_all(self) -> None:
        """Forget the view with other actuators too: the mechanism behind it has been changed."""
        self.forget()
        self.__dict__.pop("assembled", None)

    def forget(self) -> None:
        """Forget what was derived: the mechanism has been changed, and is what counts now."""
        own = type(self)
        stays = self._source is not self._told  # else places of points may be others now
        for name in [n for n in vars(self) if isinstance(getattr(own, n, None), cached_property)]:
            if name != "assembled" or not stays:
                del self.__dict__[name]
        self.__dict__["_digest"] = ""  # the disk cache knows it as it was

    @cached_property
    def kept(self) -> dict[str, Quantity]:
        """Kernels of inverse kinematics that were made of the robot, until it is changed."""
        return {}

    @cached_property
    def _digest(self) -> str:
        """What stands for the robot in the disk cache; nothing for a mechanism."""
        from linkwright.robots.stored import robot_digest

        if not isinstance(self._source, Description) or self._options["symbolic"]:
            return ""
        return robot_digest(self._source, {**self._options, "drives": self._drives})

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        return self.assembled.mechanism

    @cached_property
    def tree(self) -> Tree:
        """What quantities are written from."""
        from linkwright.equations.tree import tree_of

        known: dict[Expr, Expr | float] = {
            joint.coordinates[0]: joint.follows[1] * joint.follows[0] + joint.follows[2]
            for joint in self.assembled.joints
            if joint.follows is not None
        }
        mechanism = self.mechanism
        known.update(dict.fromkeys(mechanism.inputs.values(), 0.0))
        if not self._options["symbolic"]:
            known.update((mechanism.parameters[k], v) for k, v in self.parameters.items())
        made = tree_of(mechanism, known)
        if len(made.speeds) > len(mechanism.actuators) > 0:
            from linkwright.equations.undriven import refuse_undriven

            refuse_undriven(mechanism)
        return made

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The values of the mechanism's parameters; those of a description are numbers unless it
        was loaded with `symbolic=True`."""
        mechanism = self.mechanism
        return {
            k: mechanism.values[k] for k in sorted(mechanism.parameters) if k in mechanism.values
        }

    @cached_property
    def _facts(self) -> Facts:
        """What the robot says of itself, from the disk cache where that has it."""
        from linkwright.robots.states import facts_of
        from linkwright.robots.stored import known_facts

        def make() -> Facts:
            return facts_of(self.assembled, self.tree)

        return known_facts(self._digest, make) if self._digest else make()

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates q."""
        return self._facts.coordinates

    @property
    def speeds(self) -> tuple[str, ...]:
        """The names of the speeds u."""
        return self._facts.speeds

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of links and other frames."""
        return self._facts.frames

    @property
    def links(self) -> tuple[str, ...]:
        """The links that joints move, in the order of the tree."""
        return self._facts.links

    @property
    def mass(self) -> float:
        """The mass of all that moves, kg.

        >>> from linkwright.robots import Robot
        >>> round(Robot("stanford-arm").mass, 3) > 0
        True
        """
        from linkwright.algebra import ZERO, evaluate

        m = self.mechanism
        moving = (body for body in m.bodies.values() if not kinematics.stands_still(body))
        total = sum((body.inertia.mass for body in moving), ZERO)
        known = {x: m.values[name] for name, x in m.parameters.items() if name in m.values}
        return float(evaluate(total, known))

    @property
    def actuators(self) -> tuple[str, ...]:
        """The names of the coordinates that are driven, in order; empty where none are named.

        >>> from linkwright.robots import Robot
        >>> Robot("four-bar", actuators=["b"]).actuators
        ('b',)
        """
        return tuple(q.name for q in self.mechanism.actuators)

    @property
    def loops(self) -> tuple[str, ...]:
        """What closes its loops: joints by their names, then rods and driven struts.

        >>> from linkwright.robots import Robot
        >>> Robot("five-bar").loops
        ('pin',)
        """
        from linkwright.robots.loop_forces import loop_names

        return loop_names(self.mechanism)

    @property
    def platform(self) -> Platform | None:
        """The point that the robot moves, and the axis along which it points."""
        return self.mechanism.platform

    # -- configurations ----------------------------------------------------------------------------
    @cached_property
    def limits(self) -> Array:
        """The lowest and highest value of each coordinate, n x 2, infinite where there is none."""
        return np.array([self._facts.lower, self._facts.upper]).T.reshape(-1, 2)

    @cached_property
    def speed_limits(self) -> Array:
        """The highest magnitude of each speed."""
        return np.array(self._facts.fastest)

    @cached_property
    def effort_limits(self) -> Array:
        """The highest magnitude of each force in a joint, N*m or N."""
        return np.array(self._facts.strongest)

    @cached_property
    def neutral(self) -> Array:
        """The configuration in which the file draws the robot, and where runs start.

        Coordinates are zero, and quaternions do not turn, where nothing says otherwise.
        """
        return np.array(self._facts.start)

    @worded
    def random(self, count: int | None = None, *, seed: int = 0) -> Array:
        """Return a random configuration within the limits, or several as rows.

        Args:
            count: how many rows; one vector by default.
            seed: of the random numbers.
        """
        rows = 1 if count is None else count
        if rows < 0:
            raise InputError(f"{rows} random configurations were asked for")
        made = self._facts.random(rows, np.random.default_rng(seed))
        return made if count is not None else np.asarray(made[0])

    def to_pinocchio(
        self, q: Any, u: Any = None, a: Any = None, tau: Any = None, *, model: Any = None
    ) -> Any:
        """Return q, and what else is given, in Pinocchio's conventions.

        Args:
            q: coordinates.
            u: speeds.
            a: accelerations.
            tau: forces.
            model: a `pinocchio.Model` whose joints have the same names; by default our order.
        """
        layout = self._in_pinocchio(model)
        size = None if model is None else (model.nq, model.nv)
        return _alone(conventions.to_pinocchio(layout, q, u, a, tau, size))

    def from_pinocchio(
        self, q: Any, u: Any = None, a: Any = None, tau: Any = None, *, model: Any = None
    ) -> Any:
        """Return in our conventions what is given in Pinocchio's; see `to_pinocchio`.

        Args:
            q: coordinates.
            u: speeds.
            a: accelerations.
            tau: forces.
            model: a `pinocchio.Model` whose joints have the same names; by default our order.
        """
        return _alone(conventions.from_pinocchio(self._in_pinocchio(model), q, u, a, tau))

    def _in_pinocchio(self, model: Any) -> tuple[conventions.Slot, ...]:
        find = None if model is None else conventions.pinocchio_places(model)
        return conventions.slots(self.assembled, self.tree, find, angles_as_pairs=True)

    def to_mujoco(
        self, q: Any, u: Any = None, a: Any = None, tau: Any = None, *, model: Any = None
    ) -> Any:
        """Return q, and what else is given, in MuJoCo's conventions.

        Args:
            q: coordinates.
            u: speeds.
            a: accelerations; those of a free base need u too.
            tau: forces.
            model: a `mujoco.MjModel` whose joints have the same names; by default our order.
        """
        layout = self._in_mujoco(model)
        size = None if model is None else (model.nq, model.nv)
        return _alone(conventions.to_mujoco(layout, q, u, a, tau, size))

    def from_mujoco(
        self, q: Any, u: Any = None, a: Any = None, tau: Any = None, *, model: Any = None
    ) -> Any:
        """Return in our conventions what is given in MuJoCo's; see `to_mujoco`.

        Args:
            q: coordinates.
            u: speeds.
            a: accelerations; those of a free base need u too.
            tau: forces.
            model: a `mujoco.MjModel` whose joints have the same names; by default our order.
        """
        return _alone(conventions.from_mujoco(self._in_mujoco(model), q, u, a, tau))

    def _in_mujoco(self, model: Any) -> tuple[conventions.Slot, ...]:
        find = None if model is None else conventions.mujoco_places(model)
        return conventions.slots(self.assembled, self.tree, find)

    @worded
    def spot(self, frame: str) -> FixedFrame:
        """Return body and place of a frame."""
        found = self.assembled.places.get(frame)
        if found is None:
            remedy = suggestion(frame, self.assembled.places, "Robot.frames lists them")
            raise InputError(f"the robot has no frame {frame!r}", remedy=remedy)
        from linkwright.robots.fixed_frames import spot_in

        return spot_in(*found)

    def point(self, frame: str) -> Point:
        """Return a link or another frame as a point of the mechanism, with the frame's axes.

        Elements take the frame's name as well: `Contact(robot, ["foot"], ...)`.

        Args:
            frame: one of `frames`.

        >>> from linkwright.formats.robot.description import Link, LinkJoint, Mass
        >>> links = Link("base"), Link("rod", Mass(1.0, (0.5, 0.0, 0.0)))
        >>> hinge = LinkJoint("hinge", "revolute", "base", "rod")
        >>> swing = Robot(Description("swing", links, (hinge,)))
        >>> swing.point("rod").body.name
        'rod'
        """
        from linkwright.mechanism.parts import as_point

        self.spot(frame)
        return as_point(self.mechanism.place(frame))

    # -- quantities --------------------------------------------------------------------------------
    def quantity(
        self,
        name: str,
        derive: Callable[[Tree], Program],
        slopes: Slopes | None = None,
        *,
        weighs: bool = True,
    ) -> Quantity:
        """Return a quantity that is derived from the robot's tree.

        Args:
            name: what it is called.
            derive: returns its Program.
            slopes: returns the Program of its derivatives, where there is a better way than to
                differentiate its statements.
            weighs: whether masses count in it; then those that cannot be are rejected.
        """
        return self._quantity_of_kind(Quantity, name, derive, slopes, weighs=weighs)

    def _quantity_of_kind(
        self,
        kind: type[_Q],
        name: str,
        derive: Callable[[Tree], Program],
        slopes: Slopes | None = None,
        *,
        weighs: bool = True,
    ) -> _Q:
        """Return a quantity of some class; see `quantity`."""

        def derived() -> Program:
            if weighs:
                plausibility.refuse_negative(self.mechanism)
            return derive(self.tree)

        def differentiated(by: Sequence[str]) -> Quantity:
            def program(tree: Tree) -> Program:
                if slopes is not None:
                    return slopes(by)
                return derivatives.derivative_program(made.program, by, self._tangents(by))

            return self.quantity(f"{name} by {', '.join(by)}", program, weighs=weighs)

        def key() -> str:
            return self._digest and f"{self._digest} {name}"

        made = kind(
            name,
            derived,
            self.timings,
            differentiated,
            key,
            lambda: self.parameters,
        )
        return made

    def _tangents(self, by: Sequence[str]) -> dict[str, Program]:
        """Return how coordinates change with unit speeds, where there are derivatives by them."""
        return {"q": derivatives.tangent_program(self.tree)} if "q" in by else {}

    # -- frames, by name: six-vectors of motion hold the linear part first -------------------------
    pose = quantities.of_frames(
        "The matrix from a frame to the world, 4 x 4 and homogeneous: `pose(q, frame)`."
    )
    position = quantities.of_frames("The origin of a frame in the world, m: `position(q, frame)`.")
    orientation = quantities.of_frames(
        "The unit quaternion (w, x, y, z), w not negative: `orientation(q, frame)`."
    )
    rpy = quantities.of_frames(
        "Roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll), rad: `rpy(q, frame)`."
    )
    jacobian = quantities.of_frames(
        "Velocity and angular velocity of a frame for unit speeds, 6 x n: `jacobian(q, frame, "
        'reference="local-world-aligned")`.'
    )
    pose_and_jacobian = quantities.of_frames(
        "Both from one kernel: `pose_and_jacobian(q, frame, reference=...)`."
    )
    analytic_jacobian = quantities.of_frames(
        "The rates of position and of the numbers of the orientation for unit speeds: "
        '`analytic_jacobian(q, frame, orientation="rpy")`, or "zyx" or "quaternion".'
    )
    jacobian_rate = quantities.of_frames(
        "The time derivative of the Jacobian: `jacobian_rate(q, u, frame, reference=...)`."
    )
    velocity = quantities.of_frames(
        "Velocity and angular velocity of a frame: `velocity(q, u, frame, reference=...)`."
    )
    acceleration = quantities.of_frames(
        "The rate of `velocity`, J a + J' u: `acceleration(q, u, a, frame, reference=...)`."
    )
    drift = quantities.of_frames(
        "The acceleration that speeds make, J' u: `drift(q, u, frame, reference=...)`."
    )
    point_position = quantities.of_frames(
        "Where a point, given in a frame, is, m: `point_position(q, point, frame)`."
    )
    point_velocity = quantities.of_frames(
        "The velocity of a point of a frame, m/s: `point_velocity(q, u, point, frame)`."
    )
    point_jacobian = quantities.of_frames(
        "The velocity of a point for unit speeds, 3 x n: `point_jacobian(q, point, frame)`."
    )
    point_drift = quantities.of_frames(
        "The acceleration of a point that speeds make: `point_drift(q, u, point, frame)`."
    )

    # -- masses ------------------------------------------------------------------------------------
    center_of_mass = quantities.of_tree(
        lambda tree: momentum.center_of_mass(tree),
        "The mass center of what can move in the world, m: `center_of_mass(q)`.",
    )
    center_of_mass_jacobian = quantities.of_tree(
        lambda tree: momentum.center_of_mass_jacobian(tree),
        "The velocity of the mass center for unit speeds, 3 x n: `center_of_mass_jacobian(q)`.",
    )
    centroidal_momentum = quantities.of_tree(
        lambda tree: momentum.centroidal_momentum_of(tree),
        "Momentum, then angular momentum about the mass center, along the world's axes: "
        "`centroidal_momentum(q, u)`.",
    )
    centroidal_matrix = quantities.of_tree(
        lambda tree: momentum.centroidal_matrix_of(tree),
        "The centroidal momentum for unit speeds, 6 x n: `centroidal_matrix(q)`.",
    )
    centroidal_momentum_rate = quantities.of_tree(
        lambda tree: momentum.centroidal_momentum_rate(tree),
        "The rate of the centroidal momentum: `centroidal_momentum_rate(q, u, a)`.",
    )
    kinetic_energy = quantities.of_tree(
        lambda tree: momentum.kinetic_energy_of(tree),
        "The kinetic energy with that of geared rotors, J: `kinetic_energy(q, u)`.",
    )
    potential_energy = quantities.of_tree(
        lambda tree: momentum.potential_energy_of(tree),
        "The energy in the field of gravity, zero at the world's origin, J: `potential_energy(q)`.",
    )

    coordinate_rates = quantities.of_tree(
        lambda tree: momentum.coordinate_rates_of(tree),
        "The rates of all coordinates, which loops move too, by the speeds: "
        "`coordinate_rates(q, u)`; its derivative by u is the projection onto the speeds.",
    )

    # -- parameters --------------------------------------------------------------------------------
    inertial_parameters = cached_property(quantities.inertial_parameters)
    inertial_names = cached_property(quantities.inertial_names)
    regressor = cached_property(quantities.regressor)
    joint_regressor = cached_property(quantities.joint_regressor)
    full_names = cached_property(quantities.full_names)
    base = cached_property(quantities.base)
    base_regressor = cached_property(quantities.base_regressor)

    # -- forces and masses -------------------------------------------------------------------------
    inverse_dynamics = cached_property(dynamics.inverse_dynamics)
    forward_dynamics = cached_property(dynamics.forward_dynamics)
    reactions = cached_property(dynamics.reactions)
    joint_loads = cached_property(dynamics.joint_loads)
    loop_loads = cached_property(dynamics.loop_loads)
    mass_matrix = quantities.of_tree(
        lambda tree: kernels.mass_matrix_of(tree),
        "The mass matrix (CRBA): `mass_matrix(q)`.",
    )
    inverse_mass_matrix = quantities.of_tree(
        lambda tree: kernels.inverse_mass_matrix(tree),
        "The inverse of the mass matrix: `inverse_mass_matrix(q)`.",
    )
    gravity = quantities.of_tree(
        lambda tree: kernels.gravity(tree),
        "The forces that hold the robot still: `gravity(q)`.",
    )
    nonlinear_effects = quantities.of_tree(
        lambda tree: kernels.nonlinear_effects(tree),
        "Coriolis, centrifugal, gravity and friction forces: `nonlinear_effects(q, u)`.",
    )
    coriolis = quantities.of_tree(
        lambda tree: coriolis.coriolis(tree),
        "The matrix C with C u + gravity = nonlinear effects without friction, and M' - 2 C skew: "
        "`coriolis(q, u)`.",
    )
    split_dynamics = dynamics.split_dynamics

    # -- inverse kinematics ------------------------------------------------------------------------
    @worded
    def inverse_kinematics(
        self,
        target: Any,
        frame: str | None = None,
        initial: Any = None,
        *,
        tolerance: float = 1e-6,
        weights: Sequence[float] | Mapping[str, Sequence[float]] = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        posture: Any = None,
        posture_gain: Any = 0.0,
        attempts: int = 50,
        seed: int = 0,
        solver: Solver | None = None,
    ) -> Solution:
        """Return coordinates that bring a frame, or several, to a pose, within the joints' limits.

        Args:
            target: the pose, a 4 x 4 matrix, or several along the first axis; or a position of
                three numbers, m, which leaves the orientation free, or several. For several
                frames at once a mapping: `{"left": pose, "right": position}`.
            frame: the name of the frame; none where the goals have names.
            initial: coordinates to begin with; by default the middle of the limits.
            tolerance: of position (m) and orientation (rad).
            weights: of the errors along x, y, z and about them; 0 leaves one free. For several
                frames also by their names.
            posture: posture to which freedom is used; the start by default.
            posture_gain: how strongly, 0 to 1 for each step.
            attempts: starts to try; those after the first are random.
            seed: of the random starts.
            solver: a function with the arguments of `linkwright.robots.ik.solve`; that by default.
        """
        if solver is not None and not callable(solver):
            raise InputError(f"the solver must be a function, not {solver!r}")
        return (solver or ik.solve)(
            self,
            target,
            frame,
            initial,
            tolerance=tolerance,
            weights=weights,
            posture=posture,
            posture_gain=posture_gain,
            attempts=attempts,
            seed=seed,
        )

    @worded
    def joint_rates(
        self,
        q: ArrayLike,
        velocity: ArrayLike,
        frame: str,
        *,
        method: Method = "pseudo",
        threshold: float = 1e-6,
        damping: float | None = None,
        weights: ArrayLike = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        aim: ArrayLike | None = None,
        climb: str | Expr | None = None,
        gain: float = 1.0,
        limits: RateLimits | None = None,
        last: ArrayLike | None = None,
    ) -> JointRates:
        """Return the least rates of joints that give a frame a velocity, as far as they can.

        Args:
            q: coordinates, or rows of them.
            velocity: velocity and angular velocity of the frame, in the world's axes; or rows.
            frame: the name of the frame.
            method: "pseudo" for the pseudo-inverse that finds the rank; "damped" for damped least
                squares; "partition" for one square solve, with the same result as the first where
                the Jacobian has full rank, in fewer operations.
            threshold: pivots of the Jacobian below this, in relation to its largest row (its
                largest entry, for a partition), count as zero.
            damping: of damped least squares, in the units of the Jacobian; 0.05 by default.
            weights: of the six components of the rate; 0 leaves one free. A partition meets all
                that are not free exactly, so they are alike to it.
            aim: rates of joints that are approached with what freedom is left (null space).
            climb: what freedom makes larger: "manipulability", or an expression of coordinates.
            gain: rates of joints for a unit of its gradient.
            limits: of position, speed and acceleration to keep, by saturation in the null space;
                where they do not allow the whole rate, `scale` says what part they allow.
            last: the rates before these, for limits of acceleration; at rest by default.
        """
        return ik.joint_rates(
            self,
            q,
            frame,
            velocity,
            method=method,
            threshold=threshold,
            damping=damping,
            weights=weights,
            aim=aim,
            climb=climb,
            gain=gain,
            limits=limits,
            last=last,
        )

    def inverse_kinematics_branches(self, target: Any, frame: str) -> Array:
        """Return all solutions of an arm with six revolute joints, nan where there is none.

        An arm with a spherical wrist has up to 8, in closed form; any other up to 16.

        Args:
            target: the pose of the frame, a 4 x 4 matrix.
            frame: the tool.
        """
        try:
            return ik.branches(ik.spherical_arm(self, frame), target)
        except ik.NoClosedForm:
            from linkwright.robots.ik.general import general_arm, general_branches

            return general_branches(general_arm(self, frame), target)


def _alone(results: tuple[Array, ...]) -> Any:
    return results[0] if len(results) == 1 else results
