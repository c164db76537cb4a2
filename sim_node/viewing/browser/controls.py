"""The controls of what plays: play and pause, step, reset, speed, and a slider for what can be sought."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.plugins import blamed
from sim_node.viewing.browser.transport import SPEEDS, Transport

# What each button asks of a transport.
_BUTTONS = {"Play": "play", "Pause": "pause", "Step": "step", "Reset": "reset"}


class Controls:
    """Buttons of a panel; what a transport refuses is told to whoever asked."""

    def __init__(self, gui: Any, transport: Transport | None) -> None:
        self._transport = transport
        self._time = gui.add_markdown("")
        self._told = ""
        self._start = 0.0
        if transport is None:
            return
        if transport.span is not None:
            self._start, end = (each / 1e9 for each in transport.span)
            length = max(end - self._start, 1e-3)
            self._slider = gui.add_slider("Time", 0.0, length, min(0.01, length), 0.0)
            self._slider.on_update(self._sought)
        self._buttons = gui.add_button_group("Run", tuple(_BUTTONS))
        self._buttons.on_click(lambda event: _ask(event, getattr(transport, _BUTTONS[self._buttons.value])))
        speeds = dict(SPEEDS)
        now = next((name for name, speed in speeds.items() if speed == transport.speed_set), None)
        if now is None:
            now = f"{transport.speed_set:g}"
            speeds[now] = transport.speed_set
        self._speed = gui.add_dropdown("Speed", tuple(speeds), initial_value=now)
        self._speed.on_update(
            lambda event: (
                _ask(event, lambda: transport.set_speed(speeds[self._speed.value]))
                if event.client_id is not None
                else None
            )
        )

    def show(self, time_ns: int) -> None:
        """The time, from the start of what can be sought, and the speed."""
        transport, seconds = self._transport, time_ns / 1e9 - self._start
        text = f"**{seconds:.2f} s**"
        if transport is not None:
            text += f"  ·  {transport.speed:.2f} × real time" if transport.playing else "  ·  paused"
            if transport.span is not None:
                self._slider.value = min(max(seconds, 0.0), self._slider.max)
        if text != self._told:
            self._told = self._time.content = text

    def _sought(self, event: Any) -> None:
        """Only what a person has moved: the slider also moves as time goes on."""
        if event.client_id is not None and self._transport is not None:
            self._transport.seek(round((self._start + self._slider.value) * 1e9))


def _ask(event: Any, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as refusal:  # whatever the loop raises is told where it was asked for
        if event.client is not None:
            event.client.add_notification("Not done", str(blamed(refusal) or refusal), auto_close_seconds=5.0)
