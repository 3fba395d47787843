"""``linkwright plot``: pictures of recordings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.cli.options import completion, option, own
from linkwright.cli.results import CommandResult

if TYPE_CHECKING:
    from linkwright.recording import Recording

WHAT = "One or more recordings (overlaid), then names of channels; * and ? match."


def command(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="REC [REC ...] [CHANNEL ...]",
            help=WHAT,
            autocompletion=completion("channels"),
        ),
    ],
    vs: Annotated[str | None, own("CHANNEL", "Plot against this channel instead of time.")] = None,
    fft: Annotated[bool, own(None, "Plot the amplitude spectrum.", "--fft")] = False,
    rate: Annotated[
        bool, own(None, "Plot time derivatives (also --d/dt).", "--derivative")
    ] = False,
    cutoff: Annotated[
        float, own("PERCENT", "Low-pass filter; cutoff in % of the Nyquist frequency.")
    ] = 0.0,
    title: Annotated[str, option("--title")] = "",
    out: Annotated[
        Path | None,
        option(
            "--out",
            "A picture (.png, .svg, .pdf) or page (.html). Default: a PNG next to the recording.",
        ),
    ] = None,
    terminal: Annotated[
        bool, own(None, "Draw in the terminal instead of a file.", "--terminal")
    ] = False,
    names: Annotated[bool, own(None, "Only list the channels.", "--list")] = False,
    symbols: Annotated[int, own("N", "Mark every Nth sample.")] = 0,
    smooth: Annotated[
        bool, own(None, "Draw smooth curves through the samples.", "--smooth")
    ] = False,
    legend: Annotated[bool, own(None, "Draw a legend.", "--legend/--no-legend")] = True,
    label: Annotated[list[str] | None, own("TEXT", "Legend text of a recording, in order.")] = None,
    x_limits: Annotated[str, own("LOW,HIGH", "Horizontal scale.")] = "",
    y_limits: Annotated[str, own("LOW,HIGH", "Vertical scale.")] = "",
    x_step: Annotated[float | None, own("STEP", "Distance of horizontal ticks.")] = None,
    y_step: Annotated[float | None, own("STEP", "Distance of vertical ticks.")] = None,
    x_label: Annotated[str, own("TEXT", "Label of the x axis.")] = "",
    y_label: Annotated[str, own("TEXT", "Label of the y axis.")] = "",
    page: Annotated[str, own("SIZE", "Page in inches, as 11x8.5, or letter, a4, a5.")] = "",
    origin: Annotated[str, own("X,Y", "Lower left corner of the axes on the page, inches.")] = "",
    axes: Annotated[str, own("SIZE", "Lengths of the axes in inches, as 9x6.5.")] = "",
    logo: Annotated[Path | None, own("FILE", "Picture (PNG or JPEG) on the page.")] = None,
    logo_at: Annotated[str, own("X,Y", "Lower left corner of the logo, inches.")] = "",
    logo_size: Annotated[float, own("INCHES", "Width of the logo, inches.")] = 1.0,
) -> CommandResult:
    """Plot the channels of a recording, grouped by unit.

    \b
    Examples:
      linkwright plot run.parquet
      linkwright plot run.parquet "arm.*" --d/dt
      linkwright plot before.parquet after.parquet speed --out compare.html
      linkwright plot run.parquet q1 --page a4 --x-limits 0,2 --symbols 20 -o q1.pdf
    """
    from linkwright.recording import read_recording
    from linkwright.recording.plot_format import PlotFormat

    files, channels = _parted(what)
    recordings = [read_recording(f) for f in files]
    if names:
        return _list(recordings[0])
    if terminal:
        return CommandResult({}, _drawing(recordings, channels, vs, fft, rate, cutoff))
    layout = PlotFormat(
        symbols=symbols, smooth=smooth, legend=legend, x_limits=_pair(x_limits, "--x-limits"),
        y_limits=_pair(y_limits, "--y-limits"), x_step=x_step, y_step=y_step, x_label=x_label,
        y_label=y_label, page=_page(page), origin=_pair(origin, "--origin"),
        axes=_pair(axes, "--axes", "x"), logo=logo,
        logo_at=_pair(logo_at, "--logo-at") or PlotFormat().logo_at, logo_size=logo_size,
    )  # fmt: skip
    target = files[0].with_suffix(".png") if out is None else out
    drawn: dict[str, Any] = {
        "labels": label or _labels(files), "title": title, "vs": vs, "fft": fft, "rate": rate,
        "cutoff": cutoff, "layout": layout,
    }  # fmt: skip
    if target.suffix.lower() in (".html", ".htm"):
        from linkwright.base.files import write_text
        from linkwright.recording.report import report_page

        write_text(target, report_page(recordings, channels, **drawn), replace=True)
    else:
        from linkwright.recording.plots import figure, save_figure

        save_figure(target, figure(recordings, channels, **drawn))
    return CommandResult({"plot": target}, [str(target)], next=f"page {files[0]}")


def _pair(text: str, option: str, between: str = ",") -> tuple[float, float] | None:
    """Return the two numbers of an option, or None where it is not given."""
    from linkwright.base.errors import InputError

    if not text:
        return None
    try:
        low, high = (float(part) for part in text.lower().split(between))
    except ValueError:
        raise InputError(
            f"{option} takes two numbers, not {text!r}",
            remedy=f"such as {option} {'0,10' if between == ',' else '11x8.5'}",
            code="R806",
        ) from None
    return low, high


def _page(text: str) -> tuple[float, float] | None:
    """Return width and height of a page that is given by its name or its size."""
    from linkwright.recording.plot_format import PAGES

    return PAGES.get(text.lower()) or _pair(text, "--page", "x")


def _parted(what: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the files at the front, and the channels behind them."""
    _refuse_model(what[0])
    count = 1
    while count < len(what) and Path(what[count]).is_file():
        count += 1
    return [Path(w) for w in what[:count]], list(what[count:])


def _refuse_model(name: str) -> None:
    """Say of a model that it has to run before there is something to draw."""
    from linkwright.base.errors import InputError
    from linkwright.formats.robot.files import endings
    from linkwright.models.library import MODELS

    is_file = Path(name).suffix.lower() in endings()
    if name.partition(":")[0] in MODELS or is_file:
        raise InputError(
            f"{name} is a model, not a recording of a run",
            remedy=f"linkwright simulate {name} --plot",
        )


def _labels(files: Sequence[Path]) -> list[str]:
    short = [f.stem for f in files]
    return short if len(set(short)) == len(short) else [str(f) for f in files]


def _list(recording: Recording) -> CommandResult:
    channels = recording.printed.channels
    width = max((len(c.name) for c in channels), default=0)
    return CommandResult(
        [{"name": c.name, "unit": c.unit, "meaning": c.long} for c in channels],
        [f"{c.name:<{width}}  {c.unit:<10} {c.long}".rstrip() for c in channels],
    )


def _drawing(
    recordings: Sequence[Recording],
    channels: Sequence[str],
    vs: str | None,
    fft: bool,
    rate: bool,
    cutoff: float,
) -> Iterator[str]:
    from linkwright.recording.plots import drawn_lines
    from linkwright.recording.terminal import text_plot

    size = shutil.get_terminal_size((100, 30))
    for unit, lines in drawn_lines(recordings, channels, vs, fft, rate, cutoff).items():
        for name, x, curves in lines:
            shown = "" if unit in ("?", "1") else f" ({unit})"
            drawn = text_plot(x, curves, width=max(size.columns - 16, 20), height=8)
            yield "\n".join([f"{name}{shown}", *drawn, ""])
