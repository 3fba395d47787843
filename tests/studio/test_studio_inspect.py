"""Inspection: trees, masses, operations that are counted, equations, code, and its page."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import linkwright as lw
from linkwright.backends.kernel import compile as compiled
from linkwright.mechanism import Mechanism
from linkwright.pages.highlight import colored
from linkwright.program import count_operations
from linkwright.robots import Robot
from linkwright.studio.inspection import LANGUAGES, WHOLE, Inspection
from linkwright.studio.server import Studio, open_studio
from tests.seeds import seldom
from tests.support.chromium import opened

ARM = Path(__file__).parents[1] / "robots" / "oblique_arm.urdf"


def inspected(name: str) -> Inspection:
    return Inspection(Robot(lw.load(name)))


def test_the_tree_has_each_body_after_what_it_hangs_on() -> None:
    seen = Inspection(Robot(ARM))
    tree = seen.tree()
    assert [t.name for t in tree] == list(seen.names[1:])
    above = {0: "ground"}
    for twig in tree:
        body = seen.mechanism.bodies[twig.name]
        parent = body.parent
        assert parent is not None
        wanted = "ground" if parent is seen.mechanism.ground else parent.name
        assert above[twig.depth - 1] == wanted
        above[twig.depth] = twig.name
    assert "shoulder" in next(t for t in tree if t.name == "shoulder").frames


def test_a_body_tells_mass_inertia_and_limits() -> None:
    rows = dict(Inspection(Robot(ARM)).body("shoulder"))
    assert rows["coordinates"] == "waist [rad], -2.5 to 2.5"
    m = Mechanism("m")
    tensor = np.array([[3.0, 0.2, 0.1], [0.2, 2.0, 0.3], [0.1, 0.3, 4.0]])
    xx, yy, zz = np.diag(tensor)
    m.body("b", rotate="z", mass=2, com=(1, 0, 0), inertia=(xx, yy, zz, 0.2, 0.3, 0.1))
    rows = dict(Inspection(Robot(m)).body("b"))
    assert rows["mass"] == "2 kg"
    moments = [float(x) for x in rows["principal moments"].split(" kg")[0].split(",")]
    assert moments == pytest.approx(np.linalg.eigvalsh(tensor), rel=1e-4)


# -- operations ------------------------------------------------------------------------------------
def _numbers(row: tuple[str, ...]) -> list[int]:
    return [int(x) for x in row[1:]]


def test_operations_of_bodies_that_share_nothing_add_up() -> None:
    """Two pendulums that do not touch: what each needs is for it alone, and the sum is all."""
    m = Mechanism("two")
    for k in "ab":
        m.body(k, rotate="z", mass=f"m{k}", com=(f"L{k}", 0, 0), inertia=f"I{k}")
    m.gravity(along=-m.y)
    seen = Inspection(Robot(m))
    tables = [seen.operations(k) for k in "ab"]
    for _, needed, alone, whole in tables:
        assert _numbers(needed) == _numbers(alone)
        assert _numbers(whole) == list(count_operations(seen.program).as_dict().values())
    both = np.sum([_numbers(t[1]) for t in tables], axis=0)
    assert both.tolist() == _numbers(tables[0][3])


@pytest.mark.parametrize("model", ["double-pendulum", "four-bar", "whipple", "slider-crank"])
def test_the_part_of_a_body_computes_its_rates_with_the_operations_that_are_told(
    model: str,
) -> None:
    seen = inspected(model)
    whole = compiled(seen.program, backend="python")
    rng = np.random.default_rng(5)
    values = [rng.uniform(0.5, 1.5, p.shape) for p in seen.program.inputs]
    rates = {p.name: v for p, v in zip(seen.program.outputs, _called(whole, values), strict=True)}
    names = seen._rates()
    for body in seen.names[1:]:
        part = seen.part(body)
        if not part.outputs:
            continue
        made = _called(compiled(part, backend="python"), values)
        own = seen._own(body)
        for port, got in zip(part.outputs, made, strict=True):
            wanted = [rates[port.name][k] for k, n in enumerate(names[port.name]) if n in own]
            np.testing.assert_array_equal(got, wanted)
        told = _numbers(seen.operations(body)[1])
        assert told == list(count_operations(part).as_dict().values())
        assert all(a <= b for a, b in zip(told, _numbers(seen.operations(body)[3]), strict=True))


def _called(kernel: Any, values: list[Any]) -> list[Any]:
    made = kernel(*values)
    return list(made) if isinstance(made, tuple) else [made]


# -- equations -------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", ["double-pendulum", "four-bar", "whipple"])
def test_equations_are_drawn_for_each_body(model: str) -> None:
    seen = inspected(model)
    for name in seen.names:
        for group in seen.equations_of(name):
            assert group.rows
            assert len(group.rows) <= group.count
            for row in group.rows:
                root = ET.fromstring(row)  # well formed
                assert root.tag in ("math", "code", "span")


def test_equations_of_a_body_are_its_own() -> None:
    seen = inspected("double-pendulum")

    def rates(name: str) -> list[str]:
        (group,) = [g for g in seen.equations_of(name) if g.title == "dynamical equations"]
        return [re.sub(r"<[^>]*>", "", unescape(r)).split("=")[0] for r in group.rows]

    assert rates("upper") == ["φ¨1"]
    assert rates("lower") == ["φ¨2"]
    assert rates(WHOLE) == ["φ¨1", "φ¨2"]


@seldom(daily="test_the_part_of_a_body_computes_its_rates_with_the_operations_that_are_told")
def test_large_models_are_told_in_bounded_texts() -> None:
    m = Mechanism("chain")
    above = m.ground
    for k in range(40):
        above = m.body(
            f"b{k}",
            parent=above,
            at=(0.2, 0, 0),
            rotate="xyz"[k % 3],
            mass=1,
            com=(0.1, 0, 0),
            inertia=(0.1, 0.1, 0.1),
        )
    m.gravity(along="-z")
    seen = Inspection(Robot(m))
    groups = seen.equations_of("b39")
    assert sum(g.count for g in groups) > 500
    assert sum(len(r) for g in groups for r in g.rows) < 400_000
    assert max(len(g.rows) for g in groups) <= 60


# -- code ------------------------------------------------------------------------------------------
def test_code_is_written_in_each_language(tmp_path: Path) -> None:
    seen = inspected("double-pendulum")
    (tmp_path / "part.c").write_text(seen.code("lower", "C"))
    command = ["gcc", "-std=c99", "-Wall", "-Werror", "-c", "part.c", "-o", "part.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    compile(seen.code(WHOLE, "Python"), "part.py", "exec")
    latex = seen.code("upper", "LaTeX")
    assert latex.count("{") == latex.count("}")
    assert r"\dot{\dot" not in latex
    with pytest.raises(lw.Error, match="C, Python, LaTeX"):
        seen.code(WHOLE, "Fortran")


@pytest.mark.parametrize("language", LANGUAGES)
def test_colors_leave_the_text_as_it_is(language: str) -> None:
    source = inspected("double-pendulum").code(WHOLE, language) + '\n<b> & "x" // # % end'
    made = colored(source, language)
    assert unescape(re.sub(r"<span class='\w'>|</span>", "", made)) == source
    assert made.count("<span class='n'>") > 3
    assert "<b>" not in made


def test_words_of_languages_are_colored() -> None:
    assert "<span class='c'>/* a &lt; b */</span>" in colored("x; /* a < b */")
    assert "<span class='w'>def</span> <span class='f'>f</span>" in colored("def f(x):", "Python")
    assert "<span class='w'>\\sin</span>" in colored(r"\sin x", "LaTeX")


# -- the page --------------------------------------------------------------------------------------
def test_warnings_name_bodies_and_mark_them_in_the_tree() -> None:
    m = Mechanism("odd")
    m.body("odd", rotate="z", mass=1, inertia=(0.1, 0.1, 0.3))
    m.body("even", rotate="z", mass=1, inertia=(0.1, 0.1, 0.15))
    seen = Inspection(Robot(m))
    assert any("largest moment" in w for w in seen.warnings())
    assert [t.warned for t in seen.tree()] == [True, False]


def ask(studio: Studio, path: str, body: object = None) -> Any:
    content = json.dumps(body or {}).encode()
    request = Request(studio.pages.address + path, data=content, method="POST")
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_a_body_is_chosen_in_the_tree_and_in_the_scene() -> None:
    studio = open_studio(["double-pendulum"])
    try:
        stage, panels = studio.stage, studio.panels
        assert stage is not None
        before = [(k, mesh.color) for k, mesh in stage.meshes]
        ask(studio, "inspect/select", {"name": "lower"})
        assert stage.lit == 2
        assert stage.handles[2].show_axes
        changed = {
            k for (k, old), (_, m) in zip(before, stage.meshes, strict=True) if m.color != old
        }
        assert changed == {2}
        panels.select("upper")  # as a click in the scene does
        assert ask(studio, "inspect/now")["selected"] == "upper"
        ask(studio, "inspect/select", {"name": WHOLE})
        assert [(k, mesh.color) for k, mesh in stage.meshes] == before
        assert not stage.handles[2].show_axes
        assert "no body" in ask(studio, "inspect/select", {"name": "<b>"})["error"]
        assert "no body" in ask(studio, "inspect/show", {"name": "x", "view": "body"})["error"]
        address = studio.pages.address + "inspect/code?of=lower&as=Python"
        with urlopen(address, timeout=60) as answer:
            assert b"q_dot = [phi2_dot]" in answer.read()
    finally:
        studio.close()


@seldom(daily="test_warnings_name_bodies_and_mark_them_in_the_tree")
def test_the_page_shows_the_tree_equations_code_and_warnings() -> None:
    studio = open_studio([str(ARM)])
    try:
        with opened(studio.pages.address + "inspect", width=420) as (page, wrong):
            page.wait_for_selector("html[data-ready=yes]")
            page.fill("#find", "upper")
            assert page.locator("#tree [data-body]").count() >= 1
            page.locator('#tree [data-body="upper_arm"]').click()
            page.get_by_text("principal moments").wait_for()
            page.fill("#find", "")
            page.get_by_role("tab", name="Equations").click()
            page.locator("math >> visible=true").first.wait_for()
            assert page.get_by_text("operations used").count() == 1
            page.get_by_role("tab", name="Code").click()
            page.locator("pre .w").first.wait_for()
            page.locator(".bar select").select_option("Python")
            page.locator("pre .w", has_text="def").first.wait_for()
            page.get_by_role("tab", name="Warnings").click()
            page.locator("#shown > *").first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 420
            assert wrong == []
    finally:
        studio.close()
