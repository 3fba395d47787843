"""Recordings: channels over time, the files that hold them, and their pictures."""

from linkwright.recording.erd import ErdChannel, ErdFile, read_erd, write_erd
from linkwright.recording.files import FORMATS, read_recording, write_recording
from linkwright.recording.journal import Journal, recovered
from linkwright.recording.recording import Channel, Recording, RecordingError

__all__ = [
    "FORMATS",
    "Channel",
    "ErdChannel",
    "ErdFile",
    "Journal",
    "Recording",
    "RecordingError",
    "read_erd",
    "read_recording",
    "recovered",
    "write_erd",
    "write_recording",
]
