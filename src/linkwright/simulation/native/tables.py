"""The memory that native code and Python share: fields of arrays, and why a call comes back.

`linkwright.simulation.native.driver` says what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.simulation.loop import (
    DONE as DONE,
    ENDLESS as ENDLESS,
    FOREIGN as FOREIGN,
    GUARDED as GUARDED,
    LOGGED as LOGGED,
    MORE as MORE,
    NOT_FINITE as NOT_FINITE,
    ROWS as ROWS,
    TERMINAL as TERMINAL,
    TOO_MANY as TOO_MANY,
    TOO_SMALL as TOO_SMALL,
    WHICH as WHICH,
)
from linkwright.simulation.native.fields import fields

RUN = "run_blocks"
PREPARE = "prepare_blocks"
HOLD = "hold_results"
STAGED = "take_staged"
CONSTANTS = fields("fn", "at")
CONFIG = fields(
    ["states", "discretes", "channels", "events", "tick_count", "until", "every", "row_count"],
    ["log_rows", "budget", "tick_seconds", "end", "step_size", "smallest", "most", "often"],
    ["step_fn", "slope_fn", "first_fn", "accepted_fn", "output_fn", "events_fn"],
    ["dense_fn", "curve_fn"],
    ["turns_fn", "terms_fn", "breaks_fn", "middle_fn", "calm_fn", "look_fn", "followed", "memory"],
    ["tick_table", "event_table", "arena", "arena_stride", "whole", "whole_stride"],
    ["samples", "samples_stride", "log"],
    [
        "x_at",
        "d_at",
        "w_at",
        "t_at",
        "h_at",
        "number_at",
        "n_at",
        "o_at",
        "y_at",
        "z_at",
        "z_new_at",
    ],
    [
        "f_at",
        "y_f_at",
        "e_at",
        "r_at",
        "curve_at",
        "fit_at",
        "c_at",
        "b_at",
        "g_at",
        "g_new_at",
        "theta_at",
    ],
    ["s_at", "proposed_at", "stop_at", "seed_at", "run_number_at", "count_at", "first_at"],
    ["steps_taken_at", "why_at", "g_mid_at", "turn_at", "turn_new_at", "top_at", "top_new_at"],
    ["change_at", "calm_at", "m_at", "m_new_at", "hit_at", "verdict_at"],
    ["fired_at", "stale_at", "ahead_at", "pace_at", "p_turns_at", "p_terms_at", "p_breaks_at"],
    ["p_step_at", "p_accepted_at", "p_output_at", "p_events_at", "p_at"],
    ["constants", "constant_count", "p_size"],
)
WHOLE = fields(
    ["k", "start", "target", "in_gap", "j", "grid", "cursor", "sample", "row"],
    ["status", "detail", "steps", "rejected", "slope_known", "events_known", "watched", "logged"],
)
TICK = fields(
    ["fn", "every", "runs", "run_list", "streams", "stream_list", "foreign", "p_at"],
    ["choice", "functions", "function_count", "arguments", "results"],
)
FUNCTION = fields("fn", "context")
STAGE = fields("source", "target", "count")
EVENT = fields("direction", "terminal", "action_fn", "p_at", "guard")
LOG = fields("event", "start", "s")


@dataclass(frozen=True, slots=True)
class Variant:
    """Which driver is written."""

    width: int
    adaptive: bool
    dense: bool = False
    implicit: bool = False
    lanes: bool = False  # whether it is one lane of a batch, of width 1
