"""Files whose numbers were changed, opened in one process.

`python -m tests.random.mutated_numbers` prints what became of each change: refused in our words,
harmless, or anything else, which is a fault. Where native code went astray, the
process does not live to print it.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache as once, partial
from pathlib import Path
from typing import Any

import numpy as np

import linkwright as lw
from linkwright.base import cache
from linkwright.base.errors import Error
from linkwright.lab.config_data import config_of
from linkwright.lab.lab import Lab
from linkwright.models.rerun import rerun
from linkwright.models.runner import Request, run_model
from linkwright.recording import Recording, read_recording
from linkwright.recording.streams import TAPE, attached_bytes, attached_text
from linkwright.simulation.settings import RunSettings
from tests.support.lab_robots import planar, planar_file

TASK = """
from linkwright.lab import Task, parameter, sin

class Wave(Task):
    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    native = True

    def run(self, t, state, desired):
        desired.q = 0.1 * sin(self.frequency * t)
"""
STRANGE: tuple[Any, ...] = (
    -1,
    0,
    1,
    2,
    0.5,
    4096,
    300_000,
    10**9,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
)
STRANGE += (10**18, 1e18, 1e300, -1e300, math.nan, math.inf, 10**400, None, True, "7", [], {})
Outcome = tuple[str, str]


class TooLong(Exception):
    """A run that was to last for ever: it is stopped from outside, and harms nobody."""


def watched(_now: float, _end: float = 0.0) -> None:
    raise TooLong


def patient() -> Callable[..., None]:
    """Return what stops a run when it was told some times that it still goes on."""
    left = iter(range(20))
    return lambda *_: watched(0.0) if next(left, None) is None else None


def outcome(what: str, open_it: Callable[[], object]) -> Outcome:
    """Return what became of something: refused, harmless, or a fault."""
    try:
        open_it()
    except Error as error:
        return "refused" if str(error) else "fault", f"{what}: {error}"
    except TooLong:
        return "harmless", what
    except Exception as error:
        return "fault", f"{what}: {type(error).__name__}: {error}"
    return "harmless", what


def places(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the numbers of plain data are."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*here, key))
    elif isinstance(data, int | float):
        yield here


def changed(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(data)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


def strange(rng: random.Random, old: Any) -> Any:
    near = [old + 1, old - 1, 2 * old, -old] if isinstance(old, int | float) else []
    return rng.choice([*STRANGE, *near])


def one_number(rng: random.Random, data: Any) -> tuple[str, Any]:
    """Return plain data with one other number in it, and which."""
    place = rng.choice(list(places(data)))
    old = data
    for key in place:
        old = old[key]
    new = strange(rng, old)
    return f"{'.'.join(map(str, place))} = {str(new)[:30]}", changed(data, place, new)


# -- sessions --------------------------------------------------------------------------------------
@once
def made_session(folder: Path) -> Recording:
    (folder / "moves.py").write_text(TASK)
    with Lab(planar(folder), folder=folder, session_rate=50) as lab:
        lab.add(folder / "moves.py")
        lab.run(0.02)
        lab.start("wave", frequency=2.0)
        lab.run(0.05)
    assert lab.session is not None
    found = read_recording(lab.session.path)
    assert rerun(found).difference is None
    return found


def sessions(rng: random.Random, count: int, folder: Path) -> Iterator[Outcome]:
    """Change numbers of what a session tells of its tasks, of its tape, of itself."""
    whole = made_session(folder)
    about = dict(whole.metadata)
    noted = [json.loads(line) for line in about["noted"]]
    tape = np.frombuffer(attached_bytes(about["attached"]), TAPE)
    rows, sizes = tape.view("<i8").reshape(-1, 3), ("arguments", "held", "tick", "number")
    for turn in range(count):
        now = dict(about)
        kind = ("sizes", "noted", "tape", "label", "rows", "outputs")[turn % 6]
        if kind in ("sizes", "noted"):
            line = rng.randrange(len(noted))
            one = [p for p in places(noted[line]) if kind == "noted" or p[-1] in sizes]
            place = rng.choice(one or list(places(noted[line])))
            new = strange(rng, 100)
            what = f"{line} {place} = {str(new)[:30]}"
            lines = [*noted[:line], changed(noted[line], place, new), *noted[line + 1 :]]
            now["noted"] = [json.dumps(told) for told in lines]
        elif kind == "outputs":  # a task that would write elsewhere
            held = rng.choice([0, 1, 118, 120, 5000, 200_000])
            lines = copy.deepcopy(noted)
            for told in lines:
                if "program" in told:
                    told["data"] |= {"outputs": {"results": ["0.25"] * held}}
                    told["data"] |= {"held": held} if rng.random() < 0.7 else {}
            what = f"{held} results"
            now["noted"] = [json.dumps(told) for told in lines]
        elif kind == "tape":
            row, column = rng.randrange(len(rows)), rng.randrange(2)
            new = rng.choice([-(2**63), -5, 1, 10**6, 2**40, 2**63 - 1])
            other = rows.copy()
            other[row, column] = new
            what = f"row {row}, {TAPE.names[column]} = {new}"  # type: ignore[index]
            now["attached"] = attached_text(other.tobytes())
        elif kind == "rows":
            what, now["attached"] = "rows", attached_text(rows.tobytes()[: rng.randrange(400)])
        else:
            label = {k: v for k, v in about["tape"].items() if k != "names"} | about["lab"]
            what, new = one_number(rng, {k: v for k, v in label.items() if k != "config"})
            now["tape"] = {k: new.get(k) for k in about["tape"]} | {"names": about["tape"]["names"]}
            now["lab"] = {k: new.get(k) for k in about["lab"]} | {"config": about["lab"]["config"]}
        again = Recording(whole.times, whole.channels, whole.data, now)
        yield outcome(f"{kind} {what}", partial(rerun, again, progress=watched))
    config = str(about["lab"]["config"])
    numbers = list(re.finditer(r"(?<=[:,\[])-?\d[\d.e+-]*(?=[,\]}])", config))
    for _ in range(count):
        spot = rng.choice(numbers)
        new = json.dumps(rng.choice(STRANGE[:-2]))
        text = config[: spot.start()] + new + config[spot.end() :]
        yield outcome(f"config {spot[0]} -> {new[:30]}", partial(config_of, text))


# -- journals and recordings -----------------------------------------------------------------------
def journals(rng: random.Random, count: int, folder: Path) -> Iterator[Outcome]:
    """Change bytes of a journal, and numbers of its head."""
    made_session(folder)
    content = (folder / "session00001.journal").read_bytes()
    path = folder / "changed.journal"
    magic, head, rest = content.split(b"\n", 2)
    for turn in range(count):
        if turn % 2:
            what, new = one_number(rng, json.loads(head))
            path.write_bytes(b"\n".join([magic, json.dumps(new).encode(), rest]))
        else:
            place = rng.randrange(len(magic) + len(head) + 2, len(content))
            byte = rng.choice([0, 1, 127, 128, 255])
            what = f"byte {place} = {byte}"
            path.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
        yield outcome(what, lambda: rerun(read_recording(path), progress=watched))


def recordings(rng: random.Random, count: int, folder: Path) -> Iterator[Outcome]:
    """Change numbers of what a recording says of its run."""
    whole = run_model(Request("pendulum", RunSettings(0.05, 0.01))).recording
    about = json.loads(json.dumps(dict(whole.metadata)))
    path = folder / "run.npz"
    for _ in range(count):
        what, new = one_number(rng, about)

        def again(new: Any = new) -> None:
            Recording(whole.times, whole.channels, whole.data, new).save(path, replace=True)
            rerun(read_recording(path), progress=watched)

        yield outcome(what, again)


# -- the cache -------------------------------------------------------------------------------------
def entries(rng: random.Random, count: int, folder: Path) -> Iterator[Outcome]:
    """Change entries of the cache: their bytes, and numbers under a digest that is right."""
    store = cache.open_cache()
    assert store is not None
    arm = planar_file(folder)
    states = [np.full(2, 0.5)] * 3

    def use() -> None:
        found = lw.load(arm).inverse_dynamics(*states), lw.load(arm).mass_matrix(states[0])
        run = run_model(Request("pendulum", RunSettings(0.05, 0.01)), progress=patient())
        for new, old in zip((*found, run.recording.data), good, strict=True):
            assert np.shape(new) == np.shape(old), "another shape"
            assert np.allclose(new, old), "other numbers"

    good: tuple[Any, ...]
    good = lw.load(arm).inverse_dynamics(*states), lw.load(arm).mass_matrix(states[0])
    good += (run_model(Request("pendulum", RunSettings(0.05, 0.01))).recording.data,)
    use()
    kept = {file.name: file.read_bytes() for file in store.folder.iterdir()}
    head = cache._HEADER.size
    plain = [name for name, entry in kept.items() if entry[head:].startswith(b"{")]
    for turn in range(count):
        if turn % 2:
            name = rng.choice(list(kept))
            place, byte = rng.randrange(len(kept[name])), rng.randrange(1, 256)
            entry = bytearray(kept[name])
            entry[place] ^= byte
            what, right = f"{name[:8]} byte {place}", True
        else:
            name = rng.choice(plain)
            what, data = one_number(rng, json.loads(kept[name][head:]))
            code = json.dumps(data).encode()
            key = bytes.fromhex(name.partition(".")[0])
            entry = bytearray(
                cache._HEADER.pack(cache._MAGIC, cache.FORMAT, len(code), key, cache._digest(code))
                + code
            )
            right = False  # numbers of a run that somebody has changed with care are believed
        (store.folder / name).write_bytes(entry)
        found = outcome(f"{name[:8]} {what}", use)
        if found[0] == "fault" and "AssertionError" in found[1] and not right:
            found = "harmless", found[1]
        yield found
        for file, sound in kept.items():
            (store.folder / file).write_bytes(sound)


KINDS = {
    "entries": entries,
    "sessions": sessions,
    "journals": journals,
    "recordings": recordings,
}


def main(seed: int, counts: Sequence[int]) -> None:
    """Change so many numbers of each kind of file, and print what became of each."""
    with tempfile.TemporaryDirectory() as folder:
        for (kind, changes), count in zip(KINDS.items(), counts, strict=True):
            rng = random.Random(f"{kind} {seed}")
            for became, what in changes(rng, count, Path(folder)):
                print(json.dumps([kind, became, what]), flush=True)
    print(json.dumps(["", "done", ""]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]])
