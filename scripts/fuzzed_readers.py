"""Readers that `scripts.fuzz` gives damaged files, each with a file that it accepts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.algebra.language import parse
from linkwright.algebra.units import parse_unit
from linkwright.base.errors import InputError
from linkwright.contact.wrist_files import read_wrist
from linkwright.elements.picture_processing import read_picture
from linkwright.formats.catalog.reader import read_catalog
from linkwright.formats.robot.conversion import write_description
from linkwright.formats.robot.files import read_description
from linkwright.formats.robot.from_mechanism import description_of
from linkwright.formats.sl.configuration import read_configuration
from linkwright.formats.text.files import read_any, read_model, write_model
from linkwright.formats.text.tasks import read_task
from linkwright.heritage.systolic import assemble, data_scales, read_code, read_data
from linkwright.lab.drivers.greeting import greeting, read_greeting
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.files.lab_reader import read_lab
from linkwright.lab.files.scripts import read_script
from linkwright.lab.files.sine_files import read_sines
from linkwright.lab.files.vision_files import read_vision
from linkwright.lab.lab import Lab
from linkwright.lab.session import read_session
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.mounts.easycomm import EasyComm
from linkwright.mounts.element_files import read_orbits
from linkwright.mounts.move_files import read_move
from linkwright.mounts.rotator import Rotator
from linkwright.mounts.rotctl_language import answer
from linkwright.mounts.seas import read_responses
from linkwright.mounts.ship_files import read_ship
from linkwright.mounts.site_files import read_site
from linkwright.parallel.decoupled_compliance.leg_files import read_legs
from linkwright.parallel.design_files import read_design
from linkwright.parallel.locked_files import read_locked
from linkwright.recording import Channel, Recording, read_recording
from linkwright.recording.journal import Journal
from linkwright.sampling.rate_files import read_loop
from linkwright.scene.scene_file import read_scene_file
from linkwright.scene.solids import read_surfaces
from linkwright.server.cell_file import read_cell
from linkwright.server.face import ArmFace, RefusedError
from linkwright.server.messages import PROTOCOL, described, refusal, refused
from linkwright.sweeps.plans import read_plan
from linkwright.windows import Field, Record

ROOT = Path(__file__).parents[1]

STUDY = """model = "pendulum"
until = 5.0
step = 0.025
method = "rk4"
runs = 10
seed = 3
[parameters]
L = [0.5, 1.0]
m = { from = 1.0, to = 2.0, count = 3 }
g = { normal = [9.8, 0.1] }
[initial]
phi = { uniform = [-1.0, 1.0] }
[channels]
phi = ["final", "max", "at 1.0"]
"""
DAE = """<COLLADA><asset><unit meter="0.01"/></asset>
<library_effects><effect id="e"><diffuse><color>1 0 0 1</color></diffuse></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles material="k"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#n" offset="1"/><p>0 0 1 0 2 0</p></triangles>
<polylist><input semantic="VERTEX" source="#v" offset="0"/><vcount>4</vcount><p>0 1 2 3</p>
</polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene><node id="n"><translate>1 2 3</translate>
<rotate>0 0 1 90</rotate><scale>1 1 2</scale><instance_geometry url="#g"/>
<node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></node>
<node><instance_node url="#n"/></node></visual_scene></library_visual_scenes></COLLADA>"""
EXPRESSION = "2*sin(a + 1.5e-3)**2/(b - c) <= 4"
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 2 3\nf 1//1 2//1 -1//1 4//1\n"
MSH = np.array([3, 0, 0, 1], "<i4").tobytes() + np.arange(9, dtype="<f4").tobytes()
MSH += np.array([0, 1, 2], "<i4").tobytes()


@dataclass(frozen=True)
class Reader:
    """A reader with a file that it accepts: `name` is that of the file, `make` writes it.

    `opens` says whether it opens the file itself, and refuses what is none.
    """

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    opens: bool = True

    def whole(self, path: Path) -> bytes:
        """Return the file that it accepts."""
        self.make(path)
        return path.read_bytes()

    def take(self, path: Path, content: bytes) -> None:
        """Read a file with that content."""
        path.write_bytes(content)
        self.read(path)


@dataclass(frozen=True)
class Decoder:
    """A decoder of bytes that came over a wire, with some that it accepts."""

    name: str
    sent: bytes
    decode: Callable[[bytes], object]

    def whole(self, path: Path) -> bytes:
        """Return what it accepts."""
        return self.sent

    def take(self, path: Path, content: bytes) -> None:
        """Decode bytes, without a file: millions of them."""
        self.decode(content)


def _recording(path: Path) -> None:
    t = np.arange(20) / 100
    channels = [Channel("x", "m", "place", "length", "b"), Channel("v", "m/s")]
    Recording(t, channels, np.column_stack([np.sin(t), t]), {"model": "m", "n": [1, 2]}).save(path)


def _journal(path: Path) -> None:
    with Journal(path, [Channel("x", "m")], {"model": "m"}) as journal:
        for k in range(3):
            journal.append([k, k + 0.5], [[1], [2]])


def _robot(path: Path) -> None:
    write_description(description_of(load_model("puma560")), path, replace=True)


def _shipped(path: Path) -> Callable[[Path], object]:
    return lambda to: to.write_bytes(path.read_bytes())


def _triangle(path: Path) -> None:
    record = np.arange(12, dtype="<f4").tobytes() + b"\0\0"
    path.write_bytes(b"\0" * 80 + (2).to_bytes(4, "little") + 2 * record)


def _model(path: Path) -> object:
    return write_model(read_model(path))


def _expression(path: Path) -> object:
    return parse(path.read_bytes().decode("utf-8", "replace"))


STATE = Record("state", Field("q", "rad", shape=(6,)), Field("life", type="u8"), Field("age", "s"))
SENT = STATE.pack({"q": range(6), "life": 2, "age": 0.001}, sequence=8, tick=500, clock=10**9)


def _frame(data: bytes) -> None:
    """Take a frame only as it was sent."""
    assert STATE.unpack(data).data == SENT, "a frame was taken that nobody sent"


def _declaration(data: bytes) -> object:
    return Record.from_text(data.decode("utf-8", "replace"))


def _unit(path: Path) -> object:
    return parse_unit(path.read_bytes().decode("utf-8", "replace"))


def _sines(path: Path) -> object:
    return read_sines(path, JOINTS)


TASK = """format = 1
name = "pick"
frame = "tool"
[start]
j1 = "10 deg"
[[part]]
kind = "move"
to = {j1 = 0.5, j2 = "-20 deg"}
duration = 1
[[part]]
kind = "segment"
duration = "500 ms"
channels = {j1 = [0, "30 deg/s^2"], j2 = 0.1}
[[part]]
kind = "follow"
times = [0, 0.5, 1]
positions = {j2 = ["-17.135220 deg", 0.1, 0.2]}
[[payload]]
at = 1
mass = "500 g"
center = ["1 cm", 0, 0]
[[wrench]]
start = 1
duration = 0.5
channels = {fz = -20}
[limits.j1]
speed = "10 deg/s"
"""
SEA = """format = 1
offset = [0, 0, 20]
[sea]
height = 4
period = 10
duration = 30
responses = "generic.csv"
"""
ISS = """ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""
OMM = {
    "OBJECT_NAME": "ISS (ZARYA)", "OBJECT_ID": "1998-067A", "EPOCH": "2008-09-20T12:25:40.104192",
    "MEAN_MOTION": 15.72125391, "ECCENTRICITY": 0.0006703, "INCLINATION": 51.6416,
    "RA_OF_ASC_NODE": 247.4627, "ARG_OF_PERICENTER": 130.536, "MEAN_ANOMALY": 325.0288,
    "NORAD_CAT_ID": 25544, "BSTAR": -1.1606e-05,
}  # fmt: skip
MASK = "azimuth,elevation\n0,3\n90,12.5\n270,4\n"
SITE = """format = 1
latitude = -43.52
longitude = 172.58
height = 20
mask = "mask.csv"
"""
ARRAY = """set n = 2
queue up ascending 2
queue down descending 3
queue still constant
queue out descending 7 output
fifo read = up, down, still
fifo write = out
WRITEQ READQ
repeat 2
  MOVE_SW READ
  S:W = N:E
  repeat 15
    MOVE_SW
    S:W = N:E
  end
  MOVE_SW WRITE
end
"""
WAVE = """from linkwright.lab import Task, parameter, sin

class Wave(Task):
    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    native = True

    def run(self, t, state, desired):
        desired.q = 0.1 * sin(self.frequency * t)
"""
JOINTS = ["R_SFE", "R_SAA", "R_HR", "R_EB", "R_WR", "R_WFE", "R_WAA", "R_TL", "R_TV", "R_FAA"]
NUMBERS = "\n".join(" ".join([str(0.1 * k)] * 16) for k in range(6)) + "\nscale out 4\n"
ROTCTL = b"P 180 45\np\n+\\get_pos\n\\dec2dms 1.5\nL 172.5 -43.5 6\nl RE66\n;M 8 50\nV 1 2\nS\n"
LINES = b"AZ180.0 EL45.0\nAZ EL\nVE ML SA SE\nPARK\nRESET\n"


def _written(text: str | bytes) -> Callable[[Path], object]:
    content = text.encode() if isinstance(text, str) else text
    return lambda path: path.write_bytes(content)


def _sea(path: Path) -> object:
    """Write a ship in a sea, and the responses beside it."""
    table = PACKAGE / "mounts" / "generic_ship.csv"
    (path.parent / "generic.csv").write_bytes(table.read_bytes())
    return path.write_text(SEA)


def _mask(path: Path) -> object:
    (path.parent / "site.toml").write_text(SITE)
    return path.write_text(MASK)


def _checked(path: Path) -> object:
    """Read elements whose sums of digits were made right."""
    rows = path.read_bytes().decode("ascii", "replace").split("\n")
    for k, row in enumerate(rows):
        if len(row) == 69 and row[0] in "12":
            total = sum(int(c) if c in "0123456789" else c == "-" for c in row[:68])
            rows[k] = f"{row[:68]}{total % 10}"
    path.write_text("\n".join(rows))
    return read_orbits(path)


@cache
def _machine() -> Mechanism:
    return load_model("stewart")


def _locked(path: Path) -> object:
    return read_locked(path, _machine())


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


@cache
def _queues() -> Any:
    return assemble(ARRAY).queues


def _array_data(path: Path) -> object:
    return read_data(_text(path), _queues()), data_scales(_text(path), _queues())


@cache
def _session() -> bytes:
    """Return what a session of a laboratory tells, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        with Lab("double-pendulum", folder=folder) as lab:
            wave = Path(folder) / "wave.py"
            wave.write_text(WAVE)
            lab.add(wave)
            lab.do("st wave")
            lab.run(0.05)
            assert lab.session is not None
        told = read_recording(lab.session.path).metadata
    return json.dumps({**told, "states": []}).encode()


def _stored(path: Path) -> object:
    """Read a session from what it tells."""
    try:
        about = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError("this is not JSON", file=path) from None
    if not isinstance(about, dict):
        raise InputError("this is no table", file=path)
    return read_session(Recording([0.0], [Channel("x")], [[0.0]], about))


@cache
def _rotator() -> Rotator:
    return Rotator(clock="virtual")


def _rotctl(data: bytes) -> None:
    for line in data.split(b"\n"):
        answer(line.decode("ascii", "replace"), _rotator())
        _rotator().advance(0.2)


def _easycomm(data: bytes) -> None:
    EasyComm(_rotator()).take(data + b"\n")
    _rotator().advance(0.2)


def _description() -> bytes:
    arm = ArmFace("arm", ("a",), ("rad",), ((-1.0, 1.0),), ("arm.1",), parameters={"gain": 2.0})
    said = {
        "protocol": PROTOCOL,
        "name": "cell",
        "rate": 1000.0,
        "causes": ["none"],
        "lives": ["off"],
    }
    said |= {"state": STATE.text, "arms": [vars_of(arm)], "divisors": [1, 2], "rights": ["look"]}
    return json.dumps(said).encode()


def vars_of(arm: ArmFace) -> dict[str, Any]:
    """Return the fields of an arm."""
    return {name: getattr(arm, name) for name in arm.__dataclass_fields__}


def _configuration(part: str, path: Path) -> object:
    assert path.name == part
    return read_configuration([path.parent], JOINTS)


EXAMPLES = ROOT / "examples"
PACKAGE = ROOT / "src" / "linkwright"
CONFIG = PACKAGE / "lab" / "robots" / "sl-arm" / "config"
GREETING = greeting("knock", DriverLayout(("elbow", "knee"), 960.0)).packed()
PREFERENCES = PACKAGE / "lab" / "robots" / "sl-arm" / "prefs"
LEGS = f"""format = 1
stiffness = "700 N/m"
bases = {[[0, 0, 0]] * 2 + [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2}
tips = {[[0, 0, 1], [1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1], [0, 0, 1]]}
"""
PICTURE = b"P5\n# two by three\n2 3\n255\n" + bytes(range(0, 240, 40))

READERS: dict[str, Reader | Decoder] = {
    "urdf": Reader("r.urdf", _robot, read_description),
    "mjcf": Reader("r.xml", _robot, read_description),
    "dh": Reader("r.dh.toml", _robot, read_description),
    "sl": Reader("r.dyn", _robot, read_description),
    "text": Reader("m.toml", _shipped(ROOT / "tests/data/everything.toml"), _model),
    "loop": Reader("m.toml", _shipped(PACKAGE / "models/text/slider-crank.toml"), _model),
    "scene_file": Reader("d.toml", _shipped(PACKAGE / "scene/scenes/work-cell.toml"),
    read_scene_file), "dae": Reader("m.dae", lambda p: p.write_text(DAE), read_surfaces),
    "stl": Reader("m.stl", _triangle, read_surfaces),
    "msh": Reader("m.msh", lambda p: p.write_bytes(MSH), read_surfaces),
    "obj": Reader("m.obj", lambda p: p.write_text(OBJ), read_surfaces),
    "csv": Reader("a.csv", _recording, read_recording),
    "npz": Reader("a.npz", _recording, read_recording),
    "mat": Reader("a.mat", _recording, read_recording),
    "parquet": Reader("a.parquet", _recording, read_recording),
    "mcap": Reader("a.mcap", _recording, read_recording),
    "erd": Reader("a.erd", _recording, read_recording),
    "data": Reader("d00001", _recording, read_recording),
    "traj": Reader("a.traj", _recording, read_recording),
    "sines": Reader("a.sine", _shipped(PREFERENCES / "default.sine"), _sines),
    "vision": Reader("a.pp", _shipped(PREFERENCES / "vision_default.pp"), read_vision),
    "lab": Reader("lab.toml", _shipped(PACKAGE / "lab" / "files" / "starter.toml"), read_lab),
    "journal": Reader("a.journal", _journal, read_recording),
    "study": Reader("s.toml", lambda p: p.write_text(STUDY), read_plan),
    "expression": Reader("e", lambda p: p.write_text(EXPRESSION), _expression, False),
    "frame": Decoder("frame", SENT, _frame),
    "declaration": Decoder("declaration", STATE.text.encode(), _declaration),
    "unit": Reader("u", lambda p: p.write_text("kg*m^2/s^2/rad"), _unit, False),
    "task": Reader("t.toml", _written(TASK), read_task),
    "catalog": Reader("c.toml", _shipped(PACKAGE / "formats/catalog/generic.toml"), read_catalog),
    "cell": Reader("c.toml", _shipped(PACKAGE / "server/cells/axes2.toml"), read_cell),
    "rates": Reader("l.toml", _shipped(EXAMPLES / "loop.toml"), read_loop),
    "wrist": Reader("w.toml", _shipped(EXAMPLES / "wrist.toml"), read_wrist),
    "legs": Reader("l.toml", _written(LEGS), read_legs),
    "picture": Reader("p.pgm", lambda p: p.write_bytes(PICTURE), read_picture),
    "design": Reader("d.toml", _shipped(EXAMPLES / "mounts/prismatic.toml"), read_design),
    "locked": Reader("l.toml", _shipped(EXAMPLES / "mounts/lengths.toml"), _locked),
    "site": Reader("s.toml", _shipped(EXAMPLES / "mounts/site.toml"), read_site),
    "mask": Reader("mask.csv", _mask, lambda p: read_site(p.with_name("site.toml"))),
    "ship": Reader("s.toml", _shipped(EXAMPLES / "mounts/rough.toml"), read_ship),
    "sea": Reader("s.toml", _sea, read_ship),
    "responses": Reader("r.csv", _shipped(PACKAGE / "mounts/generic_ship.csv"), read_responses),
    "move": Reader("m.toml", _shipped(EXAMPLES / "mounts/orbit.toml"), read_move),
    "tle": Reader("e.tle", _written(ISS), _checked, False),
    "omm": Reader("e.json", _written(json.dumps([OMM], indent=1)), read_orbits),
    "elements": Reader("e.csv", _written(",".join(OMM) + "\n" + ",".join(map(str, OMM.values()))),
    read_orbits), "array": Reader("a.asm", _written(ARRAY), lambda p: assemble(_text(p)), False),
    "array_code": Reader("a.code", _written(assemble(ARRAY).text()),
    lambda p: read_code(_text(p)), False),
    "array_data": Reader("a.txt", _written(NUMBERS), _array_data, False),
    "servo_arm": Reader("m.toml", _shipped(PACKAGE / "models/text/servo-arm.toml"), read_any),
    "joint_drive": Reader("m.toml", _shipped(PACKAGE / "models/text/joint-drive.toml"), read_any),
    "session": Reader("s.json", lambda p: p.write_bytes(_session()), _stored, False),
    "bay": Reader("b.toml", _shipped(EXAMPLES / "ref6/bay.toml"), read_scene_file),
    "script": Reader("a.script", _shipped(PREFERENCES / "default.script"), read_script),
    **{
        path.stem: Reader(path.name, _shipped(path), partial(_configuration, path.name), False)
        for path in sorted(CONFIG.glob("*.cf"))
    },
    "greeting": Decoder("greeting", GREETING, read_greeting),
    "description": Decoder("description", _description(), described),
    "refusal": Decoder("refusal", refusal(RefusedError("old", "late", remedy="again")), refused),
    "rotctl": Decoder("rotctl", ROTCTL, _rotctl),
    "easycomm": Decoder("easycomm", LINES, _easycomm),
}  # fmt: skip
