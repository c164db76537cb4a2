"""The playback bar at the foot of a page: what it controls (a run or a bag), and what it shows."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from sim_node.plugins import blamed
from sim_node.simulation import Loop

# Selectable speeds; 0 is as fast as possible.
SPEEDS = {"0.1": 0.1, "0.25": 0.25, "0.5": 0.5, "1": 1.0, "2": 2.0, "5": 5.0, "10": 10.0, "max": 0.0}
MAX_SPEED = 1e3


# Step size when looking back, and of a bag, ns.
STEP_NS = round(1e9 / 60.0)
# The reason for slowness is shown below this fraction of the requested speed.
_SLOW = 0.95
# Window for measuring the speed of an uncontrolled clock, and the minimum time for a result, wall s.
_LONG, _SHORT = 3.0, 1.0


class Mark(NamedTuple):
    """A mark on the timeline: its time, ns; "note", "warning" or "error"; and its text."""

    time_ns: int
    kind: str
    text: str


class Transport(Protocol):
    """Something that plays. Methods may be called from any thread, and raise the reason of a refusal."""

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time of the seekable range, ns; None if time only moves forward."""

    @property
    def live(self) -> bool | None:
        """Whether the present is shown; None for a recording."""

    @property
    def why(self) -> str:
        """The reason if it is slower than requested, or an empty string."""

    @property
    def loops(self) -> bool | None:
        """Whether playback restarts at the end; None if there is no end, in which case it must not be set."""

    @loops.setter
    def loops(self, loops: bool) -> None: ...

    def marks(self) -> Sequence[Mark]:
        """Return the marks of the timeline."""

    @property
    def playing(self) -> bool:
        """Whether time is running."""

    @property
    def speed(self) -> float:
        """Measured speed, in its seconds per wall second."""

    @property
    def speed_set(self) -> float:
        """Requested speed, in its seconds per wall second; 0 for as fast as possible."""

    def play(self) -> None:
        """Let time run."""

    def pause(self) -> None:
        """Stop time."""

    def step(self) -> None:
        """Advance by one step while paused."""

    def reset(self) -> None:
        """Go back to the start."""

    def set_speed(self, speed: float) -> None:
        """Change the speed; 0 for as fast as possible."""

    def seek(self, time_ns: int) -> None:
        """Seek to a time within the span."""

    def to_live(self) -> None:
        """Return to the present."""


class FootControls:
    """The state of a page's playback bar, for JSON, and its actions.

    Args:
        transport: The controlled Transport; None if the time cannot be controlled, such as that of the graph.
        time_ns: Returns the shown time.
        follow: Starts or stops following a frame.
        followed: Returns the followed frame, or an empty string.
        noted: Returns the marks of the page's messages.
        set_number: Changes a parameter of the world, by its key path.
        focus: Centres the view on what was double-clicked.
        wall: Returns wall time, s.
    """

    def __init__(
        self,
        transport: Transport | None,
        time_ns: Callable[[], int],
        follow: Callable[[], None],
        followed: Callable[[], str],
        noted: Callable[[], Sequence[Mark]] = tuple,
        set_number: Callable[[str, float], None] = lambda path, value: None,
        focus: Callable[[], None] = lambda: None,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._passed: deque[tuple[float, float]] = deque()
        self._set_number, self._focus = set_number, focus
        self._transport, self._time_ns = transport, time_ns
        self._follow, self._followed, self._noted = follow, followed, noted

    def state(self) -> dict[str, Any]:
        """Return the state. Times are in seconds; `wall` is the time of this call."""
        transport, time_s = self._transport, self._time_ns() / 1e9
        state = {"time": time_s, "zero": 0.0, "wall": time.time(), "follow": self._followed(), "buttons": False}
        state |= {"start": time_s, "end": time_s, "playing": True, "live": None, "speed": 1.0, "set": 1.0, "why": ""}
        state["loops"] = None
        if transport is None:
            speed = self._measured(time_s)
            return {**state, "speed": speed, "playing": speed > 0.0, "speeds": []}
        span, speeds = transport.span, dict(SPEEDS)
        if transport.speed_set not in speeds.values():
            speeds[f"{transport.speed_set:g}"] = transport.speed_set
        if span is not None:
            state |= {"start": span[0] / 1e9, "end": max(span[1] / 1e9, time_s if transport.live else 0.0)}
        if transport.live is None:
            state["zero"] = state["start"]
        speed, wanted = transport.speed, transport.speed_set
        why = transport.why if transport.playing and 0.0 < speed < _SLOW * wanted else ""
        state |= {"buttons": True, "playing": transport.playing, "live": transport.live, "speed": speed, "why": why}
        return {**state, "set": wanted, "loops": transport.loops, "speeds": list(speeds.items())}

    def _measured(self, time_s: float) -> float:
        """Return the measured speed of an uncontrolled clock, such as the graph's; 1 until it is known."""
        now, passed = self._wall(), self._passed
        if passed and (time_s < passed[-1][1] or passed[-1][0] < now - _LONG):
            passed.clear()
        passed.append((now, time_s))
        while len(passed) > 1 and passed[1][0] < now - _LONG:
            passed.popleft()
        since, from_s = passed[0]
        return (time_s - from_s) / (now - since) if now - since > _SHORT else 1.0

    def marks(self) -> list[list[Any]]:
        """Return the marks of the timeline."""
        found = [*self._noted(), *(() if self._transport is None else self._transport.marks())]
        return [[mark.time_ns / 1e9, mark.kind, mark.text] for mark in found]

    def act(self, word: str, to: float, what: str = "") -> str:
        """Carry out a page's request. Return why it failed, or an empty string. Invalid requests are ignored."""
        transport = self._transport
        try:
            if word == "follow":
                self._follow()
            elif word == "focus":
                self._focus()
            elif word == "set" and math.isfinite(to):
                self._set_number(what, to)
            elif transport is None or not math.isfinite(to):
                return ""
            elif word in ("play", "pause", "step", "reset"):
                getattr(transport, word)()
            elif word == "loop" and transport.loops is not None:
                transport.loops = not transport.loops
            elif word == "live" and transport.live is not None:
                transport.to_live()
            elif word == "speed" and 0.0 <= to <= MAX_SPEED:
                transport.set_speed(to)
            elif word in ("seek", "back") and transport.span is not None:
                low, high = transport.span
                if word == "back":
                    transport.pause()
                wanted = self._time_ns() - STEP_NS if word == "back" else round(to * 1e9)
                transport.seek(min(max(wanted, low), high))
        except Exception as refusal:  # of the run
            return str(blamed(refusal) or refusal)
        return ""


class LoopTransport:
    """Transport of a run."""

    span: tuple[int, int] | None = None
    live: bool | None = True
    why = "the run cannot keep up"
    loops: bool | None = None

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._steps = max(1, round(1e9 / 60.0 / loop.simulation.world.time.step_ns))

    @property
    def playing(self) -> bool:
        """Whether the run is not paused."""
        return not self._loop.paused

    @property
    def speed(self) -> float:
        """The measured real-time factor."""
        return 0.0 if self._loop.paused else self._loop.pace().real_time_factor

    @property
    def speed_set(self) -> float:
        """The requested real-time factor."""
        return self._loop.real_time_factor

    def play(self) -> None:
        """Resume the run."""
        self._loop.resume()

    def pause(self) -> None:
        """Pause the run."""
        self._loop.pause()

    def step(self) -> None:
        """Pause, then advance by a sixtieth of a second, in whole steps of the world."""

        def pause_and_step() -> None:
            self._loop.pause()
            self._loop.step(self._steps)

        self._loop.call(pause_and_step)

    def reset(self) -> None:
        """Go back to the start of the world."""
        self._loop.reset()

    def set_speed(self, speed: float) -> None:
        """Set the real-time factor."""
        self._loop.set_real_time_factor(speed)

    def marks(self) -> Sequence[Mark]:
        """Return no marks."""
        return ()

    def seek(self, time_ns: int) -> None:
        """Do nothing, because a run cannot seek."""

    def to_live(self) -> None:
        """Do nothing, because a run is always live."""
