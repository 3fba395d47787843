"""Events in native code: values that go through zero, and guards that must not."""

from __future__ import annotations

from linkwright.simulation.native.block import BlockWriter
from linkwright.simulation.native.guards import (
    FAINT,
    FULL,
    INSTANT,
    MARK,
    MEMORY,
    NOISE,
    STAGE,
    TRIES,
    WANTED,
)
from linkwright.simulation.native.tables import (
    ENDLESS,
    EVENT,
    GUARDED,
    LOG,
    LOGGED,
    TERMINAL,
    WHICH,
)
from linkwright.simulation.native.text import Variable
from linkwright.system.breaks import LEAST, NEAR

_LOOKED = ("g_at", "g_mid_at", "g_new_at", "turn_at", "turn_new_at", "top_at")


class EventWriter(BlockWriter):
    """Writes what is done about events.

    What becomes of a step is said by the Programs of `linkwright.simulation.native.guards`, in each
    lane for itself: a step that is not taken is tried again with the size that their memory wants.
    """

    # -- values ------------------------------------------------------------------------------------
    def events(self, x: str, g: str) -> None:
        """Evaluate all events at a state and at the time that is set."""
        c = self.config
        arrays = (c[x], c["d_at"], c["p_events_at"], c["w_at"], c["t_at"], c[g])
        self.kernel(c["events_fn"], *arrays)

    def terms(self) -> None:
        """Let events that have no size yet have that of their terms."""
        w, c = self.w, self.config
        with w.when(self.present(c["terms_fn"])):
            none = "false" if self.single else "splat (i1 false)"
            unsized = w.variable(w.truth, none)
            with w.count(c["followed"]) as i:
                unsized.set(w.op(f"or {w.truth} {unsized.get()}, {self.faint(i)}"))
            with w.when(w.some(unsized.get())):
                arrays = (*self.states(), c["p_terms_at"], c["w_at"], c["t_at"])
                self.kernel(c["terms_fn"], *arrays, c["top_new_at"])
                with w.count(c["followed"]) as i:
                    top, size = self.lane("top_at", i), self.lane("top_new_at", i).get()
                    larger = w.both(self.faint(i), w.f("fcmp ogt", size, top.get()))
                    top.set(w.select(larger, size, top.get()))

    def faint(self, index: str) -> str:
        """Return in which lanes an event has no size yet."""
        return self.w.f("fcmp ole", self.lane("top_at", index).get(), self.w.number(FAINT))

    def slope(self, x: str, f: str) -> None:
        c = self.config
        arrays = (c[x], c["d_at"], c["p_step_at"], c["w_at"], c["t_at"], c[f])
        self.kernel(c["slope_fn"], *arrays)

    def turns(self, x: str, f: str, r: str) -> None:
        """Evaluate the rates of events at a state, given its rates."""
        c = self.config
        with self.w.when(self.present(c["turns_fn"])):
            arrays = (c[x], c["d_at"], c["p_turns_at"], c["w_at"], c["t_at"], c[f], c[r])
            self.kernel(c["turns_fn"], *arrays)

    def follows(self) -> str:
        """Return whether there are events that are followed."""
        return self.w.i("icmp ne", self.config["followed"], "0")

    # -- jumps -------------------------------------------------------------------------------------
    def known_events(self) -> None:
        """Evaluate events at x where they are not known; what has jumped through zero happens.

        An event happens once at an instant: its own action does not let it happen again.
        """
        w, c, now = self.w, self.config, self.whole

        def unknown() -> str:
            return w.i("icmp ne", now["events_known"].get(), "1")

        with w.when(w.op(f"and i1 {self.follows()}, {unknown()}")):
            finished = w.variable("i64", "-1")
            with w.during(unknown):
                self.events("x_at", "g_new_at")
                self.terms()
                which = self.unsure()
                now["events_known"].set("1")
                with w.when(w.i("icmp ne", now["watched"].get(), "0")), w.count(c["followed"]) as i:
                    self.keep_side(i)
                    jumped = self.jumped(i)
                    if which is not None:
                        jumped = w.both(jumped, which)
                    with w.when(w.some(jumped)):
                        self.happened(i, jumped, finished)
                self.copy(c["g_new_at"], c["g_at"], c["followed"], which)
                with w.count(c["followed"]) as i:
                    top, size = self.lane("top_at", i), w.call("fabs", self.lane("g_at", i).get())
                    top.set(w.select(w.f("fcmp ogt", size, top.get()), size, top.get()))
                now["watched"].set("1")
            with w.count(c["followed"]) as i:
                self.lane("fired_at", i).set(w.number(0.0))
            self.finished(finished)

    def unsure(self) -> str | None:
        """Return in which lanes events are not known, and let them be known; None for all."""
        w, now = self.w, self.whole
        if self.single:
            return None
        stale = self.lane("stale_at")
        some = w.f("fcmp ogt", stale.get(), w.number(0.0))
        everywhere = w.i("icmp eq", now["events_known"].get(), "0")
        which = w.op(f"select i1 {everywhere}, {w.truth} splat (i1 true), {w.truth} {some}")
        stale.set(w.number(0.0))
        alive = self.alive()
        assert alive is not None
        return w.both(which, alive)

    def keep_side(self, index: str) -> None:
        """Let a value that is zero within rounding stay on the side where it was.

        One that its own action has put there is zero, and leaves it by its rate.
        """
        w = self.w
        before, place = self.lane("g_at", index).get(), self.lane("g_new_at", index)
        after = place.get()
        top = self.lane("top_at", index).get()
        pace = w.f("fmul", self.lane("t_at").get(), self.lane("turn_at", index).get())
        bound = w.call(
            "fma", w.call("fabs", pace), w.number(INSTANT), w.f("fmul", top, w.number(NOISE))
        )
        small = w.f("fcmp ole", w.call("fabs", after), bound)
        other = w.f("fcmp olt", w.f("fmul", before, after), w.number(0.0))
        mark = w.f("fmul", top, w.number(2 * MARK))
        none = w.f("fcmp oeq", after, w.number(0.0))
        zero = w.f("fcmp ole", w.call("fabs", before), w.select(none, bound, mark))
        same = w.both(small, w.op(f"or {w.truth} {other}, {zero}"))
        noise = w.i("sub", self.config["memory"], w.i("sub", self.config["followed"], index))
        noise = self.lane("m_at", noise).get()
        most = w.select(w.f("fcmp ogt", noise, bound), noise, bound)
        near = w.f("fcmp ole", w.call("fabs", after), most)
        own = w.both(near, w.f("fcmp ogt", self.lane("fired_at", index).get(), w.number(0.0)))
        place.set(w.select(own, w.number(0.0), w.select(same, before, after)))

    def jumped(self, index: str) -> str:
        """Return in which lanes an event went through zero between g and g_new, which is later."""
        w, c = self.w, self.config
        before, after = self.lane("g_at", index).get(), self.lane("g_new_at", index).get()
        turn = self.lane("turn_at", index).get()
        row = w.at(c["event_table"], w.i("mul", index, str(len(EVENT))))
        direction = w.load("i64", w.at(row, str(EVENT["direction"])))
        zero, found = w.number(0.0), []
        for less, no_less, wrong in (("olt", "oge", "slt"), ("ogt", "ole", "sgt")):
            left = w.both(w.f(f"fcmp {less}", before, zero), w.f(f"fcmp {no_less}", after, zero))
            more = "ogt" if less == "olt" else "olt"
            away = w.both(w.f("fcmp oeq", before, zero), w.f(f"fcmp {less}", turn, zero))
            away = w.both(away, w.f(f"fcmp {more}", after, zero))
            either = w.op(f"or {w.truth} {left}, {away}")
            skip = w.i(f"icmp {wrong}", direction, "0")
            false = "false" if self.single else "splat (i1 false)"
            found.append(w.op(f"select i1 {skip}, {w.truth} {false}, {w.truth} {either}"))
        some = w.op(f"or {w.truth} {found[0]}, {found[1]}")
        return w.both(some, w.f("fcmp oeq", self.lane("fired_at", index).get(), zero))

    # -- steps -------------------------------------------------------------------------------------
    def wanted(self, h: str, last: str, rest: str) -> tuple[str, str]:
        """Return the size of a step and whether it is the last one, or the part that is tried."""
        w, c = self.w, self.config
        size, ends = w.variable(w.value, h), w.variable(w.truth, last)
        with w.when(self.follows()):
            asked = self.lane("m_at", str(WANTED)).get()
            trying = w.f("fcmp ogt", asked, w.number(0.0))
            whole = w.f("fcmp oge", asked, rest)
            part = w.select(whole, rest, asked)
            size.set(w.select(trying, part, h))
            ends.set(w.op(f"select {w.truth} {trying}, {w.truth} {whole}, {w.truth} {last}"))
        del c
        return size.get(), ends.get()

    def within(self, good: str) -> str:
        """Return where a step counts: its error is small, or it is a try around an event."""
        w = self.w
        found = w.variable(w.truth, good)
        with w.when(self.follows()):
            stage = self.lane("m_at", str(STAGE)).get()
            found.set(w.op(f"or {w.truth} {good}, {w.f('fcmp oeq', stage, w.number(1.0))}"))
        return found.get()

    def forget_tries(self, lanes: str) -> None:
        """Let lanes whose step failed try whole steps again."""
        w = self.w
        with w.when(self.follows()):
            for field in (TRIES, WANTED, FULL, STAGE):
                place = self.lane("m_at", str(field))
                place.set(w.select(lanes, w.number(0.0), place.get()))

    def follow(self, taken: Variable, t: str, h: str, ends: str) -> None:
        """Look at the events of the step from x at t to y at `ends`.

        Lanes whose step is to be tried again are taken out of `taken`; `looked` says whether any
        lane was looked at closely, so that `hit` and `verdict` count.
        """
        w, c = self.w, self.config
        self.looked.set("0")
        with w.when(self.present(c["events_fn"])):
            self.lane("t_at").set(ends)
            self.events("y_at", "g_new_at")
            if self.single:
                self.guard()
        with w.when(self.follows()):
            whole = w.f("fcmp oeq", self.lane("m_at", str(WANTED)).get(), w.number(0.0))
            mask = taken.get()
            if self.adaptive:
                self.rates_at_end(ends)
                self.middle(t, h)
                self.kernel(
                    c["calm_fn"], *(c[n] for n in (*_LOOKED, "h_at", "calm_at", "top_new_at"))
                )
                calm = w.f("fcmp ogt", self.lane("calm_at").get(), w.number(0.0))
            else:
                calm = self.far(w.both(whole, mask))
            loud = w.op(f"xor {w.truth} {w.both(calm, whole)}, {self.yes}")
            with w.when(w.some(w.both(loud, mask))):
                self.lane("calm_at").set(w.select(calm, w.number(1.0), w.number(0.0)))
                self.look(taken, t, h, ends)
            if not self.adaptive:
                return
            mask = taken.get()
            with w.when(w.some(mask)):
                self.copy(c["top_new_at"], c["top_at"], c["followed"], self.lanes(mask))
                self.copy(c["turn_new_at"], c["turn_at"], c["followed"], self.lanes(mask))

    def far(self, whole: str) -> str:
        """Return in which lanes a fixed step is calm, as `calm_program` says, without a call.

        The change of each event in a whole step is kept, and the largest size of it so far.
        """
        w = self.w
        calm = w.variable(w.truth, self.yes)
        with w.count(self.config["followed"]) as i:
            g, new = self.lane("g_at", i).get(), self.lane("g_new_at", i).get()
            change, top = self.lane("change_at", i), self.lane("top_at", i)
            now, last = w.call("fabs", w.f("fsub", new, g)), change.get()
            most = w.select(w.f("fcmp ogt", now, last), now, last)
            size = w.call("fabs", new)
            off = [w.f("fcmp ogt", x, most) for x in (w.call("fabs", g), size)]
            same = w.f("fcmp ogt", w.f("fmul", g, new), w.number(0.0))
            calm.set(w.both(calm.get(), w.both(same, w.both(*off))))
            change.set(w.select(whole, now, last))
            larger = w.both(whole, w.f("fcmp ogt", size, top.get()))
            top.set(w.select(larger, size, top.get()))
        return calm.get()

    def look(self, taken: Variable, t: str, h: str, ends: str) -> None:
        """Look closely at the events of a step."""
        w, c = self.w, self.config
        if not self.adaptive:
            # a step that is tried again begins where it began; in a bracket no middle is asked for;
            # rates are those inside of the step, at whose ends they may jump
            mask = taken.get()
            near = w.f("fadd", w.f("fmul", w.call("fabs", t), w.number(NEAR)), w.number(LEAST))
            most = w.f("fmul", h, w.number(1 / 64))
            near = w.select(w.f("fcmp olt", near, most), near, most)
            inside = w.f("fsub", ends, near)
            whole = w.f("fcmp oeq", self.lane("m_at", str(WANTED)).get(), w.number(0.0))
            with w.when(w.some(w.both(whole, mask))):
                self.lane("t_at").set(w.f("fadd", t, near))
                self.slope("x_at", "f_at")
                self.turns("x_at", "f_at", "turn_at")
            self.lane("t_at").set(inside)
            self.slope("y_at", "y_f_at")
            self.rates_at_end(inside)
            stage = self.lane("m_at", str(STAGE)).get()
            with w.when(w.some(w.both(w.f("fcmp une", stage, w.number(1.0)), mask))):
                self.middle(t, h)
        self.lane("t_at").set(t)
        names = (*_LOOKED, "calm_at", "h_at", "t_at", "m_at", "m_new_at", "hit_at", "verdict_at")
        self.kernel(c["look_fn"], *(c[n] for n in names))
        mask = taken.get()
        self.copy(c["m_new_at"], c["m_at"], c["memory"], self.lanes(mask))
        agreed = w.f("fcmp ogt", self.lane("verdict_at").get(), w.number(0.0))
        taken.set(w.both(mask, agreed))
        self.looked.set("1")

    def go_behind(self, reached: str, goal: str, mask: str) -> str:
        """Go from the end of a step to behind the event there; return when that is."""
        w, c = self.w, self.config
        found = w.variable(w.value, reached)
        with w.when(w.i("icmp ne", self.looked.get(), "0")):
            far = self.lane("verdict_at", "3").get()
            lands = w.f("fcmp ogt", self.lane("verdict_at", "2").get(), w.number(0.0))
            lands = w.both(lands, mask)
            with w.when(w.some(lands)):
                with w.count(c["states"]) as i:
                    place = self.lane("y_at", i)
                    moved = w.f("fmul", far, self.lane("y_f_at", i).get())
                    moved = w.f("fadd", place.get(), moved)
                    place.set(w.select(lands, moved, place.get()))
                behind = w.f("fadd", reached, far)
                behind = w.select(w.f("fcmp olt", behind, goal), behind, goal)
                found.set(w.select(lands, behind, reached))
                self.whole["slope_known"].set("0")
        return found.get()

    def rates_at_end(self, ends: str) -> None:
        """Evaluate the rates of events at y, where a method does not give those of y with them."""
        self.lane("t_at").set(ends)
        if self.implicit:
            self.slope("y_at", "y_f_at")
        self.turns("y_at", "y_f_at", "turn_new_at")

    def middle(self, t: str, h: str) -> None:
        """Evaluate the events in the middle of the step."""
        w, c = self.w, self.config
        self.kernel(c["middle_fn"], *(c[f"{n}_at"] for n in ("x", "y", "f", "y_f", "h", "z")))
        self.lane("t_at").set(w.f("fadd", t, w.f("fmul", h, w.number(0.5))))
        self.events("z_at", "g_mid_at")

    def guard(self) -> None:
        """Come back before a step after which a guard is not above zero."""
        w, c = self.w, self.config
        with w.count(c["events"], c["followed"]) as i:
            bad = w.f("fcmp ule", self.lane("g_new_at", i).get(), w.number(0.0))
            with w.when(bad):
                self.leave(GUARDED, i)

    def happen(self, mask: str) -> None:
        """Log events of the step that was taken, run their actions, end where one is terminal."""
        w, c = self.w, self.config
        lanes = self.lanes(mask)
        with w.when(self.present(c["events_fn"])):
            finished = w.variable("i64", "-1")
            self.copy(c["g_new_at"], c["g_at"], c["followed"], lanes)
            with w.when(w.i("icmp ne", self.looked.get(), "0")), w.count(c["followed"]) as i:
                self.beyond(i, mask)
            with w.when(w.i("icmp ne", self.looked.get(), "0")), w.count(c["followed"]) as i:
                hit = w.both(w.f("fcmp ogt", self.lane("hit_at", i).get(), w.number(0.0)), mask)
                with w.when(w.some(hit)):
                    self.happened(i, hit, finished)
            with w.when(w.i("icmp ne", self.looked.get(), "0")):
                self.endless(mask)
            if not self.single:  # a single run comes back before a step that a guard refuses
                with w.count(c["events"], c["followed"]) as i:
                    bad = w.f("fcmp ule", self.lane("g_new_at", i).get(), w.number(0.0))
                    bad = w.both(bad, mask)
                    self.end(bad, self.lane("t_at").get(), GUARDED)
            self.finished(finished)

    def endless(self, mask: str) -> None:
        """End a run whose events would happen without end."""
        w = self.w
        which = self.lane("verdict_at", "4").get()
        found = w.both(w.f("fcmp ogt", which, w.number(0.0)), mask)
        if self.single:
            with w.when(found):
                number = w.op(f"fptosi double {which} to i64")
                self.leave(ENDLESS, w.i("sub", number, "1"))
        else:
            code = w.f("fadd", w.f("fmul", which, w.number(WHICH)), w.number(float(ENDLESS)))
            self.end(found, self.lane("t_at").get(), code)

    def beyond(self, index: str, mask: str) -> None:
        """Let a value be what it is at the end of a step that was looked at."""
        w, c = self.w, self.config
        place = w.i("add", w.i("add", index, c["followed"]), str(MEMORY))
        value = self.lane("g_at", index)
        value.set(w.select(mask, self.lane("m_at", place).get(), value.get()))

    def finished(self, which: Variable) -> None:
        """End a single run where a terminal event happened; come back where the log is full."""
        w = self.w
        if self.single:
            with w.when(w.i("icmp sge", which.get(), "0")):
                self.leave(TERMINAL, which.get())
            with w.when(w.i("icmp sge", self.whole["logged"].get(), self.config["log_rows"])):
                self.leave(LOGGED)

    def happened(self, index: str, lanes: str, finished: Variable) -> None:
        """Count an event, log it, run its action, end the run where it is terminal."""
        w, c, now = self.w, self.config, self.whole
        t = self.lane("t_at").get()
        count, first = self.lane("count_at", index), self.lane("first_at", index)
        fresh = w.both(lanes, w.f("fcmp oeq", count.get(), w.number(0.0)))
        first.set(w.select(fresh, t, first.get()))
        more = w.f("fadd", count.get(), w.number(1.0))
        count.set(w.select(lanes, more, count.get()))
        if self.single:
            row = w.at(c["log"], w.i("mul", now["logged"].get(), str(len(LOG))))
            w.store("i64", index, w.at(row, str(LOG["event"])))
            w.store("i64", now["start"].get(), w.at(row, str(LOG["start"])))
            w.store("double", now["s"].get(), w.at(row, str(LOG["s"])))
            now["logged"].set(w.i("add", now["logged"].get(), "1"))
        entry = w.at(c["event_table"], w.i("mul", index, str(len(EVENT))))
        action = w.load("ptr", w.at(entry, str(EVENT["action_fn"])))
        with w.when(self.present(action)):
            fired = self.lane("fired_at", index)
            fired.set(w.select(lanes, w.number(1.0), fired.get()))
            parameters = w.at("%arena", w.load("i64", w.at(entry, str(EVENT["p_at"]))), "double")
            arrays = (*self.states(), parameters, c["w_at"], c["t_at"], c["y_at"], c["o_at"])
            self.kernel(action, *arrays)
            which = self.lanes(lanes)
            self.copy(c["y_at"], c["x_at"], c["states"], which)
            self.copy(c["o_at"], c["d_at"], c["discretes"], which)
            self.forget(which)
        terminal = w.load("i64", w.at(entry, str(EVENT["terminal"])))
        with w.when(w.i("icmp ne", terminal, "0")):
            if self.single:
                finished.set(index)
            else:
                number = w.op(f"sitofp i64 {w.i('add', index, '1')} to double")
                code = w.op(f"fmul double {number}, {WHICH}")
                self.end(lanes, t, w.splat(w.op(f"fadd double {code}, {float(TERMINAL)}")))
