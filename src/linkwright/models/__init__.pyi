from linkwright.models.library import (
    MODELS as MODELS,
    LibraryModel as LibraryModel,
    load_model as load_model,
    opened as opened,
    option_texts as option_texts,
)
