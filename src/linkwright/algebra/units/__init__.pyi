from linkwright.algebra.units.amounts import (
    Amount as Amount,
    amount as amount,
    amounts as amounts,
    by_name as by_name,
    span as span,
)
from linkwright.algebra.units.display import unit_text as unit_text
from linkwright.algebra.units.inference import (
    check_units as check_units,
    deduce_units as deduce_units,
    unit_of as unit_of,
)
from linkwright.algebra.units.parse import checked_unit as checked_unit, parse_unit as parse_unit
from linkwright.algebra.units.systems import (
    IN_LB as IN_LB,
    MKS as MKS,
    SYSTEMS as SYSTEMS,
    UnitSystem as UnitSystem,
    unit_system as unit_system,
)
from linkwright.algebra.units.unit import DIMENSIONS as DIMENSIONS, Unit as Unit
