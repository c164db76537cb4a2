"""Failsafes: a battery that runs low, a geofence that is left, a ground station that falls silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.autopilot.builtin.dialect import CRITICAL, INFO, WARNING, Mode, Refused
from sim_node.autopilot.builtin.settings import Action

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.flight import Flight

_MODES = {Action.HOLD: Mode.HOLD, Action.RETURN: Mode.RETURN, Action.LAND: Mode.LAND}
# Modes that a failsafe does not interrupt, because they bring the vehicle down already.
_ON_THE_WAY = {
    Mode.HOLD: (Mode.HOLD, Mode.RETURN, Mode.LAND),
    Mode.RETURN: (Mode.RETURN, Mode.LAND),
    Mode.LAND: (Mode.LAND,),
}


class Failsafe:
    """Watches one flight. Each condition acts once, when it begins."""

    def __init__(self) -> None:
        self._level = 0
        self._outside = False
        self._link_lost = False
        self._received: tuple[int, int] | None = None

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
            self._act(flight, action, text)
        self._level = level
        fenced = flight.airborne and flight.fence.items
        what = flight.fence.violation(*flight.position[:2].tolist()) if fenced else ""
        if what and not self._outside:
            self._act(flight, settings.fence_action, texts.fence_breached.format(what=what))
        self._outside = bool(what)

    def ground_station(self, flight: Flight, now_ns: int) -> None:
        """Note that a ground station's heartbeat was received."""
        self._received = flight.time_us, now_ns
        if self._link_lost:
            self._link_lost = False
            flight.report(INFO, flight.dialect.texts.link_regained)

    def watch_link(self, flight: Flight, now_ns: int) -> None:
        """Look for a silent ground station, once there has been one.

        Both clocks count, the simulator's and the wall's, so that neither a fast simulation nor a paused one takes a
        steady stream of heartbeats for a broken one.
        """
        if self._received is None or self._link_lost or not flight.armed:
            return
        time_us, received_ns = self._received
        limit = flight.settings.link_timeout
        if flight.time_us - time_us > limit * 1e6 and now_ns - received_ns > limit * 1e9:
            self._link_lost = True
            self._act(flight, flight.settings.link_action, flight.dialect.texts.link_lost)

    @staticmethod
    def _act(flight: Flight, action: Action, text: str) -> None:
        if action is Action.NONE:
            return
        mode = _MODES.get(action)
        if mode is not None and mode not in flight.dialect.modes:
            mode = Mode.HOLD  # a rover stops where another vehicle lands
        acts = mode is not None and flight.airborne and flight.mode not in _ON_THE_WAY[mode]
        name = f": {flight.dialect.modes[mode].name}" if acts and mode is not None else ""
        flight.report(CRITICAL if acts else WARNING, text + name)
        if acts and mode is not None:
            try:
                flight.set_mode(mode)
            except Refused as refusal:
                flight.report(CRITICAL, f"failsafe: {refusal}")
