"""Stand-alone simulation programs, as AUTOSIM wrote them, and controllers as firmware."""

from linkwright.codegen.content import timing_of
from linkwright.codegen.files import TARGETS, Written, codegen

__all__ = ["TARGETS", "Written", "codegen", "timing_of"]
