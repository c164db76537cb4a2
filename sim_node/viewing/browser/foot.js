// The foot of both pages: what the run or the bag is doing, its time line, and the keys of video players.
window.simFoot = (() => {
  "use strict";
  // Seconds of a jump; how late a page may be before it says so, s; pictures per second that are too few to be smooth.
  const JUMP = 5, LATE = 0.7, FEW = 8;
  // How long it says why something was not done, ms.
  const SAID = 6000;
  const KEYS = [
    ["space, k", "play or pause"], ["← →", `back or forward ${JUMP} s`], [", .", "one step back or forward"],
    ["[ ]", "to the mark before or after"], ["home", "to the start of the time line"], ["l, end", "to what is happening now"], ["< >", "slower, faster"],
    ["f", "follow, or stop following"], ["h", "the first view"], ["q", "draw all, or less"],
    ["p", "save a picture of the scene"], ["r", "begin a film of the scene, or end and save it"], ["?", "this help"],
  ];
  const STYLE = `
    :root { --foot: 44px; }
    #foot { --ink: #22262b; --dim: #59616b; --line: #cfd4da; --paper: #fff; --blue: #1864ab;
      position: fixed; z-index: 150; left: 0; right: 0; bottom: 0; height: var(--foot); display: flex; align-items: center;
      gap: 8px; padding: 0 10px; background: var(--paper); color: var(--ink); border-top: 1px solid var(--line);
      font: 13px system-ui, sans-serif; font-variant-numeric: tabular-nums; box-sizing: border-box; }
    [data-mantine-color-scheme="dark"] #foot, [data-mantine-color-scheme="dark"] #keys {
      --ink: #e6e8eb; --dim: #a8adb4; --line: #3b4048; --paper: #1f2226; --blue: #74b7f5; }
    #foot button { font: inherit; color: inherit; background: none; border: 0; border-radius: 5px; min-width: 30px;
      height: 30px; padding: 0 6px; cursor: pointer; white-space: nowrap; }
    #foot button:hover, #foot select:hover { background: color-mix(in srgb, var(--ink) 10%, transparent); }
    #foot button:focus-visible, #foot input:focus-visible, #foot select:focus-visible { outline: 2px solid var(--blue); }
    #foot button svg { width: 18px; height: 18px; fill: currentColor; vertical-align: middle; }
    #foot .play { background: var(--blue); color: var(--paper); }
    #foot .play:hover { background: color-mix(in srgb, var(--blue) 80%, var(--ink)); }
    #foot .on { color: var(--blue); }
    #foot select { font: inherit; color: inherit; background: var(--paper); border: 0; border-radius: 5px; height: 30px; }
    #foot .state { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
    #foot .state::before { content: ""; display: inline-block; margin-right: 6px; width: 9px; height: 9px; border-radius: 50%; background: currentColor; }
    #foot .state.running::before { color: #2f9e44; } #foot .state.paused::before { color: #e08600; }
    #foot .state.lost::before { color: #d6352f; } #foot .state.slow::before { color: #e08600; }
    #foot .time { min-width: 62px; text-align: right; font-weight: 600; }
    #foot .total { color: var(--dim); white-space: nowrap; } #foot .total:empty { display: none; }
    #foot .line { position: relative; flex: 1; min-width: 40px; height: 30px; }
    #foot .line input { position: absolute; inset: 0; width: 100%; margin: 0; accent-color: var(--blue); background: none; }
    #foot .mark { position: absolute; z-index: 1; padding: 0; border: 0; cursor: pointer; top: 1px; width: 3px; height: 8px; margin-left: -1px; border-radius: 1px;
      background: #e08600; } #foot .mark.error { background: #d6352f; } #foot .mark.note { background: var(--blue); }
    #foot [hidden], #keys[hidden], #foot .narrow { display: none; }
    #keys { --ink: #22262b; --paper: #fff; position: fixed; z-index: 200; left: 50%; bottom: calc(var(--foot) + 16px); translate: -50% 0;
      padding: 14px 18px; border-radius: 8px; background: var(--paper); color: var(--ink);
      box-shadow: 0 4px 24px #0005; font: 14px system-ui, sans-serif; }
    #keys h2 { margin: 0 0 8px; font-size: 15px; } #keys td { padding: 3px 14px 3px 0; } #keys kbd { font-weight: 600; }
    #root { height: calc(100% - var(--foot)) !important; }
    .mantine-Paper-root[style*="position: fixed"] { bottom: var(--foot) !important; }
    @media (max-width: 700px) {
      :root { --foot: 98px; } :root:has(#foot.more) { --foot: 130px; } #keys { width: 92vw; box-sizing: border-box; }
      #foot { flex-wrap: wrap; gap: 0 4px; padding: 2px 8px; align-content: space-evenly; } #foot:not(.more) .wide { display: none; }
      #foot .wide { order: 2; flex: 1; } #foot .narrow { display: block; order: 1; }
      #foot .line { order: -1; flex: 0 0 100%; } #foot .line[style*="hidden"] { display: none; } #foot .time { min-width: 0; } #foot .total { display: none; }
      #foot .state { order: 1; flex: 0 0 calc(100% - 36px); box-sizing: border-box; padding-left: 6px; white-space: normal; max-height: 28px; font-size: 12px; line-height: 14px; }
      #foot .name { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    }
  `;
  const ICONS = {
    play: "M7 4v16l13-8z", pause: "M6 4h4v16H6zM14 4h4v16h-4z", start: "M5 4h3v16H5zM20 4v16L9 12z",
    step: "M16 4h3v16h-3zM4 4v16l11-8z", film: "M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14z",
    picture: "M3 7h4l2-3h6l2 3h4v13H3zM12 9a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
  };
  let said = { at: 0 }, socket = null, state = null, heard = 0, offset = Infinity, late = 0, pictures = [], ended = false, dragging = false, marked = [], recorder = null;

  function element(kind, settings, ...inside) {
    const made = Object.assign(document.createElement(kind), settings);
    made.append(...inside);
    return made;
  }
  function picture(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", ICONS[name]);
    path.setAttribute("fill-rule", "evenodd");
    svg.append(path);
    return svg;
  }
  const send = (message) => socket?.readyState === 1 && socket.send(JSON.stringify(message));
  const act = (word, to = 0) => send({ do: word, to });
  const named = (name, title, press, className = "") => {
    const button = element("button", { type: "button", title, onclick: press, className }, picture(name));
    button.setAttribute("aria-label", title.replace(/ \(.*/, ""));
    return button;
  };

  const toggle = named("play", "Play (space)", () => act(state?.playing ? "pause" : "play"), "play");
  const reset = named("start", "Reset", () => act("reset"));
  const step = named("step", "Step (.)", () => act("step"));
  const time = element("span", { className: "time" }, "–");
  const slider = element("input", { type: "range", min: 0, max: 1, step: 0.001, value: 0 });
  slider.setAttribute("aria-label", "Time");
  const marks = element("div"), line = element("div", { className: "line" }, marks, slider);
  const total = element("span", { className: "total" });
  const speed = element("select", { title: "Speed (< >)", onchange: () => act("speed", Number(speed.value)) });
  speed.setAttribute("aria-label", "Speed");
  const live = element("button", { type: "button", title: "To what is happening now (l)", onclick: () => act("live") }, "Live");
  const loop = element("button", { type: "button", title: "Loop", onclick: () => act("loop") }, "⟳");
  loop.setAttribute("aria-label", "Loop");
  const followed = element("span", { className: "name" }, "Follow");
  const follow = element("button", { type: "button", title: "Follow (f)", onclick: () => act("follow") }, "◎ ", followed);
  const tile = element("button", { type: "button", title: "Panels beside the scene", className: "wide" }, "⊞");
  tile.setAttribute("aria-label", "Panels");
  tile.onclick = () => {
    const query = new URLSearchParams(location.search);
    query.set("layout", window.simLayout ?? "scene");
    location.assign(`/?${query}`);
  };
  const quality = element("button", { type: "button", className: "wide", hidden: true, onclick: () => window.simQuality?.toggle() }, "◐");
  quality.setAttribute("aria-label", "Draw less");
  const shot = named("picture", "Picture (p)", shoot), filmed = named("film", "Film (r)", film, "wide");
  const told = element("span", { className: "state", role: "status" }, "connecting");
  const help = element("button", { type: "button", title: "Keys (?)", className: "wide", onclick: () => (keys.hidden = !keys.hidden) }, "?");
  help.setAttribute("aria-label", "Keys");
  const keys = element("section", { id: "keys", hidden: true, ariaLabel: "Keys" }, element("h2", {}, "Keys"), element("table", {},
    ...KEYS.map(([key, what]) => element("tr", {}, element("td", {}, element("kbd", {}, key)), element("td", {}, what)))));
  // What a phone has no room for is a row of its own.
  const more = element("button", { type: "button", title: "More", className: "narrow", onclick: () => more.setAttribute("aria-expanded", foot.classList.toggle("more")) }, "⋯");
  more.setAttribute("aria-label", "More");
  more.setAttribute("aria-expanded", false);
  const foot = element("footer", { id: "foot" }, reset, toggle, step, time, line, total, loop, live, speed, told, more, quality, follow, shot, filmed, tile, help);

  slider.oninput = () => {
    dragging = true;
    act("seek", state.start + Number(slider.value));
  };
  slider.onchange = () => (dragging = false);
  // Which time is where the pointer is: the thumb is 16 px wide, and its middle is where it points.
  line.onpointermove = ({ clientX }) => {
    const { left, width } = slider.getBoundingClientRect(), part = Math.min(Math.max((clientX - left - 8) / (width - 16), 0), 1);
    if (state) slider.title = `${(state.start - state.zero + part * (state.end - state.start)).toFixed(2)} s`;
  };

  const filming = () => recorder?.state === "recording";
  // Pictures and films, as files: of the scene, or of the first one among panels.
  const scene = () => [window, ...Array.from(window.frames)].find((each) => each.__viserMutable?.canvas);
  function save(blob, suffix) {
    const link = element("a", { href: URL.createObjectURL(blob), download: `${document.title} ${time.textContent}.${suffix}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
  function shoot() {
    const page = scene();
    page?.__viserMutable.requestRender();
    // What is drawn is gone after its frame.
    page?.requestAnimationFrame(() => page.__viserMutable.canvas.toBlob((blob) => save(blob, "png")));
  }
  function film() {
    if (recorder?.state === "recording") return recorder.stop();
    const page = scene(), kind = ["video/mp4;codecs=avc1", "video/webm"].find((each) => MediaRecorder.isTypeSupported(each));
    if (!page || recorder) return;
    const parts = [];
    recorder = new MediaRecorder(page.__viserMutable.canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 1e7 });
    recorder.ondataavailable = ({ data }) => parts.push(data);
    recorder.onstop = () => {
      recorder = null;
      save(new Blob(parts, { type: kind }), kind.match(/\/(\w+)/)[1]);
      show();
    };
    recorder.onstart = show;
    // A page that draws less has all its pixels by then, as long as it is filmed.
    setTimeout(() => {
      recorder.start();
      page.__viserMutable.requestRender();
    }, 600);
  }

  function show() {
    if (!state) return;
    filmed.classList.toggle("on", filming());
    filmed.setAttribute("aria-pressed", filming());
    const runs = state.buttons && !ended;
    for (const each of [toggle, reset, step, speed]) each.hidden = !runs;
    line.style.visibility = state.end > state.start ? "visible" : "hidden";
    const word = state.playing ? "pause" : "play";
    if (toggle.dataset.word !== word) {
      const title = state.playing ? "Pause" : "Play";
      Object.assign(toggle, { title: `${title} (space)` }).setAttribute("aria-label", title);
      toggle.replaceChildren(picture((toggle.dataset.word = word)));
    }
    time.textContent = `${(state.time - state.zero).toFixed(2)} s`;
    // How long a bag is; of what goes on, the time line ends now.
    total.textContent = state.live === null && state.end > state.start ? `${(state.end - state.zero).toFixed(2)} s` : "";
    if (!dragging) {
      slider.max = Math.max(state.end - state.start, 0.001);
      slider.value = state.time - state.start;
    }
    slider.setAttribute("aria-valuetext", time.textContent);
    if (state.speeds.join() !== speed.dataset.of) {
      speed.dataset.of = state.speeds.join();
      speed.replaceChildren(...state.speeds.map(([name, value]) => element("option", { value }, name === "max" ? name : `${name} ×`)));
    }
    if (document.activeElement !== speed) speed.value = state.set;
    loop.hidden = state.loops === null || !runs;
    loop.classList.toggle("on", Boolean(state.loops));
    loop.setAttribute("aria-pressed", Boolean(state.loops));
    for (const mark of marks.children) {
      const part = (mark.dataset.at - state.start) / (state.end - state.start);
      mark.hidden = !(part >= 0 && part <= 1);
      mark.style.left = `${100 * part}%`;
    }
    live.hidden = state.live === null;
    live.classList.toggle("on", Boolean(state.live));
    live.setAttribute("aria-pressed", Boolean(state.live));
    follow.hidden = state.follow === null;
    followed.textContent = state.follow || "Follow";
    follow.classList.toggle("on", Boolean(state.follow));
    const [kind, text] = words();
    told.className = `state ${kind}`;
    if (told.textContent !== text) told.textContent = told.title = text;
  }

  // What is going on, and what is wrong, in this order.
  function words() {
    if (Date.now() - said.at < SAID) return [said.kind ?? "lost", said.text];
    if (ended) return ["lost", "ended"];
    if (socket?.readyState !== 1) return ["lost", "connection lost"];
    const silent = (Date.now() - heard) / 1000;
    if (silent > 2) return ["lost", `nothing new for ${silent.toFixed(0)} s`];
    if (late > LATE) return ["slow", `this page is ${late.toFixed(1)} s late`];
    if (filming()) return ["lost", state.playing ? "filming" : "filming, paused"];
    if (!state.playing) return ["paused", !state.buttons ? "the graph's time stands still" : state.live === false ? "looking back, paused" : "paused"];
    const rate = pictures.length / 2;
    if (rate < FEW && pictures.length > 1 && !document.hidden) return ["slow", `slow page: ${rate.toFixed(1)} pictures/s`];
    if (state.live === false) return ["running", "looking back"];
    if (state.why) return ["slow", `${state.speed.toFixed(2)} ×: ${state.why}`];
    return ["running", `running, ${state.speed.toFixed(2)} ×`];
  }

  function take(message) {
    if (message.marks) {
      marked = message.marks;
      marks.replaceChildren(...message.marks.map(([at, kind, text]) => {
        const mark = element("span", { className: `mark ${kind}`, title: text, onclick: () => act("seek", at) });
        mark.dataset.at = at;
        return mark;
      }));
    }
    if (message.ended) ended = true;
    if (message.said) said = { at: Date.now(), text: message.said };
    if (!message.state) return;
    if (!state && said.text) said.at = Date.now(); // nothing was shown before
    state = message.state;
    heard = Date.now();
    // Clocks of two machines differ: the shortest way is taken for none.
    offset = Math.min(offset, heard / 1000 - state.wall);
    late = heard / 1000 - state.wall - offset;
    show();
  }

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !state) return;
    const at = event.target, typing = at.isContentEditable || /^(TEXTAREA|SELECT)$/.test(at.tagName);
    if (typing || (at.tagName === "INPUT" && at !== slider && !/^(checkbox|button)$/.test(at.type))) return;
    if (event.key === " " && /^(BUTTON|INPUT)$/.test(at.tagName) && at !== slider && at !== toggle) return;
    const seek = (by) => act("seek", Math.min(Math.max(state.time + by, state.start), state.end));
    const toMark = (by) => {
      const ats = [...marks.children].map((mark) => Number(mark.dataset.at)).filter((at) => by * (at - state.time) > 0.02);
      if (ats.length) act("seek", by > 0 ? Math.min(...ats) : Math.max(...ats));
    };
    const faster = (by) => {
      const order = [...speed.options].map((each) => each.value), next = order[order.indexOf(speed.value) + by];
      if (next !== undefined) act("speed", Number(next));
    };
    const does = {
      " ": () => act(state.playing ? "pause" : "play"), k: () => act(state.playing ? "pause" : "play"),
      ArrowLeft: () => seek(-JUMP), ArrowRight: () => seek(JUMP), ",": () => act("back"), ".": () => act("step"),
      "[": () => toMark(-1), "]": () => toMark(1), Home: () => act("seek", state.start), End: () => act("live"), l: () => act("live"), "<": () => faster(-1), ">": () => faster(1),
      f: () => act("follow"), h: () => window.simCamera?.home(), q: () => window.simQuality?.toggle(),
      p: shoot, r: film, "?": () => (keys.hidden = !keys.hidden),
      Escape: () => (keys.hidden = true),
    }[event.key];
    if (!does) return;
    does();
    if (event.key === "Escape") return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  window.addEventListener("keydown", press, true);
  (function count() {
    const now = performance.now();
    pictures = [...pictures.filter((each) => now - each < 2000), now];
    requestAnimationFrame(count);
  })();
  setInterval(show, 500);
  function showQuality() {
    const low = window.simQuality.low();
    const what = low ? `no shadows, ${window.simQuality.leavesOut()} while it moves (q: draw all)` : "all is drawn (q: less)";
    quality.hidden = false;
    quality.title = `${window.simQuality.why()}: ${what}`;
    quality.classList.toggle("on", low);
    quality.setAttribute("aria-pressed", low);
    said = { at: Date.now(), text: quality.title, kind: low ? "slow" : "running" };
    show();
  }
  function begin() {
    window.simQuality?.onChange(showQuality);
    document.head.append(element("style", {}, STYLE));
    tile.hidden = !window.simCamera;
    if (window === window.parent) document.body.append(foot, keys);
    else document.head.append(element("style", {}, "#root { height: 100% !important; } .mantine-Paper-root[style*='position: fixed'] { bottom: 0 !important; }"));
  }
  if (document.body) begin();
  else document.addEventListener("DOMContentLoaded", begin);
  return {
    take,
    send,
    act,
    marks: () => marked,
    time: () => state?.time ?? NaN,
    playing: () => Boolean(state?.playing),
    filming: () => Boolean(recorder),
    connected(to) {
      socket = to;
      offset = Infinity;
      to.addEventListener("close", show);
    },
  };
})();
