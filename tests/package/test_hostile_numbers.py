"""Numbers of files that native code goes by: a wrong one is refused in words, or does no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache

import pytest

from tests.random.mutated_numbers import KINDS
from tests.seeds import examples, seeds

COUNTS = {"entries": 16, "sessions": 30, "journals": 16, "recordings": 12}


@cache
def child(seed: int) -> tuple[int, str, str]:
    """Make all changes of all kinds in one child, with a cache of its own."""
    counts = [str(examples(COUNTS[kind], daily=8)) for kind in KINDS]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.random.mutated_numbers", str(seed), *counts],
            env={**os.environ, "LINKWRIGHT_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", KINDS)
def test_no_number_of_a_file_leads_native_code_astray(kind: str, seed: int) -> None:
    """The child has to live to its end, and to say of each change what became of it."""
    code, told, complaint = child(seed)
    became = [json.loads(line) for line in told.splitlines()]
    last = became[-1] if became else ""
    assert (code, last) == (0, ["", "done", ""]), f"ended after {last}: {complaint[-2000:]}"
    found = [how for of, how, _ in became if of == kind]
    assert len(found) >= examples(COUNTS[kind], daily=8)
    assert [what for of, how, what in became if of == kind and how == "fault"] == []
    assert "refused" in found or kind == "entries"
