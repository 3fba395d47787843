"""M, C, G and K of small motions, as programs for control take them (Sayers' thesis, 10.3).

From the linear model of `linkwright.linear.linearization`, whose states are the independent
coordinates q and speeds u,

    q' = N u + R q,    u' = S q + D u + B w

and the mass matrix at the operating point comes, with one speed for each coordinate,

    M q'' + (C + G) q' + K q = F w + f,    M = N^-T M_u N^-1

C is the symmetric part of what multiplies the speeds (damping), G the skew part (gyroscopic). K
is left whole: its skew part is that of circulatory forces. f is what is left at an operating point
that is not an equilibrium. Coordinates on which nothing depends are left out where that leaves one
speed for each. Where it does not (a bicycle, a car), speeds have no coordinates of their own, and
the equations stay in u: M u' + (C + G) u + K q = F w + f, q' = N u + R q.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import path_of, write_bytes
from linkwright.base.results import Result
from linkwright.equations.equations import derive
from linkwright.equations.evaluation import Evaluator
from linkwright.linear.linearization import LinearModel, linearize
from linkwright.mechanism import ModelLike, mechanism_of
from linkwright.system import system_of

Array = NDArray[np.float64]
_REGULAR = 1e-9


@dataclass(frozen=True, slots=True)
class SecondOrderModel(Result):
    """M q'' + (C + G) q' + K q = F w about an operating point.

    Args:
        mass: M, symmetric.
        damping: C, symmetric.
        gyroscopic: G, skew.
        stiffness: K; with speeds that are not rates, one column for each coordinate.
        force: F, the effect of the inputs.
        coordinates: names of the coordinates q.
        speeds: names of the speeds, which are their rates.
        inputs: names of the inputs w.
        kinematics: N of q' = N u + R q where the speeds are not rates; else nothing.
        drift: R of the same.
        load: f, zero in an equilibrium.
        point: value of every coordinate and speed at the operating point.
        units: of coordinates, speeds and inputs, by name.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x - 4*v", at=b.origin, along="x")
    >>> found = second_order(m)
    >>> found.mass.item(), found.damping.item(), found.stiffness.item()
    (2.0, 4.0, 8.0)
    """

    mass: Array
    damping: Array
    gyroscopic: Array
    stiffness: Array
    force: Array
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    kinematics: Array
    drift: Array
    load: Array
    point: dict[str, float]
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def speeds_are_rates(self) -> bool:
        """Whether the speeds are the rates of the coordinates, one for each."""
        return not self.kinematics.size

    def as_dict(self) -> dict[str, Any]:
        """Return the model as plain data: matrices by their letters, and names."""
        named = {name: list(getattr(self, name)) for name in ("coordinates", "speeds", "inputs")}
        return {
            **{k: m.tolist() for k, m in self._matrices().items()},
            **named,
            "point": self.point,
            "units": dict(self.units),
        }

    def _matrices(self) -> dict[str, Array]:
        found = {"M": self.mass, "C": self.damping, "G": self.gyroscopic, "K": self.stiffness}
        found |= {"F": self.force, "f": self.load}
        return found if self.speeds_are_rates else {**found, "N": self.kinematics, "R": self.drift}

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the matrices and names to a file: `.npz` of NumPy, or `.mat` of version 5.

        Args:
            path: ends in .npz or .mat.
            replace: whether to replace a file that is there.
        """
        target, content = path_of(path), io.BytesIO()
        names = {
            k: np.array(list(getattr(self, k)), dtype=str)
            for k in ("coordinates", "speeds", "inputs")
        }
        if target.suffix == ".npz":
            np.savez(content, **self._matrices(), **names)  # type: ignore[arg-type]
        elif target.suffix == ".mat":
            from scipy.io import savemat

            told = {k: v.astype(object) for k, v in names.items()}
            savemat(content, {**self._matrices(), **told})
        else:
            raise InputError(
                f"matrices are not written as {target.suffix or 'a file without an ending'!r}",
                remedy="name a file .npz or .mat",
            )
        write_bytes(Path(target), content.getvalue(), replace=replace)


@worded
def second_order(
    model: ModelLike,
    at: Mapping[str, Amount] | None = None,
    *,
    parameters: Mapping[str, Amount] | None = None,
    time: float = 0.0,
) -> SecondOrderModel:
    """Return M, C, G, K and F of small motions of a mechanism about an operating point.

    Args:
        model: a mechanism, a robot, a file, or the name of a shipped model, without members.
        at: coordinates (m, rad) and speeds by name; by default the initial values.
        parameters: values of parameters and inputs by name.
        time: s.

    >>> from linkwright.models import load_model
    >>> found = second_order(load_model("double-pendulum"))
    >>> bool(np.allclose(found.mass, found.mass.T)), bool(found.gyroscopic.any())
    (True, False)
    """
    system = system_of(model)
    if system.members:
        names = ", ".join(system.members)
        raise InputError(
            f"{system.name!r} has members ({names}), which have no second-order form",
            remedy="give the mechanism alone, or take its A, B, C and D",
        )
    linear = linearize(model, at, parameters=parameters, time=time)
    found = _from(linear, _mass(model, linear, parameters, time))
    known = mechanism_of(model).units
    units = {n: known[n] for n in (*found.coordinates, *found.speeds, *found.inputs) if n in known}
    if found.speeds_are_rates:
        units |= {
            rate: "1/s" if known[q] == "1" else f"{known[q]}/s"
            for rate, q in zip(found.speeds, found.coordinates, strict=True)
        }
    return replace(found, units=units)


def _mass(
    model: ModelLike, linear: LinearModel, values: Mapping[str, Amount] | None, time: float
) -> tuple[tuple[str, ...], Array]:
    """Return the names of the independent speeds, and their mass matrix at the point."""
    mechanism = mechanism_of(model).with_parameters(values)
    kinematics = mechanism.kinematics()
    speeds = [s.symbol for s in kinematics.speeds]
    known = {q: linear.point[q.name] for q in kinematics.rates if q.name in linear.point}
    dependent = [u for u in speeds if u.name not in linear.states]
    equations = derive(mechanism, "kane", closed_at=known, dependent=dependent)
    entries = [x for row in equations.mass for x in row]
    program = equations.assemble("mass", {"M": entries}, {}, entries)
    evaluate = Evaluator(mechanism, program, dict(mechanism.values), backend="python")
    q = np.array([linear.point[x.name] for x in (*equations.coordinates, *equations.states)])
    u = np.array([linear.point[x.name] for x in equations.speeds])
    found = evaluate(time, q=q, u=u)[0]
    n = len(equations.speeds)
    return tuple(x.name for x in equations.speeds), found.reshape(n, n)


def _from(linear: LinearModel, heavy: tuple[tuple[str, ...], Array]) -> SecondOrderModel:
    speeds, mass = heavy
    place = {name: k for k, name in enumerate(linear.states)}
    missing = [name for name in speeds if name not in place]
    rows = [place[name] for name in speeds if name in place]
    columns = [k for k in range(len(linear.states)) if k not in rows]
    neutral = {place[name] for name in linear.neutral}
    kept = [k for k in columns if k not in neutral]
    if len(columns) != len(rows) and (len(kept) == len(rows) or len(kept) < len(columns)):
        columns = kept
    if missing or not rows:
        raise InputError(
            f"the linear model has no states {', '.join(missing) or 'that are speeds'}",
            remedy="take its A, B, C and D",
        )
    n = linear.a[np.ix_(columns, rows)]
    r = linear.a[np.ix_(columns, columns)]
    s, d = linear.a[np.ix_(rows, columns)], linear.a[np.ix_(rows, rows)]
    b = linear.b[rows]
    square = n.shape[0] == n.shape[1] and np.linalg.cond(n) < 1 / _REGULAR
    names = tuple(linear.states[k] for k in columns)
    if square:
        back = np.linalg.inv(n)
        through = n @ d @ back
        mass = back.T @ mass @ back
        of_rates, of_places = -mass @ (r + through), -mass @ (n @ s - through @ r)
        load = mass @ (r @ linear.drift[columns] + n @ linear.drift[rows])
        force, n, r = mass @ n @ b, np.zeros((0, 0)), np.zeros((0, 0))
        speeds = tuple(f"{name}'" for name in names)
    else:
        of_rates, of_places, force = -mass @ d, -mass @ s, mass @ b
        load = mass @ linear.drift[rows]
    mass = (mass + mass.T) / 2
    damping, gyroscopic = (of_rates + of_rates.T) / 2, (of_rates - of_rates.T) / 2
    made = (mass, damping, gyroscopic, of_places + 0.0, force + 0.0)
    return SecondOrderModel(*made, names, speeds, linear.inputs, n, r, load, linear.point)
