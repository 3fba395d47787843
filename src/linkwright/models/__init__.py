"""The models that come with Linkwright, and the way to a model by its name or file.

A model is a text model in the folder `text`, or a function that returns a Mechanism; the text's
`[options]`, or the function's keyword arguments, are the structural options of the model's name
(`n-four-bar:n=40`). To add one, write a file here and one line in `MODELS`.
"""

from linkwright.models.library import (
    MODELS,
    LibraryModel,
    load_model,
    opened,
    option_texts,
)

__all__ = ["MODELS", "LibraryModel", "load_model", "opened", "option_texts"]
