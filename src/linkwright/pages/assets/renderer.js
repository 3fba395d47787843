// A small renderer on WebGL 2: solids with a soft shadow, a grid that fades away, thick lines.
// How fine pictures are: pixels along an edge, texels of the shadow, how far around each it is smoothed.
const QUALITY = [{ share: 1, shade: 2048, taps: 2 }, { share: 0.75, shade: 1024, taps: 1 }, { share: 0.6, shade: 1024, taps: 1 }, { share: 0.45, shade: 512, taps: 0 }];
const SOLID_VERTEX = `#version 300 es
layout(location=0) in vec3 place; layout(location=1) in vec3 normal;
uniform mat4 model, camera, sun; out vec3 at, facing; out vec4 lit;
void main(){ vec4 w = model*vec4(place,1.); at = w.xyz; facing = mat3(model)*normal; lit = sun*w; gl_Position = camera*w; }`;
const SHADE = `
uniform highp sampler2DShadow shade; uniform float texel; uniform int taps;
float sunlight(vec4 lit, float slope){
  vec3 p = lit.xyz/lit.w*.5+.5; if(any(greaterThan(abs(p-.5),vec3(.499)))) return 1.;
  float sum = 0., bias = .0012+.003*slope;
  for(int i=-taps;i<=taps;i++) for(int j=-taps;j<=taps;j++) sum += texture(shade, vec3(p.xy+vec2(i,j)*texel*1.3, p.z-bias));
  float side = float(2*taps+1); return sum/(side*side); }`;
const SOLID_FRAGMENT = `#version 300 es
precision highp float; in vec3 at, facing; in vec4 lit; out vec4 color;
uniform vec4 tint; uniform vec3 eye, toSun; uniform float night, glow; ${SHADE}
void main(){
  vec3 n = normalize(facing), v = normalize(eye-at); if(dot(n,v)<0.) n = -n;
  float key = max(dot(n,toSun),0.), s = sunlight(lit,1.-key);
  vec3 sky = mix(vec3(.86,.90,.96), vec3(.34,.40,.50), night), earth = mix(vec3(.46,.44,.42), vec3(.13,.14,.16), night);
  vec3 base = pow(tint.rgb, vec3(2.2));
  vec3 light = mix(earth,sky,n.z*.5+.5)*mix(.62,.75,night) + vec3(1.,.96,.9)*key*s*mix(1.05,1.15,night);
  light += vec3(.5,.6,.75)*.22*max(dot(n,normalize(vec3(-toSun.x,-toSun.y,.35))),0.);
  vec3 h = normalize(v+toSun); float shine = pow(max(dot(n,h),0.),48.)*.28*s;
  float edge = 1.-max(dot(n,v),0.), rim = pow(edge,4.)*.22*night;
  vec3 c = base*light*(1.-.42*(1.-night)*edge*edge*edge) + shine + rim*sky; c = c*(1.+.05*c)/(1.+.55*c)*1.2; c = mix(c, vec3(1.,.45,.25), glow*.35);
  color = vec4(pow(c,vec3(1./2.2))*tint.a, tint.a); }`;
const GROUND_VERTEX = `#version 300 es
layout(location=0) in vec3 place; uniform mat4 camera, sun; uniform vec3 middle; uniform float reach; out vec3 at; out vec4 lit;
void main(){ at = vec3(middle.xy+place.xy*reach, middle.z); lit = sun*vec4(at,1.); gl_Position = camera*vec4(at,1.); }`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float; in vec3 at; in vec4 lit; out vec4 color;
uniform vec3 middle; uniform vec4 paint; uniform float reach, cell, night; ${SHADE}
float lines(float size, float wide){ vec2 p = at.xy/size, w = fwidth(p), d = abs(fract(p-.5)-.5)/max(w,1e-6);
  float f = clamp(1.-max(w.x,w.y)*2.5,0.,1.); return f*(1.-min(min(d.x,d.y)/wide,1.)); }
void main(){
  float far = length(at.xy-middle.xy)/reach, fade = smoothstep(1.,.12,far);
  float s = 1.-sunlight(lit,0.), grid = max(lines(cell,1.1)*.30, lines(cell*5.,1.3)*.62);
  vec3 ink = mix(vec3(.36,.42,.50), vec3(.62,.70,.80), night), floorTint = mix(vec3(.80,.815,.83), vec3(.135,.165,.195), night);
  floorTint = mix(floorTint, paint.rgb*mix(1.,.36,night), paint.a);
  vec3 dark = mix(vec3(.23,.27,.33), vec3(.02,.03,.04), night);
  vec3 c = mix(floorTint, ink, grid*mix(.55,.38,night)); c = mix(c, dark, s*mix(.50,.62,night));
  float a = fade*mix(.86,.9,night); color = vec4(c*a, a); }`;
const LINE_VERTEX = `#version 300 es
layout(location=0) in vec2 corner; layout(location=1) in vec3 from; layout(location=2) in vec3 to; layout(location=3) in vec4 ink;
uniform mat4 camera; uniform vec2 pixels; uniform float wide; out vec4 tint;
void main(){ vec4 a = camera*vec4(from,1.), b = camera*vec4(to,1.); tint = ink;
  if(a.w<1e-4) a = mix(a,b,(1e-4-a.w)/(b.w-a.w)); if(b.w<1e-4) b = mix(b,a,(1e-4-b.w)/(a.w-b.w));
  vec2 d = (b.xy/b.w-a.xy/a.w)*pixels; d = length(d)>0. ? normalize(d) : vec2(1,0); vec4 p = corner.x<.5 ? a : b;
  vec2 off = vec2(-d.y,d.x)*(corner.y-.5)*wide + d*(corner.x-.5)*wide*.5; p.xy += off/pixels*p.w*2.; p.z -= 2e-4*p.w; gl_Position = p; }`;
const LINE_FRAGMENT = `#version 300 es
precision highp float; in vec4 tint; out vec4 color; void main(){ color = vec4(tint.rgb*tint.a, tint.a); }`;
const DEPTH_FRAGMENT = `#version 300 es
precision highp float; void main(){}`;
const PICK_FRAGMENT = `#version 300 es
precision highp float; uniform float which; out vec4 color; void main(){ color = vec4(mod(which,256.),floor(which/256.),0.,255.)/255.; }`;

// Matrices are arrays of 16 numbers, column by column.
function times(a, b) {
  const m = new Float32Array(16);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
    m[4 * c + r] = sum;
  }
  return m;
}
function looking(eye, at, up) {
  const z = unit(minus(eye, at)), x = unit(cross(up, z)), y = cross(z, x);
  return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
}
function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2), d = near - far;
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / d, -1, 0, 0, (2 * far * near) / d, 0]);
}
function parallel(half, near, far) {
  const d = near - far;
  return new Float32Array([1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 / d, 0, 0, 0, (far + near) / d, 1]);
}
function posed(p) { // x y z w x y z
  const [x, y, z, a, b, c, d] = p;
  return new Float32Array([1 - 2 * (c * c + d * d), 2 * (b * c + a * d), 2 * (b * d - a * c), 0,
    2 * (b * c - a * d), 1 - 2 * (b * b + d * d), 2 * (c * d + a * b), 0,
    2 * (b * d + a * c), 2 * (c * d - a * b), 1 - 2 * (b * b + c * c), 0, x, y, z, 1]);
}
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b, k = 1) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const s = 1 / (Math.hypot(...a) || 1); return [a[0] * s, a[1] * s, a[2] * s]; };
const IDENTITY = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

class Renderer {
  constructor(canvas) {
    const gl = this.gl = canvas.getContext("webgl2", { antialias: true, alpha: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this browser has no WebGL 2, so the scene cannot be drawn");
    this.canvas = canvas;
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT);
    this.ground = this.program(GROUND_VERTEX, GROUND_FRAGMENT);
    this.line = this.program(LINE_VERTEX, LINE_FRAGMENT);
    this.depth = this.program(SOLID_VERTEX, DEPTH_FRAGMENT);
    this.picker = this.program(SOLID_VERTEX, PICK_FRAGMENT);
    this.target = gl.createFramebuffer();
    this.setShade(QUALITY[0].shade);
    this.plane = this.upload({ points: new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]),
      normals: new Float32Array([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]), faces: new Uint32Array([0, 1, 2, 0, 2, 3]) });
    this.ball = this.upload(ballMesh());
    this.rod = this.upload(roundMesh(1)); this.cone = this.upload(roundMesh(0));
    this.strips = gl.createVertexArray();
    gl.bindVertexArray(this.strips);
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 0, 1, 1, 0, 1, 1]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.segments = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.segments);
    [[1, 3, 0], [2, 3, 12], [3, 4, 24]].forEach(([k, n, at]) => {
      gl.enableVertexAttribArray(k); gl.vertexAttribPointer(k, n, gl.FLOAT, false, 40, at); gl.vertexAttribDivisor(k, 1);
    });
    gl.bindVertexArray(null);
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }
  setShade(size) {
    const gl = this.gl;
    if (this.shade) gl.deleteTexture(this.shade);
    this.size = size; this.shade = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shade);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, size, size);
    for (const [k, v] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) gl.texParameteri(gl.TEXTURE_2D, k, v);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shade, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const places = {}, count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS);
    for (let k = 0; k < count; k++) { const { name } = gl.getActiveUniform(made, k); places[name] = gl.getUniformLocation(made, name); }
    return { made, at: places };
  }
  upload(m) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [m.points, m.normals].forEach((data, k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer()); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k); gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer()); gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, m.faces, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, count: m.faces.length };
  }
  // draws: [{mesh, model, tint, glow, node, shadow}]; lines: Float32Array of from, to, rgba.
  frame(view, draws, lines, look) {
    const gl = this.gl, width = this.canvas.width, height = this.canvas.height;
    const sunward = unit([0.45, -0.55, 0.95]), r = view.span;
    const sun = times(parallel(r, 0.05 * r, 6 * r), looking(plus(view.focus, sunward, 3 * r), view.focus, [0, 1, 0]));
    if (this.size !== look.quality.shade) this.setShade(look.quality.shade);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, this.size, this.size);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.depth.made);
    gl.uniformMatrix4fv(this.depth.at.camera, false, sun);
    for (const d of draws) if (d.tint[3] > 0.6 && !d.mark) this.draw(this.depth, d);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE0); gl.bindTexture(gl.TEXTURE_2D, this.shade);
    const common = (p) => {
      gl.useProgram(p.made);
      gl.uniformMatrix4fv(p.at.camera, false, view.camera);
      if (p.at.sun) gl.uniformMatrix4fv(p.at.sun, false, sun);
      if (p.at.shade) { gl.uniform1i(p.at.shade, 0); gl.uniform1f(p.at.texel, 1 / this.size); gl.uniform1i(p.at.taps, look.quality.taps); }
      if (p.at.night) gl.uniform1f(p.at.night, look.night);
    };
    const solids = (part) => {
      common(this.solid);
      gl.uniform3fv(this.solid.at.eye, view.eye); gl.uniform3fv(this.solid.at.toSun, sunward);
      for (const d of part) { gl.uniform4fv(this.solid.at.tint, d.tint); gl.uniform1f(this.solid.at.glow, d.glow || 0); this.draw(this.solid, d); }
    };
    solids(draws.filter((d) => d.tint[3] >= 0.99));
    gl.enable(gl.BLEND);
    if (look.floor !== null) {
      common(this.ground);
      gl.uniform3fv(this.ground.at.middle, [view.focus[0], view.focus[1], look.floor]);
      gl.uniform4fv(this.ground.at.paint, look.paint ? [...look.paint, 1] : [0, 0, 0, 0]);
      gl.uniform1f(this.ground.at.reach, look.reach); gl.uniform1f(this.ground.at.cell, look.cell);
      gl.bindVertexArray(this.plane.array);
      gl.depthMask(false);
      gl.drawElements(gl.TRIANGLES, this.plane.count, gl.UNSIGNED_INT, 0);
      gl.depthMask(true);
    }
    if (lines.length) {
      common(this.line);
      gl.uniform2fv(this.line.at.pixels, [width, height]); gl.uniform1f(this.line.at.wide, 2.6 * look.density);
      gl.bindVertexArray(this.strips);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.segments); gl.bufferData(gl.ARRAY_BUFFER, lines, gl.DYNAMIC_DRAW);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, lines.length / 10);
    }
    const clear = draws.filter((d) => d.tint[3] < 0.99);
    if (clear.length) { gl.enable(gl.CULL_FACE); solids(clear); gl.disable(gl.CULL_FACE); }
    gl.disable(gl.BLEND);
  }
  draw(program, d) {
    this.gl.uniformMatrix4fv(program.at.model, false, d.model);
    this.gl.bindVertexArray(d.mesh.array);
    this.gl.drawElements(this.gl.TRIANGLES, d.mesh.count, this.gl.UNSIGNED_INT, 0);
  }
  pick(view, draws, x, y) {
    const gl = this.gl;
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.picker.made);
    gl.uniformMatrix4fv(this.picker.at.camera, false, view.camera);
    for (const d of draws) if (d.node !== undefined) { gl.uniform1f(this.picker.at.which, d.node + 1); this.draw(this.picker, d); }
    const found = new Uint8Array(4);
    gl.readPixels(x, this.canvas.height - y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, found);
    return found[0] + 256 * found[1] - 1;
  }
}
// Along z from 0 to 1, of radius 1 at the foot: a cylinder where the top is 1, a cone where it is 0.
function roundMesh(top) {
  const points = [], normals = [], faces = [], n = 16, slope = 1 - top;
  for (let j = 0; j <= n; j++) {
    const a = (2 * Math.PI * j) / n, c = Math.cos(a), s = Math.sin(a);
    points.push(c, s, 0, top * c, top * s, 1, c, s, 0); normals.push(c, s, slope, c, s, slope, 0, 0, -1);
    if (j < n) { const k = 3 * j; faces.push(k, k + 3, k + 1, k + 1, k + 3, k + 4); if (j > 0) faces.push(2, k + 5, k + 2); }
  }
  return { points: new Float32Array(points), normals: new Float32Array(normals), faces: new Uint32Array(faces) };
}
function ballMesh() {
  const points = [], faces = [], n = 20, m = 10;
  for (let i = 0; i <= m; i++) for (let j = 0; j <= n; j++) {
    const a = (Math.PI * i) / m, b = (2 * Math.PI * j) / n;
    points.push(Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a));
  }
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) {
    const k = i * (n + 1) + j;
    faces.push(k, k + n + 1, k + 1, k + 1, k + n + 1, k + n + 2);
  }
  return { points: new Float32Array(points), normals: new Float32Array(points), faces: new Uint32Array(faces) };
}
