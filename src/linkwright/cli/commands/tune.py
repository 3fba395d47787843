"""``linkwright cell tune``: experiments on an axis of a cell, and gains that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError, unknown
from linkwright.cli.cells import Authority, Cell, Certificate, Client, Key, open_cell
from linkwright.cli.options import option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.linear.gains import ProposedGains
    from linkwright.server.experiments import AxisBench

TESTS = ("step", "sweep", "relay")
APPLY = "Set the gains that the last test proposes, and step again."


def command(
    cell: Cell,
    axis: Annotated[str, typer.Argument(metavar="AXIS", help="Such as puma.3.")],
    tests: Annotated[
        list[str] | None,
        own("TEST", "step, sweep or relay (repeatable); all.", "--test"),
    ] = None,
    virtual: Annotated[bool, option("--virtual", "CELL is a file, or ships.")] = False,
    amplitude: Annotated[float, own("A", "Of each test, rad or m.")] = 0.005,
    low: Annotated[float, own("W", "Lowest frequency of the sweep, rad/s.")] = 5.0,
    high: Annotated[float, own("W", "Highest frequency of the sweep, rad/s.")] = 300.0,
    points: Annotated[int, option("--points", "Of the sweep.")] = 14,
    margin: Annotated[float, own("DEG", "Phase margin of proposed gains, deg.")] = 60.0,
    seconds: Annotated[float, own("S", "Duration of step and relay, s.")] = 2.0,
    apply: Annotated[bool, own(None, APPLY, "--apply")] = False,
    out: Annotated[
        Path | None, option("--out", "A Bode plot of the sweep: .png, .svg or .pdf.")
    ] = None,
    client: Client = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
) -> CommandResult:
    """Measure the loop of one axis, and propose gains: step, sweep and relay.

    The arm is enabled and holds still but for the experiment, which its loop makes in ticks.
    Limits, stops and silence hold as ever.

    \b
    Examples:
      linkwright cell tune cell1 puma.3
      linkwright cell tune cell1 puma.3 --test sweep -o bode.svg
      linkwright cell tune axes2 plane.1 --virtual --apply
    """
    tests = tests or list(TESTS)
    for test in tests:
        if test not in TESTS:
            raise unknown("test", test, TESTS)
    if out is not None and "sweep" not in tests:
        raise InputError("--out shows the sweep", remedy="add --test sweep")
    if not 0 < low < high or points < 3:
        raise InputError(
            f"{points} points from {low:g} to {high:g} rad/s are not a sweep",
            remedy="give --low below --high, and 3 --points or more",
        )
    opened = (
        _virtual(cell, axis)
        if virtual
        else _remote(cell, axis, client, certificate, key, authority)
    )
    with opened as bench:
        before = (bench.kp, bench.kd)
        given = (amplitude, seconds, (low, high, points), margin)
        found = _measured(bench, tests, *given)
        proposed = [gains for gains in map(_proposed, found.values()) if gains is not None]
        lines = []
        if apply and proposed:
            bench.set_gains(proposed[-1].kp, proposed[-1].kd)
            found["after_step"] = _measured(bench, ["step"], *given)["step"]
            lines = [f"set: kp = {bench.kp:.6g}, kd = {bench.kd:.6g}"]
        if out is not None:
            from linkwright.recording.plots import save_figure

            save_figure(out, found["sweep"].loop.bode(found["sweep"].closed))
        data = {"axis": bench.axis, "kp": before[0], "kd": before[1], **_data(found)}
        text = [*_text(bench.axis, before, found), *lines]
        return CommandResult(data, text, files={"bode_plot": out})


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
    tests: Sequence[str],
    amplitude: float,
    seconds: float,
    sweep: tuple[float, float, int],
    margin: float,
) -> dict[str, Any]:
    import numpy as np

    from linkwright.server.experiments import relay_trial, step_experiment, sweep_experiment

    found: dict[str, Any] = {}
    if "step" in tests:
        found["step"] = step_experiment(bench, amplitude, seconds=seconds)
    if "sweep" in tests:
        w = np.geomspace(*sweep)
        found["sweep"] = sweep_experiment(bench, amplitude, w, margin=margin)
    if "relay" in tests:
        found["relay"] = relay_trial(bench, amplitude, seconds=seconds, margin=margin)
    return found


def _proposed(result: Any) -> ProposedGains | None:
    return getattr(result, "gains", None)


def _text(
    axis: str, before: tuple[float, float], found: dict[str, Any]
) -> Iterator[str | TextTable]:
    yield f"{axis}: kp = {before[0]:.6g}, kd = {before[1]:.6g}"
    for name, result in found.items():
        yield ""
        yield TextTable((name.replace("_", " "), ""), result.rows(), numbers=("",))
    for name, result in found.items():
        gains = _proposed(result)
        if gains is not None:
            numbers = f"kp = {gains.kp:.6g}, kd = {gains.kd:.6g}"
            yield f"\nproposed by the {name}: {numbers} ({gains.source})"
        elif hasattr(result, "gains"):
            yield f"\nproposed by the {name}: nothing, since no gains have the --margin asked for"


def _data(found: dict[str, Any]) -> dict[str, Any]:
    data = {}
    for name, result in found.items():
        data[name] = result.as_dict()
        gains = _proposed(result)
        if gains is not None:
            data[name]["gains"] = {"kp": gains.kp, "kd": gains.kd, "source": gains.source}
    return data
