"""What operations of other libraries share: a kernel's Program, and the leading axes of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright.base.errors import Error, ShapeError
from linkwright.program import Program


def kernel_program(kernel: Any) -> tuple[Program, Any]:
    """Return the Program of a kernel or a quantity, and its usual parameters where it has some."""
    made = kernel if isinstance(kernel, Program) else getattr(kernel, "program", None)
    if not isinstance(made, Program):
        raise Error(f"{kernel!r} has no Program", remedy="give robot.forward_dynamics, or a kernel")
    return made, getattr(kernel, "_usual", None)


def leading_axes(
    inputs: Sequence[tuple[str, tuple[int, ...]]], given: Sequence[Any]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return the leading axes of arrays before the shapes of inputs: of each, and of all.

    >>> import numpy as np
    >>> leading_axes([("q", (2,)), ("m", ())], [np.zeros((5, 2)), np.zeros(())])
    ([(5,), ()], (5,))
    """
    leads = []
    for x, (name, shape) in zip(given, inputs, strict=True):
        lead = tuple(x.shape[: x.ndim - len(shape)])
        if x.ndim < len(shape) or tuple(x.shape[len(lead) :]) != shape:
            wanted = " x ".join(map(str, shape)) or "a number"
            raise ShapeError(f"{name} has the shape {tuple(x.shape)}", remedy=f"{wanted} last")
        leads.append(lead)
    whole = {lead for lead in leads if lead}
    if len(whole) > 1:
        raise ShapeError(f"the leading axes do not fit together ({sorted(whole)})")
    return leads, whole.pop() if whole else ()
