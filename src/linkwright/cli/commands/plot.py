"""``linkwright plot``: pictures of recordings."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.recording import Recording

_WHAT = typer.Argument(
    ...,
    metavar="REC [REC ...] [CHANNEL ...]",
    help="One or more recordings (overlaid), then names of channels; * and ? match.",
)
_OUT = typer.Option(
    None,
    "-o",
    "--out",
    metavar="FILE",
    help="Picture (.png, .svg, .pdf) or page (.html). Default: a PNG next to the recording.",
)
_VS = typer.Option(
    None, "--vs", metavar="CHANNEL", help="Plot against this channel instead of time."
)


_LABEL = typer.Option([], "--label", metavar="TEXT", help="Legend text of a recording, in order.")
_LOGO = typer.Option(None, "--logo", metavar="FILE", help="Picture (PNG or JPEG) on the page.")


def command(
    what: list[str] = _WHAT,
    vs: str | None = _VS,
    fft: bool = typer.Option(False, "--fft", help="Plot the amplitude spectrum."),
    rate: bool = typer.Option(False, "--rate", help="Plot time derivatives (also --d/dt)."),
    cutoff: float = typer.Option(
        0.0,
        "--cutoff",
        metavar="PERCENT",
        help="Low-pass filter; cutoff in % of the Nyquist frequency.",
    ),
    title: str = typer.Option("", "--title", metavar="TEXT", help="Title of the picture."),
    out: Path | None = _OUT,
    terminal: bool = typer.Option(
        False, "--terminal", help="Draw in the terminal instead of a file."
    ),
    names: bool = typer.Option(False, "--list", help="Only list the channels."),
    symbols: int = typer.Option(0, "--symbols", metavar="N", help="Mark every Nth sample."),
    smooth: bool = typer.Option(False, "--smooth", help="Draw smooth curves through the samples."),
    legend: bool = typer.Option(True, "--legend/--no-legend", help="Draw a legend."),
    label: list[str] = _LABEL,
    x_limits: str = typer.Option("", "--x-limits", metavar="LOW,HIGH", help="Horizontal scale."),
    y_limits: str = typer.Option("", "--y-limits", metavar="LOW,HIGH", help="Vertical scale."),
    x_step: float | None = typer.Option(
        None, "--x-step", metavar="STEP", help="Distance of horizontal ticks."
    ),
    y_step: float | None = typer.Option(
        None, "--y-step", metavar="STEP", help="Distance of vertical ticks."
    ),
    x_label: str = typer.Option("", "--x-label", metavar="TEXT", help="Label of the x axis."),
    y_label: str = typer.Option("", "--y-label", metavar="TEXT", help="Label of the y axis."),
    page: str = typer.Option(
        "", "--page", metavar="SIZE", help="Page in inches, as 11x8.5, or letter, a4, a5."
    ),
    origin: str = typer.Option(
        "", "--origin", metavar="X,Y", help="Lower left corner of the axes on the page, inches."
    ),
    axes: str = typer.Option("", "--axes", metavar="SIZE", help="Lengths of the axes, as 9x6.5."),
    logo: Path | None = _LOGO,
    logo_at: str = typer.Option(
        "", "--logo-at", metavar="X,Y", help="Lower left corner of the logo, inches."
    ),
    logo_size: float = typer.Option(
        1.0, "--logo-size", metavar="INCHES", help="Width of the logo, inches."
    ),
) -> None:
    """Plot the channels of a recording, grouped by unit.

    \b
    Examples:
      linkwright plot run.parquet
      linkwright plot run.parquet "arm.*" --d/dt
      linkwright plot before.parquet after.parquet speed --out compare.html
      linkwright plot run.parquet q1 --page a4 --x-limits 0,2 --symbols 20 -o q1.pdf
    """
    from linkwright.recording import read_recording

    files, channels = _parted(what)
    recordings = [read_recording(f) for f in files]
    if names:
        _list(recordings[0])
        return
    if terminal:
        _draw_in_terminal(recordings, channels, vs, fft, rate, cutoff)
        return
    from linkwright.recording.plot_format import PlotFormat

    labels = label or _labels(files)
    layout = PlotFormat(
        symbols=symbols, smooth=smooth, legend=legend, x_limits=_pair(x_limits, "--x-limits"),
        y_limits=_pair(y_limits, "--y-limits"), x_step=x_step, y_step=y_step, x_label=x_label,
        y_label=y_label, page=_page(page), origin=_pair(origin, "--origin"),
        axes=_pair(axes, "--axes", "x"), logo=logo,
        logo_at=_pair(logo_at, "--logo-at") or PlotFormat().logo_at, logo_size=logo_size,
    )  # fmt: skip
    target = files[0].with_suffix(".png") if out is None else out
    if target.suffix.lower() in (".html", ".htm"):
        from linkwright.base.files import write_text
        from linkwright.recording.report import report_page

        page = report_page(
            recordings, channels, labels=labels, title=title, vs=vs, fft=fft, rate=rate,
            cutoff=cutoff, layout=layout,
        )  # fmt: skip
        write_text(target, page, replace=True)
    else:
        from linkwright.recording.plots import figure, save_figure

        drawing = figure(
            recordings, channels, labels=labels, title=title, vs=vs, fft=fft, rate=rate,
            cutoff=cutoff, layout=layout,
        )  # fmt: skip
        save_figure(target, drawing)
    echo(f"{target}")


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
            remedy=f"such as {option} 0{between}10",
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


def _list(recording: Recording) -> None:
    width = max((len(n) for n in recording.names), default=0)
    for c in recording.printed.channels:
        echo(f"{c.name:<{width}}  {c.unit:<10} {c.long}".rstrip())


def _draw_in_terminal(
    recordings: Sequence[Recording],
    channels: Sequence[str],
    vs: str | None,
    fft: bool,
    rate: bool,
    cutoff: float,
) -> None:
    from linkwright.recording.plots import drawn_lines
    from linkwright.recording.terminal import text_plot

    size = shutil.get_terminal_size((100, 30))
    for unit, lines in drawn_lines(recordings, channels, vs, fft, rate, cutoff).items():
        for name, x, curves in lines:
            shown = "" if unit in ("?", "1") else f" ({unit})"
            drawn = text_plot(x, curves, width=max(size.columns - 16, 20), height=8)
            echo("\n".join([f"{name}{shown}", *drawn, ""]))
