"""Writers: stand-alone simulation programs from mechanisms, as AUTOSIM wrote them."""

from linkwright.codegen.content import timing_of
from linkwright.codegen.files import TARGETS, Written, write_program

__all__ = ["TARGETS", "Written", "timing_of", "write_program"]
