"""Modes and error codes of an axis controller, by the names of the motor driver they come from.

The report on the modular motor controller (Paul and others, *A distributed computer architecture
acting as a force and motion server*, appendix A.2) names them; their numbers are our own. A code
is in the bits above the lowest eight, which say the axis, and is never shifted.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class AxisMode(IntEnum):
    """What an axis does.

    >>> AxisMode.VEL.value
    2
    """

    OFF = 0
    """Not servoed."""
    POS = 1
    """Position control."""
    VEL = 2
    """Velocity control: the derivative is in the feedback."""
    TORQ = 3
    """The set-point is the current."""
    TEST1 = 4
    """A triangle wave."""
    HOME = 5
    """Creep to the home switch (SI form)."""


class AxisError(IntFlag):
    """Why an axis stopped, or would have.

    >>> hex(AxisError.PHI | 3), AxisError.PHI & AxisError.POSERR == AxisError.POSERR
    ('0x503', True)
    """

    POSERR = 0x100
    """Either limit of position."""
    PLO = 0x300
    """The low limit of position was crossed."""
    PHI = 0x500
    """The high limit of position was crossed."""
    ILIM = 0x800
    """Current above its limit for too long."""
    PANIC = 0x1000
    """The PANIC line; the axis in the low bits means nothing."""
    RANGE = 0x2000
    """A result that does not fit into 32 bits, or is not a finite number."""
    FOLLOW = 0x4000
    """The following error is too large (SI form)."""
    HEAT = 0x8000
    """The motor is too hot by the I2t rule (SI form)."""


TEST_PERIOD = 256
"""Samples in a period of the triangle wave."""

FSCALE = 1024
"""By which the filtered current of the integer form is scaled."""

DAC_SCALE = 2047
"""Full scale of the D/A converter of the integer form, of 12 bits."""

COUNTER = 65536
"""The counts after which the encoder's register of 16 bits begins again."""

WORD = 2147483647
"""The largest number of 32 bits."""

UNWIND = 0.98
"""Of what the limit of the current cut off, the share that D(z) of the SI form still has a sample
later."""
