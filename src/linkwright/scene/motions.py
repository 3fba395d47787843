"""Takes: motions of a scene, from recordings or made for a model to be looked at.

A recording says what it is of (`linkwright.scene.sources`); where that is not known, there are
only plots. For a model without a recording a run is made to be looked at: as long as the model
says, with fixed steps. A robot file says nothing of how it moves; its joints swing one after
another. `SceneMotion.story` reports a viewer which of these it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright import models
from linkwright.base.errors import Error, InputError
from linkwright.formats.robot.description import Description
from linkwright.mechanism import Mechanism
from linkwright.recording import Recording, read_recording
from linkwright.recording.files import is_recording
from linkwright.robots import Robot
from linkwright.scene.channels import coordinates_in, nothing_matches
from linkwright.scene.forces import recorded_floor
from linkwright.scene.load_arrows import unshown_forces
from linkwright.scene.previews import PreviewOptions, actuate, simulated, simulated_story, swing
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.sources import at_hand, what_moved
from linkwright.scene.wheels import wheels_in
from linkwright.system import System

if TYPE_CHECKING:
    from linkwright.scene.scene_file import SceneFileLike

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SceneMotion:
    """A motion to be shown."""

    name: str  # for people
    recording: Recording  # channels over time
    scene: Scene | None = None  # what moves, or None where the model is not known
    # coordinates of the scene at the recording's times, or None
    q: Array | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()  # what a user should know
    # what runs live, where that is more than what is drawn
    system: System | None = field(default=None, repr=False)
    story: str = ""  # where the motion comes from, in a sentence


def open_motion(
    name: str,
    *,
    model: str = "",
    roots: Sequence[str | Path] = (),
    scene_file: SceneFileLike | None = None,
    base: str = "auto",
    asked: PreviewOptions | None = None,
) -> SceneMotion:
    """Return what a recording, a model or a robot file shows."""
    if is_recording(name):
        if asked:
            raise InputError(
                "a recording is shown as it was recorded: it has an end, values and a start",
                file=name,
                remedy="leave out --until, --set and --initial, or simulate again",
            )
        folder, recording = Path(name).parent, read_recording(name)
        if not len(recording):
            raise InputError(
                "the recording has no samples, so there is nothing to show",
                file=name,
                remedy="a line of names needs lines of numbers below it",
            )
        return recorded_motion(Path(name).name, recording, model, folder, roots, scene_file)
    if model:
        raise InputError(
            f"{name!r} is a model itself, and --model says what a recording is of",
            remedy="leave out --model, or name a recording",
        )
    thing = opened(name, roots, base)
    if isinstance(thing, System):
        return system_motion(thing, asked, roots, scene_file)
    values = asked.values if asked is not None else None
    return model_motion(scene_of(thing, roots=roots, values=values, scene_file=scene_file), asked)


def may_become(target: Path, inputs: Sequence[str]) -> None:
    """Raise an error where a page must not be written: over what it is made from, or nowhere."""
    if target.is_dir():
        raise InputError("this is a folder", file=target, remedy="name a file in it")
    if not target.parent.is_dir():
        raise InputError("there is no such folder", file=target.parent, remedy="make it first")
    for name in filter(None, inputs):
        if target.exists() and Path(name).exists() and target.samefile(name):
            raise InputError(
                "the page would replace what it is made from",
                file=target,
                remedy=f"write it to {target.with_suffix('.html').name}, say",
            )


def opened(
    name: str, roots: Sequence[str | Path] = (), base: str = "file"
) -> Robot | Mechanism | System:
    """Return a model, or the robot of a file."""
    from linkwright.formats.robot.files import robot_format

    path = Path(name)
    if path.is_file() and robot_format(path) not in (None, "text"):
        if base != "auto":
            return Robot(path, roots=roots, base=base)
        from linkwright.scene.stance import walks

        robot = Robot(path, roots=roots)
        return Robot(path, roots=roots, base="free") if walks(robot, roots) else robot
    return models.opened(name)


def recorded_motion(
    name: str,
    recording: Recording,
    model: str = "",
    folder: Path | None = None,
    roots: Sequence[str | Path] = (),
    scene_file: SceneFileLike | None = None,
) -> SceneMotion:
    """Return the motion of a recording."""
    try:
        free = any(c.name.endswith("_free.x") for c in recording.channels)  # as `load` names it
        thing = opened(model, roots, "free" if free else "file") if model else None
        moved = at_hand(thing, roots) if model else what_moved(recording, folder, roots)
        if moved.thing is None:
            return SceneMotion(name, recording, notes=(_unknown(recording, moved.notes),))
        values = _known_values(moved.thing, recording.metadata.get("parameters"))
        wheels = wheels_in(recording.metadata)
        scene = scene_of(moved.thing, roots=moved.roots, values=values, wheels=wheels)
    except Error as error:
        if model:
            raise
        return SceneMotion(name, recording, notes=(f"{error}: only plots are shown",))
    if scene_file is not None:
        scene = scene.decorated(scene_file, roots=roots)
    q, notes = coordinates_in(scene, recording)
    if q is None and model:
        raise InputError(
            nothing_matches(scene, recording) if len(notes) == 1 else notes[0],
            file=name,
            remedy="name the columns after the coordinates, or name another model",
        )
    _settle(scene, recording)
    more = [*unshown_forces(scene, recording)]
    more += [moved.without_meshes] if scene.notes and moved.without_meshes else []
    if recording.metadata.get("times") == "counted":
        more.append("there is no column 'time': the lines are taken to be a second apart")
    story = recorded_story(recording)
    scene = scene if q is None else scene.reaching(q)
    return SceneMotion(
        name, recording, scene, q, (*moved.notes, *notes, *more), moved.system, story
    )


def recorded_story(recording: Recording) -> str:
    """Return where the motion of a recording comes from, as far as it says so.

    >>> from linkwright.recording import Channel
    >>> r = Recording([0, 2], [Channel("x")], [[1], [2]], {"method": "rk4", "set": {"L": 2.0}})
    >>> recorded_story(r)
    'Recorded: 2 samples over 2 s, simulated with rk4, L = 2.'
    """
    about, times = recording.metadata, recording.times
    if not len(times):
        return ""
    span = float(times[-1] - times[0])
    words = [f"Recorded: {len(times):,} sample{'s' * (len(times) > 1)} over {span:.4g} s"]
    if isinstance(about.get("method"), str):
        words.append(f"simulated with {about['method']}")
    for key, before in (("set", ""), ("start", "from ")):
        given = about.get(key)
        if isinstance(given, Mapping) and given:
            shown = [f"{n} = {v:g}" for n, v in given.items() if isinstance(v, int | float)]
            words.append(before + ", ".join(shown[:4]) + (" and more" if len(shown) > 4 else ""))
    return f"{', '.join(words)}."


def _unknown(recording: Recording, notes: Sequence[str]) -> str:
    word = recording.metadata.get("model") or recording.metadata.get("system")
    what = f"{word!r} is not a shipped model" if word else "the recording names no model"
    return f"{'; '.join(notes) or what}: only plots are shown; name one with --model"


def scene_motion(name: str, recording: Recording, scene: Scene) -> SceneMotion:
    """Return a recording as the motion of a scene that is at hand."""
    _settle(scene, recording)
    q, notes = coordinates_in(scene, recording)
    return SceneMotion(name, recording, scene if q is None else scene.reaching(q), q, notes)


def _settle(scene: Scene, recording: Recording) -> None:
    """Put the ground where the recording says that it is."""
    if scene.floor is None or scene.wheels:  # a plane that is told of is surer than tires
        floor = recorded_floor(scene, recording)
        scene.floor = scene.floor if floor is None else floor


def _known_values(thing: Robot | Mechanism, numbers: object) -> dict[str, float] | None:
    """Return those values of a recording that are the model's own parameters."""
    if not isinstance(numbers, Mapping):
        return None
    own = (thing if isinstance(thing, Mechanism) else thing.mechanism).parameters
    return {k: float(v) for k, v in numbers.items() if k in own and isinstance(v, int | float)}


# -- motions for models ----------------------------------------------------------------------------
def model_motion(scene: Scene, asked: PreviewOptions | None = None) -> SceneMotion:
    """Return a motion for a model or robot to be looked at."""
    asked = asked or PreviewOptions()
    mechanism = scene.robot.mechanism
    if isinstance(scene.robot.source, Description):
        if asked.values or asked.initial:
            raise InputError(
                f"the joints of {scene.name!r} are only previewed: no value or start changes that",
                remedy="simulate it, and show the recording",
            )
        return _swinging(scene, asked.until)
    swept = None if asked else actuate(scene)
    if swept is not None:
        words = "Preview: each actuator moves in turn, with the loops closed; nothing is simulated."
        return replace(scene_motion(scene.name, swept, scene), story=words)
    try:
        made = simulated(mechanism, asked)
    except Error as error:
        if asked:
            raise
        return _swinging(scene, None, f"not simulated ({error}): only a preview of its joints")
    return replace(
        scene_motion(scene.name, made, scene), story=simulated_story(mechanism, made, asked)
    )


def system_motion(
    system: System,
    asked: PreviewOptions | None = None,
    roots: Sequence[str | Path] = (),
    scene_file: SceneFileLike | None = None,
) -> SceneMotion:
    """Return a run of a System to be looked at, as long as it says itself, else ten seconds."""
    from linkwright.simulation import simulate

    asked, own = asked or PreviewOptions(), system.mechanism.timing
    until = asked.until or (10.0 if own is None else own.until)
    made = simulate(system, until, parameters=asked.values, initial=asked.initial).recording
    motion = recorded_motion(system.name, made, roots=roots, scene_file=scene_file)
    return replace(motion, story=simulated_story(system.mechanism, made, asked))


def _swinging(scene: Scene, until: float | None, *notes: str) -> SceneMotion:
    made = scene_motion(scene.name, swing(scene, until or 20.0), scene)
    words = "Preview: each joint sweeps through its range; nothing is simulated."
    if not np.ptp(made.recording.data, axis=0).any():
        words = "No joint can move: it stands still."
    return replace(made, notes=(*made.notes, *notes), story=words)
