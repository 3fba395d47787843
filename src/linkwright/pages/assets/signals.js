// Channels made from channels, as linkwright.recording.derived makes them, and a source of curves
// that has all samples at hand.
function derivedName({ kind, a, b, cutoff }) {
  const inner = (n) => (/ [+-] /.test(n) ? `(${n})` : n), by = cutoff > 0 && cutoff < 100 ? ` (${+cutoff} %)` : "";
  return kind === "rate" ? `d/dt ${inner(a)}${by}` : kind === "filter" ? `${inner(a)}${by || " (100 %)"}` : `${a} ${kind === "add" ? "+" : "-"} ${inner(b)}`;
}
function perSecond(unit) {
  if (unit in { "?": 1, 1: 1, s: 1 }) return { "?": "?", 1: "1/s", s: "1" }[unit];
  for (const [old, next] of [["/s^2", "/s^3"], ["/s", "/s^2"]]) if (unit.endsWith(old)) return unit.slice(0, -old.length) + next;
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(unit) ? unit + "/s" : `(${unit})/s`;
}
// Differences of second order, at the ends too, between samples at any times.
function rateOf(v, t) {
  const n = v.length, d = new Float64Array(n);
  if (n < 2) throw new Error(`a rate takes two samples, and there are ${n}`);
  if (n === 2) return d.fill((v[1] - v[0]) / (t[1] - t[0]));
  for (let i = 0; i < n; i++) {
    const k = Math.min(Math.max(i, 1), n - 2), a = t[k] - t[k - 1], b = t[k + 1] - t[k], x = t[i] - t[k];
    const first = (v[k] - v[k - 1]) / a, second = (v[k + 1] - v[k]) / b, bend = (second - first) / (a + b);
    d[i] = first + bend * (a + 2 * x);
  }
  return d;
}
// A Butterworth low-pass of second order, forward and backward, the ends continued oddly.
function lowPass(v, percent) {
  if (!(percent > 0 && percent < 100)) return Float64Array.from(v);
  const n = v.length, pad = 9;
  if (n <= pad) throw new Error(`${n} samples are too few for a filter`);
  const bad = v.reduce((c, x) => c + !Number.isFinite(x), 0);
  if (bad) throw new Error(`it cannot be filtered: ${bad} of its values are no finite numbers`);
  const k = Math.tan((Math.PI * percent) / 200), norm = 1 / (1 + Math.SQRT2 * k + k * k), b0 = k * k * norm, b1 = 2 * b0;
  const a1 = 2 * (k * k - 1) * norm, a2 = (1 - Math.SQRT2 * k + k * k) * norm;
  const x = new Float64Array(n + 2 * pad);
  x.set(v, pad);
  for (let i = 0; i < pad; i++) { x[i] = 2 * v[0] - v[pad - i]; x[n + pad + i] = 2 * v[n - 1] - v[n - 2 - i]; }
  const pass = () => {
    let z1 = (1 - b0) * x[0], z2 = (b0 - a2) * x[0];
    for (let i = 0; i < x.length; i++) { const u = x[i], y = b0 * u + z1; z1 = b1 * u - a1 * y + z2; z2 = b0 * u - a2 * y; x[i] = y; }
  };
  pass(); x.reverse(); pass(); x.reverse();
  return x.slice(pad, pad + n);
}
function valueAt(t, v, at) {
  const n = t.length, near = 1e-9 * Math.max(1, Math.abs(t[0]), Math.abs(t[n - 1]));
  if (!n || at < t[0] - near || at > t[n - 1] + near) return NaN;
  const k = Math.min(Math.max(0, after(t, at) - 1), Math.max(0, n - 2));
  if (n === 1 || at <= t[k]) return v[k];
  return at >= t[k + 1] ? v[k + 1] : v[k] + ((at - t[k]) / (t[k + 1] - t[k])) * (v[k + 1] - v[k]);
}
// The first place whose time is later.
function after(t, at) { let a = 0, b = t.length; while (a < b) { const m = (a + b) >> 1; if (t[m] <= at) a = m + 1; else b = m; } return a; }

// All samples are here: takes, [{name, start, end, labels, values, times}], evenly spaced where there are no times.
class LocalSource {
  constructor(takes, span, layout) {
    Object.assign(this, { takes, span, layout, time: span[0], rolls: false, memo: new Map() });
    const found = new Map();
    for (const take of takes) for (const l of take.labels) if (!found.has(l[0])) found.set(l[0], l);
    this.channels = [...found.values()];
    this.names = takes.map((t) => t.name);
  }
  get window() { return this.layout.window || this.span; }
  setLayout(layout) { if (JSON.stringify(layout.derived) !== JSON.stringify(this.layout.derived)) { this.memo.clear(); this.ranges = null; } this.layout = layout; }
  times(k) {
    const take = this.takes[k], n = take.values[0]?.length || 0;
    take.t ??= take.times || Float64Array.from({ length: n }, (_, i) => take.start + ((take.end - take.start) * i) / Math.max(1, n - 1));
    return take.t;
  }
  column(k, name) {
    const key = k + " " + name;
    if (!this.memo.has(key)) { let made; try { made = this.make(k, name); } catch (error) { made = { error: error.message }; } this.memo.set(key, made); }
    return this.memo.get(key);
  }
  make(k, name) {
    const take = this.takes[k], at = take.labels.findIndex((l) => l[0] === name);
    if (at >= 0) return { v: take.values[at], unit: take.labels[at][1] };
    const order = this.layout.derived.findIndex((d) => d.name === name), d = this.layout.derived[order];
    if (!d) throw new Error(`there is no channel ${name}`);
    const part = (n) => {
      if (this.layout.derived.findIndex((x) => x.name === n) >= order) throw new Error(`${name} is made from ${n}, which comes after it`);
      const c = this.column(k, n); if (c.error) throw new Error(c.error); return c;
    };
    const a = part(d.a);
    if (d.kind === "add" || d.kind === "sub") {
      const b = part(d.b), sign = d.kind === "add" ? 1 : -1;
      return { v: Float64Array.from(a.v, (x, i) => x + sign * b.v[i]), unit: a.unit === b.unit ? a.unit : "?" };
    }
    if (take.times && d.cutoff > 0 && d.cutoff < 100) throw new Error("only evenly spaced samples can be filtered");
    const smooth = lowPass(a.v, d.cutoff);
    return d.kind === "filter" ? { v: smooth, unit: a.unit } : { v: rateOf(smooth, this.times(k)), unit: perSecond(a.unit) };
  }
  // What a line looks like in each take: {t, v} or {x, y}, or {error}.
  curves(across, name) {
    return this.takes.map((_, k) => {
      const c = this.column(k, name), t = this.times(k);
      if (c.error) return c;
      if (!across) return { t, v: c.v };
      const x = this.column(k, across), [a, b] = this.window, from = Math.max(0, after(t, a) - 1), to = after(t, b);
      return x.error ? x : { x: x.v.subarray(from, to), y: c.v.subarray(from, to) };
    });
  }
  value(name, k, at) { const c = this.column(k, name); return c.error ? NaN : valueAt(this.times(k), c.v, at); }
  // The lowest and the highest value within the window.
  range(name, k) {
    const [a, b] = this.window, key = `${k} ${a} ${b} ${name}`;
    if (this.ranges?.size > 500) this.ranges = null;
    this.ranges ??= new Map();
    if (!this.ranges.has(key)) {
      const c = this.column(k, name), t = this.times(k), to = c.error ? 0 : after(t, b);
      let low = Infinity, high = -Infinity;
      for (let i = c.error ? 0 : Math.max(0, after(t, a) - 1); i < to; i++) { const x = c.v[i]; if (Number.isFinite(x)) { if (x < low) low = x; if (x > high) high = x; } }
      this.ranges.set(key, [low, high]);
    }
    return this.ranges.get(key);
  }
  unit(name) { for (let k = 0; k < this.takes.length; k++) { const c = this.column(k, name); if (!c.error) return c.unit; } return "?"; }
  error(name) { const all = this.takes.map((_, k) => this.column(k, name)); return all.every((c) => c.error) ? all[0]?.error || "" : ""; }
}
