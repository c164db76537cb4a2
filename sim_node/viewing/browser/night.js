// Added to pages of bags: dark where the address asks for it (`dark=1`), or nothing, and the system does.
// The scene was recorded by day. Its ground and its sky are given the colours of night as they come.
// What viser shows of itself is not documented. Without it, such pages are light.
window.simNight = (night) => {
  "use strict";
  const { grid, floor, sky, sky_node } = night;
  const asked = new URLSearchParams(location.search).get("dark");
  if (asked === null ? !matchMedia("(prefers-color-scheme: dark)").matches : asked !== "1") return;
  const glb_data = Uint8Array.from(atob(sky), (each) => each.charCodeAt(0));
  const given = (message) => {
    if (message.type === "GridMessage") return grid;
    if (!message.props) return null;
    if (message.name === sky_node) return { glb_data };
    const colours = /\/floor\d+$/.test(message.name) && message.props.batched_colors;
    return colours ? { batched_colors: colours.map((_, place) => floor[place % 3]) } : null;
  };
  const dark = (message) => (given(message) ? { ...message, props: { ...message.props, ...given(message) } } : message);
  let page;
  window.__VISER_EMBED_CONFIG__.darkMode = true;
  Object.defineProperty(window, "__viserMutable", {
    configurable: true,
    get: () => page,
    set(to) {
      page = to;
      const queue = to.messageQueue;
      queue.splice(0, queue.length, ...queue.map(dark));
      queue.push = (...messages) => Array.prototype.push.apply(queue, messages.map(dark));
    },
  });
};
