"""What processes share: records with one layout for window, wire and journal, and their windows.

A `Record` is declared once. A `Window` holds one frame of it in a file that several processes map;
one of them writes. The same bytes travel over a wire and lie in a journal.
"""

from linkwright.windows.records import HEAD, MULTIPLIER, Field, Frame, Record, RecordError
from linkwright.windows.window import Window

__all__ = ["HEAD", "MULTIPLIER", "Field", "Frame", "Record", "RecordError", "Window"]
