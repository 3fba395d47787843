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
    from linkwright.sampling import Answers, LoopTask, RateCertificate, RateMap

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
    out: Annotated[
        Path | None,
        option("--out", "A picture of the map (.svg, .png, .pdf), or its numbers (.json)."),
    ] = None,
) -> CommandResult:
    """Say whether a loop with random sampling is stable, in four ways.

    Of a recording, a certificate for the intervals that were measured, or why there is none; both
    with the margin. The exit code is 1 where nothing is proven.

    \b
    Examples:
      linkwright analyze sampling loop.toml
      linkwright analyze sampling loop.toml --map -o map.svg
      linkwright analyze sampling cell.parquet --stream eye --loop loop.toml
    """
    if source.suffix.lower() != ".toml":
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
    return _of_loop(source, as_map, out)


def _of_loop(source: Path, as_map: bool, out: Path | None) -> CommandResult:
    from linkwright.recording.plots import ENDINGS
    from linkwright.sampling import read_loop

    if out is not None and not as_map:
        raise InputError("only a map is written to a file", remedy="give --map too")
    if out is not None and out.suffix.lower() not in (".json", *ENDINGS):
        raise InputError(
            f"the ending {out.suffix!r} is none of a map",
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
    from linkwright.sampling import LoopTask, read_loop, stream_of

    task = LoopTask.joint() if loop is None else read_loop(loop)
    seen = stream_of(read_recording(source), stream)
    found = task.certify(seen, ages=not predicted)
    data = {"name": task.name, **found.as_dict()}
    return CommandResult(data, _certificate(task.name, found), code=0 if found.granted else 1)


def _answers(name: str, found: Answers) -> Iterator[str | TextTable]:
    from linkwright.sampling import MEANINGS

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
    gain = "; ".join(", ".join(f"{v:.6g}" for v in row) for row in found.gain)
    made = f", poles placed for {1e3 * found.period:.4g} ms" if found.period else ""
    made += f" ({found.procedure})" if found.procedure not in ("", "given") else ""
    yield f"gain       {gain}{made}"
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
