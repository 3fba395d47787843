"""What a laboratory is set up with, in lines for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.lab.config import LabConfig
from linkwright.lab.files.lab_tables import CONTACT_MODELS
from linkwright.lab.files.sine_files import read_sines
from linkwright.lab.files.trajectories import read_trajectory
from linkwright.lab.files.vision_files import read_vision


def lab_facts(config: LabConfig) -> list[tuple[str, str]]:
    """Return what a laboratory has.

    >>> from linkwright.lab.sources import lab_config
    >>> lab_facts(lab_config("sl-arm"))[1]
    ('rate', '960 Hz; task 480 Hz, invdyn 480 Hz, invkin 480 Hz, vision 60 Hz')
    """
    rates = [f"{name} {config.rate / ratio:g} Hz" for name, ratio in config.ratios.items()]
    rates.append(f"vision {config.vision_rate:g} Hz")
    model = "apart" if config.model is not None else "the same as the robot"
    facts = [
        ("laboratory", config.name),
        ("rate", f"{config.rate:g} Hz; {', '.join(rates)}"),
        ("joints", f"{len(config.joints)}: {', '.join(config.names)}"),
        ("base", config.base),
        ("model", model),
        ("controller", config.controller),
        ("integration", f"{config.method}, {config.substeps} step(s) in a tick"),
        ("blobs", f"{len(config.vision.blobs)}, {config.vision.cameras} camera(s)"),
    ]
    facts += [("end-effector", f"{end.name} on {end.link}") for end in config.end_effectors]
    facts.append(("vertices", f"{len(config.vertices)}"))
    for thing in config.objects:
        known = 0 <= thing.contact_model < len(CONTACT_MODELS)
        model = CONTACT_MODELS[thing.contact_model] if known else str(thing.contact_model)
        facts.append(("object", f"{thing.name}: {thing.kind}, contact {model}"))
    if config.preferences is not None:
        files = sorted(path.name for path in config.preferences.iterdir() if path.is_file())
        facts.append(("preferences", ", ".join(files) or "none"))
    return facts


def preference_faults(config: LabConfig) -> list[InputError]:
    """Return what is wrong with the preference files of a laboratory.

    >>> from linkwright.lab.sources import lab_config
    >>> preference_faults(lab_config("sl-arm"))
    []
    """
    faults: list[InputError] = []
    if config.preferences is None:
        return faults
    readers: dict[str, Callable[[Path], object]] = {
        ".sine": lambda path: read_sines(path, config.names),
        ".pp": lambda path: read_vision(path, len(config.vision.blobs)),
        ".traj": lambda path: read_trajectory(path, config.names),
    }
    for path in sorted(config.preferences.iterdir()):
        if path.is_file() and path.suffix in readers:
            try:
                readers[path.suffix](path)
            except InputError as error:
                faults.append(error)
    return faults
