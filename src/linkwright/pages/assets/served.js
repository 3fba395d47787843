// The scope in the studio: what is drawn comes from the server, which is asked again and again.
class ServedSource {
  constructor() {
    Object.assign(this, { layout: { graphs: [], derived: [], window: null, mark: null, last: 20 }, channels: [], names: ["?"], span: [0, 1],
      window_: [0, 1], time: 0, values: {}, data: new Map(), number: 0, known: "", stamp: "", rolls: false });
  }
  get window() { return this.layout.window || this.window_; }
  setLayout(layout) { this.layout = layout; }
  curves(across, name) { return this.data.get(JSON.stringify([across, name])) || []; }
  value(name, take, at) {
    const told = this.values[name]?.at[take];
    if (told) for (const [k, t] of [[0, this.valuesAt], [1, this.layout.mark]]) if (t === at && told[k] !== null) return told[k];
    const c = this.curves("", name)[take]; // until the server has told it, what is drawn
    return c?.t ? valueAt(c.t, c.v, at) : NaN;
  }
  range(name, take) { const c = this.curves("", name)[take]; return [c?.low ?? NaN, c?.high ?? NaN]; }
  unit(name) { return this.values[name]?.unit || this.channels.find((c) => c[0] === name)?.[1] || "?"; }
  error(name) { return this.values[name]?.error || ""; }
  // Take over what the server tells; returns whether graphs must be built anew.
  take(told, sent) {
    const names = JSON.stringify(told.takes), anew = Boolean(told.layout || told.channels || names !== JSON.stringify(this.names));
    Object.assign(this, { span: told.span, window_: told.window, values: told.values, names: told.takes, known: told.known, rolls: told.live, running: told.running, playing: told.playing });
    if (told.layout && !sent) this.layout = told.layout;
    this.number = told.number;
    if (told.channels) { this.channels = told.channels; this.title = told.title; }
    if (told.data) {
      this.stamp = told.stamp;
      this.data = new Map(told.data.map(([across, name, takes]) => [JSON.stringify([across, name]), takes.map(unpacked)]));
    }
    return anew;
  }
}
function floats(text) { const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); return new Float32Array(raw.buffer); }
function unpacked(c) {
  if (c.error !== undefined) return c;
  if (c.x !== undefined) return { x: floats(c.x), y: floats(c.y) };
  return { t: Float64Array.from(floats(c.t), (x) => x + c.start), v: floats(c.v), low: c.low, high: c.high, count: c.count, lens: c.lens ? unpacked(c.lens) : undefined };
}
async function serve() {
  const source = new ServedSource(), wants = { layout: null, time: null };
  let asking = null, wake = null;
  const soon = () => { wake?.(); };
  const told = (words) => { const p = document.getElementById("told"); p.textContent = words; p.hidden = !words; };
  const post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", body });
    const told = await answer.json();
    if (told.error) throw new Error(told.error);
    return told;
  };
  const opened = (act) => async () => { try { await act(); told(""); } catch (error) { told(error.message); } soon(); };
  const picker = make("input", { type: "file", hidden: true, id: "file" });
  picker.onchange = opened(async () => { const f = picker.files[0]; if (f?.size > 2 ** 28) throw new Error(`${f.name} is larger than can be opened here (256 MiB): open it with linkwright studio`); if (f) await post("scope/open?name=" + encodeURIComponent(f.name), f); picker.value = ""; });
  document.body.append(picker);
  const save = (suffix) => ["Recording, " + suffix, () => { make("a", { href: "scope/save?as=" + suffix, download: "scope" + suffix }).click(); }];
  const scope = window.scope = new Scope(document.getElementById("scope"), source, {
    onTime: (t) => { wants.time = source.time = t; scope.draw(); soon(); },
    onLayout: (layout) => { wants.layout = layout; soon(); },
    onLens: soon,
    menus: {
      Save: [["Picture, .png", () => scope.savePicture(source.title)], ["Picture, .svg", () => { make("a", { href: "scope/picture", download: "scope.svg" }).click(); }],
        ...[".csv", ".npz", ".parquet", ".mcap", ".erd"].map(save),
        ["SL file (next dNNNNN)", async () => { try { told(`Saved: ${(await post("scope/next", "")).name}`); setTimeout(() => told(""), 8000); } catch (error) { told(error.message); } }, "Into the folder of the studio, as SL's plotter saves"]],
      Open: [["Open recording …", () => picker.click(), "With the same graphs"], ["Open most recent", opened(() => post("scope/last", "")), "The newest recording of the folder, with the same graphs"],
        ["Open in new window", () => { open(location.href, "_blank"); }]],
    },
  });
  const last = make("input", { type: "number", min: 0, max: 300, step: 1, ariaLabel: "seconds of the live run" });
  const lasting = make("label", { className: "lasting", hidden: true, title: "Seconds of the live run in view; 0: all that is kept" }, "window ", last, " s");
  last.onchange = () => scope.quiet((l) => { l.last = Math.max(0, +last.value || 0); l.window = null; });
  scope.readout.append(lasting);
  passKeys((e) => scope.key(e));
  let first = true;
  for (;;) {
    const sent = { ...wants, number: source.number, known: source.known, stamp: source.stamp, points: Math.round(2.5 * scope.home.clientWidth), lens: scope.lensWindow };
    Object.assign(wants, { layout: null, time: null });
    try {
      asking = await post("scope/ask", JSON.stringify(sent));
      if (wants.time === null) { source.time = source.valuesAt = asking.time; }
      const anew = source.take(asking, Boolean(sent.layout || wants.layout));
      lasting.hidden = !asking.live;
      if (document.activeElement !== last) last.value = source.layout.last;
      if (anew || first) scope.build(); else scope.draw();
      if (document.getElementById("told").dataset.lost) { told(""); delete document.getElementById("told").dataset.lost; }
      if (first) { first = false; document.documentElement.dataset.ready = "yes"; }
    } catch (error) {
      told(error instanceof TypeError ? "Connection lost: the studio does not answer. Start it again with linkwright studio." : error.message);
      document.getElementById("told").dataset.lost = "yes";
      await new Promise((done) => setTimeout(done, 2000));
    }
    if (wants.layout || wants.time !== null) continue;
    const moving = asking?.playing || asking?.running;
    await new Promise((done) => { wake = done; setTimeout(done, document.hidden || !scope.home.clientWidth ? 1000 : moving ? 60 : 200); });
    wake = null;
  }
}
serve();
