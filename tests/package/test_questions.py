"""Questions that users ask on the trackers of other tools: a search over the pages answers them.

`tests/package/questions.toml` has a hundred, in our words, with the thread that asks each, and the
page that answers it; or nothing, and why. The search here ranks pages by the words of a question
(BM25, Robertson and Zaragoza 2009), and words of titles and headings count more, as in the site.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))["question"]
LEFT_OUT = {"acceptance.md", "architecture.md", "errors.md", "files.md", "gpu-report.md"}
LEFT_OUT |= {"index.md", "migration.md"}
TITLE, HEADING = 3.0, 1.0  # what a word counts in a title or a heading, beside once in the text
SATURATION, LENGTH = 1.2, 0.75  # k1 and b of BM25
STOP = re.compile(
    "a|an|and|are|as|at|be|by|can|come|do|does|for|from|get|have|how|i|in|is|it|its|me|my|no|not|of"
    "|on|or|so|such|that|the|there|they|this|to|use|was|what|when|where|which|who|why|with|without"
    "|write|you|your"
)


def words(text: str) -> list[str]:
    """Return the words of a text, without their endings."""
    found = [w for w in re.findall(r"[a-z][a-z0-9]*", text.lower()) if not STOP.fullmatch(w)]
    return [re.sub(r"(?<=[a-z]{3})(?:ies|es|s|ed|ing|e|y)$", "", word) for word in found]


@dataclass(frozen=True)
class Page:
    """Words of a page: how often, and those of its title and of its headings."""

    counts: Counter[str]
    title: frozenset[str]
    headings: frozenset[str]

    @property
    def length(self) -> int:
        """How many words it has."""
        return self.counts.total()


@cache
def index() -> dict[str, Page]:
    """Every page that a reader may look for, by its name."""
    pages = {}
    for path in sorted(DOCS.rglob("*.md")):
        if path.name not in LEFT_OUT:
            text = path.read_text("utf-8")
            headings = re.findall(r"^##+ (.*)", text, re.MULTILINE)
            title = words(f"{text.partition(chr(10))[0]} {path.stem}")
            name = path.relative_to(DOCS).as_posix()
            pages[name] = Page(
                Counter(words(text)), frozenset(title), frozenset(words(" ".join(headings)))
            )
    return pages


def search(question: str) -> list[str]:
    """Return all pages, the best answer first."""
    pages = index()
    mean = sum(page.length for page in pages.values()) / len(pages)
    score = dict.fromkeys(pages, 0.0)
    for word in set(words(question)):
        having = sum(word in page.counts for page in pages.values())
        rare = math.log(1 + (len(pages) - having + 0.5) / (having + 0.5))
        for name, page in pages.items():
            here = page.counts[word]
            share = 1 - LENGTH + LENGTH * page.length / mean
            found = here * (SATURATION + 1) / (here + SATURATION * share)
            found += TITLE * (word in page.title) + HEADING * (word in page.headings)
            score[name] += rare * found
    return sorted(pages, key=lambda name: -score[name])


def test_there_are_a_hundred_questions_of_different_threads() -> None:
    assert len(QUESTIONS) >= 100
    threads = {(q["repository"], q["thread"]) for q in QUESTIONS}
    assert len(threads) == len(QUESTIONS)
    peers = Counter(q["repository"].partition("/")[2] for q in QUESTIONS)
    for peer in ("pinocchio", "mujoco", "drake", "bullet3", "sympy", "EXUDYN", "ros2_control"):
        assert peers[peer] >= 2, peer


def test_every_question_has_its_page_among_the_first_three_hits() -> None:
    missed = []
    for q in QUESTIONS:
        if "page" not in q:
            assert len(q["reason"]) > 20, q
            continue
        assert (DOCS / q["page"]).is_file(), q["page"]
        hits = search(q["question"])
        if q["page"] not in hits[:3]:
            missed.append((q["question"], q["page"], hits.index(q["page"]) + 1, hits[:3]))
    assert missed == [], "\n".join(map(str, missed))


def test_a_search_for_nothing_that_is_there_is_no_hit_by_chance() -> None:
    """Words that no page has count nothing: the order stays that of the names."""
    assert search("zzyzx qwertz") == sorted(index())
