"""Robot files from strangers: what is refused, and that nothing but our own errors escapes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import linkwright.formats.text.starters
from linkwright.backends.c import c_source
from linkwright.base.errors import Error, InputError
from linkwright.base.files import read_bytes
from linkwright.formats.meshes.lookup import find_mesh
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass, Place
from linkwright.formats.robot.files import FORMATS, endings, read_description, written_description
from linkwright.formats.robot.plausibility import description_findings, repaired
from linkwright.formats.robot.to_mechanism import assembled
from linkwright.formats.robot.to_text import robot_text
from linkwright.formats.robot.xml import Caps, parse_xml, read_xml
from linkwright.formats.text.files import read_model
from linkwright.formats.urdf import parse_urdf, read_urdf, urdf_text
from linkwright.robots import Robot
from tests.seeds import cases

ROBOTS = Path(__file__).resolve().parents[1] / "robots"
LINK = '<link name="a"/>'
EXAMPLES = int(os.environ.get("LINKWRIGHT_FUZZ", "12"))  # more for a longer run by hand

# -- XML -------------------------------------------------------------------------------------------
LAUGHS = '<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(9))
REFUSED = {
    "a billion laughs": (
        f'<!DOCTYPE r [{LAUGHS}]><robot name="&l9;">{LINK}</robot>',
        "a DOCTYPE is rejected",
    ),
    "an external entity": (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        "a DOCTYPE is rejected",
    ),
    "an external parameter entity": (
        '<!DOCTYPE r [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]><robot/>',
        "a DOCTYPE is rejected",
    ),
    "an external DTD": (
        '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>',
        "a DOCTYPE is rejected",
    ),
    "an entity that nobody declared": ('<robot name="&x;"/>', "undefined entity"),
    "a robot in a robot, far down": ("<robot>" * 300 + "</robot>" * 300, "deeper than 200"),
    "a long attribute": (f'<robot name="{"a" * (2**20 + 1)}"/>', "is longer than"),
    "a long text": (f"<robot>{'a' * (2**20 + 1)}</robot>", "a text is longer than"),
    "many attributes": (
        "<robot " + " ".join(f'a{k}="1"' for k in range(101)) + "/>",
        "more than 100 attributes",
    ),
    "many elements": ("<robot>" + "<a/>" * 200_001 + "</robot>", "more than 200000 elements"),
    "a long tag": (f"<{'a' * 2000}/>", "name of an element"),
    "an odd encoding": ('<?xml version="1.0" encoding="utf-7"?><robot/>', "'utf-7' is not read"),
    "a null": ("<robot>\0</robot>", "not well-formed"),
    "nothing": ("", "no element found"),
    "two roots": (f"<robot>{LINK}</robot><robot/>", "junk after document element"),
    "an end without a start": ("</robot>", "not well-formed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_xml_that_a_robot_file_does_not_need_is_refused(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(InputError) as caught:
        parse_urdf(text, file="r.urdf")
    assert message in str(caught.value)
    assert caught.value.line is not None
    assert caught.value.column is not None


def test_a_fault_is_told_by_line_and_column() -> None:
    with pytest.raises(InputError) as caught:
        parse_xml("<a>\n  <b>\n  </a>", file="x.xml")
    assert str(caught.value).startswith("x.xml:3:5: this is not well-formed XML: mismatched tag")


def test_large_files_folders_and_devices_are_not_read(tmp_path: Path) -> None:
    big = tmp_path / "big.urdf"
    big.write_text("<robot>" + " " * 2000)
    with pytest.raises(InputError, match="longer than 1000 bytes"):
        read_xml(big, Caps(size=1000))
    with pytest.raises(InputError, match="longer than 1000 bytes"):
        parse_xml(big.read_text(), caps=Caps(size=1000))
    with pytest.raises(InputError, match="it is a folder"):
        read_urdf(tmp_path)
    for path in (tmp_path / "none.urdf", Path("/dev/zero")):
        with pytest.raises(InputError, match="no such file"):
            read_bytes(path, 1000)
    with pytest.raises(InputError, match=r"no name of a file|no such file"):
        read_bytes("a\0b", 1000)


def test_bytes_in_other_encodings_are_the_same_robot(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="{}"?><robot name="Käfer"><link name="a"/></robot>'
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        file = tmp_path / f"{encoding}.urdf"
        file.write_bytes(text.format(encoding).encode(encoding))
        assert read_urdf(file).name == "Käfer"


# -- meshes ----------------------------------------------------------------------------------------
@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return the path of a robot in a package with a mesh, beside a secret and a link to it."""
    robot = tmp_path / "arm_pkg" / "urdf" / "arm.urdf"
    (tmp_path / "arm_pkg" / "meshes").mkdir(parents=True)
    robot.parent.mkdir()
    robot.write_text("<robot/>")
    (robot.parent / "near.stl").write_text("solid")
    (tmp_path / "arm_pkg" / "meshes" / "far.stl").write_text("solid")
    (tmp_path / "secret.stl").write_text("secret")
    (robot.parent / "link.stl").symlink_to(tmp_path / "secret.stl")
    (robot.parent / "ring.stl").symlink_to(robot.parent / "ring.stl")
    return robot


def test_meshes_beside_the_robot_are_found(package: Path) -> None:
    near = package.parent / "near.stl"
    assert find_mesh("near.stl", package) == near.resolve()
    assert find_mesh(f"file://{near}", package) == near.resolve()
    assert find_mesh("sub/../near.stl", package) == near.resolve()


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.stl",
        "../meshes/far.stl",
        "link.stl",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://arm_pkg/../secret.stl",
        "package://arm_pkg/%2e%2e/secret.stl",
        "package://../secret.stl",
        "package://./../../secret.stl",
        "package:///etc/passwd",
        "package://arm_pkg/meshes/far.stl",  # no package.xml says that it is one
    ],
)
def test_meshes_outside_the_roots_are_refused(package: Path, name: str) -> None:
    with pytest.raises(InputError, match="lies outside the folders"):
        find_mesh(name, package)


def test_a_package_is_known_by_its_manifest_or_declared(package: Path) -> None:
    top = package.parent.parent
    far = (top / "meshes" / "far.stl").resolve()
    for roots in ([top], [top.parent]):
        assert find_mesh("package://arm_pkg/meshes/far.stl", package, roots) == far
        assert find_mesh("../meshes/far.stl", package, roots) == far
    (top / "package.xml").write_text("<package/>")
    assert find_mesh("package://arm_pkg/meshes/far.stl", package) == far
    with pytest.raises(InputError, match="lies outside"):
        find_mesh("package://arm_pkg/../secret.stl", package)
    # roots add to what is found without them
    elsewhere = [top.parent / "elsewhere"]
    assert find_mesh("package://arm_pkg/meshes/far.stl", package, elsewhere) == far
    near = (package.parent / "near.stl").resolve()
    assert find_mesh("near.stl", package, elsewhere) == near
    with pytest.raises(InputError, match="lies outside"):
        find_mesh("../../secret.stl", package, elsewhere)


def test_other_odd_names_of_meshes_are_refused(package: Path) -> None:
    with pytest.raises(InputError, match="is not on this machine"):
        find_mesh("http://localhost/a.stl", package)
    with pytest.raises(InputError, match="has no name of a file"):
        find_mesh("a\0.stl", package)
    for name in ("missing.stl", "ring.stl"):
        with pytest.raises(InputError, match=r"missing|outside"):
            find_mesh(name, package)


# -- names -----------------------------------------------------------------------------------------
def test_names_of_a_file_do_not_reach_generated_code() -> None:
    """Links and joints called like C and shell code; what is generated has plain words only."""
    names = ['x"); system("true', "*/", "a\\b", "1x", "int", "import os", "日本", "`true`"]
    mass = Mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    links = (Link("base"), *(Link(name, mass) for name in names))
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    joints = tuple(
        LinkJoint(name, "revolute", links[k].name, name, Place((0.1, 0.0, 0.0)), axes[k % 2])
        for k, name in enumerate(names)
    )
    robot = Description('r"; true', links, joints)
    again = parse_urdf(urdf_text(robot).text)
    assert [joint.name for joint in again.joints] == names
    made = assembled(again)
    words = {*made.mechanism.bodies, *made.mechanism.coordinates, made.mechanism.name}
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", word) for word in words)
    assert [joint.name for joint in made.joints] == names  # people still see their own
    source = c_source(Robot(again).mass_matrix.program)
    assert not any(name in source for name in ("system(", "*/ ", "import os", "日本", "`true"))
    text = robot_text(again).text
    assert list(read_model(text).coordinates) == list(made.mechanism.coordinates)


# -- fuzzing ---------------------------------------------------------------------------------------
MODELS = Path(linkwright.formats.text.starters.__file__).parent
SEEDS = [  # the file that is read, and the file that is changed before
    *((path, path) for path in sorted(ROBOTS.glob("*.*"))),
    *((path, path) for path in sorted(MODELS.glob("*.toml"))),
    *((path, path) for path in sorted((ROBOTS / "mjcf").glob("*.xml"))),
    (ROBOTS / "mjcf" / "gripper.xml", ROBOTS / "mjcf" / "parts" / "palm.xml"),
    *(
        (ROBOTS / "sl_arm" / "arm.dyn", path)
        for path in sorted((ROBOTS / "sl_arm").rglob("*.*"))
        if path.is_file()
    ),
]
TOKENS = [
    b"nan",
    b"1e308",
    b"1e59",
    b"-1e59",
    b"1e-320",
    b"0",
    b"-1",
    b"",
    b"0x1p4",
    b"9" * 400,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
    b"<",
    b"&lt;",
    b'"',
    b"'",
    b"{",
    b"}}",
    b"[[joint]]\n",
    b"]]>",
    b"<!-- ",
    b"-->",
    b"<![CDATA[",
    b"${x}",
    b"../../../etc/passwd",
    "é\u202e".encode(),
    b"\n",
    b"a" * 300,
    b"(*",
    b"*)",
    b"Sqrt[-1]",
    b"1/0",
    b"10^10^10",
    b"world",
    b"base",
]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["cut", "put", "copy", "swap", "value"]),
        st.floats(0, 1),
        st.integers(1, 60),
        st.sampled_from(TOKENS),
        st.floats(0, 1),
    ),
    min_size=1,
    max_size=4,
)


def _changed(data: bytes, changes: list[tuple[str, float, int, bytes, float]]) -> bytes:
    for kind, where, length, token, other in changes:
        at, to = int(where * len(data)), int(other * len(data))
        if kind == "cut":
            data = data[:at] + data[at + length :]
        elif kind == "put":
            data = data[:at] + token + data[at:]
        elif kind == "copy":
            data = data[:to] + data[at : at + length] + data[to:]
        elif kind == "swap":
            data = data[:at] + data[to : to + length] + data[at + length :]
        else:  # in place of what stands between the next two quotes, or after the next "="
            start = data.find(b'"', at) + 1
            end = data.find(b'"', start)
            if 0 < start <= end:
                data = data[:start] + token + data[end:]
    return data


def _use(path: Path) -> None:
    """Read a file, examine and repair it, and write it in every format that can hold it."""
    robot = read_description(path)
    description_findings(robot)
    repaired(robot)
    for key, form in FORMATS.items():
        if form.writer:
            with contextlib.suppress(Error):
                written_description(robot, key)


@pytest.mark.parametrize(("main", "changed"), cases(SEEDS, daily=14), ids=lambda path: path.name)
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(changes=CHANGES)
def test_changed_files_raise_nothing_but_our_errors(
    main: Path, changed: Path, changes: list[tuple[str, float, int, bytes, float]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        inner = Path()
        if main.parent.parent == ROBOTS:  # a robot of several files
            shutil.copytree(main.parent, folder, dirs_exist_ok=True)
            inner = changed.parent.relative_to(main.parent)
        target = Path(folder) / inner / changed.name
        target.write_bytes(_changed(changed.read_bytes(), changes))
        with contextlib.suppress(Error):
            _use(Path(folder) / main.name)


@pytest.mark.parametrize("suffix", sorted(endings()))
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(parts=st.lists(st.one_of(st.binary(max_size=20), st.sampled_from(TOKENS)), max_size=20))
def test_random_files_raise_nothing_but_our_errors(suffix: str, parts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot{suffix}"
        path.write_bytes(b"".join(parts))
        with contextlib.suppress(Error):
            _use(path)
