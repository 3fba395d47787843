// Graphs of channels over time, those of a unit together, with the page's time cursor through all.
const INKS = { light: ["#2f6690", "#c8553d", "#3f8f6b", "#b07d12", "#7a5ea8", "#4a5560", "#12a0b0", "#a13d63"],
  dark: ["#7fb2db", "#ef8a71", "#74c69d", "#e3b341", "#b79be0", "#aab6c2", "#5fd0dd", "#e086a8"] };
class Plots {
  // takes: [{name, start, end, labels, values}]; onTime is called with a time that the user points at.
  constructor(home, takes, span, onTime) {
    Object.assign(this, { home, takes, span, onTime, shown: new Map(), graphs: [], window: [...span], time: span[0] });
  }
  key(label) { return label[1] && label[1] !== "?" ? label[1] : "unit not known"; }
  toggle(name, on) { if (on) this.shown.set(name, true); else this.shown.delete(name); this.build(); }
  // Channels of the name in every take: [take, column].
  rows(name) {
    return this.takes.map((take, k) => [k, take.labels.findIndex((l) => l[0] === name)]).filter(([, c]) => c >= 0);
  }
  build() {
    const groups = new Map();
    for (const take of this.takes) for (const label of take.labels) if (this.shown.has(label[0])) {
      const key = this.key(label);
      if (!groups.has(key)) groups.set(key, new Map());
      groups.get(key).set(label[0], label);
    }
    this.home.textContent = "";
    this.graphs = [...groups].map(([unit, labels]) => this.graph(unit, [...labels.values()]));
    if (!this.graphs.length) {
      const p = document.createElement("p");
      p.className = "plot"; p.style.color = "var(--soft)";
      p.textContent = this.takes.some((t) => t.labels.length) ? "Choose channels below to plot them." : "The recording has no channels.";
      this.home.append(p);
    }
    this.draw();
  }
  graph(unit, labels) {
    const box = document.createElement("div"), title = document.createElement("h3"), canvas = document.createElement("canvas");
    const legend = document.createElement("div"), words = document.createElement("span"), off = document.createElement("button");
    box.className = "plot"; legend.className = "legend";
    const kind = labels.every((l) => l[3] === labels[0][3]) ? labels[0][3] : "";
    words.textContent = (kind ? kind + ", " : "") + (unit === "1" ? "no unit" : unit);
    off.textContent = "✕"; off.title = "Take this graph away"; off.setAttribute("aria-label", "take this graph away");
    off.onclick = () => { labels.forEach((l) => this.shown.delete(l[0])); this.build(); this.onChange?.(); };
    title.append(words, off); box.append(title, canvas, legend); this.home.append(box);
    const lines = [];
    labels.forEach((label, k) => this.rows(label[0]).forEach(([take, column]) => {
      const item = document.createElement("div"), mark = document.createElement("i"), value = document.createElement("b");
      const name = this.takes.length > 1 ? `${label[0]} · ${this.takes[take].name}` : label[0];
      item.title = label[2] || label[0]; item.dataset.channel = label[0]; item.dataset.take = take;
      item.append(mark, name, value); legend.append(item);
      lines.push({ take, column, ink: k, mark, value, dashed: take > 0 });
    }));
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "graph of " + labels.map((l) => l[0]).join(", "));
    const made = { canvas, lines };
    this.listen(made);
    return made;
  }
  listen(graph) {
    const { canvas } = graph;
    const at = (e) => { const r = canvas.getBoundingClientRect(), [a, b] = this.window;
      return a + (b - a) * Math.min(1, Math.max(0, (e.clientX - r.left - 46) / (r.width - 54))); };
    canvas.onpointerdown = (e) => { canvas.setPointerCapture(e.pointerId); this.onTime(at(e)); };
    canvas.onpointermove = (e) => { if (e.buttons & 1) this.onTime(at(e)); };
    canvas.onwheel = (e) => { if (!e.ctrlKey && !e.shiftKey && !e.altKey) return; e.preventDefault(); this.zoom(Math.exp((e.deltaY || e.deltaX) * 0.0015), at(e)); };
    canvas.ondblclick = () => { this.window = [...this.span]; this.draw(); };
  }
  zoom(factor, around) {
    let [a, b] = this.window.map((t) => around + (t - around) * factor);
    if (b - a < (this.span[1] - this.span[0]) * 1e-4) return;
    this.window = [Math.max(a, this.span[0]), Math.min(b, this.span[1])];
    this.draw();
  }
  setTime(t) { this.time = t; this.draw(); }
  value(take, column, t) {
    const { values, start, end } = this.takes[take], data = values[column], n = data.length;
    if (n === 1 || end <= start) return data[0];
    const x = ((t - start) / (end - start)) * (n - 1), k = Math.floor(x);
    if (x < -1e-9 || x > n - 1 + 1e-9) return NaN;
    if (k >= n - 1) return data[n - 1];
    return k < 0 ? data[0] : x === k ? data[k] : data[k] + (x - k) * (data[k + 1] - data[k]);
  }
  draw() {
    const style = getComputedStyle(document.documentElement), ink = (n) => style.getPropertyValue(n).trim();
    const inks = INKS[document.documentElement.dataset.theme === "dark" ? "dark" : "light"];
    for (const { canvas, lines } of this.graphs) {
      const density = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
      if (!w || !h) continue;
      if (canvas.width !== Math.round(w * density)) { canvas.width = Math.round(w * density); canvas.height = Math.round(h * density); }
      const g = canvas.getContext("2d");
      g.setTransform(density, 0, 0, density, 0, 0); g.clearRect(0, 0, w, h);
      const [a, b] = this.window, left = 46, right = w - 8, top = 8, bottom = h - 18;
      const [low, high] = this.range(lines, a, b);
      const X = (t) => left + ((t - a) / (b - a || 1)) * (right - left), Y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
      g.font = "11px system-ui, sans-serif"; g.fillStyle = ink("--soft"); g.strokeStyle = ink("--line"); g.lineWidth = 1;
      g.textAlign = "right"; g.textBaseline = "middle";
      for (const v of ticks(low, high, 4)) { g.beginPath(); g.moveTo(left, Y(v)); g.lineTo(right, Y(v)); g.stroke(); g.fillText(shortNumber(v), left - 6, Y(v)); }
      g.textAlign = "center"; g.textBaseline = "top";
      for (const t of ticks(a, b, 5)) g.fillText(shortNumber(t), X(t), bottom + 4);
      g.save(); g.beginPath(); g.rect(left, 0, right - left, h); g.clip();
      for (const line of lines) {
        line.mark.style.background = g.strokeStyle = inks[line.ink % inks.length];
        g.setLineDash(line.dashed ? [5, 4] : []); g.lineWidth = 1.6; g.lineJoin = "round";
        this.trace(g, line, X, Y, left, right);
        const v = this.value(line.take, line.column, this.time);
        line.value.textContent = Number.isFinite(v) ? shownNumber(v) : "–";
      }
      g.setLineDash([]); g.restore();
      g.strokeStyle = ink("--accent"); g.lineWidth = 1.2; g.beginPath(); g.moveTo(X(this.time), top - 4); g.lineTo(X(this.time), bottom); g.stroke();
    }
  }
  range(lines, a, b) {
    let low = Infinity, high = -Infinity;
    for (const { take, column } of lines) {
      const { values, start, end } = this.takes[take], data = values[column], n = data.length;
      const k = (t) => Math.round(((t - start) / (end - start || 1)) * (n - 1));
      for (let i = Math.max(0, k(a)); i <= Math.min(n - 1, k(b)); i++) { if (data[i] < low) low = data[i]; if (data[i] > high) high = data[i]; }
    }
    if (!(low <= high)) return [0, 1];
    const pad = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
    return [low - pad, high + pad];
  }
  trace(g, { take, column }, X, Y, left, right) {
    const { values, start, end } = this.takes[take], data = values[column], n = data.length;
    const T = (i) => start + ((end - start) * i) / Math.max(1, n - 1), [a, b] = this.window;
    const first = Math.max(0, Math.floor(((a - start) / (end - start || 1)) * (n - 1))), last = Math.min(n - 1, Math.ceil(((b - start) / (end - start || 1)) * (n - 1)));
    const dense = (last - first) / (right - left) > 2;
    let down = false, pixel = -1, low = 0, high = 0;
    g.beginPath();
    for (let i = first; i <= last; i++) {
      const v = data[i];
      if (!(v === v)) { down = false; continue; }
      const x = X(T(i)), y = Y(v);
      if (!dense) { down ? g.lineTo(x, y) : g.moveTo(x, y); down = true; continue; }
      const p = Math.round(x);
      if (p !== pixel) { if (down) { g.lineTo(pixel, low); g.lineTo(pixel, high); } else g.moveTo(p, y); low = high = y; pixel = p; down = true; g.lineTo(p, y); }
      else { low = Math.min(low, y); high = Math.max(high, y); }
    }
    if (dense && down) { g.lineTo(pixel, low); g.lineTo(pixel, high); }
    g.stroke();
  }
}
function ticks(a, b, about) {
  if (!(b > a)) return [a];
  const raw = (b - a) / about, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((k) => k * power >= raw) * power, made = [];
  for (let k = Math.ceil(a / step - 1e-9); k * step <= b + 1e-9 * step; k++) made.push(k * step);
  return made;
}
function shortNumber(v) { return Math.abs(v) < 1e-12 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(0) : String(+v.toPrecision(4)); }
function shownNumber(v) { return Math.abs(v) < 1e-9 ? "0.000" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(2) : v.toPrecision(4); }
