"""A headless Chromium for tests of pages: with software rendering, and with the network cut."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
)


def chromium() -> str:
    """Return where Chromium is; scripts/need_chromium.sh says how to get it."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError("there is no Chromium on this machine; run sh scripts/need_chromium.sh")


@contextmanager
def opened(
    address: str | Path, *, offline: bool = False, width: int = 1280, height: int = 800
) -> Iterator[tuple[Any, list[str]]]:
    """Yield a page of Playwright's, and the list of what went wrong on it so far.

    Args:
        address: of the page, or a file.
        offline: cut the network, and count any request but for the file itself as wrong.
        width: of the window, pixels.
        height: of the window, pixels.
    """
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        context = browser.new_context(viewport={"width": width, "height": height}, offline=offline)
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
        page.goto(target)
        try:
            yield page, wrong
        finally:
            browser.close()
