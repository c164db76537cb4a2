// Draws the paths of each run in 3D: drag to turn them, pinch or turn the wheel to come closer.
"use strict";
for (const canvas of document.querySelectorAll("canvas[data-paths]")) {
  const paths = JSON.parse(canvas.dataset.paths);
  const points = paths.flatMap(path => path.points);
  const low = [0, 1, 2].map(axis => Math.min(...points.map(point => point[axis])));
  const high = [0, 1, 2].map(axis => Math.max(...points.map(point => point[axis])));
  low[2] = Math.min(low[2], 0);
  const middle = [0, 1, 2].map(axis => (low[axis] + high[axis]) / 2);
  const size = Math.max(...[0, 1, 2].map(axis => high[axis] - low[axis]), 0.1);
  let yaw = -0.6, pitch = 0.5, zoom = 1, held = new Map(), apart = 0;
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name);
  function draw() {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const scale = zoom * 0.75 * Math.min(width, 1.6 * height) / size;
    const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
    const at = ([x, y, z]) => {
      [x, y, z] = [x - middle[0], y - middle[1], z - middle[2]];
      const [right, away] = [cy * x - sy * y, sy * x + cy * y];
      return [width / 2 + scale * right, height / 2 - scale * (cp * z + sp * away)];
    };
    const line = list => { pen.beginPath(); list.forEach((point, index) => pen[index ? "lineTo" : "moveTo"](...at(point))); pen.stroke(); };
    // The ground, with lines at round distances.
    const step = 10 ** Math.floor(Math.log10(size)) / (size / 10 ** Math.floor(Math.log10(size)) < 3 ? 2 : 1);
    const from = [0, 1].map(axis => Math.floor(low[axis] / step) * step), to = [0, 1].map(axis => Math.ceil(high[axis] / step) * step + step * (low[axis] === high[axis]));
    pen.strokeStyle = style("--line"); pen.lineWidth = 1;
    for (let x = from[0]; x <= to[0] + step / 9; x += step) line([[x, from[1], 0], [x, to[1], 0]]);
    for (let y = from[1]; y <= to[1] + step / 9; y += step) line([[from[0], y, 0], [to[0], y, 0]]);
    pen.font = "13px system-ui, sans-serif";
    paths.forEach((path, index) => {
      const colour = style("--c" + index % 4);
      pen.strokeStyle = colour; pen.lineWidth = 2; line(path.points);
      pen.lineWidth = 1; pen.globalAlpha = 0.35;
      const last = path.points[path.points.length - 1];
      line([last, [last[0], last[1], 0]]); pen.globalAlpha = 1;
      const [x, y] = at(path.points[0]); pen.fillStyle = colour; pen.beginPath(); pen.arc(x, y, 4, 0, 7); pen.fill();
      pen.fillText(path.name, x + 7, y - 5);
      if (path.violated) {
        const [x, y] = at(path.violated); pen.fillStyle = style("--fail");
        pen.beginPath(); pen.arc(x, y, 6, 0, 7); pen.fill(); pen.fillText("violated", x + 9, y + 4);
      }
    });
    pen.fillStyle = style("--soft"); pen.fillText("grid " + +step.toPrecision(2) + " m", 8, height - 8);
  }
  canvas.addEventListener("pointerdown", event => { held.set(event.pointerId, event); canvas.setPointerCapture(event.pointerId); });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => { held.delete(event.pointerId); apart = 0; });
  canvas.addEventListener("pointermove", event => {
    const before = held.get(event.pointerId);
    if (!before) return;
    held.set(event.pointerId, event);
    if (held.size === 1) {
      yaw -= (event.clientX - before.clientX) * 0.01;
      pitch = Math.min(1.57, Math.max(0, pitch + (event.clientY - before.clientY) * 0.01));
    } else {
      const [one, other] = [...held.values()];
      const now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      if (apart) zoom *= now / apart;
      apart = now;
    }
    draw();
  });
  canvas.addEventListener("wheel", event => { if (event.ctrlKey || document.activeElement === canvas) { event.preventDefault(); zoom *= Math.exp(-event.deltaY * 0.001); draw(); } }, {passive: false});
  new ResizeObserver(draw).observe(canvas);
}
