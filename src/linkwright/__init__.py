"""Linkwright turns the description of a mechanism into a small and fast program that simulates it.

``import linkwright as lw`` is cheap: a public name is imported from its home when it is first used.
To publish a name, import it in `__init__.pyi`, which is read at run time and by type checkers.
"""

from linkwright.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
