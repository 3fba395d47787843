"""The system's C compiler: finding it, and loading what it makes."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from linkwright.base.errors import BackendError, CompileError

FLAGS = ("-O2",)
_ALWAYS = ("-std=c99", "-ffp-contract=off", "-fPIC", "-shared")
# A function named as one of the C library is to be found in its own file first.
_LOCAL = ("-Wl,-Bsymbolic",) if sys.platform == "linux" else ()


def find_compiler() -> list[str]:
    """Return the command of the C compiler, or raise a BackendError that names a remedy."""
    named = os.environ.get("CC")
    for command in [named] if named else ["cc", "gcc", "clang"]:
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return words
    raise BackendError(
        f"the C compiler {named!r} that CC names is not there"
        if named
        else "no C compiler is on this machine (cc, gcc or clang)",
        remedy="install one (on Debian: apt install gcc), set CC, or use backend='llvm'",
    )


def load_library(source: str, flags: Sequence[str] = FLAGS) -> ctypes.CDLL:
    """Return the loaded library of some C source."""
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        file, library = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
        file.write_text(source, encoding="utf-8")
        command = [*compiler, *_ALWAYS, *_LOCAL, *flags, "-o", str(library), str(file), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = "; ".join(line for line in done.stderr.splitlines() if "error" in line)[:500]
            raise CompileError(f"{compiler[0]} rejected the C source: {first or done.stderr[:500]}")
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:
            raise CompileError(
                f"the compiled library cannot be loaded: {error}",
                remedy="give each foreign function c_source=... or python=...",
            ) from error
