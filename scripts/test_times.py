"""Compare what two runs of the tests cost: `python -m scripts.test_times BEFORE AFTER`.

Each file is one that `pytest --times` wrote (`build/tests.json`), or the short form of it that is
committed as `tests/times.json`: processor seconds per file of tests, and megabytes by which files
raised their lane. `--keep FILE` writes the short form of the last file given. A file of tests that
grew by more than 20 % and 2 s is named; growth is no failure, since machines differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from linkwright.base.files import write_text

#: A file of tests has grown where it takes longer by this share and by these seconds.
SHARE, SECONDS = 0.2, 2.0

#: Megabytes from which on it is kept by how much a file raised its lane.
MEGABYTES = 60.0


def seconds(path: Path) -> dict[str, float]:
    """Processor seconds per file of tests, from the long form or the short one."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: float(cost["cpu"] if isinstance(cost, dict) else cost)
        for name, cost in told["files"].items()
    }


def raised(path: Path) -> dict[str, float]:
    """Megabytes by which files of tests raised the most memory of their lane, where it was much."""
    found: dict[str, float] = {}
    for item, megabytes in (
        json.loads(path.read_text(encoding="utf-8")).get("raised_mb", {}).items()
    ):
        name = item.partition("::")[0]
        found[name] = found.get(name, 0.0) + float(megabytes)
    return {name: total for name, total in found.items() if total >= MEGABYTES}


def grown(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """The files that take notably longer, the worst first.

    >>> grown({"a": 10.0, "b": 0.1, "c": 20.0}, {"a": 12.5, "b": 1.9, "c": 23.0, "d": 3.0})
    ['d', 'a']
    """
    worse = {
        name: time - before.get(name, 0.0)
        for name, time in after.items()
        if time > (1 + SHARE) * before.get(name, 0.0) and time - before.get(name, 0.0) > SECONDS
    }
    return sorted(worse, key=lambda name: -worse[name])


def short(times: Mapping[str, float], memory: Mapping[str, float] | None = None) -> str:
    """The text of `tests/times.json`: files that take a tenth of a second, and much memory."""
    kept: dict[str, dict[str, float]] = {
        "files": {name: round(time, 1) for name, time in sorted(times.items()) if time >= 0.1}
    }
    if memory:
        kept["raised_mb"] = {name: round(much) for name, much in sorted(memory.items())}
    return json.dumps(kept, indent=1) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what changed; exit code 0 whatever it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="one file, or before and after")
    parser.add_argument("--keep", type=Path, help="write the short form of the last file here")
    parser.add_argument("--rows", type=int, default=20, help="how many changes are printed")
    chosen = parser.parse_args(arguments)
    if len(chosen.files) > 2:
        parser.error("one file or two")
    if not chosen.files[0].exists():
        print(f"there is no {chosen.files[0]} yet; make times keeps what a run took")
        del chosen.files[0]
        if not chosen.files:
            return 2
    *before, after = [seconds(path) for path in chosen.files]
    if before:
        (old,) = before
        change = {name: after.get(name, 0.0) - old.get(name, 0.0) for name in {*old, *after}}
        print(f"{sum(old.values()):8.1f} s before, {sum(after.values()):.1f} s after")
        ranked = sorted(change, key=lambda name: (-abs(change[name]), name))
        for name in [name for name in ranked if abs(change[name]) >= 0.1][: chosen.rows]:
            was, now = old.get(name, 0.0), after.get(name, 0.0)
            print(f"{now - was:+8.1f} s  {was:7.1f} → {now:<7.1f} {name}")
        for name in grown(old, after):
            print(f"grown by more than {SHARE:.0%} and {SECONDS:g} s: {name}")
    else:
        for name in sorted(after, key=lambda name: -after[name])[: chosen.rows]:
            print(f"{after[name]:8.1f} s {after[name] / sum(after.values()):6.1%}  {name}")
    if chosen.keep is not None:
        memory = raised(chosen.files[-1])
        write_text(chosen.keep, short(after, memory), replace=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
