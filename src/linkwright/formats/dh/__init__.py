"""Tables of Denavit and Hartenberg's parameters in TOML: `read_dh` and `dh_text`."""

from __future__ import annotations

from linkwright.formats.dh.reader import parse_dh, read_dh
from linkwright.formats.dh.writer import dh_text

__all__ = ["dh_text", "parse_dh", "read_dh"]
