"""The models that come with Linkwright, and the way to a model by its name or file.

A model is a text model in the folder `text`, or a function that returns a Mechanism; the text's
`[options]`, or the function's keyword arguments, are the structural options of the model's name
(`n-four-bar:n=40`). To add one, write a file here and one line in `MODELS`.

`runner` runs one of them and records it, `rerun` repeats a recorded
run; neither imports what derives equations where the run is known already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.models.library import (
        MODELS as MODELS,
        LibraryModel as LibraryModel,
        load_model as load_model,
        opened as opened,
        option_texts as option_texts,
    )

__all__ = ["MODELS", "LibraryModel", "load_model", "opened", "option_texts"]

_HOMES = {".library": __all__}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)
