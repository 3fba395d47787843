"""Names and modules that are imported when they are first used, so that importing us is cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from linkwright.base.forking import importing


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
    """Return what stands in a module that is imported for it, `module:name`; `module:` is itself.

    >>> named("math:sqrt")(4.0)
    2.0
    """
    module, _, name = place.partition(":")
    with importing:
        return getattr(import_module(module), name) if name else import_module(module)


def later(place: str) -> Callable[..., Any]:
    """Return a function, `module:name`, that is imported when it is first called.

    >>> later("math:sqrt")(4.0)
    2.0
    """
    return lambda *args, **keywords: named(place)(*args, **keywords)


class _Package(ModuleType):
    """A package whose public names stay when a module of the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        kept = self.__dict__.get("_kept", ())
        if name not in kept or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def stub_names(stub: Path) -> dict[str, str]:
    """Return the names of an `__init__.pyi`, and the modules from which it imports them."""
    only_tree = 0x400  # ast.PyCF_ONLY_AST, without importing ast
    tree: Any = compile(stub.read_text(encoding="utf-8"), str(stub), "exec", only_tree)
    return {alias.name: each.module for each in tree.body for alias in each.names}


def _home(word: str) -> str:
    """Return where in the public rooms a name is, or nothing."""
    root = Path(__file__).parents[1]
    for room in stub_names(root / "__init__.pyi"):
        package = root / room / "__init__.pyi"
        if package.is_file() and word in stub_names(package):
            return f"{room}.{word}"
    return ""


class NoAttribute(AttributeError):
    """An attribute that is not there. What to use instead is sought where that is printed."""

    def __init__(self, owner: str, word: str, known: Iterable[str]) -> None:
        super().__init__(word, name=word, obj=None)  # Python has nothing to add to our hint
        self._owner, self._word, self._known = owner, word, known

    def __str__(self) -> str:
        from linkwright.base.peers import hint

        word = self._word
        return f"{self._owner} has no attribute {word!r}{hint(word, self._known, _home(word))}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


NoAttribute.__module__, NoAttribute.__qualname__ = "builtins", "AttributeError"  # in tracebacks


def guide(self: object, name: str) -> Any:
    """Answer an unknown attribute with the name that it has here: `__getattr__` of a class.

    A type checker should not see it, so that it goes on to report such attributes.
    """
    kind = type(self)
    if hasattr(kind, name):  # a property raised it: let it say why
        return object.__getattribute__(self, name)
    from linkwright.base.aliases import renamed_method

    if new := "" if name.startswith("_") else renamed_method(kind, name):
        return getattr(self, new)
    known = [each for each in dir(kind) if not each.startswith("_")]
    raise NoAttribute(f"{kind.__name__!r} object", name, known)


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from its `__init__.pyi`.

    That stub is what type checkers read: each public name stands once, in an import from its home,
    from where it is imported on first use.

    >>> attach("linkwright.windows", import_module("linkwright.windows").__file__)[2][:2]
    ['Interrupts', 'Field']
    """
    homes = stub_names(Path(file).with_suffix(".pyi"))
    module = sys.modules[package]

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            if Path(file).with_name(name).joinpath("__init__.pyi").exists():  # a room in this one
                return import_module(f"{package}.{name}")
            if not name.startswith("_"):
                from linkwright.base.aliases import renamed

                value = renamed(package, name)
                if value is not None:
                    setattr(module, name, value)
                    return value
            raise NoAttribute(f"module {package!r}", name, homes)
        if home == package:
            with importing:
                return import_module(f"{package}.{name}")
        value = named(f"{home}:{name}")
        setattr(module, name, value)
        return value

    vars(module)["_kept"] = frozenset(name for name, home in homes.items() if home != package)
    module.__class__ = _Package
    names = list(homes)
    return find, lambda: sorted({*names, *(n for n in vars(module) if n[:2] == "__")}), names
