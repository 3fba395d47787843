"""What a user of another tool types first is there, or the answer names what is."""

from __future__ import annotations

import pickle
import re
import tomllib
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import linkwright as lw
from linkwright.base.lazy import NoAttribute
from linkwright.base.peers import COMMANDS, KEYWORDS, NAMES
from linkwright.cli import main
from linkwright.cli.commands import ALIASES, COMMANDS as OURS, SHORTCUTS

ROOT = Path(__file__).resolve().parents[2]
TASKS = tomllib.loads((ROOT / "tests/data/peer_tasks.toml").read_text("utf-8"))["task"]


def _answer(place: Any, name: str) -> str:
    """What somebody reads who asks for an attribute: nothing where it is there."""
    try:
        getattr(place, name)
    except AttributeError as error:
        return str(error)
    return ""


def _leads(task: dict[str, str], places: dict[str, Any]) -> bool:
    first, ours = task["first"], task["ours"]
    if not ours:
        return False
    if task["on"] == "cli":
        if {**OURS, **ALIASES, **SHORTCUTS}.get(first) in (*OURS.values(), *OURS):
            return True
        return main([first, "--help"]) == 0 or COMMANDS.get(first) == ours
    answer = _answer(places[task["on"]], first)
    last = ours.rpartition(".")[2]
    return answer == "" or bool(re.search(rf"(use linkwright\.{re.escape(ours)}|'{last}')", answer))


def test_fifty_of_sixty_first_words_are_ours_or_lead_to_ours() -> None:
    mechanism = lw.load("pendulum")
    places: dict[str, Any] = {
        "lw": lw,
        "robot": lw.Robot("puma560:drives=off"),
        "mechanism": mechanism,
        "equations": mechanism.equations(),
        "run": lw.simulate(mechanism, 0.01),
    }
    assert len(TASKS) == 60
    assert len({(t["task"], t["peer"]) for t in TASKS}) == 60
    lost = [t["task"] for t in TASKS if not _leads(t, places)]
    assert len(TASKS) - len(lost) >= 57, lost


def test_what_the_table_names_is_there() -> None:
    for word, ours in NAMES.items():
        name = re.match(r"[\w.]+", ours)
        assert name is not None, word
        assert attrgetter(name[0])(lw) is not None, word
    assert set(COMMANDS.values()) <= set(OURS)
    assert not set(COMMANDS) & set(ALIASES), "an old name of ours is not a word of another tool"


@pytest.mark.parametrize("first", [t["first"] for t in TASKS if t["on"] == "cli"])
def test_an_unknown_command_answers_with_ours(
    first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = next(t["ours"] for t in TASKS if t["first"] == first)
    main([first] if first not in OURS else [first, "--help"])
    out = capsys.readouterr()
    assert f"linkwright {ours}" in out.out + out.err


def test_an_unknown_keyword_answers_with_ours() -> None:
    model: Any = lw.load("pendulum")
    with pytest.raises(
        TypeError, match=r"simulate\(\) has no argument 't_end'; did you mean 'until'"
    ):
        lw.simulate(model, t_end=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"no argument 'colour'; it has "):
        lw.simulate(model, colour=1.0)  # type: ignore[call-arg]
    from inspect import signature

    assert set(KEYWORDS.values()) <= set(signature(lw.simulate).parameters)


def test_an_error_within_a_property_is_not_hidden() -> None:
    class Odd(lw.Mechanism):
        @property
        def broken(self) -> float:
            return self.missing_number  # type: ignore[attr-defined,no-any-return]

    with pytest.raises(AttributeError, match="missing_number"):
        _ = Odd("odd").broken
    with pytest.raises(AttributeError, match=r"^'Odd' object has no attribute '_hidden'$"):
        _ = Odd("odd")._hidden  # type: ignore[attr-defined]
    assert not hasattr(Odd("odd"), "rnea")


def test_the_error_survives_a_pickle_and_is_an_attribute_error() -> None:
    error = pickle.loads(pickle.dumps(NoAttribute("module 'linkwright'", "rnea", [])))  # noqa: S301
    assert type(error) is AttributeError
    assert str(error).endswith("use linkwright.Robot.inverse_dynamics")


def test_the_page_names_what_is_there() -> None:
    """Words of tables of *Coming from* lead, by the same table, to what the page says of them."""
    text = (ROOT / "docs" / "coming-from.md").read_text("utf-8")
    words = {t["first"] for t in TASKS if t["ours"] and t["on"] != "cli"}
    missing = [w for w in sorted(words) if not re.search(rf"[`.\"]{w}\b", text)]
    assert missing == []
