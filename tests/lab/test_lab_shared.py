"""State that processes share: mirrors of windows, whole frames at full speed, programs in C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.lab.remote import lab_header
from linkwright.lab.shared import c_header
from linkwright.lab.sources import lab_config
from linkwright.simulation.pacing import Mirror
from linkwright.windows import Field, Record, RecordError, Window

JOINTS = 38
STATE = Record(
    "joint_state",
    *(Field(name, "rad", shape=(JOINTS,)) for name in ("th", "thd", "thdd", "ufb", "u", "load")),
    Field("flags", type="u8", shape=(3,)),
    Field("task.number", type="i32"),
)

WRITER = """
import sys
from linkwright.simulation.pacing import Mirror
from linkwright.windows import Record, Window
record = Record.from_text(open(sys.argv[2]).read())
window = Window.create(sys.argv[1], record)
with Mirror(window) as mirror:
    print("ready", flush=True)
    for tick in range(1, int(sys.argv[3]) + 1):
        for name in mirror:
            mirror[name][...] = tick % 200
        mirror.push(tick)
"""


def test_no_frame_is_torn_between_two_processes(tmp_path: Path) -> None:
    """Two processes: whole frames only, in order, and the last one arrives."""
    count = 30_000
    (tmp_path / "record").write_text(STATE.text)
    arguments = [str(tmp_path / "state"), str(tmp_path / "record"), str(count)]
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        seen = Window.open(tmp_path / "state", STATE)
        with Mirror(seen) as mirror:
            last, pulled, ended = 0, 0, False
            while not ended:
                ended = writer.poll() is not None
                if not mirror.pull() or not mirror.tick:
                    continue
                pulled += 1
                assert mirror.tick > last
                last = mirror.tick
                assert {float(v) for a in mirror.values() for v in a.flat} == {last % 200}
        assert writer.wait(10) == 0
        assert last == count
        assert pulled > 10
    finally:
        writer.kill()
        writer.communicate()


def test_a_mirror_is_a_copy_until_it_is_pushed(tmp_path: Path) -> None:
    """SL check 3. Each works on a local copy; edits appear elsewhere only after publish."""
    with Window.create(tmp_path / "w", STATE) as window, Window.open(tmp_path / "w", STATE) as seen:
        writer, reader = Mirror(window), Mirror(seen)
        arrays = dict(reader)
        writer["th"][3] = 0.5
        assert reader.pull()  # the empty frame
        assert not reader.pull()
        assert reader["th"][3] == 0.0
        writer.push(9, clock=11)
        assert reader.pull()
        assert (reader.tick, reader.clock, reader["th"][3]) == (9, 11, 0.5)
        assert all(arrays[name] is reader[name] for name in reader)
        assert seen.read().values["th"][3] == 0.5  # the same frame for Python's own reader
        window.write(
            {name: np.ones(a.shape) if name != "task.number" else 1 for name, a in writer.items()},
            tick=10,
        )
        assert reader.pull()
        assert reader["flags"].tolist() == [1, 1, 1]
        with pytest.raises(Error, match="opened to be read"):
            reader.push(1)
        with pytest.raises(Error, match="did you mean 'thd'"):
            reader["thdt"]
        memory = window.memory
        memory[16] += 1  # a writer that was stopped in the middle
        with pytest.raises(RecordError, match="in the middle of a frame"):
            reader.pull()
        assert reader["th"][3] == 1.0
        memory.release()
        for mirror in (writer, reader):
            mirror.close()
        with pytest.raises(Error, match="is closed"):
            reader.pull()


PROGRAM = r"""
#include "lab.h"
#include <stdio.h>
int main(int n, char **names) {
    lw_window in, out, other;
    lw_motor state;
    static lw_desired command;
    if (n < 3 || lw_motor_open(&in, names[1], 0)) return 2;
    if (lw_desired_open(&other, names[1], 0) != -2) return 3;   /* another layout */
    if (lw_desired_open(&out, names[2], 1)) return 4;
    printf("ready\n"); fflush(stdout);
    if (!lw_wait(&in, 20.0) || lw_read(&in, &state)) return 5;
    for (int i = 0; i < JOINT_COUNT; i++) command.des_th[i] = 2 * state.th[i];
    command.done = (int32_t)state.head.tick;
    command.head.tick = state.head.tick;
    lw_write(&out, &command);
    lw_close(&in); lw_close(&out);
    return 0;
}
"""


def test_a_program_in_c_joins(tmp_path: Path) -> None:
    """The header compiles, and a program reads one window and writes another."""
    motor = Record("motor", Field("th", "rad", shape=(2,)), Field("life", type="u8"), Field("t"))
    desired = Record("desired", Field("des_th", "rad", shape=(2,)), Field("done", type="i32"))
    records = {"motor": motor, "desired": desired}
    (tmp_path / "lab.h").write_text(c_header("my-arm", records, {"joint": ("R_EB", "R-WR")}))
    (tmp_path / "join.c").write_text(PROGRAM)
    command = [os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run([*command, "join.c", "-o", "join"], cwd=tmp_path, check=True)
    Window.create(tmp_path / "desired", desired).close()  # its writer is the program
    with Window.create(tmp_path / "motor", motor) as window:
        program = subprocess.Popen(
            [tmp_path / "join", tmp_path / "motor", tmp_path / "desired"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            with pytest.raises(Error, match="claimed by another process"):
                Window.create(tmp_path / "desired", desired)
            window.write({"th": [0.25, -1.5], "life": 2, "t": 0.5}, tick=77)
            window.wake()
            assert program.wait(20) == 0
        finally:
            program.kill()
            program.communicate()
    with Window.open(tmp_path / "desired", desired) as found:
        frame = found.read()
    assert frame.tick == frame.values["done"] == 77
    assert frame.values["des_th"].tolist() == [0.5, -3.0]


def test_the_header_of_a_laboratory_compiles(tmp_path: Path) -> None:
    config = lab_config("sl-arm")
    (tmp_path / "lab.h").write_text(lab_header(config))
    with pytest.raises(Error, match="no header for 'ada'"):
        lab_header(config, "ada")
    program = (
        '#include "lab.h"\nint main(void) { static lw_task_desired d; d.des_q[JOINT_R_EB] = 1;'
        " return (int)d.des_q[3] - 1 + (int)(sizeof(lw_task_state) % 8) + JOINT_COUNT - 10; }\n"
    )
    (tmp_path / "use.c").write_text(program)
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Werror"]
    subprocess.run([*command, "use.c", "-o", "use"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0
