// The camera: where it stands, how it gets elsewhere, and what pointers do to it.
const ANGLE = 0.66, WIDE = 1.2, FOOT = 56; // rad from the lower to the upper edge; least width of the height; pixels for buttons below
const foot = () => (document.body.classList.contains("bare") ? 0 : FOOT); // a picture or a video has no buttons
function setViews(s) {
  const { front, side } = s.data.scene.view;
  const angles = { corner: [s.first.azimuth === -72 ? -55 : s.first.azimuth, 20], front: [front, 4], side: [side, 4], top: [Math.min(front, side), 89] };
  document.querySelectorAll("[data-view]").forEach((b) => { b.onclick = () => { const [azimuth, height] = angles[b.dataset.view]; look(s, { azimuth, height }); }; });
  $("fit").onclick = () => fit(s);
  const store = "linkwright views of " + s.data.title;
  let kept = [];
  try { kept = JSON.parse(localStorage.getItem(store)) || []; } catch { kept = []; }
  const show = () => $("saved").replaceChildren(...kept.map((v, k) => { const b = document.createElement("button"); b.textContent = "View " + (k + 1); b.onclick = () => look(s, v); return b; }));
  const keep = () => { $("forget").hidden = !kept.length; try { localStorage.setItem(store, JSON.stringify(kept)); } catch { /* kept for this visit only */ } show(); };
  $("forget").hidden = !kept.length;
  $("forget").onclick = () => { kept.pop(); keep(); };
  $("save").onclick = () => { kept.push({ ...s.view, center: [...s.view.center] }); keep(); };
  show();
}
// Go to another view, along a smooth path where motion is welcome.
function look(s, to) {
  const goal = { ...s.view, ...to, center: [...(to.center || s.view.center)] }, round = goal.azimuth - s.view.azimuth;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) { s.view = goal; s.way = null; }
  else s.way = { from: { ...s.view }, goal, turn: round - 360 * Math.round(round / 360), share: 0 };
  s.dirty = true;
}
// Move on along the path to a view; whether there was one.
function glide(s, passed) {
  if (!s.way) return false;
  const { from, goal, turn } = s.way;
  s.way.share = Math.min(1, s.way.share + passed / 0.45);
  const k = s.way.share, f = k * k * (3 - 2 * k), mix = (a, b) => a + f * (b - a);
  s.view = k === 1 ? goal : { azimuth: from.azimuth + f * turn, height: mix(from.height, goal.height), distance: from.distance * (goal.distance / from.distance) ** f, center: from.center.map((v, i) => mix(v, goal.center[i])) };
  if (k === 1) s.way = null;
  return true;
}
function directions(v) {
  const a = (v.azimuth * Math.PI) / 180, h = (v.height * Math.PI) / 180;
  return { away: [Math.cos(a) * Math.cos(h), Math.sin(a) * Math.cos(h), Math.sin(h)], up: v.height > 88.5 ? [-Math.cos(a), -Math.sin(a), 0] : [0, 0, 1] };
}
// The tangent of half the angle from the lower to the upper edge: more where the picture is narrow or low.
function halfAngle(canvas) {
  const tall = canvas.clientHeight || 1, room = Math.max(0.5 * tall, tall - foot()), aspect = (canvas.clientWidth || 1) / room;
  return (Math.tan(ANGLE / 2) * Math.max(1, WIDE / aspect) * tall) / room;
}
function camera(s) {
  const v = s.view, { away, up } = directions(v), canvas = s.renderer.canvas, aspect = canvas.width / canvas.height;
  const center = s.home ? plus(v.center, minus(placeOf(s, s.follow), s.home)) : v.center, eye = plus(center, away, v.distance);
  const near = Math.max(0.02 * v.distance, 1e-6), far = 60 * Math.max(v.distance, s.size), angle = 2 * Math.atan(halfAngle(canvas));
  const lens = perspective(angle, aspect, near, far);
  lens[9] = -Math.min(0.4, foot() / (canvas.clientHeight || 1)); // the middle of the picture is above the buttons
  return { eye, focus: center, camera: times(lens, looking(eye, center, up)), span: 1.5 * Math.max(s.size, 0.3 * v.distance), away, up, angle };
}
// Bring all of the model into the picture, seen from where the camera stands.
function fit(s) {
  const { away, up } = directions(s.view), right = unit(cross(up, away)), top = cross(away, right), canvas = s.renderer.canvas, points = [];
  for (const d of draws(s)) if (d.box && !s.nodes[d.node].around) for (let k = 0; k < 8; k++) {
    const p = d.box.map((ends, i) => ends[(k >> i) & 1]);
    points.push([0, 1, 2].map((r) => d.model[r] * p[0] + d.model[4 + r] * p[1] + d.model[8 + r] * p[2] + d.model[12 + r]));
  }
  if (!points.length) return;
  const tall = canvas.clientHeight || 1, room = Math.max(0.5 * tall, tall - foot()), limit = 0.85 * halfAngle(canvas) * (room / tall), wide = (limit * canvas.clientWidth) / room;
  let center = [0, 1, 2].map((i) => (Math.min(...points.map((p) => p[i])) + Math.max(...points.map((p) => p[i]))) / 2), distance = 0;
  for (let round = 0; round < 12; round++) {
    const seen = points.map((p) => { const q = minus(p, center); return [dot(q, right), dot(q, top), dot(q, away)]; });
    distance = Math.max(...seen.map(([x, y, z]) => z + Math.max(Math.abs(x) / wide, Math.abs(y) / limit)));
    const off = [0, 1].map((i) => { const shown = seen.map((q) => q[i] / Math.max(distance - q[2], 1e-9)); return (Math.min(...shown) + Math.max(...shown)) / 2; });
    center = plus(plus(center, right, 0.7 * distance * off[0]), top, 0.7 * distance * off[1]);
  }
  if (s.home) center = minus(center, minus(placeOf(s, s.follow), s.home));
  look(s, { center, distance: Math.max(distance, 0.05 * s.size) });
}
function orbit(s, x, y) { s.way = null; s.view.azimuth += x; s.view.height = Math.min(89.5, Math.max(-89.5, s.view.height + y)); s.dirty = true; }
function setPointer(s) {
  const canvas = $("view"), touches = new Map();
  let moved = 0, spread = 0;
  const at = (e) => [e.clientX, e.clientY];
  const apart = () => { const [a, b] = [...touches.values()]; return touches.size === 2 ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0; };
  canvas.onpointerdown = (e) => { s.way = null; canvas.setPointerCapture(e.pointerId); canvas.focus({ preventScroll: true }); touches.set(e.pointerId, at(e)); moved = 0; spread = apart();
    if (s.live && touches.size === 1) grab(s, e); else if (s.hold) release(s); };
  canvas.onpointermove = (e) => {
    const before = touches.get(e.pointerId);
    if (!before) return;
    const [dx, dy] = minus([...at(e), 0], [...before, 0]);
    touches.set(e.pointerId, at(e)); moved += Math.abs(dx) + Math.abs(dy);
    if (s.hold) drag(s, e);
    else if (touches.size === 2) {
      const now = apart();
      if (spread && now) nearer(s, spread / now);
      spread = now; pan(s, dx / 2, dy / 2);
    } else if (e.buttons & 2 || e.buttons & 4 || e.shiftKey) pan(s, dx, dy);
    else orbit(s, -0.35 * dx, 0.35 * dy);
    s.dirty = true;
  };
  canvas.onpointerup = canvas.onpointercancel = (e) => {
    touches.delete(e.pointerId);
    const click = moved < (e.pointerType === "touch" ? 12 : 4) && !touches.size && e.button === 0 && e.type === "pointerup", held = s.hold;
    if (held) release(s);
    if (click) {
      const box = canvas.getBoundingClientRect(), k = canvas.width / box.width;
      select(s, s.renderer.pick(camera(s), draws(s), (e.clientX - box.left) * k, (e.clientY - box.top) * k));
      if (held) push(s, held);
    }
  };
  canvas.oncontextmenu = (e) => e.preventDefault();
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); nearer(s, Math.exp(0.0012 * e.deltaY)); }, { passive: false });
  canvas.ondblclick = () => { if (s.selected >= 0) follow(s, s.selected === s.follow ? -1 : s.selected); };
}
function nearer(s, factor) { s.way = null; s.view.distance = Math.min(200 * s.size, Math.max(0.05 * s.size, s.view.distance * factor)); s.dirty = true; }
function pan(s, dx, dy) {
  const c = camera(s), right = unit(cross(c.up, c.away)), up = cross(c.away, right), k = (2 * s.view.distance * Math.tan(c.angle / 2)) / $("view").clientHeight;
  s.view.center = plus(plus(s.view.center, right, -dx * k), up, dy * k);
}
