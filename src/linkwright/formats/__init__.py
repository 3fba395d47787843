"""Files of mechanisms: text models in TOML, read and written (`linkwright.formats.text`).

A reader of another format is a module here with a function from a path to a Mechanism, and one line
in `linkwright.models.READERS`.
"""
