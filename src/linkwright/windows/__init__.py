"""What processes share: records with one layout for window, wire and journal, and their windows.

A `Record` is declared once. A `Window` holds one frame of it in a file that several processes map;
one of them writes. The same bytes travel over a wire and are in a journal. A `RegisterWindow` maps
the registers of a device, and `Interrupts` wake the process that has claimed them.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
