from linkwright.windows.interrupts import (
    InterruptClaim as InterruptClaim,
    Interrupts as Interrupts,
    Stray as Stray,
)
from linkwright.windows.records import (
    HEAD as HEAD,
    MULTIPLIER as MULTIPLIER,
    Field as Field,
    Frame as Frame,
    Record as Record,
    RecordError as RecordError,
)
from linkwright.windows.registers import Register as Register, RegisterWindow as RegisterWindow
from linkwright.windows.window import Window as Window
from linkwright.windows.wire import Wire as Wire, WireCounts as WireCounts
