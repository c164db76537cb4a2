// Added to viser's page: the axes of the fixed frame in a corner, as the camera sees them. A click looks along one.
// They give way upwards to labels.
(() => {
  "use strict";
  // How long axes are, and half the size of the corner, pixels; time between two looks at the camera, ms.
  const REACH = 28, HALF = 42, PERIOD = 50;
  // Nodes of labels; half the width and the height of one, pixels; how far up the axes go, at most, and in which steps.
  const LABELS = /^\/world\/(names|.*\/(labels|text))\/\d+$/, BESIDE = 60, ABOVE = 20, HIGHEST = 240, STEP = 24;
  const STYLE = `
    #triad { position: absolute; left: 8px; width: ${2 * HALF}px; height: ${2 * HALF}px; pointer-events: none; }
    #triad i { position: absolute; left: ${HALF}px; top: ${HALF - 1.5}px; height: 3px; border-radius: 2px; transform-origin: 0 50%; }
    #triad button { position: absolute; left: ${HALF - 12}px; top: ${HALF - 12}px; width: 24px; height: 24px; padding: 0;
      border: 4px solid transparent; border-radius: 50%; background-clip: padding-box; color: #fff; cursor: pointer;
      font: 700 11px/1 system-ui, sans-serif; pointer-events: auto; }
    #triad button:focus-visible { outline: 2px solid #1864ab; }
    #triad .x { background-color: #c92a2a; } #triad .y { background-color: #2b7a38; } #triad .z { background-color: #1864ab; }
  `;
  const made = (kind, settings) => Object.assign(document.createElement(kind), settings);
  const triad = made("div", { id: "triad" });
  const axes = [["x", "east"], ["y", "north"], ["z", "up"]].map(([name, where]) => {
    const line = made("i", { className: name }), tip = made("button", { type: "button", className: name, textContent: name });
    tip.title = `${name} of the fixed frame, ${where}: look from there; again: from the other side`;
    tip.setAttribute("aria-label", `Look along ${name}`);
    triad.append(line, tip);
    return { line, tip, direction: [0, 0, 0] };
  });
  // The page turns the camera where somebody presses the scene.
  for (const kind of ["pointerdown", "pointerup", "click", "dblclick", "wheel"]) triad.addEventListener(kind, (event) => event.stopPropagation());
  for (const each of axes) each.tip.onclick = () => window.simCamera.from(each.direction);

  // The lowest place of the axes, from the top, on which no label lies.
  function lowestPlace({ canvas, camera, matrix, free, placed }) {
    const taken = [];
    for (const [name, { position }] of Object.entries(placed)) {
      if (!LABELS.test(name) || !position) continue;
      const { x, y, z } = camera.position.clone().set(...position).applyMatrix4(matrix).project(camera);
      if (z < 1 && 0.5 * (1 + x) * canvas.clientWidth < 8 + 2 * HALF + BESIDE) taken.push(0.5 * (1 - y) * canvas.clientHeight);
    }
    const lowest = free.bottom - 2 * HALF - 8, lies = (top) => taken.some((y) => y > top && y - ABOVE < top + 2 * HALF);
    let top = lowest;
    while (lies(top) && top > lowest - HIGHEST) top -= STEP;
    return lies(top) ? lowest : top;
  }

  let shown = "";
  function show() {
    const corner = window.simCamera?.corner();
    if (!corner) return;
    const { canvas, camera, matrix } = corner, world = matrix.elements, seen = camera.matrixWorldInverse.elements;
    const top = lowestPlace(corner), now = [top, ...world.slice(0, 11), ...seen.slice(0, 11)].join();
    if (triad.parentElement !== canvas.parentElement) canvas.parentElement.append(triad);
    if (now === shown) return;
    shown = now;
    triad.style.top = `${top}px`;
    axes.forEach((each, column) => {
      each.direction = [0, 1, 2].map((row) => world[4 * column + row]);
      const [right, up, depth] = [0, 1, 2].map((row) => each.direction.reduce((sum, part, k) => sum + part * seen[4 * k + row], 0));
      each.tip.style.translate = `${REACH * right}px ${-REACH * up}px`;
      each.tip.style.zIndex = each.line.style.zIndex = 1 + Math.round(50 * (1 + depth));
      each.line.style.width = `${REACH * Math.hypot(right, up)}px`;
      each.line.style.rotate = `${Math.atan2(-up, right)}rad`;
    });
  }

  document.head.append(made("style", { textContent: STYLE }));
  setInterval(show, PERIOD);
})();
