// Added to viser's page: keeps the layout in the address, and names what assistive technology cannot name.
(() => {
  "use strict";
  const CAMERA = /^initialCamera/;
  let names = [], now = {}, copyAsked = 0, socket = null, tabWanted = new URLSearchParams(location.search).get("tab");

  function address(change) {
    const query = new URLSearchParams(location.search);
    change(query);
    // viser writes the query again without escapes: what we write must be read in the same way.
    const text = query.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%7C", "|");
    history.replaceState(null, "", location.pathname + (text ? "?" + text : ""));
  }

  window.simAddress = address;

  function take(message) {
    if (message.names) {
      ({ names, now } = message);
      window.simLayout = now.layout;
      window.simNow = now;
      address((query) => {
        for (const name of names) query.delete(name);
        // viser writes the query again, without escapes: a layout has what it cannot.
        for (const [name, value] of Object.entries(now)) if (name !== "layout" || !window.simCamera) query.set(name, value);
      });
      // The page was asked for before there was a world.
      if (message.panels && window.simCamera && window === window.parent && location.pathname === "/") location.reload();
    }
    window.simFoot.take(message);
    if (message.names && !window.simCamera) document.documentElement.dataset.mantineColorScheme = now.dark ? "dark" : "light";
    if (message.opening) window.simCamera?.take(message.opening);
    if (message.camera && Date.now() - copyAsked < 5000) {
      copyAsked = 0;
      address((query) => {
        for (const name of [...query.keys()]) if (CAMERA.test(name)) query.delete(name);
        for (const [name, value] of Object.entries(message.camera)) query.set(name, value);
      });
      navigator.clipboard?.writeText(location.href).catch(() => {});
    }
  }

  function connect() {
    socket = new WebSocket(`ws://${location.host}/layout`);
    window.simFoot.connected(socket);
    // Of a page that was open before, the address has the settings that a new server lacks.
    socket.onopen = () => {
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      const set = Object.fromEntries(new URLSearchParams(location.search));
      socket.send(JSON.stringify({ set, prefers: dark ? { dark: "1" } : {} }));
    };
    socket.onmessage = (event) => take(JSON.parse(event.data));
    socket.onclose = () => setTimeout(connect, 2000);
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("button")?.textContent.trim() === "Copy link") copyAsked = Date.now();
  }, true);

  document.addEventListener("dblclick", (event) => {
    if (event.target === window.__viserMutable?.canvas) window.simFoot.act("focus");
  });

  // A wheel scrolls the row of tabs, which has no bar; and the one in front is seen.
  document.addEventListener("wheel", (event) => {
    const row = event.target.closest?.('[role="tablist"]');
    if (!row || row.scrollWidth <= row.clientWidth || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    row.scrollLeft += event.deltaY;
    event.preventDefault();
  }, { passive: false });
  let shown = null;
  function show(tab) {
    if (tab === shown) return;
    shown = tab;
    tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Tabs are of each page alone.
  function tabs() {
    return [...document.querySelectorAll('[role="tab"]')];
  }

  function followTabs() {
    if (tabWanted) {
      const wanted = tabs().find((tab) => tab.textContent.trim() === tabWanted);
      if (!wanted) return;
      tabWanted = null;
      if (wanted.getAttribute("aria-selected") !== "true")
        for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"])
          wanted.dispatchEvent(new (kind.startsWith("pointer") ? PointerEvent : MouseEvent)(kind, { bubbles: true, button: 0 }));
      return;
    }
    const all = tabs(), front = all.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    if (front < 0) return;
    show(all[front]);
    const text = front > 0 ? all[front].textContent.trim() : null;
    if (new URLSearchParams(location.search).get("tab") !== text)
      address((query) => (text ? query.set("tab", text) : query.delete("tab")));
  }

  // viser's elements have their names beside them, where assistive technology does not find them.
  function named(element) {
    return element.getAttribute("aria-label") || element.labels?.length || element.getAttribute("aria-labelledby");
  }

  function nameElements() {
    document.getElementById("root")?.setAttribute("role", "main");
    for (const element of document.querySelectorAll('input, [role="slider"]')) {
      if (named(element)) continue;
      for (let above = element.parentElement, k = 0; above && k < 9; above = above.parentElement, k++) {
        const label = above.querySelector("label");
        if (!label) continue;
        element.setAttribute("aria-label", label.textContent.trim());
        break;
      }
    }
    // The bar of a folded panel is no list of tabs, which would have nothing but these: all in it unfold the panel.
    for (const bar of document.querySelectorAll('[data-dock-bar][role="tablist"]')) {
      for (const name of ["role", "aria-orientation"]) bar.removeAttribute(name);
      for (const label of bar.querySelectorAll('[role="tab"]')) {
        label.setAttribute("role", "button");
        label.setAttribute("aria-expanded", "false");
        label.removeAttribute("aria-selected");
      }
    }
    // What scrolls is scrolled by keys, too: of a folded panel, nothing else has the focus.
    for (const scrolls of document.querySelectorAll("[data-scrollarea-viewport]")) scrolls.tabIndex = 0;
    for (const image of document.querySelectorAll("img:not([alt])")) image.alt = "image of the camera";
    for (const button of document.querySelectorAll("button")) {
      if (named(button) || button.textContent.trim() || button.title) continue;
      const closes = button.className.includes("CloseButton");
      button.setAttribute("aria-label", closes ? "Close" : "Connection and scene tree");
    }
  }

  // On a phone, and in a view beside others, the panel would hide what it is about. On a page that becomes narrow or wide,
  // another one comes in its place.
  let folded = null;
  function foldPanel() {
    const sheet = document.querySelector('.mantine-Paper-root[style*="position: fixed"] [style*="cursor: pointer"]');
    const handle = sheet ?? document.querySelector('[aria-label="Minimize panel"]'), form = sheet ? "sheet" : "floating";
    if (form === folded || !handle || !tabs().length) return;
    folded = form;
    if (!sheet && innerWidth >= 700 && window === window.parent) return;
    handle.click();
    // Whoever has not pressed it does not look for the focus there, to which a busy page comes late.
    const unfocus = (left) => setTimeout(() => {
      if (document.activeElement?.matches('[aria-label="Expand panel"]')) document.activeElement.blur();
      else if (left) unfocus(left - 1);
    }, 100);
    unfocus(20);
  }

  let due = false;
  new MutationObserver(() => {
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      foldPanel();
      followTabs();
      nameElements();
    }, 200);
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-selected"] });
  connect();
})();
