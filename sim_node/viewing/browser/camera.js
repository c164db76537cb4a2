// Added to viser's page: points the camera at what the server names, for the size of this page, and looks through walls.
// It also hides viser's notice.
// What viser shows of itself is not documented. Without it, pages begin where the server has put the camera.
window.simCamera = (() => {
  "use strict";
  // The margin of the picture, and how much of a wall in front of a robot is seen.
  const MARGIN = 0.06, GLASS = 0.12;
  // A panel beside the scene that is not higher than this is folded, pixels.
  const FOLDED = 80;
  let opening = null, moved = /[?&]initialCameraPosition=/.test(location.search), listened = null, number = null;
  let linked = moved && /[?&]follow=/.test(location.search);
  let fittedTo = "", known;
  const veiled = new Set();

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const add = (a, b, k = 1) => a.map((each, index) => each + k * b[index]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => a.map((each) => each / Math.sqrt(dot(a, a)));

  function rotated([w, x, y, z], v) {
    const t = cross([x, y, z], v).map((each) => 2 * each);
    return add(add(v, t, w), cross([x, y, z], t));
  }

  // viser's state, once the page has a camera and its first messages.
  function viser() {
    const found = window.__viserMutable;
    const ready = found?.cameraControl && found.canvas?.clientWidth && found.camera && !found.firstMessageBatch;
    return ready && found.nodePoseData?.[""] ? found : null;
  }

  // The part of the canvas that nothing lies on: left, upper, right and lower edges, pixels; and its whole size.
  function free(canvas) {
    const all = canvas.getBoundingClientRect(), { clientWidth: width, clientHeight: height } = canvas;
    const edges = { left: 0, top: 0, right: all.width, bottom: all.height, width, height };
    let panel = document.querySelector('[role="tablist"]');
    while (panel && panel !== document.body && !/fixed|absolute/.test(getComputedStyle(panel).position)) panel = panel.parentElement;
    for (const each of [panel, document.querySelector("#foot")]) {
      const box = each?.getBoundingClientRect();
      if (!box || !box.width || each === document.body) continue;
      const beside = box.width < 0.6 * all.width && box.left > 0.5 * all.width;
      if (beside && box.height > FOLDED) edges.right = Math.min(edges.right, box.left - all.left);
      else if (!beside && box.top > 0.25 * all.height) edges.bottom = Math.min(edges.bottom, box.top - all.top);
    }
    return edges;
  }

  // The nearest camera along a direction that has all points in the picture, as `fitted` of view.py has it.
  function fitted(points, forward, horizontal, vertical) {
    const right = unit(cross(forward, [0, 0, 1])), up = cross(right, forward);
    const low = [0, 1, 2].map((k) => Math.min(...points.map((p) => p[k])));
    const high = [0, 1, 2].map((k) => Math.max(...points.map((p) => p[k])));
    let at = add(low, high).map((each) => each / 2), distance = 0.1;
    const offsets = points.map((p) => add(p, at, -1)), shifts = [];
    for (const [axis, slope] of [[right, horizontal], [up, vertical]]) {
      const beyond = (sign) => Math.max(...offsets.map((o) => sign * dot(o, axis) - slope * dot(o, forward)));
      const above = beyond(1), below = beyond(-1);
      distance = Math.max(distance, (above + below) / (2 * slope));
      shifts.push([axis, 0.5 * (above - below)]);
    }
    for (const [axis, shift] of shifts) at = add(at, axis, shift);
    return { eye: add(at, forward, -distance), at };
  }

  // The camera along a direction that has a box in the middle, which fills a part of the picture.
  function filling(box, forward, horizontal, vertical) {
    const right = unit(cross(forward, [0, 0, 1])), up = cross(right, forward), at = box.slice(0, 3);
    let distance = 0;
    for (let corner = 0; corner < 8; corner++) {
      const offset = [0, 1, 2].map((k) => (corner & (1 << k) ? 1 : -1) * box[3 + k]);
      for (const [axis, slope] of [[right, horizontal], [up, vertical]])
        distance = Math.max(distance, Math.abs(dot(offset, axis)) / slope - dot(offset, forward));
    }
    return { eye: add(at, forward, -distance), at };
  }

  function place() {
    const page = viser();
    if (!page || !opening) return false;
    const edges = free(page.canvas), { width, height } = edges;
    const within = (opening.box ? opening.share : 1 - 2 * MARGIN) * Math.tan(opening.fov / 2) / height;
    const slopes = [within * (edges.right - edges.left), within * (edges.bottom - edges.top)];
    const { eye, at } = opening.eye ? opening : opening.box
      ? filling(opening.box, opening.forward, ...slopes) : fitted(opening.points, opening.forward, ...slopes);
    fittedTo = JSON.stringify(edges);
    const [from, to] = [eye, at].map((each) => rotated(page.nodePoseData[""].wxyz, each));
    page.cameraControl.setLookAt(...from, ...to, false);
    // The middle of what is free, rather than that of the page, is where the camera looks and what it turns about.
    page.camera.setViewOffset(
      width, height, 0.5 * (width - edges.left - edges.right), 0.5 * (height - edges.top - edges.bottom), width, height
    );
    page.requestRender?.();
    return true;
  }

  function widen(fov) {
    const page = window.__viserMutable;
    page?.messageQueue.push({ type: "SetCameraFovMessage", fov, initial: false });
    page?.requestRender?.();
  }

  // viser puts the camera where the server had it whenever its components come to it, also after the first messages.
  function placeAgain(page) {
    let reset = page.resetCameraPose;
    Object.defineProperty(page, "resetCameraPose", {
      get: () => reset && ((...given) => {
        reset(...given);
        if (!moved) number = null;
        watch();
      }),
      set: (to) => (reset = to),
    });
  }

  function watch() {
    if (window.__viserMutable !== known) placeAgain((known = window.__viserMutable));
    // That there is no GPU is seen, and the foot of the page says how many pictures there are.
    for (const notice of document.querySelectorAll(".mantine-Notification-root"))
      if (notice.textContent.startsWith("Software WebGL")) notice.style.display = "none";
    const page = viser();
    if (page && listened !== page.cameraControl) {
      listened = page.cameraControl;
      listened.addEventListener("controlstart", () => (moved = true));
    }
    // The page has another size, or its panel has.
    if (page && !moved && fittedTo && JSON.stringify(free(page.canvas)) !== fittedTo) place();
    if (page && opening && number !== opening.number && !moved) number = place() ? opening.number : number;
    if (page) lookThrough(page);
  }

  // Walls

  function veil(page, name, on) {
    let found = false;
    page.nodeRefFromName[name]?.traverse((node) => {
      for (const material of [node.material ?? []].flat()) {
        found = true;
        material.userData.own ??= [material.transparent, material.opacity, material.depthWrite];
        const [transparent, opacity, depthWrite] = on ? [true, GLASS, false] : material.userData.own;
        if (material.transparent === transparent && material.opacity === opacity) continue;
        if (material.transparent !== transparent) material.needsUpdate = true;
        Object.assign(material, { transparent, opacity, depthWrite });
        page.requestRender?.();
      }
    });
    if (found && on) veiled.add(name);
    else veiled.delete(name);
  }

  // Whether the way from a point to another one meets a box (half its size) about the origin: the slab method.
  function meets(from, to, half) {
    let near = 0, far = 1;
    for (let k = 0; k < 3; k++) {
      const along = to[k] - from[k];
      if (Math.abs(along) < 1e-12) {
        if (Math.abs(from[k]) > half[k]) return false;
        continue;
      }
      const ends = [(-half[k] - from[k]) / along, (half[k] - from[k]) / along];
      near = Math.max(near, Math.min(...ends));
      far = Math.min(far, Math.max(...ends));
    }
    return near <= far;
  }

  function lookThrough(page) {
    const root = page.nodeRefFromName["/world"], box = opening?.box;
    if (!root) return;
    const q = page.nodePoseData[""].wxyz, inverse = root.matrixWorld.clone().invert();
    const inWorld = (v) => page.camera.position.clone().set(...v).applyMatrix4(inverse).toArray();
    const eye = inWorld(page.camera.position.toArray());
    const aims = !box ? [] : [-0.7, 0, 0.7].flatMap((x) => [-0.7, 0.7].map((z) => inWorld(
      rotated(q, [box[0] + x * box[3], box[1] + x * box[4], box[2] + z * box[5]])
    )));
    const walls = opening?.walls ?? [];
    for (const name of veiled) if (!walls.some((wall) => wall[0] === name)) veil(page, name, false);
    for (const [name, position, [w, x, y, z], half] of walls) {
      const local = (v) => rotated([w, -x, -y, -z], add(v, position, -1));
      const from = local(eye);
      const hides = aims.some((aim) => meets(from, local(aim), half)) && !meets(from, from, half);
      // Again and again: a wall that is sent anew is not seen through.
      if (hides || veiled.has(name)) veil(page, name, hides);
    }
  }

  setInterval(watch, 150);
  return {
    take(message) {
      if (opening && message.number !== opening.number) {
        // A link that names a camera and a frame to follow means both.
        moved = moved && linked;
        linked = false;
      }
      if (opening && message.fov !== opening.fov) widen(message.fov);
      if (!moved && JSON.stringify({ ...opening, walls: 0 }) !== JSON.stringify({ ...message, walls: 0 })) number = null;
      opening = message;
      watch();
    },
    home() {
      moved = false;
      return place();
    },
    // What a scene's corner shows: the camera, the axes of the fixed frame, what no panel lies on, and what is where.
    corner() {
      const page = viser(), world = page?.nodeRefFromName["/world"];
      if (!world) return null;
      const { canvas, camera, nodePoseData: placed } = page;
      return { canvas, camera, matrix: world.matrixWorld, free: free(canvas), placed };
    },
    // Looks at the same point from a direction, in the axes of viser's scene, and from as far away; from the other side
    // if it looks from there already.
    from(direction) {
      const page = viser(), control = page.cameraControl;
      const [at, now] = [control.getTarget, control.getPosition].map((of) => of.call(control, page.camera.position.clone()).toArray());
      const along = dot(direction, add(now, at, -1));
      moved = true;
      control.setLookAt(...add(at, direction, along > 0.999 * control.distance ? -control.distance : control.distance), ...at, false);
      page.requestRender?.();
    },
  };
})();
