"""``python -m linkwright`` is the command ``linkwright``."""

import sys

from linkwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
