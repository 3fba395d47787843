"""Imports between packages go one way: the contract in pyproject.toml would notice another.

That it is kept, and that types agree, `make test` checks beside the tests (`make lint`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the pyproject.toml in a folder, in a process of its own."""
    program = (
        "import sys; from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(no_cache=True, no_logo=True))"
    )
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("algebra/__init__.py", "from linkwright.cli import main\n"),
        ("errors.py", "import linkwright.cli.app\n"),
        ("unplaced.py", ""),
    ],
)
def test_the_contract_would_notice(tmp_path: Path, file: str, text: str) -> None:
    """A wrong import, and a package without a place, are both reported by the same contract."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    package = tmp_path / "linkwright"
    for name in ("__init__.py", "errors.py", "version.py", "cli/__init__.py", "cli/app.py"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text("")
    assert lint(tmp_path).returncode == 0
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text(text)
    done = lint(tmp_path)
    assert done.returncode == 1
    assert Path(file).parts[0].removesuffix(".py") in done.stdout


def test_nothing_imports_the_front_door() -> None:
    """Inside the package a name is imported from its home: the top module would hide the layers."""
    graph = grimp.build_graph("linkwright", cache_dir=None)
    assert graph.find_modules_that_directly_import("linkwright") == set()
