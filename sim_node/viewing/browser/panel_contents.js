// What is in the panels: graphs, tables, numbers, gauges, frames, images, the log.
"use strict";
// GRAPH is GraphLook of graph_axes.py, as it is.
const colour = (curve) => GRAPH[scheme()][curve % GRAPH.light.length];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
// By the number of a graph, and of what has other data.
const plots = new Map(), feeds = new Map();
// What has come so far, for panels that are opened later.
const series = new Map(), newest = new Map();

function seriesOf(graph) {
  if (!series.has(graph)) series.set(graph, { times: [], rows: [] });
  return series.get(graph);
}

function entered(map, number, value) {
  map.set(number, [...(map.get(number) ?? []), value]);
  return value;
}

// A graph: values at the pointer; the wheel zooms about it, two clicks show all again.
function graphOf(panel) {
  const made = element("div", "plot"), canvas = element("canvas"), keys = element("div", "keys");
  keys.append(...panel.labels.map((label) => element("div", "", label)));
  made.append(canvas, keys);
  const plot = entered(plots, panel.graph, {
    canvas, keys, labels: panel.labels, unit: panel.unit, limits: panel.limits, style: panel.style, ...seriesOf(panel.graph), fresh: true, at: null, span: null, draw: drawGraph,
  });
  const refresh = (change) => () => Object.assign(plot, change(), { fresh: true });
  canvas.onpointermove = (event) => refresh(() => ({ at: event.offsetX }))();
  canvas.onpointerleave = refresh(() => ({ at: null }));
  canvas.ondblclick = refresh(() => ({ span: null }));
  canvas.onwheel = (event) => {
    if (!plot.seen) return;
    const [first, last] = plot.seen, factor = event.deltaY > 0 ? 1.25 : 0.8;
    const about = first + (Math.max(event.offsetX - LEFT, 0) / (canvas.clientWidth - LEFT - plot.right)) * (last - first);
    refresh(() => ({ span: [about + factor * (first - about), about + factor * (last - about)] }))();
    event.preventDefault();
  };
  new ResizeObserver(refresh(() => ({}))).observe(made);
  return made;
}

const draw = (plot) => plot.draw(plot);

function ticksOf(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let tick = Math.ceil(low / step); tick * step <= high; tick++) found.push(tick * step);
  return found.map((tick) => [tick, Number(tick.toPrecision(6)).toString()]);
}

const LEFT = 52;

// A pen for a canvas at its size, or nothing while it is not seen.
function penOf(canvas) {
  const scale = devicePixelRatio, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return null;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "11px system-ui, sans-serif";
  return { pen, width, height };
}

function drawGraph(plot) {
  const { canvas, times, rows } = plot, found = penOf(canvas);
  if (!found) return;
  const { pen, width, height } = found;
  plot.fresh = false;
  let [low, high] = plot.limits || [Infinity, -Infinity];
  if (!plot.limits) for (const row of rows) for (const value of row) if (value !== null) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (plot.style === "bar" && !plot.limits) low = Math.min(low, 0), high = Math.max(high, 0);
  if (!times.length || !Number.isFinite(low)) return;
  if (!plot.limits) {
    const level = high - low <= GRAPH.level * Math.max(1, Math.abs(high), Math.abs(low));
    const margin = level ? Math.max(Math.abs(high) * GRAPH.level_margin, GRAPH.least_level_margin) : GRAPH.margin * (high - low);
    low -= margin;
    high += margin;
  }
  // The legend is beside the curves, where they end.
  const texts = plot.labels.map((label, curve) => (plot.at === null ? label : `${label} ${valueText(plot, curve)}`));
  plot.right = Math.min(Math.max(...texts.map((text) => pen.measureText(text).width)) * 1.1 + 14, 0.45 * width);
  const [first, last] = (plot.seen = plot.span || [times[0], Math.max(times[times.length - 1], times[0] + 1e-3)]);
  const left = LEFT, bottom = 18, right = plot.right;
  const x = (time) => left + ((time - first) / (last - first)) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - bottom - 6);
  pen.strokeStyle = css("--grid");
  pen.fillStyle = css("--dim");
  pen.textAlign = "right";
  for (const [tick, text] of ticksOf(low, high, Math.max(2, height / 45))) {
    pen.beginPath();
    pen.moveTo(left, y(tick));
    pen.lineTo(width - right, y(tick));
    pen.stroke();
    pen.fillText(text, left - 5, y(tick) + 4);
  }
  pen.textAlign = "center";
  for (const [tick, text] of ticksOf(first, last, Math.max(2, width / 90))) {
    pen.beginPath();
    pen.moveTo(x(tick), 6);
    pen.lineTo(x(tick), height - bottom);
    pen.stroke();
    // The last one stays off the unit.
    pen.fillText(text, Math.min(x(tick), width - right - pen.measureText(text).width / 2), height - 5);
  }
  pen.textAlign = "left";
  pen.fillText(plot.unit, left + 4, 14);
  pen.fillText("s", width - right + 4, height - 5);
  pen.save();
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.rect(left, 0, width - left - right, height - bottom);
  pen.clip();
  for (let curve = 0; curve < rows[0].length; curve++) {
    pen.strokeStyle = pen.fillStyle = colour(curve);
    if (plot.style !== "line") {
      const wide = Math.max(1.5, (0.7 * (width - left - right)) / Math.max(times.length, 1) / rows[0].length);
      rows.forEach((row, index) => {
        if (row[curve] === null) return;
        const at = x(times[index]), top = y(row[curve]);
        if (plot.style === "point") pen.fillRect(at - 1.5, top - 1.5, 3, 3);
        else pen.fillRect(at + (curve - rows[0].length / 2) * wide, Math.min(top, y(0)), wide, Math.abs(top - y(0)));
      });
      continue;
    }
    pen.beginPath();
    let drawing = false;
    for (let index = 0; index < times.length; index++) {
      const value = rows[index][curve];
      if (value !== null) pen[drawing ? "lineTo" : "moveTo"](x(times[index]), y(value));
      drawing = value !== null;
    }
    pen.stroke();
  }
  // A line at the pointer, else at the time that the page shows.
  const shown = plot.at === null ? window.simFoot.time() : timeAt(plot);
  pen.strokeStyle = css("--dim");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x(shown), 0);
  pen.lineTo(x(shown), height - bottom);
  pen.stroke();
  pen.restore();
  tell(plot, texts, y, height - bottom);
}

function timeAt(plot) {
  const [first, last] = plot.seen, width = plot.canvas.clientWidth;
  return first + ((plot.at - LEFT) / (width - LEFT - plot.right)) * (last - first);
}

function valueText(plot, curve) {
  if (!plot.seen) return "";
  const shown = timeAt(plot);
  let near = plot.times.findIndex((time) => time >= shown);
  if (near < 0) near = plot.times.length - 1;
  const value = plot.rows[near][curve];
  return value === null ? "" : Math.abs(value) < 1e-12 ? "0" : Number(value.toPrecision(4)).toString();
}

// The legend: each label where its curve ends, without lying on another one.
function tell(plot, texts, y, low) {
  const ends = texts.map((text, curve) => {
    const last = plot.rows.findLast((row) => row[curve] !== null);
    return { curve, text, top: last ? Math.min(Math.max(y(last[curve]) - 7, 0), low - 14) : 0 };
  });
  ends.sort((a, b) => a.top - b.top);
  ends.forEach((end, index) => (end.top = index ? Math.max(end.top, ends[index - 1].top + 14) : end.top));
  for (let index = ends.length - 1, room = low - 14; index >= 0; index--, room -= 14) ends[index].top = Math.max(Math.min(ends[index].top, room), 0);
  for (const { curve, text, top } of ends) {
    const key = plot.keys.children[curve];
    key.style.color = colour(curve);
    key.style.top = `${top}px`;
    key.style.left = `${plot.canvas.clientWidth - plot.right}px`;
    if (key.textContent !== text) key.textContent = text;
  }
}

// Numbers

const numberText = (value) => (value === null ? "–" : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(3) : value.toFixed(3));

function table(heads, rows) {
  const made = element("table"), head = element("tr");
  head.append(...heads.map((each) => element("th", "", each)));
  if (heads.length) made.append(head);
  made.append(...rows.map((row) => {
    const line = element("tr");
    line.append(...row.map((each) => {
      const cell = element("td");
      cell.append(each);
      return cell;
    }));
    return line;
  }));
  return made;
}

function tableOf(panel, made) {
  const plot = entered(plots, panel.graph, { ...seriesOf(panel.graph), fresh: true, due: 0, draw(plot) {
    if (performance.now() < plot.due) return;
    Object.assign(plot, { fresh: false, due: performance.now() + 500 });
    const rows = plot.times.map((time, index) => [time.toFixed(3), ...plot.rows[index].map(numberText)]).slice(-200).reverse();
    made.replaceChildren(rows.length ? table(["s", ...panel.labels], rows) : element("p", "empty", "No samples yet."));
  } });
  plot.draw(plot);
}

// How numbers were before: small curves beside them.
const HISTORY = 150;

function numbersOf(rows, histories) {
  rows.forEach(([, value], index) => {
    const history = (histories[index] ??= []);
    if (value !== null) history.push(value);
    if (history.length > HISTORY) history.shift();
  });
  return table([], rows.map(([name, value, unit], index) => {
    const spark = element("canvas");
    requestAnimationFrame(() => curve(spark, histories[index]));
    return [name, numberText(value), unit, spark];
  }));
}

function curve(canvas, values) {
  const found = penOf(canvas), low = Math.min(...values), range = Math.max(...values) - low || 1;
  if (!found || values.length < 2) return;
  found.pen.strokeStyle = css("--blue");
  found.pen.beginPath();
  values.forEach((value, index) => found.pen.lineTo((index / (HISTORY - 1)) * found.width, found.height - 1 - ((value - low) / range) * (found.height - 2)));
  found.pen.stroke();
}

// Gauges

function gauge(made, paint) {
  let canvas = made.querySelector(":scope > canvas");
  if (!canvas) {
    made.style.position = "relative";
    canvas = element("canvas");
    canvas.setAttribute("role", "img");
    made.replaceChildren(canvas);
    new ResizeObserver(() => made.paint?.()).observe(made);
  }
  made.paint = () => {
    const found = penOf(canvas);
    if (found) canvas.setAttribute("aria-label", paint(found.pen, found.width, found.height, 0.42 * Math.min(found.width, found.height - 24)));
  };
  made.paint();
}

function horizon(made, { roll, pitch, heading }) {
  gauge(made, (pen, width, height, radius) => {
    const degrees = (angle) => (Math.abs(angle) < 0.05 ? 0 : angle).toFixed(1);
    const text = roll === null ? "no attitude" : `roll ${degrees(roll)}°, pitch ${degrees(pitch)}°, heading ${heading.toFixed(0)}°`;
    const middle = [width / 2, (height - 18) / 2], degree = radius / 40;
    pen.fillStyle = css("--ink");
    pen.textAlign = "center";
    pen.fillText(text, width / 2, height - 6);
    if (roll === null) return text;
    pen.save();
    pen.translate(...middle);
    pen.beginPath();
    pen.arc(0, 0, radius, 0, 7);
    pen.clip();
    pen.rotate((-roll * Math.PI) / 180);
    const y = pitch * degree;
    pen.fillStyle = "#4a90d9";
    pen.fillRect(-2 * radius, -4 * radius + y, 4 * radius, 4 * radius);
    pen.fillStyle = "#8a6742";
    pen.fillRect(-2 * radius, y, 4 * radius, 4 * radius);
    pen.strokeStyle = pen.fillStyle = "#fff";
    for (let mark = -80; mark <= 80; mark += 10) {
      const half = mark === 0 ? 2 * radius : mark % 20 ? 0.12 * radius : 0.25 * radius;
      pen.beginPath();
      pen.moveTo(-half, y - mark * degree);
      pen.lineTo(half, y - mark * degree);
      pen.stroke();
      if (mark && mark % 20 === 0) pen.fillText(`${mark}`, half + 12, y - mark * degree + 4);
    }
    pen.restore();
    pen.strokeStyle = "#f5b301";
    pen.lineWidth = 3;
    pen.beginPath();
    for (const side of [-1, 1]) {
      pen.moveTo(middle[0] + side * 0.55 * radius, middle[1]);
      pen.lineTo(middle[0] + side * 0.2 * radius, middle[1]);
    }
    pen.moveTo(middle[0] - 2, middle[1]);
    pen.lineTo(middle[0] + 2, middle[1]);
    pen.stroke();
    pen.strokeStyle = css("--line");
    pen.beginPath();
    pen.arc(...middle, radius, 0, 7);
    pen.stroke();
    return text;
  });
}

// The axes of a body, solid, in those of the world, thin: seen from the south-west, above.
function attitude(made, { body, axes, names }) {
  gauge(made, (pen, width, height, radius) => {
    const [c, s, up] = [Math.cos(0.6), Math.sin(0.6), 0.45];
    const place = ([e, n, u]) => [width / 2 + radius * (c * e - s * n), height / 2 - radius * (up * (s * e + c * n) + 0.89 * u)];
    const line = (vector, colour, wide, name) => {
      pen.strokeStyle = pen.fillStyle = colour;
      pen.lineWidth = wide;
      pen.beginPath();
      pen.moveTo(width / 2, height / 2);
      pen.lineTo(...place(vector));
      pen.stroke();
      const [x, y] = place(vector.map((each) => 1.14 * each));
      pen.textAlign = "center";
      pen.fillText(name, x, y + 4);
    };
    axes.forEach((axis, index) => line(axis, css("--dim"), 1, names[index]));
    if (body[0][0] !== null) body.forEach((axis, index) => line(axis.map((each) => 0.85 * each), colour([0, 1, 2][index]), 4, "xyz"[index]));
    return "attitude: axes of the body in those of the world";
  });
}

// By kind: how data come into a panel, or what it has of its own.
const CONTENTS = {
  component_monitor: (made, data) => made.replaceChildren(numbersOf(data, (made.histories ??= []))),
  geo_position_gauge: (made, data) => made.replaceChildren(numbersOf(data, (made.histories ??= []))),
  horizon_gauge: horizon,
  orientation_gauge: attitude,
  inspector(made, { name, about, rows }) {
    if (made.name !== name) made.histories = [];
    made.name = name;
    const title = element("p");
    title.append(element("b", "", name), ` ${about}`);
    made.replaceChildren(title, numbersOf(rows, made.histories));
  },
  hierarchy(made, { frames, selected, more }) {
    const list = element("ul");
    list.append(...frames.map(([name, depth, moves]) => {
      const line = element("li"), button = pressed(name + (moves ? " ~" : ""), name, () => window.simFoot.send({ set: { frame: name } }));
      line.style.paddingLeft = `${12 * depth}px`;
      button.setAttribute("aria-pressed", name === selected);
      line.append(button);
      return line;
    }));
    made.replaceChildren(list, ...(more > 0 ? [element("p", "", `and ${more} more`)] : []));
  },
  data_overview(made, { signals, more }) {
    const list = element("ul");
    list.append(...signals.map((name) => {
      const line = element("li");
      line.append(pressed(name, `Add a graph of ${name}`, () => add("Graph", name)));
      return line;
    }));
    made.replaceChildren(list, ...(more > 0 ? [element("p", "", `and ${more} more`)] : []));
  },
  sensor_view(made, { image, about, name }) {
    const [text, picture] = made.querySelector("img") ? made.children : [element("p"), element("img")];
    text.textContent = about;
    if (picture.src !== image) picture.src = image;
    picture.alt = `image of ${name}`;
    if (!picture.parentElement) made.replaceChildren(text, picture);
  },
};
// Kept while its data change: somebody may be typing in it.
function keptIn(made, make) {
  if (!made.parts?.[0].isConnected) made.replaceChildren(...(made.parts = make()));
  return made.parts;
}

CONTENTS.messages = (made, { topics, topic, text }) => {
  const [select, pre] = keptIn(made, () => [element("select"), element("pre")]);
  select.setAttribute("aria-label", "Topic");
  if (select.dataset.of !== topics.join()) {
    select.dataset.of = topics.join();
    select.replaceChildren(...topics.map((name) => element("option", "", name)));
  }
  select.onchange = () => window.simFoot.send({ set: { topic: select.value } });
  if (document.activeElement !== select) select.value = topic;
  if (pre.textContent !== text) pre.textContent = text;
};

const MOST_ROWS = 200;

CONTENTS.parameters = (made, data) => {
  const [filter, rows] = keptIn(made, () => [element("input"), element("div")]);
  filter.placeholder = "Filter";
  filter.setAttribute("aria-label", "Filter");
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const found = data.numbers.filter(([path]) => words.every((word) => path.toLowerCase().includes(word)));
    const shown = found.slice(0, MOST_ROWS).map(([path, value]) => {
      if (!data.can_set) return [path, String(value)];
      const input = Object.assign(element("input"), { value: String(value), inputMode: "decimal" });
      input.setAttribute("aria-label", path);
      input.onchange = () => {
        const to = Number(input.value);
        if (input.value.trim() && Number.isFinite(to)) window.simFoot.send({ do: "set", what: path, to });
        else input.value = String(value);
      };
      return [path, input];
    });
    const more = found.length - shown.length;
    rows.replaceChildren(table([], shown), ...(more > 0 ? [element("p", "", `and ${more} more: filter them`)] : []));
  };
  filter.oninput = show;
  show();
};
CONTENTS.video_stream = CONTENTS.sensor_view;

const OWN = {
  action_pane(made, panel) {
    made.append(element("p", "", "A script of Elodin's editor, which sim_node does not run:"), element("pre", "", panel.of));
  },
  schematic_tree(made) {
    const list = (panel) => {
      const line = element("li", "", `${label(panel)}${panel.name && panel.name !== LABELS[panel.kind] ? ` (${LABELS[panel.kind]})` : ""}`);
      if (panel.panels) line.append(lines(panel.panels));
      return line;
    };
    const lines = (panels) => {
      const all = element("ul");
      all.append(...panels.map(list));
      return all;
    };
    made.append(lines([root, ...floats].filter(Boolean)));
  },
  log_stream(made) {
    const show = () => {
      const marks = window.simFoot.marks();
      if (!made.isConnected) return clearInterval(made.timer);
      if (made.of === marks) return;
      made.of = marks;
      const line = ([at, kind, text]) => {
        const button = pressed(text, `Go to ${text}`, () => window.simFoot.act("seek", at));
        return [at.toFixed(2), kind, button];
      };
      made.replaceChildren(marks.length ? table(["s", "", ""], marks.map(line).reverse()) : element("p", "empty", "Nothing has been said yet."));
    };
    made.timer = setInterval(show, 300);
    requestAnimationFrame(show);
  },
};

function dataOf(panel) {
  const made = element("div", "data");
  made.tabIndex = 0;
  made.setAttribute("role", "region");
  made.setAttribute("aria-label", label(panel));
  if (panel.kind === "graph") tableOf(panel, made);
  else if (panel.kind in OWN) OWN[panel.kind](made, panel);
  else {
    const feed = entered(feeds, panel.data, (data) => {
      if (data.empty === undefined) return CONTENTS[panel.kind](made, data);
      made.paint = null;
      made.replaceChildren(element("p", "empty", data.empty));
    });
    if (newest.has(panel.data)) requestAnimationFrame(() => feed(newest.get(panel.data)));
  }
  return made;
}
