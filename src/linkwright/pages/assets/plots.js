// Drawing of graphs: curves over time and phase plots, in a rectangle of a canvas.
const INKS = "%TRACES%"; // light and dark, put here when a page is made
const DASHES = "%DASHES%"; // in the same order; the last is for recordings beside the first
function dashes(line) { return line.dashed ? DASHES[8] : DASHES[line.ink % 8]; }
const TONES = { light: { soft: "#5c6875", line: "#d6dbe1", ink: "#1f2933", accent: "#c8553d", mark: "#2f6690", shade: "#2f669022" },
  dark: { soft: "#94a1ae", line: "#2c353f", ink: "#e7ebef", accent: "#e5785f", mark: "#7fb2db", shade: "#7fb2db26" } };
const LEFT = 48, RIGHT = 10, TOP = 8, BOTTOM = 18;
function spread(low, high) {
  if (!(low <= high)) return [0, 1];
  const pad = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
  return [low - pad, high + pad];
}
// The lowest and highest value of lines within a window.
function reach(lines, [a, b]) {
  let low = Infinity, high = -Infinity;
  for (const { t, v } of lines) {
    const last = Math.min(t.length - 1, after(t, b));
    for (let i = Math.max(0, after(t, a) - 1); i <= last; i++) if (Number.isFinite(v[i])) { if (v[i] < low) low = v[i]; if (v[i] > high) high = v[i]; }
  }
  return spread(low, high);
}
function scales(g, box, tone, [a, b], [low, high], bare) {
  const [left, top, right, bottom] = box;
  const X = (t) => left + ((t - a) / (b - a || 1)) * (right - left), Y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
  g.font = "11px system-ui, sans-serif"; g.fillStyle = tone.soft; g.strokeStyle = tone.line; g.lineWidth = 1;
  g.textAlign = "right"; g.textBaseline = "middle";
  const values = ticks(low, high, Math.max(2, Math.round((bottom - top) / 32))), seconds = ticks(a, b, Math.max(2, Math.round((right - left) / 70)));
  for (const v of values) { g.beginPath(); g.moveTo(left, Y(v)); g.lineTo(right, Y(v)); g.stroke(); if (!bare) g.fillText(tickText(v, values), left - 6, Y(v)); }
  g.textAlign = "center"; g.textBaseline = "top";
  for (const t of seconds) { if (bare || X(t) > right - 8 && X(t) > right) continue; g.fillText(tickText(t, seconds), Math.min(X(t), right - 6), bottom + 4); }
  return [X, Y];
}
function inside(g, box, draw) { g.save(); g.beginPath(); g.rect(box[0], box[1] - 4, box[2] - box[0], box[3] - box[1] + 8); g.clip(); draw(); g.restore(); }
function upright(g, x, box, color, dash) {
  if (x < box[0] - 1 || x > box[2] + 1) return;
  g.strokeStyle = color; g.lineWidth = 1.2; g.setLineDash(dash); g.beginPath(); g.moveTo(x, box[1] - 4); g.lineTo(x, box[3]); g.stroke(); g.setLineDash([]);
}
// Curves over time. lines: [{t, v, ink, dashed}]; cursors: {time, mark}.
function paintTime(g, box, theme, window, lines, cursors, bare) {
  const tone = TONES[theme], range = reach(lines, window), [X, Y] = scales(g, box, tone, window, range, bare);
  inside(g, box, () => {
    for (const line of lines) {
      g.strokeStyle = g.fillStyle = INKS[theme][line.ink % 8]; g.lineWidth = 1.6; g.lineJoin = "round"; g.setLineDash(dashes(line));
      trace(g, line, window, X, Y, box[2] - box[0]);
    }
    g.setLineDash([]);
  });
  const seen = (cursors.events || []).filter((e) => e.time >= window[0] && e.time <= window[1]);
  for (const e of seen) upright(g, X(e.time), box, tone.soft, [2, 3]);
  if (seen.length && seen.length < 12) { g.save(); g.fillStyle = tone.soft; g.font = "10px system-ui, sans-serif"; g.textBaseline = "top"; for (const e of seen) { g.textAlign = X(e.time) > box[2] - 80 ? "right" : "left"; g.fillText(e.name.split(".").pop(), X(e.time) + (g.textAlign === "left" ? 3 : -3), box[1] + 2); } g.restore(); }
  upright(g, X(cursors.time), box, tone.accent, []);
  if (cursors.mark !== null && cursors.mark !== undefined) upright(g, X(cursors.mark), box, tone.mark, [4, 3]);
}
function trace(g, { t, v }, [a, b], X, Y, width) {
  const first = Math.max(0, after(t, a) - 1), last = Math.min(t.length - 1, after(t, b)), dense = (last - first) / width > 4;
  let down = false, pixel = null, low = 0, high = 0, start = -1;
  const dot = (i) => { g.fillRect(X(t[i]) - 1.5, Y(v[i]) - 1.5, 3, 3); };
  g.beginPath();
  for (let i = first; i <= last; i++) {
    if (!Number.isFinite(v[i])) { if (down && start === i - 1) dot(i - 1); if (down && dense) { g.lineTo(pixel, low); g.lineTo(pixel, high); } down = false; continue; }
    const x = X(t[i]), y = Y(v[i]);
    if (!down) start = i;
    if (!dense) { down ? g.lineTo(x, y) : g.moveTo(x, y); down = true; continue; }
    const p = Math.round(x);
    if (!down) { g.moveTo(p, y); low = high = y; pixel = p; down = true; }
    else if (p !== pixel) { g.lineTo(pixel, low); g.lineTo(pixel, high); g.lineTo(p, y); low = high = y; pixel = p; }
    else { low = Math.min(low, y); high = Math.max(high, y); }
  }
  if (down && dense) { g.lineTo(pixel, low); g.lineTo(pixel, high); }
  g.stroke();
  if (down && start === last) dot(last);
}
// One channel over another; a dot where they stand at the cursor. lines: [{x, y, ink, dashed, now: [x, y], then}].
function paintPhase(g, box, theme, lines, words) {
  const tone = TONES[theme], ends = (key) => {
    let low = Infinity, high = -Infinity;
    for (const l of lines) for (const x of l[key]) if (Number.isFinite(x)) { if (x < low) low = x; if (x > high) high = x; }
    return spread(low, high);
  };
  const [X, Y] = scales(g, box, tone, ends("x"), ends("y"), false);
  inside(g, box, () => {
    for (const l of lines) {
      g.strokeStyle = INKS[theme][l.ink % 8]; g.lineWidth = 1.4; g.lineJoin = "round"; g.setLineDash(dashes(l));
      g.beginPath();
      let down = false;
      for (let i = 0; i < l.x.length; i++) {
        if (!Number.isFinite(l.x[i]) || !Number.isFinite(l.y[i])) { down = false; continue; }
        down ? g.lineTo(X(l.x[i]), Y(l.y[i])) : g.moveTo(X(l.x[i]), Y(l.y[i])); down = true;
      }
      g.stroke(); g.setLineDash([]);
      for (const [at, color] of [[l.then, tone.mark], [l.now, tone.accent]]) if (at && at.every(Number.isFinite)) {
        g.beginPath(); g.arc(X(at[0]), Y(at[1]), 4.5, 0, 7); g.fillStyle = color; g.fill(); g.lineWidth = 1.5; g.strokeStyle = theme === "dark" ? "#1b2128" : "#fff"; g.stroke();
      }
    }
  });
  g.fillStyle = tone.soft; g.textAlign = "right"; g.textBaseline = "bottom"; g.font = "11px system-ui, sans-serif";
  g.fillText(words, box[2] - 4, box[3] - 3);
}
// A canvas as large as it stands on the page, cleared, with its context.
function cleared(canvas) {
  const density = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (!w || !h) return null;
  if (canvas.width !== Math.round(w * density) || canvas.height !== Math.round(h * density)) { canvas.width = Math.round(w * density); canvas.height = Math.round(h * density); }
  const g = canvas.getContext("2d", { willReadFrequently: true }); // drawn by the CPU, beside a busy scene
  g.setTransform(density, 0, 0, density, 0, 0); g.clearRect(0, 0, w, h);
  return [g, w, h];
}
function ticks(a, b, about) {
  if (!(b > a)) return [a];
  const raw = (b - a) / about, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((k) => k * power >= raw * 0.999) * power, made = [];
  for (let k = Math.ceil(a / step - 1e-9); k * step <= b + 1e-9 * step && made.length < 50; k++) made.push(k * step);
  return made.length < 2 && about < 20 ? ticks(a, b, 2 * about) : made; // one alone tells no scale
}
// A tick with as many digits as tell it from its neighbor.
function tickText(v, all) {
  const step = all.length > 1 ? all[1] - all[0] : Math.abs(v) || 1, most = Math.max(Math.abs(all[0]), Math.abs(all[all.length - 1]));
  if (Math.abs(v) < 1e-9 * step) return "0";
  if (most >= 1e5 || most < 1e-3) return v.toExponential(Math.min(6, Math.max(0, Math.ceil(Math.log10(Math.abs(v) / step) - 1e-6)))).replace("e+", "e");
  return v.toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-6))));
}
function shownNumber(v) {
  if (!Number.isFinite(v)) return "–";
  return Math.abs(v) < 1e-9 ? "0.000" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(2) : v.toPrecision(4);
}
