// From the binary block to arrays: differences of 16-bit levels, and floating-point numbers, each byte of them apart.
async function inflate(text) {
  if (!text) return new Uint8Array(0);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser cannot inflate the page's data; a newer one can (2023 or later)");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
// Levels of [start, rows, columns], one Uint16Array for each column.
function levels(block, at) {
  const [start, rows, columns] = at, size = rows * columns, made = [];
  for (let c = 0, k = start; c < columns; c++) {
    const column = new Uint16Array(rows);
    let value = 0;
    for (let r = 0; r < rows; r++, k++) column[r] = value = (value + block[k] + (block[k + size] << 8)) & 0xffff;
    made.push(column);
  }
  return made;
}
// Columns of numbers; level 65535 is no number.
function columns(block, told) {
  return levels(block, told.at).map((column, c) => {
    const made = new Float32Array(column.length), low = told.low[c], step = told.step[c];
    for (let r = 0; r < column.length; r++) made[r] = column[r] === 65535 ? NaN : low + step * column[r];
    return made;
  });
}
// Columns of floating-point numbers, each byte of them apart.
function numbers(block, told) {
  const [start, rows, count] = told.at, size = rows * count, wide = told.bits / 8, bytes = new Uint8Array(size * wide), made = [];
  for (let b = 0; b < wide; b++) for (let k = 0; k < size; k++) bytes[k * wide + b] = block[start + b * size + k];
  const all = wide === 8 ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
  for (let c = 0; c < count; c++) made.push(all.subarray(c * rows, (c + 1) * rows));
  return made;
}
function mesh(block, part) {
  const axes = levels(block, part.points), count = axes[0].length;
  const points = new Float32Array(3 * count);
  for (let c = 0; c < 3; c++) for (let r = 0; r < count; r++) points[3 * r + c] = part.low[c] + part.step[c] * axes[c][r];
  const faces = Uint32Array.from(levels(block, part.faces)[0]);
  if (part.more) levels(block, part.more)[0].forEach((high, k) => { faces[k] += high * 65536; });
  return { points, faces, normals: normals(points, faces) };
}
function normals(points, faces) {
  const n = new Float32Array(points.length);
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
    const ux = points[b] - points[a], uy = points[b + 1] - points[a + 1], uz = points[b + 2] - points[a + 2];
    const vx = points[c] - points[a], vy = points[c + 1] - points[a + 1], vz = points[c + 2] - points[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    for (const k of [a, b, c]) { n[k] += x; n[k + 1] += y; n[k + 2] += z; }
  }
  for (let k = 0; k < n.length; k += 3) {
    const s = 1 / (Math.hypot(n[k], n[k + 1], n[k + 2]) || 1);
    n[k] *= s; n[k + 1] *= s; n[k + 2] *= s;
  }
  return n;
}
