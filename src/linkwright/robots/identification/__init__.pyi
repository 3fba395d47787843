from linkwright.robots.identification.drives import (
    fit_drive as fit_drive,
)
from linkwright.robots.identification.estimation import (
    estimate as estimate,
    with_estimate as with_estimate,
)
from linkwright.robots.identification.excitation import excite as excite
