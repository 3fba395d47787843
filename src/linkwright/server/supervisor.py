"""The supervisor of an arm: its life, its commands one a tick, and everything that stops it.

A block at the cell's rate, so that what must happen in time happens in ticks, whatever Python does.
Commands are in a ring of `SLOTS` inputs; `head` counts those that were put there, and the block
takes one a tick, in order. A motion waits until the motion before it lets it in, and until an arm
that brakes to hold stands. Every stop throws away what waits.

The life of an arm is a place in `linkwright.server.face.LIVES`. Stops have the categories of
IEC 60204-1 (`linkwright.server.cell.CATEGORIES`): 0 is PANIC, which latches until `clear`.

What holds at every tick:

- `tail` ≤ `head` ≤ `tail` + `SLOTS`: the queue rejects more. One command is taken a tick: accepted
  (a motion, for the law), rejected, or done here (enable, disable, clear). All others wait.
- A motion is accepted only where the arm was ACTIVE, its brakes are open, nothing brakes it and
  nothing is wrong: no motion begins in the tick of a stop.
- PANIC is left only by a clear that finds nothing lasting wrong, here and on the linked arms,
  within the time of a heartbeat. Until then it keeps its first cause.
- `brake` (of the joints) is on exactly where currents are off. `hold` (braking along the path)
  lasts until the arm stands; category 1 and a `disable` then switch it off, category 2 does not.
- `done` is the last command that was finished; those after `cut_after`, up to `cut`, were cut off
  by `cut_cause`. Each that was taken becomes one of the two, at the latest at the next stop.
- Clients and device speak in counts (`stops`, `halts`, `beats`, ticks): what matters is that a
  number has changed, so nothing is heard twice, and nothing is lost between two ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, absolute, equal, floor, not_equal, where
from linkwright.blocks import Block
from linkwright.control.axis import AxisError
from linkwright.server.cell import CAUSES, STOPPABLE, Cell, CellArm
from linkwright.server.verbs import VERBS, motions, number_of
from linkwright.simulation.hardware import ACTIVE, FAULT, OFF, next_life, silence

SLOTS = 16
"""Commands that may wait for the loop."""

LEGS = 8
"""More than the legs that a motion may have before it."""

BRAKE_DELAY = 0.02
"""s, until a brake has opened and an arm may move."""

TELL = 3
TRACKED = number_of("track"), number_of("jog")
"""Commands that take over from whatever an arm does."""
EXCITE, TRAJECTORY = number_of("excite"), number_of("trajectory")
_LARGE = 1e12
_WORDS = ("kind", "speed", "blend", "frame", "sequence")


def width(arm: CellArm) -> int:
    """Return how many numbers a command of an arm may have: its joints, or a pose.

    >>> from linkwright.server.cell_file import read_cell
    >>> width(read_cell("cell1").arms[0])
    7
    """
    return max(len(arm.axes), 7)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What is wrong at a tick: the cause and category of a stop, and what is only reported."""

    why: Expr
    category: Expr
    told: Expr
    code: Expr
    bad: Expr  # whether a PANIC cannot be cleared yet
    stop: Expr  # whether a client asks to stop
    card: Expr  # whether the device is in PANIC


@dataclass(frozen=True, slots=True)
class _Asked:
    """The command at the front of the ring."""

    fields: dict[str, Expr]
    goal: tuple[Expr, ...]
    last: Expr  # sequence of the command at its end


@dataclass(frozen=True, slots=True)
class _Going:
    """What happens to commands at a tick."""

    handed: Expr  # motions handed on, with that of this tick
    before: Expr  # and without
    accept: Expr
    sequence: Expr  # of the command that is taken up
    took: Expr
    replaces: Expr  # whether it takes over from the motions before
    gone: Expr  # whether the motions cannot go on
    busy: Expr  # whether a stop or a clear is under way
    why: Expr  # place in CAUSES
    thrown: tuple[tuple[Expr, Expr], ...]  # whether waiting commands are thrown away, up to which
    stop: Expr
    stop_sequence: Expr
    refused: Expr


@dataclass(frozen=True, slots=True)
class _Ended:
    """What has become of commands."""

    done: Expr
    cut: Expr
    after: Expr
    why: Expr


class Supervisor(Block):
    """The supervisor of an arm.

    Its inputs from clients are `slot_kind`, `slot_goal`, `slot_speed`, `slot_blend`, `slot_frame`
    and `slot_sequence`, `head`, `stops` (a count) with `flush` and `stop_sequence`, `holder`,
    `beats` (a count), `silence` (ticks), `halts` (a count) and `button`.

    >>> from linkwright.server.cell_file import read_cell
    >>> cell = read_cell("axes2")
    >>> block = Supervisor(cell.arms[0], cell)
    >>> sorted(block.outputs)[:4]
    ['alarm', 'blend', 'brake', 'cause']
    """

    def __init__(self, arm: CellArm, cell: Cell, name: str = "supervisor") -> None:
        super().__init__(name)

        # what was, whether the device lives, and what is wrong at this tick
        self._arm, self._rate = arm, cell.rate
        hold, remember = self.intermediate, self.discrete_state
        life, tail = remember("was"), remember("tail")
        moving, ready = self.input("moving"), self.input("ready")
        heartbeat = self.input("heartbeat", round(cell.heartbeat * cell.rate), doc="ticks")
        alive = self._device(heartbeat)
        active, still = equal(life, ACTIVE), hold(equal(moving, 0))
        used = remember("used")  # whether it was enabled ever
        trouble = self._trouble(active, alive, life, moving, used)
        panic = hold((trouble.why > 0) & equal(trouble.category, 0))
        stopping = hold((trouble.why > 0) & (trouble.category > 0))

        # the next command: a motion, or one for its life
        asked, head = self._ring(tail)
        command = asked.fields
        braking, opened = remember("braking"), remember("opened")
        waiting = hold(head > tail)
        excite = hold(equal(command["kind"], EXCITE))
        ends = hold(excite & equal(asked.goal[0], 0))  # an experiment, where one goes on
        probing = self.input("probing", doc="whether an experiment goes on") > 0
        motion = _any_of([equal(command["kind"], number_of(k)) for k in motions()])
        motion = hold(motion | (excite & (probing | ~ends)))

        # whether a motion is let in; what takes over need not wait for what goes on
        free = hold(active & equal(braking, 0) & equal(trouble.why, 0))
        opening = opened < round(BRAKE_DELAY * cell.rate)
        tracked = hold(_any_of([equal(command["kind"], k) for k in TRACKED]) | ends)
        timed = hold(equal(command["kind"], TRAJECTORY))
        let_in = tracked | ((ready > 0) & (still | ~(excite | timed)))
        accept = hold(waiting & motion & free & ~opening & let_in)
        follows = self.input("follows", doc="whether the arm goes with a frame") > 0
        led = hold((excite | timed) & ~tracked & follows)  # of an arm that a frame leads

        # a motion that comes while the arm brakes to hold waits for the end of that
        refuse = hold(waiting & motion & (~active | equal(braking, 1) | led))
        plain = hold(waiting & ~motion)
        enable, disable, clear = (
            hold(plain & equal(command["kind"], number_of(word)))
            for word in ("enable", "disable", "clear")
        )

        # clearing a PANIC, together with linked arms
        clearing = remember("clearing")
        asked_clear, spoiled = remember("asked_clear"), remember("spoiled")  # for linked arms
        self.update(asked_clear, clear)
        self.update(spoiled, trouble.bad)
        also = self.input("clears_too", doc="whether a linked arm is to be cleared") > 0
        clear = hold(clear | (also & equal(life, FAULT)))
        trying = hold(equal(life, FAULT) & (clear | (clearing > 0)))
        apart = self.input("apart", doc="whether a linked arm cannot be cleared yet") > 0
        cleared = hold(trying & ~trouble.bad & ~panic & ~apart)
        fresh = panic & ~trouble.bad & ~clear  # such as another halt while it is tried
        left = where(clear, heartbeat, where(clearing > 0, clearing - 1, 0))

        # its life, and whether it brakes along the path
        now = hold(
            next_life(
                life,
                found=alive,
                enable=enable & ~trouble.bad & ~apart,
                disable=still & (disable | equal(braking, 1)),
                clear=cleared,
                fault=panic & not_equal(life, OFF),
                gone=equal(used, 0) & ~alive,
            )
        )
        on = hold(equal(now, ACTIVE))
        brakes = where(stopping, trouble.category, where(disable & ~still, 1, braking))
        brakes = hold(where(on, brakes, 0))

        # the cause that is told: the newest, until it is forgotten
        cause, error, clears = remember("why"), remember("code"), remember("times_cleared")
        news = where(trouble.why > 0, trouble.why, trouble.told)
        news = hold(where(equal(life, FAULT), 0, news))  # the first cause of a PANIC stays
        forget = (enable & on) | cleared | accept
        if arm.stops["frame"] == TELL:  # as long as the frame is too old
            forget = forget | equal(cause, CAUSES.index("frame"))
        shown = hold(where(news > 0, news, where(forget, 0, cause)))
        code = hold(where(trouble.code > 0, trouble.code, where(cleared, 0, error)))
        woken = equal(used, 0) & trouble.card  # the device stood still before it was used
        cleared_count = hold(clears + where(clear | woken, 1, 0))

        # commands up to now: handed on, taken, thrown away, lost
        count, taken = remember("goals"), remember("last")
        dropped, spurned = remember("lost"), remember("seen_spurned")
        handed, sequence = hold(count + accept), command["sequence"]
        thrown = hold((panic | stopping) & ~trouble.stop)
        stop_sequence, flush = self.input("stop_sequence"), self.input("flush")
        took = where(accept | refuse | plain, sequence, taken)
        took = where(thrown & waiting, asked.last, took)
        took = hold(where(trouble.stop, stop_sequence, took))
        refused = self.input("spurned", doc="the last goal that the motion rejected")
        late = hold(refuse & ~thrown & ~trouble.stop)
        lost = hold(dropped + late + not_equal(refused, spurned))
        brakes_on = hold(where(still & ~stopping, 0, brakes))
        clears_on = hold(where(equal(now, FAULT) & ~fresh, left, 0))

        # what has become of them, and why
        why = where(late & led, CAUSES.index("frame"), shown)
        why = where(disable | (late & equal(why, 0)), CAUSES.index("disable"), why)
        why = where(accept, CAUSES.index("replaced"), why)
        ended = self._ended(
            _Going(
                handed=handed,
                before=count,
                accept=accept,
                sequence=sequence,
                took=took,
                replaces=hold(accept & tracked),
                gone=hold(panic | stopping | (brakes > 0) | ~on),
                busy=hold((brakes_on > 0) | (clears_on > 0)),
                why=hold(where(trouble.why > 0, trouble.why, why)),
                thrown=(
                    (late, sequence),
                    (thrown & (head - tail > plain), asked.last),
                    (trouble.stop & (flush > tail), stop_sequence - 1),
                ),
                stop=trouble.stop,
                stop_sequence=stop_sequence,
                refused=refused,
            )
        )

        # what it tells
        alarm = hold(panic & not_equal(trouble.why, CAUSES.index("linked")))
        tick, sounded = remember("ticks"), remember("sounded")
        self._show(asked)
        for name_of, value, doc in (
            ("life", now, "place in LIVES"),
            ("cause", shown, "place in CAUSES"),
            ("error", code, "the axis controllers' code"),
            ("alarm", alarm, "whether PANIC begins here"),
            ("panic", equal(now, FAULT), "whether PANIC lasts"),
            ("tick", tick + 1, "ticks of the loop"),
            ("on", on, "whether currents flow"),
            ("brake", ~on, "whether brakes are on"),
            ("hold", brakes > 0, "whether it brakes along the path"),
            ("waits", waiting & motion & ~tracked, "whether a leg waits to be taken up"),
            ("moves", hold(where(brakes_on > 0, 1, self.input("shifts"))), "or brakes still"),
            ("count", handed, "motions handed on"),
            ("taken", took, "sequence of the last command that was taken up"),
            ("done", ended.done, "and that was finished"),
            ("cut", ended.cut, "sequence of the last command that was cut off"),
            ("cut_after", ended.after, "the last one that was finished before that"),
            ("cut_cause", ended.why, "and why: place in CAUSES"),
            ("dropped", lost, "motions that could not be taken up"),
            ("clears", cleared_count, "how often PANIC was cleared"),
        ):
            self.output(name_of, value, doc=doc)

        # what it remembers of this tick
        step = where(accept | refuse | plain, 1, 0)
        after = where(trouble.stop, where(flush > tail, flush, tail), tail + step)
        for memory, following in (
            (life, now),
            (used, where(on, 1, used)),
            (tail, where(thrown, head, after)),
            (braking, brakes_on),
            (opened, where(on, opened + 1, 0)),
            (clearing, clears_on),
            (cause, shown),
            (error, code),
            (clears, cleared_count),
            (count, handed),
            (taken, took),
            (dropped, lost),
            (spurned, refused),
            (tick, tick + 1),
            (sounded, alarm),
        ):
            self.update(memory, following)

    # -- what becomes of commands ------------------------------------------------------------------
    def _ended(self, going: _Going) -> _Ended:
        """Return what was finished and what was cut off, up to this tick.

        A motion is finished where the motion itself says so, and cut off where anything stops it
        before. Commands after `cut_after`, up to `cut`, were cut off by `cut_cause`.
        """
        hold, remember = self.intermediate, self.discrete_state
        finished = self.input("finished", doc="the last motion that came to its goal")
        over, last = remember("over"), remember("last_done")
        cut, after, cause = (remember(x) for x in ("last_cut", "before_cut", "why_cut"))
        numbers = []
        for i in range(LEGS):
            number = remember(f"number{i}")
            here = going.accept & equal(_place(going.handed), i)
            numbers.append(hold(where(here, going.sequence, number)))
            self.update(number, numbers[-1])

        def number_of(motion: Expr) -> Expr:
            return chosen(hold(_place(motion)), numbers)

        comes = hold(finished > over)
        arrived = hold(where(comes, number_of(finished), last))
        known = hold(where(comes, finished, over))
        replaced = hold(going.replaces & (going.before > known))
        spurned = hold(going.refused > known)
        ends = hold(going.gone & (going.handed > known))
        through: Expr = where(spurned, going.refused, where(replaced, going.before, known))
        through = hold(where(ends, going.handed, through))
        cuts = [
            (replaced, number_of(going.before)),
            (spurned, number_of(going.refused)),
            (ends, number_of(going.handed)),
            *going.thrown,
            (going.stop & ends, going.stop_sequence - 1),
        ]
        new: Expr = cut
        for happens, sequence in cuts:
            new = where(happens, sequence, new)
        new, any_new = hold(new), hold(_any_of([x for x, _ in cuts]))
        outstanding = (going.handed > through) | going.busy
        done = where(~outstanding & (going.took > new), going.took, arrived)
        found = _Ended(
            hold(done),
            new,
            hold(where(any_new, arrived, after)),
            hold(where(any_new, going.why, cause)),
        )
        for memory, following in (
            (over, through),
            (last, found.done),
            (cut, found.cut),
            (after, found.after),
            (cause, found.why),
        ):
            self.update(memory, following)
        return found

    # -- what comes in -----------------------------------------------------------------------------
    def _ring(self, tail: Expr) -> tuple[_Asked, Expr]:
        """Return the next command of the ring, and how many were put there."""
        head, wide = self.input("head", doc="commands put into the ring"), width(self._arm)
        slots = {word: self.input_vector(f"slot_{word}", SLOTS) for word in _WORDS}
        goals = self.input_vector("slot_goal", (SLOTS, wide))
        place = self.intermediate(tail - SLOTS * floor(tail / SLOTS))
        end = self.intermediate(head - 1 - SLOTS * floor((head - 1) / SLOTS))
        fields = {word: self.intermediate(chosen(place, slots[word])) for word in _WORDS}
        goal = (chosen(place, [goals[k * wide + i] for k in range(SLOTS)]) for i in range(wide))
        last = self.intermediate(chosen(end, slots["sequence"]))
        return _Asked(fields, tuple(self.intermediate(x) for x in goal), last), head

    def _device(self, heartbeat: Expr) -> Expr:
        """Return whether the device lives: its ticks go on."""
        beat = self.input("device", doc="ticks of the device")
        _, missing = silence(self, beat, "seen_device", "absent", initial=1e9)
        return self.intermediate(missing <= heartbeat)

    def _holder(self) -> Expr:
        """Return whether the holder of the lease has fallen silent; it has lost it then."""
        holder, beats, allowed = (self.input(x) for x in ("lease", "beats", "silence"))
        released = self.discrete_state("out")
        held = self.intermediate(where(equal(holder, released), 0, holder))
        _, quiet = silence(self, beats, "seen_beats", "silent", idle=equal(held, 0))
        lost = self.intermediate((held > 0) & (quiet > allowed))
        self.output("holder", where(lost, 0, held), doc="the lease that commands it, or 0")
        self.update(released, where(lost, holder, where(equal(holder, released), released, 0)))
        return lost

    def _trouble(self, active: Expr, alive: Expr, life: Expr, moving: Expr, used: Expr) -> _Trouble:
        """Return what is wrong at this tick.

        A device that stalls before the arm was enabled ever is waited for: nothing latches.
        """
        card = self.intermediate(not_equal(self.input("card", doc="PANIC of the device"), 0))
        stops, halts = self.input("stops"), self.input("halts")
        seen_stops, seen_halts = (
            self.discrete_state("seen_stops"),
            self.discrete_state("seen_halts"),
        )
        self.update(seen_stops, stops)
        self.update(seen_halts, halts)
        happened, code = self._axes(active, alive)
        aged = self.discrete_state("aged")  # noticed in motion, and told as long as it lasts
        stale = self.input("stale", doc="the motion's frame is too old") > 0
        stale = self.intermediate(stale & ((moving > 0) | (aged > 0)))
        self.update(aged, stale)
        happened |= {
            "stop": not_equal(stops, seen_stops),
            "silence": self._holder(),
            "frame": stale,
            "reach": self.input("barred", doc="the tool cannot keep to its path") > 0,
            "touch": self.input("touched", doc="a force above the guard") > 0,
            "loss": self.input("missed", doc="no contact where the tool presses") > 0,
            "halt": not_equal(halts, seen_halts),
            "button": not_equal(self.input("button"), 0),
            "device": ~alive & not_equal(life, OFF) & (used > 0),
            "card": card & (used > 0),
            "linked": not_equal(self.input("linked", doc="PANIC of a linked arm"), 0),
        }
        happened = {name: self.intermediate(x) for name, x in happened.items()}
        why, told, category = ZERO, ZERO, self.expr(TELL)
        for place, name in enumerate(CAUSES):  # the strictest counts, and the last of its kind
            if name not in happened:
                continue
            here = happened[name] & active if name in STOPPABLE else happened[name]
            kind = self._arm.stops.get(name, 0)
            if kind == TELL:
                told = where(here, place, told)
            else:
                here = self.intermediate(here & (kind <= category))
                why, category = where(here, place, why), where(here, kind, category)
        if self._arm.law.kind == "axes":
            why, category, code = self._tripped(life, why, category, code)
        lasting = [*(happened[x] for x in ("value", "button", "linked")), ~alive, card]
        hold = self.intermediate
        return _Trouble(
            hold(why),
            hold(category),
            hold(told),
            hold(code),
            hold(_any_of(lasting)),
            happened["stop"],
            card,
        )

    def _tripped(
        self, life: Expr, why: Expr, category: Expr, code: Expr
    ) -> tuple[Expr, Expr, Expr]:
        """Return cause, category and code with what the axis controller stopped for."""
        hold, before = self.intermediate, self.discrete_state("tripped_before")
        trip = self.input("tripped", doc="whether the axis controller has stopped")
        told = self.input("tripped_code", doc="its last error")
        new = hold((trip > 0) & equal(before, 0) & not_equal(life, FAULT))
        self.update(before, trip)
        what = hold(256 * floor(told / 256))
        cause: Expr = self.expr(CAUSES.index("limit"))
        for error, word in (
            (AxisError.FOLLOW, "following"),
            (AxisError.ILIM, "current"),
            (AxisError.HEAT, "current"),
            (AxisError.RANGE, "value"),
        ):
            cause = where(equal(what, int(error)), CAUSES.index(word), cause)
        worse = new & ((why <= cause) | (category > 0))
        return (
            hold(where(worse, cause, why)),
            hold(where(new, 0, category)),
            hold(where(new, told, code)),
        )

    def _axes(self, active: Expr, alive: Expr) -> tuple[dict[str, Expr], Expr]:
        """Return what is wrong with the axes, and the report's code: what, and the axis below."""
        arm, n, hold = self._arm, len(self._arm.axes), self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        u = self.input_vector("u", n, doc="measured speeds")
        current = self.input_vector("current", n, unit="A", doc="measured currents")
        target = self.input_vector("target", n, list(arm.start), doc="where it should be")
        limit, trip, apart, code = [], [], [], ZERO
        for i, axis in enumerate(arm.axes):
            outside, over = self.discrete_state(f"outside{i}"), self.discrete_state(f"over{i}")
            beyond = hold((q[i] < axis.low - axis.slack) | (q[i] > axis.high + axis.slack))
            hot = hold(where(absolute(current[i]) >= axis.current, over + 1, 0))
            self.update(outside, beyond)
            self.update(over, hot)
            limit.append(hold(beyond & ~outside))
            trip.append(hold(equal(hot, round(axis.overload * self._rate) + 1)))
            apart.append(hold(active & (absolute(q[i] - target[i]) > axis.following)))
            side = where(q[i] < axis.low, int(AxisError.PLO), int(AxisError.PHI))
            code = where(apart[i], int(AxisError.FOLLOW) + i, code)
            code = where(limit[i], side + i, code)
            code = where(trip[i], int(AxisError.ILIM) + i, code)
        sane = _all_of([absolute(x) < _LARGE for x in (*q, *u, *current)])
        self.output_vector("measured", q, doc="positions as they are measured")
        self.output_vector("measured_rate", u, doc="speeds as they are measured")
        drawn = [where(alive, x, 0) for x in current]  # a device that is gone draws none
        self.output_vector("drawn", drawn, unit="A", doc="currents as they are measured")
        found = {
            "limit": _any_of(limit),
            "current": _any_of(trip),
            "following": _any_of(apart),
            "value": ~sane,
        }
        return found, where(active, code, 0)

    # -- what goes out -----------------------------------------------------------------------------
    def _show(self, asked: _Asked) -> None:
        kind, poses = asked.fields["kind"], [k for k, x in VERBS.items() if x.goal == "pose"]
        pose = _any_of([equal(kind, number_of(k)) for k in poses])
        self.output("leg", where(pose, 2, 1), doc="kind of leg: 1 of joints, 2 to a pose")
        for word in ("kind", "speed", "blend", "frame"):
            self.output(word, asked.fields[word], doc="of the command that is taken up")
        self.output_vector("goal", asked.goal, doc="of the command that is taken up")


def _place(motion: Expr) -> Expr:
    """Return the place of a motion among the numbers that are remembered."""
    return motion - LEGS * floor(motion / LEGS)


def chosen(place: Expr, values: Sequence[Expr]) -> Expr:
    """Return the value at a place, by halves.

    >>> from linkwright.algebra import evaluate, symbol
    >>> i = symbol("i")
    >>> evaluate(chosen(i, [i * k for k in range(4)]), {i: 2.0})
    4.0
    """
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return where(place < half, chosen(place, values[:half]), chosen(place - half, values[half:]))


def _any_of(conditions: Sequence[Expr]) -> Expr:
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


def _all_of(conditions: Sequence[Expr]) -> Expr:
    found = conditions[0]
    for condition in conditions[1:]:
        found = found & condition
    return found
