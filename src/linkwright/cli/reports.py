"""The file of a report, as commands name it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.errors import InputError

if TYPE_CHECKING:
    from linkwright.analysis import Requirement, Worst


def write_report(need: Requirement, out: Path, *more: Any, worst: Worst | None = None) -> None:
    """Write the report of a requirement; the name must end in .html.

    Args:
        need: what the task requires.
        out: the file.
        more: the drives that were chosen, and a run with them.
        worst: payloads that were found to be the worst.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"{out}: a report is a page", remedy="give a name that ends in .html", code="R807"
        )
    need.report(out, *more, worst=worst)
