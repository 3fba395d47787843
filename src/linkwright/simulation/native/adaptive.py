"""Steps in native code: each lane goes on by itself, in steps of its own size."""

from __future__ import annotations

from linkwright.simulation.native import pace
from linkwright.simulation.native.crossings import EventWriter
from linkwright.simulation.native.tables import TOO_MANY, TOO_SMALL
from linkwright.simulation.native.text import Variable
from linkwright.simulation.plain.driver import PATIENCE, SMALLEST, STRETCH


class StepWriter(EventWriter):
    """Writes the way through a gap: in equal steps, or as long as the error allows."""

    def steps(self) -> None:
        """Go through the gap; a lane that has come to its end, or to a point of the grid, waits."""
        w, c, now = self.w, self.config, self.whole
        begin = w.splat(self.time())
        span = self.span.get()
        goal, size, grid = span, span, "1.0"
        uncut = w.variable(w.truth, self.yes)  # whether a fixed step begins at a point of the grid
        if not self.adaptive:
            grid = w.op(f"sitofp i64 {now['grid'].get()} to double")
            size = w.op(f"fdiv double {span}, {grid}")
            origin = w.splat(self.grid_point(0, grid, span))
            uncut.set(w.f("fcmp oeq", self.lane("s_at").get(), origin))
        w.label("steps")
        if not self.adaptive:
            goal = self.grid_point(1, grid, span)
        inner, goal = goal, w.splat(goal)
        s = self.lane("s_at").get()
        active = w.f("fcmp olt", s, goal)
        alive = self.alive()
        if alive is not None:
            active = w.both(active, alive)
        w.do(f"br i1 {w.some(active)}, label %try, label %there")
        w.lines.append("there:")
        if self.adaptive:
            w.do("br label %gone")
        else:
            now["j"].set(w.i("add", now["j"].get(), "1"))
            uncut.set(self.yes)
            on = w.i("icmp slt", now["j"].get(), now["grid"].get())
            w.do(f"br i1 {on}, label %steps, label %gone")
        w.lines.append("try:")
        t = w.f("fadd", begin, s)
        self.lane("t_at").set(t)
        self.known_events()
        rest = w.f("fsub", goal, s)
        hop: Variable | None = None
        if self.adaptive:
            self.known_slope()
            proposed = self.lane("proposed_at")
            self.first_size(proposed)
            last = w.f("fcmp oge", w.f("fmul", proposed.get(), w.number(STRETCH)), rest)
            h, last = self.wanted(w.select(last, rest, proposed.get()), last, rest)
            h, last, hop = self.up_to_break(h, last)
        else:
            h = self.unless(uncut.get(), w.splat(size), rest)
            h, last = self.wanted(h, self.yes, rest)
        h = h if self.single else w.select(active, h, w.number(0.0))
        self.lane("h_at").set(h)
        self.step()
        if self.adaptive:
            good = self.controlled(t, h, active, last)
            taken = w.variable(w.truth, w.both(good, active))
            w.do(f"br i1 {w.some(taken.get())}, label %take, label %refused")
            w.lines.append("take:")
        else:
            taken = w.variable(w.truth, self.finite(active))
        reached = self.unless(last, goal, w.f("fadd", s, h))
        if hop is not None:
            behind = w.f("fadd", reached, hop.get())
            reached = w.select(w.f("fcmp olt", behind, goal), behind, goal)
        due = self.seconds(now["target"].get())
        if not self.adaptive:
            final = w.i("icmp eq", w.i("add", now["j"].get(), "1"), now["grid"].get())
            inner = w.op(f"fadd double {self.time()}, {inner}")
            due = w.op(f"select i1 {final}, double {due}, double {inner}")
        ends = w.select(last, w.splat(due), w.f("fadd", begin, w.f("fadd", s, h)))
        self.follow(taken, t, h, ends)
        mask = taken.get()
        with w.when(w.i("icmp ne", self.looked.get(), "0")):
            now["rejected"].set(w.i("add", now["rejected"].get(), self.tried_again(mask)))
        w.do(f"br i1 {w.some(mask)}, label %count, label %refused")
        self.refused(t, active)
        w.lines.append("count:")
        # from here on the step counts; a call that came back before would repeat it
        if self.dense:
            self.inner_samples(begin, s, reached, h)
        reached = self.go_behind(reached, goal, mask)
        self.lane("t_at").set(w.f("fadd", begin, reached))
        if self.adaptive:
            self.propose(h, last, mask, hop)
            self.copy(c["y_f_at"], c["f_at"], c["states"], self.lanes(mask))
        self.copy(c["y_at"], c["x_at"], c["states"], self.lanes(mask))
        self.lane("s_at").set(w.select(mask, reached, s))
        if self.single:
            now["s"].set(reached)
        self.accept(self.lanes(mask))
        if hop is not None:
            crossed = w.both(w.f("fcmp ogt", hop.get(), w.number(0.0)), mask)
            with w.when(w.some(crossed)):
                self.forget(self.lanes(crossed))
        self.counted()
        if not self.adaptive:
            uncut.set(w.both(uncut.get(), w.op(f"xor {w.truth} {mask}, {self.yes}")))
        self.happen(mask)
        if self.adaptive and not self.single:
            self.end_crawling(mask)
        self.interrupt()
        if self.single and not self.adaptive:  # the point of the grid is reached, unless cut before
            w.do(f"br i1 {w.f('fcmp oge', now['s'].get(), goal)}, label %there, label %steps")
        else:
            w.do("br label %steps")
        w.lines.append("gone:")

    def refused(self, t: str, active: str) -> None:
        """Try again, unless that was done so often that it would never come to an end."""
        w = self.w
        w.lines.append("refused:")
        self.refusals.set(w.i("add", self.refusals.get(), "1"))
        with w.when(w.i("icmp sgt", self.refusals.get(), str(PATIENCE))):
            if self.single:
                self.leave(TOO_SMALL)
            else:
                self.end(active, t, TOO_SMALL)
        w.do("br label %steps")

    def unless(self, usual: str, value: str, other: str) -> str:
        """Return a value where it is as usual, else another, for which nothing waits then."""
        w = self.w
        if self.adaptive:
            return w.select(usual, value, other)
        found = w.variable(w.value, value)
        with w.when(w.some(w.op(f"xor {w.truth} {usual}, {self.yes}")), rarely=True):
            found.set(w.select(usual, value, other))
        return found.get()

    def grid_point(self, ahead: int, grid: str, span: str) -> str:
        """Return where the grid of fixed steps has its next points, s after the gap's begin."""
        w = self.w
        point = w.i("add", self.whole["j"].get(), str(ahead))
        part = w.op(f"fdiv double {w.op(f'sitofp i64 {point} to double')}, {grid}")
        return w.op(f"fmul double {part}, {span}")

    def tried_again(self, mask: str) -> str:
        """Return 1 where no lane takes the step, else 0."""
        none = self.w.op(f"xor i1 {self.w.some(mask)}, true")
        return self.w.op(f"zext i1 {none} to i64")

    def first_size(self, proposed: Variable) -> None:
        """Find the size of the first step, where none is given."""
        w, c = self.w, self.config
        fresh = w.f("fcmp oeq", proposed.get(), w.number(0.0))
        with w.when(w.some(fresh)):
            arrays = (*self.states(), *(c[n] for n in ("p_step_at", "w_at", "t_at", "c_at")))
            self.kernel(c["first_fn"], *arrays, c["h_at"])
            proposed.set(w.select(fresh, self.lane("h_at").get(), proposed.get()))

    def up_to_break(self, h: str, last: str) -> tuple[str, str, Variable]:
        """Let a step end just before something known changes, and the next begin behind it."""
        w, c = self.w, self.config
        size, ends = w.variable(w.value, h), w.variable(w.truth, last)
        hop = w.variable(w.value, w.number(0.0))
        with w.when(self.present(c["breaks_fn"])):
            arrays = (*self.states(), *(c[n] for n in ("p_breaks_at", "w_at", "t_at", "ahead_at")))
            self.kernel(c["breaks_fn"], *arrays)
            ahead, takes = (self.lane("ahead_at", str(i)).get() for i in range(2))
            near = w.f("fcmp olt", ahead, h)
            size.set(w.select(near, ahead, h))
            hop.set(w.select(near, takes, w.number(0.0)))
            ends.set(w.both(w.op(f"xor {w.truth} {near}, {self.yes}"), last))
        return size.get(), ends.get(), hop

    def controlled(self, t: str, h: str, active: str, last: str) -> str:
        """Return in which lanes the error is small enough; let the others try shorter steps."""
        w, c, now = self.w, self.config, self.whole
        error, shrink = (self.lane("e_at", str(i)).get() for i in (0, 2))
        good = self.within(w.f("fcmp ole", error, w.number(1.0)))
        bad = w.both(w.op(f"xor {w.truth} {good}, {self.yes}"), active)
        with w.when(w.some(bad)):
            smaller = w.f("fcmp olt", shrink, w.number(1.0))
            smaller = w.select(smaller, shrink, w.number(0.1))
            most = w.select(last, w.number(0.99 / STRETCH), w.number(1.0))
            smaller = w.select(w.f("fcmp olt", smaller, most), smaller, most)
            proposed = self.lane("proposed_at")
            now["rejected"].set(w.i("add", now["rejected"].get(), "1"))
            proposed.set(w.select(bad, w.f("fmul", h, smaller), proposed.get()))
            self.forget_tries(bad)
            # of a run that may last for weeks it is the time that is reached that counts
            near = w.f("fmul", w.f("fadd", t, w.number(1.0)), w.number(SMALLEST))
            whole = w.splat(c["smallest"])
            least = w.select(w.f("fcmp olt", near, whole), near, whole)
            stuck = w.both(bad, w.f("fcmp ole", h, least))
            with w.when(w.some(stuck)):
                if self.single:
                    self.leave(TOO_SMALL)
                else:
                    self.end(stuck, t, TOO_SMALL)
        return good

    def propose(self, h: str, last: str, mask: str, hop: Variable | None) -> None:
        """Propose the size of the next step.

        Where the step was cut at the end of the gap, at a change or at an event, the size that was
        proposed before is not forgotten.
        """
        w = self.w
        error, grow = (self.lane("e_at", str(i)).get() for i in range(2))
        proposed, longer = self.lane("proposed_at"), w.f("fmul", h, grow)
        cut, limit = w.variable(w.truth, last), w.variable(w.value, w.number(float("inf")))
        assert hop is not None
        at_break = w.f("fcmp ogt", hop.get(), w.number(0.0))
        cut.set(w.op(f"or {w.truth} {cut.get()}, {at_break}"))
        with w.when(w.i("icmp ne", self.looked.get(), "0")):
            limit.set(self.lane("verdict_at", "1").get())
            landed = w.f("fcmp ogt", self.lane("verdict_at", "2").get(), w.number(0.0))
            cut.set(w.op(f"or {w.truth} {cut.get()}, {landed}"))
        kept = w.f("fcmp ogt", proposed.get(), longer)
        size = w.select(w.both(cut.get(), kept), proposed.get(), longer)
        size = w.select(w.f("fcmp olt", size, limit.get()), size, limit.get())
        proposed.set(w.select(mask, size, proposed.get()))
        old_error = self.lane("b_at")
        old_error.set(w.select(mask, error, old_error.get()))

    def end_crawling(self, taken: str) -> None:
        """End the runs that crawl, and those that have taken as many steps as a run may.

        What crawls is said in `pace.Pace`; each lane goes by its own steps alone.
        """
        w, c = self.w, self.config
        count, t = self.lane("taken_at"), self.lane("t_at").get()
        one = w.select(taken, w.number(1.0), w.number(0.0))
        count.set(w.f("fadd", count.get(), one))
        steps, since = (self.lane("pace_at", str(i)) for i in range(2))
        done = w.f("fsub", count.get(), steps.get())
        often = w.both(w.f("fcmp oge", done, w.splat(c["often"])), taken)
        many = w.variable(w.truth, w.both(w.f("fcmp oge", count.get(), w.splat(c["most"])), taken))
        with w.when(w.some(often)):
            mean = w.f("fdiv", w.f("fsub", t, since.get()), done)
            rest = w.f("fsub", w.splat(self.seconds(c["until"])), t)
            slow = w.f("fcmp olt", w.f("fmul", mean, w.number(pace.TOO_MANY)), rest)
            many.set(w.op(f"or {w.truth} {many.get()}, {w.both(often, slow)}"))
            for place, now in ((steps, count.get()), (since, t)):
                place.set(w.select(often, now, place.get()))
        alive = self.alive()
        assert alive is not None
        ended = w.both(many.get(), alive)
        with w.when(w.some(ended)):
            self.end(ended, t, TOO_MANY)

    def known_slope(self) -> None:
        """Evaluate the derivative at x, and the rates of events, where they are not known."""
        w, c, now = self.w, self.config, self.whole
        unknown = w.i("icmp eq", now["slope_known"].get(), "0")
        with w.when(w.op(f"and i1 {unknown}, {self.present(c['slope_fn'])}")):
            self.slope("x_at", "f_at")
            now["slope_known"].set("1")
            with w.when(self.follows()):
                self.turns("x_at", "f_at", "turn_at")

    def inner_samples(self, begin: str, s: str, reached: str, h: str) -> None:
        """Interpolate the samples that lie inside the step, those at its end left out."""
        w, c, now = self.w, self.config, self.whole
        with w.when(w.i("icmp ne", c["every"], "0")):

            def offset() -> str:
                ticks = w.i("sub", now["sample"].get(), now["start"].get())
                return w.op(
                    f"fmul double {w.op(f'sitofp i64 {ticks} to double')}, {c['tick_seconds']}"
                )

            def inside() -> str:
                early = w.f("fcmp olt", offset(), reached)
                before = w.i("icmp slt", now["sample"].get(), now["target"].get())
                return w.both(early, before)

            with w.during(inside):
                at = offset()
                self.lane("theta_at").set(w.f("fdiv", w.f("fsub", at, s), h))
                self.lane("t_at").set(w.f("fadd", begin, at))
                names = ("x_at", "y_at", "f_at", "y_f_at", "r_at", "h_at", "theta_at", "z_at")
                self.kernel(c["dense_fn"], *(c[n] for n in names))
                with w.when(self.present(c["accepted_fn"])):
                    settle = ("z_at", "d_at", "p_accepted_at", "w_at", "t_at", "z_new_at", "o_at")
                    self.kernel(c["accepted_fn"], *(c[n] for n in settle))
                    self.copy(c["z_new_at"], c["z_at"], c["states"])
                self.record(c["z_at"])
