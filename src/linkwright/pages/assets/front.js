// The bar over the studio's scene: what moves it, its time and its pace, and what is wrong.
(() => {
  const home = location.pathname.endsWith("/") ? location.pathname : location.pathname + "/";
  const quiet = 5000, often = 250, seldom = 1500; // ms: without an answer; between questions; while nobody looks
  // Viser would write the address of its server into ours.
  const replace = history.replaceState.bind(history);
  history.replaceState = (state, title, url) => { if (title !== "Viser") replace(state, title, url); };
  const still = matchMedia("(prefers-reduced-motion: reduce)"), parts = {};
  let again = "", answered = Date.now(), missed = 0;
  const say = (part, words) => { if (parts[part].textContent !== words) parts[part].textContent = words; };
  function build() {
    const bar = document.createElement("div");
    bar.id = "lw-bar";
    bar.innerHTML = '<div id="lw-row"><div id="lw-now" role="status"><span id="lw-mode"></span><span id="lw-time"></span><span id="lw-pace"></span></div><button id="lw-help" type="button" aria-label="Help" title="Shortcuts (H)">?</button></div>' +
      '<div id="lw-note" role="alert"></div><div id="lw-lost" role="alert"></div>';
    document.body.append(bar);
    document.getElementById("lw-help").onclick = () => press("h");
    for (const part of ["now", "mode", "time", "pace", "note", "lost"]) parts[part] = document.getElementById("lw-" + part);
  }
  // A key of the studio's, as if it were pressed.
  function press(key) { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code: "Key" + key.toUpperCase(), bubbles: true })); }
  function lost(words) {
    if (parts.lost.dataset.words === words) return;
    parts.lost.dataset.words = words;
    parts.lost.textContent = words;
    if (words && again) { const code = document.createElement("code"); code.textContent = again; parts.lost.append("\nStart it again with ", code, " and open the address that it prints."); }
  }
  // A cell's studio has a button that stops it, whatever tab is open; the space bar presses it.
  let halting = null;
  function stopButton() {
    halting = document.createElement("button");
    Object.assign(halting, { id: "lw-stop", type: "button", innerHTML: "<b>STOP</b><small>space</small>", title: "Halt all arms at once (space bar)" });
    halting.setAttribute("aria-label", "Stop all arms");
    halting.onpointerdown = halting.onclick = halt;
    document.body.append(halting);
    for (const type of ["keydown", "keyup"]) addEventListener(type, (e) => {
      if (e.key !== " " || (e.target.tagName === "INPUT" && /^(text|search)$/.test(e.target.type))) return;
      e.preventDefault();
      e.stopImmediatePropagation();
      if (type === "keydown" && !e.repeat) halt();
    }, true);
  }
  // A laboratory's studio also has one that freezes the robot; the Escape key presses it.
  let freezing = null;
  function freezeButton() {
    freezing = document.createElement("button");
    Object.assign(freezing, { id: "lw-freeze", type: "button", innerHTML: "<b>FREEZE</b><small>Esc</small>", title: "End the task and hold the posture (Escape)", onclick: freeze });
    halting.title = "Take the power off (space bar)";
    halting.setAttribute("aria-label", "Stop");
    document.body.append(freezing);
    addEventListener("keydown", (e) => { if (e.key === "Escape" && !e.repeat) freeze(); }, true);
  }
  async function freeze() {
    freezing.dataset.asked = "yes";
    setTimeout(() => { delete freezing.dataset.asked; }, 900);
    try { if (!(await fetch(`${home}freeze`, { cache: "no-store" })).ok) throw new Error(); }
    catch { lost("FREEZE did not reach the studio. Use the emergency button of the robot."); }
  }
  let halted = 0;
  async function halt() {
    if (Date.now() - halted < 300) return; // a press is a pointer that goes down, and a click
    halted = Date.now();
    halting.dataset.asked = "yes";
    setTimeout(() => { delete halting.dataset.asked; }, 900);
    try { if (!(await fetch(`${home}halt`, { cache: "no-store" })).ok) throw new Error(); }
    catch { lost("STOP did not reach the studio. Use the emergency button."); }
  }
  function show(told) {
    again = told.again;
    if (told.stop) {
      if (!halting) stopButton();
      if (told.freeze && !freezing) freezeButton();
      for (const frame of document.querySelectorAll("iframe")) frame.contentWindow.postMessage({ stops: true, freezes: !!told.freeze }, "*");
    }
    lost("");
    parts.now.hidden = !told.mode;
    parts.now.dataset.mode = told.kind;
    say("mode", told.mode);
    say("time", told.time);
    say("pace", told.pace);
    parts.note.dataset.busy = told.busy ? "yes" : "no";
    say("note", told.note);
  }
  async function ask() {
    const end = new AbortController(), timer = setTimeout(() => end.abort(), quiet);
    try {
      const answer = await fetch(`${home}state?motion=${still.matches ? "still" : "moving"}`, { signal: end.signal, cache: "no-store" });
      if (!answer.ok) throw new Error("another studio");
      show(await answer.json());
      answered = Date.now();
      missed = 0;
    } catch (error) {
      if (error.name === "AbortError") { if (++missed > 1) lost(`The studio has not answered for ${Math.round((Date.now() - answered) / 1000)} s. It may be busy or suspended.`); }
      else lost("Connection lost: the studio has ended.");
    }
    clearTimeout(timer);
    setTimeout(ask, document.hidden ? seldom : often);
  }
  // Light and dark: each browser has its own, as its user prefers or has chosen last.
  const root = document.documentElement, night = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => root.dataset.mantineColorScheme || "light";
  let chosen = null;
  try { chosen = localStorage.getItem("linkwright-theme"); } catch { /* a frame without storage */ }
  function theme() {
    for (const frame of document.querySelectorAll("iframe")) frame.contentWindow.postMessage({ theme: scheme() }, "*");
    if (settled) try { localStorage.setItem("linkwright-theme", scheme()); } catch { /* as above */ }
  }
  let settled = false;
  function settle(tries = 10) { // press the key that changes it, again where keys did not work yet
    if (!document.querySelector("[role=tab]")) return setTimeout(settle, 200, tries);
    if (!tries || scheme() === (chosen || (night.matches ? "dark" : "light"))) { settled = true; return; }
    press("i");
    setTimeout(settle, 1500, tries - 1);
  }
  addEventListener("message", (e) => { if (e.data?.theme === "?") e.source.postMessage({ theme: scheme() }, "*"); });
  // On a phone the sheet with the tabs begins closed: the model is what people come for.
  function fold() {
    const handle = document.querySelector(".mantine-Paper-root[style*='position: fixed'] [style*='cursor: pointer']");
    if (handle) handle.click(); else if (innerWidth < 577) setTimeout(fold, 200);
  }
  addEventListener("DOMContentLoaded", () => {
    build();
    ask();
    settle();
    if (innerWidth < 577) fold();
    new MutationObserver(theme).observe(root, { attributeFilter: ["data-mantine-color-scheme"] });
  });
})();
