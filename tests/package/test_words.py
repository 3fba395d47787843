"""Words that are kept out of public text: docs, help, messages and docstrings.

A reader whose second language is English should need no word that only we use in that sense. What
is quoted as code is not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkwright

SOURCE = Path(linkwright.__file__).parent
DOCS = SOURCE.parents[1] / "docs"
GENERATED = {"acceptance.md", "architecture.md"}

WORDS = {
    r"told|tells?": "reports, says, shows, determines, sends",
    r"refus(?:e|es|ed|ing|als?)": "rejects",
    r"(?:goes?|going|went) by": "follows, depends on, uses",
    r"lies? in": "is in",
    r"desks?|spots?": "queue, place",
    r"bears?": "carries, tolerates",
    r"takes? up again": "continues",
    r"(?:says?|knows?|does|do) not (?:of|what)": "does not say",
    r"(?<!there )(?:is|are) no(?= (?!longer|more|less|better|faster|slower|larger|smaller|way|other"
    r"|such|worse|different|one|two|closer|later|sooner|greater|easier|cheaper|shorter|need)"
    r"[\w{])": "is not a",
    r"licen[c]\w*": "license",
    r"(?:behavi|col|fav|hon|neighb|lab|hum|rig|vap|arm)our\w*": "-or",
    r"(?:cent|met|lit|fib|theat|calib)re(?:s|d)?": "-er",
    r"grey\w*": "gray",
    r"(?:model|cancel|label|travel|signal|channel|level|total)l(?:ed|ing|ers?)": "one l",
    r"(?:anal|paral)ysed?": "-yze",
    r"catalogues?|programmes?|artefacts?|defence|whilst|towards": "catalog, program, while, toward",
    r"(?:organ|optim|minim|maxim|normal|stabil|linear|discret|real|recogn|initial|visual|synchron"
    r"|quant|digit|parameter|general|factor|central|custom|summar|local|util|equal|emphas|random"
    r"|serial|ideal|penal|symbol|character|categor|prior|standard|vector|parallel)is"
    r"(?:e[sd]?|ing|ations?|ers?)": "-ize",
}
"""Words, as regular expressions, and what to write instead."""

MESSAGES = {
    r"(?<!there )(?:is|are) none\b": "say what is wrong",
    r"has not\b(?! (?:\w+ed\b|\w+en\b|begun|run|gone|made|met|come|set|left|read|had))": "lacks",
}
"""The same for messages alone."""

_PATTERNS = {word: re.compile(rf"(?<![\w.'\"-])(?:{word})(?![\w'\"=(:-])", re.I) for word in WORDS}
_STRICT = {word: re.compile(rf"(?<![\w.'\"-])(?:{word})", re.I) for word in MESSAGES}
_ANY = re.compile("|".join(f"(?:{word})" for word in (*WORDS, *MESSAGES)), re.I)
_NEAR = re.compile(
    rf"(?<![\w.'\"\[(-])(?:{_ANY.pattern})(?![\w'\"=(:.\[,)}}-]| =| if | else)", re.I
)
_RAISED = re.compile(r"Error|warn|Warning|error$")


def _prose(text: str) -> str:
    """A text without its code: fences, examples, what stands between backquotes."""
    for code in (r"(?s)```.*?```", r"(?ms)^ *>>>.*?(?=^ *$|\Z)"):
        text = re.sub(code, lambda m: "\n" * m[0].count("\n"), text)
    return re.sub(r"`[^`]*`", "`code`", text)


def _docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None and not getattr(node, "name", "").startswith("_"):
                yield node.body[0].lineno, text


def _messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What errors and warnings say, and the help of commands."""
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        if isinstance(node, ast.Call) and _RAISED.search(_name(node.func)):
            given = [*node.args, *(k.value for k in node.keywords)]
        elif isinstance(node, ast.Call):
            given = [k.value for k in node.keywords if k.arg in ("help", "doc", "remedy")]
        for each in given:
            yield from (
                (getattr(s, "lineno", 0), _text(s)) for s in ast.walk(each) if " " in _text(s)
            )


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        return "".join(map(str, parts))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def hits() -> Iterator[str]:
    """Every place that has a word of the list, with what to write instead."""
    for page in [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]:
        if page.name in GENERATED:
            continue
        for line, text in enumerate(_prose(page.read_text("utf-8")).split("\n"), 1):
            yield from _found(f"{page.name}:{line}", text, _PATTERNS, WORDS)
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE).as_posix()
        source = file.read_text("utf-8")
        if not _NEAR.search(source):
            continue  # to read all of them takes five seconds
        tree = ast.parse(source)
        for first, docstring in _docstrings(tree):
            if not _ANY.search(docstring):
                continue
            for line, text in enumerate(_prose(docstring).split("\n"), first):
                yield from _found(f"{place}:{line}", text, _PATTERNS, WORDS)
        for line, text in _messages(tree):
            yield from _found(f"{place}:{line}", _prose(text), _PATTERNS, WORDS)
            yield from _found(f"{place}:{line}", _prose(text), _STRICT, MESSAGES)


def _found(
    place: str, text: str, patterns: dict[str, re.Pattern[str]], instead: dict[str, str]
) -> Iterator[str]:
    if not _ANY.search(text):
        return
    for word, pattern in patterns.items():
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 30].strip()
            yield f"{place}: {around!r}; write: {instead[word]}"


def test_no_word_of_the_list_is_in_public_text() -> None:
    places = list(dict.fromkeys(hits()))
    assert places == [], f"{len(places)} places:\n" + "\n".join(places)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the joint is no hinge", 1),
        ("there is no joint of this name", 0),
        ("it is no longer there", 0),
        ("is told of it, and refused", 2),
        ("the colour of a licence, modelled in metres", 4),
        ("its analysis is parallel, is real", 0),
        ("a `refused` frame", 0),
        ('give 0, 1, 2 or "tell"', 0),
        ("its order goes by the name", 1),
        ("{} is no {}", 1),
    ],
)
def test_the_list_finds_what_it_should(text: str, words: int) -> None:
    assert len(list(_found("here", _prose(text), _PATTERNS, WORDS))) == words
