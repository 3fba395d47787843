"""Draw who imports whom among the rooms: `python -m scripts.architecture` rewrites the picture.

The picture stands in docs/architecture.md between two fences; a test holds that it is the graph of
imports as it is. Rooms are in the order of the layers in pyproject.toml, highest first, so that a
room that imports only rooms below it has all its dots right of the diagonal.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "linkwright"
_BEGIN, _END = "```text\n", "```\n"


def rooms() -> list[str]:
    """Return the rooms, highest first."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    names = [name for layer in layers for name in re.findall(r"\w+", layer)]
    return [name for name in names if (SOURCE / name / "__init__.py").exists()]


def imports(graph: grimp.ImportGraph) -> set[tuple[str, str]]:
    """Return the pairs of rooms of which the first imports the second, by statements."""
    known = set(rooms())
    pairs = set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            first, second = (name.split(".")[1] if "." in name else "" for name in (module, other))
            if first != second and {first, second} <= known:
                pairs.add((first, second))
    return pairs


def purpose(room: str) -> str:
    """Return what a room is for: the first sentence of its docstring."""
    text = (SOURCE / room / "__init__.py").read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(text)) or ""
    return doc.split("\n\n")[0].replace("\n", " ").replace("`", "")


def picture(pairs: set[tuple[str, str]]) -> str:
    """Return a row for each room: a dot for each room that it imports, and what it is for."""
    names = rooms()
    head = [name[:4].ljust(4) for name in names]
    lines = [" " * 11 + "".join(letters) for letters in zip(*head, strict=True)]
    for name in names:
        dots = "".join("\\" if x == name else "•" if (name, x) in pairs else " " for x in names)
        lines.append(f"{name:10} {dots}  {purpose(name)}".rstrip())
    return "\n".join(lines) + "\n"


def parts() -> tuple[str, str, str]:
    """Return the page: what is before the picture, the picture, and what is behind it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(_BEGIN, 1)
    drawn, behind = rest.split(_END, 1)
    return before, drawn, behind


def main() -> None:
    """Write the picture into the page."""
    before, _, behind = parts()
    made = picture(imports(grimp.build_graph("linkwright", cache_dir=None)))
    PAGE.write_text("".join((before, _BEGIN, made, _END, behind)), encoding="utf-8")


if __name__ == "__main__":
    main()
