// Forces as arrows from where they act, contact points as balls, bright where they touch.
const FORCE = [0.84, 0.18, 0.13, 1], REACTION = [0.42, 0.2, 0.72, 1], CONTACT = [0.96, 0.72, 0.14, 1], REACH = 60; // colors; pixels that the arrow of the legend has, about
function scaleOf(s, a) { const [usual, longest, least] = a.share; return { metres: (s.longer * usual * a.radius) / a.reference, longest: longest * a.radius, least: least * a.reference }; }
// The legend shows an arrow as long as it is in the picture, at the distance that is looked at.
function legend(s, view) {
  const a = s.moving?.find((t) => t.arrows)?.arrows;
  $("legend").hidden = !a || !s.forces;
  if (!a || !s.forces) return;
  const pixel = (2 * s.view.distance * Math.tan(view.angle / 2)) / ($("view").clientHeight || 1), raw = REACH * pixel, power = 10 ** Math.floor(Math.log10(raw));
  const length = [1, 2, 5, 10].reduce((best, k) => (Math.abs(Math.log((k * power) / raw)) < Math.abs(Math.log(best / raw)) ? k * power : best), power), wide = Math.round(length / pixel);
  const words = `${+length.toPrecision(2)} ${a.units[0]} = ${+(length / scaleOf(s, a).metres).toPrecision(3)} ${a.units[1]}`;
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
      if (!poses.has(each.node)) poses.set(each.node, posed(poseOf(s, take, each.node)));
      const m = poses.get(each.node), [u, v, w] = each.at;
      let at = [0, 1, 2].map((r) => m[r] * u + m[4 + r] * v + m[8 + r] * w + m[12 + r]);
      at[1] += beside; at[2] -= each.down;
      const force = [0, 1, 2].map((r) => value(a.forces[3 * i + r])), size = Math.hypot(...force), long = Math.min(scale.longest, size * scale.metres);
      if (each.contact) {
        const touches = a.touching[i][f < 0.5 ? k : j] > 0.5, r = (touches ? 0.017 : 0.011) * a.radius;
        made.push({ mesh: s.renderer.ball, model: new Float32Array([r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, ...at, 1]), tint: touches ? CONTACT : [0.6, 0.65, 0.7, 1], mark: true });
      }
      if (size < scale.least || !(long > 0)) return;
      s.arrows++;
      const z = unit(force), y = unit(cross(z, Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0])), x = cross(y, z);
      const head = Math.min(0.075 * a.radius, 0.5 * long), wide = Math.min(1, long / (0.1 * a.radius)), thick = 0.028 * wide * a.radius;
      if (each.beside) at = plus(at, unit(cross(z, view.away)), each.beside * a.radius); // next to a strut, not over it
      const low = Math.min(at[2], at[2] + long * z[2]) - thick * Math.hypot(z[0], z[1]); // none of it is below the ground
      if (floor !== null && low < floor && at[2] > floor - 0.1 * a.radius) at = plus(at, [0, 0, floor - low]);
      for (const [mesh, r, from, l] of [[s.renderer.rod, 0.4 * thick, 0, long - head], [s.renderer.cone, thick, long - head, head]]) {
        const p = plus(at, z, from);
        made.push({ mesh, model: new Float32Array([r * x[0], r * x[1], r * x[2], 0, r * y[0], r * y[1], r * y[2], 0, l * z[0], l * z[1], l * z[2], 0, ...p, 1]), tint: each.reaction ? REACTION : FORCE, mark: true });
      }
    });
  });
}
