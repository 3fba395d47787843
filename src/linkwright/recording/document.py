"""Parts of a page in one file of HTML, which needs nothing else to be looked at or printed.

Each function returns HTML with every text escaped; `document` puts parts together. Pictures are
SVG drawn by Matplotlib. There is no script, and nothing is fetched.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from linkwright.recording.colors import TRACES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1f2937; --soft: #6b7280; --line: #e5e7eb;
  --page: #fafafa; --card: #ffffff; --accent: {TRACES["light"][0]}; --good: #0b7a4b;
  --bad: #c2261c; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e5e7eb; --soft: #9aa3af; --line: #374151;
  --page: #111827; --card: #1f2937; --good: #4ade9a; --bad: #ff8a7a; }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 74rem; background: var(--page);
  color: var(--ink); font: 15px/1.55 system-ui, sans-serif; }}
h1 {{ font-size: 1.7rem; margin: 0 0 .25rem }} h2 {{ font-size: 1.1rem; margin: 2.2rem 0 .6rem }}
.soft {{ color: var(--soft) }}
figure {{ margin: 1rem 0; padding: .75rem; background: #fff; border: 1px solid var(--line);
  border-radius: 10px }}
figure svg {{ width: 100%; height: auto; display: block }}
.wide {{ overflow-x: auto; margin: .6rem 0 }}
table {{ border-collapse: collapse; width: 100%; background: var(--card); font-size: .9rem }}
th, td {{ text-align: left; padding: .35rem .55rem; border-bottom: 1px solid var(--line);
  white-space: nowrap }}
td:last-child:not(.n) {{ white-space: normal }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums }}
th {{ color: var(--soft); font-weight: 600 }}
.verdict {{ margin: 1rem 0; padding: .8rem 1rem; border-left: 5px solid; border-radius: 6px;
  background: var(--card); font-size: 1.05rem; font-weight: 600 }}
.good {{ color: var(--good) }} .bad {{ color: var(--bad) }}
.verdict.good {{ border-color: var(--good) }} .verdict.bad {{ border-color: var(--bad) }}
iframe {{ width: 100%; height: 30rem; border: 1px solid var(--line); border-radius: 10px }}
@media print {{ body {{ max-width: none; padding: 0; font-size: 11px }} iframe {{ display: none }}
  figure, .verdict, tr {{ break-inside: avoid }}
  .wide {{ overflow: visible }} td, th {{ white-space: normal; padding: .2rem .4rem }}
  h2 {{ break-after: avoid }} }}
"""


def document(title: str, parts: Iterable[str]) -> str:
    """Return a page of parts, under its title.

    >>> "<h1>a &lt; b</h1>" in document("a < b", [paragraph("words")])
    True
    """
    name = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{name}</h1>{''.join(parts)}</body></html>\n"
    )


def heading(text: str) -> str:
    """Return the heading of a section."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Return a paragraph in a soft color."""
    return f'<p class="soft">{html.escape(text)}</p>'


def verdict(passed: bool, text: str) -> str:
    """Return a line that says whether something holds.

    >>> verdict(False, "the elbow is too weak")
    '<p class="verdict bad">the elbow is too weak</p>'
    """
    return f'<p class="verdict {"good" if passed else "bad"}">{html.escape(text)}</p>'


def digits(value: float) -> str:
    """Return a number as people read it: four digits, and thousands apart.

    >>> digits(-0.5859375), digits(94609.3), digits(12.0), digits(2.5e-9)
    ('-0.5859', '94,609', '12', '2.5e-09')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def typeset(unit: str) -> str:
    """Return a unit as it is printed.

    >>> typeset("N*m"), typeset("rad/s^2")
    ('N·m', 'rad/s²')
    """
    return unit.replace("*", "·").replace("^2", "²").replace("^3", "³")


def table(head: Sequence[str], rows: Iterable[Sequence[str | float | bool]]) -> str:
    """Return a table: numbers to the right with four digits, yes and no in color, units typeset.

    >>> table(["joint", "torque"], [["j1", 1.25]]).count("<td")
    2
    """
    made = [
        [typeset(x) if h == "unit" and isinstance(x, str) else x
         for h, x in zip(head, row, strict=True)]
        for row in rows
    ]  # fmt: skip
    numbers = [
        all(isinstance(row[k], float | int) for row in made) and bool(made)
        for k in range(len(head))
    ]
    top = "".join(
        f'<th class="{"n" if n else ""}">{html.escape(word)}</th>'
        for word, n in zip(head, numbers, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in made)
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def _cell(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return f'<td class="{"good" if value else "bad"}">{"yes" if value else "no"}</td>'
    if isinstance(value, float | int):
        return f'<td class="n">{digits(value)}</td>'
    return f"<td>{html.escape(value)}</td>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and what they are."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(words)}</td></tr>"
        for name, words in pairs
    )
    return f'<div class="wide"><table>{rows}</table></div>'


def picture(drawing: Figure) -> str:
    """Return a figure as SVG."""
    from linkwright.recording.plots import styled

    made = io.StringIO()
    with styled():  # whose names of parts do not change from run to run
        drawing.savefig(made, format="svg", metadata={"Date": None})
    svg = made.getvalue()
    return f"<figure>{svg[svg.index('<svg') :]}</figure>"


def inner_page(text: str, title: str) -> str:
    """Return a whole page of HTML inside this one, apart from it: a player of the motion."""
    return (
        f'<iframe title="{html.escape(title)}" sandbox="allow-scripts" '
        f'srcdoc="{html.escape(text)}"></iframe>'
    )
