// Tuning an axis: its parameters while it runs, steps laid over each other, Bode plot and margins, gains that are proposed.
function make(tag, props = {}, ...inner) { const e = Object.assign(document.createElement(tag), props); e.append(...inner); return e; }
const home = document.getElementById("tune");
async function post(path, body) {
  const answer = await fetch("tune/" + path, { method: "POST", body: JSON.stringify(body || {}) }), told = await answer.json();
  if (told.error && told.axis === undefined) throw new Error(told.error);
  return told;
}
function say(words) { const p = document.getElementById("told"); p.textContent = words; p.hidden = !words; }
const number = (v, digits = 4) => v === null || v === undefined ? "–" : `${+v.toPrecision(digits)}`;
const span = (s) => s === null ? "–" : s < 1 ? `${number(1e3 * s, 3)} ms` : `${number(s, 3)} s`;
const theme = () => document.documentElement.dataset.theme === "dark" ? "dark" : "light";

const axes = make("select", { ariaLabel: "axis" }), life = make("span", { className: "said" }), enable = make("button", { type: "button", textContent: "Enable" });
const values = make("form"), asked = {};
const ask = (name, label, value, unit, title) => { asked[name] = make("input", { type: "number", value, step: "any", title }); return make("label", { title }, label, asked[name], unit); };
const tests = make("div", { className: "row" }), busy = make("div", { className: "row", hidden: true }), bar = make("progress", { max: 1, value: 0 }), doing = make("span");
const go = (test, label, title) => { const b = make("button", { type: "button", textContent: label, title, className: "go" }); b.onclick = () => start(test); tests.append(b); return b; };
go("step", "Step", "A step of the set-point"); go("sweep", "Sweep", "Sines at several frequencies: Bode plot and margins"); go("relay", "Relay", "A relay makes the axis oscillate; gains follow from that");
busy.append(doing, bar, make("button", { type: "button", textContent: "Cancel", onclick: () => send("cancel", {}) }));
const stepPlot = make("canvas"), gainPlot = make("canvas"), phasePlot = make("canvas", { className: "low" }), relayPlot = make("canvas", { className: "low" });
const stepTable = make("table", { className: "results" }), margins = make("table", { className: "results" }), oscillation = make("p", { className: "said" });
const proposals = { sweep: make("div", { className: "proposed", hidden: true }), relay: make("div", { className: "proposed", hidden: true }) };
const parts = {
  step: make("section", {}, make("h2", {}, "Step ", make("small", {}, "position over time; the newest is drawn full")), stepPlot, stepTable),
  sweep: make("section", {}, make("h2", {}, "Sweep ", make("small", {}, "gain of the open loop in dB, phase in degrees, over rad/s")), gainPlot, phasePlot, margins, proposals.sweep),
  relay: make("section", {}, make("h2", {}, "Relay ", make("small", {}, "position over time")), relayPlot, oscillation, proposals.relay),
};
home.append(make("div", { className: "row" }, make("label", {}, "Axis ", axes), life, enable), values,
  make("form", { onsubmit: (e) => e.preventDefault() }, ask("amplitude", "Amplitude", 0.005, "", "Of steps, sines and relays"), ask("seconds", "Time", 1, "s", "Of a step or a relay"), ask("low", "Sweep", 8, "", "Lowest frequency, rad/s"), ask("high", "to", 300, "rad/s", "Highest frequency, rad/s"), ask("points", "in", 10, "", "Frequencies of the sweep")),
  tests, busy, ...Object.values(parts));

let seen = { axis: "", number: -1 }, last = null, inputs = new Map();
async function send(path, body) { try { take(await post(path, { axis: axes.value, ...body })); say(""); return true; } catch (error) { say(error instanceof TypeError ? "Connection lost: the studio does not answer." : error.message); return false; } }
const start = (test) => send("start", { test, ...Object.fromEntries(Object.entries(asked).map(([n, e]) => [n, +e.value])) });
const set = (wanted) => send("set", { values: wanted });
enable.onclick = async () => { try { const answer = await (await fetch("cell/act", { method: "POST", body: JSON.stringify({ arm: last.arm, what: "enable" }) })).json(); say(answer.error || ""); } catch (error) { say(error.message); } };
axes.onchange = () => { seen = { axis: "", number: -1 }; values.replaceChildren(); inputs.clear(); };
function fields(told) {
  if (inputs.size === Object.keys(told.parameters).length && values.dataset.axis === told.axis) return;
  inputs = new Map(Object.entries(told.parameters).map(([n, v]) => [n, make("input", { type: "number", step: "any", value: number(v, 6), ariaLabel: n, id: `value-${n}` })]));
  values.replaceChildren(...[...inputs].map(([n, e]) => make("label", {}, n, e)), make("button", { textContent: "Set", title: "Change them while the axis runs (Enter)" }));
  values.dataset.axis = told.axis;
  values.onsubmit = (e) => { e.preventDefault(); set(Object.fromEntries([...inputs].map(([n, f]) => [n, +f.value]))); };
}
function take(told) {
  last = told;
  fields(told);
  for (const [n, e] of inputs) { const now = number(told.parameters[n], 6); if (e.dataset.now !== now) { e.dataset.now = now; e.value = now; } }
  life.textContent = told.life; enable.hidden = told.life !== "inactive"; life.hidden = told.life === "active";
  busy.hidden = !told.busy; tests.hidden = Boolean(told.busy);
  doing.textContent = told.busy + (told.progress[1] > 1 ? `, ${told.progress[0]} of ${told.progress[1]}` : " …");
  bar.max = Math.max(1, told.progress[1]); if (told.progress[1] > 1) bar.value = told.progress[0]; else bar.removeAttribute("value");
  if (told.steps === undefined) return;
  seen = { axis: told.axis, number: told.number };
  if (told.error) say(told.error);
  results.told = told; results();
}
// A graph with x over a linear or logarithmic scale.
function graph(canvas, lines, { log = false, levels = [], marks = [] } = {}) {
  const got = cleared(canvas); if (!got) return;
  const [g, w, h] = got, tone = TONES[theme()], box = [LEFT, TOP, w - RIGHT, h - BOTTOM], to = log ? Math.log10 : (x) => x;
  const xs = lines.flatMap((l) => [to(l.x[0]), to(l.x[l.x.length - 1])]), ys = lines.flatMap((l) => l.y).concat(levels);
  if (!xs.length) return;
  const a = Math.min(...xs), b = Math.max(...xs), [low, high] = spread(ys.reduce((m, y) => Math.min(m, y), Infinity), ys.reduce((m, y) => Math.max(m, y), -Infinity));
  const X = (x) => box[0] + (to(x) - a) / (b - a || 1) * (box[2] - box[0]), Y = (y) => box[3] - (y - low) / (high - low) * (box[3] - box[1]);
  g.font = "11px system-ui, sans-serif"; g.fillStyle = tone.soft; g.strokeStyle = tone.line; g.lineWidth = 1; g.textBaseline = "middle"; g.textAlign = "right";
  const rows = ticks(low, high, Math.max(2, Math.round((box[3] - box[1]) / 32)));
  for (const y of rows) { g.beginPath(); g.moveTo(box[0], Y(y)); g.lineTo(box[2], Y(y)); g.stroke(); g.fillText(tickText(y, rows), box[0] - 6, Y(y)); }
  g.textAlign = "center"; g.textBaseline = "top";
  const columns = log ? [1, 2, 5].flatMap((m) => [...Array(12).keys()].map((k) => m * 10 ** (k - 4))).filter((x) => to(x) >= a - 1e-9 && to(x) <= b + 1e-9).sort((p, q) => p - q) : ticks(a, b, Math.max(2, Math.round((box[2] - box[0]) / 70)));
  for (const x of columns) { g.beginPath(); g.moveTo(X(x), box[1]); g.lineTo(X(x), box[3]); if (log) g.stroke(); g.fillText(log ? `${+x.toPrecision(1)}` : tickText(x, columns), Math.min(X(x), box[2] - 8), box[3] + 4); }
  for (const y of levels) { g.strokeStyle = tone.soft; g.setLineDash([2, 3]); g.beginPath(); g.moveTo(box[0], Y(y)); g.lineTo(box[2], Y(y)); g.stroke(); g.setLineDash([]); }
  inside(g, box, () => { for (const l of lines) {
    g.strokeStyle = l.color; g.lineWidth = l.wide || 1.8; g.lineJoin = "round"; g.globalAlpha = l.faint ? 0.75 : 1; g.setLineDash(l.dash || []);
    g.beginPath(); l.x.forEach((x, i) => { i ? g.lineTo(X(x), Y(l.y[i])) : g.moveTo(X(x), Y(l.y[i])); }); g.stroke(); g.setLineDash([]); g.globalAlpha = 1;
    if (l.dots) { g.fillStyle = l.color; l.x.forEach((x, i) => { g.beginPath(); g.arc(X(x), Y(l.y[i]), 2.4, 0, 7); g.fill(); }); }
  } });
  for (const x of marks) if (x) upright(g, X(x), box, tone.accent, [4, 3]);
}
function table(home, head, rows) {
  home.replaceChildren(make("tr", {}, ...head.map((w) => make("th", { textContent: w }))), ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))));
}
function propose(home, gains) {
  home.hidden = !gains;
  if (!gains) return;
  const apply = make("button", { type: "button", textContent: "Apply", className: "go", title: "Set these gains, and make a step with them" });
  apply.onclick = async () => { if (await set({ kp: gains.kp, kd: gains.kd })) start("step"); };
  home.replaceChildren(make("span", {}, "Proposed: ", make("b", {}, `kp ${number(gains.kp, 5)}, kd ${number(gains.kd, 5)}`)), apply, make("small", { textContent: gains.source }));
}
function results() {
  const told = results.told; if (!told) return;
  const inks = INKS[theme()], tone = TONES[theme()], n = told.steps.length;
  const scale = told.unit === "rad" ? 180 / Math.PI : 1e3, unit = told.unit === "rad" ? "°" : "mm";
  for (const test of ["step", "sweep", "relay"]) parts[test].hidden = test === "step" ? !n : !told[test];
  const color = (k) => inks[(n - 1 - k) % 8];
  graph(stepPlot, told.steps.map((s, k) => ({ x: s.t, y: s.q.map((q) => q * scale), color: color(k), faint: k < n - 1, dash: k < n - 1 ? [6, 4] : [], wide: k < n - 1 ? 1.4 : 2 })), { levels: n ? [told.steps[n - 1].goal * scale] : [] });
  table(stepTable, ["gains", "rise", "overshoot", "settling", "error"], told.steps.map((s, k) => {
    const i = make("i"); i.style.background = color(k);
    return [make("span", {}, i, `kp ${number(s.kp)}, kd ${number(s.kd)}`), span(s.rise), s.overshoot === null ? "–" : `${(100 * s.overshoot).toFixed(1)} %`, span(s.settling), s.error === null ? "–" : `${(100 * s.error).toFixed(1).replace("-0.0", "0.0")} %`];
  }));
  stepPlot.title = `Position less where it was, ${unit}`;
  if (told.sweep) {
    const s = told.sweep;
    graph(gainPlot, [{ x: s.w, y: s.gain, color: inks[0], dots: true }, { x: s.w, y: s.closed, color: inks[1], dash: [6, 4], faint: true }], { log: true, levels: [0], marks: [s.crossover] });
    graph(phasePlot, [{ x: s.w, y: s.phase, color: inks[0], dots: true }], { log: true, levels: [-180], marks: [s.crossover] });
    const full = make("i"), dashed = make("i"); full.style.background = inks[0]; dashed.style.background = inks[1];
    table(margins, ["crossover", "phase margin", "gain margin", "delay margin"], [[s.crossover === null ? "–" : `${number(s.crossover)} rad/s`, s.degrees === null ? "–" : `${number(s.degrees, 3)}°`, s.decibels === null ? "beyond" : `${number(s.decibels, 3)} dB`, span(s.delay)]]);
    gainPlot.title = "Full: open loop; dashed: closed loop; dB";
    propose(proposals.sweep, s.gains);
  }
  if (told.relay) {
    const r = told.relay;
    graph(relayPlot, [{ x: r.t, y: r.probe.map((q) => q * scale), color: tone.line, wide: 1.2 }, { x: r.t, y: r.q.map((q) => q * scale), color: inks[0] }]);
    oscillation.textContent = `It oscillates at ${number(r.frequency)} rad/s (period ${span(2 * Math.PI / r.frequency)}, which spreads by ${number(100 * r.spread, 2)} %).`;
    propose(proposals.relay, r.gains);
  }
}
addEventListener("resize", results);
new MutationObserver(results).observe(document.documentElement, { attributeFilter: ["data-theme"] });
passKeys();
(async () => {
  for (;;) {
    try {
      if (!axes.options.length) axes.append(...(await post("axes")).axes.map((a) => make("option", { value: a, textContent: a })));
      const told = await post("state", { axis: axes.value, number: seen.axis === axes.value ? seen.number : -1 });
      if (told.axis === axes.value) take(told);
      document.documentElement.dataset.ready = "yes";
      if (results.told && results.wide !== home.clientWidth) { results.wide = home.clientWidth; results(); }
      if (document.getElementById("told").dataset.lost) { say(""); delete document.getElementById("told").dataset.lost; }
    } catch (error) { say(error instanceof TypeError ? "Connection lost: the studio does not answer." : error.message); document.getElementById("told").dataset.lost = "yes"; }
    await new Promise((done) => setTimeout(done, document.hidden || !home.clientWidth ? 1000 : 200));
  }
})();
