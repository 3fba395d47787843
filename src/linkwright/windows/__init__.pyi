from linkwright.windows.interrupts import (
    Interrupts as Interrupts,
)
from linkwright.windows.records import (
    Field as Field,
    Record as Record,
    RecordError as RecordError,
)
from linkwright.windows.registers import Register as Register, RegisterWindow as RegisterWindow
from linkwright.windows.window import Window as Window
from linkwright.windows.wire import Wire as Wire
