r"""A report on a mechanism and its equations as one LaTeX document.

It needs `amsmath`, `longtable` and `geometry`, which every distribution has. Tables hold what
`describe` reports; equations are set one below the other, long ones broken between their terms.
"""

from __future__ import annotations

import re

from linkwright.algebra import Expr
from linkwright.algebra.printers import latex, latex_name
from linkwright.equations.description import Section, Style, describe, short, summary, written_out
from linkwright.equations.equations import Equations
from linkwright.mechanism import MechanismError

_WIDTH = 130  # characters of source on one line of an equation
_LONGEST = 6000  # characters of a closed form that is printed
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_\allowbreak{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "…": r"\ldots{}",
    "°": r"\textdegree{}",
}
_WIDTHS = {
    "bodies": (1.2, 1.2, 3.2, 2, 1.5, 2.2, 3, 2.8),
    "constraints": (3.5, 1.3, 2.5, 9),
    "forces and moments": (2, 1.5, 6, 2, 1.3, 1.5, 2.7),
    "parameters": (2.2, 2.8, 3, 7, 2),
    "speeds": (2.4, 1.5, 1.7, 4, 7),
}

_OPENING, _CLOSING = ("{", r"\left", r"\begin"), ("}", r"\right", r"\end")
_MARKS = re.compile(r"\\left(?![a-z])|\\right(?![a-z])|\\begin|\\end|[{}]| [+-] ")

_HEAD = r"""\documentclass[a4paper,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp,amsmath,array,longtable}
\usepackage[margin=18mm]{geometry}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\newcolumntype{L}[1]{>{\raggedright\arraybackslash\footnotesize}p{#1}}
\begin{document}
"""


def latex_report(equations: Equations) -> str:
    r"""Return a complete LaTeX document.

    >>> from linkwright.equations import derive
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum", "a rod that swings")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> print(latex_report(derive(m)).splitlines()[-1])
    \end{document}
    """
    m = equations.mechanism
    parts = [_HEAD, rf"\section*{{{_escaped(m.name)}}}", _escaped(m.doc), r"\par"]
    parts.append(_escaped(summary(equations)) + ".")
    for section in describe(equations, _STYLE):
        parts += [rf"\subsection*{{{section.title.capitalize()}}}", _table(section)]
    parts += _equations(equations)
    return "\n".join([*parts, r"\end{document}", ""])


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in text)


def _table(section: Section) -> str:
    widths = _WIDTHS.get(section.title, (17.0 / len(section.columns),) * len(section.columns))
    scale = 16.0 / sum(widths)
    columns = "".join(f"L{{{w * scale:.2f}cm}}" for w in widths)
    lines = [rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}", r"\hline"]
    lines.append(
        " & ".join(rf"\textbf{{{_escaped(c)}}}" for c in section.columns) + r" \\ \hline \endhead"
    )
    lines += [" & ".join(_cell(x) for x in row) + r" \\" for row in section.rows]
    return "\n".join([*lines, r"\hline", r"\end{longtable}"])


def _cell(text: str) -> str:
    """Return a cell; in long ones a line may end after a comma or an operator."""
    parts = _FORMULA.split(text)
    parts[::2] = [re.sub(r"([+,/-])(?=\S)", r"\1\\allowbreak{}", _escaped(x)) for x in parts[::2]]
    parts[1::2] = [f"${source}$" for source in parts[1::2]]
    return "".join(parts)


def _formula(source: str) -> str:
    """Mark LaTeX mathematics in a cell, between characters that no text has."""
    return f"\x02{source}\x03"


def _scalar(x: Expr) -> str:
    told = short(x)
    return told if told.endswith("…") else _formula(latex(x))


_FORMULA = re.compile("\x02([^\x03]*)\x03")
_STYLE = Style(_scalar, lambda v: _formula(v.latex()))


# -- equations -------------------------------------------------------------------------------------
def _equations(e: Equations) -> list[str]:
    parts = [r"\subsection*{Equations of motion}", *_closed(e)]
    parts.append(f"Formulation: {_escaped(e.formulation)}. A dot is a derivative by time.")
    for title, rows in written_out(e).items():
        parts += [rf"\paragraph{{{title.capitalize()}}}", _aligned(rows)]
    return parts


def _closed(e: Equations) -> list[str]:
    """Return the closed form, where it is short enough for a page."""
    try:
        source = e.closed_form().latex()
    except MechanismError:
        return []
    return [source] if len(source) < _LONGEST else []


def _left(name: str) -> str:
    """Return the left side of an equation; a prime becomes a dot."""
    if name.endswith("'"):
        return latex_name(f"{name[:-1]}_dot")
    return latex_name(name)


def _aligned(rows: list[tuple[str, Expr]]) -> str:
    lines = []
    for name, value in rows:
        first, *more = _broken(latex(value))
        lines.append(f"{_left(name)} &= {first}")
        lines += [rf"&\quad {part}" for part in more]
    body = " \\\\\n".join(lines)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _broken(source: str) -> list[str]:
    """Cut a long formula before plus and minus signs that stand outside all brackets."""
    pieces, depth, start = [], 0, 0
    for found in _MARKS.finditer(source):
        mark = found.group()
        if mark in _OPENING:
            depth += 1
        elif mark in _CLOSING:
            depth -= 1
        elif not depth:
            pieces.append(source[start : found.start()].strip())
            start = found.start()
    pieces.append(source[start:].strip())
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) < _WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines
