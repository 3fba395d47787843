"""Arms with flexible joints: exact linearization of their places (Spong 1987).

Each link hangs on its motor by a spring K,

    D(q) q'' + h(q, q') = K (theta - q) + w,    J theta'' + B theta' + K (theta - q) = tau,

with w the torques of the surroundings. With f(q, q', q'') = D q'' + h, the place's fourth
derivative is free: u = beta^-1 (v - alpha) with beta = D^-1 K J^-1, or, without an inverse of beta,

    q''   from D q''  = K (theta - q) + w - h
    q'''  from D q''' = K (theta' - q') + w' - f' without its term D q'''
    tau = J (q'' + K^-1 (f'' - w'')) + B theta' + K (theta - q),  f'' with q'''' = v.

f' and f'' are the first and second derivative of inverse dynamics along the motion, by
differentiation of its Program. With v = target'''' + sum of gains times the errors of q, q', q''
and q''', all four poles of each joint are at -bandwidth, and joints do not disturb each other.
Places and forces of a tool take the place of joints by `flexible_tasks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linkwright.algebra import ZERO, Expr, as_expr, symbol
from linkwright.blocks import Block, BlockError
from linkwright.control.force.flexible_tasks import FlexibleTask
from linkwright.control.joints import JointController, PerJoint, gains, numbers
from linkwright.control.models import mass_matrix
from linkwright.equations.kernels import quick_inverse
from linkwright.equations.tree import Tree, tree_of
from linkwright.program import Program, program
from linkwright.program.derivatives import jacobian_vector


class FlexibleJointControl(JointController):
    """Motor torques that make an arm with flexible joints linear, and place its poles.

    Beside the ports of joint controllers it has `theta` and `theta_rate`, the motors' angles and
    speeds seen at the joints (after the gears), the wanted `target_acceleration`, `target_jerk` and
    `target_snap`, and `load`, `load_rate`, `load_acceleration`: torques of the surroundings on the
    links. The output `tau` is for the motors, at the joints; a `drives.Drive` with an `Elastic`
    train takes it, divided by the ratio.

    Args:
        mechanism: the arm; all its joints are driven.
        stiffness: K of each joint, N*m/rad or N/m, without damping.
        inertia: J of each rotor at the joint (times the ratio squared), kg*m^2 or kg.
        bandwidth: of the four poles of each joint, rad/s.
        friction: viscous friction B of each rotor at the joint, N*m*s/rad or N*s/m.
        joints: the order in which ports hold the joints; by default that of the mechanism.
        target: where the joints should be; where the mechanism starts by default.
        values: numbers of the mechanism's parameters as the controller believes them to be.
        tool: a point of the arm; with `axes` its place, and after it as many of the last joints as
            it takes, are what is linearized, and what `target` and its rates are of.
        axes: of the ground, along which the tool is moved or presses: "x y".
        wrist: stiffness of a compliant wrist along axes of force, N/m: {"x": 2000}. Along these
            the tool presses on surroundings at rest with `push`, N; `force` is what is measured.
            Both ports hold a number for each axis of the wrist, in the order of `axes`.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=2, com=(1, 0, 0), inertia=0)
    >>> law = FlexibleJointControl(m, stiffness=100, inertia=0.5, bandwidth=10)
    >>> list(law.inputs)[:4], list(law.outputs)
    (['q', 'u', 'target', 'target_rate'], ['tau', 'acceleration', 'jerk'])
    """

    def __init__(
        self,
        mechanism: Any,
        stiffness: PerJoint,
        inertia: PerJoint,
        bandwidth: PerJoint,
        *,
        friction: PerJoint = 0.0,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        values: Mapping[str, float] | None = None,
        tool: str | None = None,
        axes: str = "",
        wrist: Mapping[str, float] | None = None,
        name: str = "flexible_joint_control",
    ) -> None:
        super().__init__(name, mechanism, joints, target)
        tree = tree_of(self.mechanism)
        self._refuse_undriven(tree)
        names, n = self.names_of_joints, len(self.joints)
        self._refuse_zero({"stiffness": stiffness, "inertia": inertia, "bandwidth": bandwidth})
        stiff, rotor, wide, drag = (
            gains(self, word, given, names, "positive" if word != "friction" else "")
            for word, given in (
                ("stiffness", stiffness),
                ("inertia", inertia),
                ("bandwidth", bandwidth),
                ("friction", friction),
            )
        )
        theta = self.input_vector("theta", n, self.joints, doc="motors' angles at the joints")
        turning = self.input_vector("theta_rate", n, doc="motors' speeds at the joints")
        ahead = [
            self.input_vector(f"target_{word}", n, doc=f"wanted {word}")
            for word in ("acceleration", "jerk", "snap")
        ]
        loads: list[Sequence[Expr]] = [
            self.input_vector(word, n, doc="torques of the surroundings" + more)
            for word, more in (
                ("load", ""),
                ("load_rate", ", rate"),
                ("load_acceleration", ", second rate"),
            )
        ]
        q, u = self.q, self.u
        none = [ZERO] * n
        task = None
        if tool is not None or axes or wrist:
            task = FlexibleTask(self, tool or "", axes, wrist or {}, values or {})
            loads[:2] = task.with_force(loads[:2], q, u)
        force, rate = self._programs(tree, values)
        mass = mass_matrix(self, self.by_joint(q), values=values)
        matrix = [[mass[x, y] for y in self.joints] for x in self.joints]
        twist = self._named(k * (t - x) for k, t, x in zip(stiff, theta, q, strict=True))
        held = self._along(force, {"q": q, "u": u, "a": none}, "tau")
        pushes = zip(twist, loads[0], held, strict=True)
        (a,) = self._solved(matrix, self._named(s + w - h for s, w, h in pushes))
        pulled = self._named(k * (t - x) for k, t, x in zip(stiff, turning, u, strict=True))
        kept = self._along(rate, {"q": q, "u": u, "a": a, "j": none}, "rate")
        pushes = zip(pulled, loads[1], kept, strict=True)
        (j,) = self._solved(matrix, self._named(s + w - h for s, w, h in pushes))
        wanted = [self.target, self.target_rate, *ahead]
        if task is None:
            pairs = zip(wanted, (q, u, a, j), strict=False)
            errors = [[x - y for x, y in zip(*pair, strict=True)] for pair in pairs]
            snap: Sequence[Expr] = ahead[2]
        else:
            loads[2:] = task.with_force(loads[2:], q, u, a)
            errors, snap = task.errors(wanted, q, u, a, j)
        v = []
        for w, along, *left in zip(wide, snap, *errors, strict=True):
            parts = zip((w**4, 4 * w**3, 6 * w**2, 4 * w), left, strict=True)
            v.append(self.intermediate(sum((g * e for g, e in parts), along)))
        if task is not None:
            v = task.snap(v, q, u, a, j)
        curve = jacobian_vector(rate, "rate", ["q", "u", "a", "j"])
        motion = {"q": q, "u": u, "a": a, "j": j, "d_q": u, "d_u": a, "d_a": j, "d_j": v}
        bent = self._along(curve, motion, "d_rate")
        tau = [
            rotor[k] * (a[k] + (bent[k] - loads[2][k]) / stiff[k]) + drag[k] * turning[k] + twist[k]
            for k in range(n)
        ]
        self.output_vector("tau", tau, doc="torques of the motors at the joints")
        self.output_vector("acceleration", a, doc="of the joints, from the state")
        self.output_vector("jerk", j, doc="of the joints, from the state")

    def _refuse_undriven(self, tree: Tree) -> None:
        rates = self.mechanism.kinematics().rates
        left = [s.name for s in tree.speeds if s not in {rates[x] for x in self.joints}]
        if left:
            raise BlockError(
                f"{self.name!r} drives {len(self.joints)} joints, but {', '.join(left)} of "
                f"{self.mechanism.name!r} is left to itself",
                remedy="drive all joints: this law inverts the whole arm",
            )

    def _refuse_zero(self, given: Mapping[str, PerJoint]) -> None:
        for word, value in given.items():
            found = numbers(value, self.names_of_joints, word, least=0.0)
            none = [x for x, number in zip(self.names_of_joints, found, strict=True) if not number]
            if none:
                raise BlockError(
                    f"{word} of {', '.join(none)} in {self.name!r} is zero",
                    remedy="give numbers above zero",
                )

    def _programs(self, tree: Tree, values: Mapping[str, float] | None) -> tuple[Program, Program]:
        """Return inverse dynamics, and its rate along a motion with jerk j."""
        force = quick_inverse(tree)
        places = {tree.kinematics.rates[x]: x for x in tree.coordinates}
        self._order = [places[s] for s in tree.speeds]
        self._believed = {n: as_expr(x) for n, x in (values or {}).items()}
        missing = {"q": tree.coordinates, "u": tree.speeds, "a": tree.accelerations}
        ports: dict[str, list[Expr]] = {k: list(x) for k, x in missing.items()}
        ports["j"] = [symbol(f"jerk{k}", "input", owner="jerk") for k in range(len(tree.speeds))]
        ports["p"] = [x for port in force.inputs if port.name == "p" for x in port.entries]
        known = [port.name for port in force.inputs if port.name != "p"]
        tangent = jacobian_vector(force, "tau", known)
        along = {"d_q": ports["u"], "d_u": ports["a"], "d_a": ports["j"]}
        scratch = Block("rate")
        taken = {f"d_{x}" for x in known}
        found = scratch.embed(tangent, {k: x for k, x in along.items() if k in taken})["d_tau"]
        return force, program("rate", ports, {"rate": list(found)}, statements=scratch.statements)

    def _along(self, made: Program, motion: Mapping[str, Sequence[Expr]], out: str) -> list[Expr]:
        """Return a Program's output by joint, from values by joint."""
        arguments: dict[str, list[Expr]] = {}
        for port in made.inputs:
            if port.name == "p":
                arguments["p"] = [self._believed.get(x.name, x) for x in port.entries]
            elif port.name in motion:
                by = self.by_joint(motion[port.name])
                arguments[port.name] = [by[x] for x in self._order]
        found = dict(zip(self._order, self.embed(made, arguments)[out], strict=True))
        return [found[x] for x in self.joints]

    def _named(self, values: Iterable[Expr]) -> list[Expr]:
        return [self.intermediate(x) for x in values]
