from linkwright.wholebody.balance import (
    capture_point as capture_point,
    center_of_pressure as center_of_pressure,
    support_margin as support_margin,
)
from linkwright.wholebody.contact_dynamics import contact_dynamics as contact_dynamics
from linkwright.wholebody.contacts import FlatContact as FlatContact
from linkwright.wholebody.controller import Controller as Controller
from linkwright.wholebody.tasks import center_of_mass as center_of_mass
