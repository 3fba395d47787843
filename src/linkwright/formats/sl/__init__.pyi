from linkwright.formats.sl.configuration import Configuration as Configuration
from linkwright.formats.sl.reader import (
    SlRobot as SlRobot,
    Vertex as Vertex,
    read_dyn as read_dyn,
    read_sl as read_sl,
)
from linkwright.formats.sl.writer import (
    configuration_texts as configuration_texts,
    dyn_text as dyn_text,
)
