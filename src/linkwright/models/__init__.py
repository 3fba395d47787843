"""The models that come with Linkwright, and the way to a model by its name or file.

A model is a function that returns a Mechanism; its keyword arguments are the structural options
of the model's name (`n-four-bar:n=40`). To add one, write a file here and one line in `MODELS`.
"""

from linkwright.models.library import MODELS, READERS, Model, load_model, option_texts

__all__ = ["MODELS", "READERS", "Model", "load_model", "option_texts"]
