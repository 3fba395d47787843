from linkwright.linear.frequency import (
    compliance as compliance,
    cut_loop as cut_loop,
    frequency_response as frequency_response,
)
from linkwright.linear.gains import (
    best_gains as best_gains,
    gains_at as gains_at,
    propose_gains as propose_gains,
)
from linkwright.linear.limit_cycle_maps import (
    limit_cycle_map as limit_cycle_map,
)
from linkwright.linear.limit_cycles import (
    harmonic_balance as harmonic_balance,
    limit_cycles as limit_cycles,
)
from linkwright.linear.linearization import (
    linearize_along as linearize_along,
)
from linkwright.linear.modes import (
    modes as modes,
)
from linkwright.linear.relays import (
    relay_experiment as relay_experiment,
)
from linkwright.linear.responses import (
    FrequencyResponse as FrequencyResponse,
)
from linkwright.linear.second_order import (
    second_order as second_order,
)
from linkwright.linear.swept_sine import (
    swept_sine as swept_sine,
)
from linkwright.linear.tuning import (
    measure_margins as measure_margins,
    measure_response as measure_response,
    open_loop as open_loop,
    step_measures as step_measures,
)
