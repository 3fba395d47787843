"""Looking at things: `show` opens the studio, `page` writes one file that plays anywhere.

What moves, and what has moved, stands in low layers; the studio stands on top of all of them. So
the studio is a hook, which is imported when someone wants to look.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if not TYPE_CHECKING:
    from linkwright.base.lazy import guide


class Open(Protocol):
    """A studio that serves: what `show` returns where it does not wait."""

    @property
    def address(self) -> str:
        """Where its page is."""

    def wait(self) -> None:
        """Serve until it is closed, or until Ctrl-C."""

    def close(self) -> None:
        """End it."""


class Shown:
    """What can be looked at."""

    __slots__ = ()
    if not TYPE_CHECKING:
        __getattr__ = guide

    def show(
        self,
        *others: Any,
        block: bool | None = None,
        browser: bool = True,
        host: str = "127.0.0.1",
        port: int = 0,
        roots: Sequence[str | os.PathLike[str]] = (),
        scene: Any = None,
    ) -> Open | None:
        """Open it in the studio, in the browser; see `linkwright.show`.

        Args:
            others: shown with it, as ghosts.
            block: whether to wait until Ctrl-C; by default so, but not in a notebook.
            browser: whether to open the browser, where there is one.
            host: address to serve at; no other machine reaches the one by default.
            port: to serve at; 0 takes one that is free.
            roots: folders in which meshes may lie.
            scene: file with shapes for the bodies and things around them, or a shipped one's
            name.
        """
        return show(
            self,
            *others,
            block=block,
            browser=browser,
            host=host,
            port=port,
            roots=roots,
            scene=scene,
        )

    def page(
        self,
        path: str | os.PathLike[str],
        *others: Any,
        title: str = "",
        roots: Sequence[str | os.PathLike[str]] = (),
        scene: Any = None,
        live: bool = False,
        **more: Any,
    ) -> int:
        """Write one HTML file that plays the motion anywhere, and return its size in bytes.

        Args:
            path: of the file.
            others: shown with it, as ghosts.
            title: over the page; by default the name of what moves.
            roots: folders in which meshes may lie.
            scene: file with shapes for the bodies and things around them, or a shipped one's
            name.
            live: whether the model itself runs in the page.
            more: of a live page; see `linkwright.page`.
        """
        return page(path, self, *others, title=title, roots=roots, scene=scene, live=live, **more)

    def video(
        self,
        path: str | os.PathLike[str],
        *others: Any,
        size: tuple[int, int] = (1280, 720),
        rate: float = 30.0,
        speed: float = 1.0,
        azimuth: float | None = None,
        elevation: float | None = None,
        dark: bool = False,
        roots: Sequence[str | os.PathLike[str]] = (),
        scene: Any = None,
    ) -> int:
        """Write a video of the motion as its page shows it, and return the number of frames.

        Args:
            path: of the file: .mp4, .webm, .gif or .webp.
            others: shown with it, as ghosts.
            size: width and height, pixels.
            rate: frames in a second, Hz.
            speed: seconds of the motion in a second of the video.
            azimuth: where the camera stands, rad; by default where the page has it.
            elevation: how far up it stands, rad.
            dark: the dark looks.
            roots: folders in which meshes may lie.
            scene: file with shapes for the bodies and things around them, or a shipped one's
            name.
        """
        from linkwright.base.hooks import video as write_video

        frames: int = write_video(
            path,
            (self, *others),
            size=size,
            rate=rate,
            speed=speed,
            azimuth=azimuth,
            elevation=elevation,
            dark=dark,
            roots=roots,
            scene=scene,
        )
        return frames


def show(
    *things: Any,
    block: bool | None = None,
    browser: bool = True,
    host: str = "127.0.0.1",
    port: int = 0,
    roots: Sequence[str | os.PathLike[str]] = (),
    scene: Any = None,
) -> Open | None:
    """Open the studio with runs, recordings, mechanisms, robots, a System, or files of them.

    The first is drawn in full, others as ghosts. It serves at an address that is printed, and opens
    the browser where there is one. In a notebook the page that `page` writes is shown below the
    cell: what has moved is played, and a model runs live where it can run in a page.

    Args:
        things: what to look at.
        block: whether to wait until Ctrl-C; by default so, but not in a notebook. Otherwise the
            studio is returned, which serves until `close()` is called.
        browser: whether to open the browser, where there is one.
        host: address to serve at; no other machine reaches the one by default.
        port: to serve at; 0 takes one that is free.
        roots: folders in which meshes may lie.
        scene: file with shapes for the bodies and things around them, or a shipped one's name.

    >>> import linkwright as lw
    >>> studio = lw.show(lw.load("pendulum"), block=False, browser=False)  # doctest: +ELLIPSIS
    studio: http://127.0.0.1:... (close() to stop)
    >>> studio.close()
    """
    from linkwright.base.hooks import show as open_studio

    found: Open | None = open_studio(
        things, block=block, browser=browser, host=host, port=port, roots=roots, scene=scene
    )
    return found


def page(
    path: str | os.PathLike[str],
    *things: Any,
    title: str = "",
    roots: Sequence[str | os.PathLike[str]] = (),
    scene: Any = None,
    live: bool = False,
    controls: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    graphs: Sequence[str | Sequence[str]] | None = None,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    exact: bool = False,
    most: int | None = None,
) -> int:
    """Write one HTML file that plays motions anywhere, and return its size in bytes.

    With `live` the model itself runs in the page, without a network: a reader plays, pauses, goes
    back, changes parameters and inputs, and pulls at bodies.

    Args:
        path: of the file.
        things: runs, recordings, mechanisms, robots, or files of them; the first in full, others
            as ghosts.
        title: over the page; by default the name of what moves.
        roots: folders in which meshes may lie.
        scene: file with shapes for the bodies and things around them, or a shipped one's name.
        live: whether the model itself runs in the page: a mechanism, a robot, a System, a name,
            or a run, which begins again from its start.
        controls: of a live page, parameters and inputs with a slider; all by default.
        inputs: the same, of inputs alone; they come first.
        graphs: of a live page, channels, or lists of those that share a graph.
        parameters: values of parameters and inputs of a live page, over the model's own.
        initial: what a live page starts from, over the model's own start.
        exact: whether a live page gives the bits of the native run, which takes longer.
        most: how many bytes a page may have: 2,900,000 by default, 400,000 of a live one.

    >>> import tempfile
    >>> import linkwright as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     swing = lw.page(f"{folder}/swing.html", lw.load("pendulum"))
    ...     live = lw.page(f"{folder}/live.html", "pendulum", live=True, controls=["L"])
    ...     swing < 300_000, live < 300_000
    (True, True)
    """
    from linkwright.base.hooks import page as write_page

    asked = {
        "controls": controls,
        "inputs": inputs,
        "graphs": graphs,
        "parameters": parameters,
        "initial": initial,
        "exact": exact,
        "most": most,
    }
    given = {name: value for name, value in asked.items() if value}
    size: int = write_page(path, things, title=title, roots=roots, scene=scene, live=live, **given)
    return size


def page_text(*things: Any, title: str = "", most: int = 2_900_000) -> str:
    """Return the page that `page` writes, to be set into another one."""
    from linkwright.base.hooks import page_text as text_of_page

    text: str = text_of_page(things, title=title, most=most)
    return text
