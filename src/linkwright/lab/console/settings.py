"""Commands that change how a laboratory works: gravity, controller, mode, filters, base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lab.console.table import Answer

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab


def gravity_x(lab: Lab) -> float:
    """Return the gravity that acts now along the world's x, m/s^2."""
    return float(lab.gravity[0])


def gravity_y(lab: Lab) -> float:
    """Return the gravity that acts now along the world's y, m/s^2."""
    return float(lab.gravity[1])


def gravity_z(lab: Lab) -> float:
    """Return the gravity that acts now along the world's z, m/s^2."""
    return float(lab.gravity[2])


def set_gravity(lab: Lab, x: float, y: float, z: float) -> Answer:
    """Set gravity."""
    lab.set_gravity((x, y, z))
    return Answer(f"gravity {x:g}, {y:g}, {z:g} m/s^2", {"gravity": [x, y, z]})


def links(lab: Lab) -> tuple[str, ...]:
    """Return what can be pushed: links, frames, vertices and end-effectors."""
    places = lab.mechanism.assembled.places
    return tuple(dict.fromkeys((*places, *lab.config.vertices, *lab.end_effectors)))


def push(
    lab: Lab,
    link: str,
    fx: float,
    fy: float,
    fz: float,
    mx: float,
    my: float,
    mz: float,
    seconds: float | None,
) -> Answer:
    """Push a link."""
    lab.push(link, (fx, fy, fz), (mx, my, mz), seconds=seconds)
    data = {"link": link, "force": [fx, fy, fz], "moment": [mx, my, mz], "seconds": seconds}
    if not any((fx, fy, fz, mx, my, mz)):
        return Answer(f"nothing pushes {link}", data)
    told = f"{fx:g}, {fy:g}, {fz:g} N" + (f"; {mx:g}, {my:g}, {mz:g} N*m" if mx or my or mz else "")
    how_long = "until it is pushed otherwise" if seconds is None else f"for {seconds:g} s"
    return Answer(f"{link} is pushed with {told} {how_long}", data)


def controller(lab: Lab, kind: str) -> Answer:
    """Change the law of the motor servo."""
    lab.controller(kind)
    return Answer(f"controller {kind}", {"controller": kind})


def mode(lab: Lab, name: str) -> Answer:
    """Change the servo mode."""
    lab.mode(name)
    return Answer(f"mode {name}", {"mode": name})


def patience(lab: Lab, ticks: int) -> Answer:
    """Set how many ticks in a row may take too long."""
    lab.patience(ticks)
    return Answer(f"patience for {ticks or 'any number of'} ticks", {"patience": ticks})


def filters(lab: Lab, on: bool | None) -> Answer:
    """Switch the filters of the sensors."""
    wanted = not lab.filtered if on is None else on
    lab.filters(wanted)
    return Answer(f"filters {'on' if wanted else 'off'}", {"filters": wanted})


def freeze_base(lab: Lab, on: bool | None) -> Answer:
    """Hold the base, or let it go."""
    wanted = not lab.base_frozen if on is None else on
    lab.freeze_base(wanted)
    return Answer(f"the base is {'held' if wanted else 'free'}", {"frozen": wanted})


def estimate(lab: Lab, seconds: float, files: str, to: str) -> Answer:
    """Find parameters of the links, write them, and let inverse dynamics compute with them."""
    given = [word for word in files.split(",") if word]
    found = lab.estimate(given or None, seconds=seconds, to=to)
    left = float(max(found.physical_residuals))
    text = (
        f"{found.summary()}\n{found.samples} states leave at most {left:.3g} N*m of a joint; "
        f"written to {to}, and inverse dynamics computes with them"
    )
    data = {"parameters": found.parameters, "residuals": found.physical_residuals.tolist()}
    return Answer(text, {**data, "samples": found.samples, "file": str(lab.folder / to)})
