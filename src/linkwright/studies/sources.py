"""Where a model comes from: a name of the library, or a file, with a digest of what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwright.errors import InputError
from linkwright.files import digest_of
from linkwright.formats.robot.files import endings, is_whole

_LONGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from."""

    model: str
    digest: str
    file: str = ""
    text: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def known(self) -> bool:
        """Whether the digest stands for all that the model is."""
        return not self.file or bool(self.text)

    @property
    def stem(self) -> str:
        """A name for files that belong to it."""
        name = Path(self.file).stem if self.file else self.model
        return "".join(c if c.isalnum() or c in "-_." else "-" for c in name) or "run"


def source_of(model: str) -> Source:
    """Return where a model comes from.

    >>> source_of("n-four-bar:n=3").stem
    'n-four-bar-n-3'
    """
    for ending in endings():
        name, found, options = model.partition(ending)
        if found and (not options or options.startswith(":")):
            return _of_file(model, Path(name + ending), options)
    return Source(model, digest_of(model.encode()), origin={"model": model})


def _of_file(model: str, path: Path, options: str) -> Source:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the model: {error.strerror}", file=path) from None
    text = ""
    if len(content) <= _LONGEST and is_whole(path, content):
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise InputError("the file is not text in UTF-8", file=path) from None
    origin = {
        "file": str(path.resolve()),
        "folder": str(path.resolve().parent),  # whoever named the file may read it
        "digest": digest_of(content),
        "options": _whole_numbers(options[1:]),
    }
    return Source(model, digest_of(content + options.encode()), path.name, text, origin)


def _whole_numbers(options: str) -> dict[str, int]:
    """Return the options of a text model; what is no number is told by whoever builds it."""
    pairs = (item.partition("=") for item in options.split(",") if item)
    return {k.strip(): int(v) for k, _, v in pairs if v.strip().isdecimal()}
