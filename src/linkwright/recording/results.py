"""Pictures and files of results: what `linkwright.base.results.Result` asks for."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.base.files import path_of, write_text
from linkwright.base.optional import extra
from linkwright.base.results import Result
from linkwright.recording.document import document, paragraph, table
from linkwright.recording.plots import ENDINGS, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(
    title: str, columns: Mapping[str, Sequence[Any]], rows: Sequence[Sequence[str]]
) -> Figure:
    """Return a figure of columns of numbers over their first, or of a table where there are none.

    >>> len(figure("f", {"t_s": [0.0, 1.0], "x_m": [1.0, 2.0]}, []).axes)
    1
    """
    drawn = {n: [float("nan") if x is None else x for x in v] for n, v in columns.items()}
    drawn = {n: v for n, v in drawn.items() if all(isinstance(x, float | int) for x in v)}
    modules = extra("matplotlib.figure", "plot")
    with styled():
        size = (7.0, 1.2 + 1.5 * max(len(drawn) - 1, 1)) if drawn else (7.0, 0.6 + 0.28 * len(rows))
        drawing: Figure = modules.Figure(figsize=size, layout="constrained")
        if not drawn:
            ax = drawing.subplots()
            ax.set_axis_off()
            ax.table([list(r) for r in rows[1:]] or [["-"]], colLabels=list(rows[0]), loc="center")
            ax.set_title(title, loc="left")
            return drawing
        others: list[tuple[str, list[float]]] = list(drawn.items())
        first, along = others.pop(0) if len(others) > 1 else ("number", [])
        along = along or [float(k) for k in range(len(others[0][1]))]
        axes = drawing.subplots(len(others), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (name, values) in zip(axes, others, strict=True):
            ax.plot(along, values, ".-" if len(along) < 40 else "-")
            ax.set_ylabel(name)
        axes[-1].set_xlabel(first)
        axes[0].set_title(title, loc="left")
    return drawing


def save(result: Result, path: str | os.PathLike[str], *, replace: bool = True) -> None:
    """Write a result; the ending of the name says what."""
    target = path_of(path)
    ending = target.suffix.lower()
    if ending in ENDINGS:
        save_figure(target, result.plot(), replace=replace)
        return
    makers = {".json": _json, ".csv": _csv, ".txt": _text, ".html": _page, ".htm": _page}
    if ending not in makers:
        known = ", ".join([*makers, *ENDINGS])
        raise InputError(
            f"the ending {ending!r} does not name a form of a result", remedy=f"use {known}"
        )
    write_text(Path(target), makers[ending](result), replace=replace)


def _json(result: Result) -> str:
    return json.dumps(result.as_dict(), indent=2) + "\n"


def _csv(result: Result) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(result.table())
    return text.getvalue()


def _text(result: Result) -> str:
    return result.summary() + "\n"


def _page(result: Result) -> str:
    heads, *rows = result.table()
    words = getattr(result, "words", "")
    lead = [paragraph(words)] if isinstance(words, str) and words else []
    return document(type(result).__name__, [*lead, table(heads, rows)])
