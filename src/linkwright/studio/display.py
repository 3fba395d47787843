"""Showing what Python has at hand: in the browser, below the cell of a notebook, or as a page."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.files import path_of
from linkwright.mechanism import Mechanism
from linkwright.mechanism.provenance import named
from linkwright.pages.page import MOST_BYTES, page_text, write_page
from linkwright.recording import Channel, Recording
from linkwright.recording.generic import generic_name
from linkwright.robots import Robot
from linkwright.scene.motions import (
    SceneMotion,
    may_become,
    model_motion,
    open_motion,
    recorded_motion,
)
from linkwright.scene.scene import scene_of
from linkwright.scene.wheels import wheels_in
from linkwright.system import System
from linkwright.system.force_arrows import told_wheels
from linkwright.system.numbers import parameters

if TYPE_CHECKING:
    from linkwright.scene.scene_file import SceneFileLike
    from linkwright.studio.server import Studio

Roots = Sequence[str | os.PathLike[str]]
_HEIGHT = 620  # pixels, below a cell


def motion_of(
    thing: Any, roots: Roots = (), scene_file: SceneFileLike | None = None
) -> SceneMotion:
    """Return what something at hand shows.

    >>> from linkwright.models import load_model
    >>> motion_of(load_model("pendulum")).name
    'pendulum'
    """
    folders = [Path(root) for root in roots]
    if scene_file is not None:
        motion = motion_of(thing, roots)
        worn = None if motion.scene is None else motion.scene.decorated(scene_file, roots=folders)
        return replace(motion, scene=worn)
    if isinstance(thing, SceneMotion):
        return thing
    if isinstance(thing, str | os.PathLike):
        return open_motion(os.fspath(thing), roots=folders)
    recording = getattr(thing, "recording", None)
    if isinstance(recording, Recording):
        name = recording.metadata.get("model") or recording.metadata.get("system") or "recording"
        return recorded_motion(str(name), recording, roots=folders)
    if isinstance(thing, System):
        return system_motion(thing, folders)
    if isinstance(thing, Robot | Mechanism):
        return model_motion(scene_of(thing, roots=folders))
    raise InputError(
        f"a {type(thing).__name__} cannot be shown",
        remedy="show a run, a recording, a mechanism, a robot or a System",
    )


def system_motion(system: System, roots: Sequence[Path] = ()) -> SceneMotion:
    """Return a System at its start, to be run live."""
    m = system.mechanism
    if not m.bodies:
        raise InputError(
            f"{system.name!r} has no body that could be drawn",
            remedy="simulate it, and plot the run",
        )
    own = {n: v for n, v in system.values.items() if n in m.parameters}
    wheels = wheels_in({"wheels": told_wheels(system, parameters(system))})
    scene = scene_of(m, roots=roots, values=own, wheels=wheels)
    names = scene.poses.coordinates
    start = dict(zip(names, map(float, scene.poses.start), strict=True))
    start |= {n: float(v) for n, v in system.initial.items() if n in start}
    q = np.array([[start[n] for n in names]])
    units = [m.units.get(n, "?") for n in names]
    channels = [Channel(n, u, generic=generic_name(u)) for n, u in zip(names, units, strict=True)]
    about = {"model": named(m), "system": system.name}
    made = Recording([0.0], channels, q, about, system)
    return SceneMotion(system.name, made, scene, q, scene.notes, system)


def show(
    things: Sequence[Any],
    *,
    block: bool | None = None,
    browser: bool = True,
    host: str = "127.0.0.1",
    port: int = 0,
    roots: Roots = (),
    scene: SceneFileLike | None = None,
) -> Studio | None:
    """Open the studio; see `linkwright.show`."""
    from linkwright.studio.access import warning
    from linkwright.studio.server import Studio, require_viser

    if not things:
        raise InputError("there is nothing to show", remedy="give a run, a model or a recording")
    inline, lab = block is None and in_notebook(), _lab_in(things)
    moving = lab is None and not any(isinstance(thing, System) for thing in things)
    if (
        inline
        and lab is None
        and len(things) == 1
        and (text := _live_text(things[0], roots, scene))
    ):
        _display(f'srcdoc="{html.escape(text)}" sandbox="allow-scripts"')
        return None
    if inline and moving:
        text = page_text([motion_of(thing, roots, scene) for thing in things])
        _display(f'srcdoc="{html.escape(text)}" sandbox="allow-scripts"')
        return None
    require_viser()
    if lab is None:
        motions = [motion_of(thing, roots, scene) for thing in things]
        studio = Studio(motions, host, port, framed=inline)
    else:
        from linkwright.lab.console.consoles import Consoles
        from linkwright.studio.lab_studio import open_lab_studio

        studio = open_lab_studio(Consoles(lab), host=host, port=port)
    try:
        if info := warning(host):
            print(info, file=sys.stderr, flush=True)
        opened = lab is not None and browser and not inline and open_browser(studio.address)
        waits = not inline and (block if block is not None else lab is None or opened)
        how = "Ctrl+C" if waits else "close()"
        print(f"studio: {studio.address} ({how} to stop)", flush=True)
        if inline:
            _display(f'src="{html.escape(studio.address)}"')
        elif browser and lab is None:
            open_browser(studio.address)
        if not waits:
            return studio
        studio.wait()
    except KeyboardInterrupt:  # before it came to wait
        studio.close()
    return None


def _live_text(thing: Any, roots: Roots, scene: SceneFileLike | None) -> str:
    """Return the live page of a model; nothing where it has none, and a note of why."""
    from linkwright.pages.live import live_page_text
    from linkwright.studio.live_page import live_model

    if not isinstance(thing, Robot | Mechanism | System):
        return ""
    try:
        return live_page_text(live_model(thing, roots=roots, scene=scene), most=MOST_BYTES)
    except Error as error:
        print(f"note: {error}", file=sys.stderr)
        return ""


def _lab_in(things: Sequence[Any]) -> Any:
    """Return the laboratory that is shown, or None; what those need is not imported for that."""
    known = sys.modules.get("linkwright.lab.lab")
    lab = known is not None and len(things) == 1 and isinstance(things[0], known.Lab)
    return things[0] if lab else None


def page(
    path: str | os.PathLike[str],
    things: Sequence[Any],
    *,
    title: str = "",
    roots: Roots = (),
    scene: SceneFileLike | None = None,
    live: bool = False,
    **more: Any,
) -> int:
    """Write a page; see `linkwright.page`."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"a {type(path).__name__} is not the name of a file",
            remedy="name the file first: linkwright.page('run.html', run)",
        )
    if live:
        from linkwright.studio.live_page import write_live_page

        if len(things) != 1:
            raise InputError(f"a live page runs one model, not {len(things)}")
        return write_live_page(path, things[0], title=title, roots=roots, scene=scene, **more)
    most = more.pop("most", MOST_BYTES)
    if more:
        raise InputError(f"{', '.join(more)}: only a live page has them", remedy="add live=True")
    for thing in things:
        if isinstance(thing, System):
            raise InputError(
                f"a page plays what has moved, and the System {thing.name!r} has not moved",
                remedy="simulate it first: linkwright.simulate(system, until).page(...), or let "
                "it run in the page: live=True",
            )
    names = [os.fspath(t) for t in (*things, scene) if isinstance(t, str | os.PathLike)]
    may_become(Path(path), names)
    motions = [motion_of(thing, roots, scene) for thing in things]
    return write_page(path, motions, title=title, most=most)


def video(
    path: str | os.PathLike[str],
    things: Sequence[Any],
    *,
    size: tuple[int, int],
    rate: float,
    speed: float,
    azimuth: float | None,
    elevation: float | None,
    dark: bool,
    roots: Roots = (),
    scene: SceneFileLike | None = None,
) -> int:
    """Write a video; see `linkwright.base.viewer.Shown.video`."""
    from linkwright.studio.video import VideoLook, check_target, write_video

    turned, raised = (None if a is None else float(np.degrees(a)) for a in (azimuth, elevation))
    look = VideoLook(size, rate, speed, (turned, raised, 1.0), dark)
    check_target(path_of(path), look)
    return write_video(path, [motion_of(thing, roots, scene) for thing in things], look)[0]


def text_of_page(things: Sequence[Any], *, title: str = "", most: int = MOST_BYTES) -> str:
    """Return the text of a page; see `linkwright.base.viewer.page_text`."""
    return page_text([motion_of(thing, (), None) for thing in things], title=title, most=most)


def in_notebook() -> bool:
    """Return whether this runs in a notebook, whose cells can show pages.

    >>> in_notebook()
    False
    """
    if _marimo() is not None:
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _display(source: str) -> None:
    """Show a frame below the cell of a notebook."""
    style = f"width:100%;height:{_HEIGHT}px;border:0"
    text = f'<div><iframe {source} style="{style}"></iframe></div>'
    if (marimo := _marimo()) is not None:
        marimo.output.append(marimo.Html(text))
        return
    shown = import_module("IPython.display")
    shown.display(shown.HTML(text))


def _marimo() -> Any:
    """Return marimo where a notebook of it runs this."""
    found = sys.modules.get("marimo")
    return found if found is not None and found.running_in_notebook() else None


def open_browser(address: str) -> bool:
    """Open an address in the browser, and return whether there is one that shows windows."""
    if sys.platform not in ("win32", "darwin") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER")
    ):
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
