"""A fork while threads derive and compile: the child works, and nobody waits for ever."""

import os
import subprocess
import sys
from pathlib import Path

import linkwright as lw
from linkwright.base.forking import cached_property

START = """
import os, sys, tempfile, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads, which this is about
import linkwright as lw
from linkwright.backends.kernel import Kernel
from linkwright.base.forking import importing
from linkwright.program import program

(x,) = lw.symbols("x", "coordinate")


def child_computes():
    pid = os.fork()
    if pid == 0:
        made = lw.compile(program("p", {"x": x}, {"y": 3 * lw.sin(x) + os.getpid()}))
        right = made(0.0) == os.getpid() and made.batch([0.0] * 9).tolist() == [os.getpid()] * 9
        os._exit(0 if right else 1)
    for _ in range(600):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.05)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False
"""

COMPILING = """
at_work, go_on = threading.Event(), threading.Event()


class Slow:
    @property
    def scalar(self):
        at_work.set()
        go_on.wait()


slow = Kernel(program("slow", {"x": x}, {"y": x}), "llvm", "float64", Slow())
thread = threading.Thread(target=lambda: slow.scalar)
thread.start()
at_work.wait()
good = child_computes()
go_on.set()
thread.join()
if not good:
    sys.exit("a child does not work while a thread compiles")
"""

LOCKED = """
from linkwright.algebra import nodes
from linkwright.backends.llvm import compile as native, target
from linkwright.simulation.native import bundle

lw.compile(program("p", {"x": x}, {"y": x + 1}))(1.0)
for lock in (nodes._lock, bundle._lock, native._bind_lock, target._lock, target.llvm.ffi.lib._lock):
    taken, left = threading.Event(), []

    def hold():
        with lock:
            taken.set()
            time.sleep(0.05)
            left.append(lock)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    if not child_computes():
        sys.exit(f"hangs: {lock}")
    assert left, "the fork did not wait"
    thread.join()
"""

BUSY = """
over = threading.Event()


def busy():
    k = 0.5
    while not over.is_set():
        k += 1
        lw.compile(program("q", {"x": x}, {"y": lw.cos(x) * k + lw.sqrt(x + k)}))(1.0)


threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
good = all(child_computes() for _ in range(3))
over.set()
for thread in threads:
    thread.join()
if not good:
    sys.exit("a child does not work while threads are busy")
"""


IMPORTING = """
sys.begun, sys.go_on = threading.Event(), threading.Event()
with tempfile.TemporaryDirectory() as folder:
    sys.path.insert(0, folder)
    with open(f"{folder}/half_done.py", "w") as file:
        print("import sys; sys.begun.set(); sys.go_on.wait()", file=file)
        print("from linkwright import Happened", file=file)

    def at_first_use():
        with importing:
            sys.go_on.set()
            import half_done

    def at_once():
        import half_done

    threads = [threading.Thread(target=work, daemon=True) for work in (at_once, at_first_use)]
    threads[0].start()
    sys.begun.wait()
    threads[1].start()
    for thread in threads:
        thread.join(60)
    sys.exit(any(thread.is_alive() for thread in threads) or not child_computes())
"""


def run_alone(what: str) -> None:
    """Run a text after `START` in a process of its own; it ends with 0 where all is well."""
    done = subprocess.run(
        [sys.executable, "-c", START + what],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(lw.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_child_forked_while_threads_work_works_too() -> None:
    """While one compiles, while one holds a lock, while two are busy."""
    run_alone(COMPILING + LOCKED + BUSY)


def test_imports_on_first_use_do_not_wait_for_modules_that_wait_for_them() -> None:
    """One thread imports a module that uses a name of ours; another, at a first use, the module."""
    run_alone(IMPORTING)


def test_a_cached_property_is_computed_once() -> None:
    calls = []

    class Thing:
        @cached_property
        def value(self) -> int:
            """Its value."""
            calls.append(1)
            return 7

    thing = Thing()
    assert (thing.value, thing.value, calls) == (7, 7, [1])
    assert vars(thing) == {"value": 7}
    assert Thing.value.__doc__ == "Its value."
