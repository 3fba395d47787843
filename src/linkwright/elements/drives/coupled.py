"""Coupled trains: several motors that turn several joints together, as in the wrists of robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra import Expr, as_expr, total
from linkwright.blocks import Element
from linkwright.blocks.element import joint_of
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.emission import commanded, emit
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DriveError, Shaft, Sketch, number
from linkwright.elements.drives.plant import write_motor


class CoupledDrives(Element):
    """Motors that turn joints through a matrix of ratios: at rest, motor angles are ratios * q.

    Each joint has a spring and a damper between what the motors want of it and its own angle; the
    motors feel the torques of all joints through the transposed inverse of the matrix.

    Args:
        mechanism: whose joints are driven.
        joints: coordinates, or names of bodies with one.
        ratios: turns of each motor (a row) for one of each joint (a column), the others at rest.
        amplifiers: one for each motor.
        motors: one for each row of the matrix.
        stiffness: of each joint's train, N*m/rad.
        damping: of each joint's train, N*m*s/rad.
        ledger: whether energies are integrated, as in a `Drive`.
        name: of the element.

    Signals of the motors are called `m1.motor.i`, `m2.motor.i`, ..., their commands `m1.u`, ...,
    the twists and torques of joints `twist1`, `torque1`, ....

    >>> from linkwright.elements.drives import DC, Ideal
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("wrist")
    >>> a = m.body("a", rotate="z", mass=1, inertia=1)
    >>> b = m.body("b", parent=a, rotate="x", mass=1, inertia=1)
    >>> motor = DC(R=1, L=2e-3, kt=0.05, J=1e-4)
    >>> twice = [Ideal(), Ideal()], [motor, motor]
    >>> wrist = CoupledDrives(m, ["a", "b"], [[50, 0], [-10, 50]], *twice, [500, 500])
    >>> list(wrist.inputs)
    ['m1.u', 'm2.u']
    """

    def __init__(
        self,
        mechanism: Any,
        joints: Sequence[str],
        ratios: ArrayLike,
        amplifiers: Sequence[Amplifier],
        motors: Sequence[Motor],
        stiffness: Sequence[float],
        damping: Sequence[float] | None = None,
        *,
        ledger: bool = False,
        name: str = "drives",
    ) -> None:
        super().__init__(name, mechanism, doc="drives of coupled joints")
        count = len(joints)
        back = _inverse(ratios, count, name)
        losses = [0.0] * count if damping is None else damping
        for given, what in ((motors, "motors"), (amplifiers, "amplifiers"),
                            (stiffness, "stiffness"), (losses, "damping")):  # fmt: skip
            if len(given) != count:
                raise DriveError(
                    f"{name!r} has {len(given)} {what} for {count} joints",
                    remedy="give one for each joint",
                    code="R419",
                )
        sketch = Sketch(self, numeric=False)
        places = [joint_of(self.mechanism, q).coordinate for q in joints]
        rates = self.mechanism.kinematics().rates
        shafts, torques = [], []
        for k in range(count):
            sketch.prefix = f"m{k + 1}."
            shafts.append(sketch.of(motors[k]).shaft())
            torques.append(write_motor(sketch, amplifiers[k], motors[k], shafts[k]))
        loads: list[Expr] = []
        for j, q in enumerate(places):
            K = number(stiffness[j], f"stiffness of {name!r}", above=0.0)
            B = number(losses[j], f"damping of {name!r}", least=0.0)
            spring = self.parameter(f"stiffness{j + 1}", K, unit="N*m/rad", sign="positive")
            damper = self.parameter(f"damping{j + 1}", B, unit="N*m*s/rad", lower=0.0)
            twist = self.intermediate(_mixed(back[j], shafts, "angle") - q)
            rate = self.intermediate(_mixed(back[j], shafts, "speed") - rates[q])
            loads.append(self.intermediate(spring * twist + damper * rate))
            sketch.signals[f"twist{j + 1}"] = (twist, "rad", f"twist of the train of {q}")
            sketch.signals[f"torque{j + 1}"] = (loads[j], "N*m", f"torque on {q}")
            sketch.energies[f"spring{j + 1}"] = spring * twist**2 / 2
            sketch.powers[f"loss.train{j + 1}.damping"] = damper * rate**2
        for i, motor in enumerate(motors):
            sketch.prefix = f"m{i + 1}."
            sheet = sketch.of(motor)
            (J,) = sheet.numbers("J")
            felt = total(float(back[j, i]) * loads[j] for j in range(count))
            sheet.rate(shafts[i].speed, (torques[i] - felt) / J)
            sheet.stored("rotor", J * shafts[i].speed ** 2 / 2)
        put = commanded(self, sketch, as_expr(0), lambda _: as_expr(0), None)
        work = total(T * rates[q] for T, q in zip(loads, places, strict=True))
        emit(self, sketch, put, ledger=ledger, work=work)
        for j, q in enumerate(places):
            self.effort(f"tau{j + 1}", q, loads[j])


def _mixed(row: Any, shafts: Sequence[Shaft], what: str) -> Expr:
    return total(float(c) * getattr(s, what) for c, s in zip(row, shafts, strict=True) if c)


def _inverse(ratios: ArrayLike, count: int, name: str) -> Any:
    """Return the inverse of the matrix of ratios."""
    matrix = np.asarray(ratios, dtype=float)
    if matrix.shape != (count, count) or not np.isfinite(matrix).all():
        raise DriveError(
            f"the ratios of {name!r} are not a matrix of {count} by {count} numbers",
            remedy="give a row for each motor and a column for each joint",
            code="R419",
        )
    if np.linalg.matrix_rank(matrix) < count:
        raise DriveError(
            f"the ratios of {name!r} leave a joint that no motor turns",
            remedy="give rows that are independent of each other",
            code="R419",
        )
    return np.linalg.inv(matrix)
