"""What a task may ask of its robot: poses, Jacobians, their rates, and the mass center.

The names are those of `Robot`, without its arguments: `state.jacobian("R_HAND")` is of the measured
joints, `state.desired.jacobian("R_HAND")` of those that are wanted. A native task gets expressions.
All is along the world's axes. Columns are the six speeds of a base that floats, along its own
axes and those of the robot's own `jacobian`, then the joints in the laboratory's order.

An end-effector can be moved in its link during a run, so what is known of it follows from its link
and from where it is seen: with p the vector from the link's origin, p' = w x p,

    J_v of it = J_v - [p] J_w,   J_v' of it = J_v' - [p'] J_w - [p] J_w'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import Expr, as_expr, substitute_all
from linkwright.base.errors import Error
from linkwright.base.lazy import Later
from linkwright.lab.config import LabConfig

if TYPE_CHECKING:  # most tasks ask for nothing of this
    from linkwright.equations import tree as trees
    from linkwright.equations.tree import Tree
    from linkwright.lab import plant, rules
    from linkwright.lab.plant import LabMechanism
    from linkwright.program import Program
    from linkwright.robots import fixed_frames, frames, momentum
    from linkwright.robots.quantity import Quantity
else:
    trees = Later("linkwright.equations.tree")
    plant, rules = Later("linkwright.lab.plant"), Later("linkwright.lab.rules")
    fixed_frames = Later("linkwright.robots.fixed_frames")
    frames, momentum = Later("linkwright.robots.frames"), Later("linkwright.robots.momentum")

ASKED = ("position", "pose", "jacobian", "jacobian_rate")
"""What is asked of a frame."""
WHOLE = ("center_of_mass", "center_of_mass_jacobian")
"""What is asked of the whole robot."""


class LabKinematics:
    """Kinematics of a laboratory's robot, of numbers and of symbols."""

    def __init__(self, config: LabConfig) -> None:
        self.config = config
        self._programs: dict[tuple[str, str], Program] = {}
        self._quantities: dict[tuple[str, str], Quantity] = {}

    @cached_property
    def robot(self) -> LabMechanism:
        """The robot with what its end-effectors carry as parameters."""
        return plant.lab_mechanism(replace(self.config, objects=()))

    @cached_property
    def tree(self) -> Tree:
        """What the Programs are written from; loads stay parameters."""
        robot, m = self.robot, self.robot.mechanism
        loads = {n for e in self.config.end_effectors for n in plant.load_names(e.name)}
        numbers = {x: m.values[n] for n, x in m.parameters.items() if n in m.values}
        numbers |= {
            m.parameters[n]: g for n, g in zip(plant.GRAVITY, self.config.gravity, strict=True)
        }
        numbers |= {x: 0.0 for n, x in m.parameters.items() if n == plant.HOLD}
        numbers = {**numbers, **robot.numbers}
        known = {x: v for x, v in numbers.items() if x.name not in loads}
        return trees.tree_of(rules.of_joints_alone(m), known)

    @cached_property
    def usual_loads(self) -> dict[str, float]:
        """Loads as the configuration has them, by parameter."""
        ends = self.config.end_effectors
        return {n: v for e in ends for n, v in self.robot.load_values(e).items()}

    @cached_property
    def columns(self) -> list[int]:
        """Where each speed of the laboratory's order is among those of the tree."""
        order = list(self.tree.speeds)
        return [order.index(x) for x in (*self.robot.base_speeds, *self.robot.speeds)]

    def program(self, name: str, frame: str) -> Program:
        """Return the Program of a quantity, of a link or another frame that does not move in it."""
        key = name, frame
        if key not in self._programs:
            if frame:
                spot = fixed_frames.spot_in(*self.robot.place(frame))
                self._programs[key] = frames.frame_program(name, self.tree, spot, {})
            else:
                self._programs[key] = getattr(momentum, name)(self.tree)
        return self._programs[key]

    def __call__(self, name: str, frame: str, known: Mapping[str, Any]) -> Any:
        """Return a quantity, of arrays by name: q, u, base, base_rate, carried."""
        program, robot = self.program(name, frame), self.robot
        places = dict(zip(robot.joints, known["q"], strict=True))
        places |= dict(zip(robot.base, known["base"] if robot.base else (), strict=True))
        places = robot.with_followers(places)
        speeds = dict(zip(robot.speeds, known["u"], strict=True))
        rate = known["base_rate"] if robot.base else ()
        speeds |= dict(zip(robot.base_speeds, rate, strict=True))
        changes = np.ravel(known["carried"])
        loads = {n: v + changes[i] for i, (n, v) in enumerate(self.usual_loads.items())}
        values = {
            "q": [places[x] for x in self.tree.coordinates],
            "u": [speeds[x] for x in self.tree.speeds],
            "p": [loads[x.name] for p in program.inputs if p.name == "p" for x in p.entries],
        }
        given = {port.name: values[port.name] for port in program.inputs}
        if np.asarray(known["q"]).dtype == object:
            found = _expressions(program, given)
        else:
            key = name, frame
            if key not in self._quantities:
                from linkwright.robots.quantity import Quantity

                self._quantities[key] = Quantity(f"lab_{name}", lambda: program)
            found = self._quantities[key](*(np.array(v, dtype=float) for v in given.values()))
        return found[..., self.columns] if "jacobian" in name else found

    def prepare(self, code: CodeType | None) -> None:
        """Make what the text of a task speaks of, so that its first tick does not wait for that."""
        words = () if code is None else {*code.co_names}
        frames = [] if code is None else [x for x in code.co_consts if isinstance(x, str)]
        zero = {
            "q": np.zeros(len(self.config.names)),
            "u": np.zeros(len(self.config.names)),
            "base": np.eye(1, 7, 3)[0],
            "base_rate": np.zeros(6),
            "carried": np.zeros(4 * len(self.config.end_effectors)),
        }
        for name in WHOLE:
            if name in words:
                self(name, "", zero)
        ends = {effector.name: effector.link for effector in self.config.end_effectors}
        for name in ASKED:
            for frame in frames if name in words else ():
                link = ends.get(frame, self.config.vertices.get(frame, frame))
                if link in self.robot.assembled.places:
                    for one in {name, "pose", "jacobian"} if frame in ends else {name}:
                        self(one, link, zero)


def _expressions(program: Program, given: Mapping[str, list[Any]]) -> Any:
    """Return the result of a Program for expressions."""
    from linkwright.program.program import Assign

    known: dict[Expr, Any] = {}
    for port in program.inputs:
        known.update(zip(port.entries, map(as_expr, given[port.name]), strict=True))
    for statement in program.statements:
        if not isinstance(statement, Assign):
            raise Error(
                f"{program.name} of this robot has no closed form",
                remedy="leave native = True out of the task",
            )
        known[statement.target] = substitute_all(statement.operands, known)[0]
    (port,) = program.outputs
    found = np.empty(len(port.entries), dtype=object)
    found[:] = substitute_all(port.entries, known)
    return found.reshape(port.shape)


def skew(v: Any) -> Any:
    """Return the matrix of the cross product with a vector of numbers or symbols.

    >>> (skew([1, 2, 3]) @ [4, 5, 6]).tolist()
    [-3, 6, -3]
    """
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rotation(q: Any) -> Any:
    """Return the matrix of a unit quaternion, scalar first, of numbers or symbols.

    >>> rotation([1, 0, 0, 0]).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


class RobotAnswers:
    """Answers the questions of a view: of the joints as they are, or as they are wanted."""

    def __init__(
        self,
        kinematics: LabKinematics,
        known: Mapping[str, Any],
        seen: Mapping[str, Any],
        measured: RobotAnswers | None = None,
    ) -> None:
        self.kinematics, self.known, self.seen = kinematics, known, seen
        self.measured = self if measured is None else measured

    def _values(self) -> dict[str, Any]:
        """Return the arrays that a Program needs; the base's speeds are along its own axes."""
        base, known = self.known["base"], self.known
        turn = rotation(base["q"]).T
        return {
            "q": known["q"],
            "u": known["u"],
            "carried": known["carried"],
            "base": np.concatenate([base["x"], base["q"]]),
            "base_rate": np.concatenate([turn @ base["xd"], turn @ base["w"]]),
        }

    def of(self, name: str, frame: str = "") -> Any:
        """Return a quantity of a frame, of an end-effector where it is now, or of the robot."""
        kinematics, values = self.kinematics, self._values()
        ends = {effector.name: effector.link for effector in kinematics.config.end_effectors}
        if frame not in ends:
            return kinematics(name, kinematics.config.vertices.get(frame, frame), values)
        link = ends[frame]
        T = kinematics("pose", link, values)
        place, turn = self._in_link(frame, link)
        p = T[:3, :3] @ place
        if name == "position":
            return T[:3, 3] + p
        if name == "pose":
            found = T.copy()
            found[:3, 3], found[:3, :3] = T[:3, 3] + p, T[:3, :3] @ turn
            return found
        J = kinematics("jacobian", link, values)
        arm = skew(p)
        if name == "jacobian":
            return np.concatenate([J[:3] - arm @ J[3:], J[3:]])
        speeds = np.concatenate([values["base_rate"], values["u"]])[-J.shape[1] :]
        turning = skew(skew(J[3:] @ speeds) @ p)
        rate = kinematics("jacobian_rate", link, values)
        return np.concatenate([rate[:3] - turning @ J[3:] - arm @ rate[3:], rate[3:]])

    def _in_link(self, frame: str, link: str) -> tuple[Any, Any]:
        """Return where an end-effector is in its link, by what is measured."""
        measured = self.measured
        T = measured.kinematics("pose", link, measured._values())
        seen = measured.seen[frame]
        back = T[:3, :3].T
        return back @ (seen["x"] - T[:3, 3]), back @ rotation(seen["q"])
