"""The models that come with Linkwright, and the way to a model by its name or file.

A model is a text model in the folder `text`, or a function that returns a Mechanism; the text's
`[options]`, or the function's keyword arguments, are the structural options of the model's name
(`n-four-bar:n=40`). To add one, write a file here and one line in `MODELS`.

`runner` runs one of them and records it, `rerun` repeats a recorded
run; neither imports what derives equations where the run is known already.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
