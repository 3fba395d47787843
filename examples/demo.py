"""What ``make demo`` runs: the Stanford arm of Sayers' thesis, from description to motion.

Derives its equations, counts them beside AUTOSIM's, compiles them to native code, measures one
evaluation, simulates ten seconds under control, draws them in the terminal and as a picture, gives
the eigenvalues of the Whipple bicycle, and closes with a page that plays the motion: served while a
terminal is attached, else only written.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np

import linkwright as lw
from linkwright.cli.progress import brief_seconds, real_time
from linkwright.cli.tables import print_table
from linkwright.models.runner import Request, run_model
from linkwright.pages.page import write_page
from linkwright.recording.plots import save_figure
from linkwright.recording.terminal import text_plot
from linkwright.scene.motions import open_motion
from linkwright.simulation.settings import RunSettings

AUTOSIM = {"add": 268, "mul": 378, "call": 8}  # the thesis, section 9.6, with control
TIMES = (0.0, 1.0, 2.0, 5.0, 10.0)
FOLDER = Path("build", "demo")


def main() -> None:
    """Run the demonstration."""
    arm = lw.load("stanford-arm-controlled")
    start = time.perf_counter()
    equations = lw.derive(arm)
    program = lw.optimize(equations.program(outputs=False))
    took = time.perf_counter() - start
    ours = lw.count_operations(program).as_dict()
    print_table(
        ("operations of one evaluation", "adds", "multiplies", "calls"),
        [
            ("AUTOSIM, 1990", *(str(AUTOSIM[k]) for k in ("add", "mul", "call"))),
            ("Linkwright", *(str(ours[k]) for k in ("add", "mul", "call"))),
        ],
        title=f"Stanford arm under control: {len(arm.bodies)} bodies, derived in {took:.1f} s",
        numbers=("adds", "multiplies", "calls"),
    )
    _speed(arm, program)
    path = _motion(arm)
    _bicycle()
    _page(path)


def _speed(arm: lw.Mechanism, program: lw.Program) -> None:
    """Compile the program and time it, alone and over a batch."""
    kernel = lw.compile(program)
    arrays = [np.array([_value(arm, x.name) for x in p.entries]) for p in program.inputs]
    kernel.scalar(*arrays)
    rounds = 20_000
    start = time.perf_counter()
    for _ in range(rounds):
        kernel.scalar(*arrays)
    one = (time.perf_counter() - start) / rounds
    many = 65_536
    rng = np.random.default_rng(1)
    batch = [
        rng.normal(size=(many, len(a))) if p.name in "qu" else a
        for p, a in zip(program.inputs, arrays, strict=True)
    ]
    kernel.batch(*batch)
    start = time.perf_counter()
    kernel.batch(*batch)
    each = (time.perf_counter() - start) / many
    print(
        f"\nnative: {one * 1e9:.0f} ns a call from Python, "
        f"{each * 1e9:.0f} ns an evaluation in a batch of {many:,} on one core"
    )


def _value(arm: lw.Mechanism, name: str) -> float:
    return arm.values.get(name, float(arm.initial.get(name, 0.0)))


def _motion(arm: lw.Mechanism) -> Path:
    """Simulate ten seconds and show the joints on their way to their targets."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "stanford-arm-controlled.parquet"
    found = run_model(Request(arm.name, RunSettings(10.0, 0.01)), path, replace_file=True)
    recording = found.recording
    names = list(arm.coordinates)
    rows = []
    for t in TIMES:
        k = int(np.abs(recording.times - t).argmin())
        rows.append((f"{t:g}", *(f"{recording[name][k]:.6f}" for name in names)))
    print()
    print_table(
        ("t s", *names),
        rows,
        title="motion to the targets pi/3 rad and 0.1 m: 10 s simulated in "
        f"{brief_seconds(found.seconds)} ({real_time(10, found.seconds)}), {found.steps:,} steps",
        numbers=("t s", *names),
    )
    _pictures(recording, names, path)
    return path


def _pictures(recording: lw.Recording, names: list[str], path: Path) -> None:
    """Draw the joints in the terminal, and everything as pictures beside the recording."""
    width = max(40, min(shutil.get_terminal_size((100, 30)).columns - 16, 100))
    for unit, words in (("rad", "rotations"), ("m", "sliding joint")):
        group = [n for n in names if recording.channel(n).unit == unit]
        print(f"\n{words} {', '.join(group)} ({unit}) over time (s)")
        curves = [recording[n] for n in group]
        print("\n".join(text_plot(recording.times, curves, width=width, height=10)))
    title = "Stanford arm under control"
    drawn = {
        "joints.png": recording.plot(*names, title=title),
        "speeds.png": recording.plot(*(f"{n}_dot" for n in names), title=title),
        "energy.png": recording.plot("energy.*", title=title),
    }
    print(f"\nrecording  {path}")
    for name, picture in drawn.items():
        save_figure(FOLDER / name, picture)
        print(f"picture    {FOLDER / name}")


def _bicycle() -> None:
    """Linearize the nonlinear bicycle at 5 m/s."""
    model = lw.linearize(lw.load("whipple"), parameters={"v": 5.0})
    shown = ", ".join(
        f"{m.eigenvalue.real:.5f}" + (f" ± {m.eigenvalue.imag:.5f}i" if m.eigenvalue.imag else "")
        for m in model.modes()
    )
    print(f"\nWhipple bicycle at 5 m/s, eigenvalues in 1/s: {shown}")
    print(
        "\nnext: linkwright model list, linkwright model describe cart, "
        "linkwright analyze ops cart --passes,"
    )
    print("      linkwright simulate pendulum --plot")


def _page(path: Path) -> None:
    """Write the page that plays a recording; where someone is looking, serve the studio too."""
    page = path.with_suffix(".html")
    size = write_page(page, [open_motion(str(path))], title="Stanford arm under control")
    print(f"\npage       {page} ({size / 1e6:.1f} MB; it plays in any browser, without network)")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    from linkwright.studio.server import open_studio

    studio = open_studio([str(path)])
    print(f"studio     {studio.address} (Ctrl-C ends it)", flush=True)
    studio.wait()


if __name__ == "__main__":
    main()
