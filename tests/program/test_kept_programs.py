"""What the optimizer has made is kept on disk, and is the same Program there, note by note."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from linkwright.algebra import ZERO
from linkwright.algebra.walk import postorder
from linkwright.base import cache
from linkwright.equations import derive
from linkwright.models import load_model
from linkwright.program import Program, optimize, passes
from linkwright.program.program import Assign
from tests.random.programs import programs
from tests.seeds import cases, examples
from tests.support.native_ir import fresh_cache

kept: Any = importlib.import_module("linkwright.program.passes.kept")
NUMBERS = {"num", "sym", "scale", "prod", "sum"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Program]:
    """The Programs that are optimized from here on, with an empty cache."""
    fresh_cache(monkeypatch, tmp_path)
    found: list[Program] = []
    fast: Any = passes._fast

    def counted(given: Program, *how: Any) -> Program:
        found.append(given)
        return fast(given, *how)  # type: ignore[no-any-return]

    monkeypatch.setattr(passes, "_fast", counted)
    passes._known.cache_clear()
    return found


def noted(given: Program) -> Program:
    """Return a Program with another note at its last assignment."""
    *others, last = given.statements
    assert isinstance(last, Assign)
    return given.with_statements([*others, replace(last, note="another")])


MODELS = ["double-pendulum", "four-bar", "stanford-arm", "whipple", "car"]


@pytest.mark.parametrize("name", cases(MODELS, daily=["double-pendulum", "four-bar"]))
def test_a_program_is_optimized_once_and_is_the_same_from_disk(
    name: str, made: list[Program]
) -> None:
    given = derive(load_model(name)).program()
    first = optimize(given)
    assert made
    made.clear()
    passes._known.cache_clear()  # as in another process
    again = optimize(given)
    assert not made
    assert again is not first
    assert again == first  # names, notes and every expression
    optimize(noted(given))
    assert made, "a Program with another note takes what was made of the first"


@settings(max_examples=examples(200, daily=40))
@given(programs())
def test_any_program_is_read_as_it_was_written(found: Program) -> None:
    bare = replace(found, statements=(), outputs=found.map_outputs([ZERO] * 9))
    written = kept.to_data(found, bare)
    nodes = postorder([x for p in (found, *kept._called(found)) for x in kept._mentioned(p)])
    foreign = any(x.data is not None and x.op not in NUMBERS for x in nodes)
    assert (written is None) == foreign
    if written is not None:
        assert kept.from_data(json.loads(json.dumps(written)), bare) == found


def test_what_is_damaged_is_optimized_again(
    made: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = derive(load_model("double-pendulum")).program()
    first = optimize(given)
    sound = kept.to_data(first, given)
    *others, last = sound["statements"]
    junk: list[Any] = [
        {},
        [1],
        sound | {"outputs": sound["outputs"][::-1]},
        sound | {"statements": [*others, [last[0], last[1] - 1, last[2]]]},
        sound | {"nodes": [[1, [0, 1]], *sound["nodes"][1:]]},
    ]
    for data in (*junk, sound):
        monkeypatch.setattr(kept, "stored", _reading(data))
        made.clear()
        passes._known.cache_clear()
        assert optimize(given) == first
        assert bool(made) == (data is not sound)


def _reading(data: Any) -> Any:
    """Return the function that reads this from the cache, whatever is asked for."""

    def found(_: bytes, read: Any, make: Any, write: Any) -> Any:
        cache.keep(b"k" * 32, data)
        known = cache.known(b"k" * 32, read)
        return make() if known is None else known

    return found
