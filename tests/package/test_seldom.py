"""Tests that `make test` leaves to `make test-rest`: each names one that holds its kind daily."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARKED = re.compile(
    r'^@seldom\(\s*daily="([^"]+)"\s*\)\n(?:@[^\n]*\n|[ )\]][^\n]*\n)*def (test_\w+)', re.MULTILINE
)


def test_each_names_a_daily_test_and_none_is_an_acceptance_check() -> None:
    texts = {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    left = [
        (path, daily, test) for path, text in texts.items() for daily, test in MARKED.findall(text)
    ]
    assert len(left) == sum(text.count("\n@seldom(") for text in texts.values())
    seldom = {test for _, _, test in left}
    accepted = (ROOT / "docs" / "acceptance.md").read_text("utf-8")
    for path, daily, test in left:
        assert f"{path.relative_to(ROOT)}::{test}`" not in accepted, test
        if daily.endswith(".md"):
            assert (ROOT / daily).exists(), daily
            continue
        file, _, name = daily.rpartition("::")
        home = ROOT / file if "/" in file else path.parent / (file or path.name)
        assert f"def {name}(" in texts[home], (test, daily)
        assert name not in seldom, (test, daily)
