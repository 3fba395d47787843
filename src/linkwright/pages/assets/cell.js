// The arms of a cell: lamps, counters, what switches them, and jogging with a dead man's switch.
function make(tag, props = {}, ...inner) { const e = Object.assign(document.createElement(tag), props); e.append(...inner); return e; }
const home = document.getElementById("cell"), page = Math.random().toString(36).slice(2);
const BEAT = 60, OFTEN = 150, SELDOM = 1000; // ms between words of a page that holds; between questions; while nobody looks
async function post(path, body) {
  const answer = await fetch("cell/" + path, { method: "POST", body: JSON.stringify(body || {}) }), told = await answer.json();
  if (told.error) throw new Error(told.error);
  return told;
}
let saidUntil = 0;
function say(words, stays = false) {
  const p = document.getElementById("told");
  p.textContent = words; p.hidden = !words;
  saidUntil = stays ? Infinity : Date.now() + 8000;
}
const put = (e, words) => { if (e.textContent !== words) e.textContent = words; };
const shown = (q, unit) => unit === "rad" ? `${(q * 180 / Math.PI).toFixed(2)}°` : `${(1e3 * q).toFixed(2)} mm`;
const small = (q, unit) => unit === "rad" ? `${(q * 180 / Math.PI).toFixed(3)}°` : `${(1e3 * q).toFixed(3)} mm`;
const span = (s) => s === null || !Number.isFinite(s) ? "–" : s < 1e-3 ? `${(1e6 * s).toFixed(0)} µs` : s < 1 ? `${(1e3 * s).toFixed(1)} ms` : `${s.toFixed(1)} s`;

// Jogging: one press at a time; while it lasts, the server hears so.
let press = 0, held = null, chosen = null;
async function hold(axis, side, button) {
  if (held) return;
  const mine = held = { axis, side, number: ++press, button };
  choose(axis); button.dataset.held = "yes";
  while (held === mine) {
    const sent = performance.now();
    try {
      const told = await post("hold", { page, number: mine.number, axis, side, speed: +speed.value / 100 });
      if (!told.moves && held === mine) { let_go(); if (told.why) say(`${axis} stopped: ${told.why}.`); }
    } catch (error) { if (held === mine) { let_go(); say(error instanceof TypeError ? "Connection lost: the studio does not answer." : error.message); } }
    await new Promise((done) => setTimeout(done, Math.max(0, BEAT - (performance.now() - sent))));
  }
}
function let_go() {
  if (!held) return;
  const body = JSON.stringify({ page, number: held.number });
  delete held.button.dataset.held;
  held = null;
  fetch("cell/release", { method: "POST", body, keepalive: true }).catch(() => {});
}
for (const type of ["pointerup", "pointercancel", "blur", "pagehide", "contextmenu"]) addEventListener(type, let_go);
document.addEventListener("visibilitychange", () => { if (document.hidden) let_go(); });
function choose(axis) {
  chosen = axis;
  for (const row of home.querySelectorAll("tr[data-axis]")) row.classList.toggle("chosen", row.dataset.axis === axis);
}
const sides = { ",": -1, "<": -1, ".": 1, ">": 1 };
passKeys((e) => {
  const side = sides[e.key];
  if (!side) return false;
  if (!e.repeat) { const row = [...home.querySelectorAll("tr[data-axis]")].find((r) => r.dataset.axis === chosen); if (row) hold(chosen, side, row.querySelector(side > 0 ? ".up" : ".down")); else say("Click on an axis first."); }
  return true;
});
addEventListener("keyup", (e) => { if (e.key in sides) let_go(); });

// What stands on the page.
const head = make("div", { className: "head" }), counters = make("dl", { className: "counters" }), arms = make("div", { className: "arms" });
const speed = make("input", { type: "range", min: 1, max: 50, value: 10, id: "speed" }), percent = make("b");
const showSpeed = () => put(percent, `${speed.value} %`);
speed.oninput = showSpeed; showSpeed();
home.append(head, counters, make("label", { className: "speed", htmlFor: "speed" }, "Jog speed ", speed, percent), arms,
  make("p", { className: "said" }, "Hold − or + to move an axis (or choose one and hold , or . on the keyboard). It stops when you let go, when this page loses the focus or stalls, and when the browser is closed."));
const built = new Map();
function holdButton(axis, side) {
  const b = make("button", { className: side > 0 ? "up" : "down", type: "button", textContent: side > 0 ? "+" : "−", title: `Hold to move ${axis} ${side > 0 ? "up" : "down"}` });
  b.setAttribute("aria-label", b.title);
  b.onpointerdown = (e) => { if (e.button) return; e.preventDefault(); window.focus(); b.setPointerCapture?.(e.pointerId); hold(axis, side, b); };
  b.onlostpointercapture = let_go;
  return b;
}
function build(arm) {
  const part = { lamp: make("i", { className: "lamp" }), life: make("b"), holder: make("span", { className: "holder" }), why: make("p", { className: "why" }), rows: [], buttons: {} };
  const act = (what, label, title) => {
    const b = part.buttons[what] = make("button", { type: "button", textContent: label, title });
    b.onclick = async () => { b.disabled = true; try { show(await post("act", { arm: arm.name, what })); say(""); } catch (error) { say(error.message); } b.disabled = false; };
    return b;
  };
  const body = make("tbody");
  for (const axis of arm.axes) {
    const r = { q: make("td"), bar: make("i"), error: make("td"), current: make("td") };
    const row = make("tr", { onclick: () => choose(axis.name) }, make("th", { title: axis.name }, make("span", {}, axis.joint), make("div", { className: "range" }, r.bar)), r.q, r.error, r.current,
      make("td", { className: "jog" }, holdButton(axis.name, -1), holdButton(axis.name, 1)));
    row.dataset.axis = axis.name;
    body.append(row); part.rows.push(r);
  }
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...["axis", "position", "error", "current", "jog"].map((w) => make("th", { textContent: w })))), body);
  arms.append(part.card = make("section", { className: "arm" }, make("header", {}, part.lamp, make("h2", { textContent: arm.name }), part.life, part.holder), part.why,
    make("div", { className: "acts" }, act("enable", "Enable", "Switch the axes on"), act("disable", "Disable", "Switch the axes off"), act("clear", "Clear", "Clear a fault; enable it then"), act("give", "Release", "Let others command the arm"), act("take", "Take over", "Take the arm from whoever commands it")), table));
  built.set(arm.name, part);
  return part;
}
function show(told) {
  put(head, `${told.name} · ${told.arms.length} ${told.arms.length > 1 ? "arms" : "arm"} · ${told.rate} Hz · ${told.at}`);
  const counts = [["ticks", told.total.toLocaleString("en")], ["missed", told.missed.toLocaleString("en")], ["overrun", told.overrun.toLocaleString("en")], ["latest by", span(told.lateness)], ["state age", span(told.age)],
    ...Object.entries(told.frames).map(([n, age]) => [n, age === null ? "not seen" : span(age)])];
  if (counters.children.length !== counts.length) counters.replaceChildren(...counts.map(() => make("div", {}, make("dt"), make("dd"))));
  counts.forEach(([name, value], k) => { const [dt, dd] = counters.children[k].children; put(dt, name); put(dd, value); counters.children[k].classList.toggle("bad", (name === "missed" || name === "overrun") && value !== "0"); });
  for (const arm of told.arms) {
    const part = built.get(arm.name) || build(arm);
    part.card.dataset.life = arm.life;
    put(part.life, arm.life + (arm.moving ? ", moving" : ""));
    put(part.holder, arm.holder === "free" ? "free" : `held by ${arm.holder}`);
    put(part.why, [arm.cause, arm.error].filter(Boolean).join("; "));
    part.why.hidden = !part.why.textContent;
    const other = arm.holder !== "free" && !arm.ours, b = part.buttons;
    b.enable.hidden = arm.life !== "inactive"; b.disable.hidden = arm.life !== "active"; b.clear.hidden = arm.life !== "fault"; b.give.hidden = !arm.ours; b.take.hidden = !other || !told.supervises;
    for (const x of Object.values(b)) x.classList.toggle("off", !told.commands);
    arm.axes.forEach((axis, k) => {
      const r = part.rows[k];
      put(r.q, shown(axis.q, axis.unit)); put(r.error, small(axis.error, axis.unit)); put(r.current, `${axis.current.toFixed(2)} A`);
      r.bar.style.left = `${Math.min(100, Math.max(0, 100 * (axis.q - axis.low) / (axis.high - axis.low)))}%`;
    });
  }
  if (told.lost) say(told.lost, true); else if (!told.commands) say("You may look at this cell, not command it.", true); else if (Date.now() > saidUntil || saidUntil === Infinity) say("");
  document.documentElement.dataset.ready = "yes";
}
(async () => {
  for (;;) {
    try { show(await post("state")); }
    catch (error) { say(error instanceof TypeError ? "Connection lost: the studio does not answer." : error.message, true); }
    await new Promise((done) => setTimeout(done, document.hidden || !home.clientWidth ? SELDOM : OFTEN));
  }
})();
