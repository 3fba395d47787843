"""What public functions say to an argument of a wrong kind.

`worded` costs nothing where a call succeeds. Where it ends in a raw error of Python, the arguments
are compared with their annotations: one that does not fit is rejected by name. Where all fit, the
error is a defect of the function itself, and is let through.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from linkwright.base.errors import InputError, nearest
from linkwright.base.reprs import brief

Function = TypeVar("Function", bound=Callable[..., Any])

Made = TypeVar("Made")

RAW = (TypeError, ValueError, AttributeError, IndexError, KeyError)

_WORDS = {
    str: "a text",
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    Path: "a path",
    type(None): "None",
}


_HOLDERS = (list, tuple, Sequence, Iterable)


def worded(function: Function) -> Function:
    """Let a function reject arguments of a wrong kind in our words.

    >>> @worded
    ... def half(x: float) -> float:
    ...     return x / 2
    >>> half("much")
    Traceback (most recent call last):
    linkwright.InputError: x of half is 'much', which is not a number
    """
    raw, refused, old_keywords = RAW, refusal, _renamed
    any_keyword = bool(function.__code__.co_flags & inspect.CO_VARKEYWORDS)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_keyword and kwargs:
            kwargs = old_keywords(function, kwargs) or kwargs
        try:
            return function(*args, **kwargs)
        except raw as error:
            if kwargs and isinstance(error, TypeError) and "keyword" in str(error):
                renamed = old_keywords(function, kwargs)
                if renamed is not None:
                    return call(*args, **renamed)
            found = refused(function, args, kwargs)
            if found is None:
                raise
            raise found from error

    return at_home(call, function)


def _renamed(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    from linkwright.base.aliases import renamed_keywords

    return renamed_keywords(function, given)


class FixedError(InputError, AttributeError):
    """An attempt to change what cannot be changed."""


def fixed(cls: type[Made]) -> type[Made]:
    """Let a frozen dataclass say in our words that it cannot be changed."""

    def refuse(self: object, name: str, value: object = None) -> None:
        raise FixedError(
            f"{name!r} of {self!r} cannot be changed",
            remedy="give it where the part is made, and numbers as values of parameters",
        )

    for method in ("__setattr__", "__delattr__"):
        setattr(cls, method, refuse)
    return cls


def at_home(call: Callable[..., Any], function: Function) -> Function:
    """Return a wrapper as a function of the wrapped one's module, so that tools find it there."""
    assert isinstance(call, types.FunctionType)
    own = getattr(function, "__globals__", call.__globals__)
    made = types.FunctionType(call.__code__, own, call.__name__, None, call.__closure__)
    made.__kwdefaults__ = call.__kwdefaults__
    functools.update_wrapper(made, function)
    return cast(Function, made)


def refusal(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> InputError | TypeError | None:
    """Return the error for the first argument that does not fit its annotation; None if all do."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        hints = get_type_hints(function, localns=_Names(function.__globals__))
    except TypeError as error:
        return _unknown_keyword(function, kwargs, error)
    except NameError:
        return None
    for name, value in bound.arguments.items():
        kind = inspect.signature(function).parameters[name].kind
        several = kind is inspect.Parameter.VAR_POSITIONAL
        for one in value if several else (value,):
            if kind is inspect.Parameter.VAR_KEYWORD or name not in hints:
                continue
            if not fits(one, hints[name]):
                return InputError(
                    f"{name} of {function.__name__} is {brief(one)}, which is not "
                    f"{' or '.join(dict.fromkeys(_words(hints[name])))}"
                )
    return None


def _unknown_keyword(
    function: Callable[..., Any], kwargs: Mapping[str, Any], error: TypeError
) -> TypeError | None:
    """Return an error that says what an unknown keyword is called; None where Python's is good."""
    from linkwright.base.peers import KEYWORDS, peer

    known = list(inspect.signature(function).parameters)
    strange = next((name for name in kwargs if name not in known), None)
    if strange is None or "keyword" not in str(error):
        return None
    ours = peer(strange, KEYWORDS)
    near = ours if ours in known else nearest(strange, known)
    hint = f"; did you mean {near!r}?" if near else f"; it has {', '.join(known)}"
    return TypeError(f"{function.__name__}() has no argument {strange!r}{hint}")


class _Names(dict[str, Any]):
    """Names in annotations that are imported for type checkers alone."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        super().__init__()
        self.own = own

    def __missing__(self, name: str) -> Any:
        if name in self.own or hasattr(builtins, name):
            raise KeyError(name)
        from linkwright.base.hooks import public_name

        try:
            return public_name(name)
        except AttributeError:
            return Any


def fits(value: object, hint: Any) -> bool:
    """Whether a value may stand for an annotation; its members are not looked at.

    >>> fits(3, float), fits("3", float | None), fits("abc", list[str])
    (True, False, False)
    """
    if _of_arrays(hint):
        return _is_array(value) if value is not None else type(None) in get_args(hint)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    kind = origin or hint
    if kind is None:
        return value is None
    if kind is Any or not isinstance(kind, type):
        return True  # Any, type variables
    if kind in (float, int):
        number = hasattr(value, "__float__" if kind is float else "__index__")
        return number and not isinstance(value, bool)
    try:
        if kind is not str and isinstance(value, str):
            return kind is object or (kind not in _HOLDERS and isinstance(value, kind))
        return isinstance(value, kind)
    except TypeError:  # a protocol that cannot be asked
        return True


def _of_arrays(hint: Any) -> bool:
    from numpy.typing import ArrayLike

    return hint in (ArrayLike, Union[ArrayLike, None])  # noqa: UP007 - what | makes differs


def _is_array(value: Any) -> bool:
    import numpy as np

    try:
        np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return True


def _words(hint: Any) -> Iterator[str]:
    if _of_arrays(hint):
        yield "an array of numbers"
        return
    if get_origin(hint) in (Union, types.UnionType):
        for one in get_args(hint):
            yield from _words(one)
        return
    if get_origin(hint) is Literal:
        yield from (repr(one) for one in get_args(hint))
        return
    kind = get_origin(hint) or hint
    named = getattr(kind, "__name__", str(kind))
    yield _WORDS.get(kind, f"{'an' if named[:1] in 'AEIOU' else 'a'} {named}")
