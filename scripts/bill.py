"""What a change costs: `make bill` prints lines, names, commands, test seconds and wheel size.

Each figure stands before and after. Before is a commit: `--base`, the merge base with `main`, or
the commit before where they are the same. After is the working tree.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from scripts.test_times import seconds

ROOT = Path(__file__).resolve().parents[1]

_COUNT = """
import inspect, json, linkwright
from linkwright.cli.commands import COMMANDS

def names(module, prefix=""):
    found = []
    for name in module.__all__:
        value = getattr(module, name)
        found.append(prefix + name)
        if inspect.ismodule(value) and hasattr(value, "__all__"):
            found += names(value, prefix + name + ".")
    return found

print(json.dumps([len(names(linkwright)), len(COMMANDS)]))
"""


def git(*arguments: str) -> bytes:
    """Run git in the repository and return what it prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def default_base() -> str:
    """The commit where this line of work left `main`, or the commit before."""
    head = git("rev-parse", "HEAD").decode().strip()
    shared = git("merge-base", "main", "HEAD").decode().strip()
    return shared if shared != head or git("status", "--porcelain") else "HEAD~1"


def lines(tree: Path, folder: str) -> int:
    """Lines of Python below a folder."""
    return sum(len(p.read_bytes().splitlines()) for p in (tree / folder).rglob("*.py"))


def wheel_bytes(tree: Path, temporary: Path) -> int:
    """Size of the wheel, built without network."""
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-qq"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "-w", str(temporary), str(tree)]
    subprocess.run(command, check=True)
    (made,) = temporary.glob("*.whl")
    return made.stat().st_size


def figures(tree: Path, times: Path) -> dict[str, float]:
    """All figures of one tree."""
    counted = subprocess.run(
        [sys.executable, "-c", _COUNT],
        env={"PYTHONPATH": str(tree / "src"), "PATH": "/usr/bin:/bin"},
        cwd=tree,
        capture_output=True,
        check=True,
    )
    names, commands = json.loads(counted.stdout)
    with tempfile.TemporaryDirectory() as folder:
        size = wheel_bytes(tree, Path(folder))
    return {
        "lines of src": lines(tree, "src"),
        "lines of tests": lines(tree, "tests"),
        "public names": names,
        "commands": commands,
        "test seconds": sum(seconds(times).values()) if times.exists() else float("nan"),
        "wheel kB": size / 1000,
    }


def unpacked(commit: str, folder: Path) -> Path:
    """Put the files of a commit into a folder."""
    with tarfile.open(fileobj=BytesIO(git("archive", "--format=tar", commit))) as archive:
        archive.extractall(folder, filter="data")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the bill of the working tree against a commit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default=None, help="the commit to compare with")
    chosen = parser.parse_args(arguments)
    base = chosen.base or default_base()
    with tempfile.TemporaryDirectory() as folder:
        old = unpacked(base, Path(folder) / "before")
        before = figures(old, old / "tests" / "times.json")
        # the working tree as git sees it: tracked and new files, without build products
        new = Path(folder) / "after"
        for name in git("ls-files", "-co", "--exclude-standard", "-z").decode().split("\0"):
            if name and (ROOT / name).is_file():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes((ROOT / name).read_bytes())
        measured = ROOT / "build" / "tests.json"
        after = figures(new, measured if measured.exists() else new / "tests" / "times.json")
    print(f"{'against ' + base[:12]:20}{'before':>12}{'after':>12}{'change':>12}")
    for name, value in after.items():
        print(f"{name:20}{before[name]:12.0f}{value:12.0f}{value - before[name]:+12.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
