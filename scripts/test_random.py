"""Run the batteries again and again with new seeds, for as long as asked: `make test-random`.

Each round prints its seed; `LINKWRIGHT_SEED=<seed> pytest <file>` repeats it. The first failure
ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.seeds import VARIABLE

ROOT = Path(__file__).parents[1]

_LIMIT = "--timeout=1800"  # s for one item: all cases are taken, the dearest too, beside other work

#: The files whose examples come from `tests.seeds`.
BATTERIES = tuple(
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    if "from tests.seeds import" in path.read_text(encoding="utf-8")
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Rounds of the batteries until the time is over or one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long to go on")
    parser.add_argument("files", nargs="*", default=list(BATTERIES), help="which batteries")
    chosen = parser.parse_args(arguments)
    end = time.monotonic() + chosen.seconds
    rounds = 0
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(10**6, 10**9)
        print(f"round {rounds + 1}: {VARIABLE}={seed}", flush=True)
        environment = {**os.environ, VARIABLE: str(seed)}
        command = [sys.executable, "-m", "pytest", "-q", "-x", _LIMIT, *chosen.files]
        if subprocess.run(command, env=environment, check=False).returncode:
            print(f"failed with {VARIABLE}={seed}", file=sys.stderr)
            return 1
        rounds += 1
    print(f"{rounds} rounds without a failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
