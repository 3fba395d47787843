"""Compare what two runs kept of native code: `python -m scripts.compare_caches WARM COLD`.

An entry of one name was made from the same sources for the same processor, so its bytes must be the
same in both. `make test-cold` compares what lasts between runs with what a run from nothing made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def entries(folder: Path) -> dict[str, Path]:
    """The entries below a folder by their names."""
    return {path.name: path for path in folder.rglob("*.lwo")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where an entry differs, or where nothing can be compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warm", type=Path, help="the folder that lasts between runs")
    parser.add_argument("cold", type=Path, help="the folder of a run that began with nothing")
    chosen = parser.parse_args(arguments)
    warm, cold = entries(chosen.warm), entries(chosen.cold)
    both = sorted(warm.keys() & cold.keys())
    wrong = [name for name in both if warm[name].read_bytes() != cold[name].read_bytes()]
    print(f"{len(both)} entries in both of {len(warm)} and {len(cold)}; {len(wrong)} differ")
    for name in wrong:
        print(f"{warm[name]} is not {cold[name]}")
    return 1 if wrong or not both else 0


if __name__ == "__main__":
    sys.exit(main())
