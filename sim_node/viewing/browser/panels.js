// The page of panels: a tree of panels that can be tiled, split, put into tabs and floated, and what is in them.
"use strict";
const scheme = () => (document.documentElement.dataset.mantineColorScheme === "dark" ? "dark" : "light");
const query = () => new URLSearchParams(location.search);
const main = document.querySelector("main"), adding = document.getElementById("adding");
// Where a split begins to be a column of panels.
const isNarrow = () => innerWidth <= 560;

function element(kind, className, text) {
  const made = document.createElement(kind);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function pressed(text, title, act, className) {
  const button = element("button", className, text);
  button.type = "button";
  button.title = title;
  button.setAttribute("aria-label", title);
  button.onclick = act;
  return button;
}

// The tree, as KDL: the server has the words of panels, the page puts them into splits, tabs and windows.

let layout = { panels: [], names: [], cameras: [] }, root = null, floats = [];

// deeper: what stands before each line of what is inside; nothing in addresses, whose length is limited.
function kdl(panel, deeper, indent = "") {
  const share = panel.share ? ` share=${Number(panel.share.toFixed(4))}` : "", front = panel.active ? " active=#true" : "";
  const inside = [panel.kind === "window" ? `rect ${panel.rect.map((each) => Number(each.toFixed(2))).join(" ")}` : panel.inner];
  const lines = [
    ...inside.filter(Boolean).map((each) => `${indent}${deeper}${each}\n`),
    ...(panel.panels ?? []).map((each) => kdl(each, deeper, indent + deeper)),
  ];
  return `${indent}${panel.head}${share}${front}${lines.length ? ` {\n${lines.join("")}${indent}}` : ""}\n`;
}

const quoted = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
const written = (deeper = "") => [root, ...floats].filter(Boolean).map((each) => kdl(each, deeper)).join("");
const holder = (kind, panels) => ({ kind, head: kind, inner: "", name: "", panels });

function link(panel, parent = null) {
  panel.parent = parent;
  for (const each of panel.panels ?? []) link(each, panel);
}

function keep() {
  const text = written();
  if (!text && !layout.given) location.search = "";
  else window.simFoot.send({ set: { layout: text } });
  // Where all are closed, those of the schematic come again.
  if (!text && layout.given) setTimeout(() => location.reload(), 300);
}

// Take a panel out of the tree; what holds one panel alone becomes that panel.
function taken(panel) {
  const above = panel.parent;
  panel.parent = null;
  if (!above) {
    if (root === panel) root = null;
    return;
  }
  above.panels.splice(above.panels.indexOf(panel), 1);
  if (above.kind === "window") {
    if (!above.panels.length) floats.splice(floats.indexOf(above), 1);
  } else if (above.panels.length === 1) replace(above, Object.assign(above.panels[0], { share: above.share, active: above.active }));
  else if (!above.panels.length) taken(above);
}

function replace(panel, by) {
  const above = panel.parent;
  by.parent = above;
  if (!above) root = by;
  else above.panels[above.panels.indexOf(panel)] = by;
}

// Put a panel beside another one, or into tabs with it: a side is left, right, top, bottom or middle.
function placed(panel, beside, side) {
  if (!beside) root = panel;
  else {
    const kind = { left: "hsplit", right: "hsplit", top: "vsplit", bottom: "vsplit", middle: "tabs" }[side];
    const first = side === "left" || side === "top", above = beside.parent;
    delete panel.share;
    panel.active = kind === "tabs";
    if (kind === "tabs") for (const each of (above?.kind === kind ? above.panels : [beside])) each.active = false;
    if (above?.kind === kind) {
      // Half of the room of the other one.
      if (kind !== "tabs" && beside.share) panel.share = beside.share /= 2;
      above.panels.splice(above.panels.indexOf(beside) + !first, 0, panel);
    } else {
      const made = holder(kind, first ? [panel, beside] : [beside, panel]), { share, active } = beside;
      replace(beside, made);
      Object.assign(made, { share, active });
      delete beside.share;
      beside.active = false;
    }
  }
  const at = root;
  if (at) link(at);
  for (const each of floats) link(each);
}

function floated(panel) {
  if (panel.parent?.kind === "window") {
    taken(panel);
    placed(panel, root, "right");
  } else {
    taken(panel);
    delete panel.share;
    const rect = isNarrow() ? [5, 45, 90, 50] : [56 - 3 * floats.length, 8 + 5 * floats.length, 40, 50];
    floats.push({ ...holder("window", [panel]), rect });
  }
  keep();
}

// Titles: a drag puts the panel elsewhere, or moves what floats.

const LABELS = {
  scene: "3D view", viewport: "Camera", graph: "Graph", table: "Table", component_monitor: "Numbers", geo_position_gauge: "Position",
  orientation_gauge: "Attitude", horizon_gauge: "Horizon", action_pane: "Script", sensor_view: "Images", video_stream: "Images",
  log_stream: "Log", messages: "Messages", parameters: "Parameters", inspector: "Selected", hierarchy: "Frames", schematic_tree: "Panels", data_overview: "Data",
  tabs: "Tabs", hsplit: "Columns", vsplit: "Rows", window: "Window",
};
const label = (panel) => panel.name || (panel.of && panel.kind !== "action_pane" ? panel.of
  : panel.style === "table" ? LABELS.table : LABELS[panel.kind]);
const editable = () => shown === "Panels";

// Signs that fonts lack.
const SIGNS = { float: "M4 9h11v11H4zM9 9V4h11v11h-5", close: "M5 5l14 14M19 5L5 19" };

function tool(sign, title, act) {
  const button = pressed("", title, act, "tool"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  path.setAttribute("d", SIGNS[sign]);
  svg.append(path);
  button.append(svg);
  return button;
}

const tools = (panel) => [
  tool("float", `${panel.parent?.kind === "window" ? "Dock" : "Float"} ${label(panel)}`, () => floated(panel)),
  tool("close", `Close ${label(panel)}`, () => { taken(panel); keep(); }),
];

function titleOf(panel) {
  const title = element("div", "title"), text = element("span", "", label(panel));
  title.append(text);
  if (!editable()) return title;
  title.append(...tools(panel));
  return draggable(title, panel);
}

// A drag puts the panel elsewhere, or moves what floats.
function draggable(title, panel) {
  title.onpointerdown = (down) => {
    if (down.target.closest(".tool") || down.button) return;
    const window_ = panel.parent?.kind === "window" ? title.closest(".float") : null;
    let begun = false, drop = null;
    title.setPointerCapture(down.pointerId);
    title.onpointermove = (move) => {
      if (!begun && Math.hypot(move.clientX - down.clientX, move.clientY - down.clientY) < 6) return;
      begun = true;
      document.body.classList.add("dragging");
      if (window_) moved(window_, panel.parent, move.movementX, move.movementY);
      else showDrop((drop = dropAt(move, panel)));
    };
    title.onpointerup = title.onpointercancel = (up) => {
      title.onpointermove = title.onpointerup = title.onpointercancel = null;
      document.body.classList.remove("dragging");
      document.getElementById("drop").hidden = true;
      if (!begun || up.type === "pointercancel" || (!window_ && !drop)) return;
      if (drop) {
        taken(panel);
        placed(panel, drop.panel, drop.side);
      }
      keep();
    };
  };
  return title;
}

function moved(window_, panel, right, down) {
  const all = main.getBoundingClientRect(), rect = panel.rect;
  rect[0] = Math.min(Math.max(rect[0] + (100 * right) / all.width, 0), 95);
  rect[1] = Math.min(Math.max(rect[1] + (100 * down) / all.height, 0), 95);
  Object.assign(window_.style, { left: `${rect[0]}%`, top: `${rect[1]}%` });
  placeFrames();
}

function dropAt(event, dragged) {
  const found = document.elementsFromPoint(event.clientX, event.clientY).map((each) => each.closest?.("[data-leaf]")).find(Boolean);
  if (!found || found.panel === dragged || found.closest(".float")) return null;
  const box = found.getBoundingClientRect();
  const parts = { left: (event.clientX - box.left) / box.width, top: (event.clientY - box.top) / box.height };
  Object.assign(parts, { right: 1 - parts.left, bottom: 1 - parts.top });
  const [side, part] = Object.entries(parts).sort((a, b) => a[1] - b[1])[0];
  return { panel: found.panel, side: part < 0.28 ? side : "middle", box };
}

function showDrop(drop) {
  const mark = document.getElementById("drop");
  mark.hidden = !drop;
  if (!drop) return;
  const { left, top, width, height } = drop.box, side = drop.side;
  Object.assign(mark.style, {
    left: `${left + (side === "right" ? width / 2 : 0)}px`, top: `${top + (side === "bottom" ? height / 2 : 0)}px`,
    width: `${side === "left" || side === "right" ? width / 2 : width}px`,
    height: `${side === "top" || side === "bottom" ? height / 2 : height}px`,
  });
}

// Building

function leaf(panel, inside, bare) {
  const made = element("div", "panel");
  made.panel = panel;
  made.dataset.leaf = "";
  if (!bare) made.append(titleOf(panel));
  made.append(inside);
  return made;
}

function splitOf(panel) {
  const made = element("div", panel.kind === "vsplit" ? "split rows" : "split");
  panel.panels.forEach((each, index) => {
    if (index) made.append(barOf(made, panel));
    const cell = element("div", "cell");
    cell.style.flexGrow = each.share || 1;
    cell.append(build(each));
    made.append(cell);
  });
  return made;
}

function barOf(split, panel) {
  const bar = element("div", "bar");
  bar.onpointerdown = (down) => {
    const before = bar.previousSibling, after = bar.nextSibling, rows = split.classList.contains("rows");
    const size = (cell) => cell.getBoundingClientRect()[rows ? "height" : "width"];
    const place = (event) => (rows ? event.clientY : event.clientX);
    const both = size(before) + size(after), first = size(before), from = place(down);
    const grow = Number(before.style.flexGrow) + Number(after.style.flexGrow);
    bar.setPointerCapture(down.pointerId);
    document.body.classList.add("dragging");
    bar.onpointermove = (move) => {
      const part = Math.min(Math.max((first + place(move) - from) / both, 0.05), 0.95);
      before.style.flexGrow = grow * part;
      after.style.flexGrow = grow * (1 - part);
      placeFrames();
    };
    bar.onpointerup = () => {
      bar.onpointermove = bar.onpointerup = null;
      document.body.classList.remove("dragging");
      const cells = [...split.querySelectorAll(":scope > .cell")].map((cell) => Number(cell.style.flexGrow));
      const all = cells.reduce((sum, each) => sum + each, 0);
      panel.panels.forEach((each, index) => (each.share = cells[index] / all));
      if (panel.both) window.simAddress((next) => next.set("both", (cells[0] / all).toFixed(3)));
      else keep();
    };
  };
  return bar;
}

function tabsOf(panel) {
  const made = element("div", "panel tabs"), nav = element("nav"), buttons = element("div"), ends = element("div");
  ends.style.flex = "none";
  nav.append(buttons, ends);
  made.append(nav);
  const pages = panel.panels.map((each) => {
    const page = element("div", "page"), button = pressed(label(each), label(each), () => {
      // A page that is not seen is not built: each viewport draws all the time.
      if (!page.filled) page.append(build(each, true));
      page.filled = true;
      for (const other of made.querySelectorAll(":scope > nav button, :scope > .page")) other.classList.remove("front");
      for (const other of panel.panels) other.active = other === each;
      button.classList.add("front");
      page.classList.add("front");
      if (editable() && panel.parent !== undefined) ends.replaceChildren(...tools(each));
    });
    if (editable()) draggable(button, each);
    buttons.append(button);
    made.append(page);
    return button;
  });
  const active = panel.panels.findIndex((each) => each.active);
  if (pages.length) pages[Math.max(active, 0)].onclick();
  return made;
}

// Scenes and cameras are pages of their own, which would load anew if they were moved: they lie above their places.
const frames = new Map();

function viewOf(panel, bare) {
  const made = element("div", "view");
  made.source = panel.kind === "scene" ? "/plain" : `/viewport/${panel.viewport}`;
  made.title_ = panel.name || LABELS[panel.kind];
  return leaf(panel, made, bare);
}

function placeFrames() {
  const seen = new Map(), counts = {};
  for (const view of document.querySelectorAll(".view")) {
    const number = (counts[view.source] = (counts[view.source] ?? 0) + 1);
    seen.set(`${view.source} ${number}`, view);
  }
  for (const [key, frame] of frames) if (!seen.has(key)) frame.remove(), frames.delete(key);
  for (const [key, view] of seen) {
    let frame = frames.get(key);
    if (!frame) {
      frame = element("iframe");
      frame.src = view.source;
      frames.set(key, frame);
      document.getElementById("frames").append(frame);
    }
    const box = view.getBoundingClientRect(), above = view.closest(".float");
    const style = { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` };
    style.display = box.width && box.height ? "block" : "none";
    const room = main.getBoundingClientRect(), cut = [room.top - box.top, box.bottom - room.bottom].map((each) => Math.max(each, 0));
    style.clipPath = cut.some(Boolean) ? `inset(${cut[0]}px 0px ${cut[1]}px)` : "";
    style.zIndex = above ? Number(above.style.zIndex) + 1 : 0;
    frame.title = view.title_;
    for (const [name, value] of Object.entries(style)) if (frame.style[name] !== String(value)) frame.style[name] = value;
  }
}

function floatOf(panel, number) {
  const made = element("div", "float"), [left, top, width, height] = panel.rect;
  Object.assign(made.style, { left: `${left}%`, top: `${top}%`, width: `${width}%`, height: `${height}%`, zIndex: 10 + 2 * number });
  made.append(...panel.panels.map((each) => build(each)));
  made.onpointerup = () => {
    const all = main.getBoundingClientRect(), box = made.getBoundingClientRect();
    const size = [(100 * box.width) / all.width, (100 * box.height) / all.height];
    if (Math.hypot(size[0] - panel.rect[2], size[1] - panel.rect[3]) < 0.5) return;
    panel.rect.splice(2, 2, ...size.map((each) => Math.min(each, 100)));
    if (editable()) keep();
  };
  return made;
}

const HOLDERS = { tabs: tabsOf, hsplit: splitOf, vsplit: splitOf };

// bare: without a title, as in a tab.
function build(panel, bare = false) {
  if (panel.panels && !panel.panels.length) return leaf(panel, element("p", "empty", "The schematic has no panel here."), bare);
  if (panel.kind in HOLDERS) return HOLDERS[panel.kind](panel);
  if (panel.kind === "viewport" || panel.kind === "scene") return viewOf(panel, bare);
  if (panel.kind === "graph" && panel.style !== "table") return leaf(panel, graphOf(panel), bare);
  return leaf(panel, dataOf(panel), bare);
}

// What the page shows: the panels, the scene with viser's panel, or one beside the other.
const SCENE = { kind: "scene", head: "scene" };
const VIEWS = { Panels: () => root, Both: bothOf, Scene: () => SCENE };

// Where the bar between both is, is in the address.
function bothOf() {
  const part = Math.min(Math.max(Number(query().get("both")) || 0.5, 0.05), 0.95);
  const made = holder("hsplit", [{ ...holder("hsplit", root ? [root] : []), share: part }, { ...SCENE, share: 1 - part }]);
  return Object.assign(made, { both: true });
}
let shown = "", layoutText = "";
const viewWanted = () => (layout.given && query().get("view") in VIEWS ? query().get("view") : "Panels");

function show() {
  shown = viewWanted();
  plots.clear();
  feeds.clear();
  series.clear();
  newest.clear();
  const tree = VIEWS[shown](), above = shown === "Scene" ? [] : floats;
  const empty = element("p", "empty", "There is no panel yet.");
  main.replaceChildren(tree ? build(tree) : empty, ...above.map(floatOf));
  placeFrames();
  const views = document.getElementById("views");
  views.hidden = !layout.given;
  views.replaceChildren(...Object.keys(VIEWS).map((name) => {
    const button = element("button", "", name);
    button.type = "button";
    button.setAttribute("aria-pressed", name === shown);
    button.onclick = () => {
      window.simAddress((next) => (name === "Panels" ? next.delete("view") : next.set("view", name)));
      // The samples come again.
      Object.assign(connection, { onclose: null }).close();
      connect("/panels", take);
    };
    return button;
  }));
  document.getElementById("reset").hidden = !layout.own;
  document.getElementById("reset").textContent = layout.given ? "Reset" : "Scene alone";
  for (const name of ["add", "save"]) document.getElementById(name).hidden = !editable();
}

function take(message) {
  if (message.panels) {
    // A change of the world that leaves the panels as they are leaves what is typed and where it is scrolled to.
    const text = JSON.stringify(message), same = text === layoutText && shown === viewWanted();
    layoutText = text;
    if (same) return;
    document.title = message.title;
    for (const title of document.querySelectorAll("h1, header b")) title.textContent = message.title;
    layout = message;
    const tiled = message.panels.filter((each) => each.kind !== "window");
    floats = message.panels.filter((each) => each.kind === "window");
    root = tiled.length > 1 ? holder("tabs", tiled) : tiled[0] ?? null;
    for (const each of [root, ...floats].filter(Boolean)) link(each);
    document.getElementById("problem").textContent = document.getElementById("problem").title = message.problem;
    document.getElementById("names").replaceChildren(...message.names.map((name) => Object.assign(element("option"), { value: name })));
    show();
    return;
  }
  for (const [graph, times, rows, reset] of message.graphs) {
    const kept = seriesOf(graph), extra = (reset ? 0 : kept.times.length) + times.length - message.samples;
    if (reset) kept.times.length = kept.rows.length = 0;
    kept.times.push(...times);
    kept.rows.push(...rows);
    if (extra > 0) kept.times.splice(0, extra), kept.rows.splice(0, extra);
    for (const plot of plots.get(graph) ?? []) plot.fresh = true;
  }
  for (const [number, data] of message.data ?? []) {
    newest.set(number, data);
    for (const feed of feeds.get(number) ?? []) feed(data);
  }
  window.updates = (window.updates || 0) + 1;
}

// Adding: what a panel is of, as words for its node.

const aQuoted = (name) => {
  const [owner, component] = [name.slice(0, name.lastIndexOf(".")), name.slice(name.lastIndexOf(".") + 1)];
  return layout.names.includes(name) && component && /[^A-Za-z0-9_/]/.test(owner) ? `'${owner}'.${component}` : name;
};
const pose = (of) => (/\.world_pos$/.test(of) ? aQuoted(of) : aQuoted(`${of}.world_pos`));
// By name: what it is of, and its node.
const KINDS = {
  "3D view": ["", () => "scene"],
  Graph: ["Formula, such as drone.world_pos.linear()", (of) => `graph ${quoted(aQuoted(of))} name=${quoted(of)}`],
  Table: ["Formula", (of) => `query_table ${quoted(aQuoted(of))} name=${quoted(of)}`],
  Numbers: ["Formula", (of) => `component_monitor component_name=${quoted(aQuoted(of))} name=${quoted(of)}`],
  Images: ["Camera or topic", (of) => `sensor_view ${quoted(of)}`],
  "Camera that follows": ["Frame", (of) => `viewport pos=${quoted(`${pose(of)}.translate(-3, 0, 1)`)} look_at=${quoted(pose(of))} name=${quoted(of)}`],
  Horizon: ["Frame", (of) => `horizon_gauge ${quoted(pose(of))} name=${quoted(of)}`],
  Attitude: ["Frame", (of) => `orientation_gauge ${quoted(pose(of))} display=ENU name=${quoted(of)}`],
  Position: ["Frame", (of) => `geo_position_gauge ${quoted(pose(of))} display=ENU name=${quoted(of)}`],
  Frames: ["", () => "hierarchy"], Selected: ["", () => "inspector"], Log: ["", () => "log_stream"],
  Messages: ["", () => "messages"], Parameters: ["", () => "parameters"],
  Data: ["", () => "data_overview"], Panels: ["", () => "schematic_tree"],
};
const kindOf = document.getElementById("kind"), of = document.getElementById("of");
kindOf.replaceChildren(...Object.keys(KINDS).map((name) => element("option", "", name)));
kindOf.onchange = () => {
  const [needs] = KINDS[kindOf.value];
  document.getElementById("about").hidden = !needs;
  document.getElementById("of-label").textContent = needs || "Of";
  const names = needs.startsWith("Camera") ? layout.cameras : needs === "Frame"
    ? layout.names.filter((each) => each.endsWith(".world_pos")).map((each) => each.slice(0, -10)) : layout.names;
  document.getElementById("names").replaceChildren(...names.map((name) => Object.assign(element("option"), { value: name })));
  if (needs && !of.value && names.length) of.value = names[Math.min(1, names.length - 1)];
};

function add(kind = "Graph", what = "") {
  kindOf.value = kind;
  of.value = what;
  kindOf.onchange();
  adding.showModal();
}

adding.addEventListener("close", () => {
  if (adding.returnValue !== "add") return;
  adding.returnValue = "";
  const [needs, node] = KINDS[kindOf.value], where = document.getElementById("where").value;
  if (needs && !of.value.trim()) return;
  const panel = { kind: "new", head: node(of.value.trim()), inner: "", name: "" };
  if (where === "float") {
    floats.push({ ...holder("window", [panel]), rect: isNarrow() ? [5, 45, 90, 50] : [56 - 3 * floats.length, 8 + 5 * floats.length, 40, 50] });
  } else placed(panel, root, where);
  keep();
});
document.getElementById("add").onclick = () => add();
document.getElementById("reset").onclick = () => {
  window.simFoot.send({ set: { layout: "" } });
  if (!layout.given) setTimeout(() => (location.search = ""), 200);
};
document.getElementById("save").onclick = () => {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([written("    ")], { type: "text/plain" }));
  link.download = `${layout.title}.kdl`;
  link.click();
  URL.revokeObjectURL(link.href);
};

function frame() {
  for (const some of plots.values()) for (const plot of some) if (plot.fresh) draw(plot);
  placeFrames();
  requestAnimationFrame(frame);
}

function connect(path, take) {
  const socket = (connection = new WebSocket(`ws://${location.host}${path}`));
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = () => setTimeout(() => connect(path, take), 2000);
}
let connection = null;

connect("/panels", take);
frame();
document.getElementById("dark").onclick = () => window.simFoot.send({ set: { dark: scheme() === "dark" ? "0" : "1" } });
new MutationObserver(() => {
  document.getElementById("dark").textContent = scheme() === "dark" ? "Light" : "Dark";
  for (const some of plots.values()) for (const plot of some) plot.fresh = true;
  for (const each of document.querySelectorAll(".data")) each.paint?.();
}).observe(document.documentElement, { attributes: true });
