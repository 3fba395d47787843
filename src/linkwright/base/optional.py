"""Packages that are only there with an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from linkwright.base.errors import Error

EXTRAS = {
    "plot": "pictures, tables of pandas, recordings in Parquet and MCAP",
    "studio": "the studio: motion, sliders and a scope in the browser",
    "video": "videos of motions, as their pages show them",
    "lab": "history in consoles, robots that walk in a laboratory",
    "cell": "cells that serve arms over a network",
    "mounts": "satellites and the sky over antenna mounts",
    "learning": "environments of Gymnasium, searches for parameters",
    "analysis": "bridges to SymPy and python-control, proofs by intervals, convex programs, "
    "optimal motions",
    "cluster": "sweeps on many machines",
}
"""The extras that install something, and what each adds."""


def extra(module: str, name: str) -> Any:
    """Return a module that belongs to an extra, or say how to install it.

    >>> extra("json", "plot").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise Error(
            f"this needs the package {package}, which is not installed",
            remedy=f"pip install 'linkwright[{name}]'",
        ) from None
