"""What ``import linkwright`` costs over ``import numpy``, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys

from bench.measure import Row, interleaved

TITLE = "import time"
ROUNDS = 15


def run() -> list[Row]:
    """Time three interpreters in turn: an empty one, with NumPy, and with Linkwright on top."""

    def interpreter(program: str) -> None:
        subprocess.run([sys.executable, "-c", program], check=True)

    medians = interleaved(
        {
            "empty": lambda: interpreter("pass"),
            "numpy": lambda: interpreter("import numpy"),
            "both": lambda: interpreter("import numpy, linkwright"),
        },
        rounds=ROUNDS,
    )
    note = f"medians of {ROUNDS} fresh processes"
    return [
        Row("interpreter alone", medians["empty"], "s", note=note),
        Row("import numpy, over that", medians["numpy"] - medians["empty"], "s", note=note),
        Row(
            "import linkwright, over numpy",
            max(0.0, medians["both"] - medians["numpy"]),
            "s",
            bar=0.1,
            note=note,
        ),
    ]
