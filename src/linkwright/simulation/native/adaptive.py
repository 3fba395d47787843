"""Adaptive steps in native code: each lane with a size of its own."""

from __future__ import annotations

from linkwright.simulation.native.crossings import EventWriter
from linkwright.simulation.native.tables import TOO_MANY, TOO_SMALL


class AdaptiveWriter(EventWriter):
    """Writes the way through a gap in steps that are as long as the error allows."""

    def adaptive_steps(self) -> None:
        """Go through the gap in steps that are as long as the error allows."""
        w, c, now = self.w, self.config, self.whole
        span = w.splat(self.span.get())
        begin = w.splat(self.time())
        w.label("steps")
        s = self.lane("s_at").get()
        active = w.f("fcmp olt", s, span)
        alive = self.alive()
        if alive is not None:
            active = w.both(active, alive)
        w.do(f"br i1 {w.some(active)}, label %try, label %gone")
        w.lines.append("try:")
        proposed = self.lane("proposed_at")
        t = w.f("fadd", begin, s)
        self.lane("t_at").set(t)
        self.known_slope()
        fresh = w.f("fcmp oeq", proposed.get(), w.number(0.0))
        with w.when(w.some(fresh)):
            arrays = (*self.states(), *(c[n] for n in ("p_step_at", "w_at", "t_at", "c_at")))
            self.kernel(c["first_fn"], *arrays, c["h_at"])
            proposed.set(w.select(fresh, self.lane("h_at").get(), proposed.get()))
        self.known_events()
        rest = w.f("fsub", span, s)
        last = w.f("fcmp oge", w.f("fmul", proposed.get(), w.number(1.01)), rest)
        h = w.select(last, rest, proposed.get())
        h = w.select(active, h, w.number(0.0))
        self.lane("h_at").set(h)
        self.step()
        error, grow, shrink = (self.lane("e_at", str(i)).get() for i in range(3))
        good = w.f("fcmp ole", error, w.number(1.0))
        taken = w.both(good, active)
        smaller = w.f("fcmp olt", shrink, w.number(1.0))
        smaller = w.select(smaller, shrink, w.number(0.1))
        shorter = w.f("fmul", h, smaller)
        tiny = w.f("fcmp ole", h, w.splat(c["smallest"]))
        bad = w.op(f"xor {w.truth} {good}, {'true' if self.single else 'splat (i1 true)'}")
        bad = w.both(bad, active)
        stuck = w.both(bad, tiny)
        with w.when(w.some(bad)):
            now["rejected"].set(w.i("add", now["rejected"].get(), "1"))
            proposed.set(w.select(bad, shorter, proposed.get()))
        with w.when(w.some(stuck)):
            if self.single:
                self.leave(TOO_SMALL)
            else:
                self.end(stuck, t, TOO_SMALL)
        w.do(f"br i1 {w.some(taken)}, label %take, label %steps")
        w.lines.append("take:")
        reached = w.select(last, span, w.f("fadd", s, h))
        reached = w.select(taken, reached, s)
        self.lane("t_at").set(w.f("fadd", begin, reached))
        mask = None if self.single else taken
        due = w.splat(self.seconds(now["target"].get()))
        ends = w.select(last, due, w.f("fadd", begin, w.f("fadd", s, h)))
        if self.single:
            size = w.variable("double", h)
            self.look(t, size, ends, begin, s)
            short = w.i("icmp ne", now["cut"].get(), "0")
            cut = w.op(f"fadd double {s}, {size.get()}")
            reached = w.op(f"select i1 {short}, double {cut}, double {reached}")
            if self.dense:
                self.inner_samples(begin, s, reached, size.get())
            self.lane("t_at").set(w.f("fadd", begin, reached))
        else:
            self.look(t, None, ends, begin, s)
        # from here on the step counts; a call that came back before would repeat it
        longer = w.f("fmul", h, grow)
        kept = w.f("fcmp ogt", proposed.get(), longer)
        kept = w.select(w.both(last, kept), proposed.get(), longer)
        proposed.set(w.select(taken, kept, proposed.get()))
        old_error = self.lane("b_at")
        old_error.set(w.select(taken, error, old_error.get()))
        self.copy(c["y_at"], c["x_at"], c["states"], mask)
        self.copy(c["y_f_at"], c["f_at"], c["states"], mask)
        self.lane("s_at").set(reached)
        if self.single:
            now["s"].set(reached)
        self.accept(mask)
        self.counted()
        self.happen(mask)
        if not self.single:
            self.end_crawling(taken)
        self.interrupt()
        w.do("br label %steps")
        w.lines.append("gone:")

    def end_crawling(self, taken: str) -> None:
        """End the runs that have taken as many steps of their own as a run may."""
        w = self.w
        count = self.lane("taken_at")
        one = w.select(taken, w.number(1.0), w.number(0.0))
        count.set(w.f("fadd", count.get(), one))
        many = w.f("fcmp oge", count.get(), w.splat(self.config["most"]))
        alive = self.alive()
        assert alive is not None
        many = w.both(w.both(many, taken), alive)
        with w.when(w.some(many)):
            self.end(many, self.lane("t_at").get(), TOO_MANY)

    def known_slope(self) -> None:
        """Evaluate the derivative at x, where it is not known from the step before."""
        w, c, now = self.w, self.config, self.whole
        unknown = w.i("icmp eq", now["slope_known"].get(), "0")
        wanted = w.op(f"and i1 {unknown}, {self.present(c['slope_fn'])}")
        with w.when(wanted):
            arrays = (*self.states(), *(c[n] for n in ("p_step_at", "w_at", "t_at")))
            self.kernel(c["slope_fn"], *arrays, c["f_at"])
            now["slope_known"].set("1")

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
