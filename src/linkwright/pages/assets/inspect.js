// The inspection in the studio: a tree of bodies to choose from, and what is told of the chosen one.
function make(tag, props = {}, ...inner) { const e = Object.assign(document.createElement(tag), props); e.append(...inner); return e; }
const $ = (id) => document.getElementById(id);
async function post(path, body) {
  const answer = await fetch("inspect/" + path, { method: "POST", body: JSON.stringify(body || {}) }), told = await answer.json();
  if (told.error) throw new Error(told.error);
  return told;
}
function say(words) { $("told").textContent = words; $("told").hidden = !words; }
const state = window.inspection = { view: "body", language: "C", selected: "", shown: "", asked: 0 };

function fillTree(all) {
  const words = $("find").value.toLowerCase(), frames = $("frames").checked, rows = [];
  const whole = { name: state.whole, depth: 0, mass: all.reduce((sum, t) => sum + t.mass, 0), joint: "", frames: [] };
  for (const t of [whole, ...all]) {
    const inside = t.frames.filter((f) => words && f.toLowerCase().includes(words));
    if (words && !(t.name + " " + t.joint).toLowerCase().includes(words) && !inside.length) continue;
    const row = make("div", { title: [t.name, t.joint].filter(Boolean).join(": "), tabIndex: 0, onclick: () => choose(t.name) },
      make("span", { textContent: (t.warned ? "⚠ " : "") + t.name }), make("small", { textContent: t.joint }), make("small", { className: "mass", textContent: `${+t.mass.toPrecision(4)} kg` }));
    row.style.paddingLeft = `${10 + 14 * (words ? 0 : Math.min(t.depth, 12))}px`;
    row.setAttribute("role", "treeitem"); row.setAttribute("aria-level", t.depth + 1); row.dataset.body = t.name;
    row.onkeydown = (e) => {
      const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[e.key];
      if (next) { e.preventDefault(); next.focus(); }
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(t.name); }
    };
    rows.push(row);
    for (const f of frames ? t.frames : inside) rows.push(Object.assign(make("div", { className: "frame", textContent: "⌖ " + f, title: `${f}: fixed to ${t.name}`, onclick: () => choose(t.name) }), { style: `padding-left:${26 + 14 * (words ? 0 : Math.min(t.depth, 12))}px` }));
  }
  $("tree").replaceChildren(...(rows.length ? rows : [make("p", { className: "said" }, "No matches.")]));
  mark();
}
function mark() {
  for (const row of $("tree").children) if (row.dataset.body !== undefined) row.setAttribute("aria-selected", row.dataset.body === state.selected);
  document.querySelectorAll("[data-view]").forEach((b) => b.setAttribute("aria-selected", b.dataset.view === state.view));
}
async function choose(name) {
  state.selected = name; mark(); show();
  try { await post("select", { name }); } catch (error) { say(error.message); }
}
async function show() {
  const wish = JSON.stringify([state.selected, state.view, state.language]), turn = ++state.asked;
  $("name").textContent = state.view === "warnings" ? "" : state.selected;
  if (state.view === "warnings") return put(warnings());
  const wait = setTimeout(() => { if (turn === state.asked) put([make("p", { className: "said" }, state.view === "body" ? "…" : "Deriving the equations …")]); }, 150);
  try {
    const told = await post("show", { name: state.selected, view: state.view, language: state.language });
    if (turn !== state.asked) return;
    put(state.view === "body" ? body(told) : state.view === "equations" ? equations(told) : code(told));
    state.shown = wish; say("");
  } catch (error) { if (turn === state.asked) { put([]); say(error instanceof TypeError ? "Connection lost" : error.message); } }
  finally { clearTimeout(wait); }
}
function put(parts) { $("shown").replaceChildren(...parts); $("shown").scrollTop = 0; document.documentElement.dataset.shown = JSON.stringify([state.selected, state.view, state.language]); }
function body(told) { return [make("table", {}, ...told.rows.map(([a, b]) => make("tr", {}, make("td", { textContent: a }), make("td", { textContent: b }))))]; }
function counts(told) {
  const [head, ...rows] = told.operations, cells = (tag, row) => make("tr", {}, ...row.map((x) => make(tag, { textContent: x })));
  return [make("table", { className: "counts", title: told.counted }, cells("th", head), ...rows.map((r) => cells("td", r))),
    make("details", { className: "hint" }, make("summary", { textContent: "What is counted" }), told.counted)];
}
function equations(told) {
  if (!told.groups.length) return [make("p", { className: "said" }, "It adds no equation of its own: its motion follows from other bodies.")];
  return [...counts(told), ...told.groups.map((g) => {
    const box = make("details", { open: g.title !== "constants" || told.groups.length === 1 }, make("summary", { textContent: `${g.title[0].toUpperCase()}${g.title.slice(1)} (${g.count})` }));
    for (const row of g.rows) { const line = make("div", { className: "equation" }); line.innerHTML = row; box.append(line); }
    if (g.count > g.rows.length) box.append(make("p", { className: "said" }, `… and ${g.count - g.rows.length} more: see the code.`));
    return box;
  })];
}
function code(told) {
  const choice = make("select", { ariaLabel: "language" }, ...Object.keys(state.languages).map((l) => new Option(l, l, l === state.language, l === state.language)));
  choice.onchange = () => { state.language = choice.value; show(); };
  const save = make("button", { textContent: "Save", title: "All of it, as a file", onclick: () => { make("a", { href: `inspect/code?of=${encodeURIComponent(state.selected)}&as=${state.language}`, download: "" }).click(); } });
  const bar = make("div", { className: "bar" }, choice, save, make("small", { className: "said", textContent: told.lines > told.cut ? `${told.cut} of ${told.lines} lines` : `${told.lines} lines` }));
  if (!told.lines) return [bar, make("p", { className: "said" }, "It has no rates of its own.")];
  const pre = make("pre", { className: "linkwright-code" });
  pre.innerHTML = told.html;
  return [bar, pre];
}
function warnings() {
  if (!state.warnings.length) return [make("p", { className: "said" }, "No warnings: masses and inertias are those of rigid bodies.")];
  return [make("ul", {}, ...state.warnings.slice(0, 200).map((w) => make("li", { textContent: w })))];
}
async function inspect() {
  const told = await post("tree");
  Object.assign(state, told);
  state.selected = told.selected;
  document.querySelector("[data-view=warnings]").textContent = told.warnings.length ? `Warnings (${told.warnings.length})` : "Warnings";
  document.querySelectorAll("[data-view]").forEach((b) => { b.onclick = () => { state.view = b.dataset.view; mark(); show(); }; });
  $("find").oninput = $("frames").onchange = () => fillTree(told.tree);
  fillTree(told.tree); show(); passKeys();
  document.documentElement.dataset.ready = "yes";
  for (;;) {
    try {
      const now = await post("now");
      if (now.number !== state.number) {
        state.number = now.number;
        if (now.selected !== state.selected) { state.selected = now.selected; mark(); show(); document.querySelector("#tree [aria-selected=true]")?.scrollIntoView({ block: "nearest" }); }
      }
    } catch { /* it is asked again */ }
    await new Promise((done) => setTimeout(done, document.hidden || !document.body.clientWidth ? 2000 : 400));
  }
}
inspect().catch((error) => say(error.message));
