"""What a search for the cheapest formulation has found is kept on disk, and is the same there."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwright.equations import derive, search
from linkwright.equations.choices import Choice, Choices
from linkwright.models import load_model
from tests.support.native_ir import fresh_cache


def test_a_search_is_made_once_and_its_answer_is_the_same_from_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fresh_cache(monkeypatch, tmp_path)
    monkeypatch.setattr(search, "_found", {})
    made: list[Choices] = []
    best = search.Search.best

    def counted(own: search.Search) -> Choices:
        made.append(best(own))
        return made[-1]

    monkeypatch.setattr(search.Search, "best", counted)
    first = derive(load_model("double-pendulum")).program()
    assert made
    searches = len(made)
    search._found.clear()  # as in another process
    again = derive(load_model("double-pendulum")).program()
    assert len(made) == searches
    assert again.fingerprint() == first.fingerprint()
    search._found.clear()
    other = load_model("double-pendulum")
    other.set_values(m1=2.5)
    derive(other)
    assert len(made) > searches, "another machine takes the answer of the first"


def test_what_is_damaged_is_searched_again() -> None:
    assert search.choices_from(b"{") is None
    assert search.choices_from(b"[1]") is None
    assert search.choices_from(b'{"bodies": {"a": {"wings": 2}}}') is None
    kept = Choices({"a": Choice("above", "tensor", 1, 2)}, "all", regroup=False)
    text = b'{"bodies": {"a": {"axes": "above", "form": "tensor", "left": 1, "place": 2}}, '
    assert search.choices_from(text + b'"shift": "all", "regroup": false}') == kept
