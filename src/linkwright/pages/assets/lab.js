// A laboratory: tasks with sliders, recorder, servos in time, and the console.
function make(tag, props = {}, ...inner) { const e = Object.assign(document.createElement(tag), props); e.append(...inner); return e; }
const home = document.getElementById("lab"), OFTEN = 150, SELDOM = 1000; // ms between questions; while nobody looks
async function post(path, body) {
  const answer = await fetch("lab/" + path, { method: "POST", body: JSON.stringify(body || {}) }), told = await answer.json();
  if (told.error) throw new Error(told.error);
  return told;
}
function say(words) { const p = document.getElementById("told"); p.textContent = words; p.hidden = !words; }
const put = (e, words) => { if (e.textContent !== words) e.textContent = words; };
const span = (s) => s === null || !Number.isFinite(s) ? "–" : s < 1e-3 ? `${(1e6 * s).toFixed(0)} µs` : s < 1 ? `${(1e3 * s).toFixed(1)} ms` : `${s.toFixed(1)} s`;
const give = (line) => post("give", { line }).catch((error) => say(error.message));
const button = (label, title, line, look = "") => make("button", { type: "button", textContent: label, title, className: look, onclick: () => give(line()) });

// What stands on the page.
const task = make("b"), time = make("span"), mistake = make("p", { className: "mistake", hidden: true });
const choice = make("select", { title: "Task" }), sliders = make("div"), recorder = make("small"), made = make("small"), counted = make("small");
choice.setAttribute("aria-label", "Task");
const startButton = button("Start", "Start the task with these parameters (st)", () => `st ${choice.value}${given()}`, "go");
const canvas = make("canvas");
canvas.setAttribute("role", "img"); canvas.setAttribute("aria-label", "When each servo ran, and how late");
const lines = make("div", { className: "lines", tabIndex: 0 }), entry = make("input", { type: "text", placeholder: "man lists the commands", spellcheck: false, autocomplete: "off" }), mark = make("span", { textContent: ">" }), words = make("div", { className: "words" });
lines.setAttribute("role", "log"); entry.setAttribute("aria-label", "Command");
home.append(
  make("div", { className: "now" }, task, time), mistake,
  make("section", {}, make("h2", {}, "Task"), make("div", { className: "row" }, choice, startButton,
    button("Again", "Start the last task again (redo)", () => "redo"), button("Default posture", "Go to the default posture (go0)", () => "go0"), button("Reset", "Default posture, times and counters to 0", () => "reset")), sliders),
  make("section", {}, make("h2", {}, "Recorder", recorder), make("div", { className: "row" }, button("Record", "scd", () => "scd"), button("Stop recording", "stopcd", () => "stopcd"), button("Save", "saveData", () => "saveData"), made)),
  make("section", {}, make("h2", {}, "Servos", counted), canvas),
  make("section", { className: "console" }, make("h2", {}, "Console"), lines, words, make("form", { className: "entry", onsubmit: send }, mark, entry)));

// The console: history, completion, questions.
let since = 0, asked = "", history = [], place = 0;
function send(e) {
  e.preventDefault();
  const line = entry.value;
  entry.value = ""; words.replaceChildren();
  if (asked) { asked = ""; post("reply", { text: line }).catch((error) => say(error.message)); return; }
  if (!line.trim()) return;
  history.push(line); place = history.length;
  give(line);
}
entry.onkeydown = async (e) => {
  if (e.key === "ArrowUp" || e.key === "ArrowDown") {
    place = Math.min(history.length, Math.max(0, place + (e.key === "ArrowUp" ? -1 : 1)));
    entry.value = history[place] || ""; e.preventDefault();
  } else if (e.key === "Tab" && entry.value) {
    e.preventDefault();
    const told = await post("complete", { line: entry.value }).catch(() => null);
    if (!told) return;
    const take = (word, more) => { entry.value = entry.value.slice(0, entry.value.length - told.last.length) + word + (more && !word.endsWith("=") && !word.endsWith("/") ? " " : ""); words.replaceChildren(); entry.focus(); };
    const found = told.words.map((w) => w[0]);
    let common = found[0] || "";
    for (const w of found) while (!w.startsWith(common)) common = common.slice(0, -1);
    if (found.length === 1) take(found[0], true);
    else { if (common.length > told.last.length) entry.value = entry.value.slice(0, entry.value.length - told.last.length) + common; words.replaceChildren(...told.words.map(([w, about]) => make("button", { type: "button", textContent: w, title: about, onclick: () => take(w, true) }))); }
  } else if (e.key === "Escape" && asked) {
    asked = ""; post("reply", { text: null });
    e.preventDefault();
  }
};
function log(all) {
  const low = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 30;
  for (const [number, kind, text] of all) { since = Math.max(since, number); lines.append(make("div", { className: kind, textContent: text })); }
  while (lines.children.length > 500) lines.firstChild.remove();
  if (all.length && low) lines.scrollTop = lines.scrollHeight;
}

// Sliders: of the task that runs they change it; of another they say how it starts.
let shape = "", rows = {}, touched = 0;
function given() { return Object.entries(rows).map(([name, r]) => ` ${name}=${r.number.value}`).join(""); }
function build(told) {
  const names = Object.keys(told.tasks), parameters = told.tasks[choice.value] || [], now = JSON.stringify([names, choice.value, parameters]);
  if (now === shape) return;
  const before = choice.value;
  choice.replaceChildren(...names.map((n) => make("option", { value: n, textContent: n })));
  choice.value = names.includes(before) ? before : told.task || names[0] || "";
  const shown = told.tasks[choice.value] || [];
  shape = JSON.stringify([names, choice.value, shown]);
  rows = {};
  sliders.replaceChildren(...shown.map((p) => {
    const low = p.low ?? Math.min(0, 2 * p.default), high = p.high ?? Math.max(2 * p.default, 1);
    const range = make("input", { type: "range", min: low, max: high, step: (high - low) / 500, value: p.default }), number = make("input", { type: "number", step: "any", value: p.default });
    if (p.low !== null) number.min = p.low;
    if (p.high !== null) number.max = p.high;
    range.setAttribute("aria-label", p.name); number.setAttribute("aria-label", `${p.name}, number`);
    const change = (value) => { touched = Date.now(); range.value = value; number.value = value; if (running === choice.value) later(p.name, value); };
    range.oninput = () => change(+(+range.value).toPrecision(4)); number.onchange = () => change(+number.value);
    rows[p.name] = { range, number };
    return make("label", { className: "slider", title: p.doc }, make("span", {}, p.name, " ", make("small", { textContent: p.unit })), range, number);
  }));
}
choice.onchange = () => { shape = ""; chosen = choice.value; };
let running = null, chosen = "", waiting = {}, timer = 0;
function later(name, value) { waiting[name] = value; if (!timer) timer = setTimeout(() => { const all = Object.entries(waiting).map(([n, v]) => ` ${n}=${v}`).join(""); waiting = {}; timer = 0; give("ctp" + all); }, 80); }

// The servos: a mark for each time that one ran in the last moments, and its lateness above it.
const COLORS = ["#2f6690", "#c8553d", "#2e9e5b", "#d99a1c", "#7d5ba6", "#3a8d9e", "#a04668"];
function draw(told) {
  const names = Object.keys(told.servos), w = canvas.clientWidth, h = canvas.clientHeight, dpr = devicePixelRatio || 1;
  if (!w || !names.length) return;
  if (canvas.width !== Math.round(w * dpr)) { canvas.width = Math.round(w * dpr); canvas.height = Math.round(h * dpr); }
  const c = canvas.getContext("2d"), ink = getComputedStyle(document.body).color, left = 58, wide = w - left - 64, high = h / names.length;
  c.setTransform(dpr, 0, 0, dpr, 0, 0); c.clearRect(0, 0, w, h); c.font = "11px system-ui, sans-serif"; c.textBaseline = "middle";
  const shownTime = 0.05, now = told.time; // s
  names.forEach((name, k) => {
    const s = told.servos[name], y = k * high, period = 1 / s.rate;
    c.fillStyle = ink; c.textAlign = "left"; c.fillText(name, 0, y + high / 2);
    c.textAlign = "right"; c.fillStyle = s.overruns ? "#c8553d" : ink; c.fillText(s.overruns ? `${s.overruns} over` : span(s.worst), w, y + high / 2);
    c.fillStyle = COLORS[k % COLORS.length];
    for (let t = Math.floor(now / period) * period; t > now - shownTime && t >= 0; t -= period) {
      const x = left + wide * (1 - (now - t) / shownTime), late = wide * Math.min(s.mean, period) / shownTime;
      c.fillRect(x, y + 3, Math.max(1.2, late), high - 6);
    }
  });
}
function show(told) {
  running = told.task;
  put(task, told.stopped ? `stopped: ${told.stopped}` : told.task || "no task");
  put(time, `t = ${told.time.toFixed(2)} s · ${told.paced ? told.paced + "× the clock" : "waits for run"} · ${told.name}`);
  const wrong = [told.mistake, ...(told.mistakes || [])].filter(Boolean).join("\n");
  put(mistake, wrong); mistake.hidden = !wrong;
  build(told);
  if (told.task && chosen !== told.task) { chosen = told.task; if (told.tasks[told.task]) { choice.value = told.task; shape = ""; build(told); } }
  if (Date.now() - touched > 1000 && told.task === choice.value) for (const [name, r] of Object.entries(rows)) if (name in told.parameters && document.activeElement !== r.number) { r.range.value = told.parameters[name]; r.number.value = told.parameters[name]; }
  startButton.disabled = !!told.task || !!told.stopped;
  put(recorder, `${told.recorder.active ? "recording · " : ""}${told.recorder.variables} variables, ${told.recorder.rate} Hz, ${told.recorder.duration} s`);
  const last = told.recorder.made.at(-1);
  put(made, last ? `${last.samples} samples${last.file ? ", " + last.file.split("/").at(-1) : ""}` : "");
  put(counted, Object.values(told.servos).map((s) => `${s.rate} Hz`).join(" · "));
  log(told.lines);
  if (told.question && !asked) { asked = told.question; entry.focus(); }
  if (!told.question) asked = "";
  entry.dataset.escape = asked ? "own" : "";
  put(mark, asked ? asked.split("\n").at(-1) : ">");
  draw(told);
  document.documentElement.dataset.ready = "yes";
}
passKeys();
(async () => {
  for (;;) {
    try { show(await post("state", { since })); say(""); }
    catch (error) { say(error instanceof TypeError ? "Connection lost: the studio does not answer." : error.message); }
    await new Promise((done) => setTimeout(done, document.hidden || !home.clientWidth ? SELDOM : OFTEN));
  }
})();
