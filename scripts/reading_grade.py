"""How hard a page is to read: the grade of Flesch and Kincaid.

``python -m scripts.reading_grade [PAGE ...]`` prints it for pages, or for all of both kinds. It is
0.39 words/sentences + 11.8 syllables/words - 15.59 (Kincaid and others, 1975), of prose alone:
blocks of code and tables are left out, what stands between backquotes is one word of one syllable,
a link is its text. A paragraph, a heading and an item of a list end a sentence, as a full stop
does; a colon does not.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
_LEFT_OUT = (
    r"(?ms)^(```|:::).*?^\1$",  # blocks
    r"(?m)^\|.*$",  # tables
    r"!\[[^\]]*\]\([^)]*\)",  # pictures
)
_ENDS = re.compile(r"[.!?](?=[\s\"')]|$)|\n\s*\n|\n(?=- |\d+\. )")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")


def prose(text: str) -> str:
    """Return a page without its code, tables and pictures, and links as their texts.

    >>> prose("See [the *page*](x.md) on `lw.load`.")
    'See the page on code.'
    """
    for pattern in _LEFT_OUT:
        text = re.sub(pattern, "\n\n", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    return re.sub(r"[*_]+|^#+ ", "", text, flags=re.MULTILINE)


def syllables(word: str) -> int:
    """Count groups of vowels, without a silent e at the end.

    >>> [syllables(word) for word in ("robot", "make", "table", "velocity", "closed")]
    [2, 1, 2, 4, 1]
    """
    word = re.sub(r"[^a-z]", "", word.lower())
    bare = re.sub(r"(?<=[^laeiouy])es?$|(?<=[^dtaeiouy])ed$", "", word)
    return max(1, len(re.findall(r"[aeiouy]+", bare)))


def reading_grade(text: str) -> float:
    """Return the grade of a page.

    >>> round(reading_grade("The cat sat on the mat. It was warm."), 1)
    -2.0
    """
    sentences = [s for part in _ENDS.split(prose(text)) if (s := _WORD.findall(part))]
    words = [word for sentence in sentences for word in sentence]
    heard = sum(map(syllables, words))
    return 0.39 * len(words) / len(sentences) + 11.8 * heard / len(words) - 15.59


def pages() -> list[Path]:
    """All tutorials and how-tos."""
    return sorted((*(DOCS / "tutorials").glob("*.md"), *(DOCS / "how-to").glob("*.md")))


if __name__ == "__main__":
    for _page in map(Path, sys.argv[1:]) if sys.argv[1:] else pages():
        print(f"{reading_grade(_page.read_text('utf-8')):5.1f}  {_page.name}")
