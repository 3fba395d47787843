from linkwright.program.search.smallest import (
    MOVES as MOVES,
    Progress as Progress,
    thorough as thorough,
)
from linkwright.program.search.verification import (
    VerificationError as VerificationError,
    field_outputs as field_outputs,
    rounding_errors as rounding_errors,
    verify as verify,
)
