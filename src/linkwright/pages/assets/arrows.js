// Forces as arrows from where they act, contact points as balls, bright where they touch.
const FORCE = [0.84, 0.18, 0.13, 1], REACTION = [0.42, 0.2, 0.72, 1], CONTACT = [0.96, 0.72, 0.14, 1], REACH = 60, NEARER = 0.15; // colors; pixels that the arrow of the legend has, about
function scaleOf(s, a) { const [usual, longest, least, shortest] = a.share, meters = (s.longer * usual * a.radius) / a.reference; return { meters, longest: longest * a.radius, least: Math.max(least * a.reference, (shortest * a.radius) / meters) }; }
// Length and radius of the head, radius of the shaft: a short arrow is the same arrow, smaller (arrow_shapes.py).
function sizesOf(a, long) { const part = Math.min(a.radius, long / a.shape[0]); return a.shape.slice(1).map((share) => share * part); }
// The legend shows an arrow as long as it is in the picture, at the distance that is looked at.
function legend(s, view) {
  const a = s.moving?.find((t) => t.arrows)?.arrows;
  $("legend").hidden = !a || !s.forces;
  if (!a || !s.forces) return;
  const pixel = (2 * s.view.distance * Math.tan(view.angle / 2)) / ($("view").clientHeight || 1), raw = REACH * pixel, power = 10 ** Math.floor(Math.log10(raw));
  const length = [1, 2, 5, 10].reduce((best, k) => (Math.abs(Math.log((k * power) / raw)) < Math.abs(Math.log(best / raw)) ? k * power : best), power), wide = Math.round(length / pixel);
  const words = `${+length.toPrecision(2)} ${a.units[0]} = ${+(length / scaleOf(s, a).meters).toPrecision(3)} ${a.units[1]}`;
  if ($("legend").dataset.wide !== String(wide)) {
    $("legend").dataset.wide = wide;
    $("legend").firstElementChild.setAttribute("viewBox", `0 0 ${wide} 10`); $("legend").firstElementChild.style.width = wide + "px";
    $("legend").firstElementChild.firstElementChild.setAttribute("d", `M0 4h${wide - 10}V0l10 5-10 5V6H0z`);
  }
  const some = (kind) => a.each.some((each) => each.reaction === kind);
  $("legend").classList.toggle("joints", !some(false)); // nothing but reactions: their color, and their name
  $("reactions").hidden = !some(true);
  put($("scale"), words);
}
function forces(s, made, view) {
  s.arrows = 0;
  legend(s, view);
  if (!s.forces) return;
  const floor = s.ground ? s.data.scene.floor : null;
  s.moving.forEach((take, order) => {
    const a = take.arrows, beside = s.ghosts === "beside" ? order * 1.5 * s.size : 0;
    if (!a || (order && !beside)) return;
    const scale = scaleOf(s, a), [k, j, f] = between(s, take, a.forces[0].length), value = (c) => c[k] + f * (c[j] - c[k]), poses = new Map();
    a.each.forEach((each, i) => {
      const place = (node, [u, v, w]) => {
        if (!poses.has(node)) poses.set(node, posed(poseOf(s, take, node)));
        const m = poses.get(node);
        return [0, 1, 2].map((r) => m[r] * u + m[4 + r] * v + m[8 + r] * w + m[12 + r]);
      };
      let at = place(each.node, each.at);
      const out = each.far && plus(at, place(...each.far), -1); // along a strut, away from its other end
      at[1] += beside; at[2] -= each.down;
      const force = [0, 1, 2].map((r) => value(a.forces[3 * i + r])), size = Math.hypot(...force), long = Math.min(scale.longest, size * scale.meters);
      if (each.contact) {
        const touches = a.touching[i][f < 0.5 ? k : j] > 0.5, r = (touches ? 0.017 : 0.011) * a.radius;
        made.push({ mesh: s.renderer.ball, model: new Float32Array([r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, ...at, 1]), tint: touches ? CONTACT : [0.6, 0.65, 0.7, 1], mark: true });
      }
      if (size < scale.least || !(long > 0)) return;
      s.arrows++;
      const z = unit(force), y = unit(cross(z, Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0])), x = cross(y, z);
      const [head, thick, thin] = sizesOf(a, long);
      const pulls = out && out[0] * z[0] + out[1] * z[1] + out[2] * z[2] < 0, under = floor !== null && at[2] > floor && at[2] + long * z[2] < floor - thick;
      if (pulls || under) at = plus(at, z, -long); // it ends there, not to lie on its strut or go into the ground
      const cut = floor !== null && at[2] < floor && (pulls || under) && z[2] > 0 ? Math.min(long - head, (floor - at[2]) / z[2]) : 0; // the ground hides the rest
      const low = Math.min(at[2] + cut * z[2], at[2] + long * z[2]) - thick * Math.hypot(z[0], z[1]); // none of it is below the ground
      if (floor !== null && !cut && low < floor && at[2] > floor - 0.1 * a.radius) at = plus(at, [0, 0, floor - low]);
      const nearer = 1 - Math.min(0.5, (NEARER * a.radius) / Math.hypot(...plus(at, view.eye, -1))); // seen the same, but before what it starts in
      for (const [mesh, r, from, l] of [[s.renderer.rod, thin, cut, long - head - cut], [s.renderer.cone, thick, long - head, head]]) {
        const p = plus(at, z, from).map((v, c) => view.eye[c] + nearer * (v - view.eye[c]));
        made.push({ mesh, model: new Float32Array([...x.map((v) => nearer * r * v), 0, ...y.map((v) => nearer * r * v), 0, ...z.map((v) => nearer * l * v), 0, ...p, 1]), tint: each.reaction ? REACTION : FORCE, mark: true });
      }
    });
  });
}
