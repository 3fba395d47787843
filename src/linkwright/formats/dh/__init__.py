"""Tables of Denavit and Hartenberg's parameters in TOML: `read_dh` and `dh_text`."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
