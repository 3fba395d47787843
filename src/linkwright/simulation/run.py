"""What a simulation leaves behind: states and outputs over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from linkwright.brief import one_line
from linkwright.equations.description import meanings
from linkwright.equations.energy import energy
from linkwright.equations.evaluation import Array, Evaluator, quantities
from linkwright.equations.reactions import told_reactions
from linkwright.errors import Error
from linkwright.mechanism import Mechanism
from linkwright.mechanism.provenance import named
from linkwright.recording.generic import generic_name
from linkwright.recording.holder import Recorded
from linkwright.recording.recording import Channel, Recording

_TEXT = "linkwright.formats.text.files"  # of a higher layer, which knows text models


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Energies:
    """Energies of a run over time: kinetic and in the field of gravity, J; power of loads, W."""

    kinetic: Array
    potential: Array
    power: Array
    times: Array = field(repr=False)

    @property
    def total(self) -> Array:
        """Kinetic energy and that in the field of gravity."""
        return self.kinetic + self.potential

    @property
    def imbalance(self) -> Array:
        """Gain of energy less the work of loads, which a cubic spline through their power gives.

        Constraints that move with time do work too, which is not counted.
        """
        from scipy.interpolate import CubicSpline

        gain: Array = self.total - self.total[0]
        if not np.any(self.power) or len(self.times) < 2:
            return gain
        work: Array = CubicSpline(self.times, self.power).antiderivative()(self.times)
        return gain - work


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run(Recorded):
    """A simulation that was carried out.

    Args:
        mechanism: what moved.
        values: numbers of its parameters and inputs.
        times: s, from the start to the end.
        states: coordinates, extra states and all speeds by name, over time.
        accelerations: the rates of the speeds by name, over time.
        outputs: the mechanism's outputs by name, over time.
        inputs: the values that its inputs had, by name, over time.
        units: the unit of each channel.
        steps: accepted steps.
        evaluations: of the derivative.
        residual: the largest violation of a relation of position at a recorded time, relative to
            the size of its Jacobian.
        report: what happened, in sentences.
        metadata: how it was carried out, for recordings.

    >>> from linkwright.simulation import simulate
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("push", 4, at=b.origin, along="x")
    >>> run = simulate(m, 1.0, method="rk4", step=0.1)
    >>> run.steps, round(float(run["b"][-1]), 6)
    (10, 1.0)
    """

    mechanism: Mechanism = field(repr=False)
    values: Mapping[str, float] = field(repr=False)
    times: Array
    states: dict[str, Array] = field(repr=False)
    accelerations: dict[str, Array] = field(repr=False)
    outputs: dict[str, Array] = field(repr=False)
    inputs: dict[str, Array] = field(repr=False)
    units: dict[str, str] = field(repr=False)
    steps: int
    evaluations: int
    residual: float
    report: tuple[str, ...] = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return (
            f"Run({self.mechanism.name!r}: {self.times[-1]:g} s, {len(self.times)} samples of "
            f"{len(self.states) + len(self.outputs)} channels, {self.steps} steps of "
            f"{self.metadata.get('method', 'its method')})"
        )

    def _packed(self, held: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with the mechanism as text."""
        try:
            text = import_module(_TEXT).write_model(self.mechanism)
        except Error as error:
            raise Error(
                f"the run of {self.mechanism.name!r} cannot be sent, because its mechanism cannot "
                f"be written as text ({error})",
                remedy="send its recording, run.recording",
            ) from error
        return {
            **held,
            "mechanism": text,
            "values": dict(self.values),
            "metadata": dict(self.metadata),
        }

    @classmethod
    def _unpacked(cls, held: dict[str, Any]) -> dict[str, Any]:
        return {**held, "mechanism": import_module(_TEXT).read_model(held["mechanism"])}

    def __getitem__(self, name: str) -> Array:
        """Return a state, an acceleration or an output over time."""
        for table in (self.states, self.outputs, self.accelerations, self.inputs):
            if name in table:
                return table[name]
        known = [*self.states, *self.outputs]
        raise Error(f"the run of {self.mechanism.name!r} has no channel {name!r}; it has {known}")

    def at(self, time: float) -> dict[str, float]:
        """Return states and outputs at a recorded time.

        Args:
            time: s; the nearest recorded time must be within 1e-9 of it, relative to the end.
        """
        k = int(np.abs(self.times - time).argmin())
        if abs(self.times[k] - time) > 1e-9 * max(abs(float(self.times[-1])), 1e-300):
            raise Error(
                f"t = {time} s was not recorded; the nearest time is {self.times[k]}",
                remedy="choose a step that divides it",
            )
        return {n: float(v[k]) for n, v in (*self.states.items(), *self.outputs.items())}

    @property
    def final(self) -> dict[str, float]:
        """States and outputs at the end."""
        return self.at(float(self.times[-1]))

    @property
    def recording(self) -> Recording:
        """States, outputs and inputs over time, with units and with what made them."""
        tables = (self.states, self.outputs, self.inputs)
        columns = {n: values for table in reversed(tables) for n, values in table.items()}
        labels = list(run_channels(self.mechanism, self.states))
        data = np.array([columns[c.name] for c in labels]).T
        about = {
            "model": named(self.mechanism),
            "parameters": dict(self.values),
            "initial": {n: float(v[0]) for n, v in self.states.items()},
            **self.metadata,
        }
        reactions = told_reactions(self.mechanism, columns)
        if reactions:
            about["reactions"] = reactions
        return Recording(self.times, labels, data, about, self.mechanism)

    def energies(self) -> Energies:
        """Return the energies at the recorded times, and how well they balance.

        Loads are evaluated again at the recorded states, so one with a memory of its own counts
        with what it remembers now.
        """
        m = self.mechanism
        found = energy(m)
        values = [found.kinetic, found.potential, found.power]
        names = [x.name for x in (*m.coordinates.values(),)]
        speeds = [s.symbol for s in m.kinematics().speeds]
        made = quantities(
            m,
            "energies",
            {"e": values},
            values,
            q=[m.coordinates[n] for n in names],
            u=speeds,
        )
        now: dict[str, float] = {}
        evaluate = Evaluator(m, made, self.values, signals=(lambda _: now) if m.inputs else None)
        q = np.array([self.states[n] for n in names]).T.reshape(len(self.times), -1).copy()
        u = np.array([self.states[s.name] for s in speeds]).T.reshape(len(self.times), -1).copy()
        rows = []
        for k, t in enumerate(self.times):
            now.update({n: float(v[k]) for n, v in self.inputs.items()})
            rows.append(evaluate(float(t), q=q[k], u=u[k])[0])
        kinetic, potential, power = np.array(rows).T
        return Energies(kinetic, potential, power, self.times)


def run_channels(mechanism: Mechanism, states: Mapping[str, object]) -> Iterator[Channel]:
    """Yield the channels of a run: states, outputs and inputs, each name once.

    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2)
    >>> [(c.name, c.unit, c.generic, c.body) for c in run_channels(m, {"b": 0, "b_dot": 0})]
    [('b', 'm', 'length', 'b'), ('b_dot', 'm/s', 'speed', 'b')]
    """
    homes = {q.name: b.name for b in mechanism.bodies.values() for q in b.coordinates}
    docs = {**mechanism.docs, **meanings(mechanism)}
    for speed in mechanism.kinematics().speeds:
        homes[speed.symbol.name] = speed.body.name
    seen: set[str] = set()
    for name in states:
        unit = mechanism.units.get(name, "?")
        seen.add(name)
        yield Channel(name, unit, docs.get(name, ""), generic_name(unit), homes.get(name, ""))
    for output in mechanism.outputs:
        if output.name not in seen:
            seen.add(output.name)
            unit = output.unit
            yield Channel(output.name, unit, output.doc, generic_name(unit), output.body)
    for name in mechanism.inputs:
        if name not in seen:
            unit = mechanism.units.get(name, "?")
            yield Channel(name, unit, docs.get(name, ""), generic_name(unit))
