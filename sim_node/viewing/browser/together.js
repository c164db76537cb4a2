// Added to viser's pages: labels, and the ends of trails, are where the bodies of the same picture are.
// What viser shows of itself is not documented. Without it, labels of a scene that follows a body are ahead of it by what
// it goes between two pictures, and trails end as far behind it: on a slow page, hundreds of pixels. And the server, which
// keeps labels off each other, takes a page for as large as it is in the pixels of its screen, or of a part of them.
(() => {
  "use strict";
  const ROOT = "/world", TRAILS = /^\/world\/trails\/\d+$/, PERIOD = 100;
  let trails = [], told = null;

  // viser reads where the parents of labels are before three.js has computed it for the picture.
  function placeAtOnce(root) {
    const own = Object.getPrototypeOf(root).updateMatrix;
    root.matrixAutoUpdate = false;
    root.updateMatrix = function () {
      own.call(this);
      this.updateWorldMatrix(true, true);
    };
    root.updateMatrix();
  }

  // New lines come a picture later than poses: the last line of each trail ends at its node, which is a pose.
  function end() {
    for (const { line, tips } of trails) {
      // Of a line that is being removed, the geometry is another one.
      const ends = line.geometry.attributes.instanceEnd, each = (ends?.count ?? 0) / tips.length;
      if (!each) continue;
      tips.forEach(({ position: { x, y, z } }, number) => {
        const at = each * (number + 1) - 1, now = [x, y, z].map(Math.fround);
        if ([ends.getX(at), ends.getY(at), ends.getZ(at)].every((part, k) => part === now[k])) return;
        ends.setXYZ(at, ...now);
        ends.needsUpdate = true;
      });
    }
  }

  function tellSize(page) {
    told = page;
    // What is not seen has no size.
    const size = ({ clientWidth: image_width, clientHeight: image_height }) => image_width && { image_width, image_height };
    const sized = (send) => (message) =>
      send(message.type === "ViewerCameraMessage" ? { ...message, ...size(page.canvas) } : message);
    let send = sized(page.sendMessage);
    Object.defineProperty(page, "sendMessage", { get: () => send, set: (to) => (send = sized(to)) });
    page.sendCamera?.();
  }

  function lineIn(node) {
    let found = null;
    node?.traverse((each) => (found ??= each.geometry?.isLineSegmentsGeometry ? each : null));
    return found;
  }

  setInterval(() => {
    const page = window.__viserMutable, nodes = page?.nodeRefFromName, root = nodes?.[ROOT];
    if (page?.canvas && page !== told) tellSize(page);
    if (!root || !page.scene) return;
    if (root.matrixAutoUpdate) placeAtOnce(root);
    page.scene.onBeforeRender = end;
    trails = Object.keys(nodes).filter((name) => TRAILS.test(name)).map((name) => {
      const tips = [];
      while (nodes[`${name}/${tips.length}`]) tips.push(nodes[`${name}/${tips.length}`]);
      return { line: lineIn(nodes[name]), tips };
    }).filter(({ line, tips }) => line?.geometry.attributes.instanceEnd.count % tips.length === 0);
  }, PERIOD);
})();
