// Controls of a live run: sliders with units and defaults, what they change in the shapes, and the address that keeps them.
class Controls {
  constructor(home, s) {
    Object.assign(this, { home, s, live: s.live, all: s.data.live.controls, rows: [] });
    const words = (c) => [c.name.replace(/^(servo\.target_|servo\.)/, ""), c.unit && c.unit !== "?" && c.unit !== "1" ? c.unit.replaceAll("*", "·").replaceAll("^2", "²").replaceAll("^3", "³") : ""];
    const list = make("div", { className: "rows" }), more = make("div", { className: "rows" });
    this.all.forEach((c, k) => { const row = this.row(c, k, ...words(c)); this.rows.push(row); (k < s.data.live.shown ? list : more).append(row.box); });
    const all = make("button", { textContent: "Defaults", title: "All values as the model has them", onclick: () => this.defaults() });
    home.append(make("h2", {}, make("span", { textContent: "Parameters and inputs" }), all), list);
    if (more.childElementCount) home.append(make("details", {}, make("summary", { textContent: `${more.childElementCount} more` }), more));
    this.joints = s.data.live.joints.map(([name, unit, k]) => {
      const number = make("input", { type: "number", step: "any", ariaLabel: `pose of ${name}${unit && unit !== "?" ? " in " + unit : ""}` });
      number.onchange = () => this.pose(name, k, number.value === "" ? NaN : +number.value);
      return { k, number, box: make("div", { className: "control" }, make("span", { className: "name" }, name, make("small", { textContent: unit === "?" ? "" : unit })), make("span"), number) };
    });
    if (this.joints.length) home.append(this.pane = make("details", { ontoggle: () => this.posed() }, make("summary", { textContent: "Pose" }), ...this.joints.map((j) => j.box)));
    if (!this.all.length && !this.joints.length) home.hidden = true;
    this.read();
  }
  row(c, k, name, unit) {
    const label = make("span", { className: "name" }, make("b", { textContent: name }), make("small", { textContent: unit }));
    const slider = make("input", { type: "range", min: c.low, max: c.high, step: "any", ariaLabel: `${name}${unit ? " in " + unit : ""}` });
    const number = make("input", { type: "number", step: "any", ariaLabel: `${name}, value` });
    const undo = make("button", { textContent: "↺", title: `Default: ${+c.value.toPrecision(5)}`, ariaLabel: `default of ${name}` });
    slider.oninput = () => this.set(k, +(+slider.value).toPrecision(4));
    number.onchange = () => this.set(k, number.value === "" ? NaN : +number.value);
    undo.onclick = () => this.set(k, c.value);
    return { box: make("div", { className: "control", title: [c.doc, `from ${+c.low.toPrecision(3)} to ${+c.high.toPrecision(3)} ${unit}`].filter(Boolean).join(": ") }, label, slider, number, undo), slider, number, undo };
  }
  set(k, value, quiet = false) {
    const c = this.all[k], s = this.s;
    let why = Number.isFinite(value) ? "" : `${c.name}: a number is needed`;
    if (!why && value !== this.live.values[k]) { if (!quiet) branch(s); why = this.live.set(k, value); why = why && `${c.name}: ${why}`; }
    $("refused").textContent = why; $("refused").hidden = !why;
    this.show();
    if (!quiet) { this.write(); refreshLive(s); s.dirty = true; }
  }
  // A joint is set where the run stands, which pauses it.
  pose(name, k, value) {
    const s = this.s;
    play(s, false); branch(s);
    const wrong = Number.isFinite(value) ? this.live.pose(k, value) : "a number is needed";
    $("refused").textContent = wrong && `${name}: ${wrong}`; $("refused").hidden = !wrong;
    refreshLive(s); goTo(s, this.live.head);
  }
  posed() {
    if (!this.pane?.open) return;
    for (const { k, number } of this.joints) if (document.activeElement !== number || !this.s.playing) number.value = +this.live.f[this.live.at("x") + k].toPrecision(6);
  }
  show() {
    this.rows.forEach((r, k) => {
      const v = this.live.values[k], c = this.all[k];
      r.slider.min = Math.min(c.low, v); r.slider.max = Math.max(c.high, v); r.slider.value = v;
      if (document.activeElement !== r.number) r.number.value = Math.abs(v) < 1e-5 * (c.high - c.low) ? 0 : +v.toPrecision(5);
      r.undo.style.visibility = v === c.value ? "hidden" : "visible";
    });
    this.reshape();
  }
  defaults() { this.all.forEach((c, k) => { if (this.live.values[k] !== c.value) this.set(k, c.value); }); }
  // Shapes follow lengths and radii.
  reshape() {
    const s = this.s;
    if (!s.nodes) return;
    const changed = s.shapes.filter((m) => m.at !== this.live.values[m.k]);
    for (const part of new Set(changed.map((m) => m.mesh))) {
      const points = part.base.slice();
      for (const m of s.shapes) if (m.mesh === part) { m.at = this.live.values[m.k]; const by = m.at - this.all[m.k].value; for (let j = 0; j < points.length; j++) points[j] += by * m.move[j]; }
      part.owner.box = [0, 1, 2].map((a) => { let low = Infinity, high = -Infinity; for (let j = a; j < points.length; j += 3) { low = Math.min(low, points[j]); high = Math.max(high, points[j]); } return [low, high]; });
      Object.assign(part.mesh, s.renderer.upload({ points, faces: part.faces, normals: normals(points, part.faces) }));
    }
    s.dirty = true;
  }
  write() {
    const parts = location.hash.slice(1).split("&").filter((w) => w && !w.includes("="));
    this.all.forEach((c, k) => { if (this.live.values[k] !== c.value) parts.push(`${encodeURIComponent(c.name)}=${this.live.values[k]}`); });
    try { history.replaceState(null, "", "#" + parts.join("&")); } catch { /* a frame without an address of its own */ }
  }
  read() {
    const changes = [];
    for (const part of location.hash.slice(1).split("&")) {
      const [name, value] = part.split("="), k = value === undefined ? -1 : this.all.findIndex((c) => encodeURIComponent(c.name) === name);
      if (k >= 0 && Number.isFinite(parseFloat(value))) changes.push([k, parseFloat(value)]);
    }
    const wrong = this.live.start(changes);
    if (wrong) { $("refused").textContent = wrong; $("refused").hidden = false; }
    this.show(); refreshLive(this.s);
  }
}
function setControls(s, block) {
  const home = make("section", { id: "controls", ariaLabel: "parameters and inputs" }), refused = make("p", { id: "refused", hidden: true, role: "alert" });
  const stopped = make("p", { id: "stopped", hidden: true, role: "status" }), pace = make("span", { id: "pace", hidden: true });
  $("side").prepend(home); (s.data.scene ? $("stage") : $("side")).append(stopped); $("time").before(pace);
  s.shapes = (s.data.live.shapes || []).filter(() => s.nodes).map((told) => {
    const part = s.nodes[told.node].parts[told.part], [x, y, z] = numbers(block, told.points), move = new Float32Array(3 * x.length), k = s.data.live.controls.findIndex((c) => c.name === told.control);
    x.forEach((_, j) => { move[3 * j] = x[j]; move[3 * j + 1] = y[j]; move[3 * j + 2] = z[j]; });
    const own = mesh(block, s.data.scene.nodes[told.node].parts[told.part]);
    part.shape ??= { mesh: part.mesh, base: own.points, faces: own.faces, owner: part };
    return { k, move, mesh: part.shape, at: s.data.live.controls[k].value };
  });
  const again = make("button", { id: "reset", title: "Reset: to the start, with the values of now (Backspace)", ariaLabel: "reset", textContent: "Reset", onclick: () => resetLive(s) });
  KEYS.splice(KEYS.findIndex(([key]) => key === "L"), 1, ["Backspace", "reset: to the start, with the values of now"]);
  const film = make("button", { id: "film", title: "Video of the scene, from now to the next press", ariaLabel: "record a video", ariaPressed: "false", textContent: "Video" });
  $("loop").hidden = true; $("first").after(again); again.after(film); setFilm(s, film);
  home.append(refused);
  s.controls = new Controls(home, s);
  home.append(refused);
  addEventListener("keydown", (e) => { if (e.key === "Backspace" && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) { e.preventDefault(); resetLive(s); } });
}
