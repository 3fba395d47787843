"""The expression language of text models: numbers, names, operators and functions, and no `eval`.

`parse` goes from a text to a scalar expression; `read` and `resolve` do it in two steps, so that
one text can be read once and resolved in several scopes, and so that its names can be listed. See
`linkwright.algebra.language.syntax` for the grammar and `scope` for what names may mean. Whatever
is wrong with a text is a `linkwright.InputError` with its column.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
