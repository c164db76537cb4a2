"""Failsafes of a flight: what a low battery, a breached geofence, a lost link or a lost position lets it do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.autopilots.builtin.dialect import CRITICAL, INFO, WARNING, Cause, Mode, OrderRefused
from sim_node.autopilots.builtin.injected import GPS, OK
from sim_node.autopilots.builtin.settings import Action

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

_MODES = {Action.HOLD: Mode.HOLD, Action.RETURN: Mode.RETURN, Action.LAND: Mode.LAND}
# From the mildest to the worst, as the actions of PX4's failsafe framework.
_RANKS = (Mode.HOLD, Mode.RETURN, Mode.LAND)
# What is further outside of its geofence than this (m) does not come back by itself: AC_FENCE_GIVE_UP_DISTANCE.
FAR = 100.0


class Failsafe:
    """Watches one flight. Each condition acts once, when it begins.

    Attributes:
        breached: the kinds of limits of the geofence that are breached; breaches: how often that began, and when it
            last did (us). position_lost: whether there is no valid position estimate.
    """

    def __init__(self) -> None:
        self.breached, self.breaches, self.breach_us = 0, 0, 0
        self.position_lost, self._deaf_since = False, 0
        self._level = 0
        self._link_lost = False
        # When a ground station was received, by the simulator's clock (us) and the wall's; None for the wall's if it is
        # one in the simulation.
        self._received: tuple[int, int | None] | None = None
        # The mode that a failsafe has changed to, as long as nobody has changed it since.
        self._ordered: tuple[Cause, Mode] | None = None

    def watch(self, flight: Flight) -> None:
        """Look at battery and fence."""
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
        """Note that the mode is another one, or was commanded anew: no failsafe stands for it any more."""
        self._ordered = None

    def _watch_position(self, flight: Flight) -> None:
        """Look for a receiver that is silent for longer than a filter can do without it."""
        fix_us = flight.measurements.fix_us
        # A filter rejects a receiver that is stuck or wrong, and then has none.
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
        """Note that a ground station's heartbeat was received; None for the time of one in the simulation."""
        self._received = flight.time_us, now_ns
        if self._link_lost:
            self._link_lost = False
            flight.report(INFO, flight.dialect.texts.link_regained)

    def watch_link(self, flight: Flight, now_ns: int | None) -> None:
        """Look for a silent ground station, once there has been one.

        Both clocks count, the simulator's and the wall's, so that neither a fast simulation nor a paused one takes a
        steady stream of heartbeats for a broken one. Of a station in the simulation, the simulator's alone counts.
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
        """Send a text, and change to a mode where there is one and it is not what happens already."""
        if mode is not None and mode not in flight.dialect.modes:
            mode = Mode.HOLD  # a rover stops where another vehicle lands
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
        """Whether the vehicle stays in its mode all the same. In the mode to hold it may be on its way to a place."""
        now, dialect = flight.mode, flight.dialect
        if (mode is now and mode is not Mode.HOLD) or (cause, now, mode) in dialect.ignores:
            return True
        if self._ordered is None:
            return False
        if dialect.ranks_failsafes:
            return _RANKS.index(mode) < _RANKS.index(now)
        # events.cpp: "GCS + Battery: Continuing Landing".
        return cause is Cause.LINK and self._ordered == (Cause.BATTERY, Mode.LAND)
