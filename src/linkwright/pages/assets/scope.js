// The scope: stacked graphs of channels with a time cursor through all, on the page and in the studio.
function make(tag, props = {}, ...inner) { const e = Object.assign(document.createElement(tag), props); e.append(...inner); return e; }
const DERIVE = [["rate", "derivative of a"], ["filter", "low-pass of a"], ["add", "a + b"], ["sub", "a − b"], ["phase", "phase plot: a versus b"]];
const MOST_ROWS = 250;
class Scope {
  // source: see LocalSource; hooks: onTime(t), onLayout(layout), menus ({Save: [[words, act]], ...}), csv.
  constructor(home, source, hooks) {
    Object.assign(this, { home, source, hooks, active: 0, graphs: [], lens: false, closeness: 0.1 });
    home.classList.add("scope");
    this.tools = make("div", { className: "tools" });
    this.overview = make("canvas", { className: "overview", title: "Timeline: drag to zoom in, double-click for the full range" });
    this.readout = make("div", { className: "readout" });
    this.stack = make("div", { className: "stack" });
    home.append(this.tools, this.overview, this.readout, this.stack, this.deriving(), this.listing());
    this.setTools(); this.setOverview(); this.build();
    new ResizeObserver(() => this.draw()).observe(home);
  }
  get layout() { return this.source.layout; }
  get theme() { return document.documentElement.dataset.theme === "dark" ? "dark" : "light"; }
  // -- changing what is shown ----------------------------------------------------------------------
  change(edit) {
    const layout = structuredClone(this.layout);
    edit(layout);
    this.active = Math.max(0, Math.min(this.active, layout.graphs.length - 1));
    this.source.setLayout(layout); this.hooks.onLayout?.(layout);
    this.build();
  }
  addGraph() { this.change((l) => { l.graphs.push({ traces: [], across: "" }); this.active = l.graphs.length - 1; }); this.stack.lastElementChild.scrollIntoView({ block: "nearest" }); }
  deleteGraph(k = this.active) { this.change((l) => l.graphs.splice(k, 1)); }
  clearGraph() { this.change((l) => { if (l.graphs[this.active]) l.graphs[this.active].traces = []; }); }
  clearLast() { this.change((l) => l.graphs[this.active]?.traces.pop()); }
  clearAll() { this.change((l) => { l.graphs = []; }); }
  toggle(name, on) {
    this.change((l) => {
      if (on && (!l.graphs.length || l.graphs[this.active].across)) { l.graphs.push({ traces: [], across: "" }); this.active = l.graphs.length - 1; }
      const g = l.graphs[this.active];
      if (g) g.traces = on ? [...new Set([...g.traces, name])] : g.traces.filter((n) => n !== name);
    });
  }
  derive(d) {
    const made = { a: d.a, b: "", cutoff: 0, ...d };
    made.name = derivedName(made);
    const taken = this.source.channels.some((c) => c[0] === made.name);
    this.change((l) => {
      if (!taken && !l.derived.some((x) => x.name === made.name)) l.derived.push(made);
      if (!l.graphs.length || l.graphs[this.active].across) { l.graphs.push({ traces: [], across: "" }); this.active = l.graphs.length - 1; }
      const g = l.graphs[this.active];
      if (!g.traces.includes(made.name)) g.traces.push(made.name);
    });
    return made.name;
  }
  phase(across, up) { this.change((l) => { l.graphs.push({ traces: [up], across }); this.active = l.graphs.length - 1; }); this.stack.lastElementChild.scrollIntoView({ block: "nearest" }); }
  forget(name) {
    this.change((l) => {
      const gone = new Set([name]);
      for (const d of l.derived) if (gone.has(d.a) || gone.has(d.b)) gone.add(d.name);
      l.derived = l.derived.filter((d) => !gone.has(d.name));
      for (const g of l.graphs) g.traces = g.traces.filter((n) => !gone.has(n));
      l.graphs = l.graphs.filter((g) => !gone.has(g.across));
    });
  }
  setWindow(a, b) {
    const [from, to] = this.source.span, whole = to - from || 1;
    if (!(b - a > whole * 1e-6)) return;
    const all = a <= from && b >= to;
    this.quiet((l) => { l.window = all ? null : [Math.max(a, from), Math.min(b, to)]; if (l.window && !(l.window[1] > l.window[0])) l.window = null; });
  }
  setMark(t) { this.quiet((l) => { l.mark = t; }); }
  // A change that leaves the graphs standing.
  quiet(edit) {
    const layout = { ...this.layout };
    edit(layout);
    this.source.setLayout(layout); this.hooks.onLayout?.(layout);
    this.draw();
  }
  zoom(factor, around = this.source.time) {
    if (this.lens) { this.closeness = Math.min(0.5, Math.max(1e-5, this.closeness * factor)); this.hooks.onLens?.(); return this.draw(); }
    const [a, b] = this.source.window, at = around >= a && around <= b ? around : (a + b) / 2;
    this.setWindow(at + (a - at) * factor, at + (b - at) * factor);
  }
  get lensWindow() {
    if (!this.lens) return null;
    const [a, b] = this.source.window, half = (this.closeness * (b - a)) / 2, t = Math.min(b, Math.max(a, this.source.time));
    return [t - half, t + half];
  }
  setTime(t) { this.source.time = t; this.draw(); }
  // -- tools ---------------------------------------------------------------------------------------
  setTools() {
    const menu = (title, entries) => {
      const list = make("div", { className: "menu" }), box = make("details", { name: "scope menus" }, make("summary", {}, title), list);
      for (const [words, act, hint] of entries) list.append(make("button", { textContent: words, title: hint || "", onclick: () => { box.open = false; act(); } }));
      document.addEventListener("pointerdown", (e) => { if (!box.contains(e.target)) box.open = false; });
      return box;
    };
    const button = (words, hint, act) => make("button", { textContent: words, title: hint, onclick: act });
    this.lensButton = button("Inset", "Zoom inset: a second pane that shows the curves around the cursor", () => {
      this.lens = !this.lens; this.lensButton.setAttribute("aria-pressed", this.lens); this.hooks.onLens?.(); this.draw(); });
    this.lensButton.setAttribute("aria-pressed", "false");
    this.tools.append(
      menu("Graphs", [["Add graph", () => this.addGraph()], ["Delete graph", () => this.deleteGraph(), "The selected graph"],
        ["Clear graph", () => this.clearGraph(), "The selected graph"], ["Remove last trace", () => this.clearLast()], ["Remove all graphs", () => this.clearAll()]]),
      ...Object.entries(this.hooks.menus || {}).map(([title, entries]) => menu(title, entries)),
      make("span", { className: "gap" }),
      make("div", { className: "group" }, button("−", "Zoom out (−)", () => this.zoom(2)), button("+", "Zoom in around the cursor (+)", () => this.zoom(0.5)),
        button("Full", "Full range (0)", () => this.quiet((l) => { l.window = null; }))),
      this.lensButton);
  }
  setOverview() {
    const c = this.overview, at = (e) => { const r = c.getBoundingClientRect(), [a, b] = this.source.span; return a + ((b - a) * (e.clientX - r.left - LEFT)) / (r.width - LEFT - RIGHT); };
    let from = null, moves = null;
    c.onpointerdown = (e) => {
      c.setPointerCapture(e.pointerId); from = at(e);
      const w = this.layout.window;
      moves = w && from > w[0] && from < w[1] ? [...w] : null;
    };
    c.onpointermove = (e) => {
      if (from === null || !(e.buttons & 1)) return;
      const t = at(e), [a, b] = this.source.span, slow = ((b - a) * 6) / (c.clientWidth || 1);
      if (moves) { const d = Math.min(b - moves[1], Math.max(a - moves[0], t - from)); this.setWindow(moves[0] + d, moves[1] + d); }
      else if (Math.abs(t - from) > slow) this.setWindow(Math.max(a, Math.min(from, t)), Math.min(b, Math.max(from, t)));
    };
    c.onpointerup = (e) => {
      const w = this.layout.window, t = at(e);
      if (from !== null && !moves && w && (t < w[0] || t > w[1])) { const half = (w[1] - w[0]) / 2; this.setWindow(t - half, t + half); }
      from = null;
    };
    c.onwheel = (e) => { e.preventDefault(); this.zoom(Math.exp((e.deltaY || e.deltaX) * 0.0015), at(e)); };
    c.ondblclick = () => this.quiet((l) => { l.window = null; });
  }
  deriving() {
    const kind = make("select", { ariaLabel: "what to compute" }, ...DERIVE.map(([k, w]) => new Option(w, k)));
    const names = make("datalist", { id: "names" }), field = (id) => { const i = make("input", { type: "text", id, placeholder: id, autocomplete: "off", ariaLabel: id }); i.setAttribute("list", "names"); return i; };
    const a = field("a"), b = field("b"), cutoff = make("input", { type: "number", id: "cutoff", min: 0, max: 100, step: "any", value: 0, ariaLabel: "cutoff" });
    const by = make("label", { title: "Butterworth low-pass, in percent of half the sampling rate; 0 or 100: no filter" }, "cutoff ", cutoff, " % of Nyquist");
    const said = make("p", { className: "said" }), go = make("button", { id: "derive", textContent: "Add" });
    const fit = () => { b.hidden = !["add", "sub", "phase"].includes(kind.value); by.hidden = !["rate", "filter"].includes(kind.value); };
    kind.onchange = fit; fit();
    go.onclick = () => {
      const known = (n) => this.source.channels.some((c) => c[0] === n) || this.layout.derived.some((d) => d.name === n), needs = b.hidden ? [a] : [a, b];
      const wrong = needs.find((i) => !known(i.value)), share = +cutoff.value;
      said.textContent = wrong ? (wrong.value ? `No channel ${wrong.value}.` : `Choose channel ${wrong.id}.`) : "";
      if (!by.hidden && !(share >= 0 && share <= 100)) said.textContent = "The cutoff must be between 0 and 100 %.";
      if (!by.hidden && kind.value === "filter" && (share === 0 || share === 100)) said.textContent = "Choose a cutoff between 0 and 100 %.";
      if (said.textContent) return;
      if (kind.value === "phase") this.phase(b.value, a.value);
      else this.derive({ kind: kind.value, a: a.value, b: b.hidden ? "" : b.value, cutoff: by.hidden ? 0 : share });
    };
    this.names = names;
    this.fields = { kind, a, b, cutoff, fit };
    return make("details", { className: "derive" }, make("summary", {}, "Computed channel"), make("div", { className: "form" }, kind, a, b, by, go, names), said);
  }
  listing() {
    this.search = make("input", { type: "search", id: "search", placeholder: "Search channels", ariaLabel: "search channels", oninput: () => this.fill() });
    this.count = make("span", { id: "count" }); this.rows = make("div", { id: "channels" });
    this.list = make("details", { id: "list" }, make("summary", {}, "Channels ", this.count), this.search, this.rows);
    return this.list;
  }
  fill() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean), here = new Set(this.layout.graphs[this.active]?.traces || []);
    const own = this.layout.derived.map((d) => [d.name, this.source.unit(d.name), "derived", "", "", true]);
    const all = [...this.source.channels, ...own], found = all.filter((l) => { const text = l.join(" ").toLowerCase(); return words.every((w) => text.includes(w)); });
    this.count.textContent = `(${all.length})`;
    this.names.replaceChildren(...all.slice(0, 2000).map((l) => make("option", { value: l[0] })));
    this.rows.replaceChildren(...found.slice(0, MOST_ROWS).map((l) => this.row(l, here)));
    if (found.length > MOST_ROWS) this.rows.append(make("p", { className: "said" }, `… and ${found.length - MOST_ROWS} more: type part of the name.`));
    if (!found.length) this.rows.textContent = all.length ? "No matches." : "No channels.";
  }
  row([name, unit, long, , , own], here) {
    const box = make("input", { type: "checkbox", checked: here.has(name), onchange: () => this.toggle(name, box.checked) });
    const made = make("label", { title: [name, long].filter(Boolean).join(": ") }, box, make("span", { textContent: name }), make("small", { textContent: unit === "?" ? "" : unit }));
    const act = (words, hint, does) => made.append(make("button", { textContent: words, title: hint, ariaLabel: hint, onclick: (e) => { e.preventDefault(); does(); } }));
    act("d/dt", "Derivative", () => this.derive({ kind: "rate", a: name }));
    if (own) act("✕", "Delete", () => this.forget(name));
    return made;
  }
  // -- graphs --------------------------------------------------------------------------------------
  build() {
    const { graphs } = this.layout;
    this.graphs = graphs.map((g, k) => this.graph(g, k));
    this.stack.replaceChildren(...this.graphs.map((g) => g.box));
    if (!graphs.length) {
      const some = this.source.channels.length > 0;
      this.stack.append(make("p", { className: "said" }, some ? "No graphs. Add channels below." : "The recording has no channels."));
      if (some) this.list.open = true;
    }
    this.fill(); this.draw();
  }
  graph(told, k) {
    const canvas = make("canvas"), legend = make("div", { className: "legend" }), off = make("button", { textContent: "✕", title: "Remove graph", ariaLabel: "remove graph" });
    const words = make("span"), box = make("div", { className: "plot" }, make("h3", {}, words, off), canvas, legend);
    box.classList.toggle("active", k === this.active && this.layout.graphs.length > 1);
    for (const kind of ["pointerdown", "focusin"]) box.addEventListener(kind, () => { if (this.active !== k) { this.active = k; this.graphs.forEach((g, j) => g.box.classList.toggle("active", j === k)); this.fill(); } });
    off.onclick = () => this.deleteGraph(k);
    canvas.setAttribute("role", "img"); canvas.tabIndex = 0;
    canvas.setAttribute("aria-label", told.across ? `${told.traces.join(", ")} over ${told.across}` : "graph of " + told.traces.join(", "));
    const made = { told, canvas, legend, words, box, rows: [], panes: [] };
    if (told.across) canvas.classList.add("phase");
    told.traces.forEach((name, ink) => this.source.names.forEach((take, j) => {
      const [mark, value, then, gap, ends] = ["i", "b", "u", "s", "small"].map((t) => make(t));
      const words = this.source.names.length > 1 ? `${name} · ${take}` : name, label = make("span", { textContent: words });
      const drop = make("button", { textContent: "✕", title: "Remove trace", ariaLabel: "remove trace", onclick: () => this.change((l) => { l.graphs[k].traces = l.graphs[k].traces.filter((n) => n !== name); }) });
      const item = make("div", {}, mark, label, ends, value, then, gap, drop);
      item.dataset.channel = name; item.dataset.take = j;
      legend.append(item);
      made.rows.push({ name, words, take: j, ink, item, mark, label, value, then, gap, ends });
    }));
    if (!told.traces.length) legend.append(make("p", { className: "said" }, "Add channels below."));
    this.listen(made);
    return made;
  }
  listen(graph) {
    const { canvas, told } = graph;
    if (told.across) return;
    const at = (e) => {
      const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, pane = graph.panes.findLast((p) => x >= p.box[0] - LEFT / 2) || graph.panes[0];
      if (!pane) return null;
      const [a, b] = pane.window, share = (x - pane.box[0]) / (pane.box[2] - pane.box[0]);
      return a + (b - a) * Math.min(1, Math.max(0, share));
    };
    const point = (e) => { const t = at(e); if (t === null) return; if (e.shiftKey) this.setMark(t); else this.hooks.onTime(t); };
    let held = null;
    canvas.onpointerdown = (e) => { if (e.button) return; canvas.setPointerCapture(e.pointerId); held = e.pointerId; point(e); };
    canvas.onpointermove = (e) => { if (held === e.pointerId && e.buttons & 1) point(e); };
    canvas.onpointerup = canvas.onpointercancel = () => { held = null; };
    canvas.onwheel = (e) => { if (!e.ctrlKey && !e.shiftKey && !e.altKey) return; e.preventDefault(); const t = at(e); this.zoom(Math.exp((e.deltaY || e.deltaX) * 0.0015), t ?? undefined); };
    canvas.ondblclick = () => this.quiet((l) => { l.window = null; });
  }
  // The curves of a graph, ready to be drawn.
  lines(told, key) {
    const made = [];
    told.traces.forEach((name, ink) => this.source.curves(told.across, name).forEach((c, take) => {
      if (c.error) return;
      const line = key && c[key] ? c[key] : c, at = (t) => t === null || t === undefined ? null : [this.source.value(told.across, take, t), this.source.value(name, take, t)];
      made.push({ ...line, ink, dashed: take > 0, ...(told.across ? { now: at(this.source.time), then: at(this.layout.mark) } : {}) });
    }));
    return made;
  }
  draw() {
    const { source, theme } = this, { mark } = this.layout, cursors = { time: source.time, mark, events: source.events };
    for (const graph of this.graphs) {
      this.caption(graph);
      const ready = cleared(graph.canvas);
      if (!ready) continue;
      const [g, w, h] = ready, { told } = graph, units = source.unit(told.across);
      if (told.across) {
        graph.panes = [];
        paintPhase(g, [LEFT, TOP, w - RIGHT, h - BOTTOM], theme, this.lines(told), `${told.across}${unitText(units)} →`);
        continue;
      }
      const close = this.lensWindow, middle = close ? Math.round(w * 0.58) : w;
      graph.panes = [{ box: [LEFT, TOP, middle - RIGHT, h - BOTTOM], window: widened(source.window) }];
      if (close) graph.panes.push({ box: [middle + LEFT - 6, TOP, w - RIGHT, h - BOTTOM], window: close });
      if (close) shade(g, graph.panes[0], close, TONES[theme].shade);
      graph.panes.forEach((p, k) => paintTime(g, p.box, theme, p.window, this.lines(told, k ? "lens" : null), cursors));
    }
    this.drawOverview(); this.tell();
  }
  caption({ told, words, rows }) {
    const units = [...new Set(told.traces.map((n) => this.source.unit(n)).filter((u) => u !== "?"))], kinds = new Set(told.traces.map((n) => this.source.channels.find((c) => c[0] === n)?.[3] || ""));
    const kind = kinds.size === 1 ? [...kinds][0] : "", unit = units.length > 1 ? "mixed units" : units[0] === "1" ? "dimensionless" : units[0] || "";
    words.textContent = told.across ? `${told.traces.join(", ")} over ${told.across}` : [kind, unit].filter(Boolean).join(", ") || (told.traces.length ? "unknown unit" : "empty graph");
    const inks = INKS[this.theme], { mark } = this.layout, marked = mark !== null && mark !== undefined, wide = this.home.clientWidth > 600;
    for (const r of rows) {
      const v = this.source.value(r.name, r.take, this.source.time), m = marked ? this.source.value(r.name, r.take, mark) : NaN, error = this.source.error(r.name), unit = this.source.unit(r.name);
      r.mark.style.backgroundColor = inks[r.ink % 8];
      r.item.classList.toggle("dashed", r.take > 0 || DASHES[r.ink % 8].length > 0);
      r.mark.style.backgroundImage = gaps(dashes({ ink: r.ink, dashed: r.take > 0 }));
      put(r.label, r.words + (units.length > 1 || told.across ? unitText(unit) : ""));
      put(r.value, shownNumber(v)); put(r.then, marked ? shownNumber(m) : ""); put(r.gap, marked ? "Δ " + shownNumber(v - m) : "");
      const [low, high] = this.source.range(r.name, r.take), ends = low <= high ? `${shownNumber(low)} to ${shownNumber(high)}` : "";
      put(r.ends, wide ? ends : "");
      r.item.title = error || `${r.name}${unitText(unit)} ${shownNumber(v)} at the cursor${marked ? `, ${shownNumber(m)} at the marker` : ""}${ends ? `; ${ends} in view` : ""}`;
      r.item.classList.toggle("wrong", Boolean(error));
      if (error && !r.told) { r.told = make("em", {}, error); r.item.after(r.told); } else if (!error && r.told) { r.told.remove(); r.told = null; }
    }
  }
  drawOverview() {
    this.overview.hidden = Boolean(this.hooks.clock) && !this.layout.window; // a page has a timeline of its own
    const ready = cleared(this.overview);
    if (!ready) return;
    const [g, w, h] = ready, { source, theme } = this, tone = TONES[theme], box = [LEFT, 5, w - RIGHT, h - 15], [a, b] = source.span;
    const X = (t) => box[0] + ((t - a) / (b - a || 1)) * (box[2] - box[0]), [from, to] = source.window;
    g.fillStyle = tone.line; g.fillRect(box[0], box[1] + 2, box[2] - box[0], box[3] - box[1] - 4);
    const left = Math.max(box[0], X(from)), right = Math.min(box[2], X(to));
    if (left > box[0] + 1 || right < box[2] - 1) { g.fillStyle = tone.soft; g.fillRect(left, box[1], Math.max(2, right - left), box[3] - box[1]); }
    for (const [t, color] of [[this.layout.mark, tone.mark], [source.time, tone.accent]]) if (t !== null && t !== undefined && t >= a && t <= b) { g.fillStyle = color; g.fillRect(X(t) - 1, box[1] - 3, 2, box[3] - box[1] + 6); }
    g.fillStyle = tone.soft; g.font = "10px system-ui, sans-serif"; g.textBaseline = "top"; g.textAlign = "left"; g.fillText(clock(a, b - a), box[0], box[3] + 3);
    g.textAlign = "right"; g.fillText(clock(b, b - a), box[2], box[3] + 3);
  }
  tell() {
    const { mark } = this.layout, t = this.source.time, [a, b] = this.source.span, marked = mark !== null && mark !== undefined;
    const words = (this.hooks.clock ? "" : `t ${clock(t, b - a)}`) + (marked ? `${this.hooks.clock ? "" : " · "}marker ${clock(mark, b - a)} · Δ ${clock(t - mark, b - a)}` : "");
    this.readout.title = marked && t !== mark ? `1/Δ: ${shownNumber(1 / Math.abs(t - mark))} Hz` : "";
    if (!this.saying) {
      this.saying = make("span"); this.unmark = make("button", { textContent: "✕", title: "Remove marker", ariaLabel: "remove marker", onclick: () => this.setMark(null) });
      this.marker = make("button", { textContent: "Marker", title: "Set a second cursor here (M, or Shift-click)", onclick: () => this.setMark(this.source.time) });
      this.readout.append(this.saying, make("span", { className: "gap" }), this.unmark);
      (this.hooks.clock ? this.tools : this.readout).append(this.marker);
    }
    put(this.saying, words); this.unmark.hidden = !marked; this.readout.hidden = Boolean(this.hooks.clock) && !marked;
  }
  key(e) {
    const acts = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.quiet((l) => { l.window = null; }), m: () => this.setMark(this.layout.mark === null ? this.source.time : null) };
    const act = acts[e.key.toLowerCase()];
    if (act) act();
    return Boolean(act);
  }
  // -- saving --------------------------------------------------------------------------------------
  // All graphs on one canvas, light, for paper.
  picture(title) {
    const width = 1000, each = 230, tall = 420, heights = this.graphs.map((g) => (g.told.across ? tall : each)), canvas = make("canvas"), k = 2;
    canvas.width = k * width; canvas.height = k * (44 + heights.reduce((a, b) => a + b, 0) + 10);
    const g = canvas.getContext("2d");
    g.scale(k, k); g.fillStyle = "#fff"; g.fillRect(0, 0, width, canvas.height);
    g.fillStyle = TONES.light.ink; g.font = "600 15px system-ui, sans-serif"; g.textAlign = "left"; g.fillText(title, LEFT, 26);
    let y = 40;
    this.graphs.forEach(({ told }, n) => {
      const box = [LEFT + 14, y + 22, width - 16, y + heights[n] - 24];
      g.font = "12px system-ui, sans-serif"; g.textAlign = "left"; g.textBaseline = "alphabetic";
      let x = box[0];
      told.traces.forEach((name, ink) => { const words = (name.length > 60 ? name.slice(0, 57) + "…" : name) + unitText(this.source.unit(name)); g.fillStyle = INKS.light[ink % 8]; g.fillText(words, x, y + 12); x += g.measureText(words).width + 18; });
      if (told.across) paintPhase(g, box, "light", this.lines(told), `${told.across}${unitText(this.source.unit(told.across))} →`);
      else paintTime(g, box, "light", widened(this.source.window), this.lines(told), { time: this.source.time, mark: this.layout.mark });
      y += heights[n];
    });
    return canvas;
  }
  savePicture(title) { this.picture(title).toBlob((blob) => download(blob, "scope.png")); }
}
// The gaps of a dashed line, over the color of its mark in a legend.
function gaps(dash) {
  let at = 0;
  const stops = dash.map((long, k) => `${k % 2 ? "var(--card)" : "transparent"} ${at}px ${(at += long)}px`);
  return stops.length ? `repeating-linear-gradient(90deg,${stops.join(",")})` : "none";
}
function shade(g, pane, [a, b], color) {
  const [from, to] = pane.window, X = (t) => pane.box[0] + ((t - from) / (to - from || 1)) * (pane.box[2] - pane.box[0]);
  const left = Math.max(pane.box[0], X(a)), right = Math.min(pane.box[2], X(b));
  g.fillStyle = color; g.fillRect(left, pane.box[1] - 4, Math.max(2, right - left), pane.box[3] - pane.box[1] + 4);
}
function widened([a, b]) { return b > a ? [a, b] : [a - 0.5, b + 0.5]; }
function put(e, words) { if (e.textContent !== words) e.textContent = words; }
function unitText(unit) { return unit && unit !== "?" && unit !== "1" ? ` [${unit}]` : ""; }
function clock(t, span) { return `${t.toFixed(span < 0.01 ? 6 : span < 1 ? 4 : span < 100 ? 3 : 1)} s`; }
function download(blob, name) {
  const a = make("a", { href: URL.createObjectURL(blob), download: name });
  a.click(); setTimeout(() => URL.revokeObjectURL(a.href), 5000);
}
// A table of the first take of a local source, derived channels with it.
function csvText(source) {
  const names = [...source.takes[0].labels.map((l) => l[0]), ...source.layout.derived.map((d) => d.name)].filter((n) => !source.column(0, n).error);
  const quoted = (s) => (/[",\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s), t = source.times(0), data = names.map((n) => source.column(0, n).v);
  const rows = [["t [s]", ...names.map((n) => `${n} [${source.column(0, n).unit}]`)].map(quoted).join(",")];
  for (let i = 0; i < t.length; i++) rows.push([+t[i].toPrecision(15), ...data.map((v) => exactText(v, v[i]))].join(","));
  return rows.join("\n") + "\n";
}
// As few digits as give the same number again, of those that the column has.
function exactText(column, x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  if (!(column instanceof Float32Array)) return String(x);
  for (let digits = 6; digits < 9; digits++) if (Math.fround(+x.toPrecision(digits)) === x) return String(+x.toPrecision(digits));
  return String(+x.toPrecision(9));
}
