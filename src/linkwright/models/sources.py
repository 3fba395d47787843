"""Where a model comes from: a name of the library, or a file, with a digest of what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError
from linkwright.base.files import OpenedFile, digest_of, integer, opened_file

_LONGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from."""

    model: str
    digest: str
    file: str = ""
    text: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    opened: OpenedFile | None = field(default=None, compare=False, repr=False)

    @property
    def known(self) -> bool:
        """Whether the digest stands for all that the model is."""
        return not self.file or bool(self.text)


def stem_of(model: str) -> str:
    """Return a name for files that belong to a model.

    >>> stem_of("n-four-bar:n=3"), stem_of("a/swing.toml:n=2")
    ('n-four-bar-n-3', 'swing')
    """
    path, _ = _file_of(model)
    name = model if path is None else path.stem
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name) or "run"


def source_of(model: str) -> Source:
    """Return where a model comes from; a file is opened, and not again."""
    path, options = _file_of(model)
    if path is not None:
        return _of_file(model, path, options)
    return Source(model, digest_of(model.encode()), origin={"model": model})


def _file_of(model: str) -> tuple[Path | None, str]:
    """Return the path that a model's name holds, and its options with their colon."""
    if "." not in model:  # a shipped one; formats are not needed to know that
        return None, ""
    from linkwright.formats.robot.files import endings

    for ending in endings():
        name, found, options = model.partition(ending)
        if found and (not options or options.startswith(":")):
            return Path(name + ending), options
    return None, ""


def _of_file(model: str, path: Path, options: str) -> Source:
    from linkwright.formats.robot.files import is_whole

    opened = opened_file(path)
    content, text = opened.content, ""
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
    digest = digest_of(content + options.encode())
    return Source(model, digest, path.name, text, origin, opened)


def _whole_numbers(options: str) -> dict[str, int]:
    """Return the options of a text model; what is not a number is reported by whoever builds it."""
    pairs = (item.partition("=") for item in options.split(",") if item)
    found = ((k.strip(), integer(v)) for k, _, v in pairs)
    return {k: n for k, n in found if n is not None and n >= 0}
