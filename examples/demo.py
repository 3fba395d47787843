"""What ``make demo`` runs: for now, what this installation is and where it runs."""

from __future__ import annotations

import sys

from linkwright.cli import main

if __name__ == "__main__":
    sys.exit(main(["--version"]) or main(["info"]))
