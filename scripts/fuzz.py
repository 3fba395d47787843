"""Give every reader files that were damaged at random, for as long as asked: `make fuzz`.

A reader accepts a file or raises a `linkwright.Error`. Anything else is a failure: another
exception, more than 10 s of the processor for one input, more than a gibibyte of memory, and a
refusal of the whole file that it begins with. The input of a failure is written to `fuzz-failures`;
one that was mended belongs into `tests/data/fuzz` under the name READER-WHAT, where it is read
first in every run. Inputs follow from the seed alone.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from linkwright.base.errors import Error
from scripts.fuzzed_readers import READERS, Decoder, Reader

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "data" / "fuzz"
LONGEST = 10.0  # s of the processor for one input
WAITING = 300.0  # s by the clock, also on a machine that is very busy
MOST_MEMORY = 1 << 30  # bytes that one input may add to the largest size of the process
ADDRESS_SPACE = 12 << 30

WORDS = (
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"1e-320", b"true", b"1_000", b"9" * 30,
    b"9" * 5000, b"4294967296", b"[" * 300, b"{", b"}", b"]", b'"', b"'", b"\0", b"\xff\xfe", b"\n",
    b",", b";", b"#", b"=", b"\x1b[2J", "\u202e".encode(), "\u2028".encode(), b"../../etc/passwd",
    b"<!DOCTYPE a>", b"&a;", b"(" * 300, b"**", b"/0", b"A" * 70_000, b"[" * 20_000,
    b'{"a":' * 20_000, b"A" * 300, b"1" + b"0" * 400,
)  # fmt: skip


NUMBERS = (
    b"0", b"-0.0", b"1", b"-1", b"2", b"0.5", b"1e-9", b"1e9", b"1e18", b"-1e18", b"1e300",
    b"1e308", b"-1e308", b"5e-324", b"11e-320", b"nan", b"inf", b"9" * 19, b"1" + b"0" * 400,
    b"-" + b"9" * 400, b"true", b'"1 m"', b'"1e308 deg"', b"[]", b"{}", b"[1, 2]",
    b'""', b'"' + b"A" * 300 + b'"',
)  # fmt: skip
NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
QUOTED = re.compile(rb'"[^"\n]*"')


class TooLong(BaseException):
    """One input took too much time."""


def _over(*_: object) -> None:
    raise TooLong


def mutated(content: bytes, random_: random.Random) -> bytes:
    """Return a file with one to six things changed."""
    made = bytearray(content)
    for _ in range(random_.choice((1, 1, 1, 2, 3, 6))):
        at, size = random_.randrange(len(made) + 1), random_.choice((1, 2, 4, 8, 40))
        kind = random_.randrange(10)
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
        elif kind in (6, 7):
            if numbers := list(NUMBER.finditer(made)):
                found = random_.choice(numbers)
                made[found.start() : found.end()] = random_.choice(NUMBERS)
        elif kind == 8:
            if texts := list(QUOTED.finditer(made)):
                found = random_.choice(texts)
                others = (*NUMBERS, *(text[0] for text in texts))
                made[found.start() : found.end()] = random_.choice(others)
        elif random_.random() < 0.3:
            del made[at:]
    return bytes(made)


def failure(reader: Reader | Decoder, path: Path, content: bytes) -> str | None:
    """Return why an input is a failure: empty where it was accepted, None where it was refused."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.setitimer(signal.ITIMER_REAL, WAITING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.take(path, content)
    except Error:
        return None
    except TooLong:
        return f"more than {LONGEST:g} s of the processor, or {WAITING:g} s"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
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
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, _over)
    print(f"seed {chosen.seed}", flush=True)
    failed = 0
    for name in chosen.readers:
        reader = READERS[name]
        share = chosen.seconds / len(chosen.readers)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / reader.name
            seen: set[str] = set()
            accepted, begun = 0, 0.0
            for count, content in enumerate(inputs(name, path, chosen.seed)):
                begun = begun or time.monotonic()  # when the whole file was made
                if count >= chosen.inputs or time.monotonic() - begun > share:
                    break
                why = failure(reader, path, content)
                accepted += why == ""
                if count == 0 and why is None:
                    why = "the whole file is refused"
                last = "\n".join((why or "").splitlines()[-4:-1]) or why or ""
                if why and last not in seen:
                    seen.add(last)
                    kept = Path("fuzz-failures") / f"{name}-{chosen.seed}-{count}"
                    kept.parent.mkdir(exist_ok=True)
                    kept.write_bytes(content)
                    print(f"{name}, input {count} ({kept}):\n{why}", file=sys.stderr, flush=True)
        failed += len(seen)
        print(f"{name:20} {count:8} inputs, {accepted} accepted, {len(seen)} failures", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
