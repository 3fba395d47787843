"""What laws of force say at one state, and a PUMA in Pinocchio that is moved by it: an oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import linkwright as lw
from linkwright.algebra import evaluate, free_symbols
from linkwright.blocks import Element
from linkwright.control.joints import JointElement
from linkwright.program import lower, program
from linkwright.program.interpret import interpret
from linkwright.program.program import walk
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

DH = ((0.0, 0.67183, 1), (0.4318, 0.0, 0), (0.0203, 0.15005, -1), (0.0, 0.4318, 1), (0.0, 0.0, -1))
"""Distances a, d and quarter turns alpha from each link of the PUMA to the next."""


@cache
def _code(law: Element) -> tuple[list[Any], list[str], Any]:
    """Return the symbols that a law reads, the names of its results, and its code."""
    results: dict[str, list[Any]] = {n: list(p.values) for n, p in law.outputs.items()}
    results |= {f"next {x.name}": [s.following] for x, s in law.discrete_states.items()}
    own = {x for port in law.outputs.values() for x in port.symbols}
    own |= {x for s in walk(law.statements) for x in s.targets}
    read = [x for s in walk(law.statements) for x in free_symbols(*s.operands)]
    read += free_symbols(*(x for row in results.values() for x in row))
    inputs = [x for x in dict.fromkeys(read) if x not in own]
    made = program("law", {"x": inputs}, results, statements=law.statements)
    return inputs, list(results), lower(made)


def said(law: Element, ports: Mapping[str, Any], period: float = 1e-3) -> dict[str, np.ndarray]:
    """Return the outputs of a law by name, and the next values of its memory.

    Args:
        law: whose expressions are evaluated.
        ports: values of its inputs and of its memory; others are as they start.
        period: of its rate, s.
    """
    m = law.mechanism
    known: dict[str, float] = {**m.initial, **m.values, "period": period, "t": 0.0}
    known |= {p.symbol.name: p.value for p in law.parameters.values()}
    known |= {x.name: evaluate(s.initial, {}) for x, s in law.discrete_states.items()}
    for port in law.inputs.values():
        for x, v in zip(port.symbols, port.values, strict=True):
            if v.op == "num":
                known[x.name] = float(v.data)
    for name, values in ports.items():
        symbols = [x.name for x in law.inputs[name].symbols] if name in law.inputs else [name]
        known |= dict(zip(symbols, np.atleast_1d(values).astype(float), strict=True))
    inputs, names, code = _code(law)
    found = interpret(code, [np.array([known[x.name] for x in inputs])])
    return dict(zip(names, found, strict=True))


def torques(law: JointElement, ports: Mapping[str, Any]) -> np.ndarray:
    """Return what a law puts on the joints, N*m."""
    found = said(law, ports)
    return np.array([found[f"tau_{q.name}"].item() for q in law.joints])


def planar(mass: float = 3.0) -> lw.Mechanism:
    """Return an arm of two links in a vertical plane."""
    m = lw.Mechanism("planar")
    m.parameter("m1", mass, unit="kg")
    m.parameter("m2", 2.0, unit="kg")
    upper = m.body("upper", rotate="z", mass="m1", com=(0.2, 0, 0), inertia=0.05)
    fore = m.body(
        "fore", parent=upper, at=(0.5, 0, 0), rotate="z", mass="m2", com=(0.15, 0, 0), inertia=0.02
    )
    m.point("tip", fore, (0.4, 0, 0))
    m.gravity(along="-y")
    return m


def planar_torques(q: np.ndarray, u: np.ndarray, a: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the torques of the planar arm by the textbook's formulas, without friction."""
    m1, m2 = masses
    l, c1, c2, i1, i2, g = 0.5, 0.2, 0.15, 0.05, 0.02, 9.81
    cos, sin = np.cos(q[:, 1]), np.sin(q[:, 1])
    both = m2 * (c2**2 + l * c2 * cos) + i2
    first = m1 * c1**2 + i1 + m2 * (l**2 + c2**2 + 2 * l * c2 * cos) + i2
    turn = m2 * l * c2 * sin
    weight = m2 * g * c2 * np.cos(q[:, 0] + q[:, 1])
    lean = (m1 * c1 + m2 * l) * g * np.cos(q[:, 0])
    return np.column_stack(
        [
            first * a[:, 0] + both * a[:, 1] - turn * (2 * u[:, 0] + u[:, 1]) * u[:, 1]
            + lean + weight,
            both * a[:, 0] + (m2 * c2**2 + i2) * a[:, 1] + turn * u[:, 0] ** 2 + weight,
        ]
    )  # fmt: skip


@cache
def puma() -> tuple[lw.Mechanism, Any]:
    """Return the PUMA, and the same as Pinocchio has it."""
    m = lw.load("puma560:drives=off")
    model = pin.Model()
    place, parent = pin.SE3.Identity(), 0
    at = {p: m.values[n] for n, p in m.parameters.items()}
    for k, body in enumerate(m.bodies.values()):
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{k}")
        own = body.inertia
        center = np.array([float(evaluate(x, at)) for x in own.center])
        xx, yy, zz, xy, yz, zx = (float(evaluate(x, at)) for x in own.tensor)
        tensor = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        weight = float(evaluate(own.mass, at))
        model.appendBodyToJoint(parent, pin.Inertia(weight, center, tensor), pin.SE3.Identity())
        if k < 5:
            a, d, turn = DH[k]
            place = pin.SE3(pin.rpy.rpyToMatrix(turn * math.pi / 2, 0, 0), np.array([a, 0, d]))
    return m, model


class Tool:
    """The PUMA's tool at a state, by Pinocchio: all vectors along the flange's axes."""

    def __init__(self, q: np.ndarray, u: np.ndarray, a: np.ndarray | None = None) -> None:
        self.model = puma()[1]
        data = self.model.createData()
        zero = np.zeros(6)
        pin.forwardKinematics(self.model, data, q, u, zero if a is None else a)
        self.place = data.oMi[6].copy()
        self.jacobian = pin.computeJointJacobian(self.model, data, q, 6).copy()
        self.velocity = self.jacobian @ u
        turning = np.cross(data.v[6].angular, data.v[6].linear)
        self.acceleration = np.r_[data.a[6].linear + turning, data.a[6].angular]

    def accelerated(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the joints' accelerations under torques."""
        found: np.ndarray = pin.aba(self.model, self.model.createData(), q, u, tau)
        return found


def way_between(at: Tool, wanted: Tool) -> np.ndarray:
    """Return the way to a wanted place, and axis times angle of the turn, along `at`'s axes."""
    turn = at.place.rotation.T @ wanted.place.rotation
    way = at.place.rotation.T @ (wanted.place.translation - at.place.translation)
    found: np.ndarray = np.r_[way, pin.log3(turn)]
    return found
