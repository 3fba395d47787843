// Keys of the studio within its frames: what a page does not use itself, the studio does.
let stops = false; // whether the space bar stops a cell, whatever has the focus
function stopKey(e) {
  if (!stops || e.key !== " " || /^(TEXTAREA)$/.test(e.target.tagName) || (e.target.tagName === "INPUT" && /^(text|search)$/.test(e.target.type))) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  if (e.type === "keydown" && !e.repeat) fetch("key", { method: "POST", body: JSON.stringify({ key: "space" }) }).catch(() => {});
}
for (const type of ["keydown", "keyup"]) addEventListener(type, stopKey, true);
let freezes = false; // whether Escape freezes a laboratory, whatever has the focus but a question
addEventListener("keydown", (e) => {
  if (!freezes || e.key !== "Escape" || e.repeat || e.target.dataset?.escape === "own") return;
  e.preventDefault();
  fetch("key", { method: "POST", body: JSON.stringify({ key: "escape" }) }).catch(() => {});
}, true);
function passKeys(own) {
  addEventListener("keydown", (e) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== "checkbox";
    if (typing || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (own?.(e)) return e.preventDefault();
    const key = e.key === " " ? "space" : e.key.toLowerCase();
    if (key === "space" && e.target.closest?.("button, summary, [tabindex]:not(canvas)")) return; // it presses what has the focus
    if (!/^([a-z0-9]|space|home|end|pageup|pagedown|escape)$/.test(key)) return;
    e.preventDefault();
    fetch("key", { method: "POST", body: JSON.stringify({ key }) }).catch(() => {});
  });
}
// Light or dark: as the page around says, or as the user prefers in a window of its own.
addEventListener("message", (e) => { if (e.source === parent && e.data?.stops) { stops = true; freezes = !!e.data.freezes; } });
addEventListener("message", (e) => { if (e.source === parent && e.data?.theme) document.documentElement.dataset.theme = e.data.theme; });
if (parent === window) document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
else parent.postMessage({ theme: "?" }, "*");
