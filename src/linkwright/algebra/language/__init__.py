"""The expression language of text models: numbers, names, operators and functions, and no `eval`.

`parse` goes from a text to a scalar expression; `read` and `resolve` do it in two steps, so that
one text can be read once and resolved in several scopes, and so that its names can be listed. See
`linkwright.algebra.language.syntax` for the grammar and `scope` for what names may mean. Whatever
is wrong with a text is a `linkwright.errors.InputError` with its column.
"""

from linkwright.algebra.language.meaning import parse, quantity, resolve
from linkwright.algebra.language.scope import Scope, SymbolScope
from linkwright.algebra.language.syntax import Formula, read
from linkwright.algebra.language.tokens import LanguageError

__all__ = [
    "Formula",
    "LanguageError",
    "Scope",
    "SymbolScope",
    "parse",
    "quantity",
    "read",
    "resolve",
]
