"""Draw the pictures of the README: a motion of the Stanford arm with its operations beside others',
and models as the pages that `linkwright page` writes show them, one with forces.

``make pictures`` runs it. It needs the extra `plot`, Playwright and a Chromium on the machine, and
writes into ``docs/pictures``.
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linkwright as lw
from linkwright.studio.page import write_page
from linkwright.studio.takes import open_take

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
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)


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
        press: keys to press before.
        dress: what the model wears.
    """

    model: str
    at: float
    closer: float = 1.0
    azimuth: float | None = None
    height: float | None = None
    dark: bool = False
    press: str = ""
    dress: str = ""


SHOTS = (
    Shot("car", 0.75, 0.9, -50),
    Shot("whipple", 0.12, 1.1, -72),
    Shot("spacecraft-1", 0.4, dark=True),
    Shot("four-bar", 0.06, 0.92),
    Shot("stanford-arm-controlled", 0.25, dress="work-cell"),
)
INK, SOFT, ACCENT = "#1f2933", "#c3ccd6", "#c8553d"


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _chart()
    _pages()


def _chart() -> None:
    """Draw the motion of the arm beside the counts."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1.15, 1))
    _motion(left)
    _counts(right)
    figure.tight_layout(w_pad=2.5)
    figure.savefig(FOLDER / "stanford-arm.png", dpi=110)


def _landing(folder: Path) -> Path:
    """Record a quadruped that lands with a speed to its side; return the file."""
    example = runpy.run_path(str(QUADRUPED))
    robot = lw.load(example["FILE"], friction=False)
    height = example["lifted"](robot, 0.03)
    start = {**example["STANCE"], example["HEIGHT"]: height, robot.speeds[1]: 0.8}
    system = example["standing"](robot)
    run = lw.simulate(system, 1.0, method="semi-implicit", initial=start, record_every=4)
    run.save(folder / "forces.npz")
    return folder / "forces.npz"


def _pages() -> None:
    """Write the page of each shot, open it in Chromium, and keep what it shows."""
    from playwright.sync_api import sync_playwright

    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        raise SystemExit("pictures need Chromium; sh scripts/need_chromium.sh says how to get it")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        running = play.chromium.launch(executable_path=browser, args=list(FLAGS))
        landing = _landing(Path(folder))
        for shot in (*SHOTS, Shot(str(landing), 1.0, 1.08)):
            page = running.new_page(viewport={"width": 1280, "height": 800})
            file = Path(folder) / f"{Path(shot.model).stem}.html"
            take = open_take(shot.model, dress=shot.dress or None, roots=[ROBOTS])
            write_page(file, [take])
            page.goto(file.as_uri() + ("#dark" if shot.dark else "#light"))
            page.wait_for_selector("html[data-ready=yes]")
            page.evaluate(
                """({at, closer, azimuth, height}) => {
                studio.view.distance *= closer;
                if (azimuth !== null) studio.view.azimuth = azimuth;
                if (height !== null) studio.view.height = height;
                goTo(studio, studio.from + (studio.to - studio.from) * at); }""",
                {
                    "at": shot.at,
                    "closer": shot.closer,
                    "azimuth": shot.azimuth,
                    "height": shot.height,
                },
            )
            for key in shot.press:
                page.keyboard.press(key)
            page.wait_for_timeout(800)
            page.screenshot(path=FOLDER / f"studio-{shot.dress or file.stem}.png")
            page.close()
        running.close()


def _motion(axes: Any) -> None:
    arm = lw.load_model("stanford-arm-controlled")
    run = lw.simulate(arm, 10.0, step=0.02)
    angles = [q.name for q in lw.derive(arm).coordinates if q.name != "c"]
    for shade, name in zip(
        ("#12355b", "#2f6690", "#3a7ca5", "#81a4cd", "#a9c5e0"), angles, strict=True
    ):
        axes.plot(run.times, run[name], color=shade, label=f"joint {name}", linewidth=1.8)
    axes.axhline(1.0471975512, color=ACCENT, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate("target π/3", (0.15, 1.07), color=ACCENT, fontsize=9)
    axes.set(
        xlabel="time, s", ylabel="angle, rad", xlim=(0, 10), title="Stanford arm under control"
    )
    axes.legend(frameon=False, ncols=2, loc="lower right", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _counts(axes: Any) -> None:
    equations = lw.derive(lw.load_model("stanford-arm"))
    ours = lw.count(lw.optimise(equations.program(outputs=False)))
    rows = {**PUBLISHED, "Linkwright": ours.add + ours.mul}
    names = list(rows)
    colours = [SOFT] * (len(rows) - 1) + [ACCENT]
    axes.barh(names, list(rows.values()), color=colours)
    axes.invert_yaxis()
    for k, value in enumerate(rows.values()):
        axes.text(value + 40, k, f"{value:,}", va="center", fontsize=9)
    axes.set(title="adds and multiplies of its equations", xlim=(0, 3400))
    axes.tick_params(left=False, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)


if __name__ == "__main__":
    main()
