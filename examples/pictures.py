"""Draw the picture of the README: a motion of the Stanford arm, and its operations beside others'.

Needs the extra `plot`: ``python examples/pictures.py`` writes ``docs/pictures/stanford-arm.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import linkwright as lw

PUBLISHED = {  # adds and multiplies, uncontrolled arm: Sayers 1990, table 9.6.1
    "numerical Newton–Euler": 1255 + 1627,
    "Kane & Levinson, by hand": 459 + 732,
    "SD/FAST": 390 + 576,
    "Wampler, by hand": 318 + 448,
    "SYMBA": 268 + 384,
    "AUTOSIM": 240 + 353,
}
INK, SOFT, ACCENT = "#1f2933", "#c3ccd6", "#c8553d"


def main() -> None:
    """Write the picture."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1.15, 1))
    _motion(left)
    _counts(right)
    figure.tight_layout(w_pad=2.5)
    target = Path(__file__).parent.parent / "docs" / "pictures" / "stanford-arm.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)


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
