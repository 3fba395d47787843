"""A headless Chromium for tests of pages: with software rendering, and with the network cut."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE

_WITHOUT = (
    # pages of the browser's own, drawn anew behind each window: a quarter of what a page costs
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    # what Playwright leaves out, since of two such lists the browser takes the last
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,PaintHolding,AimEnabled",
    "ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,OptimizationHints",
    "NetworkTimeServiceQuerying,PreconnectToSearch",
)

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-gpu-compositing",  # there is none: frames of pages are put together by the processor
    f"--disable-features={','.join(_WITHOUT)}",
)

_WITHOUT_GRAPHICS = """window.spared = true;
for (const kind of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"]) {
    const drawing = WebGL2RenderingContext.prototype, draw = drawing[kind];
    drawing[kind] = function (...told) { if (!window.spared) draw.apply(this, told); };
}"""
"""For pages that need not be looked at: nothing is drawn."""


def chromium() -> str:
    """Return where Chromium is; scripts/need_chromium.sh says how to get it."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError("there is no Chromium on this machine; run sh scripts/need_chromium.sh")


@cache
def _browser() -> Any:
    """Return the browser of this process, which all tests share; it ends with the process."""
    from playwright.sync_api import sync_playwright

    play = sync_playwright().start()
    made = play.chromium.launch(executable_path=chromium(), args=list(FLAGS))

    def end() -> None:
        made.close()
        play.stop()

    atexit.register(end)
    return made


@contextmanager
def opened(
    address: str | Path,
    *,
    drawn: bool = False,
    offline: bool = False,
    width: int = 1280,
    height: int = 800,
    touch: bool = False,
    dark: bool = False,
    moving: bool = False,
    script: str = "",
) -> Iterator[tuple[Any, list[str]]]:
    """Yield a page of Playwright's, and the list of what went wrong on it so far.

    Args:
        address: of the page, or a file.
        drawn: whether the scene is drawn, which takes most of the time here; `window.spared` of the
            page may change it.
        offline: cut the network, and count any request but for the file itself as wrong.
        width: of the window, pixels.
        height: of the window, pixels.
        touch: a tablet's screen, with fingers and no mouse that hovers.
        dark: whether the user prefers dark pages.
        moving: whether pages may move by themselves; otherwise the user prefers reduced motion.
        script: run before those of the page.
    """
    wrong: list[str] = []
    context = _browser().new_context(
        viewport={"width": width, "height": height},
        offline=offline,
        has_touch=touch,
        is_mobile=touch,
        color_scheme="dark" if dark else "light",
        reduced_motion="no-preference" if moving else "reduce",
    )
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    target = address if isinstance(address, str) else address.resolve().as_uri()
    if offline:
        page.on(
            "request",
            lambda r: (
                None if r.url.startswith(("file:", "data:", "blob:")) else wrong.append(r.url)
            ),
        )
    if not drawn:
        page.add_init_script(_WITHOUT_GRAPHICS)
    if script:
        page.add_init_script(script)
    try:
        page.goto(target)
        yield page, wrong
    finally:
        context.close()
