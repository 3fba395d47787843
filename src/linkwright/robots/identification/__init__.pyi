from linkwright.robots.identification.balances import FrictionCurve as FrictionCurve
from linkwright.robots.identification.drives import (
    DriveFit as DriveFit,
    Validation as Validation,
    fit_drive as fit_drive,
)
from linkwright.robots.identification.estimation import (
    BaseEstimate as BaseEstimate,
    Estimate as Estimate,
    estimate as estimate,
    with_estimate as with_estimate,
)
from linkwright.robots.identification.excitation import Excitation as Excitation, excite as excite
from linkwright.robots.identification.likelihood import (
    FittedParameter as FittedParameter,
    SystemFit as SystemFit,
)
