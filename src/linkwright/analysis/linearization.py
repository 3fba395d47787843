"""Linear models of mechanisms: exact A, B, C, D at an operating point or along a motion.

The Jacobians are Programs made from the equations of motion, so they are exact. The states of the
linear model are independent coordinates, independent speeds and extra states. Coordinates that
loops compute follow the independent ones: with G the Jacobian of the relations of position, small
changes satisfy G dq = 0. Speeds that constraints eliminate are functions of the state already.

A quaternion has three states, the small rotation dθ in body axes (the tangent space, with
Pinocchio's convention e ⊕ dθ = e * exp(dθ/2)); its rate is dω - ω × dθ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount
from linkwright.analysis.modes import Mode, modes, moving_states
from linkwright.backends.kernel import Kernel, compile as compile_kernel
from linkwright.border import worded
from linkwright.brief import brief
from linkwright.equations import Equations, derive
from linkwright.equations.closure import Relations, assemble, independent_columns
from linkwright.equations.evaluation import all_values, numbers
from linkwright.equations.formulations import QUICK
from linkwright.equations.poles import refuse_pole
from linkwright.mechanism import Body, Mechanism, mechanism_of
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.optional import extra

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class LinearModel:
    """x' = A x + B w, y = C x + D w for small changes about an operating point.

    Args:
        a: system matrix.
        b: effect of the inputs.
        c: outputs from states.
        d: outputs from inputs.
        states: names of the states, coordinates first.
        inputs: names of the inputs.
        outputs: names of the outputs.
        point: the operating point: value of every coordinate, speed and extra state.
        drift: the rates of the states at the operating point; zero in an equilibrium.
        computed: coordinates that follow the others through loops.

    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x - 4*v", at=b.origin, along="x")
    >>> model = linearize(m)
    >>> model.states, round(model.modes()[0].damping, 6)
    (('b', 'b_dot'), 0.5)
    """

    a: Array
    b: Array
    c: Array
    d: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    point: dict[str, float] = field(default_factory=dict)
    drift: Array = field(default_factory=lambda: np.zeros(0))
    computed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = (("state", self.states), ("input", self.inputs), ("output", self.outputs))
        told = ", ".join(f"{len(x)} {word}{'' if len(x) == 1 else 's'}" for word, x in counts)
        return f"LinearModel({told}: {brief(list(self.states))[1:-1]})"

    def modes(self) -> list[Mode]:
        """Return eigenvalues and shapes, states on which nothing depends set aside."""
        return modes(self.a, self.states)

    def eigenvalues(self) -> NDArray[np.complex128]:
        """Return the eigenvalues of the states on which something depends, by real part.

        Conjugates stand side by side. `neutral` names the states that were set aside.
        """
        kept = moving_states(self.a)
        values = np.linalg.eigvals(self.a[np.ix_(kept, kept)]) if kept else np.zeros(0)
        return np.array(sorted(values, key=lambda v: (v.real, v.imag)), dtype=complex)

    @property
    def neutral(self) -> tuple[str, ...]:
        """The states on which nothing depends; each has an eigenvalue 0."""
        kept = set(moving_states(self.a))
        return tuple(n for k, n in enumerate(self.states) if k not in kept)

    def to_control(self) -> Any:
        """Return the model as a state space system of python-control.

        Its outputs are those of the model, or the states where the model has none. python-control
        comes with `pip install linkwright[control]`.
        """
        control = extra("control", "control")
        c, d, outputs = self.c, self.d, self.outputs
        if not outputs:
            c, d = np.eye(len(self.states)), np.zeros((len(self.states), len(self.inputs)))
            outputs = self.states
        return control.ss(
            self.a,
            self.b,
            c,
            d,
            states=[_plain(n) for n in self.states],
            inputs=[_plain(n) for n in self.inputs] or 0,
            outputs=[_plain(n) for n in outputs],
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""
        return {
            "A": self.a.tolist(),
            "B": self.b.tolist(),
            "C": self.c.tolist(),
            "D": self.d.tolist(),
            "states": list(self.states),
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "eigenvalues": [{"real": v.real, "imag": v.imag} for v in self.eigenvalues()],
            "modes": [
                {
                    "eigenvalue": {"real": m.eigenvalue.real, "imag": m.eigenvalue.imag},
                    "frequency": m.frequency,
                    "damping": m.damping,
                    "shape": {k: [s.real, s.imag] for k, s in m.shape.items()},
                }
                for m in self.modes()
            ],
            "neutral": list(self.neutral),
            "point": self.point,
            "computed": list(self.computed),
        }


@worded
def linearize(
    mechanism: Mechanism,
    at: Mapping[str, Amount] | None = None,
    *,
    values: Mapping[str, Amount] | None = None,
    time: float = 0.0,
    equations: Equations | None = None,
) -> LinearModel:
    """Return the linear model of a mechanism at an operating point.

    Args:
        mechanism: what to linearize.
        at: coordinates (m, rad), speeds and extra states by name; by default the initial values.
            Loops are closed and dependent speeds found from them.
        values: values of parameters and inputs by name.
        time: s.
        equations: its equations, where they are at hand.

    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x", at=b.origin, along="x")
    >>> linearize(m).eigenvalues().round(6) + 0
    array([0.-2.j, 0.+2.j])
    """
    return linearize_along(
        mechanism, [{} if at is None else at], values=values, times=[time], equations=equations
    )[0]


def linearize_along(
    mechanism: Mechanism,
    states: Sequence[Mapping[str, Amount]],
    *,
    values: Mapping[str, Amount] | None = None,
    times: Iterable[float] | None = None,
    equations: Equations | None = None,
) -> list[LinearModel]:
    """Return the linear models at several states, for instance along a motion.

    >>> m = Mechanism("pendulum")
    >>> b = m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> m.gravity("-y")
    >>> [float(l.a[1, 0].round(2)) for l in linearize_along(m, [{"b": 0.0}, {"b": 1.0}])]
    [0.0, 8.25]
    """
    mechanism = mechanism_of(mechanism).with_values(values)
    known = all_values(mechanism, None)
    refuse_unreal(mechanism)
    equations = derive(mechanism, QUICK) if equations is None else equations
    mechanism = equations.mechanism.with_values(known)
    relations = Relations(mechanism, known, "python")
    kernel = _jacobians(equations)
    result = []
    for state, time in zip(states, times or [0.0] * len(states), strict=True):
        assembly = assemble(mechanism, state, None, time=time, relations=relations)
        point = {**assembly.coordinates, **assembly.speeds}
        refuse_pole(mechanism, assembly.coordinates, "there is no linear model")
        result.append(_at_point(equations, relations, kernel, known, point, time))
    return result


def _jacobians(equations: Equations) -> Kernel:
    program = equations.program()
    wanted = [n for n in ("q", "u", "w") if any(p.name == n for p in program.inputs)]
    slopes = program.derivative(None, wanted, values=True, optimized=False)
    return compile_kernel(slopes, backend="python")


def _at_point(
    equations: Equations,
    relations: Relations,
    kernel: Kernel,
    known: Mapping[str, float],
    point: Mapping[str, float],
    time: float,
) -> LinearModel:
    """Return the linear model at one assembled state."""
    mechanism = equations.mechanism
    given = {**known, **point, mechanism.time.name: time}
    arrays = [numbers(mechanism, port.entries, given) for port in kernel.program.inputs]
    names = [port.name for port in kernel.program.outputs]
    found = kernel(*arrays)
    results = dict(zip(names, found if isinstance(found, tuple) else (found,), strict=True))
    q = [*equations.coordinates, *equations.states]
    inputs = next((p.entries for p in kernel.program.inputs if p.name == "w"), ())

    def jacobian(output: str, variable: str, rows: int, columns: int) -> Array:
        value = results.get(f"d_{output}_d_{variable}")
        return np.zeros((rows, columns)) if value is None else np.reshape(value, (rows, columns))

    n, p, w = len(q), len(equations.speeds), len(inputs)
    count = len(mechanism.outputs)
    sizes = {"q": n, "u": p, "w": w}
    of_q = {k: jacobian("q_dot", k, n, size) for k, size in sizes.items()}
    of_u = {k: jacobian("u_dot", k, p, size) for k, size in sizes.items()}
    of_y = {k: jacobian("y", k, count, size) for k, size in sizes.items()}
    q_values = np.array([point[x.name] for x in q])
    tangent, labels = _tangent(equations, q_values)
    q_rate = np.ravel(results["q_dot"])
    rates = _tangent_rates(equations, tangent, labels, of_q, q_values, q_rate)
    _, g = relations.position(q_values, time)
    g = g @ tangent[: len(equations.coordinates)]
    tied = independent_columns(g) if g.size and np.abs(g).max() > 0 else []
    free = [k for k in range(tangent.shape[1]) if k not in set(tied)]
    follow = np.zeros((tangent.shape[1], len(free)))
    follow[free, range(len(free))] = 1.0
    if tied:
        follow[tied] = -np.linalg.lstsq(g[:, tied], g[:, free], rcond=None)[0]
    down = tangent @ follow
    a = np.block(
        [
            [rates["q"][free] @ follow, rates["u"][free]],
            [of_u["q"] @ down, of_u["u"]],
        ]
    )
    b = np.vstack([rates["w"][free], of_u["w"]])
    c = np.hstack([of_y["q"] @ down, of_y["u"]])
    drift = np.concatenate(
        [
            np.linalg.lstsq(tangent, q_rate, rcond=None)[0][free],
            np.ravel(results["u_dot"]),
        ]
    )
    return LinearModel(
        a,
        b,
        c,
        of_y["w"],
        (*(labels[k] for k in free), *(u.name for u in equations.speeds)),
        tuple(x.name for x in inputs),
        tuple(o.name for o in mechanism.outputs),
        dict(point),
        drift,
        tuple(labels[k] for k in tied),
    )


def _quaternions(equations: Equations) -> list[Body]:
    bodies = equations.mechanism.bodies.values()
    return [b for b in bodies if b.joint.quaternion]


def _tangent(equations: Equations, q: Array) -> tuple[Array, list[str]]:
    """Return dq for each tangent state, and the names of those states."""
    order = [*equations.coordinates, *equations.states]
    place = {x: k for k, x in enumerate(order)}
    columns: list[Array] = []
    labels: list[str] = []
    inside = {e for b in _quaternions(equations) for e in b.rotations}
    first = {b.rotations[0]: b for b in _quaternions(equations)}
    for x in order:
        if x in first:
            body = first[x]
            rows = [place[e] for e in body.rotations]
            for axis, part in zip("xyz", _half_turns(q[rows]).T, strict=True):
                column = np.zeros(len(order))
                column[rows] = part
                columns.append(column)
                labels.append(f"{body.name}.turn_{axis}")
        elif x not in inside:
            column = np.zeros(len(order))
            column[place[x]] = 1.0
            columns.append(column)
            labels.append(x.name)
    matrix = np.array(columns).T if columns else np.zeros((len(order), 0))
    return matrix, labels


def _tangent_rates(
    equations: Equations,
    tangent: Array,
    labels: Sequence[str],
    of_q: Mapping[str, Array],
    q: Array,
    q_rate: Array,
) -> dict[str, Array]:
    """Return the Jacobians of the rates of tangent states by tangent states, speeds and inputs.

    For a quaternion dθ = 2 E(e)ᵀ de, and so its rate is 2 E(e')ᵀ de + 2 E(e)ᵀ de'.
    """
    order = [*equations.coordinates, *equations.states]
    back = np.zeros((len(labels), len(order)))
    turning = np.zeros((len(labels), len(order)))
    place = {x.name: k for k, x in enumerate(order)}
    for row, label in enumerate(labels):
        if label in place:
            back[row, place[label]] = 1.0
    for body in _quaternions(equations):
        rows = [labels.index(f"{body.name}.turn_{axis}") for axis in "xyz"]
        columns = [place[e.name] for e in body.rotations]
        back[np.ix_(rows, columns)] = 4.0 * _half_turns(q[columns]).T
        turning[np.ix_(rows, columns)] = 4.0 * _half_turns(q_rate[columns]).T
    return {
        "q": (back @ of_q["q"] + turning) @ tangent,
        "u": back @ of_q["u"],
        "w": back @ of_q["w"],
    }


def _half_turns(e: Array) -> Array:
    """Return E(e)/2, the change of a quaternion with a small rotation in body axes."""
    w, i, j, k = e
    return 0.5 * np.array([[-i, -j, -k], [w, -k, j], [k, w, -i], [-j, i, w]])


def _plain(name: str) -> str:
    """Return a name as python-control accepts it."""
    return name.replace(".", "_")
