"""The site: what its mirror holds, that dead links are errors, that it searches from the disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.book import names
from scripts.book.__main__ import build, mirror, mirrored
from scripts.book.commands import escaped
from tests.seeds import seldom
from tests.support.chromium import opened

ROOT = Path(__file__).resolve().parents[2]


def test_the_mirror_writes_only_what_is_new_and_drops_what_is_gone(tmp_path: Path) -> None:
    mirror(tmp_path, iter([("a.md", b"one"), ("b/c.md", b"two")]))
    before = (tmp_path / "a.md").stat().st_mtime_ns
    mirror(tmp_path, iter([("a.md", b"one"), ("d.md", b"three")]))
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    found = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == {"a.md", "d.md"}


def test_links_out_of_the_docs_point_at_copies() -> None:
    files = dict(mirrored(ROOT))
    pages = {name: text.decode("utf-8") for name, text in files.items() if name.endswith(".md")}
    copied = {name for name in files if name.startswith("files/")}
    assert "files/examples/train.py" in copied
    for name, text in pages.items():
        up = name.count("/")
        assert re.findall(rf"\]\((?:\.\./){{{up + 1},}}[^)]*\)", text) == [], name
    assert {"changelog.md", "contributing.md", "index.md"} <= set(pages)


def test_docstrings_become_markdown() -> None:
    def sample(size: float) -> float:
        return size

    arrow = ">" * 3
    sample.__doc__ = f"""Return a*b of `Robot` and `size`.

        Args:
            size: of it, m;
                a second line.

        Returns:
            the area, m^2.

        {arrow} 1 + 1
        2
        """
    text = "\n".join(names.described(sample, {"Robot"}))
    assert "a\\*b of {py:obj}`Robot <linkwright.Robot>` and `size`." in text
    assert "- `size`: of it, m; a second line." in text
    assert "**Returns**\n" in text
    assert "```python\n>>> 1 + 1\n2\n```" in text
    assert escaped("[a] <b> `[c]`") == "\\[a\\] \\<b\\> `[c]`"


@seldom(daily="test_the_mirror_writes_only_what_is_new_and_drops_what_is_gone")
@pytest.mark.browser
@pytest.mark.filterwarnings("ignore")  # of Sphinx, about what its next versions drop
@pytest.mark.timeout(900)
def test_the_site_is_built_searches_from_the_disk_and_rejects_dead_links(
    tmp_path: Path,
) -> None:
    out = tmp_path / "docs"
    assert build(ROOT, out, "1") == 0
    for page in ("index", "reference/python/control", "reference/commands/analyze", "text-models"):
        text = (out / f"{page}.html").read_text("utf-8")
        assert not re.search(r"(?:src|href)=\"https?://[^\"]*\.(?:js|css|woff2?)", text), page
        assert "Edit this page" not in text
        assert "View this page" not in text
    with opened(f"file://{out}/search.html?q=close+a+loop") as (page, wrong):
        page.wait_for_selector("ul.search li")
        hits = page.locator("ul.search li a").all_inner_texts()
        assert hits[0] == "Close a loop"
        assert wrong == []
    other = tmp_path / "other"
    (other / "docs").mkdir(parents=True)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        (other / name).write_text("# Page\n")
    for path in (ROOT / "docs").rglob("*"):
        if path.is_file() and path.suffix != ".md":
            copy = other / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    (other / "docs" / "index.md").write_text("# Page\n\n[nowhere](none.md)\n")
    assert build(other, tmp_path / "dead", "1") != 0
