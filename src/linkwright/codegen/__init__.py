"""Stand-alone simulation programs, as AUTOSIM wrote them, and controllers as firmware."""

from linkwright.codegen.content import timing_of
from linkwright.codegen.files import TARGETS, WrittenProgram, codegen

__all__ = ["TARGETS", "WrittenProgram", "codegen", "timing_of"]
