"""What a search for the cheapest formulation has found is kept on disk, and is the same there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from linkwright.base import cache
from linkwright.equations import derive, equations, search
from linkwright.equations.choices import Choice, Choices, places
from linkwright.mechanism import Mechanism
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
    other.set_parameters(m1=2.5)
    derive(other)
    assert len(made) > searches, "another machine takes the answer of the first"


def test_what_is_damaged_is_searched_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh_cache(monkeypatch, tmp_path)
    kinematics = load_model("double-pendulum").kinematics()
    name = next(iter(places(kinematics))).name
    kept = Choices({name: Choice("above", "tensor", 1, 0)}, "all", regroup=False)
    junk: tuple[object, ...] = (
        "{",
        [1],
        {"bodies": {name: {"wings": 2}}},
        {"bodies": {"nobody": {}}},
    )
    for data in (*junk, asdict(kept)):
        cache.keep(b"k" * 32, data)
        found = cache.known(b"k" * 32, lambda data: search.choices_from(data, kinematics))
        assert found == (kept if isinstance(data, dict) and "shift" in data else None)


def test_the_smallest_formulation_is_chosen_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second process derives that one alone; other numbers are another question."""
    fresh_cache(monkeypatch, tmp_path)
    derived: list[str] = []
    one = equations._derived

    def counted(mechanism: Mechanism, name: str, *rest: Any) -> equations.Equations:
        derived.append(name)
        return one(mechanism, name, *rest)

    monkeypatch.setattr(equations, "_derived", counted)
    first = derive(load_model("double-pendulum"))
    assert len(derived) == 3
    derived.clear()
    again = derive(load_model("double-pendulum"))
    assert derived == [first.formulation] == [again.formulation]
    assert again.program().fingerprint() == first.program().fingerprint()
    derived.clear()
    other = load_model("double-pendulum")
    other.set_parameters(m1=2.5)
    derive(other)
    assert len(derived) == 3
