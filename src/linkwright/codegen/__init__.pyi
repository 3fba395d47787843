from linkwright.codegen.content import timing_of as timing_of
from linkwright.codegen.files import (
    TARGETS as TARGETS,
    WrittenProgram as WrittenProgram,
    codegen as codegen,
)
