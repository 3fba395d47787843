// Names of points, laid over the picture where the points are.
function labels(s, view) {
  const told = s.data.scene.labels;
  if (!told.length) return;
  if (!s.names) {
    s.names = told.map((l) => { const b = document.createElement("span"); b.textContent = l.name; $("labels").append(b); return b; });
    s.named = true;
  }
  $("labels").hidden = !s.named;
  const wide = $("view").clientWidth, tall = $("view").clientHeight, c = view.camera;
  told.forEach((l, k) => {
    const m = posed(poseOf(s, s.moving[0], l.node)), [x, y, z] = l.at;
    const p = [0, 1, 2].map((i) => m[i] * x + m[4 + i] * y + m[8 + i] * z + m[12 + i]);
    const [u, v, , w] = [0, 1, 2, 3].map((i) => c[i] * p[0] + c[4 + i] * p[1] + c[8 + i] * p[2] + c[12 + i]);
    const seen = w > 0 && Math.abs(u) < w && Math.abs(v) < w;
    s.names[k].style.visibility = seen ? "visible" : "hidden";
    if (seen) s.names[k].style.transform = `translate(${(0.5 + u / w / 2) * wide}px, ${(0.5 - v / w / 2) * tall}px)`;
  });
}
