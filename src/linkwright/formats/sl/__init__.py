"""SL: `.dyn` files in Mathematica's braces, and the configuration files beside them.

After the manual of the SL package (Schaal, The SL simulation and real-time control software
package, sections 5.6 and 7.1). `read_sl` reads a robot with its configuration, `read_dyn` only
what a `Description` holds, `dyn_text` and `configuration_texts` write.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
