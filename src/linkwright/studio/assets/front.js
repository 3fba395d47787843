// The bar over the studio's scene: what moves it, its time and its pace, and what is wrong.
(() => {
  const home = location.pathname.endsWith("/") ? location.pathname : location.pathname + "/";
  const quiet = 6000, often = 250, seldom = 1500; // ms: without an answer; between questions; while nobody looks
  // Viser would write the address of its server into ours.
  const replace = history.replaceState.bind(history);
  history.replaceState = (state, title, url) => { if (title !== "Viser") replace(state, title, url); };
  const still = matchMedia("(prefers-reduced-motion: reduce)"), parts = {};
  let again = "", answered = Date.now();
  const say = (part, words) => { if (parts[part].textContent !== words) parts[part].textContent = words; };
  function build() {
    const bar = document.createElement("div");
    bar.id = "lw-bar";
    bar.innerHTML = '<div id="lw-now" role="status"><span id="lw-mode"></span><span id="lw-time"></span><span id="lw-pace"></span></div>' +
      '<div id="lw-note" role="alert"></div><div id="lw-lost" role="alert"></div>';
    document.body.append(bar);
    for (const part of ["now", "mode", "time", "pace", "note", "lost"]) parts[part] = document.getElementById("lw-" + part);
  }
  function lost(words) {
    if (parts.lost.dataset.words === words) return;
    parts.lost.dataset.words = words;
    parts.lost.textContent = words;
    if (words && again) { const code = document.createElement("code"); code.textContent = again; parts.lost.append("\nStart it again with ", code, " and open the address that it prints."); }
  }
  function show(told) {
    again = told.again;
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
    } catch (error) {
      if (error.name === "AbortError") lost(`The studio has not answered for ${Math.round((Date.now() - answered) / 1000)} s. It may be busy or suspended.`);
      else lost("Connection lost: the studio has ended.");
    }
    clearTimeout(timer);
    setTimeout(ask, document.hidden ? seldom : often);
  }
  addEventListener("DOMContentLoaded", () => { build(); ask(); });
})();
