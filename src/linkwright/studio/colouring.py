"""Syntax colours for generated C, as HTML that carries its own colours.

The block is dark on a light page too, as editors are; one regular expression tells comments,
directives, strings, numbers, words of the language and called functions apart.
"""

from __future__ import annotations

import re
from html import escape

_WORDS = (
    "break|case|char|const|continue|default|do|double|else|enum|extern|float|for|if|inline|int|"
    "long|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|"
    "volatile|while|int64_t|uint64_t|size_t"
)
_COLOURS = {
    "comment": "#8b98a8",
    "directive": "#d7a6ff",
    "string": "#a5d6a7",
    "number": "#f5b87a",
    "word": "#7fb8ff",
    "call": "#ffd479",
}
_TOKENS = re.compile(
    "|".join(
        (
            r"(?P<comment>/\*.*?\*/|//[^\n]*)",
            r"(?P<directive>^[ \t]*#[^\n]*)",
            r'(?P<string>"(?:\\.|[^"\\\n])*")',
            r"(?P<number>\b\d+\.?\d*(?:[eE][-+]?\d+)?\b)",
            rf"(?P<word>\b(?:{_WORDS})\b)",
            r"(?P<call>\b[A-Za-z_]\w*(?=\())",
            r"(?P<other>[A-Za-z_]\w*)",
        )
    ),
    re.DOTALL | re.MULTILINE,
)
_STYLE = (
    "background:#1b2330;color:#dde4ee;padding:10px 12px;margin:0;border-radius:4px;"
    "overflow:auto;max-height:70vh;font:11px/1.5 ui-monospace,Menlo,Consolas,monospace;"
    "white-space:pre"
)


def coloured(source: str) -> str:
    """Return C source as HTML with colours.

    Args:
        source: any C.

    >>> "color:#7fb8ff'>double</span>" in coloured("double x = 1 < 2;")
    True
    >>> "1</span> &lt;" in coloured("double x = 1 < 2;")
    True
    """
    made, at = [], 0
    for found in _TOKENS.finditer(source):
        made.append(escape(source[at : found.start()]))
        colour = _COLOURS.get(found.lastgroup or "")
        text = escape(found.group())
        made.append(f"<span style='color:{colour}'>{text}</span>" if colour else text)
        at = found.end()
    made.append(escape(source[at:]))
    return f"<pre class='linkwright-code' style='{_STYLE}'>{''.join(made)}</pre>"
