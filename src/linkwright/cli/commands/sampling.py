"""``linkwright analyze sampling``: is a loop stable whose samples come at random?"""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.sampling import Answers, LoopTask, RateCertificate, RateMap

SOURCE = "A loop (.toml), or a recording."
STREAM = "Stream of the recording: a sensor, a frame or a channel."
LOOP = "Loop of the recording (.toml). Default: a joint under computed torque, poles 0.4 and 0.7."
MAP = "Map the answers over the ranges of the file."
AGES = "Take what a sample shows as of now: the controller predicts its age away."
OUT = "Picture of the map (.svg, .png, .pdf), or its numbers (.json)."

_WIDTH = 100  # columns of what is printed


def command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help=SOURCE)],
    stream: Annotated[str, typer.Option(metavar="NAME", help=STREAM)] = "",
    loop: Annotated[Path | None, typer.Option(metavar="FILE", help=LOOP)] = None,
    as_map: Annotated[bool, typer.Option("--map", help=MAP)] = False,
    predicted: Annotated[bool, typer.Option("--predicted", help=AGES)] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help=OUT)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether a loop with random sampling is stable, in four ways.

    Of a recording, a certificate for the intervals that were measured, or a refusal; both with the
    margin. The exit code is 1 where nothing is proven.

    \b
    Examples:
      linkwright analyze sampling loop.toml
      linkwright analyze sampling loop.toml --map -o map.svg
      linkwright analyze sampling cell.parquet --stream eye --loop loop.toml
    """
    from linkwright.base.errors import InputError

    if source.suffix.lower() == ".toml":
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
        _of_loop(source, as_map, out, as_json)
        return
    if as_map or out is not None:
        raise InputError("a map is made of a loop, not of a recording", remedy="give a .toml file")
    if not stream:
        raise InputError(
            "a recording has many streams, and one is to be named",
            remedy="give --stream, such as --stream eye",
        )
    _of_recording(source, stream, loop, predicted, as_json)


def _of_loop(source: Path, as_map: bool, out: Path | None, as_json: bool) -> None:
    from linkwright.base.errors import InputError
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
        _mapped(task, out, as_json)
        return
    found = task.answers()
    if as_json:
        echo(json.dumps({"name": task.name, **found.as_dict()}, indent=2))
    else:
        _print_answers(task.name, found)
    if not found.stable:
        raise typer.Exit(1)


def _mapped(task: LoopTask, out: Path | None, as_json: bool) -> None:
    from linkwright.base.files import write_text
    from linkwright.recording.plots import save_figure

    found = task.map()
    told = json.dumps({"name": task.name, **found.as_dict()}, indent=2)
    if out is not None and out.suffix.lower() == ".json":
        write_text(out, told + "\n")
    elif out is not None:
        save_figure(out, found.plot())
    if as_json:
        echo(told)
        return
    _print_map(task.name, found)
    if out is not None:
        echo(f"wrote      {out}")


def _of_recording(
    source: Path, stream: str, loop: Path | None, predicted: bool, as_json: bool
) -> None:
    from linkwright.recording import read_recording
    from linkwright.sampling import LoopTask, read_loop, stream_of

    task = LoopTask.joint() if loop is None else read_loop(loop)
    seen = stream_of(read_recording(source), stream)
    found = task.certify(seen, ages=not predicted)
    if as_json:
        echo(json.dumps({"name": task.name, **found.as_dict()}, indent=2))
    else:
        _print_certificate(task.name, found)
    if not found.granted:
        raise typer.Exit(1)


def _print_answers(name: str, found: Answers) -> None:
    from linkwright.cli.tables import print_table
    from linkwright.sampling import MEANINGS

    band = f"{found.exponent.value:.4f} ({found.exponent.low:.4f} to {found.exponent.high:.4f})"
    rows = [
        ("contraction, T given", _number(found.contraction, "none: with delays"), "< 0"),
        ("contraction, best T", _number(found.best_contraction, "none"), "< 0"),
        ("mean square", _number(found.mean_square, "infinite: rare, long intervals"), "< 1"),
        ("Lyapunov exponent", band, "< 0"),
    ]
    print_table(("answer", "value", "stable"), rows, title=f"{name}: {found.verdict}")
    for row, meaning in zip(rows, MEANINGS.values(), strict=True):
        lines = textwrap.wrap(f"{row[0]}: {meaning}", _WIDTH, subsequent_indent="  ")
        for line in lines:
            echo(line)
    gain = "; ".join(", ".join(f"{v:.6g}" for v in row) for row in found.gain)
    made = f", poles placed for {1e3 * found.period:.4g} ms" if found.period else ""
    made += f" ({found.procedure})" if found.procedure not in ("", "given") else ""
    echo(f"gain       {gain}{made}")
    echo(f"intervals  {1e3 * found.distribution.mean:.4g} ms on average")
    if found.decay > 0.0:
        echo(f"decay      {found.decay:.4g} 1/s of the root of the mean square")


def _number(value: float, otherwise: str) -> str:
    """Return a number, or the word for what is infinite."""
    return f"{value:.4f}" if math.isfinite(value) else otherwise


def _print_map(name: str, found: RateMap) -> None:
    from linkwright.cli.tables import print_table
    from linkwright.sampling.maps import ANSWERS

    words = ("contraction, T given", "contraction, best T", "mean square", "Lyapunov exponent")
    total = found.contraction.size
    rows = [
        (word, f"{int(found.stable(answer).sum())}", f"{found.stable(answer).mean():.1%}")
        for word, answer in zip(words, ANSWERS, strict=True)
    ]
    title = f"{name}: {found.labels[0]} and {found.labels[1]}, {total} places"
    print_table(("stable by", "places", "share"), rows, title=title, numbers=["places", "share"])


def _print_certificate(name: str, found: RateCertificate) -> None:
    at = 1e3 * found.stream.intervals
    _print_answers(f"{name} at the rate of {found.stream.name}", found.answers)
    echo(
        f"stream     {len(at)} intervals, {at.min():.4g} to {at.max():.4g} ms; correlation of "
        f"neighbors {found.stream.correlation:.2f}"
    )
    oldest = 1e3 * float(found.stream.ages.max())
    if oldest > 0.0:
        depth = found.answers.distribution.regimes().depth
        counted = f"up to {depth} samples of delay" if depth else "counted as no delay"
        echo(f"age        at most {oldest:.4g} ms when a sample came: {counted}")
        if depth:
            echo("order      intervals and ages count as independent of those before them, but for")
            echo("           the exponent, which takes them in the order of the record")
    told = f"{'certified' if found.granted else 'refused':<10} {found.words.partition('; ')[2]}"
    for line in textwrap.wrap(told, _WIDTH, subsequent_indent=11 * " "):
        echo(line)
