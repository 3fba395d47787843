"""Writers: stand-alone simulation programs from mechanisms, as AUTOSIM wrote them."""

from linkwright.writers.content import timing_of
from linkwright.writers.files import TARGETS, Written, write_program

__all__ = ["TARGETS", "Written", "timing_of", "write_program"]
