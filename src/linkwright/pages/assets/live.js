// A run in the page: the module of the model, its memory, and the last minute of what it did.
const KEPT = 60, SPARE = 2.4e7, CALL = 4000n, PATIENCE = 20, PUSHED = 0.1; // s of samples, bytes of saved states, steps of a call, ms of a frame, s of a push on the wall
const DONE = 1, MORE = 2, LOGGED = 7;
const STOPPED = { 5: "no finite value", 6: "ended by", 8: "no step keeps the error below the tolerance", 9: "the constraints come near a singular configuration, where these equations end", 10: "an event happens without end:", 11: "too many steps" };

// A function (a, b, c) that is one instruction, f64x2.relaxed_madd, and nothing else; a module of it alone.
const MADD = [0, 32, 0, 253, 20, 32, 1, 253, 20, 32, 2, 253, 20, 253, 135, 2, 253, 33, 0];
const ALONE = [0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 124, 124, 124, 1, 124, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, MADD.length + 3, 1, MADD.length + 1, ...MADD, 11];
// Where the browser has that instruction, and it rounds once here, it stands in place of what computes the same in many steps.
async function fused(bytes, place) {
  if (!place) return bytes;
  try {
    const { f } = (await WebAssembly.instantiate(new Uint8Array(ALONE), {})).instance.exports, one = (k) => 1 + k * 2 ** -27;
    for (let k = -40; k <= 40; k++) if (f(one(k), one(k), -1 - 2 * k * 2 ** -27) !== k * k * 2 ** -54 || f(one(k), -one(3), one(k + 3)) !== -3 * k * 2 ** -54) return bytes;
    const [at, size] = place;
    bytes.fill(1, at + MADD.length, at + size - 1).set(MADD, at);
  } catch { /* it has not */ }
  return bytes;
}

class LiveRun {
  static async made(told, bytes, size) {
    bytes = await fused(bytes, told.fused);
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new LiveRun(told, instance.exports, size);
  }
  constructor(told, module, nodes) {
    Object.assign(this, { told, module, nodes });
    const memory = module.memory.buffer, p = told.places;
    this.f = new Float64Array(memory); this.i = new BigInt64Array(memory); this.bytes = new Uint8Array(memory);
    this.fresh = this.bytes.slice();
    this.dt = told.tick * told.every;
    this.keep = Math.max(120, Math.round((KEPT * told.speed) / this.dt));
    this.from = p.arena; this.state = p.samples - p.arena;
    this.between = Math.max(6, Math.ceil((this.keep * this.state) / SPARE));
    this.values = told.controls.map((c) => c.value); // of the controls
    this.pull = null;
    const floats = (n) => Array.from({ length: n }, () => new Float32Array(2 * this.keep));
    this.poses = floats(7 * nodes); this.centers = floats(3);
    this.channels = Array.from({ length: told.channels }, () => new Float64Array(2 * this.keep));
    this.reset();
  }
  at(name) { return this.told.places[name] / 8; }
  whole(name) { return Number(this.i[this.told.whole[name] / 8]); }
  setWhole(name, value) { this.i[this.told.whole[name] / 8] = BigInt(value); }
  get head() { return this.sample * this.dt; }
  get begin() { return (this.sample - this.count + 1) * this.dt; }
  get count() { return Math.min(this.rows, this.keep); }
  // To the start, with the values of now.
  reset() {
    this.bytes.set(this.fresh); this.rows = 0; this.sample = -1; this.stopped = null; this.saved = []; this.happened = [];
    this.put();
    const changed = this.told.controls.some((c, k) => this.values[k] !== c.value);
    if (this.told.initialize && changed) {
      this.module.initialize(...this.told.initialize.map((n) => this.told.places[n]), this.told.places.y, this.told.places.o);
      this.copy("x", "y", this.told.counts.x); this.copy("d", "o", this.told.counts.d);
    }
    if (changed && !this.close()) this.stopped = { time: 0, why: "the loops cannot be closed with these values" };
    this.remember(); this.advance();
  }
  copy(to, from, n) { this.f.copyWithin(this.at(to), this.at(from), this.at(from) + n); }
  put() {
    this.told.controls.forEach((c, k) => { this.f[this.at(c.at[0]) + c.at[1]] = this.values[k]; });
    this.module.prepare_blocks(this.told.places.config, 0n, 1n);
    this.setWhole("slope_known", 0); this.setWhole("events_known", 0);
  }
  accept() { const p = this.told.places; this.module.accepted(p.x, p.d, p.p_accepted, p.w, p.t, p.y, p.o); }
  remember() {
    if (!this.told.remembered.length) return;
    this.accept();
    for (const k of this.told.remembered) this.f[this.at("d") + k] = this.f[this.at("o") + k];
  }
  // Coordinates onto the loops; whether that comes to an end.
  close() {
    if (!this.told.accepted) return true;
    const n = this.told.counts.x, x = this.at("x"), y = this.at("y"), before = this.f.slice(x, x + n);
    for (let turn = 0; turn < 60; turn++) {
      this.accept();
      let most = 0;
      for (let k = 0; k < n; k++) most = Math.max(most, Math.abs(this.f[y + k] - this.f[x + k]) / (1 + Math.abs(this.f[x + k])) || (this.f[y + k] - this.f[x + k] === 0 ? 0 : Infinity));
      if (!Number.isFinite(most)) break;
      this.copy("x", "y", n);
      if (most < 1e-10) return true;
    }
    this.f.set(before, x);
    return false;
  }
  // From the start with other values; where they break what is demanded, with those of the model.
  start(changes) {
    if (!changes.length) return "";
    for (const [k, value] of changes) this.values[k] = value;
    this.put();
    const wrong = this.broken();
    if (wrong) this.values = this.told.controls.map((c) => c.value);
    this.reset();
    return wrong && `${wrong}: the page starts with its defaults`;
  }
  // Another value from here on; what cannot be is told, and nothing changes.
  set(k, value) {
    const before = this.values[k], state = this.bytes.slice(this.from, this.from + this.state);
    this.values[k] = value; this.put();
    const broken = this.broken() || (this.told.controls[k].at[0] === "p" && !this.close() ? "the loops cannot be closed with this value" : "");
    if (broken) {
      this.values[k] = before; this.bytes.set(state, this.from);
      return `${broken}: it stays as it was`;
    }
    this.remember(); this.stopped = null; this.save();
    return "";
  }
  // What the values of now break of what is demanded of them, as the native run demands it; nothing where all is met.
  broken() {
    const { demands, places } = this.told;
    if (!demands) return "";
    this.module.conditions(...demands.takes.map((n) => places[n]), places.scratch);
    const found = demands.words.findIndex((_, k) => !(this.f[places.scratch / 8 + k] >= 0 && this.f[places.scratch / 8 + k] < Infinity));
    return found < 0 ? "" : demands.words[found];
  }
  // A joint somewhere else, with the loops closed again; what cannot be is told, and nothing changes.
  pose(k, value) {
    const state = this.bytes.slice(this.from, this.from + this.state), p = this.told.places, x = this.at("x") + k;
    this.f[x] = value;
    const wrong = !this.close() ? "the loops cannot be closed there" : Math.abs(this.f[x] - value) > 1e-6 * (1 + Math.abs(value)) ? "other joints decide where this one is" : "";
    if (wrong) { this.bytes.set(state, this.from); return wrong; }
    this.remember(); this.setWhole("slope_known", 0); this.setWhole("events_known", 0); this.stopped = null;
    this.f[this.at("t")] = this.head;
    if (this.told.channels) this.module.output(p.x, p.d, p.p_output, p.w, p.t, p.samples);
    this.rows--; this.push(); this.save();
    return "";
  }
  save() { this.saved = this.saved.filter((s) => s.sample < this.sample && s.sample > this.sample - this.keep); this.saved.push({ sample: this.sample, state: this.bytes.slice(this.from, this.from + this.state), values: [...this.values] }); }
  // Back to a time that is kept; what came after it is forgotten.
  back(time) {
    const wanted = Math.max(0, Math.round(time / this.dt)), found = this.saved.filter((s) => s.sample <= wanted).pop();
    if (!found || wanted >= this.sample) return;
    this.bytes.set(found.state, this.from); this.values = [...found.values];
    this.rows -= this.sample - found.sample; this.sample = found.sample; this.stopped = null;
    this.saved = this.saved.filter((s) => s.sample <= found.sample);
    this.happened = this.happened.filter((e) => e.time <= this.head);
    while (this.sample < wanted && this.advance());
    this.save();
  }
  // One sample further; false where the run has stopped.
  advance() {
    if (this.stopped) return false;
    this.setWhole("until", (this.sample + 1) * this.told.every); this.setWhole("row", 0); this.setWhole("budget", CALL);
    if (this.pull) this.pull();
    for (let calls = 0; ; calls++) {
      this.module.run_blocks(this.told.places.config, 0n, 1n);
      const status = this.whole("status");
      this.log();
      if (status === DONE) break;
      if (status === LOGGED || (status === MORE && calls < 500)) continue;
      const name = status === 6 || status === 10 ? this.told.events[this.whole("detail")] || "" : status === 5 ? this.lost() : "";
      this.stopped = { time: this.time(), why: status === MORE ? "the steps have become too short to go on" : `${STOPPED[status] || `status ${status}`} ${name}`.trim() };
      return false;
    }
    this.sample++; this.push();
    if (this.sample % this.between === 0) this.save();
    return true;
  }
  // A force on a body, in the axes of the picture, at three inputs.
  force(at, f) {
    const rows = this.told.rows;
    at.forEach((place, c) => { this.f[this.at("w") + place] = rows[0][c] * f[0] + rows[1][c] * f[1] + rows[2][c] * f[2]; });
    this.setWhole("slope_known", 0); this.setWhole("events_known", 0);
  }
  time() { return this.whole("start") * this.told.tick + this.f[this.at("s")]; }
  lost() { const y = this.at("y"); return "of " + this.told.states.filter((_, k) => !Number.isFinite(this.f[y + k])).join(", "); }
  log() {
    const n = this.whole("logged"), at = this.at("log");
    for (let k = 0; k < n; k++) this.happened.push({ name: this.told.events[Number(this.i[at + 3 * k])], time: Number(this.i[at + 3 * k + 1]) * this.told.tick + this.f[at + 3 * k + 2] });
    if (n) { this.setWhole("logged", 0); this.happened = this.happened.slice(-400); }
  }
  push() {
    if (this.rows === 2 * this.keep) {
      for (const c of [...this.poses, ...this.centers, ...this.channels]) c.copyWithin(0, this.keep);
      this.rows = this.keep;
    }
    const row = this.rows++, f = this.f, { places, poses, turn, rows } = this.told, from = this.at("samples");
    this.channels.forEach((c, k) => { c[row] = f[from + k]; });
    if (!this.nodes) return;
    let place = places.scratch;
    const given = poses.map((port) => { const here = place; port.forEach(([a, k], j) => { f[here / 8 + j] = a ? f[this.at(a) + k] : k; }); place += 8 * port.length; return here; });
    const made = place, center = made + 56 * this.nodes;
    this.module.poses(...given, made, center);
    const turned = (at, to, j) => { for (let r = 0; r < 3; r++) to[j + r][row] = rows[r][0] * f[at] + rows[r][1] * f[at + 1] + rows[r][2] * f[at + 2]; };
    const [a, b, c, d] = turn;
    for (let n = 0; n < this.nodes; n++) {
      const at = made / 8 + 7 * n, [w, x, y, z] = [f[at + 3], f[at + 4], f[at + 5], f[at + 6]], q = [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w];
      turned(at, this.poses, 7 * n);
      let same = 1;
      if (row) { let dot = 0; for (let k = 0; k < 4; k++) dot += q[k] * this.poses[7 * n + 3 + k][row - 1]; same = dot < 0 ? -1 : 1; }
      for (let k = 0; k < 4; k++) this.poses[7 * n + 3 + k][row] = same * q[k];
    }
    turned(center / 8, this.centers, 0);
  }
  // What is kept, as the take that the page plays.
  show(take) {
    const to = this.rows, from = to - this.count, cut = (c) => c.subarray(from, to);
    if (this.nodes) take.poses = this.poses.map(cut); take.center = this.centers.map(cut); take.values = this.channels.map(cut); take.t = null;
    take.start = this.begin; take.end = this.head;
  }
}

// -- the page --------------------------------------------------------------------------------------
async function setLive(s) {
  const told = s.data.live, take = s.takes[0];
  s.live = await LiveRun.made(told, await inflate($("module").textContent.trim()), s.data.scene?.nodes.length || 0);
  s.live.show(take);
  s.from = take.start; s.to = take.end; s.speed = told.speed; s.rate = 1 / s.live.dt; s.loop = false;
  document.body.classList.add("live");
  if (s.data.scene && new URLSearchParams(location.search).has("embed")) document.body.classList.add("embed", "nopanel");
}
// What there is to see after the run went on, or back.
function refreshLive(s) {
  const live = s.live, source = s.plots.source;
  live.show(s.takes[0]);
  s.from = live.begin; s.to = live.head;
  source.events = live.happened; s.controls?.posed();
  source.span = [s.from, s.to]; source.memo.clear(); source.ranges = null;
  const last = source.layout.last || 10, w = source.layout.window;
  if (!w || w.rolling) source.layout.window = Object.assign([Math.max(s.from, s.to - last * s.data.live.speed), Math.max(s.to, s.from + live.dt)], { rolling: true });
  if (s.hold?.force) { $("chip").hidden = false; $("chip").textContent = `${s.nodes[s.hold.node].name} pulled with ${Math.hypot(...s.hold.force).toPrecision(3)} N`; }
  if (live.stopped !== s.said) { s.said = live.stopped; stopNote(live.stopped); }
}
function stopNote(stopped) {
  $("stopped").hidden = !stopped;
  if (stopped) $("stopped").textContent = `Stopped at ${stopped.time.toFixed(3)} s: ${stopped.why}. Look back, change a value, or reset.`;
}
function advanceLive(s, by) {
  const goal = s.time + by, live = s.live, begun = performance.now();
  if (goal < live.head - 1e-9) { s.behind = 0; return goTo(s, goal); }
  let on = true;
  while (on && live.head < goal && (on = live.advance())) if (performance.now() - begun > PATIENCE) break;
  refreshLive(s);
  const slow = goal - live.head > live.dt && !live.stopped;
  s.behind = slow ? Math.min(60, (s.behind || 0) + 1) : Math.max(0, (s.behind || 0) - 1);
  $("pace").hidden = s.behind < 20;
  if (slow) $("pace").textContent = `as fast as it can: ${(((live.head - s.time) / by) * s.speed).toPrecision(2)}×`;
  goTo(s, Math.min(goal, live.head));
  if (live.stopped) play(s, false);
}
function resetLive(s) {
  const on = s.playing || !!s.live.stopped;
  s.live.reset(); refreshLive(s); goTo(s, s.live.head); play(s, on && !s.live.stopped);
}
function stepLive(s, count) {
  play(s, false);
  if (count > 0 && s.time > s.live.head - s.live.dt / 2) { for (let k = 0; k < count && s.live.advance(); k++); refreshLive(s); goTo(s, s.live.head); } else point(s, s.time + count * s.live.dt);
}
// Where a reader looks back and changes something, the run goes on from there.
function branch(s) { if (s.time < s.live.head - s.live.dt / 2) { s.live.back(s.time); s.controls?.show(); refreshLive(s); goTo(s, s.live.head); } }

// -- pulling at bodies -----------------------------------------------------------------------------
// A spring from a body's mass center to the pointer: its force is an input of the run.
function grab(s, e) {
  const live = s.live;
  if (!live || !s.renderer || e.button !== 0 || e.shiftKey) return false;
  const box = $("view").getBoundingClientRect(), k = $("view").width / box.width, node = s.renderer.pick(camera(s), draws(s), (e.clientX - box.left) * k, (e.clientY - box.top) * k);
  if (!(node in live.told.hands)) return false;
  branch(s);
  s.hold = { node, at: live.told.hands[node], start: centerOf(s, node), to: null, last: null, x: e.clientX, y: e.clientY };
  const mass = s.nodes[node].mass || 1, w = 2 * Math.PI * 1.2 / s.data.live.speed;
  live.pull = () => {
    const h = s.hold, now = centerOf(s, node), v = h.last ? minus(now, h.last).map((x) => x / live.dt) : [0, 0, 0];
    h.last = now;
    const f = h.to ? minus(h.to, now).map((x, j) => mass * (w * w * x - 1.2 * w * v[j])) : [0, 0, 0];
    h.force = f; live.force(h.at, f);
  };
  if (!s.playing) play(s, true);
  return true;
}
function drag(s, e) {
  const h = s.hold, c = camera(s), right = unit(cross(c.up, c.away)), up = cross(c.away, right), scale = (2 * s.view.distance * Math.tan(c.angle / 2)) / $("view").clientHeight;
  h.to = plus(plus(h.start, right, (e.clientX - h.x) * scale), up, -(e.clientY - h.y) * scale); s.dirty = true;
}
function release(s) {
  const live = s.live, h = s.hold;
  s.hold = null; live.pull = null; live.force(h.at, [0, 0, 0]); live.save();
  select(s, s.selected);
}
// A click pushes a body away from the viewer, for a tenth of a second on the wall.
function push(s, { node, at }) {
  const live = s.live, span = PUSHED * s.data.live.speed, mass = s.nodes[node].mass || 1, size = (mass * 0.35 * s.size * 2 * Math.PI * 1.2) / s.data.live.speed / span;
  const f = camera(s).away.map((x) => -size * x);
  let left = Math.max(1, Math.round(span / live.dt));
  live.pull = () => { live.force(at, left > 0 ? f : [0, 0, 0]); if (left-- <= 0) { live.pull = null; live.save(); } };
  $("chip").hidden = false; $("chip").textContent = `${s.nodes[node].name} pushed with ${size.toPrecision(3)} N`;
}
// A video of the scene, while the button is on, in a file that the browser saves.
function setFilm(s, button) {
  let film = null;
  button.hidden = !s.data.scene || typeof MediaRecorder === "undefined" || !$("view").captureStream;
  button.onclick = () => {
    if (film) return film.stop();
    const parts = [], kind = ["video/mp4;codecs=avc1.42E01E", "video/webm"].find((k) => MediaRecorder.isTypeSupported(k));
    film = new MediaRecorder($("view").captureStream(30), kind ? { mimeType: kind, videoBitsPerSecond: 8e6 } : {});
    film.ondataavailable = (e) => { if (e.data.size) parts.push(e.data); };
    film.onstop = () => { const type = film.mimeType; film = null; button.ariaPressed = "false"; download(new Blob(parts, { type }), type.includes("mp4") ? "run.mp4" : "run.webm"); };
    film.start(); button.ariaPressed = "true"; s.dirty = true;
  };
}
// The mass center of a node at the head of the run.
function centerOf(s, node) {
  const p = s.live.poses.slice(7 * node, 7 * node + 7).map((c) => c[s.live.rows - 1]), m = posed(p), [x, y, z] = s.nodes[node].point;
  return [0, 1, 2].map((j) => m[j] * x + m[4 + j] * y + m[8 + j] * z + m[12 + j]);
}
