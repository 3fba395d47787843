"""The page *Errors*, made from the table of numbers."""

from __future__ import annotations

from linkwright.cli.error_codes import ERRORS, NOTE, PARTS

_HEAD = f"""\
# Errors

An error with a number ends in it: `there is no error 'R999'; ... [R101]`.
`linkwright tools explain R101` prints what stands here, and `linkwright tools explain` the list.
In Python the number is `error.code`. A number is never used for something else.

{NOTE}
"""


def page() -> str:
    """Return the page *Errors*."""
    lines = [_HEAD]
    for digit, part in PARTS.items():
        codes = {code: e for code, e in ERRORS.items() if code[1] == digit}
        if not codes:
            continue
        lines += [f"## {part}\n", "| number | error | why | remedy |", "|---|---|---|---|"]
        lines += [
            f"| {code} | " + " | ".join(cell.replace("|", "\\|") for cell in e) + " |"
            for code, e in codes.items()
        ]
        lines.append("")
    return "\n".join(lines)
