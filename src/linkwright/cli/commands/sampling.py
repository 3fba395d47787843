"""``linkwright analyze sampling``: is a loop stable whose samples come at random?"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.base.results import plain
from linkwright.cli.options import option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.sampling.answers import Answers
    from linkwright.sampling.designs import UnitCurve
    from linkwright.sampling.maps import RateMap
    from linkwright.sampling.rate_files import LoopTask
    from linkwright.sampling.regimes import Array
    from linkwright.sampling.streams import RateCertificate

STREAM = "Stream of the recording: a sensor, a frame or a channel."
LOOP = "Loop of the recording (.toml). Default: a joint under computed torque, poles 0.4 and 0.7."
AGES = "Take what a sample shows as of now: the controller predicts its age away."

_WIDTH = 100  # columns of what is printed


def command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A loop (.toml), or a recording.")],
    stream: Annotated[str, own("NAME", STREAM)] = "",
    loop: Annotated[Path | None, own("FILE", LOOP)] = None,
    as_map: Annotated[
        bool, own(None, "Map the answers over the ranges of the file.", "--map")
    ] = False,
    predicted: Annotated[bool, own(None, AGES, "--predicted")] = False,
    streams: Annotated[int, own("N", "Run so many random streams, and print their IAE.")] = 0,
    until: Annotated[float | None, option("--until", "Of the runs. Default: 2.")] = None,
    seed: Annotated[int | None, option("--seed", "Of the runs. Default: 0.")] = None,
    curve: Annotated[
        bool, own(None, "Show gamma and its integral g over the interval.", "--curve")
    ] = False,
    out: Annotated[
        Path | None,
        option("--out", "A picture (.svg, .png, .pdf), or the numbers of a map (.json)."),
    ] = None,
) -> CommandResult:
    """Say whether a loop with random sampling is stable, in four ways.

    Of a recording, a certificate for the intervals that were measured, or why there is none; both
    with the margin. The exit code is 1 where nothing is proven.

    \b
    Examples:
      linkwright analyze sampling loop.toml
      linkwright analyze sampling loop.toml --map -o map.svg
      linkwright analyze sampling loop.toml --streams 50 --until 2 -o runs.png
      linkwright analyze sampling loop.toml --curve
      linkwright analyze sampling cell.parquet --stream eye --loop loop.toml
    """
    if streams < 0:
        raise InputError(f"--streams {streams} are none", remedy="give 1 or more, such as 50")
    if not streams and (until is not None or seed is not None):
        given = "--until" if until is not None else "--seed"
        raise InputError(f"{given} is that of runs", remedy="give --streams, such as --streams 50")
    if as_map + bool(streams) + curve > 1:
        raise InputError(
            "--map, --streams and --curve are three answers", remedy="choose one of them"
        )
    if source.suffix.lower() != ".toml":
        if streams or curve:
            what = "runs" if streams else "a curve"
            raise InputError(
                f"{what} are made of a loop, not of a recording", remedy="give a .toml file"
            )
        if as_map or out is not None:
            raise InputError(
                "a map is made of a loop, not of a recording", remedy="give a .toml file"
            )
        if not source.is_file():
            what = "it is a folder" if source.is_dir() else "there is no such file"
            raise InputError(f"cannot read: {what}", file=source)
        if not stream:
            raise InputError(
                "a recording has many streams, and one is to be named",
                remedy="give --stream, such as --stream eye",
            )
        return _of_recording(source, stream, loop, predicted)
    if stream or loop is not None:
        raise InputError(
            f"{source} is a loop, and has no streams",
            remedy=f"linkwright analyze sampling cell.parquet --stream eye --loop {source}",
        )
    if predicted:
        raise InputError(
            f"{source} is a loop, and has no ages that could be predicted",
            remedy="leave out --predicted, or give a recording",
        )
    if streams or curve:
        return _drawn(source, streams, 2.0 if until is None else until, seed or 0, out)
    return _of_loop(source, as_map, out)


def _drawn(source: Path, streams: int, until: float, seed: int, out: Path | None) -> CommandResult:
    """Return runs of a loop, or its curve."""
    from linkwright.recording.plots import ENDINGS, save_figure
    from linkwright.sampling import read_loop
    from linkwright.sampling.run_plots import curve_figure, runs_figure

    if out is not None and out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"the ending {out.suffix!r} does not name a picture",
            remedy=f"use one of {', '.join(ENDINGS)}",
        )
    task = read_loop(source)
    if not streams:
        found = task.curve
        if out is not None:
            save_figure(out, curve_figure(found))
        data = _curve_data(task.name, found)
        return CommandResult(data, _curve(task.name, found), files={"plot": out})
    runs, gain = task.runs(until=until, streams=streams, seed=seed)
    names = task.loop.states[task.loop.sums :][: len(task.loop.a)]
    if out is not None:
        save_figure(out, runs_figure(runs, names))
    told = runs.spread()
    rows = [(n, *(f"{told[what][k]:.4g}" for what in told)) for k, n in enumerate(names)]
    title = f"{task.name}: IAE of {streams} streams until {until:g} s, from {names[0]} = 1"
    heads = ("state", "mean", "STD", "maximum")
    numbers = {f"iae_{what}": dict(zip(names, each, strict=True)) for what, each in told.items()}
    data = {"name": task.name, "streams": streams, "until_s": until, "gain": gain.tolist()}
    text: list[str | TextTable] = [TextTable(heads, rows, title, heads[1:]), _gain(gain)]
    return CommandResult(data | {"states": numbers}, text, files={"plot": out})


def _curve_data(name: str, found: UnitCurve) -> dict[str, object]:
    pairs, partners = found.rows()
    at, least = found.lowest
    return {
        "name": name,
        "gain_at_one_second": found.gain.tolist(),
        "least_gamma": least,
        "ratio_of_least_gamma": at,
        "ratio_of_gamma_zero": found.zero,
        "ratio_of_g_zero": found.g_zero,
        "equal_gamma": [list(row) for row in pairs],
        "equal_g": [list(row) for row in partners],
    }


def _curve(name: str, found: UnitCurve) -> Iterator[str | TextTable]:
    pairs, partners = found.rows()
    at, least = found.lowest
    heads = ("gamma", "ratio 1", "ratio 2")
    rows = [(f"{x:.2f}", f"{a:.3f}", f"{b:.3f}") for x, a, b in pairs]
    yield TextTable(heads, rows, f"{name}: ratios of equal gamma", heads)
    heads = ("ratio 3", "ratio 4", "quotient")
    rows = [(f"{a:.2f}", f"{b:.3f}", f"{c:.3f}") for a, b, c in partners]
    yield TextTable(heads, rows, "Ratios of equal g", heads)
    yield f"gamma is least at {at:.4g}: {least:.4g}, and 0 at {found.zero:.4g}"
    yield f"g is 0 at {found.g_zero:.4g}; ratios are of an interval to that of the design"


def _gain(gain: Array) -> str:
    return "gain       " + "; ".join(", ".join(f"{v:.6g}" for v in row) for row in gain)


def _of_loop(source: Path, as_map: bool, out: Path | None) -> CommandResult:
    from linkwright.recording.plots import ENDINGS
    from linkwright.sampling import read_loop

    if out is not None and not as_map:
        raise InputError("only a map is written to a file", remedy="give --map too")
    if out is not None and out.suffix.lower() not in (".json", *ENDINGS):
        raise InputError(
            f"the ending {out.suffix!r} does not name a map",
            remedy=f"use .json or one of {', '.join(ENDINGS)}",
        )
    task = read_loop(source)
    if as_map:
        return _mapped(task, out)
    found = task.answers()
    return CommandResult(
        {"name": task.name, **found.as_dict()},
        _answers(task.name, found),
        next=f"analyze sampling {source} --map -o map.svg",
        code=0 if found.stable else 1,
    )


def _mapped(task: LoopTask, out: Path | None) -> CommandResult:
    import json

    from linkwright.base.files import write_text
    from linkwright.recording.plots import save_figure

    found = task.map()
    data = plain({"name": task.name, **found.as_dict()})
    if out is not None and out.suffix.lower() == ".json":
        write_text(out, json.dumps(data, indent=2) + "\n")
    elif out is not None:
        save_figure(out, found.plot())
    return CommandResult(data, [_map(task.name, found)], files={"map": out})


def _of_recording(source: Path, stream: str, loop: Path | None, predicted: bool) -> CommandResult:
    from linkwright.recording import read_recording
    from linkwright.sampling import read_loop
    from linkwright.sampling.rate_files import LoopTask
    from linkwright.sampling.streams import stream_of

    task = LoopTask.joint() if loop is None else read_loop(loop)
    seen = stream_of(read_recording(source), stream)
    found = task.certify(seen, ages=not predicted)
    data = {"name": task.name, **found.as_dict()}
    return CommandResult(data, _certificate(task.name, found), code=0 if found.granted else 1)


def _answers(name: str, found: Answers) -> Iterator[str | TextTable]:
    from linkwright.sampling.answers import MEANINGS

    band = f"{found.exponent.value:.4f} ({found.exponent.low:.4f} to {found.exponent.high:.4f})"
    rows = [
        ("contraction, T given", _number(found.contraction, "none: with delays"), "< 0"),
        ("contraction, best T", _number(found.best_contraction, "none"), "< 0"),
        ("mean square", _number(found.mean_square, "infinite: rare, long intervals"), "< 1"),
        ("Lyapunov exponent", band, "< 0"),
    ]
    yield TextTable(("answer", "value", "stable"), rows, f"{name}: {found.verdict}")
    for row, meaning in zip(rows, MEANINGS.values(), strict=True):
        yield from textwrap.wrap(f"{row[0]}: {meaning}", _WIDTH, subsequent_indent="  ")
    made = f", poles placed for {1e3 * found.period:.4g} ms" if found.period else ""
    made += f" ({found.procedure})" if found.procedure not in ("", "given") else ""
    yield f"{_gain(found.gain)}{made}"
    yield f"intervals  {1e3 * found.distribution.mean:.4g} ms on average"
    if found.decay > 0.0:
        yield f"decay      {found.decay:.4g} 1/s of the root of the mean square"


def _number(value: float, otherwise: str) -> str:
    """Return a number, or the word for what is infinite."""
    return f"{value:.4f}" if math.isfinite(value) else otherwise


def _map(name: str, found: RateMap) -> TextTable:
    from linkwright.sampling.maps import ANSWERS

    words = ("contraction, T given", "contraction, best T", "mean square", "Lyapunov exponent")
    stable = [found.stable(answer) for answer in ANSWERS]
    rows = [(w, f"{int(s.sum())}", f"{s.mean():.1%}") for w, s in zip(words, stable, strict=True)]
    places = f"{found.contraction.size} places"
    title = f"{name}: {found.labels[0]} and {found.labels[1]}, {places}"
    return TextTable(("stable by", "places", "share"), rows, title, ["places", "share"])


def _certificate(name: str, found: RateCertificate) -> Iterator[str | TextTable]:
    at = 1e3 * found.stream.intervals
    yield from _answers(f"{name} at the rate of {found.stream.name}", found.answers)
    yield (
        f"stream     {len(at)} intervals, {at.min():.4g} to {at.max():.4g} ms; correlation of "
        f"neighbors {found.stream.correlation:.2f}"
    )
    oldest = 1e3 * float(found.stream.ages.max())
    if oldest > 0.0:
        depth = found.answers.distribution.regimes().depth
        counted = f"up to {depth} samples of delay" if depth else "counted as no delay"
        yield f"age        at most {oldest:.4g} ms when a sample came: {counted}"
        if depth:
            yield "order      intervals and ages count as independent of those before them, but for"
            yield "           the exponent, which takes them in the order of the record"
    verdict, _, rest = found.words.partition("; ")
    yield from textwrap.wrap(f"{verdict:<10} {rest}", _WIDTH, subsequent_indent=11 * " ")
