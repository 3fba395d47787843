"""A chain as matrices: its blocks, and the whole from one instant to the next.

JNTMOD steps five blocks, X' = phi X + theta U + W, with U = D X of the others, or of the reference
and the sensors for the controller. `simultaneous` takes all U from before the step, `sequential`
those of earlier blocks from after it. `exact` has two blocks: the controller, and the plant as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, symbol
from linkwright.blocks import Block
from linkwright.blocks.discretization import held, van_loan
from linkwright.elements.drives.controllers import Controller, commands
from linkwright.elements.drives.noise import DriveNoise, column
from linkwright.elements.drives.parts import DriveError, Sketch, coefficients, number
from linkwright.elements.drives.plant import PLANT, Parts, write_plant

Array = NDArray[np.float64]

UPDATES = ("exact", "simultaneous", "sequential")
"""How a chain with a rate goes from one instant to the next."""


@dataclass(frozen=True, slots=True)
class StepBlock:
    """One block: X' = phi X + theta U + W with U = couple X_all + given alpha.

    Args:
        name: of the part; "plant" for all but the controller.
        first: where its states begin among all.
        phi: from its states to its next states.
        theta: from its inputs to its next states.
        couple: from all states to its inputs.
        given: from the reference terms and the sensors to its inputs.
        noise: covariance of W.
        inputs: names of its inputs with their units.

    >>> one, none = np.eye(1), np.zeros((1, 0))
    >>> StepBlock("load", 3, one, one, np.zeros((1, 4)), none, one).own
    slice(3, 4, None)
    """

    name: str
    first: int
    phi: Array
    theta: Array
    couple: Array
    given: Array
    noise: Array
    inputs: tuple[tuple[str, str], ...] = ()

    @property
    def own(self) -> slice:
        """Its states among all."""
        return slice(self.first, self.first + len(self.phi))


@dataclass(frozen=True, slots=True)
class ChainMatrices:
    """A chain from one instant to the next: x' = Phi x + Theta alpha + w, z = H x + v.

    alpha is [R; Z]: the reference terms of the controller, and what it is fed back. Q and R are the
    covariances of w and v. The command that leaves the controller is the state `controller.u`.

    Args:
        Phi: from states to next states.
        Theta: from alpha to next states.
        H: from states to sensors.
        Q: covariance of the noise of a step.
        R: covariance of the sensors; that of a quantum q is q^2/12.
        gains: the reference terms for a reference of 1.
        feedback: the matrix M: what each sensor adds to the inputs of the controller.
        states: names of the states.
        sensors: names of what the sensors measure.
        inputs: names of alpha.
        step: s.
        update: "exact", "simultaneous" or "sequential".
        blocks: the blocks it is made of.

    >>> from linkwright.elements.drives import DC, PD, Chain, Elastic, Ideal, Inertia
    >>> motor = DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5)
    >>> joint = Chain(PD(8, 0.02), Ideal(10), motor, Elastic(50, stiffness=500), Inertia(0.5))
    >>> joint.matrices(5e-4).Phi.shape
    (6, 6)
    """

    Phi: Array
    Theta: Array
    H: Array
    Q: Array
    R: Array
    gains: Array
    feedback: Array
    states: tuple[str, ...]
    sensors: tuple[str, ...]
    inputs: tuple[str, ...]
    step: float
    update: str
    blocks: tuple[StepBlock, ...]

    @property
    def growth(self) -> float:
        """The largest factor by which a state of the closed loop grows in a step."""
        k = len(self.gains)
        loop = self.Phi + self.Theta[:, k:] @ self.H
        return float(np.abs(np.linalg.eigvals(loop)).max())


def chain_matrices(
    parts: Parts,
    step: float,
    update: str,
    sensors: Sequence[str] | None,
    noise: DriveNoise,
    closed: bool,
) -> ChainMatrices:
    """Return the matrices of a chain."""
    if update not in UPDATES:
        raise DriveError(
            f"{update!r} is not an update of a chain",
            remedy=f"use {', '.join(UPDATES)}",
            code="R404",
        )
    number(step, "the step of a chain, s,", above=0.0)
    if parts.controller is None:
        raise DriveError(
            "a chain without a controller has no matrices of its own",
            remedy="give it one, or linearize the System",
            code="R414",
        )
    split = update != "exact"
    scratch = Block("scratch")
    sketch = Sketch(scratch, numeric=True, split=split)
    write_plant(sketch, parts)
    names = checked_sensors(sketch, parts, sensors)
    controller = _controller(sketch, parts.controller, names, step)
    plant = sketch.ordered(PLANT)
    own, last = controller.symbols, [u.name for u in sketch.commands]
    symbols = [*own, *sketch.commands, *(s.symbol for s in plant)]
    states = (*(x.name for x in own), *last, *(s.name for s in plant))
    size, m, k = len(states), len(names), len(own) + len(last)
    feedback = controller.feedback if closed else 0 * controller.feedback
    deviation = column(noise.process, states, "state")
    density = column(noise.density, states, "state")
    spread = _noise(controller.a, deviation[:k], density[:k], step)
    given = np.hstack([np.eye(k), feedback])
    none = np.zeros((k, size))
    put = tuple((name, "?") for name in states[:k])
    blocks = [
        StepBlock("controller", 0, controller.phi, controller.theta, none, given, spread, put)
    ]
    for role in PLANT if split else ("plant",):
        mine = [s for s in plant if s.role == role or not split]
        if not mine:
            continue
        ports = [p for p in sketch.ports if p.role == role]
        fed = [p.symbol for p in ports] if split else list(sketch.commands)
        values = [p.value for p in ports] if split else list(sketch.commands)
        rates = [s.rate for s in mine if s.rate is not None]
        what = {i: f"the rate of {s.name}" for i, s in enumerate(mine)}
        whole = np.array(coefficients(rates, [*(s.symbol for s in mine), *fed], what))
        first, count = states.index(mine[0].name), len(mine)
        phi, theta = held(whole[:, :count], whole[:, count:], step)
        what = dict.fromkeys(range(len(values)), f"what the {role} is fed with")
        couple = np.array(coefficients(values, symbols, what)).reshape(len(fed), size)
        span = slice(first, first + count)
        spread = _noise(whole[:, :count], deviation[span], density[span], step)
        none = np.zeros((len(fed), k + m))
        put = tuple((str(p.symbol.name), p.unit) for p in ports) if split else ()
        blocks.append(StepBlock(role, first, phi, theta, couple, none, spread, put))
    what = {i: f"the sensor of {n}" for i, n in enumerate(names)}
    H = np.array(coefficients([sketch.signal(n) for n in names], symbols, what)).reshape(m, size)
    R = column(noise.sensors, names, "sensor") ** 2
    R = R + column(noise.quantum, names, "sensor") ** 2 / 12
    Phi, Theta, Q = assembled(blocks, update)
    inputs = (*(f"R.{s}" for s in states[:k]), *names)
    return ChainMatrices(
        Phi, Theta, H, Q, np.diag(R), controller.gains, feedback, states, names, inputs, step,
        update, tuple(blocks),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Controller:
    """A controller as a block: its states, and its commands as the last of them."""

    symbols: list[Expr]
    a: Array
    phi: Array
    theta: Array
    gains: Array
    feedback: Array


def _controller(
    sketch: Sketch, controller: Controller, names: Sequence[str], step: float
) -> _Controller:
    owner = sketch.block.owner
    z = {n: symbol(f"z.{n}", "input", owner=owner) for n in names}
    r = symbol("reference", "input", owner=owner)
    law = controller.law(sketch.of(controller), r, lambda n: measured(z, n))
    put = list(commands(law, len(sketch.commands)))
    own = sketch.ordered(("controller",))
    x = [s.symbol for s in own]
    values = [*(s.rate for s in own if s.rate is not None), *put]
    what = dict.fromkeys(range(len(values)), "the controller")
    rows = np.array(coefficients(values, [*x, r, *z.values()], what))
    n, k = len(x), len(values)
    a, phi, theta = (np.zeros((k, k)) for _ in range(3))
    a[:n, :n] = rows[:n, :n]
    if n:
        phi[:n, :n], theta[:n, :n] = held(rows[:n, :n], np.eye(n), step)
    phi[n:, :n] = rows[n:, :n]
    theta[n:, n:] = np.eye(k - n)
    return _Controller(x, a, phi, theta, rows[:, n], rows[:, n + 1 :])


def measured(known: Mapping[str, Expr], name: str) -> Expr:
    """Return what a sensor says of a signal."""
    found = known.get(name)
    if found is None:
        raise DriveError(
            f"the controller needs {name!r}, which no sensor measures",
            remedy=f"add it to sensors=; there are {', '.join(known)}",
            code="R405",
        )
    return found


def checked_sensors(sketch: Sketch, parts: Parts, given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of what is measured: those given, or those of the parts."""
    if given is None:
        return tuple(
            f"{p.role}.{name}"
            for p in parts.plant
            for name in p.sensors
            if f"{p.role}.{name}" in sketch.signals
        )
    for name in given:
        if name not in sketch.signals:
            from linkwright.base.errors import suggestion

            raise DriveError(
                f"no signal of this chain is called {name!r}",
                remedy=suggestion(name, sketch.signals, f"it has {', '.join(sketch.signals)}"),
                code="R406",
            )
    return tuple(given)


def _noise(a: Array, deviation: Array, density: Array, step: float) -> Array:
    found = np.diag(deviation**2)
    return found + van_loan(a, np.diag(density**2), step) if density.any() else found


def assembled(blocks: Sequence[StepBlock], update: str) -> tuple[Array, Array, Array]:
    """Return Phi, Theta and Q of blocks that are stepped together.

    With Phi_s, Theta_s, D and Q of all blocks side by side: Phi = Phi_s + Theta_s D. A sequential
    step has Phi = F (Phi_s + Theta_s D_up), Theta = F Theta_c and Q = F Q F', where
    F = (I - Theta_s D_low)^-1 and D_low are the couplings to blocks that come earlier.
    """
    size = blocks[0].couple.shape[1]
    count = blocks[0].given.shape[1]
    plain, coupled, low = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    theta, noise = np.zeros((size, count)), np.zeros((size, size))
    for block in blocks:
        own = block.own
        plain[own, own] = block.phi
        noise[own, own] = block.noise
        coupled[own] = block.theta @ block.couple
        theta[own] = block.theta @ block.given
        low[own, : block.first] = coupled[own, : block.first]
    if update != "sequential":
        return plain + coupled, theta, noise
    forward = np.linalg.inv(np.eye(size) - low)
    return forward @ (plain + coupled - low), forward @ theta, forward @ noise @ forward.T


def refuse_long_step(name: str, found: ChainMatrices, fine: ChainMatrices) -> None:
    """Reject a chain that is unstable only because its steps are long."""
    growth = found.growth
    if growth > 1 + _ROUNDING and fine.growth <= 1 + _ROUNDING:
        raise DriveError(
            f"the chain {name!r} grows by {growth:.6g} in each step of {found.step:g} s with the "
            f"{found.update} update, though it is stable",
            remedy="take a higher rate"
            + (", or update='exact'" if found.update != "exact" else ", or a lower gain"),
            code="R420",
        )


_ROUNDING = 1e-7
"""By how much an eigenvalue of 1 may be off."""
