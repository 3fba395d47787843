"""Printouts: sections of a description as the documents set them, by label and lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from linkwright.equations.description import Section
from linkwright.reproduce.reproduction import Listing

_WIDTH = 96


def printout(section: Section, columns: Iterable[int] | None = None) -> Listing:
    """Return a section as lines: first cell, then the others, long ones in several lines."""
    chosen = list(range(len(section.columns)) if columns is None else columns)
    heads = [section.columns[k] for k in chosen[1:]]
    rows = [
        [
            row[chosen[0]],
            *(_headed(h, row[k], len(heads)) for h, k in zip(heads, chosen[1:], strict=True)),
        ]
        for row in section.rows
    ]
    label = max((len(row[0]) for row in rows), default=0) + 2
    lines = []
    for first, *rest in rows:
        wrapped = [
            line
            for cell in rest
            if cell
            for line in textwrap.wrap(cell, _WIDTH - label, break_on_hyphens=False) or [""]
        ]
        lines += [f"{first + ':':<{label}}{wrapped[0] if wrapped else ''}"]
        lines += [" " * label + line for line in wrapped[1:]]
    return Listing("\n".join(lines), section.title)


def listing(lines: Iterable[str], title: str = "") -> Listing:
    """Return lines as a listing, long ones in several lines."""
    parts: list[str] = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        parts += textwrap.wrap(line, _WIDTH, subsequent_indent=f"{indent}   & ") or [""]
    return Listing("\n".join(parts), title)


def _headed(head: str, cell: str, of: int) -> str:
    return f"{head}: {cell}" if cell and head and of > 1 else cell
