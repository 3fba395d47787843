"""What all that holds a recording can do with it: write it, draw it, show it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from linkwright.base.optional import extra
from linkwright.base.results import Result
from linkwright.base.viewer import Shown
from linkwright.recording.transfer import Transferable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from linkwright.recording.plot_format import PlotFormat
    from linkwright.recording.recording import Recording


class HasRecording(Protocol):
    """Something with a recording."""

    @property
    def recording(self) -> Recording:
        """Its channels over time."""


class Recorded(Transferable, Shown, Result):
    """A recording, or something that has one as `recording`."""

    __slots__ = ()
    __iter__ = None  # neither names nor samples are meant more than the other

    def __contains__(self: HasRecording, name: object) -> bool:
        return any(c.name == name for c in self.recording.channels)

    def save(self: HasRecording, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the recording; the ending of the name says the format.

        Args:
            path: .parquet, .csv, .npz, .mcap, .mat, .erd, or dNNNNN for SL's.
            replace: whether a file that is there already may be replaced.
        """
        from linkwright.recording.files import write_recording

        write_recording(path, self.recording, replace=replace)

    def as_dict(self: HasRecording) -> dict[str, Any]:
        """Return what matters of it as plain data: its length, and the range of each channel."""
        made = self.recording
        times = made.times
        return {
            "model": str(made.metadata.get("model", "")),
            "samples": len(times),
            "duration_s": float(times[-1] - times[0]) if len(times) else 0.0,
            "channels": [
                {"name": c.name, "unit": c.unit, **_range(made[c.name])} for c in made.channels
            ],
        }

    def table(self: HasRecording) -> list[tuple[str, ...]]:
        """Return heads and rows: the range of each channel and its last value."""
        rows = [
            (c.name, c.unit, *map(_text, _range(self.recording[c.name]).values()))
            for c in self.recording.channels
        ]
        return [("channel", "unit", "min", "max", "final"), *rows]

    def to_pandas(self: HasRecording) -> DataFrame:
        """Return the channels as a pandas DataFrame, indexed by time in s (extra `plot`).

        Units and long names of the columns are in `frame.attrs`.
        """
        pandas = extra("pandas", "plot")
        made = self.recording
        frame = pandas.DataFrame(
            made.data, columns=list(made.names), index=pandas.Index(made.times, name="t")
        )
        frame.attrs["units"] = {c.name: c.unit for c in made.channels}
        frame.attrs["long"] = {c.name: c.long for c in made.channels}
        return frame

    def plot(
        self: HasRecording,
        *channels: str,
        vs: str | None = None,
        fft: bool = False,
        rate: bool = False,
        cutoff: float = 0,
        title: str = "",
        layout: PlotFormat | None = None,
    ) -> Figure:
        """Return a figure of some channels, or of all; those of a unit share a graph.

        Args:
            channels: names, or patterns with * and ?; all by default.
            vs: a channel to draw the others over, in place of time.
            fft: draw amplitudes over frequency.
            rate: draw rates of change.
            cutoff: of a low-pass filter, percent of half the sampling rate; 0 for none.
            title: over the figure; by default the name of the model.
            layout: symbols, smoothing, scales, labels, page and logo; chosen by default.
        """
        from linkwright.recording.plots import figure

        return figure(
            [self.recording], channels, vs=vs, fft=fft, rate=rate, cutoff=cutoff, title=title,
            layout=layout,
        )  # fmt: skip


def _range(values: Any) -> dict[str, float | None]:
    """Return the least, the greatest and the last value of a channel; None without samples."""
    three = (values.min(), values.max(), values[-1]) if len(values) else ()
    return dict.fromkeys(("min", "max", "final")) | dict(
        zip(("min", "max", "final"), map(float, three), strict=False)
    )


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
