"""Draw the pictures of the README: models as the pages of `linkwright page` show them, four of them
in motion, the live studio, the operations of the Stanford arm beside those of others, and for the
page on mounts one that tracks a satellite and a map of its sky; for that on force a map of gains
and the force of an arm on a wave.

``make pictures`` runs it; names of pictures after it draw only these. It needs the extras `plot`
and `studio`, Playwright and a Chromium on the machine, and writes into ``docs/pictures``.
"""

from __future__ import annotations

import json
import math
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import linkwright as lw
from linkwright.models.smallest import SHIPPED
from linkwright.mounts.passes import Pass
from linkwright.pages.page import write_page
from linkwright.scene.motions import open_motion
from scripts.page_reader import read_along

PUBLISHED = {  # adds and multiplies, uncontrolled arm: Sayers 1990, table 9.6.1
    "numerical Newton–Euler": 1255 + 1627,
    "Kane & Levinson, by hand": 459 + 732,
    "SD/FAST": 390 + 576,
    "Wampler, by hand": 318 + 448,
    "SYMBA": 268 + 384,
    "AUTOSIM": 240 + 353,
}
FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
ROBOTS = Path(__file__).parent.parent / "tests" / "robots"
QUADRUPED = Path(__file__).parent / "quadruped.py"
CART_POLE = Path(lw.__file__).parent / "learning" / "shipped" / "cart-pole.toml"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)


WIDE, TALL = 960, 600  # pixels of a picture
FRAMES, RATE = 60, 15  # of the moving picture, and how many of them in a second


@dataclass(frozen=True, slots=True)
class Shot:
    """A page to be photographed.

    Args:
        model: what is shown.
        at: when, of the whole time.
        closer: distance of the camera, of the usual one.
        azimuth: where it stands, degrees; None for the usual place.
        height: how far up, degrees; None for the usual.
        dark: the dark looks.
        scene_file: what the model wears.
    """

    model: str
    at: float
    closer: float = 1.0
    azimuth: float | None = None
    height: float | None = None
    dark: bool = False
    scene_file: str = ""

    @property
    def name(self) -> str:
        """What the picture is called."""
        return f"studio-{self.scene_file or Path(self.model).stem}"


LANDING = "forces"
TRACKING = "tracking"
MOUNT = "mount-2-rotary"
_TILT, _NODE, _PERIGEE, _ANOMALY = map(math.radians, (51.64, 120.0, 90.0, 270.0))
SATELLITE = lw.mounts.Orbit(
    "LEO", 25544, 60500, 1234.5, _TILT, _NODE, 7e-4, _PERIGEE, _ANOMALY, 15.5
)
SITE = lw.mounts.Site(math.radians(-43.52), math.radians(172.58), 20.0)
SHOTS = (
    Shot("car", 0.75, 0.85, -50),
    Shot("whipple", 0.12, 0.95, -62),
    Shot("spacecraft-1", 0.4, 0.9, dark=True),
    Shot("four-bar", 0.06, 0.92),
    Shot("stanford-arm-controlled", 0.25, 0.62, scene_file="work-cell"),
    Shot(LANDING, 1.0, 0.95),
    Shot(TRACKING, 1.0, 1.05, -85, 14),
)
MOVING = (
    Shot("whipple", 0.35, 0.95, -62),
    Shot(LANDING, 1.0, 0.95),
    Shot("car", 1.0, 0.9, -50),
    Shot("stanford-arm-controlled", 0.3, 0.62, scene_file="work-cell"),
)
DOCS = Path(__file__).parent.parent / "docs"
PLOTS = {  # a page, and a picture or a recording that its reader makes
    "tutorial-pendulum": ("tutorials/pendulum", "swing.png"),
    "tutorial-robot": ("tutorials/robot", "move.png"),
    "tutorial-linkage": ("tutorials/linkage", "curve.png"),
    "tutorial-car": ("tutorials/car", "turn.png"),
    "tutorial-control": ("tutorials/control", "balance.png"),
    "tutorial-drives-run": ("tutorials/drives", "driven.png"),
    "tutorial-antenna": ("tutorials/antenna", "pass.png"),
    "tutorial-laboratory": ("tutorials/laboratory", "sine.png"),
    "tutorial-cell": ("tutorials/cell", "day.parquet"),
    "howto-laboratory": ("how-to/open-your-robot-in-a-laboratory", "sine.png"),
}
PAGES: dict[str, tuple[str, str, float | None]] = {  # a page that it makes, and when
    "tutorial-pendulum-page": ("pendulum", "swing.html", 0.0),
    "tutorial-robot-page": ("robot", "move.html", 0.3),
    "tutorial-linkage-page": ("linkage", "rocker.html", 0.1),
    "tutorial-drives": ("drives", "drives.html", None),
    "tutorial-antenna-page": ("antenna", "pass.html", 0.5),
}
INK, SOFT, ACCENT = "#1f2933", "#c3ccd6", "#c8553d"
BARE = """header, footer, aside, #views, #story, #notes, #chip { display: none !important }"""


def main(wanted: Sequence[str] = ()) -> None:
    """Write all pictures, or those of some names."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(parents=True, exist_ok=True)

    def asked(name: str) -> bool:
        return not wanted or name in wanted

    if asked("operations"):
        _chart()
    if asked("mount-sky"):
        _sky()
    if asked("force-wave"):
        _force()
    if asked("contact-map"):
        _contact()
    _tutorials(asked)
    if asked("swing-up"):
        _swing_up()
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        raise SystemExit("pictures need Chromium; sh scripts/need_chromium.sh says how to get it")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        running = play.chromium.launch(executable_path=browser, args=list(FLAGS))
        for shot in SHOTS:
            if asked(shot.name):
                _still(running, Path(folder), shot)
        if asked("motion"):
            _motion(running, Path(folder))
        if asked("studio-live"):
            _live(running)
        for name, (tutorial, made, at) in PAGES.items():
            if asked(name):
                _tutorial_page(running, Path(folder), name, tutorial, made, at)
        running.close()


def _tutorials(asked: Callable[[str], bool]) -> None:
    """Keep the pictures that readers of tutorials make; of the cell, its recording as a picture."""
    for name, (page, made) in PLOTS.items():
        if asked(name):
            with tempfile.TemporaryDirectory() as folder:
                read_along(DOCS / f"{page}.md", Path(folder))
                found = next(Path(folder).rglob(made))
                if found.suffix == ".parquet":
                    figure = lw.load(found).plot("arm_sense.pose*", "arm_supervisor.drawn*")
                    figure.savefig(FOLDER / f"{name}.png")
                else:
                    shutil.copy(found, FOLDER / f"{name}.png")


def _tutorial_page(
    running: Any, folder: Path, name: str, tutorial: str, made: str, at: float | None
) -> None:
    """Photograph a page that a reader of a tutorial makes: a motion at a time, or a report."""
    home = folder / tutorial
    if not home.exists():
        home.mkdir()
        read_along(DOCS / "tutorials" / f"{tutorial}.md", home)
    page = running.new_page(viewport={"width": 1200, "height": 720}, reduced_motion="reduce")
    page.goto(next(home.rglob(made)).as_uri() + "#light")
    if at is not None:
        page.wait_for_selector("html[data-ready=yes]")
        _photographed(page, at)
        page.wait_for_timeout(500)
        _photographed(page, at)
    page.screenshot(path=FOLDER / f"{name}.png")
    page.close()


def _chart() -> None:
    """Draw the operations of the Stanford arm beside those that others published."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK})
    figure, axes = plt.subplots(figsize=(7.2, 3.2))
    _counts(axes)
    figure.tight_layout()
    figure.savefig(FOLDER / "operations.png", dpi=120)


def _landing(folder: Path) -> Path:
    """Record a quadruped that lands with a speed to its side; return the file."""
    path = folder / f"{LANDING}.npz"
    if not path.exists():
        example = runpy.run_path(str(QUADRUPED))
        robot = lw.load(example["FILE"], friction=False)
        height = example["lifted"](robot, 0.03)
        start = {**example["STANCE"], example["HEIGHT"]: height, robot.speeds[1]: 0.8}
        system = example["standing"](robot)
        run = lw.simulate(system, 1.0, method="semi-implicit", initial=start, every=4)
        run.save(path)
    return path


def _passes() -> list[Pass]:
    """Return a pass near the zenith, and a low one."""
    found = sorted(SITE.passes(SATELLITE, days=2), key=lambda p: p.culmination)
    return [found[-1], found[len(found) // 2]]


def _sky() -> None:
    """Draw how well a mount transmits over the sky, with two passes."""
    axes = {"azimuth": (0, math.tau, 121), "zenith": (0, math.pi / 2, 46)}
    chart = lw.parallel.chart(MOUNT, axes, of=["transmission"])
    chart.plot("transmission", passes=_passes()).savefig(FOLDER / "mount-sky.png", dpi=100)


def _force() -> None:
    """Draw the force with which the PUMA follows its wave, for a good gain and a bad one."""
    from matplotlib import pyplot as plt

    figure, (force, place) = plt.subplots(2, 1, sharex=True, figsize=(8, 5))
    bad, good = (lw.simulate("puma-on-wave", 8.0, parameters={"law.KF": x}) for x in (0.6, 0.2))
    force.plot(bad.times, -bad["weight.wrench[2]"], label="KF = 0.6")
    force.plot(good.times, -good["weight.wrench[2]"], label="KF = 0.2")
    place.plot(good.times, 1e3 * (good["tool z"] - good["tool z"][0]), color="gray")
    force.axhspan(4.4, 5.6, alpha=0.15)
    force.set_ylabel("force along z (N)")
    force.legend()
    place.set_ylabel("height of the flange (mm)")
    place.set_xlabel("time (s)")
    figure.tight_layout()
    figure.savefig(FOLDER / "force-wave.png", dpi=100)


def _contact() -> None:
    """Draw where a compliant wrist is stable over its gain and its filter."""
    wrist = lw.contact.read_wrist(Path(__file__).parent / "wrist.toml")
    found = lw.contact.contact_map(wrist.loop, {n: wrist.axis(n) for n in ("Kp", "a")})
    found.plot().savefig(FOLDER / "contact-map.png", dpi=100)


def _swing_up() -> None:
    """Draw how a cart swings its pole up: the pole on the way, and the force."""
    import numpy as np
    from matplotlib import pyplot as plt

    from linkwright.wholebody.optimization import optimize_motion

    rest = dict.fromkeys(("x", "theta", "x_dot", "theta_dot"), 0.0)
    found = optimize_motion(
        str(CART_POLE),
        act={"x": 15},
        until=2.0,
        final=rest,
        limits={"x": 2.0},
        minimize="tau_x**2",
    )
    figure, (way, force) = plt.subplots(1, 2, figsize=(9, 3.6))
    for t in np.linspace(0, found.duration, 41):
        x, theta = found.states(t)[:2]
        color = plt.get_cmap("viridis")(t / found.duration)
        way.plot([x, x - np.sin(theta)], [0, np.cos(theta)], color=color, alpha=0.8)
        way.plot(x, 0, "s", color=color, markersize=4)
    way.set_aspect("equal")
    way.set_xlabel("place (m)")
    times = np.linspace(0, found.duration, 400)
    force.plot(times, found.inputs(times))
    force.set_xlabel("time (s)")
    force.set_ylabel("force on the cart (N)")
    figure.tight_layout()
    figure.savefig(FOLDER / "swing-up.png", dpi=100)


def _tracked(folder: Path) -> Path:
    """Record the beginning of a pass that a mount tracks; return the file."""
    path = folder / f"{TRACKING}.npz"
    if not path.exists():
        system = lw.mounts.track_pass(lw.load(MOUNT), _passes()[0], beamwidth=math.radians(0.8))
        lw.simulate(system, 2.0, method="rk4", every=20).save(path)
    return path


def _opened(running: Any, folder: Path, shot: Shot, wide: int, tall: int) -> Any:
    """Open the page of a shot, with nothing but its scene."""
    recorded = {LANDING: _landing, TRACKING: _tracked}.get(shot.model)
    model = str(recorded(folder)) if recorded else shot.model
    file = folder / f"{shot.name}.html"
    if not file.exists():
        write_page(file, [open_motion(model, scene_file=shot.scene_file or None, roots=[ROBOTS])])
    page = running.new_page(
        viewport={"width": wide, "height": tall}, reduced_motion="reduce", device_scale_factor=1
    )
    page.goto(file.as_uri() + ("#dark" if shot.dark else "#light"))
    page.wait_for_selector("html[data-ready=yes]")
    page.add_style_tag(content=BARE)
    page.evaluate(
        """({closer, azimuth, height}) => {
        studio.view.distance *= closer;
        if (azimuth !== null) studio.view.azimuth = azimuth;
        if (height !== null) studio.view.height = height; }""",
        {"closer": shot.closer, "azimuth": shot.azimuth, "height": shot.height},
    )
    return page


def _photographed(page: Any, at: float) -> bytes:
    """Return the picture of a page at a time, of the whole time."""
    page.evaluate(
        """(at) => { point(studio, studio.from + (studio.to - studio.from) * at);
        studio.dirty = false; render(studio); }""",
        at,
    )
    picture: bytes = page.screenshot()
    return picture


def _still(running: Any, folder: Path, shot: Shot) -> None:
    page = _opened(running, folder, shot, WIDE, TALL)
    _photographed(page, shot.at)
    page.wait_for_timeout(300)  # its size may just have changed
    (FOLDER / f"{shot.name}.png").write_bytes(_photographed(page, shot.at))
    page.close()


def _motion(running: Any, folder: Path) -> None:
    """Put four models in motion into one moving picture."""
    from PIL import Image

    wide, tall = WIDE // 2, TALL // 2
    pages = [_opened(running, folder, shot, wide, tall) for shot in MOVING]
    for page in pages:
        page.add_style_tag(content="#legend, #labels { display: none !important }")
    frames = []
    for k in range(FRAMES):
        frame = Image.new("RGB", (WIDE, TALL))
        for j, (page, shot) in enumerate(zip(pages, MOVING, strict=True)):
            picture = Image.open(BytesIO(_photographed(page, shot.at * k / (FRAMES - 1))))
            frame.paste(picture, (wide * (j % 2), tall * (j // 2)))
        frames.append(frame)
    for page in pages:
        page.close()
    held = [1000 // RATE] * (FRAMES - 1) + [900]  # the last one for a while
    frames[0].save(
        FOLDER / "motion.webp",
        save_all=True,
        append_images=frames[1:],
        duration=held,
        loop=0,
        quality=68,
        method=4,
    )


def _live(running: Any) -> None:
    """Photograph the studio while a robot is run live."""
    from linkwright.studio.server import open_studio

    studio = open_studio([str(ROBOTS / "quadruped.urdf")])
    try:
        page = running.new_page(viewport={"width": 1280, "height": 800})
        page.goto(studio.address)
        page.get_by_role("tab", name="Live").click(timeout=120_000)
        page.get_by_role("button", name="Run", exact=True).click(timeout=120_000)
        panels = studio.panels
        for _ in range(600):
            page.wait_for_timeout(100)
            if panels.live is not None and panels.live.latest.time > 1.0:
                break
        page.add_style_tag(content=".mantine-Notifications-root { display: none !important }")
        page.wait_for_timeout(3000)  # until the browser has drawn it
        page.screenshot(path=FOLDER / "studio-live.png")
        page.close()
    finally:
        studio.close()


def _counts(axes: Any) -> None:
    """Draw the additions and multiplications of the program that ships beside published ones."""
    (shipped,) = (s for s in SHIPPED if s.path.stem == "stanford-arm")
    ours = json.loads(shipped.path.read_text(encoding="utf-8"))["counts"]
    rows = {**PUBLISHED, "Linkwright": ours["add"] + ours["mul"]}
    names = list(rows)
    colors = [SOFT] * (len(rows) - 1) + [ACCENT]
    axes.barh(names, list(rows.values()), color=colors)
    axes.invert_yaxis()
    for k, value in enumerate(rows.values()):
        axes.text(value + 40, k, f"{value:,}", va="center", fontsize=9)
    axes.set_title("Equations of motion of the Stanford arm: additions and multiplications", x=0.3)
    axes.set_parameters(xlim=(0, 3400))
    axes.tick_params(left=False, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)


if __name__ == "__main__":
    main(sys.argv[1:])
