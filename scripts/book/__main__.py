"""Build the site from the pages of `docs` and from pages that are made of the code.

Sphinx works on a mirror of `docs` in `build/docs-source`, where made pages stand too; a file of
the mirror is written only where its text changes, so that a second build reads only what is new.
Warnings are errors, and so are links to pages and headings that do not exist.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from scripts.book import commands, errors, files, names, renamed, text_models

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(\]\()(\.\./[^)#\s]+)(?=[)#])")
_OWN = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_KINDS = {
    "tutorials": ("Tutorials", "Ten minutes each. Every step runs as it stands."),
    "how-to": ("How-to", "One task on each page."),
}

_REFERENCE = """\
# Reference

Made from the code, so it is what the code does.

| | |
|---|---|
| [Python](python/index.md) | every public name: signature, arguments with units, an example |
| [Commands](commands/index.md) | every command: arguments, options, examples |
| [Text models](../text-models.md) | every table and key of a model in TOML |
| [Files](../files.md) | every key of every other file that people write |
| [Errors](../errors.md) | every numbered error: why it happens, and what to do |
| [What was renamed](../migration.md) | old names and new ones |
| [Glossary](../glossary.md) | the words |

:::{toctree}
:hidden:

python/index
commands/index
:::
"""


def mirrored(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of the mirror that a person wrote."""
    docs = root / "docs"
    for path in sorted(p for p in docs.rglob("*") if p.is_file()):
        name = path.relative_to(docs).as_posix()
        if "__pycache__" in name:
            continue
        content = path.read_bytes()
        if path.suffix == ".md":
            text, files = _at_home(content.decode("utf-8"), path, root)
            yield from files
            content = text.encode("utf-8")
        yield name, content
    for own, name in _OWN.items():
        text = (root / own).read_text("utf-8").replace("](docs/", "](")
        yield name, text.encode("utf-8")
    for kind, (title, line) in _KINDS.items():
        if not (docs / kind / "index.md").exists():
            yield f"{kind}/index.md", _listing(docs / kind, title, line).encode("utf-8")


def _at_home(text: str, page: Path, root: Path) -> tuple[str, list[tuple[str, bytes]]]:
    """Return a page whose links out of `docs` point at copies of those files, and the copies."""
    files = []

    def moved(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        if target.is_relative_to(root / "docs") or not target.is_file():
            return match[0]
        name = target.relative_to(root).as_posix()
        up = "../" * len(page.relative_to(root / "docs").parts[1:])
        if name in _OWN:
            return f"{match[1]}{up}{_OWN[name]}"
        files.append((f"files/{name}", target.read_bytes()))
        return f"{match[1]}{up}files/{name}"

    return _LINK.sub(moved, text), files


def _listing(folder: Path, title: str, line: str) -> str:
    """Return the page of a kind: its pages by their titles."""
    pages = sorted(p for p in folder.glob("*.md")) if folder.is_dir() else []
    rows = [f"- [{_title(page)}]({page.name})" for page in pages]
    tree = [":::{toctree}", ":hidden:", "", *(page.stem for page in pages), ":::"]
    return "\n".join([f"# {title}", "", line, "", *rows, "", *(tree if pages else []), ""])


def _title(page: Path) -> str:
    return page.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def made() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each page that is made of the code."""
    texts = {
        "errors.md": errors.page(),
        "files.md": files.page(files.formats()),
        "migration.md": renamed.page(),
        "text-models.md": text_models.page(),
        "reference/index.md": _REFERENCE,
        **{f"reference/commands/{name}.md": text for name, text in commands.pages().items()},
        **{f"reference/python/{name}.md": text for name, text in names.pages().items()},
    }
    for name, text in texts.items():
        yield name, text.encode("utf-8")


def mirror(source: Path, files: Iterator[tuple[str, bytes]]) -> None:
    """Bring a folder to hold these files and no others; what is the same is not touched."""
    kept = set()
    for name, content in files:
        path = source / name
        kept.add(path)
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in source.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def build(root: Path, out: Path, jobs: str) -> int:
    """Build the site; return Sphinx's exit code."""
    from sphinx.cmd.build import main

    source, cache = (out.with_name(f"{out.name}-{part}") for part in ("source", "cache"))
    source.mkdir(parents=True, exist_ok=True)
    mirror(source, chain(mirrored(root), made()))
    arguments = ["-q", "-W", "--keep-going", "-j", jobs, "-b", "html"]
    arguments += ["-d", str(cache), str(source), str(out)]
    code = main(arguments)
    if code:  # pages that are read from the cache do not warn again
        shutil.rmtree(cache, ignore_errors=True)
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "build" / "docs")
    parser.add_argument("-j", "--jobs", default="auto")
    parser.add_argument("--fresh", action="store_true", help="from nothing")
    given = parser.parse_args()
    if given.fresh:
        for ending in ("", "-source", "-cache"):
            shutil.rmtree(given.out.with_name(given.out.name + ending), ignore_errors=True)
    os.chdir(ROOT)
    sys.exit(build(ROOT, given.out.resolve(), given.jobs))
