"""What ``linkwright analyze drives --bode`` and ``--limit-cycle`` print: the loops of drives."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.linear import LimitCycle, OpenLoop
    from linkwright.system import System

LOOPS = {
    "position": ("load.angle", "motor.angle"),
    "speed": ("load.speed", "motor.speed"),
    "current": ("motor.i",),
}
"""What is measured in each loop of a drive; the first of these that a controller reads is cut."""


def print_loops(
    system: System,
    drives: list[str],
    *,
    bode: str,
    cycles: bool,
    stem: str,
    force: bool,
    as_json: bool,
) -> None:
    """Cut the loops of drives, draw them, look for limit cycles, and print what was found."""
    from linkwright.base.errors import InputError
    from linkwright.linear import cut_loop, limit_cycles
    from linkwright.recording.plots import save_figure

    told: list[dict[str, Any]] = []
    pictures: dict[Path, OpenLoop] = {}
    for name in drives:
        found: dict[str, Any] = {"drive": name}
        if bode:
            loop = cut_loop(system, port_of(system, name, bode))
            picture = Path(f"{stem}-{name}-bode.png")
            if picture.exists() and not force:
                raise InputError(f"{picture} is there already", remedy="--force overwrites it")
            found |= {**_margins(loop), "plot": str(picture)}
            pictures[picture] = loop
        if cycles:
            _refuse_linear(system, name)
            orbits = limit_cycles(system, f"{name}.train.torque", f"{name}.train.twist")
            found["limit_cycles"] = [_cycle(orbit) for orbit in orbits]
        told.append(found)
    for picture, loop in pictures.items():
        save_figure(picture, loop.response().bode())
    if as_json:
        echo(json.dumps([_finite(found) for found in told], indent=2))
        return
    for found in told:
        _say(found)


def _refuse_linear(system: System, name: str) -> None:
    """Refuse to look for limit cycles of a gear that is linear."""
    from linkwright.base.errors import InputError

    train = getattr(getattr(system.members[name].block, "parts", None), "train", None)
    if train is not None and not any(getattr(train, key, None) for key in _BENT):
        raise InputError(
            f"the gear of {name!r} is linear: it has no gap, no slopes and no hysteresis, so it "
            "makes no limit cycle",
            remedy="give the train a gap, in rad: --set train.gap=0.001",
            code="R611",
        )


_BENT = ("gap", "second_stiffness", "hysteresis")


def port_of(system: System, drive: str, word: str) -> str:
    """Return the port at which a loop of a drive is cut."""
    from linkwright.algebra import free_symbols
    from linkwright.base.errors import InputError

    signals = LOOPS.get(word)
    if signals is None:
        return f"{drive}.{word}" if word in system.members[drive].block.outputs else word
    read = {
        x.name: wire.value
        for x, wire in system.wires.items()
        if any(s.name.startswith(f"{drive}.") for s in free_symbols(wire.value))
    }
    for signal in signals:
        for port in read:
            if port.endswith(f".{signal}"):
                return port
    own = f"{drive}.controller.u"
    if word == "position" and "controller.u" in system.members[drive].block.outputs:
        return own
    raise InputError(
        f"no controller reads {' or '.join(signals)} of {drive!r} by a port, so its {word} loop "
        "has no port to be cut at",
        remedy=f"name the port itself, such as {own}",
        code="R601",
    )


def _margins(loop: OpenLoop) -> dict[str, Any]:
    m = loop.margins()
    return {
        "cut": loop.port,
        "gain": m.gain,
        "gain_frequency": m.gain_frequency,
        "phase_degrees": m.degrees,
        "phase_frequency": m.phase_frequency,
        "delay": m.delay,
        "modulus": m.modulus,
        "modulus_frequency": m.modulus_frequency,
    }


def _finite(found: dict[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold: null for a margin that has no end."""
    lost = {n for n, v in found.items() if isinstance(v, float) and not math.isfinite(v)}
    return {n: None if n in lost else v for n, v in found.items()}


def _cycle(orbit: LimitCycle) -> dict[str, Any]:
    return {
        "frequency": orbit.frequency,
        "amplitude": orbit.amplitude,
        "stable": orbit.stable,
        "multiplier": float(abs(orbit.multipliers).max(initial=0.0)),
        "predicted_frequency": orbit.balance.frequency,
        "predicted_amplitude": orbit.balance.amplitude,
    }


def _say(found: dict[str, Any]) -> None:
    from linkwright.cli.tables import print_table

    if "cut" in found:
        rows = [
            ("gain", f"{found['gain']:.4g}", "", f"{found['gain_frequency']:.4g}"),
            ("phase", f"{found['phase_degrees']:.4g}", "deg", f"{found['phase_frequency']:.4g}"),
            ("delay", f"{found['delay']:.4g}", "s", ""),
            ("modulus", f"{found['modulus']:.4g}", "", f"{found['modulus_frequency']:.4g}"),
        ]
        head = ("margin", "value", "unit", "at rad/s")
        title = f"{found['drive']}: loop cut at {found['cut']}"
        print_table(head, rows, title=title, numbers=["value", "at rad/s"])
        echo(f"picture: {found['plot']}")
    if "limit_cycles" in found:
        keys = ("frequency", "amplitude", "multiplier", "predicted_frequency")
        columns = ("rad/s", "amplitude rad", "multiplier", "predicted rad/s", "kind")
        table = [
            (*(f"{c[k]:.5g}" for k in keys), "stable" if c["stable"] else "unstable")
            for c in found["limit_cycles"]
        ]
        title = f"{found['drive']}: limit cycles of the gear's twist"
        print_table(columns, table, title=title, numbers=columns[:4])
