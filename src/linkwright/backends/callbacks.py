"""Python functions that native code calls, and what becomes of an exception in one.

An exception cannot pass through machine code. It is noted for the thread, the native code gets nan
from this function and all others until it returns, and `guarded` raises what was noted. So an error
of a function, a wrong number of values and Ctrl-C all come out of the call that led there.

A signal handler of Python may run at any moment between two instructions of Python, so also in a
callback before it could catch anything. While native code runs that calls Python, what handlers
raise is therefore noted too, unless a function of the user is at work, which it interrupts.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwright.algebra.foreign import ForeignFunction

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NAN = float("nan")


class _Noted(threading.local):
    """What was raised below native code on this thread, and whether a user's function is at work.

    In a callback nothing stands between catching an exception and setting `inside` to False at
    which Python would look for signals.
    """

    error: BaseException | None = None
    inside: bool = False


_noted = _Noted()
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}


def callback(function: ForeignFunction) -> Any:
    """Return a C function pointer that calls the Python callable of a foreign function.

    It takes the interpreter lock for each call. Native code that may call it goes through
    `guarded`, which raises what the callable raises.
    """
    noted, numbers = _noted, function.numbers

    def results(*args: float) -> list[float] | None:
        if noted.error is not None:
            return None
        try:
            noted.inside = True
            found = numbers(*args)
            noted.inside = False
        except BaseException as error:
            noted.inside = False
            noted.error = error
            return None
        return found

    if function.outputs == 1:

        def single(*args: float) -> float:
            found = results(*args)
            return _NAN if found is None else found[0]

        return ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * function.arity)(single)

    def several(*args: Any) -> None:
        *values, out = args
        found = results(*values)
        for k in range(function.outputs):
            out[k] = _NAN if found is None else found[k]

    return ctypes.CFUNCTYPE(
        None, *[ctypes.c_double] * function.arity, ctypes.POINTER(ctypes.c_double)
    )(several)


def in_place(function: Callable[[], object]) -> Any:
    """Return a C function pointer that calls a Python function on memory both know.

    It takes three addresses, which it does not need, and returns 0, or 1 where the function failed;
    `guarded` raises what it failed by.
    """
    noted = _noted

    def call(_context: int, _t: int, _o: int) -> int:
        if noted.error is not None:
            return 1
        try:
            noted.inside = True
            function()
            noted.inside = False
        except BaseException as error:
            noted.inside = False
            noted.error = error
            return 1
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(call)


def guarded(native: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls native code and raises what Python functions below it raise."""
    noted = _noted

    def call(*args: Any, **options: Any) -> Any:
        inside, noted.inside = noted.inside, False
        replaced: list[signal.Signals] = []
        try:
            if threading.current_thread() is threading.main_thread():
                _replace_handlers(replaced)
            return native(*args, **options)
        finally:
            for number in replaced:
                signal.signal(number, _handlers.pop(number))
            error, noted.error = noted.error, None
            noted.inside = inside
            if error is not None:
                raise error

    call.__name__ = call.__qualname__ = getattr(native, "__name__", "kernel")
    call.__doc__ = native.__doc__
    return call


def _replace_handlers(replaced: list[signal.Signals]) -> None:
    """Let signals be noted; in a call within a call they are already."""
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler) and number not in _handlers:
            _handlers[number] = handler
            replaced.append(number)
            signal.signal(number, _handle)


def _handle(number: int, frame: FrameType | None) -> None:
    try:
        _handlers[number](number, frame)
    except BaseException as error:
        if _noted.inside:
            raise
        _noted.error = _noted.error or error
