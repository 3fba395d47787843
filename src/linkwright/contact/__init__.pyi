from linkwright.contact.characteristic_polynomials import (
    characteristic as characteristic,
)
from linkwright.contact.element_loops import element_system as element_system
from linkwright.contact.parameter_maps import (
    contact_map as contact_map,
)
from linkwright.contact.wrist_files import read_wrist as read_wrist
from linkwright.contact.wrist_loops import WristLoop as WristLoop
