// The page: what is shown, how it plays, and what keys do.
const $ = (id) => document.getElementById(id);
const KEYS = [["Space", "play, pause"], ["← →", "previous, next frame"], ["Shift ← →", "ten frames"], ["Home End", "start, end"], ["[ ]", "slower, faster"], ["L", "loop"],
  ["1 – 4", "isometric, front, side, top"], ["Z", "zoom to fit"], ["R", "reset view"], ["↑ ↓", "tilt the camera"], ["Ctrl ← →", "orbit"], ["PageUp PageDown", "zoom in, out"], ["S", "save view"], ["F", "follow the next body"],
  ["A", "body axes"], ["C", "center of mass"], ["T", "trail"], ["K", "forces and contacts"], [", .", "shorter, longer arrows"], ["O", "other recordings"], ["G", "ground"], ["U", "environment"], ["N", "labels"],
  ["P", "plots"], ["+ − 0", "zoom the graphs"], ["M", "marker in the graphs"], ["D", "light, dark"], ["?", "this help"]];
const WHOLE = -2; // to follow the center of mass of all
const NICE = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const SLOW = 0.04, ASLEEP = 2; // s: a frame that takes too long; a gap in which nobody looked

async function start() {
  const data = JSON.parse($("data").textContent), block = await inflate($("block").textContent.trim());
  const s = window.studio = { data, time: 0, playing: false, loop: true, speed: 1, follow: -1, selected: -1, axes: false, center: false,
    trace: false, forces: true, longer: 1, arrows: 0, ground: true, ghosts: "overlay", night: 0, dirty: true, frames: 0, level: 0, slow: 0 };
  $("title").textContent = data.title;
  $("doc").textContent = $("doc").title = data.doc !== data.title ? data.doc : "";
  $("story").textContent = data.story;
  $("about").textContent = [data.doc, data.story, `Made by Linkwright ${data.version}.`].filter(Boolean).join(" ");
  s.takes = data.takes.map((t) => ({ ...t, poses: t.poses && columns(block, t.poses), center: t.center && columns(block, t.center),
    arrows: t.arrows && { ...t.arrows, forces: columns(block, t.arrows.forces), touching: columns(block, t.arrows.touching) },
    labels: t.channels.labels, values: t.channels.values ? numbers(block, t.channels.values) : [], times: t.channels.times && numbers(block, t.channels.times)[0] }));
  if (data.live) await setLive(s);
  else {
    s.from = Math.min(...s.takes.map((t) => t.start)); s.to = Math.max(...s.takes.map((t) => t.end));
    s.rate = Math.max(...s.takes.map((t) => ((t.poses ? t.poses[0].length : t.values[0]?.length || 2) - 1) / (t.end - t.start || 1)), 1e-6);
  }
  s.time = s.from;
  if (matchMedia("(prefers-color-scheme: dark)").matches && !location.hash.includes("light")) theme(s, "dark");
  if (location.hash.includes("dark")) theme(s, "dark");
  notes(data.notes);
  setPlots(s);
  if (data.scene) {
    try { setScene(s, block); } catch (error) { s.renderer = null; empty("3-D view unavailable", error.message); }
  } else { document.body.classList.add("noscene"); $("side").prepend($("notes")); for (const id of ["axes", "center", "trace", "follow", "panel"]) $(id).disabled = true; }
  setTransport(s); setKeys(s); setFocus();
  if (s.live) setControls(s, block);
  for (const [key, words] of KEYS) { const a = document.createElement("dt"), b = document.createElement("dd"); a.append(...key.split(" ").map((k) => { const e = document.createElement("kbd"); e.textContent = k; return e; })); b.textContent = words; document.querySelector("#keys dl").append(a, b); }
  goTo(s, s.time);
  if ((data.scene || s.live) && !matchMedia("(prefers-reduced-motion: reduce)").matches && !location.hash.includes("still")) play(s, true);
  let last = null;
  const tick = (now) => {
    const gap = last === null ? 0 : (now - last) / 1000, passed = gap < ASLEEP ? gap : 0; // a hidden page stands still
    last = now;
    if (s.playing) { pace(s, passed); advance(s, passed * s.speed); }
    if (glide(s, passed)) s.dirty = true;
    if (s.dirty) { s.dirty = false; render(s); s.frames++; }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  new ResizeObserver(() => { s.dirty = true; }).observe($("stage"));
  document.documentElement.dataset.ready = "yes";
}
function empty(title, words) { const b = document.createElement("b"); b.textContent = title; $("empty").hidden = false; $("empty").replaceChildren(b, words); }
function notes(list) { $("notes").replaceChildren(...list.map((t) => { const p = document.createElement("p"); p.textContent = t; p.onclick = () => p.remove(); p.title = "Click to dismiss"; return p; })); }
function theme(s, name) { document.documentElement.dataset.theme = name; s.night = name === "dark" ? 1 : 0; s.dirty = true; s.plots?.draw(); }
// Where frames take long, fewer pixels and coarser shadows are drawn; the clock stays right.
function pace(s, frame) {
  s.slow = frame > SLOW ? s.slow + 1 : Math.max(0, s.slow - 1);
  if (s.slow >= 6 && s.level < QUALITY.length - 1) { s.level++; s.slow = 0; s.dirty = true; }
}

// -- time ------------------------------------------------------------------------------------------
function goTo(s, t) {
  s.time = Math.min(s.to, Math.max(s.from, t)); s.dirty = true;
  const digits = s.to - s.from < 1 ? 4 : s.to - s.from < 100 ? 3 : 1;
  $("time").textContent = s.time.toFixed(digits) + " s";
  $("scrub").value = (s.time - s.from) / (s.to - s.from || 1);
  $("scrub").setAttribute("aria-valuetext", $("time").textContent);
  s.plots.setTime(s.time);
}
// A time that the user has chosen stays.
function point(s, t) { play(s, false); goTo(s, t); }
function advance(s, by) {
  if (s.live) return advanceLive(s, by);
  const t = s.time + by;
  if (t <= s.to) return goTo(s, t);
  if (s.loop) return goTo(s, s.from + ((t - s.from) % (s.to - s.from || 1)));
  goTo(s, s.to); play(s, false);
}
function play(s, on) {
  if (on && s.time >= s.to && !s.live) goTo(s, s.from);
  s.playing = on && (s.live ? !(s.live.stopped && s.time >= s.to) : s.to > s.from);
  document.body.classList.toggle("going", s.playing);
  $("sign").setAttribute("d", s.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 2v12l10-6z"); $("play").setAttribute("aria-label", s.playing ? "pause" : "play");
}
function step(s, frames) { if (s.live) return stepLive(s, frames); point(s, s.from + (Math.round((s.time - s.from) * s.rate) + frames) / s.rate); }
function setTransport(s) {
  const long = s.live ? 0 : s.to - s.from, usual = s.live ? NICE.find((k) => k >= 0.999 * s.live.told.speed) || 1 : long > 30 ? NICE.find((k) => long / k <= 30) || 100 : long < 3 && long > 0 ? [...NICE].reverse().find((k) => long / k >= 3) || 0.001 : 1;
  const around = NICE.indexOf(usual);
  for (const k of NICE.slice(Math.max(0, around - 4), around + 5)) $("speed").append(new Option(k + "×", k, k === usual, k === usual));
  s.speed = usual;
  $("speed").onchange = () => { s.speed = +$("speed").value; };
  $("play").onclick = () => play(s, !s.playing);
  $("first").onclick = () => point(s, s.from); $("back").onclick = () => step(s, -1); $("forth").onclick = () => step(s, 1);
  $("loop").onclick = () => { s.loop = !s.loop; $("loop").setAttribute("aria-pressed", s.loop); };
  $("scrub").oninput = () => point(s, s.from + (s.to - s.from) * +$("scrub").value);
  if (!s.live && !(s.to > s.from)) for (const id of ["play", "back", "forth", "scrub", "first"]) $(id).disabled = true;
}
function setKeys(s) {
  const press = (id) => () => $(id).click();
  const arrows = (by) => () => { s.longer = Math.min(100, Math.max(0.01, s.longer * by)); s.dirty = true; };
  const speed = (by) => () => { const o = $("speed"); o.selectedIndex = Math.min(o.length - 1, Math.max(0, o.selectedIndex + by)); s.speed = +o.value; };
  const turn = (x, y) => { if (s.renderer) orbit(s, x, y); }, zoom = (by) => () => { if (s.renderer) nearer(s, by); };
  const across = (way) => (e) => (e.ctrlKey ? turn(20 * way, 0) : step(s, (e.shiftKey ? 10 : 1) * way));
  const keys = { " ": press("play"), ArrowLeft: across(-1), ArrowRight: across(1), ArrowUp: () => turn(0, 15), ArrowDown: () => turn(0, -15), PageUp: zoom(0.8), PageDown: zoom(1.25),
    Home: () => point(s, s.from), End: () => point(s, s.to), "[": speed(-1), "]": speed(1), l: press("loop"), t: press("trace"), a: press("axes"),
    c: press("center"), o: press("ghosts"), k: press("forces"), ",": arrows(0.8), ".": arrows(1.25), p: press("panel"), d: press("theme"), s: press("save"), "?": press("help"), z: press("fit"),
    g: () => { s.ground = !s.ground; s.dirty = true; }, u: () => { s.bare = !s.bare; s.dirty = true; }, n: () => { s.named = !s.named; s.dirty = true; }, r: () => { if (s.renderer) look(s, s.first); },
    f: () => { const o = $("follow"); if (o.length) { o.selectedIndex = (o.selectedIndex + 1) % o.length; o.onchange(); } } };
  ["corner", "front", "side", "top"].forEach((name, k) => { keys[k + 1] = () => document.querySelector(`[data-view=${name}]`).click(); });
  addEventListener("keydown", (e) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== "range";
    const turns = e.ctrlKey && /^Arrow(Left|Right)$/.test(e.key), presses = e.key === " " && /^(BUTTON|SUMMARY)$/.test(e.target.tagName);
    if (typing || presses || (e.ctrlKey && !turns) || e.metaKey || e.altKey || $("keys").open) return;
    const act = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (act || s.plots.key(e)) e.preventDefault();
    act?.(e);
  });
  $("panel").onclick = () => { const off = document.body.classList.toggle("nopanel"); $("panel").setAttribute("aria-pressed", !off); s.dirty = true; };
  $("theme").onclick = () => theme(s, s.night ? "light" : "dark");
  $("help").onclick = () => $("keys").showModal();
  $("menu").onclick = () => { const open = document.body.classList.toggle("menu"); $("menu").setAttribute("aria-expanded", open); };
  $("forces").onclick = () => { s.forces = !s.forces; $("forces").setAttribute("aria-pressed", s.forces); s.dirty = true; };
  for (const id of ["axes", "center", "trace"]) $(id).onclick = () => { s[id] = !s[id]; $(id).setAttribute("aria-pressed", s[id]); s.dirty = true; };
}
// After a click or a choice by hand the keys act on the scene again; who uses keys keeps the focus.
function setFocus() {
  let byHand = false;
  const away = () => { if (!$("keys").open) { document.activeElement?.blur(); $("view").focus({ preventScroll: true }); } };
  addEventListener("pointerdown", (e) => { byHand = true; if (!e.target.closest("header")) { document.body.classList.remove("menu"); $("menu").setAttribute("aria-expanded", "false"); } }, true);
  addEventListener("keydown", () => { byHand = false; }, true);
  addEventListener("change", (e) => { if (byHand && e.target.tagName === "SELECT" && e.target.closest("header, footer")) away(); });
  addEventListener("click", (e) => { if (byHand && e.detail > 0 && e.target.closest("header button, footer button, #views button")) away(); });
}

// -- plots -----------------------------------------------------------------------------------------
function setPlots(s) {
  const source = new LocalSource(s.takes, [s.from, s.to], s.data.layout), count = s.takes[0].values[0]?.length || 0, all = s.takes[0].channels.of || count;
  const thinned = count < all ? ` (resampled: ${count.toLocaleString("en")} of ${all.toLocaleString("en")} samples)` : "";
  s.plots = new Scope($("plots"), source, { onTime: (t) => point(s, t), clock: true, menus: { Save: [["Picture, .png", () => s.plots.savePicture(s.data.title)],
    [`Table, .csv${thinned}`, () => download(new Blob([csvText(source)], { type: "text/csv" }), "scope.csv"), "All channels, with those that were derived"]] } });
  if (!s.data.scene) s.plots.list.open = true;
}

// -- scene -----------------------------------------------------------------------------------------
function setScene(s, block) {
  const scene = s.data.scene, r = s.renderer = new Renderer($("view"));
  const parts = (list) => list.map((p) => ({ mesh: r.upload(mesh(block, p)), color: p.color, box: p.low.map((v, i) => [v, v + 65534 * p.step[i]]) }));
  s.nodes = scene.nodes.map((n) => ({ ...n, parts: parts(n.parts) }));
  $("view").setAttribute("aria-label", `3-D view of ${s.data.title}: ${s.nodes.filter((n) => n.moves).slice(0, 12).map((n) => n.name).join(", ") || "nothing moves"}`);
  for (const t of s.takes) t.own = s.nodes.map((n, k) => (t.shapes?.[k] ? { parts: parts(t.shapes[k].parts), point: t.shapes[k].point } : n));
  s.size = scene.view.radius;
  s.view = { azimuth: scene.view.azimuth, height: scene.view.height, distance: scene.view.distance, center: [...scene.view.center] };
  s.first = { ...s.view, center: [...s.view.center] };
  s.moving = s.takes.filter((t) => t.poses);
  $("follow").append(new Option("off", -1));
  if (s.moving.length) $("follow").append(new Option("whole model", WHOLE));
  s.nodes.forEach((n, k) => { if (n.moves && n.parts.length) $("follow").append(new Option(n.name, k)); });
  $("follow").onchange = () => { follow(s, +$("follow").value); };
  if (scene.travels) follow(s, WHOLE);
  if (s.moving.length > 1) $("ghosts").hidden = false;
  $("ghosts").onclick = () => { s.ghosts = { overlay: "beside", beside: "hidden", hidden: "overlay" }[s.ghosts]; $("ghosts").textContent = { overlay: "Overlay", beside: "Side by side", hidden: "Only first" }[s.ghosts]; s.dirty = true; };
  $("forces").hidden = !s.moving.some((t) => t.arrows);
  setPointer(s); setViews(s);
}
function follow(s, k) {
  s.follow = k; $("follow").value = k;
  s.home = k === -1 ? null : placeOf(s, k);
  s.dirty = true;
}
// Where a node is now, or the center of mass of all.
function placeOf(s, k) {
  const take = s.moving?.[0];
  if (k !== WHOLE || !take) return poseOf(s, take, Math.max(0, k)).slice(0, 3);
  const c = take.center, [i, j, f] = between(s, take, c[0].length);
  return c.map((column) => column[i] + f * (column[j] - column[i]));
}
// The samples of a take before and after now, and how far it is from one to the other.
function between(s, take, n) {
  const x = Math.min(n - 1, Math.max(0, ((s.time - take.start) / (take.end - take.start || 1)) * (n - 1))), k = Math.floor(x);
  return [k, Math.min(n - 1, k + 1), x - k];
}
// x y z and quaternion of a node of a take now, between frames by the straight line.
function poseOf(s, take, node) {
  if (!take) return s.data.scene.pose[node];
  const c = take.poses, [k, j, f] = between(s, take, c[0].length), p = [];
  for (let i = 7 * node; i < 7 * node + 7; i++) p.push(c[i][k] + f * (c[i][j] - c[i][k]));
  const size = 1 / Math.hypot(p[3], p[4], p[5], p[6]);
  for (let i = 3; i < 7; i++) p[i] *= size;
  return p;
}
function draws(s) {
  const made = [], list = s.moving.length ? (s.ghosts === "hidden" ? s.moving.slice(0, 1) : s.moving) : [null];
  list.forEach((take, order) => s.nodes.forEach((node, k) => {
    if (!node.parts.length || (node.around && s.bare)) return;
    const pose = poseOf(s, take, k), beside = s.ghosts === "beside" ? order * 1.5 * s.size : 0;
    const model = posed([pose[0], pose[1] + beside, ...pose.slice(2)]);
    if (order && !node.moves && !beside) return;
    for (const p of take ? take.own[k].parts : node.parts) made.push({ mesh: p.mesh, box: p.box, model, node: k, glow: k === s.selected ? 1 : 0,
      tint: order && !beside ? [...p.color.slice(0, 3).map((c) => 0.55 * c + [0.1, 0.25, 0.35][0]), 0.32] : p.color });
  }));
  return made;
}
function overlays(s, made) {
  const lines = [], line = (a, b, c) => lines.push(...a, ...b, ...c);
  const take = s.moving[0];
  const placed = (m, [x, y, z]) => [0, 1, 2].map((j) => m[j] * x + m[4 + j] * y + m[8 + j] * z + m[12 + j]);
  if (s.axes) s.nodes.forEach((n, k) => {
    if (!n.moves) return;
    const m = posed(poseOf(s, take, k)), [o, ...axes] = n.axes, long = 0.13 * s.size; // of the link, which its body need not have
    [[0.85, 0.25, 0.2, 1], [0.2, 0.62, 0.3, 1], [0.2, 0.42, 0.85, 1]].forEach((c, j) => line(placed(m, o), placed(m, plus(o, axes[j], long)), c));
  });
  if (s.hold?.to) line(centerOf(s, s.hold.node), s.hold.to, [0.9, 0.35, 0.22, 1]);
  const point = (k) => { const c = take.center; return (i) => (k < 0 ? [c[0][i], c[1][i], c[2][i]] : placed(posed([0, 1, 2, 3, 4, 5, 6].map((j) => take.poses[7 * k + j][i])), s.nodes[k].point)); }; // its mass center: the origin of what turns goes nowhere
  if (s.trace && take) {
    const k = s.selected >= 0 ? s.selected : s.follow >= 0 ? s.follow : lastMoving(s), at = point(k), n = take.poses[0].length;
    const now = ((s.time - take.start) / (take.end - take.start || 1)) * (n - 1), gap = Math.max(1, Math.floor(n / 1500));
    for (let i = 0; i + gap < n; i += gap) line(at(i), at(i + gap), i <= now ? [0.78, 0.33, 0.24, 0.95] : [0.5, 0.55, 0.6, 0.35]);
  }
  if (s.center && take) {
    const c = take.center, n = c[0].length, i = Math.round(((s.time - take.start) / (take.end - take.start || 1)) * (n - 1)), at = point(-1)(Math.min(n - 1, Math.max(0, i))), r = 0.03 * s.size;
    made.push({ mesh: s.renderer.ball, model: new Float32Array([r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, ...at, 1]), tint: [0.95, 0.72, 0.2, 1], glow: 0 });
    const floor = s.data.scene.floor;
    if (floor !== null && s.ground) line(at, [at[0], at[1], floor], [0.95, 0.72, 0.2, 0.9]);
  }
  return new Float32Array(lines);
}
function lastMoving(s) { for (let k = s.nodes.length - 1; k > 0; k--) if (s.nodes[k].moves && s.nodes[k].parts.length) return k; return 0; }
function render(s) {
  if (!s.renderer) return;
  const canvas = s.renderer.canvas, quality = QUALITY[s.level], density = Math.min(2, window.devicePixelRatio || 1) * quality.share, w = Math.round(canvas.clientWidth * density), h = Math.round(canvas.clientHeight * density);
  if (!w || !h) return;
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const view = camera(s), made = draws(s), lines = (forces(s, made, view), overlays(s, made)), raw = s.size / 3, power = 10 ** Math.floor(Math.log10(raw));
  const cell = [1, 2, 5, 10].find((k) => k * power >= raw) * power;
  s.renderer.frame(view, made, lines, { night: s.night, floor: s.ground ? s.data.scene.floor : null, reach: Math.max(7 * s.size, 2.2 * s.view.distance), cell, density, quality, paint: s.data.scene.ground });
  labels(s, view);
}
function select(s, k) {
  s.selected = k; s.dirty = true;
  const n = s.nodes[k];
  $("chip").hidden = k < 0;
  if (k < 0) return;
  const small = document.createElement("small");
  small.textContent = [n.doc && n.doc !== n.name ? n.doc : "", n.mass ? `${+n.mass.toPrecision(4)} kg` : "", n.parent ? `on ${n.parent}` : ""].filter(Boolean).join(" · ");
  $("chip").replaceChildren(n.name + " ", small);
}
start().catch((error) => { empty("This page failed to load", error.message); document.documentElement.dataset.ready = "failed"; });
