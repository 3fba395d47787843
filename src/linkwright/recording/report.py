"""A page about recordings in one file of HTML, which needs nothing else to be looked at.

Plots are drawn into the page as SVG; there is no script and nothing is fetched.
"""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwright.recording.colors import TRACES
from linkwright.recording.plots import figure
from linkwright.recording.recording import Recording, RecordingError

_LONGEST = 200  # letters of what is told about a recording
_STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1f2937; --soft: #6b7280; --line: #e5e7eb;
  --page: #fafafa; --card: #ffffff; --accent: {TRACES["light"][0]}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e5e7eb; --soft: #9aa3af; --line: #374151;
  --page: #111827; --card: #1f2937; }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 62rem; background: var(--page);
  color: var(--ink); font: 15px/1.55 system-ui, sans-serif; }}
h1 {{ font-size: 1.7rem; margin: 0 0 .25rem }} h2 {{ font-size: 1.1rem; margin: 2.2rem 0 .6rem }}
.soft {{ color: var(--soft) }}
figure {{ margin: 1rem 0; padding: .75rem; background: #fff; border: 1px solid var(--line);
  border-radius: 10px }}
figure svg {{ width: 100%; height: auto; display: block }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; width: 100%; background: var(--card); font-size: .9rem }}
th, td {{ text-align: left; padding: .35rem .7rem; border-bottom: 1px solid var(--line);
  white-space: nowrap }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums }}
th {{ color: var(--soft); font-weight: 600 }}
"""


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
    heading = title or str(first.metadata.get("model", "Recording"))
    picture = io.StringIO()
    drawing = figure(recordings, channels, labels=labels, title=" ", **options)
    drawing.savefig(picture, format="svg", metadata={"Date": None})
    svg = picture.getvalue()
    parts = [
        f"<h1>{html.escape(heading)}</h1>",
        f'<p class="soft">{html.escape(_summary(first))}</p>',
        f"<figure>{svg[svg.index('<svg') :]}</figure>",
    ]
    for number, recording in enumerate(recordings):
        name = labels[number] if number < len(labels) else ""
        words = f"Channels of {name}" if len(recordings) > 1 and name else "Channels"
        parts += [f"<h2>{html.escape(words)}</h2>", _channel_table(recording)]
        if recording.metadata:
            parts += ["<h2>About the run</h2>", _about_table(recording.metadata)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(heading)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _summary(recording: Recording) -> str:
    span = f"{recording.times[0]:g} to {recording.times[-1]:g} s"
    rate = recording.rate
    every = f", {rate:g} samples a second" if rate else ""
    return f"{len(recording.channels)} channels, {len(recording)} samples, {span}{every}"


def _channel_table(recording: Recording) -> str:
    head = "".join(
        f'<th class="{kind}">{word}</th>'
        for word, kind in zip(
            ("channel", "description", "unit", "body", "first", "min", "max", "last"),
            ("", "", "", "", "n", "n", "n", "n"),
            strict=True,
        )
    )
    rows = []
    for channel, values in zip(recording.channels, recording.data.T, strict=True):
        finite = values[np.isfinite(values)]
        ends = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
        texts = (channel.name, channel.long, channel.unit, channel.body)
        numbers = (values[0], *ends, values[-1])
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in texts)
        cells += "".join(f'<td class="n">{x:.6g}</td>' for x in numbers)
        rows.append(f"<tr>{cells}</tr>")
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _about_table(about: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(_words(value))}</td></tr>"
        for key, value in _flat(about)
    )
    return f'<div class="wide"><table>{rows}</table></div>'


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
