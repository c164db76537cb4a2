// Added to viser's pages, before its own script: draws less where there is no graphics card, or pictures come slowly.
// Only this page does, whatever others of the same run show. `quality=full` or `quality=low` in the address decides.
// What viser shows of itself is not documented. Without it, pages are drawn as viser draws them.
window.simQuality = (() => {
  "use strict";
  const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;
  // The part of the pixels in each direction; light in place of that from all around.
  const PIXELS = 0.5, FILL = { name: "/fill_light", owner: "" }, AMBIENT = 2.0;
  // Pictures per second that are too few, and for how many seconds in turn; what has not moved for so long stands, ms.
  const FEW = 8, SECONDS = 8, STANDS = 1000;
  // Of larger clouds, so many points, which the server spreads: THINNED of drawn_source.py.
  const POINTS = 100_000;
  let told = () => {}, drawn = 0, slow = 0, lit = true, Lines = null, part = PIXELS, from = "", moved = 0, thins = false;

  // The page of panels, in which viewports are; itself in the page of somebody else.
  let outer = window;
  try {
    if (window.parent.location.origin === location.origin) outer = window.parent;
  } catch {}

  function renderer() {
    const gl = document.createElement("canvas").getContext("webgl2");
    const names = gl?.getExtension("WEBGL_debug_renderer_info");
    const found = gl ? gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER) : "";
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
    return found;
  }

  const asked = new URLSearchParams(outer.location.search).get("quality");
  const dense = new URLSearchParams(location.search).has("fixedDpr");
  let why = asked === "full" ? "" : asked === "low" ? "low quality" : SOFTWARE.test(renderer()) ? "no graphics card" : "";
  let low = Boolean(why);

  // Smooth edges cost as much as four times the pixels, and are chosen once. That viser fades the scene in takes many
  // pictures, too.
  if (low) {
    const style = document.createElement("style");
    style.textContent = "#root canvas { opacity: 1 !important; }";
    document.head.append(style);
    const own = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, settings) {
      return own.call(this, kind, kind.startsWith("webgl") ? { ...settings, antialias: false } : settings);
    };
  }

  // What the page would be sent, were it the only one.
  function say(page, ...messages) {
    page.messageQueue.push(...messages);
    page.requestRender();
  }

  // Lines without the round ends that each of their parts has, which are most of their triangles.
  function trim(geometry) {
    geometry.setDrawRange(low ? 6 : 0, low ? 6 : Infinity);
  }

  function trimLines(scene) {
    scene.traverse(({ geometry, material }) => {
      if (!geometry?.isLineSegmentsGeometry) return;
      // What is thinner than a pixel has gaps.
      const width = (material.userData.width ??= material.linewidth);
      if (!material.worldUnits) material.linewidth = low ? Math.max(width, 1 / part) : width;
      if (geometry.drawRange.start === (low ? 6 : 0)) return;
      trim(geometry);
      if (Lines) return;
      Lines = geometry.constructor.prototype;
      while (!Object.hasOwn(Lines, "setPositions")) Lines = Object.getPrototypeOf(Lines);
      const own = Lines.setPositions;
      Lines.setPositions = function (...given) {
        const made = own.apply(this, given);
        if (low) trim(this);
        return made;
      };
    });
  }

  function thinClouds(scene) {
    const most = low && part < 1 ? POINTS : Infinity;
    let large = false;
    scene.traverse(({ isPoints, geometry }) => {
      if (!isPoints) return;
      geometry.setDrawRange(0, most);
      large ||= geometry.attributes.position.count > POINTS;
    });
    if (!low || !large || thins) return;
    thins = true;
    told();
  }

  // Light from all around is blurred for the first picture that has it, which takes seconds without a graphics card.
  function hideEnvironment(scene) {
    if (!scene || Object.getOwnPropertyDescriptor(scene, "environment").get) return;
    let environment = scene.environment;
    Object.defineProperty(scene, "environment", { get: () => (low ? null : environment), set: (to) => (environment = to) });
  }

  // Done again and again: what comes from the server, and after a new connection, is for pages in full.
  function keep() {
    const page = window.__viserMutable, settings = window.__viserTestpoints?.devSettings;
    if (!page?.scene || page.firstMessageBatch || !settings) return;
    if (!low && lit) return;
    // A picture that stands has all its pixels: what is paused, from a camera that does not move. So has one of a film.
    const pose = page.camera.matrixWorld.elements.join();
    if (pose !== from || (outer.simFoot?.playing() ?? true)) [from, moved] = [pose, performance.now()];
    part = performance.now() - moved > STANDS || outer.simFoot?.filming() ? 1 : PIXELS;
    if (!dense) settings.set({ fixedDpr: low ? part * devicePixelRatio : null });
    if (low) {
      if (page.scene.children.some((each) => each.isDirectionalLight && each.castShadow))
        say(page, { type: "EnableLightsMessage", enabled: true, cast_shadow: false });
      const fill = page.nodeRefFromName[FILL.name];
      if (!fill)
        say(page, { ...FILL, type: "AmbientLightMessage", virtual: false, props: { color: [255, 255, 255], intensity: AMBIENT } });
      // A recording that is sought, or begins again, hides all that it does not show anew.
      else Object.defineProperty(fill, "visible", { get: () => true, set() {}, configurable: true });
      lit = false;
    } else {
      say(page, { type: "EnableLightsMessage", enabled: true, cast_shadow: shadows() }, { ...FILL, type: "RemoveSceneNodeMessage" });
      lit = true;
    }
    trimLines(page.scene);
    thinClouds(page.scene);
  }

  const shadows = () => window.simNow?.shadows !== "0";

  function set(to, because = "") {
    low = to;
    why = because || why;
    slow = 0;
    keep();
    told();
  }

  (function count() {
    drawn++;
    hideEnvironment(window.__viserMutable?.scene);
    requestAnimationFrame(count);
  })();
  setInterval(() => {
    slow = !document.hidden && drawn < FEW && !low && asked !== "full" && !why ? slow + 1 : 0;
    drawn = 0;
    if (slow >= SECONDS) set(true, `fewer than ${FEW} pictures/s`);
  }, 1000);
  setInterval(keep, 250);

  return {
    // Whether less is drawn, and why it is or was; then whether anything is to be said of it.
    low: () => low,
    why: () => why,
    // What is left out while something moves.
    leavesOut: () => `half resolution${thins ? ` and ${POINTS.toLocaleString("en")} points of a cloud` : ""}`,
    toggle() {
      set(!low);
      window.simAddress?.((query) => query.set("quality", low ? "low" : "full"));
    },
    onChange(tell) {
      told = tell;
      if (low) tell();
    },
  };
})();
