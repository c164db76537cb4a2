"""Play a bag in a separate thread, with pause, step, seek, rate and looping."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Protocol, TypeVar

from sim_node.recording.bag import BagMessage
from sim_node.recording.playback import Playback
from sim_node.recording.stamps import NoDefinition, Shift, shift_of
from sim_node.simulation.pacing import Pace, Pacer
from sim_node.simulation.worker import Refused, Worker

T = TypeVar("T")
# Gap between loops and after backward seeks, so that stamps later than the recording times of their messages do not
# overlap what follows.
GAP_NS = 100_000_000
# When playing as fast as possible, calls are served after this number of messages.
BURST = 250
# Period at which the time is published while paused, for late subscribers.
STANDING_CLOCK_S = 1.0
# In markers and goals, a stamp of zero means "no time" or "the latest" and is kept. In these messages, and in those
# recorded when a clock started at zero, it is an ordinary time.
ZERO_IS_A_TIME = ("rosgraph_msgs/msg/Clock", "tf2_msgs/msg/TFMessage")
BEGINNING_NS = 1_000_000_000
# How long to wait until reliable subscribers have received the last messages.
DELIVERY_TIMEOUT_S = 5.0
LISTEN_S = 0.02
# Longer waits for the next message are reported.
LONG_WAIT_S = 60.0


class PlaybackTarget(Protocol):
    """Receives what a Player plays."""

    @property
    def sends(self) -> Mapping[int, Callable[[bytes], None]]:
        """Send functions of the topics to play, by topic index in the bag."""

    def clock(self, time_ns: int) -> None:
        """Publish the time."""

    def ready(self) -> bool:
        """Return whether the expected subscribers exist; by default True, since they may come later."""
        return True

    def delivered(self) -> bool:
        """Return whether everything sent reliably has arrived; by default True, without waiting.

        May block for well below a second.
        """
        return True

    def warn(self, text: str) -> None:
        """Report a message to the user."""


class Player:
    """Plays a bag on a target. Methods may be called from any thread, except by the target itself in `sends`.

    Positions are nanoseconds from the start of the bag. Requests that are invalid in the present state raise Refused.

    Args:
        playback: The messages.
        target: Receives the messages.
        rate: Bag seconds per wall second; 0 for as fast as possible.
        loop: Whether to restart at the end.
        paused: Whether to start paused.
        clock_rate: Rate at which the time is published, per wall second; 0 for never.
        step_ns: Length of a step; 0 for up to the next message.
        continuous: Whether stamps and clock never go back. After a loop or a backward seek they continue, and all
            stamps inside messages are shifted. If False, everything is as recorded, and time jumps back.
            back.
    """

    def __init__(
        self,
        playback: Playback,
        target: PlaybackTarget,
        *,
        rate: float = 1.0,
        loop: bool = False,
        paused: bool = False,
        clock_rate: float = 0.0,
        step_ns: int = 0,
        continuous: bool = True,
    ) -> None:
        self.playback = playback
        self.loop = loop
        self.paused = paused
        self.step_ns = step_ns
        self.loops = 0
        self.sent = 0
        self.began = False
        self._target = target
        self._continuous = continuous
        self._clock_period_s = 1.0 / clock_rate if clock_rate else None
        self._next_clock = 0.0
        self._pacer = Pacer(rate)
        if paused:
            self._pacer.stop()
        # Position in bag time, and the offset of the published time
        self._now_ns = playback.start_ns
        self._ahead_ns = 0
        self._shifts: dict[int, Shift | None] = {}
        self._damage_reported = 0
        self._messages: Iterator[BagMessage] = iter(())
        self._next: BagMessage | None = None
        self._sending = False
        # Whether there is nothing to play, so that looping would never end
        self._empty = False
        # The message, or end, for which a long wait was reported
        self._awaited_ns: int | None = None
        self._worker = Worker("replay", self._work)

    # For any thread

    def start(self, *, ended: Callable[[], None] = lambda: None) -> None:
        """Start the thread. `ended` is called from it after the last message, or when it ends for another reason."""
        self._worker.start(ended)

    def stop(self) -> None:
        """Stop after the current message, and wait. Raises the error that ended the thread, if any."""
        self._worker.end()
        self._worker.join()

    def call(self, function: Callable[[], T]) -> T:
        """Run a function between two messages and return its result, like Loop.call.

        Raises Refused after the end, and for calls by the target while it is being sent to.
        """
        if self._sending and self._worker.is_current:
            raise Refused("the playback target cannot do this while it is sent to; call from another thread")
        return self._worker.call(function)

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run a function between two messages without waiting, like Loop.submit. Raises Refused after the end."""
        return self._worker.submit(function)

    def end(self) -> None:
        """End as if everything had been played. The last messages may still arrive."""
        self.call(self._end)

    def pause(self) -> None:
        """Pause."""
        self.call(self._pause)

    def resume(self) -> None:
        """Resume."""
        self.call(self._resume)

    def toggle(self) -> None:
        """Pause or resume."""
        self.call(lambda: self._resume() if self.paused else self._pause())

    def step(self) -> None:
        """Send the next message, or those of the next `step_ns`. Raises Refused while running and at the end."""
        self.call(self._step)

    def seek(self, position_ns: int) -> None:
        """Seek to a position, staying running or paused. Raises Refused outside of the played range."""
        self.call(lambda: self._seek(position_ns))

    def set_rate(self, rate: float) -> None:
        """Change the rate from now on. Raises ValueError."""
        self.call(lambda: self._set_rate(rate))

    @property
    def stopping(self) -> bool:
        """Whether it has ended or is about to."""
        return self._worker.stopping

    @property
    def position_ns(self) -> int:
        """Current position, from the start of the bag."""
        now_ns = self._now_ns
        if self.began and not (self.paused or self._pacer.free):
            now_ns = max(now_ns, self._pacer.now_ns())
        return min(now_ns, self.playback.stop_ns) - self.playback.bag.start_ns

    def status(self) -> str:
        """Return state and position as text."""
        state = "waiting" if not self.began else "paused" if self.paused else "ended" if self.stopping else "playing"
        return f"{state} at {self.position_ns / 1e9:.9g} s"

    def pace(self) -> Pace:
        """Return how well playback keeps up with the wall clock."""
        return self._pacer.pace()

    # In the player's thread

    def _work(self) -> None:
        while not self.stopping and not self._target.ready():
            self._worker.serve(LISTEN_S)
        if not self.stopping:
            self._cue(self.playback.start_ns)
            self.began = True
        while not self.stopping:
            self._turn()

    def _turn(self) -> None:
        """Process what is due (messages, the time, the end), or wait for the next event."""
        self._publish_time()
        if self.paused:
            self._worker.serve(STANDING_CLOCK_S)
            return
        due_ns = self.playback.stop_ns if self._next is None else self._next.time_ns
        wait = self._pacer.wait(due_ns)
        if wait > 0.0:
            if wait > LONG_WAIT_S and due_ns != self._awaited_ns:
                self._report_wait(due_ns)
            self._worker.serve(wait if self._clock_period_s is None else min(wait, self._clock_period_s))
        elif self._next is None:
            self._finish()
        else:
            self._pacer.ticked(due_ns)
            self._play(None if self._pacer.free else self._pacer.now_ns())
        self._worker.serve()

    def _play(self, until_ns: int | None, limit: int = BURST) -> None:
        """Send the messages up to a time (only the next one for None), at most `limit` of them."""
        message, messages, sends, ahead_ns = self._next, self._messages, self._target.sends, self._ahead_ns
        self._sending = True
        try:
            while message is not None and limit and (until_ns is None or message.time_ns <= until_ns):
                sends[message.topic](self._moved(message) if ahead_ns else message.data)
                self.sent += 1
                self._now_ns = message.time_ns
                message = next(messages, None)
                limit -= 1
                if self._worker.requests or self._worker.stopping:
                    break
        finally:
            self._sending = False
        self._next = message
        if message is None:
            self._report_damage()

    def _finish(self) -> None:
        """Handle the end of the range: the next loop, or the end."""
        if self.loop and not self._empty:
            self.loops += 1
            self._now_ns = self.playback.stop_ns
            self._cue(self.playback.start_ns)
            return
        self._await_delivery()
        if not self._worker.requests:
            self._worker.end()

    def _end(self) -> None:
        self._await_delivery()
        self._worker.end()

    def _await_delivery(self) -> None:
        """Wait until the last messages have arrived or a call is requested."""
        deadline = time.monotonic() + DELIVERY_TIMEOUT_S
        while not self.stopping and not self._worker.requests and not self._target.delivered():
            if time.monotonic() > deadline:
                self._target.warn(f"the last messages were not acknowledged within {DELIVERY_TIMEOUT_S:g} s")
                break

    def _cue(self, time_ns: int) -> None:
        """Go to a time: send latched messages at once and the others from there on, after a gap if needed."""
        published_ns = self._now_ns + self._ahead_ns
        gap_ns = GAP_NS if self.began and time_ns <= self._now_ns else 0
        if self._continuous:
            self._ahead_ns = max(self._ahead_ns, published_ns + gap_ns - time_ns)
        self._messages = self.playback.after(time_ns)
        self._now_ns = time_ns
        self._pacer.anchor(time_ns - (0 if self.paused else gap_ns))
        self._publish_clock(time_ns if self.paused else time_ns - gap_ns)
        self._next_clock = time.monotonic() + (self._clock_period_s or 0.0)
        latched, sends = self.playback.before(time_ns), self._target.sends
        self._sending = True
        try:
            for message in latched:
                sends[message.topic](self._moved(message) if self._ahead_ns else message.data)
                self.sent += 1
        finally:
            self._sending = False
        self._next = next(self._messages, None)
        self._empty = self._next is None and time_ns == self.playback.start_ns

    def _seek(self, position_ns: int) -> None:
        bag, playback = self.playback.bag, self.playback
        time_ns = bag.start_ns + position_ns
        if not playback.start_ns <= time_ns <= playback.stop_ns:
            low, high = ((end - bag.start_ns) / 1e9 for end in (playback.start_ns, playback.stop_ns))
            raise Refused(f"{position_ns / 1e9:g} s is outside of the played range, {low:.9g} to {high:.9g} s")
        if not self.began:
            raise Refused("the replay has not started yet")
        self._now_ns = bag.start_ns + self.position_ns
        self._cue(time_ns)

    def _step(self) -> None:
        if not self.paused:
            raise Refused("the replay is running; pause it to step")
        if not self.began:
            raise Refused("the replay has not started yet")
        if self._next is None and not (self.step_ns and self._now_ns < self.playback.stop_ns):
            if not self.loop or self._empty:
                raise Refused("at the end; seek back or resume")
            self.loops += 1
            self._cue(self.playback.start_ns)
        if self.step_ns:
            until_ns = min(self._now_ns + self.step_ns, self.playback.stop_ns)
        else:
            assert self._next is not None
            until_ns = self._next.time_ns
        self._publish_clock(until_ns)
        if self.step_ns:
            while self._next is not None and self._next.time_ns <= until_ns and not self.stopping:
                self._play(until_ns)
        else:
            self._play(until_ns, limit=1)
        self._now_ns = until_ns
        self._pacer.anchor(until_ns)

    def _pause(self) -> None:
        if not self.paused:
            self._now_ns = self.playback.bag.start_ns + self.position_ns
            self.paused = True
            self._pacer.stop()
            self._pacer.anchor(self._now_ns)

    def _resume(self) -> None:
        if self.paused:
            self.paused = False
            self._pacer.go()

    def _set_rate(self, rate: float) -> None:
        if self._pacer.free:
            self._pacer.anchor(self._now_ns)
        self._pacer.set_real_time_factor(rate)

    def _publish_time(self) -> None:
        """Publish the clock when it is due."""
        if self._clock_period_s is None or not self._clock_is_due():
            return
        if self.paused:
            self._publish_clock(self._now_ns)
        elif self._pacer.free:
            self._publish_clock(self._now_ns if self._next is None else self._next.time_ns)
        else:
            # Not ahead of messages that are still to be sent: after a long delay, the next message sets the time back.
            next_ns = self.playback.stop_ns if self._next is None else self._next.time_ns
            self._publish_clock(min(self._pacer.now_ns(), next_ns))

    def _clock_is_due(self) -> bool:
        now = time.monotonic()
        if now < self._next_clock:
            return False
        period = STANDING_CLOCK_S if self.paused else self._clock_period_s
        assert period is not None
        # On a regular grid, unless it is late by more than a period
        self._next_clock = max(self._next_clock + period, now)
        return True

    def _publish_clock(self, time_ns: int) -> None:
        if self._clock_period_s is not None:
            self._target.clock(time_ns + self._ahead_ns)

    def _moved(self, message: BagMessage) -> bytes:
        """Shift the stamps of a message. If they cannot be located, return it unchanged and warn once."""
        topic = self.playback.bag.topics[message.topic]
        try:
            if message.topic not in self._shifts:
                self._shifts[message.topic] = shift_of(topic.type, topic.definition)
            shift = self._shifts[message.topic]
            if shift is None:
                return message.data
            zeros = topic.type in ZERO_IS_A_TIME or message.time_ns < BEGINNING_NS
            return shift(message.data, self._ahead_ns, zeros)
        except (NoDefinition, ValueError) as fault:
            self._shifts[message.topic] = None
            self._target.warn(f"{topic.name} ({topic.type}): its stamps are not shifted: {fault}")
            return message.data

    def _report_wait(self, due_ns: int) -> None:
        """Report a gap in the bag, for example between messages recorded by different clocks."""
        self._awaited_ns = due_ns
        begin, end = ((time_ns - self.playback.bag.start_ns) / 1e9 for time_ns in (self._now_ns, due_ns))
        self._target.warn(
            f"no message to play from {begin:.10g} s to {end:.10g} s of the bag; seek to {end:.10g} s to skip the gap"
        )

    def _report_damage(self) -> None:
        damage = self.playback.bag.damage
        for line in damage[self._damage_reported :]:
            self._target.warn(line)
        self._damage_reported = len(damage)
