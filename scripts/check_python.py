"""Say whether the interpreter running this can run Linkwright, and what to type if not.

Interpreters that are too old run it too, so it keeps to what Python 3.6 can read.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

SUITABLE = ((3, 11), (3, 12), (3, 13))


def suitable_on_path():
    # type: () -> list[str]
    """List the commands on the path that are named like a suitable Python."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    names = [f"python{major}.{minor}" for major, minor in reversed(SUITABLE)]
    return [name for name in names if any(os.access(f / name, os.X_OK) for f in folders)]


def complaint():
    # type: () -> str | None
    """Say what is wrong with this interpreter, or return None."""
    major, minor = sys.version_info[:2]
    if (major, minor) not in SUITABLE:
        remedy = "install one, for instance: sudo apt-get install -y python3.11 python3.11-venv"
        found = suitable_on_path()
        if found:
            remedy = f"another one is on the path, add PYTHON={found[0]} to the make command"
        here = f"{sys.executable} is {major}.{minor}"
        return f"Linkwright needs Python 3.11 to 3.13, and {here}; {remedy}"
    if find_spec("ensurepip") is None or find_spec("venv") is None:
        return (
            f"{sys.executable} cannot make virtual environments; "
            f"type: sudo apt-get install -y python{major}.{minor}-venv"
        )
    return None


if __name__ == "__main__":
    sys.exit(complaint())
