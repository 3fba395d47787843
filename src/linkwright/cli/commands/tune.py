"""``linkwright cell tune``: experiments on an axis of a cell, and gains that follow from them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from linkwright.base.errors import InputError, suggestion
from linkwright.cli.cells import Authority, Cell, Certificate, Client, Key, open_cell
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.linear.gains import ProposedGains
    from linkwright.linear.tuning import StepMeasures
    from linkwright.server.experiments import AxisBench, RelayResult, SweepResult

TESTS = ("step", "sweep", "relay")
TEST = typer.Option(
    list(TESTS), "--test", metavar="TEST", help="step, sweep or relay; all by default."
)


def command(
    cell: Cell,
    axis: str = typer.Argument(metavar="AXIS", help="Such as puma.3."),
    tests: list[str] = TEST,
    virtual: bool = typer.Option(
        False, "--virtual", help="CELL is a cell.toml, or a shipped cell; no network is needed."
    ),
    amplitude: float = typer.Option(0.005, "--amplitude", metavar="A", help="rad or m."),
    low: float = typer.Option(5.0, "--low", metavar="W", help="Lowest of the sweep, rad/s."),
    high: float = typer.Option(300.0, "--high", metavar="W", help="Highest of the sweep, rad/s."),
    points: int = typer.Option(14, "--points", metavar="N", help="Of the sweep."),
    margin: float = typer.Option(
        60.0, "--margin", metavar="DEG", help="Phase margin of proposed gains."
    ),
    seconds: float = typer.Option(2.0, "--seconds", metavar="S", help="Of step and relay."),
    apply: bool = typer.Option(
        False, "--apply", help="Set the gains that the last test proposes, and step again."
    ),
    plot: str | None = typer.Option(
        None, "--plot", metavar="FILE", help="Bode plot of the sweep: .png, .svg or .pdf."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    client: Client = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
) -> None:
    """Measure the loop of one axis, and propose gains: step, sweep and relay.

    The arm is enabled and holds still but for the experiment, which its loop makes in ticks.
    Limits, stops and silence hold as ever.

    \b
    Examples:
      linkwright cell tune cell1 puma.3
      linkwright cell tune cell1 puma.3 --test sweep --plot bode.svg
      linkwright cell tune axes2 plane.1 --virtual --apply
    """
    for test in tests:
        if test not in TESTS:
            raise InputError(
                f"there is no test {test!r}",
                remedy=suggestion(test, TESTS, f"take {', '.join(TESTS)}"),
            )
    if plot is not None and "sweep" not in tests:
        raise InputError("--plot shows the sweep", remedy="add --test sweep")
    if not 0 < low < high or points < 3:
        raise InputError(
            f"{points} points from {low:g} to {high:g} rad/s are no sweep",
            remedy="give --low below --high, and 3 --points or more",
        )
    opened = (
        _virtual(cell, axis)
        if virtual
        else _remote(cell, axis, client, certificate, key, authority)
    )
    with opened as bench:
        before = (bench.kp, bench.kd)
        found = _measured(bench, tests, amplitude, seconds, (low, high, points), margin)
        proposed = [gains for gains in map(_proposed, found.values()) if gains is not None]
        if apply and proposed:
            bench.set_gains(proposed[-1].kp, proposed[-1].kd)
            found |= _measured(
                bench, ["step"], amplitude, seconds, (low, high, points), margin, "after"
            )
        if plot is not None:
            from linkwright.recording.plots import save_figure

            save_figure(plot, found["sweep"].loop.bode(found["sweep"].closed))
        if as_json:
            echo(json.dumps(_told(bench.axis, before, found), indent=2))
        else:
            _show(bench.axis, before, found)
            if plot is not None:
                echo(f"\n{plot} written")
            if apply and proposed:
                echo(f"set: kp = {bench.kp:.6g}, kd = {bench.kd:.6g}")


@contextmanager
def _virtual(cell: str, axis: str) -> Iterator[AxisBench]:
    from linkwright.server.cell_file import read_cell
    from linkwright.server.experiments import VirtualBench
    from linkwright.server.virtual import VirtualCell

    yield VirtualBench(VirtualCell(read_cell(cell), sensing=False), axis)


@contextmanager
def _remote(
    cell: str,
    axis: str,
    client: str | None,
    certificate: str | None,
    key: str | None,
    authority: str | None,
) -> Iterator[AxisBench]:
    from linkwright.server.experiments import RemoteBench, axis_of

    with open_cell(cell, client, certificate, key, authority) as found:
        arm, _ = axis_of(list(found.arms.values()), axis)
        with found.arm(arm.name).command(silence=0.5) as hand:
            hand.enable()
            yield RemoteBench(hand, axis)


def _measured(
    bench: AxisBench,
    tests: list[str],
    amplitude: float,
    seconds: float,
    sweep: tuple[float, float, int],
    margin: float,
    prefix: str = "",
) -> dict[str, Any]:
    import numpy as np

    from linkwright.server.experiments import relay_trial, step_experiment, sweep_experiment

    low, high, points = sweep
    found: dict[str, Any] = {}
    for test in TESTS:
        name = f"{prefix} {test}".strip()
        if test not in tests:
            continue
        if test == "step":
            found[name] = step_experiment(bench, amplitude, seconds=seconds)
        elif test == "sweep":
            w = np.geomspace(low, high, points)
            found[name] = sweep_experiment(bench, amplitude, w, margin=margin)
        else:
            found[name] = relay_trial(bench, amplitude, seconds=seconds, margin=margin)
    return found


def _proposed(result: Any) -> ProposedGains | None:
    return getattr(result, "gains", None)


def _show(axis: str, gains_before: tuple[float, float], found: dict[str, Any]) -> None:
    from linkwright.cli.tables import print_table

    echo(f"{axis}: kp = {gains_before[0]:.6g}, kd = {gains_before[1]:.6g}")
    for name, result in found.items():
        echo()
        rows = _ROWS[name.split()[-1]](result)
        print_table((name, ""), rows, title="", numbers=("",))
    for name, result in found.items():
        gains = _proposed(result)
        if gains is not None:
            numbers = f"kp = {gains.kp:.6g}, kd = {gains.kd:.6g}"
            echo(f"\nproposed by the {name}: {numbers} ({gains.source})")


def _step(result: StepMeasures) -> list[tuple[str, str]]:
    return [
        ("rise time, 10 to 90 %", _time(result.rise)),
        ("overshoot", f"{100 * result.overshoot:.3g} %"),
        ("settling time, 2 %", _time(result.settling)),
        ("final error", f"{100 * result.error:.3g} %"),
    ]


def _sweep(result: SweepResult) -> list[tuple[str, str]]:
    m = result.margins
    return [
        ("crossover", f"{m.phase_frequency:.4g} rad/s"),
        ("phase margin", f"{m.degrees:.3g} deg"),
        ("gain margin", f"{m.decibels:.3g} dB" if math.isfinite(m.gain) else "beyond the sweep"),
        ("delay margin", _time(m.delay)),
        ("modulus margin", f"{m.modulus:.3g}"),
    ]


def _relay(result: RelayResult) -> list[tuple[str, str]]:
    return [
        ("oscillates at", f"{result.frequency:.4g} rad/s"),
        ("period", _time(2 * math.pi / result.frequency)),
        ("spread of periods", f"{100 * result.spread:.2g} %"),
    ]


_ROWS: dict[str, Callable[[Any], list[tuple[str, str]]]] = {
    "step": _step,
    "sweep": _sweep,
    "relay": _relay,
}


def _time(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "not reached"
    return f"{1e3 * seconds:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"


def _told(axis: str, gains_before: tuple[float, float], found: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"axis": axis, "kp": gains_before[0], "kd": gains_before[1]}
    for name, result in found.items():
        if name.endswith("sweep"):
            values = {
                "frequencies": result.loop.frequencies.tolist(),
                "loop": [[v.real, v.imag] for v in result.loop.values],
                "margins": _plain(result.margins),
            }
        elif name.endswith("relay"):
            values = {"frequency": result.frequency, "spread": result.spread}
        else:
            values = _plain(result)
        gains = _proposed(result)
        if gains is not None:
            values["gains"] = {"kp": gains.kp, "kd": gains.kd, "source": gains.source}
        told[name] = values
    return told


def _plain(result: Any) -> dict[str, Any]:
    """Return the numbers of a result; what is not finite is null."""
    found = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {name: value if math.isfinite(value) else None for name, value in found.items()}
