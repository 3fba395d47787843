"""The equations of motion of a robot as quantities: forces, accelerations, mass matrices, loads.

`linkwright.equations.kernels` and `linkwright.robots.joint_loads` say how they are made.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from linkwright.base.forking import cached_property
from linkwright.base.lazy import Later
from linkwright.robots.loaded_quantity import LoadedQuantity
from linkwright.robots.quantities import Quantities, Slopes
from linkwright.robots.quantity import Quantity

if TYPE_CHECKING:
    from linkwright.equations import kernels as dynamics
    from linkwright.equations.background import SplitDynamics
    from linkwright.equations.tree import Tree
    from linkwright.program import Program
    from linkwright.robots import coriolis, derivatives, joint_loads
else:
    coriolis = Later("linkwright.robots.coriolis")
    derivatives = Later("linkwright.robots.derivatives")
    dynamics = Later("linkwright.equations.kernels")
    joint_loads = Later("linkwright.robots.joint_loads")

_Q = TypeVar("_Q", bound=Quantity)


class Dynamics(Quantities):
    """The quantities of a robot in which forces and masses meet."""

    @abstractmethod
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

    @abstractmethod
    def _tangents(self, by: Sequence[str]) -> dict[str, Program]:
        """Return how coordinates change with unit speeds, where there are derivatives by them."""

    @cached_property
    def inverse_dynamics(self) -> LoadedQuantity:
        """Inverse dynamics (RNEA), forces from accelerations: `inverse_dynamics(q, u, a)`; with
        `wrench=` (or `payload=`) and `frame=`, what it takes to bear that too."""

        def slopes(by: Sequence[str]) -> Program:
            return derivatives.inverse_dynamics_derivative(
                self.mass_matrix.program, self.inverse_dynamics.program, by, self._tangents(by)
            )

        return self._quantity_of_kind(
            LoadedQuantity, "inverse_dynamics", lambda tree: dynamics.inverse_dynamics(tree), slopes
        ).with_loads(self._under("tau"))

    @cached_property
    def reactions(self) -> LoadedQuantity:
        """Force and moment that each joint puts on its link (of `links`), about the link's origin
        along its axes, N and N*m, n x 6: `reactions(q, u, a)`; `wrench=`, `payload=` and `base=`
        act too."""
        under = self._under("reactions")
        return self._quantity_of_kind(
            LoadedQuantity,
            "reactions",
            lambda tree: joint_loads.loads_program(tree, self._carriers, None, (), ["reactions"]),
        ).with_loads(under)

    @cached_property
    def joint_loads(self) -> LoadedQuantity:
        """Efforts of inverse dynamics and `reactions` from one kernel: `joint_loads(q, u, a)`."""
        results = "tau", "reactions"
        return self._quantity_of_kind(
            LoadedQuantity,
            "joint_loads",
            lambda tree: joint_loads.loads_program(tree, self._carriers, None, (), results),
        ).with_loads(self._under(*results))

    @cached_property
    def loop_loads(self) -> LoadedQuantity:
        """Efforts, `reactions` of the tree's joints, and force and moment (N, N*m, n x 6) that what
        closes each loop (of `loops`) puts on its second body, about that one's point along the
        ground's axes: `loop_loads(q, u, a)`. A relation that others imply carries nothing."""
        results = "tau", "reactions", "loops"
        return self._quantity_of_kind(
            LoadedQuantity,
            "loop_loads",
            lambda tree: joint_loads.loads_program(tree, self._carriers, None, (), results),
        ).with_loads(self._under(*results))

    def _under(self, *results: str) -> Callable[[str | None, tuple[str, ...]], Quantity]:
        """Return what makes quantities of joint loads under some loads, each once."""
        known: dict[tuple[str | None, tuple[str, ...]], Quantity] = {}

        def under(frame: str | None, loads: tuple[str, ...]) -> Quantity:
            def derived(tree: Tree) -> Program:
                spot = None if frame is None else self.spot(frame)
                return joint_loads.loads_program(tree, self._carriers, spot, loads, results)

            if frame is not None and frame not in self.frames:
                self.spot(frame)  # which says what is wrong
            if (frame, loads) not in known:
                name = f"{' and '.join(results)} under {', '.join(loads)} of {frame!r}"
                known[frame, loads] = self.quantity(name, derived)
            return known[frame, loads]

        return under

    def split_dynamics(self, speeds: str = "auto") -> SplitDynamics:
        """Return computed torque as a Program of the background, terms of the model where the robot
        is, and one of the foreground, products with them; beside them the whole law.

        Args:
            speeds: that count in centrifugal and Coriolis forces: "frozen", the background's,
                "fresh", the foreground's, or "auto", fresh where that is cheap.
        """
        from linkwright.equations.background import split_dynamics

        return split_dynamics(self.tree, speeds).optimized()

    @cached_property
    def forward_dynamics(self) -> Quantity:
        """Forward dynamics (ABA): the accelerations of forces: `forward_dynamics(q, u, tau)`."""

        def slopes(by: Sequence[str]) -> Program:
            return derivatives.forward_dynamics_derivative(
                self.mass_matrix.program,
                self.inverse_dynamics.program,
                dynamics.efforts_of(self.tree),
                by,
                self._tangents(by),
            )

        return self.quantity(
            "forward_dynamics", lambda tree: dynamics.forward_dynamics(tree), slopes
        )

    @cached_property
    def mass_matrix(self) -> Quantity:
        """The mass matrix (CRBA): `mass_matrix(q)`."""
        return self.quantity("mass_matrix", lambda tree: dynamics.mass_matrix_of(tree))

    @cached_property
    def inverse_mass_matrix(self) -> Quantity:
        """The inverse of the mass matrix: `inverse_mass_matrix(q)`."""
        return self.quantity("inverse_mass_matrix", lambda tree: dynamics.inverse_mass_matrix(tree))

    @cached_property
    def gravity(self) -> Quantity:
        """The forces that hold the robot still: `gravity(q)`."""
        return self.quantity("gravity", lambda tree: dynamics.gravity(tree))

    @cached_property
    def nonlinear_effects(self) -> Quantity:
        """Coriolis, centrifugal, gravity and friction forces: `nonlinear_effects(q, u)`."""
        return self.quantity("nonlinear_effects", lambda tree: dynamics.nonlinear_effects(tree))

    @cached_property
    def coriolis(self) -> Quantity:
        """The matrix C with C u + gravity = nonlinear effects without friction, and M' - 2 C skew:
        `coriolis(q, u)`."""
        return self.quantity("coriolis", lambda tree: coriolis.coriolis(tree))
