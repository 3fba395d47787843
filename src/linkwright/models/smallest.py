"""The tool that writes the smallest Programs of shipped models (`linkwright.equations.shipped`).

Each file holds a Program as text, the fingerprint of the one that a thorough search made it from,
and the seed and the number of moves that give it again. `make regenerate` (or
``python -m linkwright.models.smallest``) writes the files and their index anew, byte for byte the
same ones as long as the equations are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from linkwright.equations import derive
from linkwright.equations.kernels import kernel_program, quick_inverse
from linkwright.equations.shipped import FOLDER, INDEX
from linkwright.equations.tree import tree_of
from linkwright.models.library import load_model
from linkwright.program import Program, count_operations
from linkwright.program.search import thorough
from linkwright.program.text import text_digest, written


@dataclass(frozen=True, slots=True)
class Shipped:
    """A Program that ships: a model with its options, a kernel, and how to search for it."""

    model: str
    kernel: str = "forward"
    moves: int = 10_000
    seed: int = 0

    @property
    def path(self) -> Path:
        """The file that holds it."""
        return file_of(self.model, self.kernel)

    def source(self) -> Program:
        """Return the Program as it is derived."""
        return kernel_program(derive(load_model(self.model)), self.kernel)

    def quick(self) -> Program:
        """Return the Program as it is derived without a search."""
        model = load_model(self.model)
        if self.kernel == "inverse":
            return quick_inverse(tree_of(model))
        return derive(model, "composite-usual").program(outputs=False)


SHIPPED: tuple[Shipped, ...] = (
    Shipped("whipple", moves=8_000),
    Shipped("spacecraft-1", moves=12_000),
    Shipped("puma560:drives=off"),
    Shipped("spacecraft-2"),
    Shipped("spacecraft-1-small"),
    Shipped("stanford-arm-controlled"),
    Shipped("stanford-arm", moves=100_000),
    Shipped("puma560:drives=off", "inverse"),
    Shipped("car"),
    Shipped("four-bar"),
    Shipped("cart"),
    Shipped("car-small", moves=5_000),
)


def file_of(model: str, kernel: str = "forward") -> Path:
    """Return where the Program of a model is or would be.

    >>> file_of("puma560:drives=off", "inverse").name
    'puma560-drives-off-inverse.json'
    """
    stem = model.replace(":", "-").replace("=", "-").replace(",", "-")
    return FOLDER / (f"{stem}.json" if kernel == "forward" else f"{stem}-{kernel}.json")


def file_text(shipped: Shipped, source: Program, found: Program) -> str:
    """Return the content of a file."""
    data = {
        "model": shipped.model,
        "kernel": shipped.kernel,
        "source": source.fingerprint(),
        "moves": shipped.moves,
        "seed": shipped.seed,
        "counts": count_operations(found).as_dict(),
        **written(found, source),
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def regenerate(shipped: Shipped, stale: bool = False) -> str:
    """Search again, write the file, and return a line about it."""
    source = shipped.source()
    if stale and shipped.path.is_file():
        data = json.loads(shipped.path.read_text(encoding="utf-8"))
        made = (data["source"], data["moves"], data["seed"])
        if made == (source.fingerprint(), shipped.moves, shipped.seed):
            return f"{shipped.path.name:40} is up to date"
    found = thorough(source, moves=shipped.moves, seed=shipped.seed)
    FOLDER.mkdir(exist_ok=True)
    shipped.path.write_text(file_text(shipped, source, found), encoding="utf-8")
    c = count_operations(found)
    return f"{shipped.path.name:40} {c.add:4} / {c.mul:4} / {c.call}"


def index_text() -> str:
    """Return the content of the index: for the names of Programs, digests and files."""
    found: dict[str, dict[str, str]] = {}
    for shipped in SHIPPED:
        for source in (shipped.source(), shipped.quick()):
            found.setdefault(source.name, {})[text_digest(source)] = shipped.path.stem
    return json.dumps(found, indent=1) + "\n"


def main(arguments: Sequence[str], workers: int = 2) -> int:
    """Write the files whose names start with one of these, or all; `--stale`: where needed."""
    stale = "--stale" in arguments
    names = [name for name in arguments if name != "--stale"]
    chosen = [s for s in SHIPPED if not names or any(s.path.name.startswith(n) for n in names)]
    with ProcessPoolExecutor(workers) as pool:
        for line in pool.map(partial(regenerate, stale=stale), chosen):
            print(line, flush=True)
    INDEX.write_text(index_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
