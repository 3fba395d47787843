"""What the README, the notebooks and the citation say is so."""

from __future__ import annotations

import json
import re
import runpy
import warnings
from pathlib import Path

import pytest

import linkwright
from bench.bench_counts import ratios_markdown
from linkwright.base.aliases import DROPPED
from scripts.page_reader import read_along
from tests.seeds import seldom

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 120
    links = re.findall(r"\]\(([^)#]+)", README)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
    asked = set(re.findall(r"make ([a-z-]+)", README)) - {"them"}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert [target for target in asked if f"\n{target}:" not in makefile] == []


def test_the_ratios_of_the_readme_are_those_that_bench_prints() -> None:
    assert ratios_markdown() in README
    ratios = [float(row.split("|")[-2]) for row in ratios_markdown().splitlines()[2:]]
    assert len(ratios) >= 10
    assert max(ratios) <= 1.0


def test_the_version_is_in_one_place_and_names_when_old_names_go() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {linkwright.__version__}\n" in citation
    now, then = (tuple(map(int, v.split("."))) for v in (linkwright.__version__, DROPPED))
    assert now < then
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("\n## ")[2]
    kinds = re.findall(r"^### (.*)$", changes.partition("\n## ")[0], re.MULTILINE)
    assert kinds == ["New", "Changed", "Removed"]


def test_what_a_page_carries_is_ours() -> None:
    """Pages hold no code of others, whose license would have to come with it."""
    assets = Path(linkwright.__file__).parent / "pages" / "assets"
    texts = {path.name: path.read_text("utf-8") for path in assets.iterdir() if path.is_file()}
    assert len(texts) > 20
    theirs = re.compile(r"copyright|@license|\(c\) ?\d|apache|bsd-", re.IGNORECASE)
    assert [name for name, text in texts.items() if theirs.search(text)] == []


def test_notebooks_are_whole_and_hold_no_outputs() -> None:
    assert len(NOTEBOOKS) >= 3
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text("utf-8"))
        assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(ids) == len(set(ids))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert len(code) >= 3
        assert all(cell["outputs"] == [] for cell in code)


@seldom(daily="test_notebooks_are_whole_and_hold_no_outputs")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_a_notebook_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells share their names, as in Jupyter; what they assert is true."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    script = tmp_path / f"{path.stem}.py"
    script.write_text("\n".join(sources), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = runpy.run_path(str(script))
    assert "lw" in names


@seldom(daily="test_the_readme_is_short_and_its_links_lead_somewhere")
def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    read_along(ROOT / "README.md", tmp_path)
