from linkwright.contact.characteristic_polynomials import (
    CharacteristicPolynomial as CharacteristicPolynomial,
    RouthCondition as RouthCondition,
    characteristic as characteristic,
    routh_conditions as routh_conditions,
)
from linkwright.contact.element_loops import element_system as element_system
from linkwright.contact.parameter_maps import (
    ContactMap as ContactMap,
    contact_map as contact_map,
)
from linkwright.contact.simulated_loops import (
    loop_system as loop_system,
    simulated_verdicts as simulated_verdicts,
)
from linkwright.contact.wrist_files import WristFile as WristFile, read_wrist as read_wrist
from linkwright.contact.wrist_loops import VERDICTS as VERDICTS, WristLoop as WristLoop
