"""Live pages in Chromium: speed, size, first motion, and what the module takes to compile."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.measure import Row
from linkwright.backends.llvm.compile import compile_ir
from linkwright.pages.live import live_page_text
from linkwright.simulation.native.steps import bundle_ir
from linkwright.simulation.native.wasm import live_module
from linkwright.studio.live_page import live_model
from tests.support.chromium import opened

TITLE = "Live pages"
_MODELS = ("double-pendulum", "whipple", "car", "servo-arm", "puma560", "puma-on-wave")
_SAMPLES = 1200
_GOING = """(n) => { const l = studio.live; studio.playing = false;
    for (let k = 0; k < n / 4; k++) l.advance();
    const begun = performance.now(), from = l.head;
    for (let k = 0; k < n; k++) l.advance();
    return (1000 * (l.head - from)) / (performance.now() - begun) / l.told.speed; }"""


def run() -> list[Row]:
    """Measure pages of shipped models, with the bits of the native run and without."""
    rows = []
    for name in _MODELS:
        model = live_model(name)
        for exact in (True, False):
            speed, first, size = _measured(live_page_text(model, exact=exact))
            kind = "exact" if exact else "plain"
            note = "of the speed at which it is shown"
            rows.append(Row(f"{name}, {kind}: times real time", speed, "1", 10.0, "higher", note))
            if exact:
                rows.append(Row(f"{name}: page", size / 1e3, "kB", 400.0, "lower"))
                rows.append(Row(f"{name}: first motion after load", first, "s", 0.5, "lower"))
        phases, method = model.session.phases, model.session.machine.settings.method
        begin = time.perf_counter()
        live_module(model.session)
        ours = time.perf_counter() - begin
        begin = time.perf_counter()
        compile_ir(bundle_ir(phases, method, 1))
        native = time.perf_counter() - begin
        note = f"{ours:.2g} s, native {native:.2g} s"
        rows.append(Row(f"{name}: module against kernel", ours / native, "1", 2.0, "lower", note))
    return rows


def _measured(text: str) -> tuple[float, float, int]:
    """Return times real time, seconds to the first motion, and bytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "live.html"
        file.write_text(text, encoding="utf-8")
        with opened(file, offline=True, moving=True) as (page, wrong):
            while not page.evaluate("window.studio?.live?.head > 0.001"):
                time.sleep(0.005)
            first = page.evaluate("performance.now()") / 1e3
            speed = page.evaluate(_GOING, _SAMPLES)
        assert not wrong, wrong
        return speed, first, file.stat().st_size
