// Drives a vehicle by a gamepad: https://w3c.github.io/gamepad/#remapping, the standard layout.
"use strict";
(() => {
  const PERIOD_MS = 50, DEAD_ZONE = 0.12, STOP = 1, PREVIOUS = 4, NEXT = 5;
  const label = document.createElement("div");
  label.id = "gamepad";
  label.style.cssText =
    "position:fixed;left:8px;bottom:8px;z-index:1000;padding:3px 9px;border-radius:4px;background:#fffd;" +
    "font:13px system-ui,sans-serif;color:#22262b;display:none";
  let socket = null, vehicles = [], chosen = 0, moving = false, pressed = {};

  const axis = (pad, index) => {
    const value = pad.axes[index] || 0, size = Math.abs(value);
    // Full deflection is 1, and the edge of the dead zone 0.
    return size < DEAD_ZONE ? 0 : Math.sign(value) * Math.min((size - DEAD_ZONE) / (1 - DEAD_ZONE), 1);
  };
  const pushed = (pad, index) => {
    const now = Boolean(pad.buttons[index] && pad.buttons[index].pressed), before = pressed[index];
    pressed[index] = now;
    return now && !before;
  };
  const open = () => {
    socket = new WebSocket(`ws://${location.host}/gamepad`);
    socket.onmessage = (event) => { vehicles = JSON.parse(event.data).vehicles; };
    socket.onclose = () => { socket = null; vehicles = []; moving = false; };
  };
  const send = (order) => socket.send(JSON.stringify({ ahead: 0, left: 0, up: 0, turn: 0, stop: false, ...order }));

  const poll = () => {
    const pad = [...navigator.getGamepads()].find((each) => each && each.connected);
    label.style.display = pad ? "block" : "none";
    if (!pad) {
      if (socket) socket.close(); // the server stops what it drove
      return;
    }
    if (!label.isConnected) document.body.append(label);
    if (!socket) open();
    if (socket.readyState !== WebSocket.OPEN || !vehicles.length) return;
    const step = pushed(pad, NEXT) - pushed(pad, PREVIOUS);
    const vehicle = vehicles[(chosen = (chosen + step + vehicles.length) % vehicles.length)];
    label.textContent = `gamepad: ${vehicle.name} (B stops${vehicles.length > 1 ? ", LB and RB choose" : ""})`;
    if (pushed(pad, STOP)) {
      moving = false;
      send({ vehicle: vehicle.name, stop: true });
      return;
    }
    const aside = axis(pad, 0), right = axis(pad, 2), up = vehicle.climbs ? -axis(pad, 3) : 0;
    const ahead = -axis(pad, 1), left = vehicle.sideways ? -aside : 0;
    const turn = -(vehicle.sideways || Math.abs(right) > Math.abs(aside) ? right : aside);
    const moves = Boolean(ahead || left || up || turn);
    // Once more when the sticks are let go; then others may drive.
    if (moves || moving) send({ vehicle: vehicle.name, ahead, left, up, turn });
    moving = moves;
  };
  setInterval(poll, PERIOD_MS);
})();
