"""A page about recordings in one file of HTML, which needs nothing else to be looked at.

Plots are drawn into the page as SVG; there is no script and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwright.recording.document import document, facts, heading, paragraph, picture, table
from linkwright.recording.plots import figure
from linkwright.recording.recording import Recording, RecordingError

_LONGEST = 200  # letters of what is told about a recording


def report_page(
    recordings: Sequence[Recording],
    channels: Sequence[str] = (),
    *,
    labels: Sequence[str] = (),
    title: str = "",
    **options: Any,
) -> str:
    """Return a page with the plots, a table of the channels, and what is known of the runs."""
    if not recordings or not len(recordings[0]):
        raise RecordingError("the recording has no samples")
    first = recordings[0]
    title_words = title or str(first.metadata.get("model", "Recording"))
    drawing = figure(recordings, channels, labels=labels, title=" ", **options)
    parts = [paragraph(_summary(first)), picture(drawing)]
    for number, recording in enumerate(recordings):
        name = labels[number] if number < len(labels) else ""
        words = f"Channels of {name}" if len(recordings) > 1 and name else "Channels"
        parts += [heading(words), _channel_table(recording.printed)]
        if recording.metadata:
            about = [(key, _words(value)) for key, value in _flat(recording.metadata)]
            parts += [heading("About the run"), facts(about)]
    return document(title_words, parts)


def _summary(recording: Recording) -> str:
    span = f"{recording.times[0]:g} to {recording.times[-1]:g} s"
    rate = recording.rate
    every = f", {rate:g} samples a second" if rate else ""
    return f"{len(recording.channels)} channels, {len(recording)} samples, {span}{every}"


def _channel_table(recording: Recording) -> str:
    head = ("channel", "description", "unit", "body", "first", "min", "max", "last")
    rows: list[tuple[str | float, ...]] = []
    for channel, values in zip(recording.channels, recording.data.T, strict=True):
        finite = values[np.isfinite(values)]
        ends = (float(finite.min()), float(finite.max())) if len(finite) else (np.nan, np.nan)
        texts = (channel.name, channel.long, channel.unit, channel.body)
        rows.append((*texts, float(values[0]), *ends, float(values[-1])))
    return table(head, rows)


def _flat(about: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in about.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{above}{key} · ")
        else:
            found.append((above + key, value))
    return found


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.9g}"
    words = ", ".join(map(_words, value)) if isinstance(value, list) else str(value)
    return words if len(words) <= _LONGEST else f"{words[:60]} … ({len(words):,} letters)"
