"""Small Systems, already flattened, for tests of native runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwright.algebra import Expr, symbol
from linkwright.system.phases import Event, Phases, Signal, Tick, phase_program

T = symbol("t", "time")
K = symbol("k", "discrete")


class Parts:
    """The arrays of a System: names and start values of x, d, p, w."""

    def __init__(
        self,
        x: Mapping[str, float],
        d: Mapping[str, float] | None = None,
        p: Mapping[str, float] | None = None,
        w: Mapping[str, float] | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        roles = {"x": "coordinate", "d": "discrete", "p": "parameter", "w": "input"}
        given = {"x": x, "d": d or {}, "p": p or {}, "w": w or {}}
        self.signals = {
            array: tuple(
                Signal(n, symbol(n, roles[array]), v, kind=(kinds or {}).get(n, "state"))
                for n, v in values.items()
            )
            for array, values in given.items()
        }

    def __getitem__(self, name: str) -> Expr:
        for signals in self.signals.values():
            for s in signals:
                if s.name == name:
                    assert s.symbol is not None
                    return s.symbol
        raise KeyError(name)

    def program(self, name: str, outputs: Mapping[str, Sequence[Any]], **more: Any) -> Any:
        return phase_program(name, self.signals, T, outputs, **more)

    def tick(
        self, values: Mapping[str, Any], streams: Sequence[int] = (), noise: Any = (), **more: Any
    ) -> Tick:
        """Return a tick that sets discrete states by name."""
        names = [s.name for s in self.signals["d"]]
        made = self.program("tick", {"d_new": list(values.values())}, tick=K, noise=noise)
        slots = tuple(names.index(n) for n in values)
        return Tick("tick", made, slots, streams=tuple(streams), **more)

    def phases(
        self,
        rates: Sequence[Any],
        tick_seconds: float = 0.01,
        outputs: Mapping[str, Any] | None = None,
        events: Mapping[Event, Any] | None = None,
        accepted: tuple[Sequence[Any], Sequence[Any]] | None = None,
        **more: Any,
    ) -> Phases:
        """Return the phases of a System with these rates."""
        shown = {s.name: s.symbol for s in self.signals["x"]} if outputs is None else outputs
        made: dict[str, Any] = {}
        if events:
            made["events"] = self.program("events", {"g": list(events.values())})
            made["event_list"] = tuple(events)
        if accepted is not None:
            made["accepted"] = self.program(
                "accepted", {"x_new": accepted[0], "d_new": accepted[1]}
            )
        return Phases(
            "test",
            self.signals["x"],
            self.signals["d"],
            self.signals["p"],
            self.signals["w"],
            T,
            tick_seconds,
            self.program("rates", {"x_dot": list(rates)}),
            output=self.program("output", {"y": list(shown.values())}) if shown else None,
            outputs=tuple(Signal(n, None) for n in shown),
            **made,
            **more,
        )
