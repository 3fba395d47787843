"""Break the code behind each line of docs/acceptance.md, and see its tests fail: `make mutants`.

`tests/mutants.toml` has a mutant for a check: a file of src/linkwright, an old text that stands
there once, and the new one. The run copies src into a temporary folder for each of several workers,
puts the new text in its place, and runs the tests that the table names for the check (`test` picks
one of them). A mutant that they pass survives: the check is not held. The exit code is 1 with
survivors that no `why` explains, and with mutants that cannot be run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
TABLE = "tests/mutants.toml"
#: Seconds for the tests of one mutant: one that does not end is found, too.
LIMIT = 300.0


@dataclass(frozen=True)
class Mutant:
    """One change of one file, and the check whose tests should see it.

    Args:
        check: heading of the table and number, "SL 14".
        file: below src/linkwright.
        old: text that stands there once.
        new: text in its place.
        test: name of one test of the check, with its case in brackets; all of them by default.
        why: reason that a survivor changes nothing that the check asks.
    """

    check: str
    file: str
    old: str
    new: str
    test: str = ""
    why: str = ""


def acceptance() -> dict[str, list[str]]:
    """Return the tests of each check of docs/acceptance.md, by heading and number."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in (ROOT / "docs" / "acceptance.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        number = re.match(r"\| (\d+) \|", line)
        if number:
            tests = re.findall(r"`(tests/[\w/]+\.py::test_\w+)`", line)
            found[f"{heading} {number[1]}"] = tests
    return found


def mutants() -> list[Mutant]:
    """Return the mutants of the file."""
    table = tomllib.loads((ROOT / TABLE).read_text(encoding="utf-8"))
    return [Mutant(**row) for row in table["mutant"]]


def run_for(mutant: Mutant) -> list[str]:
    """Return the tests that should see a mutant, as arguments of pytest."""
    tests = acceptance().get(mutant.check, [])
    if not mutant.test:
        return tests
    name, bracket, case = mutant.test.partition("[")
    return [f"{test}{bracket}{case}" for test in tests if test.endswith(f"::{name}")]


def mistake(mutant: Mutant) -> str:
    """Return what is wrong with a mutant that cannot be run; nothing if it can.

    >>> mistake(Mutant("SL 999", "errors.py", "old", "new"))
    "no test of 'SL 999' is named so in docs/acceptance.md"
    """
    if not run_for(mutant):
        return f"no test of {mutant.check!r} is named so in docs/acceptance.md"
    path = ROOT / "src" / "linkwright" / mutant.file
    if not path.is_file():
        return f"there is no {mutant.file}"
    times = path.read_text(encoding="utf-8").count(mutant.old)
    if times != 1:
        return f"its old text stands {times} times in {mutant.file}: {mutant.old.strip()[:60]!r}"
    return "its new text is the old one" if mutant.new == mutant.old else ""


def run(mutant: Mutant, sources: Path) -> str:
    """Return "found", "survived" or a mistake, after the tests with a mutant in copied sources."""
    path = sources / "linkwright" / mutant.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(mutant.old, mutant.new), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *run_for(mutant)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "found"
    finally:
        path.write_text(whole, encoding="utf-8")
    words = {0: "survived", 1: "found"}
    return words.get(done.returncode, f"pytest says {done.stdout[-300:]!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run mutants one after another, and list those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checks", nargs="*", help='such as "SL 14" or SL; all by default')
    parser.add_argument("--after", default="", help="the check after which to begin")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="side by side")
    parser.add_argument("--every", type=int, default=1, help="take one mutant of so many")
    chosen = parser.parse_args(arguments)
    asked = [
        m
        for m in mutants()
        if not chosen.checks
        or any(m.check == check or m.check.startswith(f"{check} ") for check in chosen.checks)
    ]
    if chosen.after:
        last = max((k for k, m in enumerate(asked) if m.check == chosen.after), default=-1)
        asked = asked[last + 1 :]
    asked = asked[:: chosen.every]
    survivors: list[Mutant] = []
    explained: list[Mutant] = []
    mistakes: list[str] = []
    free: SimpleQueue[Path] = SimpleQueue()

    def verdict_of(mutant: Mutant) -> str:
        begin, sources = time.monotonic(), free.get()
        try:
            verdict = mistake(mutant) or run(mutant, sources)
        finally:
            free.put(sources)
        seconds = time.monotonic() - begin
        print(f"{mutant.check}: {verdict} ({mutant.file}, {seconds:.1f} s)", flush=True)
        return verdict

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        for k in range(chosen.jobs):
            sources = Path(folder) / f"src{k}"
            shutil.copytree(ROOT / "src", sources)  # with bytecode, which holds for the copy too
            free.put(sources)
        for mutant, verdict in zip(asked, pool.map(verdict_of, asked), strict=True):
            if verdict == "survived":
                (explained if mutant.why else survivors).append(mutant)
            elif verdict != "found":
                mistakes.append(f"{mutant.check}: {verdict}")
    print(f"{len(asked)} mutants of {len({m.check for m in asked})} checks")
    bare = [check for check in acceptance() if check not in {m.check for m in mutants()}]
    print(f"{len(bare)} checks without a mutant: {', '.join(bare)}")
    for mutant in explained:
        print(f"survives: {mutant.check} ({mutant.file}): {mutant.why}")
    for mutant in survivors:
        print(f"SURVIVES: {mutant.check} ({mutant.file}): {mutant.old!r} -> {mutant.new!r}")
    for line in mistakes:
        print(f"MISTAKE: {line}")
    return 1 if survivors or mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
