"""Words of models, files and errors in the tabs of the studio.

Viser's texts are Markdown in which HTML counts, scripts too; names come from files that anyone may
have written.
"""

from __future__ import annotations


def only_words(text: str) -> str:
    r"""Return Markdown that shows a text as it is.

    Args:
        text: any.

    >>> only_words("<b>a_b</b>")
    '\\<b\\>a\\_b\\</b\\>'
    """
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|&$~" else c for c in text)
