"""Syntax colors for generated code, as HTML whose colors a style sheet gives.

One regular expression for each language reports comments, directives, strings, numbers, words of
the language and called functions apart; the parts are spans with the classes `c`, `d`, `s`, `n`,
`w` and `f`.
"""

from __future__ import annotations

import re
from html import escape

_C_WORDS = (
    "break|case|char|const|continue|default|do|double|else|enum|extern|float|for|if|inline|int|"
    "long|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|"
    "volatile|while|int64_t|uint64_t|size_t"
)
_PYTHON_WORDS = (
    "and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|"
    "import|in|is|lambda|None|not|or|pass|raise|return|True|try|while|with|yield"
)
_NUMBER = r"(?P<n>\b\d+\.?\d*(?:[eE][-+]?\d+)?\b)"
_CALL = r"(?P<f>\b[A-Za-z_]\w*(?=\())"
_OTHER = r"(?P<x>[A-Za-z_]\w*)"
_GRAMMARS = {
    "C": (
        r"(?P<c>/\*.*?\*/|//[^\n]*)",
        r"(?P<d>^[ \t]*#[^\n]*)",
        r'(?P<s>"(?:\\.|[^"\\\n])*")',
        _NUMBER,
        rf"(?P<w>\b(?:{_C_WORDS})\b)",
        _CALL,
        _OTHER,
    ),
    "Python": (
        r"(?P<c>#[^\n]*)",
        r"(?P<d>^[ \t]*@[^\n]*)",
        r'(?P<s>"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*')",
        _NUMBER,
        rf"(?P<w>\b(?:{_PYTHON_WORDS})\b)",
        _CALL,
        _OTHER,
    ),
    "LaTeX": (
        r"(?P<c>(?<!\\)%[^\n]*)",
        r"(?P<d>\\(?:begin|end)\{[^}]*\})",
        _NUMBER,
        r"(?P<w>\\(?:[A-Za-z]+|.))",
        r"(?P<x>[A-Za-z]+)",
    ),
}
_TOKENS = {
    language: re.compile("|".join(parts), re.DOTALL | re.MULTILINE)
    for language, parts in _GRAMMARS.items()
}


def colored(source: str, language: str = "C") -> str:
    """Return source code as HTML with colors.

    >>> colored("double x = 1 < 2;")
    "<span class='w'>double</span> x = <span class='n'>1</span> &lt; <span class='n'>2</span>;"
    """
    made, at = [], 0
    for found in _TOKENS[language].finditer(source):
        made.append(escape(source[at : found.start()]))
        kind, text = found.lastgroup, escape(found.group())
        made.append(text if kind == "x" else f"<span class='{kind}'>{text}</span>")
        at = found.end()
    made.append(escape(source[at:]))
    return "".join(made)
