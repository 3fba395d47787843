"""Numbers of files that native code goes by: a wrong one is refused in words, or does no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.random.mutated_numbers import KINDS
from tests.seeds import examples, seeds

COUNTS = {"sessions": 30, "journals": 16, "recordings": 12, "entries": 16}


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", KINDS)
def test_no_number_of_a_file_leads_native_code_astray(kind: str, seed: int, tmp_path: Path) -> None:
    """All changes in one child, which has to live to its end."""
    command = [sys.executable, "-m", "tests.random.mutated_numbers", kind, str(seed)]
    done = subprocess.run(
        [*command, str(examples(COUNTS[kind], daily=8))],
        env={**os.environ, "LINKWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
        if kind == "entries"
        else None,
        capture_output=True,
        text=True,
        check=False,
    )
    became = [json.loads(line) for line in done.stdout.splitlines()]
    last = became[-1] if became else ""
    assert done.returncode == 0, f"ended after {last}: {done.stderr[-2000:]}"
    assert [what for how, what in became if how == "fault"] == []
    assert Counter(how for how, _ in became)["refused"] > 0 or kind == "entries"
