"""The machine that native kernels are made for: its name, its features, its register width.

A kernel is compiled for the processor that runs it, so the description of the host is part of the
key under which object code is cached (a stale feature string would mean an illegal instruction).

Code settings. On x86-64 with ELF the kernel is position independent code of the *small* model, so
that constants are read relative to the instruction pointer and broadcast inside the arithmetic
instruction. That model needs code and constants within 2 GB of each other. It is safe here by
construction and not by luck: external functions are called through the global offset table (see
`compile.py`), which lets the loader reserve code, constants and that table as one block of memory.
Elsewhere the just-in-time default of LLVM is used. No IR pass is run: the Program has done that
work already, and the vectorizer of straight-line code makes these kernels slower.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import llvmlite
import llvmlite.binding as llvm

from linkwright.backends.llvm.signature import Dtype
from linkwright.base.errors import CompileError
from linkwright.base.forking import held_over_forks

Model = Literal["small", "default"]

_lock = threading.RLock()
held_over_forks(_lock, 3)
held_over_forks(llvm.ffi.lib._lock, 4)  # of LLVM itself, around each of its functions
_ready = False


@dataclass(frozen=True, slots=True)
class Host:
    """The processor in LLVM's words, and the width of its widest vector register in bits."""

    triple: str
    cpu: str
    features: str
    register_bits: int

    def lanes(self, dtype: Dtype) -> int:
        """Number of values of a type in one vector register.

        >>> Host("x86_64-unknown-linux-gnu", "generic", "+avx2", 256).lanes("f32")
        8
        """
        return self.register_bits // (64 if dtype == "f64" else 32)


def register_bits(features: str) -> int:
    """Width of the widest usable vector register, from a feature string such as `+avx2,-avx512f`.

    >>> register_bits("+sse2,+avx2,-avx512f"), register_bits("+avx512f,+avx512dq,+avx512vl")
    (256, 512)
    """
    have = {name[1:] for name in features.split(",") if name.startswith("+")}
    if {"avx512f", "avx512dq", "avx512vl"} <= have:
        return 512
    return 256 if "avx2" in have else 128


def initialize() -> None:
    """Prepare LLVM for this machine; safe to call from any thread, any number of times."""
    global _ready
    if _ready:
        return
    with _lock:
        if not _ready:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            _ready = True


@lru_cache(maxsize=1)
def host() -> Host:
    """Describe the machine that this process runs on.

    >>> host().lanes("f64") in (2, 4, 8) and host().lanes("f32") == 2 * host().lanes("f64")
    True
    """
    initialize()
    features = llvm.get_host_cpu_features().flatten()
    return Host(
        llvm.get_process_triple(), llvm.get_host_cpu_name(), features, register_bits(features)
    )


def preferred_model() -> Model:
    """The code model used for kernels: `small` where it is known to be safe, else `default`.

    >>> preferred_model() in ("small", "default")
    True
    """
    triple = host().triple
    return "small" if triple.startswith("x86_64") and sys.platform == "linux" else "default"


def effort() -> int:
    """The effort of code generation, 0 to 3; the variable `LINKWRIGHT_EFFORT` sets another than 2.

    With 0 code is there in a third of the time, and takes two to three times as long to run; its
    results are the same bits, because Programs decide what is rounded.

    >>> 0 <= effort() <= 3
    True
    """
    given = os.environ.get("LINKWRIGHT_EFFORT", "2")
    if given not in ("0", "1", "2", "3"):
        raise CompileError(f"LINKWRIGHT_EFFORT is {given!r}", remedy="give 0, 1, 2 or 3")
    return int(given)


def make_target_machine(opt: int | None = None, model: Model | None = None) -> Any:
    """Create a target machine of LLVM for this host.

    `opt` is the effort of code generation, by default `effort()`. Each execution engine takes one
    for itself, so a new one is made on every call (0.3 ms).

    >>> make_target_machine().triple == host().triple
    True
    """
    machine = host()
    model = model or preferred_model()
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=effort() if opt is None else opt,
        reloc="pic" if model == "small" else "default",
        codemodel="small" if model == "small" else "jitdefault",
    )


def code_settings(opt: int | None = None) -> str:
    """Everything besides the IR that decides the object code, as one line for cache keys.

    >>> host().cpu in code_settings()
    True
    """
    machine = host()
    version = ".".join(str(part) for part in llvm.llvm_version_info)
    return "|".join(
        (
            f"llvmlite {llvmlite.__version__}",
            f"llvm {version}",
            machine.triple,
            machine.cpu,
            machine.features,
            f"opt {effort() if opt is None else opt}",
            f"model {preferred_model()}",
        )
    )
