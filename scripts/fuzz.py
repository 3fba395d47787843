"""Give every reader files that were damaged at random, for as long as asked: `make fuzz`.

A reader accepts a file or raises a `linkwright.Error`. Anything else is a failure: another
exception, more than 10 s for one input, more than a gibibyte of memory. The input of a failure is
written to `fuzz-failures`; one that was mended belongs into `tests/data/fuzz` under the name
READER-WHAT, where it is read first in every run. Inputs follow from the seed alone.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkwright.algebra.language import parse
from linkwright.algebra.units import parse_unit
from linkwright.errors import Error
from linkwright.formats.robot.conversion import write_description
from linkwright.formats.robot.files import read_description
from linkwright.formats.robot.from_mechanism import description_of
from linkwright.formats.text.files import read_model, write_model
from linkwright.lab.files.lab_reader import read_lab
from linkwright.lab.files.sine_files import read_sines
from linkwright.lab.files.vision_files import read_vision
from linkwright.models import load_model
from linkwright.recording import Channel, Recording, read_recording
from linkwright.recording.journal import Journal
from linkwright.scene.scene_file import read_scene_file
from linkwright.scene.solids import read_surfaces
from linkwright.sweeps.plans import read_plan
from linkwright.windows import Field, Record

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "data" / "fuzz"
LONGEST = 10.0  # s for one input
MOST_MEMORY = 1 << 30  # bytes that one input may add to the largest size of the process
ADDRESS_SPACE = 12 << 30

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
MSH = np.array([3, 0, 0, 1], "<i4").tobytes() + np.arange(12, dtype="<f4").tobytes()
WORDS = (
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"1e-320", b"true", b"1_000", b"9" * 30,
    b"9" * 5000, b"4294967296", b"[" * 300, b"{", b"}", b"]", b'"', b"'", b"\0", b"\xff\xfe", b"\n",
    b",", b";", b"#", b"=", b"\x1b[2J", "\u202e".encode(), "\u2028".encode(), b"../../etc/passwd",
    b"<!DOCTYPE a>", b"&a;", b"(" * 300, b"**", b"/0", b"A" * 70_000,
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A reader with a file that it accepts: `name` is that of the file, `make` writes it."""

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]

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
    return read_sines(path, ("R_SFE", "R_EB"))


PACKAGE = ROOT / "src" / "linkwright"
PREFERENCES = PACKAGE / "lab" / "robots" / "sl-arm" / "prefs"
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
    "expression": Reader("e", lambda p: p.write_text(EXPRESSION), _expression),
    "frame": Decoder("frame", SENT, _frame),
    "declaration": Decoder("declaration", STATE.text.encode(), _declaration),
    "unit": Reader("u", lambda p: p.write_text("kg*m^2/s^2/rad"), _unit),
}  # fmt: skip


class TooLong(BaseException):
    """One input took too much time."""


def _over(*_: object) -> None:
    raise TooLong


def mutated(content: bytes, random_: random.Random) -> bytes:
    """Return a file with one to six things changed."""
    made = bytearray(content)
    for _ in range(random_.choice((1, 1, 1, 2, 3, 6))):
        at, size = random_.randrange(len(made) + 1), random_.choice((1, 2, 4, 8, 40))
        kind = random_.randrange(7)
        if kind == 0 and made:
            made[at % len(made)] ^= 1 << random_.randrange(8)
        elif kind == 1:
            del made[at : at + size]
        elif kind == 2:
            made[at:at] = made[at : at + size] * random_.choice((1, 2, 30))
        elif kind == 3:
            made[at : at + random_.choice((0, size))] = random_.choice(WORDS)
        elif kind == 4:
            made[at : at + size] = random_.randbytes(size)
        elif kind == 5:
            digits = [k for k, c in enumerate(made) if 48 <= c < 58]
            if digits:
                place = random_.choice(digits)
                made[place : place + 1] = random_.choice(WORDS[:12])
        elif random_.random() < 0.3:
            del made[at:]
    return bytes(made)


def failure(reader: Reader | Decoder, path: Path, content: bytes) -> str:
    """Return why an input is a failure; empty where it is none."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.take(path, content)
    except Error:
        pass
    except TooLong:
        return f"more than {LONGEST:g} s"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return f"{grown >> 20} MiB of memory" if grown > MOST_MEMORY else ""


def inputs(name: str, path: Path, seed: int) -> Iterator[bytes]:
    """Yield the inputs of a reader: the whole file, those that were failures, then damaged ones."""
    whole = READERS[name].whole(path)
    yield whole
    for case in sorted(CASES.glob(f"{name}-*")):
        yield case.read_bytes()
    random_ = random.Random(f"{seed} {name}")
    while True:
        yield mutated(whole, random_)


def main(arguments: Sequence[str] | None = None) -> int:
    """Go round the readers until the time is over or each has had its number of inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on, in all")
    parser.add_argument("--inputs", type=int, default=10**9, help="how many for each reader")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("readers", nargs="*", default=list(READERS), help="which readers")
    chosen = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    signal.signal(signal.SIGALRM, _over)
    print(f"seed {chosen.seed}", flush=True)
    failed = 0
    for name in chosen.readers:
        reader = READERS[name]
        begun = time.monotonic()
        share = chosen.seconds / len(chosen.readers)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / reader.name
            seen: set[str] = set()
            for count, content in enumerate(inputs(name, path, chosen.seed)):
                if count >= chosen.inputs or time.monotonic() - begun > share:
                    break
                why = failure(reader, path, content)
                last = "\n".join(why.splitlines()[-4:-1]) or why
                if why and last not in seen:
                    seen.add(last)
                    kept = Path("fuzz-failures") / f"{name}-{chosen.seed}-{count}"
                    kept.parent.mkdir(exist_ok=True)
                    kept.write_bytes(content)
                    print(f"{name}, input {count} ({kept}):\n{why}", file=sys.stderr, flush=True)
        failed += len(seen)
        print(f"{name:10} {count:8} inputs, {len(seen)} failures", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
