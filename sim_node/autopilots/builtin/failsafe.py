"""Failsafes of a flight: low battery, breached geofence, lost link, lost position estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.autopilots.builtin.dialect import CRITICAL, INFO, WARNING, Cause, Mode, OrderRefused
from sim_node.autopilots.builtin.injected import GPS, OK
from sim_node.autopilots.builtin.settings import Action

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

_MODES = {Action.HOLD: Mode.HOLD, Action.RETURN: Mode.RETURN, Action.LAND: Mode.LAND}
# In order of severity, as in PX4's failsafe framework.
_RANKS = (Mode.HOLD, Mode.RETURN, Mode.LAND)
# Distance outside of the geofence (m) beyond which a vehicle does not return by itself: AC_FENCE_GIVE_UP_DISTANCE.
FAR = 100.0


class Failsafe:
    """Watches a flight. Each condition triggers its action once, when it begins.

    Attributes:
        breached: Kinds of limits of the geofence that are breached, as bits.
        breaches: Number of breaches so far.
        breach_us: Simulation time of the latest breach, us.
        position_lost: Whether there is no valid position estimate.
    """

    def __init__(self) -> None:
        self.breached, self.breaches, self.breach_us = 0, 0, 0
        self.position_lost, self._deaf_since = False, 0
        self._level = 0
        self._link_lost = False
        # When a heartbeat of a ground station was received, by the simulation's clock (us) and the wall clock (ns); the
        # latter is None for a ground station in the simulation.
        self._received: tuple[int, int | None] | None = None
        # The mode that a failsafe has entered, and its cause, until the mode is commanded again.
        self._ordered: tuple[Cause, Mode] | None = None

    def watch(self, flight: Flight) -> None:
        """Check battery, geofence, position estimate, and the link to a ground station in the simulation."""
        settings, texts, remaining = flight.settings, flight.dialect.texts, flight.battery.remaining
        thresholds = (
            (settings.battery_low, texts.battery_low, Action.WARN),
            (settings.battery_critical, texts.battery_critical, settings.battery_action),
            (
                settings.battery_emergency,
                texts.battery_emergency,
                Action.LAND if settings.battery_action > Action.WARN else Action.WARN,
            ),
        )
        level = sum(remaining < threshold for threshold, _, _ in thresholds)
        for _, text, action in thresholds[self._level : level]:
            self._act(flight, Cause.BATTERY, _MODES.get(action), text)
        self._level = level
        self._watch_fence(flight)
        self._watch_position(flight)
        if self._received is not None and self._received[1] is None:
            self.watch_link(flight, None)

    def _watch_fence(self, flight: Flight) -> None:
        settings, dialect = flight.settings, flight.dialect
        found = flight.breaches(flight.position) if flight.airborne else {}
        new = [kind for kind in found if not kind & self.breached]
        self.breached = sum(found)
        if not new or settings.fence_action is Action.NONE:
            return
        self.breaches, self.breach_us = self.breaches + 1, flight.time_us
        mode = _MODES.get(settings.fence_action)
        if mode is not None and dialect.gives_up is not None and max(found[kind] for kind in new) > FAR:
            mode = dialect.gives_up
        what = " and ".join(dialect.fence_names[kind] for kind in new)
        self._act(flight, Cause.FENCE, mode, dialect.texts.fence_breached.format(what=what))

    def taken_over(self) -> None:
        """Note that the mode was commanded, so that it is no longer that of a failsafe."""
        self._ordered = None

    def _watch_position(self, flight: Flight) -> None:
        """Check for a GPS receiver that is silent for longer than a filter can do without it."""
        fix_us = flight.measurements.fix_us
        # A filter rejects a receiver that is stuck or wrong, which leaves it without one.
        if flight.injected.type_of(GPS) != OK:
            self._deaf_since = self._deaf_since or flight.time_us
            fix_us = min(fix_us, self._deaf_since)
        else:
            self._deaf_since = 0
        lost = fix_us > 0 and flight.time_us - fix_us > flight.settings.position_timeout * 1e6
        if lost and not self.position_lost:
            self.position_lost = True
            self._act(flight, Cause.POSITION, Mode.LAND, "No valid position estimate")
        elif not lost and self.position_lost:
            self.position_lost = False
            flight.report(INFO, "Position estimate is valid again")

    def ground_station(self, flight: Flight, now_ns: int | None) -> None:
        """Note the heartbeat of a ground station.

        Args:
            flight: The flight.
            now_ns: Monotonic time, ns; None for a ground station in the simulation.
        """
        self._received = flight.time_us, now_ns
        if self._link_lost:
            self._link_lost = False
            flight.report(INFO, flight.dialect.texts.link_regained)

    def watch_link(self, flight: Flight, now_ns: int | None) -> None:
        """Check whether the ground station is silent, once one has been received.

        It must be silent by both the simulation's clock and the wall clock, so that neither a fast nor a paused
        simulation makes a steady stream of heartbeats look lost. For a ground station in the simulation, only
        simulation time counts.

        Args:
            flight: The flight.
            now_ns: Monotonic time, ns; None to check a ground station in the simulation.
        """
        if self._received is None or self._link_lost or not flight.armed:
            return
        time_us, received_ns = self._received
        if (received_ns is None) != (now_ns is None):
            return
        limit = flight.settings.link_timeout
        silent_ns = limit * 1e9 + 1.0 if received_ns is None or now_ns is None else now_ns - received_ns
        if flight.time_us - time_us > limit * 1e6 and silent_ns > limit * 1e9:
            self._link_lost = True
            action = flight.settings.link_action
            if action is not Action.NONE:
                self._act(flight, Cause.LINK, _MODES.get(action), flight.dialect.texts.link_lost)

    def _act(self, flight: Flight, cause: Cause, mode: Mode | None, text: str) -> None:
        """Send a text, and enter a mode, unless it is None or the vehicle stays in its mode."""
        if mode is not None and mode not in flight.dialect.modes:
            mode = Mode.HOLD  # a rover stops where a multirotor lands
        if mode is not None and flight.armed and not flight.airborne and flight.dialect.disarms_on_ground:
            flight.report(CRITICAL, f"{text}: disarming")
            flight.disarm(reason="failsafe")
            return
        if mode is None or not flight.airborne or self._goes_on(flight, cause, mode):
            flight.report(WARNING, text)
            return
        flight.report(CRITICAL, f"{text}: {flight.dialect.modes[mode].name}")
        try:
            flight.set_mode(mode)
            self._ordered = cause, mode
        except OrderRefused as refusal:
            flight.report(CRITICAL, f"failsafe: {refusal}")

    def _goes_on(self, flight: Flight, cause: Cause, mode: Mode) -> bool:
        """Return whether the vehicle stays in its mode. In the hold mode it may be on its way to a position."""
        now, dialect = flight.mode, flight.dialect
        if (mode is now and mode is not Mode.HOLD) or (cause, now, mode) in dialect.ignores:
            return True
        if self._ordered is None:
            return False
        if dialect.ranks_failsafes:
            return _RANKS.index(mode) < _RANKS.index(now)
        # events.cpp: "GCS + Battery: Continuing Landing".
        return cause is Cause.LINK and self._ordered == (Cause.BATTERY, Mode.LAND)
