"""Readable, self-contained C99 from a Program, and kernels made of it by the C compiler."""

from linkwright.backends.c.backend import compile_c
from linkwright.backends.c.file import c_source

__all__ = ["c_source", "compile_c"]
