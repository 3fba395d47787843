"""Dimensioned sheets of mounts."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from linkwright.cli import main
from linkwright.mounts.drawing import HEIGHT, MARGIN, WIDTH, drawn_links, mount_sheet
from linkwright.parallel import BeamSection

R, L, D = 0.28033, 0.841, 0.98
OUT = R + math.sqrt(L**2 - D**2 / 4)  # of the joints between the arms


def read_dxf(file: Path) -> list[dict[int, str]]:
    """Return the entities of a file of R12, with their groups by code."""
    rows = file.read_text().split("\n")[:-1]
    assert len(rows) % 2 == 0
    found: list[dict[int, str]] = []
    for code, value in zip(map(int, rows[0::2]), rows[1::2], strict=True):
        if code == 0:
            found.append({})
        found[-1][code] = value
    assert [found[0][0], found[-2][0], found[-1][0]] == ["SECTION", "ENDSEC", "EOF"]
    return found[1:-2]


def test_what_is_drawn_has_the_sizes_of_the_mount(tmp_path: Path) -> None:
    """Lengths and radii measured on the sheet, times its scale, are those of the closed form."""
    sheet = mount_sheet("mount-2-rotary")
    entities = read_dxf(sheet.save(tmp_path / "sheet.dxf"))
    circles = [e for e in entities if e[0] == "CIRCLE" and e[8] == "axis"]
    radii = sorted(round(float(e[40]) * sheet.scale, 3) for e in circles)
    assert radii == [round(1e3 * R, 3), round(1e3 * OUT, 3)]
    top = np.array([float(circles[0][10]), float(circles[0][20])])
    outlines = np.array(
        [[float(e[k]) for k in (10, 20, 11, 21)] for e in entities
         if e[0] == "LINE" and e[8] == "outline"]
    )  # fmt: skip
    size = np.hypot(*(outlines[:, 2:] - outlines[:, :2]).T) * sheet.scale
    in_front = outlines[:, [1, 3]].max(axis=1) < top[1] - 1e3 * OUT / sheet.scale
    assert np.isclose(size[in_front], 1e3 * L, atol=1e-3).sum() == 2  # the leg in this plane
    assert np.isclose(size[in_front], 1e3 * D, atol=1e-3).sum() == 2  # the strut, in two views
    words = {e[1] for e in entities if e[0] == "TEXT"}
    assert {"841", "980", "490", f"3 x R{1e3 * OUT:.1f}, height 490"} <= words
    for e in entities:
        assert MARGIN <= float(e[10]) <= WIDTH - MARGIN
        assert MARGIN <= float(e[20]) <= HEIGHT - MARGIN


def test_links_are_where_the_closed_form_has_them() -> None:
    links, base = drawn_links("mount-prismatic")
    assert base.shape == (6, 3)  # three hinges, the foot of the strut, two anchors
    ends = {link.name: link for link in links}
    np.testing.assert_allclose(ends["arm1"].ends, [[R, 0, 0], [OUT, 0, D / 2]], atol=1e-9)
    assert ends["strut"].is_beam
    np.testing.assert_allclose(sorted(ends["strut"].along), [0.0, 0.49, D], atol=1e-9)
    assert not ends["platform"].is_beam


def test_the_command_draws_a_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mount", "strength", "mount-2-rotary", "--azimuths", "1", "--tube"]
    file = tmp_path / "sheet.svg"
    assert main([*words, "arm=100 mm, 5 mm", "-o", str(file)]) == 0
    page = ET.parse(file).getroot()
    assert page.attrib["width"] == f"{WIDTH / 25.4 * 72:.6f}".rstrip("0") + "pt"
    assert main([*words, "arm=100 mm, 5 mm", "-o", str(file)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*words, "arm=100 mm, 5 mm", "-o", str(tmp_path / "sheet.dwg")]) == 2
    assert "use .dxf" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["sheet.svg"]
    plain = read_dxf(
        mount_sheet("mount-2-rotary", {"arm1": BeamSection.tube(0.1, 0.005)}).save(
            tmp_path / "tube.dxf"
        )
    )
    assert "%%c100 x 5" in {e.get(1) for e in plain}
