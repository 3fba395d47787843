from linkwright.linear.describing_functions import (
    DESCRIBING_FUNCTIONS as DESCRIBING_FUNCTIONS,
    backlash_gain as backlash_gain,
    dead_zone_gain as dead_zone_gain,
    dry_friction_gain as dry_friction_gain,
    quantizer_gain as quantizer_gain,
    saturation_gain as saturation_gain,
)
from linkwright.linear.frequency import (
    Margins as Margins,
    OpenLoop as OpenLoop,
    compliance as compliance,
    cut_loop as cut_loop,
    frequency_response as frequency_response,
)
from linkwright.linear.gains import (
    ProposedGains as ProposedGains,
    best_gains as best_gains,
    gains_at as gains_at,
    propose_gains as propose_gains,
)
from linkwright.linear.limit_cycle_maps import (
    LimitCycleMap as LimitCycleMap,
    limit_cycle_map as limit_cycle_map,
)
from linkwright.linear.limit_cycles import (
    HarmonicBalance as HarmonicBalance,
    LimitCycle as LimitCycle,
    harmonic_balance as harmonic_balance,
    limit_cycles as limit_cycles,
)
from linkwright.linear.linearization import (
    LinearModel as LinearModel,
    linearize as linearize,
    linearize_along as linearize_along,
)
from linkwright.linear.modes import (
    Mode as Mode,
    modes as modes,
)
from linkwright.linear.relays import (
    RelayRun as RelayRun,
    relay_experiment as relay_experiment,
)
from linkwright.linear.responses import (
    FrequencyResponse as FrequencyResponse,
)
from linkwright.linear.second_order import (
    SecondOrderModel as SecondOrderModel,
    second_order as second_order,
)
from linkwright.linear.swept_sine import (
    swept_sine as swept_sine,
)
from linkwright.linear.tuning import (
    StepMeasures as StepMeasures,
    UltimatePoint as UltimatePoint,
    fit_sine as fit_sine,
    measure_margins as measure_margins,
    measure_response as measure_response,
    open_loop as open_loop,
    step_measures as step_measures,
    ultimate_point as ultimate_point,
)
