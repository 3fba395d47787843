"""SL: `.dyn` files in Mathematica's braces, and the configuration files beside them.

After the manual of the SL package (Schaal, The SL simulation and real-time control software
package, sections 5.6 and 7.1). `read_sl` reads a robot with its configuration, `read_dyn` only
what a `Description` holds, `dyn_text` and `configuration_texts` write.
"""

from linkwright.formats.sl.configuration import Configuration
from linkwright.formats.sl.reader import SlRobot, Vertex, read_dyn, read_sl
from linkwright.formats.sl.writer import configuration_texts, dyn_text

__all__ = [
    "Configuration",
    "SlRobot",
    "Vertex",
    "configuration_texts",
    "dyn_text",
    "read_dyn",
    "read_sl",
]
