"""Conversion of an autopilot's boot time to stamps of the graph, by TIMESYNC or by times of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

# Maximum round trip: longer ones give a poor estimate of the offset. MAVROS and PX4 drop such samples, too.
MAX_ROUND_TRIP_NS = 10_000_000
# This many good round trips are averaged before they replace arrival times.
SAMPLES_TO_CONVERGE = 10
# An offset that changes by more than this for this many consecutive samples is a jump of one of the clocks.
JUMP_NS = 100_000_000
SAMPLES_TO_JUMP = 5
# Boot time that goes back by more than this means a reboot; less means messages out of order.
REBOOT_NS = 1_000_000_000
# Unix time in a message is accepted if it is this close to the graph's time.
UNIX_NEAR_NS = 60_000_000_000
# Maximum drift of the offset if messages arrive later and later: 1 ms per second.
DRIFT = 1e-3
_MAX_GAIN, _MIN_GAIN = 0.2, 0.01
# Milliseconds since boot have 32 bits, and wrap after 49.7 days.
_WRAP_NS = 2**32 * 1_000_000
# They have wrapped if the sum is this close to the expected time. Otherwise the autopilot has rebooted.
WRAP_NEAR_NS = 60_000_000_000


@dataclass
class ClockEvents:
    """Counters of clock irregularities."""

    reboots: int = 0
    jumps: int = 0
    slow_round_trips: int = 0


class BootClock:
    """Converts time since boot to nanoseconds of the graph's clock.

    Without TIMESYNC, the offset is the smallest difference between arrival and boot time, with a limited drift: the
    message with the shortest delay is the best estimate. With TIMESYNC, it is the exponentially smoothed centre of
    round trips.
    """

    def __init__(self) -> None:
        self.events = ClockEvents()
        self.round_trip_ns: int | None = None
        # Latest time since boot, and its stamp.
        self._boot_ns = self._stamp_ns = 0
        # Wraps of milliseconds since boot, ns.
        self._wraps_ns = 0
        self._by_arrival: int | None = None
        self._arrival_ns = 0
        self._late = 0
        self._by_round_trip = 0.0
        self._round_trips = 0
        self._off = 0

    @property
    def offset_ns(self) -> int | None:
        """Nanoseconds to add to boot time; None before the first message."""
        return round(self._by_round_trip) if self.synchronised else self._by_arrival

    @property
    def synchronised(self) -> bool:
        """Whether round trips determine the offset."""
        return self._round_trips >= SAMPLES_TO_CONVERGE

    def stamp_ms(self, boot_ms: int, arrival_ns: int) -> int:
        """Return the stamp of a message with milliseconds since boot, which wrap after 49.7 days."""
        if not boot_ms:
            return arrival_ns
        boot_ns = boot_ms * 1_000_000 + self._wraps_ns
        if boot_ns < self._boot_ns - REBOOT_NS:
            boot_ns = self._unwrapped(boot_ms * 1_000_000, arrival_ns)
        return self.stamp_ns(boot_ns, arrival_ns)

    def _unwrapped(self, boot_ns: int, arrival_ns: int) -> int:
        """Return a time since boot that went back, with as many wraps as the time since the last one explains."""
        offset = self._by_round_trip if self._round_trips else self._by_arrival
        missing = round(arrival_ns - (offset or 0) - boot_ns)
        wraps_ns = round(missing / _WRAP_NS) * _WRAP_NS
        self._wraps_ns = wraps_ns if abs(missing - wraps_ns) < WRAP_NEAR_NS else 0
        return boot_ns + self._wraps_ns

    def stamp_us(self, time_us: int, arrival_ns: int) -> int:
        """Return the stamp of a message with microseconds since boot, or Unix time.

        Unix time that differs much from the graph's time is ignored; the arrival time is returned instead.
        """
        if time_us > 1_000_000_000_000_000:  # 2001 in Unix time, 31 years since boot
            time_ns = time_us * 1000
            return time_ns if abs(time_ns - arrival_ns) < UNIX_NEAR_NS else arrival_ns
        return self.stamp_ns(time_us * 1000, arrival_ns)

    def stamp_ns(self, boot_ns: int, arrival_ns: int) -> int:
        """Return the stamp of an event `boot_ns` after boot that arrived at arrival_ns; never later than arrival_ns.

        Stamps of later events are not earlier, except after a reboot or a jump: a better estimate of the offset may be
        smaller, but no jump.
        """
        if boot_ns == 0:
            return arrival_ns
        if boot_ns < self._boot_ns - REBOOT_NS:
            self._restart()
            self._wraps_ns = boot_ns // _WRAP_NS * _WRAP_NS
            self.events.reboots += 1
        offset = self._follow(arrival_ns - boot_ns, arrival_ns)
        if self._round_trips >= SAMPLES_TO_CONVERGE:
            offset = round(self._by_round_trip)
        stamp_ns = boot_ns + offset
        if boot_ns >= self._boot_ns:
            if 0 < self._stamp_ns - stamp_ns < JUMP_NS:
                stamp_ns = self._stamp_ns
            self._boot_ns, self._stamp_ns = boot_ns, stamp_ns
        return stamp_ns if stamp_ns < arrival_ns else arrival_ns

    def stamp_of_old(self, boot_ns: int, arrival_ns: int, *, of_ms: bool = False) -> int:
        """Return the stamp of a message that may repeat an old time, such as that of a home, without learning from it.

        Args:
            boot_ns: Time since boot, ns.
            arrival_ns: Time of arrival, ns. The stamp is never later.
            of_ms: Whether the time was in milliseconds, which wrap.
        """
        offset_ns = self.offset_ns
        if not boot_ns or offset_ns is None:
            return arrival_ns
        return min(boot_ns + offset_ns + (self._wraps_ns if of_ms else 0), arrival_ns)

    def round_trip(self, sent_ns: int, boot_ns: int, received_ns: int) -> None:
        """Add an answered TIMESYNC.

        The autopilot's time is assumed to be in the middle of the round trip. Slow round trips are counted and ignored.

        Args:
            sent_ns: Time of the request on the graph's clock, ns.
            boot_ns: The autopilot's time, ns.
            received_ns: Time of the answer on the graph's clock, ns.
        """
        elapsed_ns = received_ns - sent_ns
        if elapsed_ns < 0:
            return
        self.round_trip_ns = elapsed_ns
        if boot_ns - self._boot_ns > _WRAP_NS // 2:
            # The milliseconds of telemetry had wrapped before its first message was received.
            self._wraps_ns = boot_ns // _WRAP_NS * _WRAP_NS
        if boot_ns < self._boot_ns - REBOOT_NS:
            return  # the next telemetry shows whether it has rebooted
        if elapsed_ns > MAX_ROUND_TRIP_NS:
            self.events.slow_round_trips += 1
            return
        offset = (sent_ns + received_ns) / 2 - boot_ns
        if self._round_trips and abs(offset - self._by_round_trip) > JUMP_NS:
            self._off += 1
            if self._off >= SAMPLES_TO_JUMP:
                self.events.jumps += 1
                self._restart()
            return
        self._off = 0
        gain = max(_MIN_GAIN, _MAX_GAIN * (1.0 - self._round_trips / 200), 1.0 / (self._round_trips + 1))
        self._by_round_trip += gain * (offset - self._by_round_trip)
        self._round_trips += 1

    def forget(self) -> None:
        """Drop all estimates, because the graph's clock was set."""
        self._restart()

    def _follow(self, sample: int, arrival_ns: int) -> int:
        """Update the lower envelope of the offsets of arrivals."""
        offset = self._by_arrival
        if offset is None or sample <= offset:
            self._by_arrival, self._late = sample, 0
        elif sample - offset > JUMP_NS:
            # A delayed message, or a clock that was set: only the latter persists.
            self._late += 1
            if self._late >= 20 * SAMPLES_TO_JUMP:
                self.events.jumps += 1
                self._by_arrival, self._late, self._round_trips = sample, 0, 0
        else:
            self._late = 0
            drift = int(DRIFT * max(0, arrival_ns - self._arrival_ns))
            self._by_arrival = min(sample, offset + drift)
        self._arrival_ns = arrival_ns
        assert self._by_arrival is not None
        return self._by_arrival

    def _restart(self) -> None:
        self._boot_ns = self._stamp_ns = self._late = 0
        self._by_arrival = None
        self._by_round_trip, self._round_trips, self._off = 0.0, 0, 0


class TimesyncAnswer(NamedTuple):
    """Times of an answered TIMESYNC.

    Attributes:
        observed_ns: The autopilot's offset by this answer, ns.
        estimated_ns: The estimated offset, ns.
        round_trip_ns: The round trip, ns.
    """

    observed_ns: int
    estimated_ns: int
    round_trip_ns: int


def answer_of(fields: Any, clock: BootClock, now_ns: int) -> TimesyncAnswer | None:
    """Return the times of a TIMESYNC received at a time of the graph (ns); None if it does not answer our request."""
    if not 0 < fields.tc1 < 2**62 or not 0 < fields.ts1 <= now_ns:
        return None
    return TimesyncAnswer((fields.ts1 + now_ns) // 2 - fields.tc1, clock.offset_ns or 0, now_ns - fields.ts1)
