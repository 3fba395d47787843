"""A page that shows the array instruction by instruction: which elements work, what they hold.

One file of HTML without anything to fetch: the 256 elements as a square, colored by a register,
with a slider over the cycles, the instruction of each cycle and the values under the pointer.
"""

from __future__ import annotations

import base64
import html
import json

import numpy as np

from linkwright.base.errors import InputError, suggestion
from linkwright.heritage.systolic.fixed import ArrayFault, to_numbers
from linkwright.heritage.systolic.instructions import REGISTERS, SIDE
from linkwright.heritage.systolic.listing import listing
from linkwright.heritage.systolic.machine import ArrayMachine

MOST = 4000
"""Cycles on a page."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 46rem; padding: 0 1rem;
  color: #1f2937; background: #fafafa }}
canvas {{ width: 100%; max-width: 32rem; aspect-ratio: 1; border: 1px solid #d1d5db }}
input {{ width: 100%; max-width: 32rem }}
pre {{ background: #fff; padding: .5rem; overflow-x: auto }}
button {{ font: inherit }}
</style></head><body><h1>{title}</h1>
<p>Register <b>{register}</b> of 256 elements: red is positive, blue negative, pale small. A frame
marks elements that the mask of the instruction enables.</p>
<canvas id="array" width="512" height="512" aria-label="16 by 16 elements"></canvas>
<p><input id="at" type="range" min="0" max="{last}" value="0" aria-label="cycle">
<button id="back">&#8592;</button> <button id="on">&#8594;</button> <button id="run">run</button>
<span id="where"></span></p><pre id="code"></pre><p id="value"></p>{ended}
<script>
const data = {data};
const read = (text, type) => new type(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const values = read(data.values, Float32Array), on = read(data.enabled, Uint8Array);
const get = id => document.getElementById(id), at = get("at"), pen = get("array").getContext("2d");
let timer = 0, under = -1;
function draw() {{
  const k = +at.value;
  for (let e = 0; e < 256; e++) {{
    const v = values[256 * k + e], x = 32 * (e % 16), y = 32 * Math.floor(e / 16);
    const far = v === 0 ? 0 : Math.min(1, Math.max(.08, 1 + Math.log2(Math.abs(v)) / 16));
    pen.fillStyle = v > 0 ? `rgba(200,85,61,${{far}})` : `rgba(47,102,144,${{far}})`;
    pen.clearRect(x, y, 32, 32); pen.fillRect(x + 2, y + 2, 28, 28);
    pen.lineWidth = on[256 * k + e] ? 2 : .5; pen.strokeStyle = "#1f2937";
    pen.strokeRect(x + 2, y + 2, 28, 28);
  }}
  get("where").textContent = `cycle ${{k}}, pc ${{data.pc[k]}}`;
  get("code").textContent = data.head + "\\n" + (data.code[data.pc[k]] || "the end");
  get("value").textContent = under < 0 ? "" : `row ${{Math.floor(under / 16) + 1}}, column ` +
    `${{under % 16 + 1}}: ${{values[256 * k + under].toPrecision(7)}}`;
}}
function go(step) {{ at.value = +at.value + step; draw(); }}
at.oninput = draw; get("back").onclick = () => go(-1); get("on").onclick = () => go(1);
get("run").onclick = () => {{
  if (timer) {{ clearInterval(timer); timer = 0; }}
  else timer = setInterval(() => go(1), 60);
}};
get("array").onpointermove = e => {{
  const size = get("array").clientWidth / 16;
  const [row, column] = [e.offsetY, e.offsetX].map(x => Math.min(15, Math.floor(x / size)));
  under = 16 * row + column;
  draw();
}};
draw();
</script></body></html>
"""


def array_page(machine: ArrayMachine, register: str = "AB0", *, title: str = "Array") -> str:
    """Return the page of a run from where the machine stands, to its end or for `MOST` cycles.

    >>> from linkwright.heritage.systolic import assemble, read_data
    >>> code = assemble("ADDD(AB0, B1)\\nAB2 = SUM1A\\n")
    >>> text = array_page(ArrayMachine(code, read_data("", code.queues)[0]), "AB2")
    >>> "<canvas" in text, 'max="2"' in text
    (True, True)
    """
    if register not in REGISTERS:
        remedy = suggestion(register, REGISTERS, f"one of {', '.join(REGISTERS[::8])} and others")
        raise InputError(f"there is no register {register!r}", remedy=remedy)
    row, code = REGISTERS.index(register), machine.code
    values, enabled, places = [machine.registers[row].copy()], [], [machine.pc]
    ended = "<p>It goes on beyond this page.</p>"
    while not machine.ended and len(places) <= MOST:
        enabled.append(code.instructions[machine.pc].mask.elements.ravel())
        try:
            machine.step()
        except ArrayFault as fault:
            enabled.pop()
            ended = f"<p>Fatal at the last cycle: {html.escape(str(fault))}</p>"
            break
        values.append(machine.registers[row].copy())
        places.append(machine.pc)
    if machine.ended:
        ended = ""
    enabled += [np.zeros(SIDE * SIDE, dtype=bool)] * (len(places) - len(enabled))
    _, head, _, *rows = listing(code, range(len(code.instructions))).split("\n")
    data = {
        "values": _packed(to_numbers(np.array(values)).astype("<f4")),
        "enabled": _packed(np.array(enabled).astype(np.uint8)),
        "pc": places,
        "head": head,
        "code": ["\n".join(rows[2 * k : 2 * k + 2]) for k in range(len(code.instructions))],
    }
    return _PAGE.format(
        title=html.escape(title),
        register=register,
        last=len(places) - 1,
        ended=ended,
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def _packed(given: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(given).tobytes()).decode("ascii")
