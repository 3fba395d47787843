"""A live page of something at hand: its plant, a session at its start, and what is drawn of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_text
from linkwright.mechanism import Mechanism
from linkwright.pages.live import MOST_BYTES, LiveModel, card, gallery_text, live_page_text
from linkwright.recording import Recording
from linkwright.robots import Robot
from linkwright.scene.motions import may_become, opened
from linkwright.scene.previews import resting
from linkwright.scene.scene import scene_of
from linkwright.scene.stance import footing_of
from linkwright.scene.wheels import wheels_in
from linkwright.simulation.native.wasm import refuse_python
from linkwright.simulation.paced import FRAMES
from linkwright.studio.live_sessions import live_session
from linkwright.studio.live_system import plant_of
from linkwright.system import System
from linkwright.system.conditions import conditions_program
from linkwright.system.force_arrows import told_wheels
from linkwright.system.numbers import parameters as parameters_of

if TYPE_CHECKING:
    from linkwright.scene.scene_file import SceneFileLike

Roots = Sequence[str | os.PathLike[str]]


def live_model(
    thing: Any,
    *,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    roots: Roots = (),
    scene: SceneFileLike | None = None,
) -> LiveModel:
    """Return what is to run in a page: a model, a robot, a System, the name of one, or a run of
    one, which begins again from its start.

    >>> live_model("pendulum").session.phases.name
    'pendulum'
    """
    folders = [Path(root) for root in roots]
    if isinstance(thing, str | os.PathLike):
        thing = opened(os.fspath(thing), folders, "auto")
    recording = getattr(thing, "recording", None)
    if isinstance(recording, Recording) and recording.source is not None:
        thing = recording.source
    if not isinstance(thing, Robot | Mechanism | System):
        raise InputError(
            f"a {type(thing).__name__} does not run in a page",
            remedy="give a mechanism, a robot, a System, or the name of a model",
        )
    m = thing if isinstance(thing, Mechanism) else thing.mechanism
    if isinstance(thing, System):
        refuse_python(thing.name, thing.phases())
    footing, start = None, dict(initial or {})
    if isinstance(thing, Robot):
        still = scene_of(thing, roots=folders, scene_file=scene)
        footing = footing_of(still) if still.falls else None
        rest = resting(still) if footing is None else footing.start
        start = dict(zip(still.poses.coordinates, map(float, rest), strict=True)) | start
    plant = plant_of(thing, start, parameters, footing)
    plant.system.set_initial(initial or {})
    plant.system.set_parameters(parameters or {})
    given = parameters_of(plant.system)
    wheels = wheels_in({"wheels": told_wheels(plant.system, given)})
    own = {n: float(v) for n, v in plant.system.values.items() if n in m.parameters}
    drawn = None
    if m.bodies:
        drawn = scene_of(
            thing if isinstance(thing, Robot) else m,
            roots=folders,
            values=own,
            scene_file=scene,
            wheels=wheels,
        )
        drawn.floor = 0.0 if footing is not None else drawn.floor
    tick = float(plant.system.clock().tick)
    every = max(1, round(plant.speed / (FRAMES * tick)))
    session = live_session(plant.system, plant.record, every, contact=bool(plant.grounds))
    demanded = conditions_program(plant.system, session.phases)
    return LiveModel(session, drawn, plant.adjustables, plant.hands, plant.speed, demanded)


def write_live_page(
    path: str | os.PathLike[str],
    thing: Any,
    *,
    title: str = "",
    roots: Roots = (),
    scene: SceneFileLike | None = None,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    controls: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    graphs: Sequence[str | Sequence[str]] | None = None,
    exact: bool = False,
    most: int = MOST_BYTES,
) -> int:
    """Write the page of a model that runs in it, and return its size in bytes."""
    may_become(Path(path), [os.fspath(t) for t in (thing, scene) if isinstance(t, str | Path)])
    made = live_model(thing, parameters=parameters, initial=initial, roots=roots, scene=scene)
    text = live_page_text(
        made, title=title, controls=controls, inputs=inputs, graphs=graphs, exact=exact, most=most
    )
    write_text(path, text, replace=True)
    return len(text.encode())


def write_gallery(
    folder: str | os.PathLike[str], names: Sequence[str]
) -> tuple[list[Path], list[str]]:
    """Write live pages of models and one that lists them; return the files, and what has no page.

    Args:
        folder: it is made where there is none.
        names: of models.
    """
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise InputError("this is a file", file=home, remedy="name a folder for the gallery")
    home.mkdir(parents=True, exist_ok=True)
    written, without, cards = [], [], []
    for name in names:
        path = home / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}.html"
        try:
            made = live_model(name)
            text = live_page_text(made, title=name)
        except Error as error:
            without.append(f"{name}: {error}")
            continue
        write_text(path, text, replace=True)
        written.append(path)
        doc = made.scene.doc if made.scene is not None else made.session.phases.name
        cards.append(card(name, doc, path.name, len(text.encode())))
    write_text(home / "index.html", gallery_text(cards), replace=True)
    return [home / "index.html", *written], without
