"""Cells that tests of several files take: each is compiled once for all of them."""

from __future__ import annotations

from linkwright.server.cell_file import read_cell


def puma_text() -> str:
    """Return a cell of the PUMA alone, with a sensed frame; it is called "cell1" as well.

    >>> [arm.name for arm in read_cell(puma_text()).arms]
    ['puma']
    """
    text = read_cell("cell1").text
    arm, frame = text.index('[[arm]]\nname = "ref"'), text.index('[[frame]]\nname = "conveyor"')
    return text[:arm] + text[frame:]
