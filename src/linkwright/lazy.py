"""Names and modules that are imported when they are first used, so that importing us is cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from linkwright.forking import importing


class Later:
    """A module that is imported when one of its names is first asked for.

    >>> Later("math").sqrt(4.0)
    2.0
    """

    def __init__(self, name: str) -> None:
        self.__name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self.__name), attribute)


def named(place: str) -> Any:
    """Return what stands in a module that is imported for it, `module:name`.

    >>> named("math:sqrt")(4.0)
    2.0
    """
    module, _, name = place.partition(":")
    with importing:
        return getattr(import_module(module), name)


def lazy_names(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports names from their homes and keeps them.

    >>> lazy_names("linkwright", {"linkwright": ["shapes"]})("shapes").__name__
    'linkwright.shapes'
    """
    home = {name: place for place, names in homes.items() for name in names}

    def find(name: str) -> object:
        place = home.get(name)
        if place is None:
            from linkwright.errors import nearest

            near = "" if name.startswith("_") else nearest(name, home, cutoff=0.7)
            hint = f"; did you mean {near!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        with importing:
            if place == package:
                return import_module(f"{package}.{name}")
            value: object = getattr(import_module(place, package), name)
        setattr(sys.modules[package], name, value)
        return value

    module = sys.modules.get(package)
    if module is not None:  # so that dir() and completion know what is not imported yet
        vars(module)["__dir__"] = lambda: sorted({*vars(module), *home})
    return find


class _Package(ModuleType):
    """A package whose public names stay when a module of the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        kept = self.__dict__.get("_kept", ())
        if name not in kept or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def attach(package: str, file: str) -> tuple[Any, Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from its `__init__.pyi`.

    That stub is what type checkers read: each public name stands once, in an import from its home.

    >>> attach("linkwright.windows", import_module("linkwright.windows").__file__)[2][:2]
    ['InterruptClaim', 'Interrupts']
    """
    stub = Path(file).with_suffix(".pyi")
    only_tree = 0x400  # ast.PyCF_ONLY_AST, without importing ast
    tree: Any = compile(stub.read_text(encoding="utf-8"), str(stub), "exec", only_tree)
    homes = {each.module: [alias.name for alias in each.names] for each in tree.body}
    names = [name for inside in homes.values() for name in inside]
    find = lazy_names(package, homes)
    module = sys.modules[package]
    vars(module)["_kept"] = frozenset(names) - frozenset(homes.get(package, ()))
    module.__class__ = _Package
    return find, lambda: sorted({*names, *(n for n in vars(module) if n[:2] == "__")}), names
