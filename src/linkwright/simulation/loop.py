"""The loop of a run, for every target: ticks, samples, steps, events.

It goes through one *block* of runs, a run in each lane, from where it stands to the end tick, and
comes back earlier where there is something to do outside: a foreign function is due, the room for
samples is used up, enough steps were done. All that changes is in the memory of the block, so that
calling it again goes on as if it had never come back.

Time is `start` base ticks plus `s` seconds inside the gap between two things that are due; gaps end
at whole ticks, so that no error adds up. Only the end of a run may lie between two ticks: its last
tick is then cut short, and nothing but a sample is due there.

Fixed steps divide a gap evenly. Adaptive steps have their own size in each lane; a lane that has
reached the end of the gap waits with a step of zero. In each lane events are followed over the
whole step, which is tried again in parts until it ends at the first crossing
(`linkwright.simulation.native.guards`); values that jump through zero at a tick or by an action are
events too. In a single run samples inside an adaptive step are interpolated; in a batch gaps end
at samples.

The functions are a routine (`linkwright.program.routine`): Python runs them as they stand, native
code and C are made of them. A run has `single` (one lane), `adaptive`, `dense` (samples are
interpolated) and `implicit`, known before it begins. This module needs nothing but the standard
library, because written Python programs contain its text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

Numbers = list[float]
Functions = Mapping[str, Callable[..., tuple[Numbers, ...]]]
Lanes = float
Mask = bool
Word = int
Array = Numbers

DONE, MORE, ROWS, FOREIGN, NOT_FINITE, TERMINAL, LOGGED, TOO_SMALL, GUARDED, ENDLESS = range(1, 11)
TOO_MANY = 11
"""Why a call comes back, or a run has ended."""
WHICH = 16.0
"""By how much the reason of a lane of a batch is more for each event, the first one included."""
INFINITY = math.inf
NEVER = 1e300
"""A change that is not known, a size that nothing limits."""
NOISE = 1e-13
"""How small an event is zero within rounding, relative to the largest that it was."""
PATIENCE = 10_000
"""How often a step is tried from one state at most."""
STRETCH = 1.01
"""How much longer than proposed a step may be, to end where something is due."""
SMALLEST = 4e-15
"""How short a step is given up, relative to the second after the time that is reached."""
CRAWL = 1e10
"""A run crawls where it goes at a pace that takes so many steps to the end."""
INSTANT = 1e-15
"""How near two times are the same within rounding, relative to them."""
MARK = 1e-20
"""How far from zero an event is kept, relative to that, which is on one side of it by its past."""
FAINT = 1e-100
"""The size of an event that has had none yet."""
NEAR, LEAST = 1.5e-14, 1e-15
"""How far inside of a step its ends are looked at: of the time, and in s."""
WITHIN = 0.999
"""Up to which part of a step a sample lies inside, so that its error counts."""
LOW, HIGH, TRIES, WANTED, FULL, STAGE, HOVERS, MEMORY = range(8)
"""Places in the memory of a run that follows events, before what is kept of each of them."""
KEPT = 4
"""What is kept of each: its values at a bracket's ends, how fast it came to zero just now, and how
large it may be there by rounding."""
HALF_WORD = 0xFFFFFFFF


# -- the run ---------------------------------------------------------------------------------------
def go(run: RunMemory) -> None:
    """Go on until there is something to do outside."""
    while True:
        if run.tick_count != 0 and not (run.k >= run.until and run.end < INFINITY):
            run_ticks(run)
        if run.in_gap == 0:
            run.start = run.k
            run.s = 0.0
            run.t = seconds(run, run.k)
            know_events(run)
        if run.every != 0 and run.sample == run.k:
            run.t = seconds(run, run.k)
            record(run, run.x)
        if run.k >= run.until:
            raise Leave(DONE)
        if not run.single and not some(going(run)):
            raise Leave(DONE)
        if run.left <= 0:
            raise Leave(MORE)
        if run.in_gap == 0:
            open_gap(run)
        go_through(run)
        run.k = run.target
        run.in_gap = 0
        run.cursor = 0


def seconds(run: RunMemory, tick: int) -> float:
    """Return the time of a tick, s; that of the last one is the end of the run."""
    t = tick * run.tick_seconds
    return t if t < run.end else run.end


def gap(run: RunMemory) -> float:
    """Return the length of the gap between two things that are due, s."""
    span = (run.target - run.start) * run.tick_seconds
    rest = run.end - run.start * run.tick_seconds
    return span if span < rest else rest


def open_gap(run: RunMemory) -> None:
    """Find what is due next, and divide the way there into steps."""
    target = run.until
    for i in range(run.tick_count):
        target = min(target, run.due[i])
    if not run.dense and run.every != 0:
        target = min(target, run.sample)
    run.target = target
    run.in_gap = 1
    run.j = 0
    if not run.adaptive:
        parts = ceil(gap(run) / run.step_size - 1e-9)
        run.grid = max(parts, 1)


def record(run: RunMemory, x: Array) -> None:
    """Keep a sample at the time that is set."""
    if run.row >= run.row_count:
        raise Leave(ROWS)
    keep_sample(run, x)
    run.row += 1
    following = run.sample + run.every
    last = following > run.until and run.sample < run.until and run.end < INFINITY
    run.sample = run.until if last else following


# -- what happens at ticks -------------------------------------------------------------------------
def run_ticks(run: RunMemory) -> None:
    """Run what is due at tick k, in order."""
    while run.cursor < run.tick_count:
        i = run.cursor
        if run.due[i] == run.k:
            run_tick(run, i)
        run.cursor = i + 1


def run_tick(run: RunMemory, i: int) -> None:
    """Run what is due, and write its results into their slots."""
    tick = run.ticks[i]
    run.number = float(run.k)
    run.t = run.k * run.tick_seconds
    for j in range(tick.stream_count):
        draw(run, tick.streams[j], run.k, 2 * j)
    evaluate(run, "tick", (run.x, run.d, run.w, run.t, run.number, run.n), (run.o,), i)
    if tick.foreign != 0:
        left = call_function(run, i)
        if left != 0:
            raise Leave(FOREIGN, i)
    for j in range(tick.run_count):
        side = tick.runs[j]
        shift(run.d, side.slot, run.o, side.first, side.length, going(run))
    run.due[i] += tick.every
    run.slope_known = 0
    run.events_known = 0


def draw(run: RunMemory, stream: Word, tick: Word, place: int) -> None:
    """Draw the two numbers of a stream at a tick, uniform in (0, 1), each with 52 random bits.

    Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, SC 2011): they are a function of the
    seed, the stream, the run and the tick, and of nothing that happened before.
    """
    a = tick & HALF_WORD
    b = tick >> 32
    c = stream & HALF_WORD
    d = run.run_number & HALF_WORD
    first = run.seed & HALF_WORD
    second = run.seed >> 32
    for _ in range(10):  # rounds
        low = 0xD2511F53 * a
        high = 0xCD9E8D57 * c
        a = (high >> 32) ^ b ^ first
        b = high & HALF_WORD
        c = (low >> 32) ^ d ^ second
        d = low & HALF_WORD
        first = (first + 0x9E3779B9) & HALF_WORD
        second = (second + 0xBB67AE85) & HALF_WORD
    run.n[place] = (float((a << 20) | (b >> 12)) + 0.5) * 2.220446049250313e-16
    run.n[place + 1] = (float((c << 20) | (d >> 12)) + 0.5) * 2.220446049250313e-16


# -- lanes -----------------------------------------------------------------------------------------
def going(run: RunMemory) -> Mask:
    """Return which runs of a batch go on."""
    return True if run.single else run.stop == INFINITY


def end_lanes(run: RunMemory, lanes: Mask, t: Lanes, why: Lanes) -> None:
    """End the runs of some lanes of a batch at a time, for a reason."""
    run.stop = t if lanes else run.stop
    run.why = why if lanes else run.why


def forget(run: RunMemory, lanes: Mask) -> None:
    """Let slopes and events be computed anew in some lanes."""
    run.slope_known = 0
    if run.single:
        run.events_known = 0
    else:
        run.stale = 1.0 if lanes else run.stale
        run.events_known = 2 if run.events_known != 0 else 0


# -- steps -----------------------------------------------------------------------------------------
def go_through(run: RunMemory) -> None:
    """Go through the gap; a lane that has come to its end, or to a point of the grid, waits."""
    span = gap(run)
    size = span if run.adaptive else span / run.grid
    run.uncut = True if run.adaptive else run.s == grid_point(run, run.j, span)
    while True:
        goal = span if run.adaptive else grid_point(run, run.j + 1, span)
        while some(run.s < goal and going(run)):
            try_step(run, goal, size)
            if run.left <= 0:
                raise Leave(MORE)
        if run.adaptive:
            return
        run.j += 1
        run.uncut = True
        if run.j >= run.grid:
            return


def grid_point(run: RunMemory, j: int, span: float) -> float:
    """Return a point of the grid of fixed steps, s after the gap's begin."""
    return j / run.grid * span


def try_step(run: RunMemory, goal: float, size: float) -> None:
    """Try a step in all lanes that have not reached a goal, and take it where it is good."""
    begin = run.start * run.tick_seconds
    s: Lanes = run.s
    active = s < goal and going(run)
    t = begin + s
    run.t = t
    know_events(run)
    rest = goal - s

    # how far: a part that was asked for, up to a change, or as long as the error allows
    h: Lanes = size
    last: Mask = True
    hop: Lanes = 0.0  # how far it is over a change, s
    if run.adaptive:
        know_slope(run)
        last = run.proposed * STRETCH >= rest
        h = rest if last else run.proposed
    elif rarely(some(not run.uncut)):
        h = h if run.uncut else rest
    if run.followed != 0:
        asked = run.m[WANTED]
        trying = asked > 0.0
        whole = asked >= rest
        part = rest if whole else asked
        h = part if trying else h
        last = whole if trying else last
    if run.adaptive and has(run, "breaks"):
        evaluate(run, "breaks", (run.x, run.d, run.w, run.t), (run.ahead,))
        near = run.ahead[0] < h
        hop = run.ahead[1] if near else 0.0
        h = run.ahead[0] if near else h
        last = last and not near
    if not run.single:
        h = h if active else 0.0
    run.h = h
    run.fitted = 0

    # there, and whether it counts
    if run.adaptive:
        evaluate(
            run,
            "step",
            (run.x, run.d, run.w, run.t, run.h, run.f, run.c, run.b),
            (run.y, run.y_f, run.e, run.r),
        )
        run.taken = control(run, t, h, active, last) and active
        if not some(run.taken):
            refuse(run, t, active)
            return
    else:
        evaluate(run, "step", (run.x, run.d, run.w, run.t, run.h), (run.y,))
        run.taken = active
        require_finite(run)
    reached: Lanes = goal
    if run.adaptive:
        reached = goal if last else s + h
        behind = reached + hop
        reached = behind if behind < goal else goal
        if run.dense:
            run.taken = fits(run, begin, s, reached, h, last) and run.taken
            if not some(run.taken):
                refuse(run, t, active)
                return
    elif rarely(some(not last)):
        reached = goal if last else s + h
    due = seconds(run, run.target)
    due = due if run.adaptive or run.j + 1 == run.grid else begin + goal
    follow(run, t, h, due if last else begin + (s + h))
    if run.looked != 0:
        run.rejected += 0 if some(run.taken) else 1
    if not some(run.taken):
        refuse(run, t, active)
        return

    # from here on the step counts; a call that came back before would repeat it
    if run.dense:
        record_inside(run, begin, s, reached, h)
    reached = go_behind(run, reached, goal)
    run.t = begin + reached
    if run.adaptive:
        propose(run, h, last, hop)
        copy(run.f, run.y_f, run.states, run.taken)
    copy(run.x, run.y, run.states, run.taken)
    run.s = reached if run.taken else s
    accept(run)
    if run.adaptive:
        crossed = hop > 0.0 and run.taken
        if some(crossed):
            forget(run, crossed)
    run.steps += 1
    run.left -= 1
    run.refusals = 0
    stepped(run)
    if not run.adaptive:
        run.uncut = run.uncut and not run.taken
    happen(run)
    if run.adaptive and not run.single:
        end_crawling(run)


def require_finite(run: RunMemory) -> None:
    """End runs that take a step to a state that is not finite."""
    total: Lanes = 0.0
    for i in range(run.states):
        total = total + (run.y[i] - run.y[i])  # 0 but for what is not finite
    sound = total == 0.0
    if run.single:
        if not sound:
            raise Leave(NOT_FINITE)
    else:
        end_lanes(run, run.taken and not sound, run.t, NOT_FINITE)
        run.taken = run.taken and sound


def refuse(run: RunMemory, t: Lanes, active: Mask) -> None:
    """Try again, unless that was done so often that it would never come to an end."""
    run.refusals += 1
    if run.refusals > PATIENCE:
        give_up(run, active, t)


def give_up(run: RunMemory, lanes: Mask, t: Lanes) -> None:
    """End the runs of lanes in which no step is short enough."""
    if run.single:
        raise Leave(TOO_SMALL)
    end_lanes(run, lanes, t, TOO_SMALL)


def know_slope(run: RunMemory) -> None:
    """Evaluate the derivative at x, and the rates of events, where they are not known.

    The size of the first step is found, where none is given.
    """
    if run.slope_known == 0 and has(run, "slope"):
        slope(run, run.x, run.f)
        run.slope_known = 1
        if run.followed != 0:
            turns(run, run.x, run.f, run.turn)
    fresh = run.proposed == 0.0
    if some(fresh):
        evaluate(run, "first", (run.x, run.d, run.w, run.t, run.c), (run.e,))
        run.proposed = run.e[0] if fresh else run.proposed


def control(run: RunMemory, t: Lanes, h: Lanes, active: Mask, last: Mask) -> Mask:
    """Return in which lanes the error is small enough; let the others try shorter steps.

    A try around an event counts whatever its error is.
    """
    good = run.e[0] <= 1.0
    if run.followed != 0:
        good = good or run.m[STAGE] == 1.0
    bad = not good and active
    if some(bad):
        shrink = run.e[2]
        smaller = shrink if shrink < 1.0 else 0.1
        most: Lanes = 0.99 / STRETCH if last else 1.0
        smaller = smaller if smaller < most else most
        run.rejected += 1
        run.proposed = h * smaller if bad else run.proposed
        if run.followed != 0:  # what failed tries whole steps again
            run.m[TRIES] = 0.0 if bad else run.m[TRIES]
            run.m[WANTED] = 0.0 if bad else run.m[WANTED]
            run.m[FULL] = 0.0 if bad else run.m[FULL]
            run.m[STAGE] = 0.0 if bad else run.m[STAGE]
        # of a run that may last for weeks it is the time that is reached that counts
        near = (t + 1.0) * SMALLEST
        near = near if near < run.smallest else run.smallest
        stuck = bad and h <= near
        if some(stuck):
            give_up(run, stuck, t)
    return good


def propose(run: RunMemory, h: Lanes, last: Mask, hop: Lanes) -> None:
    """Propose the size of the next step.

    Where the step was cut at the end of the gap, at a change or at an event, the size that was
    proposed before is not forgotten.
    """
    longer = h * run.e[1]
    if run.dense and run.fitted != 0:
        most = h * run.fit[0]
        longer = longer if longer < most else most
    cut = last or hop > 0.0
    limit: Lanes = INFINITY
    if run.looked != 0:
        limit = run.verdict[1]
        cut = cut or run.verdict[2] > 0.0
    size = run.proposed if cut and run.proposed > longer else longer
    size = size if size < limit else limit
    run.proposed = size if run.taken else run.proposed
    run.b = run.e[0] if run.taken else run.b


def record_inside(run: RunMemory, begin: float, s: Lanes, reached: Lanes, h: Lanes) -> None:
    """Interpolate the samples that lie inside the step, those at its end left out."""
    if run.every != 0:
        while run.sample < run.target:
            at = (run.sample - run.start) * run.tick_seconds
            if not at < reached:
                break
            if run.fitted == 0 and has(run, "curve"):
                know_curve(run, begin + s)
            run.theta = (at - s) / h
            run.t = begin + at
            interpolate(run)
            if has(run, "accepted"):
                evaluate(run, "accepted", (run.z, run.d, run.w, run.t), (run.z_new, run.o))
                copy(run.z, run.z_new, run.states, True)
            record(run, run.z)


def fits(run: RunMemory, begin: float, s: Lanes, reached: Lanes, h: Lanes, last: Mask) -> Mask:
    """Return whether samples inside a step are as good as the step; else try a shorter one.

    At worst it ends at the first of them, or a little before. A try around an event counts
    whatever its error is.
    """
    good: Mask = True
    if run.every != 0 and has(run, "curve"):
        first = run.sample  # behind the start; a call that came back may have kept it already
        while (first - run.every - run.start) * run.tick_seconds > s:
            first -= run.every
        if not (first - run.start) * run.tick_seconds > s:
            first += run.every
        at = (first - run.start) * run.tick_seconds
        part = at - s
        inside = part < h * WITHIN and at < reached
        if run.followed != 0:
            inside = inside and run.m[WANTED] == 0.0
        if inside and first < run.target:
            know_curve(run, begin + s)
            if run.fit[0] < 0.9:
                good = False
                shorter = h * run.fit[0]
                shorter = shorter if shorter > part else part
                if last and shorter * STRETCH >= h:  # which would be stretched to this one again
                    shorter = h * (0.99 / STRETCH)
                run.proposed = shorter
                run.rejected += 1
    return good


def know_curve(run: RunMemory, t: Lanes) -> None:
    """Compute the coefficients of the interpolant of a step that began at a time.

    Those of dop853 take three more evaluations. They come with the factor by which a step may be
    longer for their error.
    """
    start = run.t
    run.t = t
    evaluate(
        run,
        "curve",
        (run.x, run.d, run.w, run.t, run.h, run.f, run.c, run.y, run.y_f, run.r),
        (run.curve, run.fit),
    )
    run.t = start
    run.fitted = 1


def interpolate(run: RunMemory) -> None:
    """Compute the state inside a step, at the part of it that is set."""
    if has(run, "curve"):
        evaluate(
            run,
            "dense",
            (run.x, run.y, run.f, run.y_f, run.curve, run.h, run.theta),
            (run.z,),
        )
    else:
        evaluate(
            run,
            "dense",
            (run.x, run.y, run.f, run.y_f, run.r, run.h, run.theta),
            (run.z,),
        )


def accept(run: RunMemory) -> None:
    """Run what runs after each accepted step, at the time that is set."""
    if has(run, "accepted"):
        evaluate(run, "accepted", (run.x, run.d, run.w, run.t), (run.y, run.o))
        change(run, run.taken)


def change(run: RunMemory, lanes: Mask) -> None:
    """Take over states that were computed anew."""
    copy(run.x, run.y, run.states, lanes)
    copy(run.d, run.o, run.discretes, lanes)
    forget(run, lanes)


def end_crawling(run: RunMemory) -> None:
    """End the runs of a batch that crawl, or have taken as many steps as a run may.

    Each lane takes its own steps alone; `linkwright.simulation.native.pace` says what crawls.
    """
    t = run.t
    run.steps_taken = run.steps_taken + (1.0 if run.taken else 0.0)
    done = run.steps_taken - run.pace[0]
    often = done >= run.often and run.taken
    many = run.steps_taken >= run.most and run.taken
    if some(often):
        mean = (t - run.pace[1]) / done
        rest = seconds(run, run.until) - t
        many = many or (often and mean * CRAWL < rest)
        run.pace[0] = run.steps_taken if often else run.pace[0]
        run.pace[1] = t if often else run.pace[1]
    ended = many and going(run)
    if some(ended):
        end_lanes(run, ended, t, TOO_MANY)


# -- events: values --------------------------------------------------------------------------------
def slope(run: RunMemory, x: Array, f: Array) -> None:
    """Evaluate the derivative at a state and at the time that is set."""
    evaluate(run, "slope", (x, run.d, run.w, run.t), (f,))


def events(run: RunMemory, x: Array, g: Array) -> None:
    """Evaluate all events at a state and at the time that is set."""
    evaluate(run, "events", (x, run.d, run.w, run.t), (g,))


def turns(run: RunMemory, x: Array, f: Array, r: Array) -> None:
    """Evaluate the rates of events at a state, given its rates."""
    if has(run, "turns"):
        evaluate(run, "turns", (x, run.d, run.w, run.t, f), (r,))


def middle(run: RunMemory, t: Lanes, h: Lanes) -> None:
    """Evaluate the events in the middle of the step."""
    evaluate(run, "middle", (run.x, run.y, run.f, run.y_f, run.h), (run.z,))
    run.t = t + h * 0.5
    events(run, run.z, run.g_mid)


# -- events: jumps ---------------------------------------------------------------------------------
def know_events(run: RunMemory) -> None:
    """Evaluate events at x where they are not known; what has jumped through zero happens.

    An event happens once at an instant: its own action does not let it happen again.
    """
    if run.followed != 0 and run.events_known != 1:
        run.finished = -1
        while run.events_known != 1:
            events(run, run.x, run.g_new)
            size_events(run)
            which = unknown_lanes(run)
            run.events_known = 1
            if run.watched != 0:
                for i in range(run.followed):
                    keep_side(run, i)
                    jumped = jumps(run, i) and which
                    if some(jumped):
                        happened(run, i, jumped)
            copy(run.g, run.g_new, run.followed, which)
            for i in range(run.followed):
                size = abs(run.g[i])
                run.top[i] = size if size > run.top[i] else run.top[i]
            run.watched = 1
        for i in range(run.followed):
            run.fired[i] = 0.0
        finish(run)


def unknown_lanes(run: RunMemory) -> Mask:
    """Return in which lanes events are not known, and let them be known."""
    if run.single:
        return True
    which = run.stale > 0.0
    if run.events_known == 0:
        which = True
    run.stale = 0.0
    return which and going(run)


def size_events(run: RunMemory) -> None:
    """Let events that have no size yet have that of their terms."""
    if has(run, "terms"):
        unsized: Mask = False
        for i in range(run.followed):
            unsized = unsized or run.top[i] <= FAINT
        if some(unsized):
            evaluate(run, "terms", (run.x, run.d, run.w, run.t), (run.top_new,))
            for i in range(run.followed):
                top, size = run.top[i], run.top_new[i]
                run.top[i] = size if top <= FAINT and size > top else top


def keep_side(run: RunMemory, i: int) -> None:
    """Let a value that is zero within rounding stay on the side where it was.

    One that its own action has put there is zero, and leaves it by its rate.
    """
    before, after, top = run.g[i], run.g_new[i], run.top[i]
    bound = top * NOISE + abs(run.t * run.turn[i]) * INSTANT
    zero = abs(before) <= (bound if after == 0.0 else top * (2.0 * MARK))
    same = abs(after) <= bound and (before * after < 0.0 or zero)
    noise = run.m[run.memory - run.followed + i]
    own = abs(after) <= (noise if noise > bound else bound) and run.fired[i] > 0.0
    run.g_new[i] = 0.0 if own else (before if same else after)


def jumps(run: RunMemory, i: int) -> Mask:
    """Return in which lanes an event went through zero between g and g_new, which is later."""
    before, after, turn = run.g[i], run.g_new[i], run.turn[i]
    direction = run.crossings[i].direction
    up = (before < 0.0 and after >= 0.0) or (before == 0.0 and turn < 0.0 and after > 0.0)
    down = (before > 0.0 and after <= 0.0) or (before == 0.0 and turn > 0.0 and after < 0.0)
    found: Mask = False
    if direction >= 0:
        found = up
    if direction <= 0:
        found = found or down
    return found and run.fired[i] == 0.0


# -- events: steps ---------------------------------------------------------------------------------
def follow(run: RunMemory, t: Lanes, h: Lanes, ends: Lanes) -> None:
    """Look at the events of the step from x at t to y at `ends`.

    Lanes whose step is to be tried again are taken out of `taken`; `looked` says whether any lane
    was looked at closely, so that `hit` and `verdict` count.
    """
    run.looked = 0
    if has(run, "events"):
        run.t = ends
        events(run, run.y, run.g_new)
        if run.single:
            for i in range(run.followed, run.events):
                if not run.g_new[i] > 0.0:  # a guard: before the step
                    raise Leave(GUARDED, i)
    if run.followed != 0:
        whole = run.m[WANTED] == 0.0
        calm: Mask = True
        if run.adaptive:
            rates_at_end(run, ends)
            middle(run, t, h)
            evaluate(
                run,
                "calm",
                (run.g, run.g_mid, run.g_new, run.turn, run.turn_new, run.top, run.h),
                (run.calm, run.top_new),
            )
            calm = run.calm[0] > 0.0
        else:
            calm = far(run, whole and run.taken)
        if some(not (calm and whole) and run.taken):
            run.calm[0] = 1.0 if calm else 0.0
            look(run, t, h, ends)
        if run.adaptive and some(run.taken):
            copy(run.top, run.top_new, run.followed, run.taken)
            copy(run.turn, run.turn_new, run.followed, run.taken)


def far(run: RunMemory, whole: Mask) -> Mask:
    """Return in which lanes a fixed step is calm: no event is near zero for its change.

    The change of each event in a whole step is kept, and the largest size of it so far.
    """
    calm: Mask = True
    for i in range(run.followed):
        g, new = run.g[i], run.g_new[i]
        now, last = abs(new - g), run.change[i]
        most = now if now > last else last
        size = abs(new)
        calm = calm and (g * new > 0.0 and (abs(g) > most and size > most))
        run.change[i] = now if whole else last
        run.top[i] = size if whole and size > run.top[i] else run.top[i]
    return calm


def rates_at_end(run: RunMemory, ends: Lanes) -> None:
    """Evaluate the rates of events at y; not every method gives those of y."""
    run.t = ends
    if run.implicit:
        slope(run, run.y, run.y_f)
    turns(run, run.y, run.y_f, run.turn_new)


def look(run: RunMemory, t: Lanes, h: Lanes, ends: Lanes) -> None:
    """Look closely at the events of a step."""
    if not run.adaptive:
        # a step that is tried again begins where it began; in a bracket no middle is asked for;
        # rates are those inside of the step, at whose ends they may jump
        near = abs(t) * NEAR + LEAST
        near = near if near < h * (1.0 / 64.0) else h * (1.0 / 64.0)
        if some(run.m[WANTED] == 0.0 and run.taken):
            run.t = t + near
            slope(run, run.x, run.f)
            turns(run, run.x, run.f, run.turn)
        run.t = ends - near
        slope(run, run.y, run.y_f)
        rates_at_end(run, ends - near)
        if some(run.m[STAGE] != 1.0 and run.taken):
            middle(run, t, h)
    run.t = t
    evaluate(
        run,
        "look",
        (
            run.g,
            run.g_mid,
            run.g_new,
            run.turn,
            run.turn_new,
            run.top,
            run.calm,
            run.h,
            run.t,
            run.m,
        ),
        (run.m_new, run.hit, run.verdict),
    )
    copy(run.m, run.m_new, run.memory, run.taken)
    run.taken = run.taken and run.verdict[0] > 0.0
    run.looked = 1


def go_behind(run: RunMemory, reached: Lanes, goal: float) -> Lanes:
    """Go from the end of a step to behind the event there; return when that is."""
    if run.looked != 0:
        far_behind = run.verdict[3]
        lands = run.verdict[2] > 0.0 and run.taken
        if some(lands):
            for i in range(run.states):
                moved = run.y[i] + far_behind * run.y_f[i]
                run.y[i] = moved if lands else run.y[i]
            behind = reached + far_behind
            behind = behind if behind < goal else goal
            reached = behind if lands else reached
            run.slope_known = 0
    return reached


def happen(run: RunMemory) -> None:
    """Log events of the step that was taken, run their actions, end where one is terminal."""
    if has(run, "events"):
        run.finished = -1
        copy(run.g, run.g_new, run.followed, run.taken)
        if run.looked != 0:
            for i in range(run.followed):  # the memory has the values, behind an event too
                run.g[i] = run.m[MEMORY + run.followed + i] if run.taken else run.g[i]
            for i in range(run.followed):
                hit = run.hit[i] > 0.0 and run.taken
                if some(hit):
                    happened(run, i, hit)
            endless(run)
        if not run.single:  # a single run comes back before a step that a guard refuses
            for i in range(run.followed, run.events):
                bad = not run.g_new[i] > 0.0 and run.taken
                end_lanes(run, bad, run.t, GUARDED)
        finish(run)


def endless(run: RunMemory) -> None:
    """End a run whose events would happen without end."""
    found = run.verdict[4] > 0.0 and run.taken
    if run.single:
        if found:
            raise Leave(ENDLESS, int(run.verdict[4]) - 1)
    else:
        end_lanes(run, found, run.t, run.verdict[4] * WHICH + ENDLESS)


def happened(run: RunMemory, i: int, lanes: Mask) -> None:
    """Count an event, log it, run its action, end the run where it is terminal."""
    t = run.t
    run.first[i] = t if lanes and run.count[i] == 0.0 else run.first[i]
    run.count[i] = run.count[i] + 1.0 if lanes else run.count[i]
    if run.single:
        log_event(run, i)
    if has(run, "action", i):
        run.fired[i] = 1.0 if lanes else run.fired[i]
        evaluate(run, "action", (run.x, run.d, run.w, run.t), (run.y, run.o), i)
        change(run, lanes)
    if run.crossings[i].terminal != 0:
        if run.single:
            run.finished = i
        else:
            end_lanes(run, lanes, t, (i + 1) * WHICH + TERMINAL)


def finish(run: RunMemory) -> None:
    """End a single run where a terminal event happened; come back where the log is full."""
    if run.single:
        if run.finished >= 0:
            raise Leave(TERMINAL, run.finished)
        if run.logged >= run.log_rows:
            raise Leave(LOGGED)


# -- the memory of a run in Python -----------------------------------------------------------------
class Leave(Exception):
    """Ends a call, with a status and a detail."""

    def __init__(self, status: int, detail: int = 0) -> None:
        super().__init__(status)
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class SlotRun:
    """Slots of d that lie side by side: the first result that goes there, the place, how many."""

    first: int
    slot: int
    length: int


@dataclass(frozen=True)
class DueTick:
    """What happens every so many base ticks: slots of d that are written, noise streams."""

    every: int
    offset: int
    slots: Sequence[int]
    streams: Sequence[int] = ()
    foreign: bool = False

    @cached_property
    def runs(self) -> list[SlotRun]:
        """The slots, one by one."""
        return [SlotRun(i, slot, 1) for i, slot in enumerate(self.slots)]

    @property
    def run_count(self) -> int:
        """How many of them there are."""
        return len(self.slots)

    @property
    def stream_count(self) -> int:
        """How many streams of noise there are."""
        return len(self.streams)


@dataclass(frozen=True)
class DetectedCrossing:
    """An event: the direction in which its value goes through zero, what that does, its value
    before the start."""

    direction: int = 0
    terminal: bool = False
    action: bool = False
    guard: bool = False
    before: float = 0.0


class RunMemory:
    """One run."""

    single, implicit = True, False

    def __init__(
        self,
        functions: Functions,
        ticks: Sequence[DueTick],
        crossings: Sequence[DetectedCrossing],
        tick_seconds: float,  # the base tick, s
    ) -> None:
        self.functions, self.ticks, self.crossings = functions, ticks, crossings
        self.tick_seconds = tick_seconds
        self.until, self.end, self.step_size, self.every = 0, math.inf, tick_seconds, 1
        self.smallest = self.most = self.often = math.inf
        self.seed = self.run_number = 0
        self.row_count = self.log_rows = self.budget = self.left = 1 << 60
        self.adaptive = self.dense = False
        self.constants: dict[str, Numbers] = {}
        # where it stands
        self.k = self.start = self.target = self.in_gap = self.j = self.grid = 0
        self.cursor = self.sample = self.steps = self.rejected = self.detail = 0
        self.slope_known = self.events_known = self.looked = self.refusals = self.fitted = 0
        self.watched, self.finished = 1, -1
        self.uncut = self.taken = True
        self.tick_count, self.due = len(ticks), [tick.offset for tick in ticks]
        self.row = self.logged = 0
        self.rows: list[Numbers] = []
        self.log: list[tuple[int, int, float]] = []
        # numbers, and arrays, which have their sizes when they are written
        self.t = self.h = self.s = self.proposed = self.number = self.theta = 0.0
        self.stop, self.why, self.stale, self.steps_taken = math.inf, 0.0, 0.0, 0.0
        self.b, self.c = 1e-4, [1e-8, 1e-10, 1.0]
        self.x, self.d, self.w = (no_numbers() for _ in range(3))
        self.y, self.y_f, self.f, self.z, self.z_new, self.o = (no_numbers() for _ in range(6))
        self.r, self.curve = no_numbers(), no_numbers()
        self.e, self.ahead, self.pace, self.fit = [0.0] * 3, [0.0] * 2, [0.0] * 2, [0.0]
        self.calm, self.verdict = [0.0], [0.0] * 5
        self.n = [0.0] * (2 * max((tick.stream_count for tick in ticks), default=0))
        self.events = len(crossings)
        self.g = [crossing.before for crossing in crossings]
        self.g_new, self.g_mid, self.count = ([0.0] * len(crossings) for _ in range(3))
        self.first = [math.nan] * len(crossings)
        self.followed = count = sum(not crossing.guard for crossing in crossings)
        self.turn, self.turn_new, self.fired, self.hit = ([0.0] * count for _ in range(4))
        self.top, self.top_new, self.change = [FAINT] * count, [0.0] * count, [NEVER] * count
        self.memory = MEMORY + KEPT * count
        self.m, self.m_new = [0.0] * self.memory, [0.0] * self.memory

    @property
    def states(self) -> int:
        """How many continuous states there are."""
        return len(self.x)

    @property
    def discretes(self) -> int:
        """How many discrete states and held outputs there are."""
        return len(self.d)

    def prepare(self, p: Numbers) -> None:
        """Compute what depends on parameters alone."""
        for name, function in self.functions.items():
            if name.startswith("constants_"):
                self.constants[name.removeprefix("constants_")] = list(function(p)[0])

    def go(self) -> int:
        """Go on until there is something to do outside; return why."""
        self.left, self.refusals = self.budget, 0
        try:
            go(self)
        except Leave as leave:
            self.detail = leave.detail
            return leave.status
        raise AssertionError("a run is left where there is something to do")

    def call(self, name: str, *given: Numbers | float) -> tuple[Numbers, ...]:
        """Return what a Program gives; parameters stand behind the first two arrays."""
        arrays = [a if isinstance(a, list) else [a] for a in given]
        kept = "step" if name in ("slope", "first", "curve") else name
        if kept in self.constants:
            arrays.insert(2, self.constants[kept])
        return self.functions[name](*arrays)

    def take(self, values: Sequence[float]) -> None:
        """Write what a tick gives into its slots, and go on behind it."""
        tick = self.ticks[self.cursor]
        for slot, value in zip(tick.slots, values, strict=True):
            self.d[slot] = value
        self.due[self.cursor] += tick.every
        self.cursor += 1
        self.slope_known = self.events_known = 0

    @property
    def time(self) -> float:
        """Where the run stands, s."""
        if self.in_gap:
            return self.start * self.tick_seconds + self.s
        return seconds(self, self.k)


def no_numbers() -> Numbers:
    """Return an array without numbers."""
    return []


def some(mask: Mask) -> bool:
    """Return whether a truth of lanes holds in any of them."""
    return mask


def rarely(truth: bool) -> bool:
    """Return a truth that seldom holds."""
    return truth


def has(run: RunMemory, name: str, index: int = -1) -> bool:
    """Return whether there is a Program."""
    return (name if index < 0 else f"{name}{index}") in run.functions


def evaluate(
    run: RunMemory,
    name: str,
    given: Sequence[Numbers | float],
    results: Sequence[Numbers],
    index: int = -1,
) -> None:
    """Call a Program with arrays and numbers, and put its results into arrays."""
    if name == "tick":
        given = (*given[:-1], run.n[: 2 * run.ticks[index].stream_count])
    found = run.call(name if index < 0 else f"{name}{index}", *given)
    for array, values in zip(results, found, strict=True):
        array[: len(values)] = values


def copy(target: Array, source: Array, count: int, lanes: Mask) -> None:
    """Copy an array, in the lanes of a mask; a single run has but one, in which it is done."""
    target[:count] = source[:count]


def shift(target: Array, at: int, source: Array, start: int, count: int, lanes: Mask) -> None:
    """Copy a part of an array to a place in another one."""
    target[at : at + count] = source[start : start + count]


def keep_sample(run: RunMemory, x: Array) -> None:
    """Write a row of samples at the time that is set."""
    del run.rows[run.row :]
    run.rows.append([])
    if has(run, "output"):
        evaluate(run, "output", (x, run.d, run.w, run.t), (run.rows[-1],))


def log_event(run: RunMemory, i: int) -> None:
    """Log an event where the run stands."""
    run.log.append((i, run.start, run.s))
    run.logged += 1


def stepped(run: RunMemory) -> None:
    """Notify whoever waits for it that a step was taken."""


def call_function(run: RunMemory, i: int) -> int:
    """Call the function of a tick; 0 where that is done, 1 where it is left to who called."""
    return 1
