"""A description of this machine, to stand beside every figure measured on it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["HostInfo", "describe"]

# The vector extensions that decide the width of a SIMD register, widest first.
_VECTOR_FEATURES = ("avx512f", "avx2", "avx", "sse2", "sve", "neon")
_PACKAGES = ("linkwright", "numpy", "scipy", "llvmlite")


@dataclass(frozen=True, slots=True)
class HostInfo:
    """The processor, the load and the versions that a measurement depends on.

    Example:
        >>> machine = describe()
        >>> machine.cores >= 1, "numpy" in machine.packages
        (True, True)
    """

    processor: str  # the name its maker gave it
    target: str  # LLVM's name for its kind, which decides the instructions chosen
    features: tuple[str, ...]  # vector extensions that it has, widest first, and ``fma``
    cores: int  # number of logical processors
    # runnable processes averaged over the last minute, or None where it is not known
    load: float | None
    system: str  # operating system and its version
    python: str  # version of the interpreter
    packages: dict[str, str]  # version of each package that matters here

    def lines(self) -> list[tuple[str, str]]:
        """Return label and value for each line of a report."""
        load = "unknown" if self.load is None else f"{self.load:.2f}"
        return [
            ("processor", f"{self.processor} ({self.target}), {self.cores} logical cores"),
            ("features", " ".join(self.features) or "none"),
            ("load", load),
            ("system", self.system),
            ("versions", ", ".join([f"Python {self.python}", *self._versions()])),
        ]

    def _versions(self) -> list[str]:
        return [f"{name} {number}" for name, number in self.packages.items()]


def describe(packages: tuple[str, ...] = ()) -> HostInfo:
    """Describe this machine now.

    Example:
        >>> describe(("no-such-package",)).packages.keys() == describe().packages.keys()
        True
    """
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    features = [name for name in (*_VECTOR_FEATURES, "fma") if has.get(name, False)]
    return HostInfo(
        processor=_processor(),
        target=str(binding.get_host_cpu_name()),
        features=tuple(features),
        cores=os.cpu_count() or 1,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        packages=_versions_of((*_PACKAGES, *packages)),
    )


def _processor() -> str:
    """Return the processor's name; Linux has it in a file, other systems through `platform`."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            label, _, value = line.partition(":")
            if label.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _versions_of(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
