"""Old names: every one of the table works, says what it is called now, and does so once."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from contextlib import suppress
from inspect import signature
from operator import attrgetter
from typing import Any

import pytest

import linkwright as lw
from linkwright.base.aliases import KEYWORDS, METHODS, NAMES

_WALK = """
import warnings
from importlib import import_module
from types import ModuleType
import linkwright
from linkwright.base.aliases import NAMES
for old, new in NAMES.items():
    room, _, name = old.rpartition(".")
    owner = getattr(linkwright, room) if room else linkwright
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        value = getattr(owner, name)
        assert getattr(owner, name) is value
    assert name not in dir(owner), old
    place = f"linkwright.{new.replace(':', '.')}".removesuffix(".")
    home, _, now = place.rpartition(".")
    home = home if ":" in new else home.replace("linkwright.drives", "linkwright.elements.drives")
    assert value is getattr(import_module(home), now), old
    if not given and isinstance(value, ModuleType):
        continue  # it was imported by its name
    (warning,) = given
    assert warning.category is DeprecationWarning, old
    assert f"{place};" in str(warning.message), old
    assert warning.filename == "<string>", old
print(len(NAMES))
"""


def test_every_old_name_leads_to_the_new_one_and_warns_once() -> None:
    done = subprocess.run([sys.executable, "-c", _WALK], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(NAMES) >= 20


def test_no_old_name_is_a_new_one() -> None:
    assert set(NAMES) & set(NAMES.values()) == set()
    for old, new in NAMES.items():
        room, _, name = old.rpartition(".")
        assert name not in (getattr(lw, room) if room else lw).__all__
        if ":" not in new:  # the new one is public
            room, _, name = new.rpartition(".")
            assert name in (getattr(lw, room) if room else lw).__all__


def test_an_old_room_knows_names_that_have_changed_since() -> None:
    analysis = importlib.import_module("linkwright.analysis")
    with pytest.warns(DeprecationWarning, match=r"linkwright\.linear\.open_loop"):
        assert attrgetter("opened")(analysis) is lw.linear.open_loop
    with pytest.warns(DeprecationWarning, match=r"linkwright\.linearize"):
        assert attrgetter("linearize")(analysis) is lw.linearize
    with pytest.warns(DeprecationWarning, match=r"linkwright\.LinearModel"):
        assert isinstance(attrgetter("LinearModel")(analysis), type)


def test_every_old_keyword_leads_to_the_new_one_and_warns() -> None:
    """Python names an unknown keyword before it misses an argument, so no call need be right."""
    silent = []
    for place, words in KEYWORDS.items():
        public: Any = attrgetter(place)(lw)
        call = vars(public)["__init__"] if isinstance(public, type) else public
        known = signature(call).parameters
        owner = [None] if next(iter(known)) == "self" else []
        for old, new in words.items():
            assert old not in known, place
            assert new in known, f"{place} has no {new}"
            with warnings.catch_warnings(record=True) as given, suppress(Exception):
                warnings.simplefilter("always")
                call(*owner, **{old: object()})
            if not any(f" is now {new}=" in str(w.message) for w in given):
                silent.append(f"{place} {old}")
    assert not silent, "\n".join(silent)


def test_an_old_keyword_works() -> None:
    old: Any = lw.simulate
    with pytest.warns(DeprecationWarning, match="values= of simulate is now parameters="):
        run = old("pendulum", 0.1, values={"L": 2.0})
    assert run.values["L"] == 2.0
    many: Any = lw.sweep
    with pytest.warns(DeprecationWarning, match="values= of sweep is now parameters="):
        swept = many("pendulum", 0.1, values={"L": [1.0, 2.0]})
    assert swept["L"].tolist() == [1.0, 2.0]


def test_every_old_method_leads_to_the_new_one_and_warns() -> None:
    for place, new in METHODS.items():
        kind, _, old = place.partition(".")
        model: Any = lw.load("pendulum") if kind == "Mechanism" else lw.System(name="s")
        assert not hasattr(getattr(lw, kind), old)
        with pytest.warns(DeprecationWarning, match=rf"{place} is now {kind}\.{new}"):
            assert getattr(model, old) == getattr(model, new)
