"""What can be asked of the motion and the masses of a robot, by name.

`linkwright.robots.frames`, `momentum` and `regressor` say how each is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from linkwright.base.forking import cached_property
from linkwright.base.lazy import Later
from linkwright.robots.quantity import USUAL_REFERENCE, FrameQuantity, Quantity, frame_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkwright.equations.tree import Tree
    from linkwright.program import Program
    from linkwright.robots import frames, momentum, regressor as regressors
    from linkwright.robots.fixed_frames import FixedFrame
    from linkwright.robots.regressor import ColumnBasis
else:
    frames = Later("linkwright.robots.frames")
    momentum = Later("linkwright.robots.momentum")
    regressors = Later("linkwright.robots.regressor")

Slopes = Callable[[Sequence[str]], "Program"]


class Quantities(ABC):
    """The quantities of a robot that are not its equations of motion.

    Six-vectors of motion hold the linear part first. `reference` is "local-world-aligned" (the
    default), "local" or "world"; see `linkwright.robots.kinematics`.
    """

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """What quantities are written from."""

    @abstractmethod
    def spot(self, frame: str) -> FixedFrame:
        """Return body and place of a frame."""

    @abstractmethod
    def quantity(
        self,
        name: str,
        derive: Callable[[Tree], Program],
        slopes: Slopes | None = None,
        *,
        weighs: bool = True,
    ) -> Quantity:
        """Return a quantity that is derived from the robot's tree."""

    @property
    @abstractmethod
    def links(self) -> tuple[str, ...]:
        """The links that joints move, in the order of the tree."""

    @property
    @abstractmethod
    def frames(self) -> tuple[str, ...]:
        """The names of links and other frames."""

    # -- frames ------------------------------------------------------------------------------------
    def _of_frames(self, name: str) -> FrameQuantity:
        """Return a quantity of frames; what derives it is imported where it must be derived."""

        def of_frame(frame: str, **options: str) -> Quantity:
            def derived(tree: Tree) -> Program:
                return frames.frame_program(name, tree, self.spot(frame), options)

            if frame not in self.frames:
                self.spot(frame)  # which says what is wrong
            chosen = (v for v in options.values() if v != USUAL_REFERENCE)
            return self.quantity(frame_label(name, frame, chosen), derived, weighs=False)

        return FrameQuantity(name, of_frame)

    @cached_property
    def pose(self) -> FrameQuantity:
        """The matrix from a frame to the world, 4 x 4 and homogeneous: `pose(q, frame)`."""
        return self._of_frames("pose")

    @cached_property
    def position(self) -> FrameQuantity:
        """The origin of a frame in the world, m: `position(q, frame)`."""
        return self._of_frames("position")

    @cached_property
    def orientation(self) -> FrameQuantity:
        """The unit quaternion (w, x, y, z), w not negative: `orientation(q, frame)`."""
        return self._of_frames("orientation")

    @cached_property
    def rpy(self) -> FrameQuantity:
        """Roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll), rad: `rpy(q, frame)`."""
        return self._of_frames("rpy")

    @cached_property
    def jacobian(self) -> FrameQuantity:
        """Velocity and angular velocity of a frame for unit speeds, 6 x n:
        `jacobian(q, frame, reference="local-world-aligned")`."""
        return self._of_frames("jacobian")

    @cached_property
    def pose_and_jacobian(self) -> FrameQuantity:
        """Both from one kernel: `pose_and_jacobian(q, frame, reference=...)`."""
        return self._of_frames("pose_and_jacobian")

    @cached_property
    def analytic_jacobian(self) -> FrameQuantity:
        """The rates of position and of the numbers of the orientation for unit speeds:
        `analytic_jacobian(q, frame, orientation="rpy")`, or "zyx" or "quaternion"."""
        return self._of_frames("analytic_jacobian")

    @cached_property
    def jacobian_rate(self) -> FrameQuantity:
        """The time derivative of the Jacobian: `jacobian_rate(q, u, frame, reference=...)`."""
        return self._of_frames("jacobian_rate")

    @cached_property
    def velocity(self) -> FrameQuantity:
        """Velocity and angular velocity of a frame: `velocity(q, u, frame, reference=...)`."""
        return self._of_frames("velocity")

    @cached_property
    def acceleration(self) -> FrameQuantity:
        """The rate of `velocity`, J a + J' u: `acceleration(q, u, a, frame, reference=...)`."""
        return self._of_frames("acceleration")

    @cached_property
    def drift(self) -> FrameQuantity:
        """The acceleration that speeds make, J' u: `drift(q, u, frame, reference=...)`."""
        return self._of_frames("drift")

    @cached_property
    def point_position(self) -> FrameQuantity:
        """Where a point, given in a frame, is, m: `point_position(q, point, frame)`."""
        return self._of_frames("point_position")

    @cached_property
    def point_velocity(self) -> FrameQuantity:
        """The velocity of a point of a frame, m/s: `point_velocity(q, u, point, frame)`."""
        return self._of_frames("point_velocity")

    @cached_property
    def point_jacobian(self) -> FrameQuantity:
        """The velocity of a point for unit speeds, 3 x n: `point_jacobian(q, point, frame)`."""
        return self._of_frames("point_jacobian")

    @cached_property
    def point_drift(self) -> FrameQuantity:
        """The acceleration of a point that speeds make: `point_drift(q, u, point, frame)`."""
        return self._of_frames("point_drift")

    # -- masses ------------------------------------------------------------------------------------
    @cached_property
    def center_of_mass(self) -> Quantity:
        """The mass center of what can move in the world, m: `center_of_mass(q)`."""
        return self.quantity("center_of_mass", lambda tree: momentum.center_of_mass(tree))

    @cached_property
    def center_of_mass_jacobian(self) -> Quantity:
        """The velocity of the mass center for unit speeds, 3 x n: `center_of_mass_jacobian(q)`."""
        return self.quantity(
            "center_of_mass_jacobian", lambda tree: momentum.center_of_mass_jacobian(tree)
        )

    @cached_property
    def centroidal_momentum(self) -> Quantity:
        """Momentum, then angular momentum about the mass center, along the world's axes:
        `centroidal_momentum(q, u)`."""
        return self.quantity(
            "centroidal_momentum", lambda tree: momentum.centroidal_momentum_of(tree)
        )

    @cached_property
    def centroidal_matrix(self) -> Quantity:
        """The centroidal momentum for unit speeds, 6 x n: `centroidal_matrix(q)`."""
        return self.quantity("centroidal_matrix", lambda tree: momentum.centroidal_matrix_of(tree))

    @cached_property
    def centroidal_momentum_rate(self) -> Quantity:
        """The rate of the centroidal momentum: `centroidal_momentum_rate(q, u, a)`."""
        return self.quantity(
            "centroidal_momentum_rate", lambda tree: momentum.centroidal_momentum_rate(tree)
        )

    @cached_property
    def kinetic_energy(self) -> Quantity:
        """The kinetic energy with that of geared rotors, J: `kinetic_energy(q, u)`."""
        return self.quantity("kinetic_energy", lambda tree: momentum.kinetic_energy_of(tree))

    @cached_property
    def potential_energy(self) -> Quantity:
        """The energy in the field of gravity, zero at the world's origin, J:
        `potential_energy(q)`."""
        return self.quantity("potential_energy", lambda tree: momentum.potential_energy_of(tree))

    # -- parameters --------------------------------------------------------------------------------
    @cached_property
    def inertial_parameters(self) -> NDArray[Any]:
        """Ten numbers for each of `links`: mass, first moments x, y, z, and Ixx, Ixy, Iyy, Ixz,
        Iyz, Izz about the origin of the link's frame along its axes; links that are fixed to it
        count with it."""
        return regressors.inertial_parameters(
            self.tree, self._carriers, self.tree.kinematics.mechanism.values
        )

    @cached_property
    def inertial_names(self) -> tuple[str, ...]:
        """The names of `inertial_parameters`, as `link.Ixx`."""
        return tuple(f"{link}.{name}" for link in self.links for name in regressors.INERTIAL)

    @property
    def _carriers(self) -> list[FixedFrame]:
        return [self.spot(link) for link in self.links]

    @cached_property
    def regressor(self) -> Quantity:
        """The matrix Y with inverse dynamics = Y inertial_parameters, without friction and rotors:
        `regressor(q, u, a)`."""
        return self.quantity(
            "regressor",
            lambda tree: regressors.regressor_of(tree, self._carriers),
            weighs=False,
        )

    @cached_property
    def joint_regressor(self) -> Quantity:
        """Y with three more columns for each joint with one coordinate: rotor inertia, viscous and
        dry friction: `joint_regressor(q, u, a)`."""
        return self.quantity(
            "joint_regressor",
            lambda tree: regressors.joint_regressor_of(
                tree, self._carriers, regressors.jointed_speeds(tree)
            ),
            weighs=False,
        )

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """The names of the columns of `joint_regressor`."""
        joints = [u.name.removesuffix("_dot") for u in regressors.jointed_speeds(self.tree)]
        return (
            *self.inertial_names,
            *(f"{joint}.{name}" for joint in joints for name in regressors.JOINT),
        )

    @cached_property
    def base(self) -> ColumnBasis:
        """The inertial parameters that motion can tell apart, and what the others add to them."""
        count = -(-2 * len(self.inertial_names) // max(1, len(self.tree.speeds))) + 4
        samples = self.regressor(*regressors.random_states(self.tree, count))
        return regressors.base_of(samples, self.inertial_names)

    @cached_property
    def base_regressor(self) -> Quantity:
        """The matrix with inverse dynamics = Y base.regrouping @ inertial_parameters:
        `base_regressor(q, u, a)`."""
        return self.quantity(
            "base_regressor",
            lambda tree: regressors.columns_of(
                self.regressor.program, self.base.columns, "base_regressor"
            ),
            weighs=False,
        )
