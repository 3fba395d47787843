"""Events in native code: values that go through zero, and guards that must not."""

from __future__ import annotations

from linkwright.simulation.native.block import BlockWriter
from linkwright.simulation.native.tables import EVENT, GUARDED, LOG, LOGGED, TERMINAL
from linkwright.simulation.native.text import Variable

_BISECTIONS = 50


class EventWriter(BlockWriter):
    """Writes what is done about events.

    A single run's step is repeated in parts until the first crossing is bracketed; in a batch a
    crossing counts where the step ends.
    """

    def known_events(self) -> None:
        """Evaluate the events at x, where their values are not known from the step before.

        Guards come last, and only their values after a step count: they alone are not evaluated.
        """
        w, c, now = self.w, self.config, self.whole
        unknown = w.i("icmp eq", now["events_known"].get(), "0")
        with w.when(w.op(f"and i1 {unknown}, {self.present(c['events_fn'])}")):
            first = w.load("i64", w.at(c["event_table"], str(EVENT["guard"])))
            with w.when(w.i("icmp eq", first, "0")):
                self.events("x_at", "g_at")
                now["events_known"].set("1")

    def events(self, x: str, g: str) -> None:
        c = self.config
        self.kernel(
            c["events_fn"],
            c[x],
            c["d_at"],
            c["p_events_at"],
            c["w_at"],
            c["t_at"],
            c[g],
        )

    def crossed(self, index: str) -> str:
        """Return in which lanes an event goes through zero between g and g_new."""
        w, c = self.w, self.config
        row = w.at(c["event_table"], w.i("mul", index, str(len(EVENT))))
        direction = w.load("i64", w.at(row, str(EVENT["direction"])))
        before, after = self.lane("g_at", index).get(), self.lane("g_new_at", index).get()
        zero = w.number(0.0)
        up = w.both(w.f("fcmp olt", before, zero), w.f("fcmp oge", after, zero))
        down = w.both(w.f("fcmp ogt", before, zero), w.f("fcmp ole", after, zero))
        false = "false" if self.single else "splat (i1 false)"
        no_up = w.i("icmp slt", direction, "0")
        no_down = w.i("icmp sgt", direction, "0")
        up = w.op(f"select i1 {no_up}, {w.truth} {false}, {w.truth} {up}")
        down = w.op(f"select i1 {no_down}, {w.truth} {false}, {w.truth} {down}")
        found = w.op(f"or {w.truth} {up}, {down}")
        if self.single:
            return found
        # a single run comes back before a step that a guard refuses; a lane ends after it
        guards = w.i("icmp ne", w.load("i64", w.at(row, str(EVENT["guard"]))), "0")
        bad = w.f("fcmp ule", after, zero)
        return w.op(f"select i1 {guards}, {w.truth} {bad}, {w.truth} {found}")

    def any_crossed(self) -> str:
        w, c = self.w, self.config
        found = w.variable("i1", "false")
        with w.count(c["events"]) as i:
            found.set(w.op(f"or i1 {found.get()}, {w.some(self.crossed(i))}"))
        return found.get()

    def look(self, t: str, h: Variable | None, ends: str, begin: str, s: str) -> None:
        """Compare events before and after the step; cut a single run's step at the first one.

        `t`, begin + s, is where the step starts. At its end events are evaluated at `ends`, where
        the next step begins, to the last bit: otherwise one that goes through zero there could be
        lost in between.
        """
        w, c = self.w, self.config
        self.ended.set("0")
        self.whole["cut"].set("0")
        with w.when(self.present(c["events_fn"])):
            reached = self.lane("t_at").get()
            self.lane("t_at").set(ends)
            self.events("y_at", "g_new_at")
            self.lane("t_at").set(reached)
            if not self.single:
                self.ended.set("1")
            else:
                assert h is not None
                self.guard()
                with w.when(self.any_crossed()):
                    self.ended.set("1")
                    self.bracket(t, h, ends, begin, s)

    def guard(self) -> None:
        """Come back before a step after which a guard is not above zero."""
        w, c = self.w, self.config
        with w.count(c["events"]) as i:
            row = w.at(c["event_table"], w.i("mul", i, str(len(EVENT))))
            guards = w.i("icmp ne", w.load("i64", w.at(row, str(EVENT["guard"]))), "0")
            bad = w.f("fcmp ule", self.lane("g_new_at", i).get(), w.number(0.0))
            with w.when(w.op(f"and i1 {guards}, {bad}")):
                self.leave(GUARDED, i)

    def bracket(self, t: str, h: Variable, ends: str, begin: str, s: str) -> None:
        """Shorten the step to where the first event has just gone through zero."""
        w, now = self.w, self.whole
        full = h.get()
        low, high = w.variable("double", "0.0"), w.variable("double", full)
        with w.count(str(_BISECTIONS)):
            middle = w.op(f"fadd double {low.get()}, {high.get()}")
            middle = w.op(f"fmul double {middle}, 0.5")
            self.partial(t, middle, w.f("fadd", begin, w.f("fadd", s, middle)))
            crossed = self.any_crossed()
            now_low = w.op(f"select i1 {crossed}, double {low.get()}, double {middle}")
            now_high = w.op(f"select i1 {crossed}, double {middle}, double {high.get()}")
            low.set(now_low)
            high.set(now_high)
        less = w.op(f"fcmp olt double {high.get()}, {full}")
        inside = w.f("fadd", begin, w.f("fadd", s, high.get()))
        self.partial(t, high.get(), w.op(f"select i1 {less}, double {inside}, double {ends}"))
        h.set(high.get())
        now["cut"].set(w.op(f"zext i1 {less} to i64"))

    def partial(self, t: str, h: str, ends: str) -> None:
        """Repeat the step with another size, and evaluate the events at its end."""
        self.lane("t_at").set(t)
        self.lane("h_at").set(h)
        self.step()
        self.lane("t_at").set(ends)
        self.events("y_at", "g_new_at")

    def happen(self, mask: str | None) -> None:
        """Log events of the step that was taken, run their actions, end where one is terminal."""
        w, c, now = self.w, self.config, self.whole
        with w.when(self.present(c["events_fn"])):
            finished = w.variable("i64", "-1")
            with w.when(w.i("icmp ne", self.ended.get(), "0")), w.count(c["events"]) as i:
                crossed = self.crossed(i)
                if mask is not None:
                    crossed = w.both(crossed, mask)
                with w.when(w.some(crossed)):
                    self.happened(i, crossed, finished)
            known = w.i("icmp ne", now["events_known"].get(), "0")
            with w.when(known):
                self.copy(c["g_new_at"], c["g_at"], c["events"], mask)
            if self.single:
                with w.when(w.i("icmp sge", finished.get(), "0")):
                    self.leave(TERMINAL, finished.get())
                with w.when(w.i("icmp sge", now["logged"].get(), c["log_rows"])):
                    self.leave(LOGGED)

    def happened(self, index: str, crossed: str, finished: Variable) -> None:
        w, c, now = self.w, self.config, self.whole
        t = self.lane("t_at").get()
        count, first = self.lane("count_at", index), self.lane("first_at", index)
        fresh = w.both(crossed, w.f("fcmp oeq", count.get(), w.number(0.0)))
        first.set(w.select(fresh, t, first.get()))
        more = w.f("fadd", count.get(), w.number(1.0))
        count.set(w.select(crossed, more, count.get()))
        if self.single:
            row = w.at(c["log"], w.i("mul", now["logged"].get(), str(len(LOG))))
            w.store("i64", index, w.at(row, str(LOG["event"])))
            w.store("i64", now["start"].get(), w.at(row, str(LOG["start"])))
            w.store("double", now["s"].get(), w.at(row, str(LOG["s"])))
            now["logged"].set(w.i("add", now["logged"].get(), "1"))
        entry = w.at(c["event_table"], w.i("mul", index, str(len(EVENT))))
        action = w.load("ptr", w.at(entry, str(EVENT["action_fn"])))
        with w.when(self.present(action)):
            parameters = w.at("%arena", w.load("i64", w.at(entry, str(EVENT["p_at"]))), "double")
            arrays = (*self.states(), parameters, c["w_at"], c["t_at"], c["y_at"], c["o_at"])
            self.kernel(action, *arrays)
            which = None if self.single else crossed
            self.copy(c["y_at"], c["x_at"], c["states"], which)
            self.copy(c["o_at"], c["d_at"], c["discretes"], which)
            now["slope_known"].set("0")
            now["events_known"].set("0")
        terminal = w.load("i64", w.at(entry, str(EVENT["terminal"])))
        with w.when(w.i("icmp ne", terminal, "0")):
            if self.single:
                finished.set(index)
            else:
                guard = w.load("i64", w.at(entry, str(EVENT["guard"])))
                why = w.op(
                    f"select i1 {w.i('icmp ne', guard, '0')}, double {GUARDED}.0, "
                    f"double {TERMINAL}.0"
                )
                self.end(crossed, t, w.splat(why))
