"""Recordings: channels over time, and the files that hold them."""

from linkwright.recording.erd import ErdChannel, ErdFile, read_erd, write_erd

__all__ = ["ErdChannel", "ErdFile", "read_erd", "write_erd"]
