"""Wrist loops along one axis, carried out as batches of a System: what the arm and the tool do.

A tool slides on the wrist's spring and damper, the surroundings push it, and the law is a sampled
block. Runs start with the tool away from rest. How fast its swings grow from one part of the run to
a later one gives the spectral radius; how it swings is read from a recursion fitted to the run,
with no more poles than the run shows.

Periods that differ from run to run are brought to one by the scale of time: a loop of period T
with mass m and damping C does, tick by tick, what one of period T0 with m*(T0/T)^2 and C*T0/T does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.blocks import Block, Element, sampled
from linkwright.contact.wrist_loops import EDGE, VERDICTS, WristLoop, arrays, verdicts_of
from linkwright.control.force.sampled_limits import CONTACT_ORDERS
from linkwright.mechanism import Mechanism
from linkwright.simulation import simulate_batch
from linkwright.system import System

__all__ = ["loop_system", "simulated_verdicts"]

Array = NDArray[np.float64]
TICKS = 160
_TURN = 0.3  # rad of the quickest swing in a step
_STEPS = 400  # in a tick, of which more are refused
_FITTED = 48  # ticks of a run that its swings are read from
_RANK = 1e-8  # of the largest singular value, below which a pole cannot be told from the others
_LEFT = 1e-11  # of a run's largest deflection, below which rounding is all that is left


def loop_system(loop: WristLoop) -> System:
    """Return a wrist's loop as a System: `tool` in m, `law.arm` the place that the arm is sent to.

    Args:
        loop: its law, order and numbers; an order with an impulse cannot be carried out.

    >>> loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0, a=0.95)
    >>> from linkwright.simulation import simulate
    >>> run = simulate(loop_system(loop), 2.0, initial={"tool": 0.001})
    >>> abs(run.final["tool"]) < 1e-4
    True
    """
    order = CONTACT_ORDERS[loop.order]
    if order.impulse:
        raise InputError(
            f"a simulation cannot pass on the impulse of the order {loop.order!r}",
            remedy=f"use {loop.order.removesuffix('-impulse')!r}, or leave out the runs"
            " (simulate=False, --no-simulate)",
        )
    m = Mechanism("wrist-axis")
    mass = m.parameter("m", loop.m, unit="kg")
    Cw, Ce = (m.parameter(n, getattr(loop, n), unit="N*s/m") for n in ("Cw", "Ce"))
    Kw, Ke = (m.parameter(n, getattr(loop, n), unit="N/m") for n in ("Kw", "Ke"))
    m.body("tool", translate="x", mass=mass, inertia=0)
    x, v = m.expr("tool"), m.expr("tool_dot")
    wrist = Element("wrist", m)
    arm = wrist.input("arm", unit="m")
    wrist.effort("push", "tool", -Kw * (x - arm) - Cw * v)
    surroundings = Element("surroundings", m)
    surroundings.effort("push", "tool", -Ke * x - Ce * v)
    s = System(m)
    law = s.add(_law(loop), rate=sampled(period=loop.T))
    felt = s.add(wrist)
    s.add(surroundings)
    s.connect(law.arm, felt.arm)
    s.connect("tool", law.place)
    return s


def _law(loop: WristLoop) -> Block:
    order = CONTACT_ORDERS[loop.order]
    law = Block("law")
    place = law.input("place", unit="m", doc="of the tool")
    gain = law.parameter("gain", loop.gain)
    a = law.parameter("a", loop.a)
    y = law.discrete_state("y", unit="m", doc="what the filter gives")
    last = law.discrete_state("last", unit="m", doc="where the arm was sent a tick ago")
    sign = -gain if loop.law == "position" else gain
    base = last if loop.law == "accumulating" else 0
    seen = a * y + (1 - a) * (place - last)
    arm = law.output("arm", base + sign * (seen if order.at_once else y), unit="m")
    law.update(y, a * y + (1 - a) * (place - arm) if order.new else seen)
    law.update(last, arm)
    return law


def simulated_verdicts(
    loop: WristLoop, over: Mapping[str, Any] | None = None, *, threads: int | None = None
) -> tuple[Array, NDArray[np.int8]]:
    """Return the radii that runs of the loop show, and verdicts as places in `VERDICTS`.

    A radius is what the tool's swings grow by from tick to tick; it is 0 where nothing is left.

    Args:
        loop: the numbers that stay.
        over: arrays in place of some of them, which are broadcast.
        threads: as many as there are processors by default.

    >>> loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0)
    >>> simulated_verdicts(loop, {"a": [0.6, 0.95]})[1].tolist()
    [2, 1]
    """
    at = arrays(loop, over)
    shape = at["m"].shape
    flat = {name: value.reshape(-1) for name, value in at.items()}
    scale = loop.T / flat["T"]
    steps = _steps_of(flat)
    values: dict[str, Any] = {
        "m": flat["m"] * scale**2, "Cw": flat["Cw"] * scale, "Ce": flat["Ce"] * scale,
        "Kw": flat["Kw"], "Ke": flat["Ke"], "law.gain": flat["gain"], "law.a": flat["a"],
    }  # fmt: skip
    found = simulate_batch(
        loop_system(loop), TICKS * loop.T, method="rk4", step=loop.T / steps,
        initial={"tool": 1.0}, parameters=values, record=["tool", "law.arm"], every=1,
        threads=threads,
    )  # fmt: skip
    deflections = found.samples[:, :, 0] - found.samples[:, :, 1]
    # place and speed of the tool, the filter, and the arm where it is not known from the filter
    adds, late = loop.law == "accumulating", loop.order.startswith("old-place")
    order = np.where(flat["Ke"] > 0, 4, 3) if adds else np.full(len(scale), 4 if late else 3)
    radius, verdicts = np.zeros(len(order)), np.zeros(len(order), dtype=np.int8)
    for n in (3, 4):
        runs = order == n
        if runs.any():
            radius[runs], verdicts[runs] = _read(deflections[runs], n)
    burst = np.isfinite(found.stopped)  # too large for numbers
    radius[burst], verdicts[burst] = np.inf, VERDICTS.index("unstable")
    return radius.reshape(shape), verdicts.reshape(shape)


def _steps_of(at: Mapping[str, Array]) -> int:
    """Return how many steps a tick takes for the quickest of the runs; too many are rejected."""
    quickest = np.sqrt((at["Kw"] + at["Ke"]) / at["m"]) * at["T"]
    lag = (at["Cw"] + at["Ce"]) / at["m"] * at["T"]
    need = float(max(quickest.max(), lag.max() / 2))
    steps = int(np.ceil(need / _TURN))
    if steps > _STEPS:
        raise InputError(
            f"the tool is too quick for a simulation: {need:.3g} rad in a period",
            remedy="leave out the runs (simulate=False, --no-simulate), or take a heavier tool",
        )
    return max(steps, 4)


def _read(x: Array, order: int) -> tuple[Array, NDArray[np.int8]]:
    """Return radii and verdicts from samples of a place at ticks, a row for each run."""
    last = x.shape[1]
    third = last // 3
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        radius = _growth(x, (third, 2 * third), (2 * third, last))
        return radius, verdicts_of(radius < 1 - EDGE, _swings(x, order))


def _swings(x: Array, order: int) -> NDArray[np.complex128]:
    """Return logarithms of the poles a tick of the recursion that fits runs best (Prony).

    Every row of the fit counts alike, so that what is left of a run late in it counts as its start.
    Poles that are nearly equal cannot be distinguished: they are read as one (the singular values
    of the rows say how many there are), where a recursion of the full order would invent others.
    """
    windows = np.lib.stride_tricks.sliding_window_view(x[:, 1:_FITTED], order + 1, axis=1)
    size = np.abs(windows).max(axis=2, keepdims=True)
    most = np.abs(np.nan_to_num(x)).max(axis=1)[:, None, None]
    left = (size > _LEFT * most) & np.isfinite(size)
    rows = np.nan_to_num(windows / np.where(left, size, np.inf))
    u, s, v = np.linalg.svd(rows[:, :, :-1], full_matrices=False)
    told = s > _RANK * s[:, :1]
    inverse = np.where(told, 1 / np.where(told, s, 1.0), 0.0)
    v = v * told[:, :, None]
    shift = inverse[:, :, None] * (u.swapaxes(1, 2) @ rows[:, :, 1:] @ v.swapaxes(1, 2))
    poles = np.linalg.eigvals(shift).astype(complex)
    gone = np.abs(poles) < 1e-12
    return np.where(gone, -1e9, np.log(np.where(gone, 1.0, poles)))


def _growth(x: Array, early: tuple[int, int], late: tuple[int, int]) -> Array:
    """Return by what swings grow from tick to tick, from one part of runs to another; 0 if gone."""
    before, after = (np.abs(x[:, slice(*part)]).max(axis=1) for part in (early, late))
    apart = (sum(late) - sum(early)) / 2
    known = (before > 1e-290) & (after > 1e-290)
    ratio = np.where(known, after / np.where(known, before, 1.0), 0.0)
    return np.where(np.isfinite(ratio), ratio ** (1 / apart), np.inf)
