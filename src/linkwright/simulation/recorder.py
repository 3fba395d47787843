"""The samples of a run on their way to a file: kept, in a journal while it goes on, then recorded.

The journal lies beside the target. It is made before the run and belongs to it alone, so that two
runs to one name do not meet in it; it goes when the recording is in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.files import file_exists
from linkwright.recording.files import file_format, keep_stream
from linkwright.recording.journal import Journal, require_no_journal
from linkwright.recording.origins import with_relative_paths
from linkwright.recording.recording import Array, Channel, Recording
from linkwright.recording.streams import Stream, stream_of

VISIT = 0.1
"""From one visit of Python to the next, s, about."""

Progress = Callable[[float, float], None]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a recording goes."""

    path: Path
    replace: bool = False
    replace_journal: bool = False

    @property
    def journal(self) -> Path:
        """Where the journal lies.

        >>> Target(Path("run.parquet")).journal.name
        'run.parquet.journal'
        """
        return self.path.with_name(self.path.name + ".journal")

    def check(self) -> None:
        """Raise an error where a recording could not be written in the end."""
        chosen = file_format(self.path)
        if chosen.write is None:
            raise InputError(f"a {chosen.words} is only read", file=self.path)
        chosen.require()
        if self.path.is_dir():
            raise InputError(
                "this is a folder, where no recording can be written",
                file=self.path,
                remedy="name a file in it",
            )
        if not self.path.parent.is_dir():
            raise InputError(
                "there is no such folder", file=self.path.parent, remedy="make it first"
            )
        if self.path.exists() and not self.replace:
            raise file_exists(self.path)
        require_no_journal(self.journal, replace=self.replace_journal)


def keep_recording(journal: Journal, target: Target, stream: Stream) -> None:
    """Write a recording; its journal goes when that was read back and compared."""
    journal.flush()
    try:
        keep_stream(target.path, stream, replace=target.replace)
    except Error as error:
        kept = journal.path
        journal.close()
        raise InputError(
            f"the recording cannot be written ({error}), but its samples are in {kept}",
            remedy=f"make room, then linkwright tools recover {kept}",
        ) from None
    journal.remove()


class Recorder:
    """Samples on their way: kept, and written to the journal now and then."""

    def __init__(
        self,
        channels: list[Channel],
        about: Mapping[str, Any],
        target: Target | None,
        source: Any = None,
    ) -> None:
        self.channels, self.source = channels, source
        self.about = dict(about)
        self.target = target
        self.samples: list[tuple[Array, Array]] = []
        self.journal: Journal | None = None
        self.begin()

    def begin(self) -> None:
        """Open the journal, with the samples of a run that is gone on with."""
        if self.target is not None and self.journal is None:
            told, again = with_relative_paths(self.about, self.target.path.parent), self.target
            self.journal = Journal(
                again.journal, self.channels, told, replace=again.replace_journal
            )
            for times, rows in self.samples:
                self.journal.append(times, rows)

    def put(self, times: Array, rows: Array) -> None:
        """Take samples; they are in the journal when this returns."""
        if len(times):
            self.samples.append((times, rows))
            if self.journal is not None:
                self.journal.append(times, rows)

    def finish(self, more: Mapping[str, Any], least: int = 1) -> tuple[Recording, Path | None]:
        """Return the recording, and where it is; the journal goes when it is in its place."""
        width = len(self.channels)
        times = np.concatenate([np.empty(0), *(t for t, _ in self.samples)])
        rows = np.concatenate([np.empty((0, width)), *(x for _, x in self.samples)])
        made = Recording(times, self.channels, rows, {**self.about, **more}, self.source)
        journal, self.journal = self.journal, None
        if journal is None or self.target is None:
            return made, None
        if len(made) < least:
            journal.remove()
            return made, None
        keep_recording(journal, self.target, stream_of(made))
        self.target = replace(self.target, replace=True)
        return made, self.target.path

    def drop(self) -> None:
        """Take the journal away: the run had no beginning."""
        if self.journal is not None:
            self.journal.remove()

    def leave(self) -> None:
        """Close the journal, which stays where it holds samples."""
        if self.journal is not None:
            if self.samples:
                self.journal.close()
            else:
                self.journal.remove()
