"""A ground station in the simulation: its packets to the autopilots of vehicles, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from sim_node.extensions.scenario.acting import begin, described
from sim_node.extensions.scenario.effects import Effect, Lasting, effect
from sim_node.extensions.scenario.timetable import OccurredEvent, timetable_of
from sim_node.mavlink.status_texts import StatusText, StatusTexts
from sim_node.randomness import stream
from sim_node.simulation import Simulation
from sim_node.world import Multirotor

if TYPE_CHECKING:  # listing requests does not need MAVLink
    from sim_node.autopilots import VehicleCoSimulator
    from sim_node.autopilots.builtin.dialect import Dialect
    from sim_node.mavlink.codec import MavlinkMessage

# The period of the ground station's heartbeats, s, and its timeout for the answer to a command, s.
BEAT, PATIENCE = 1.0, 3.0
_GROUND_STATION, _INVALID = 6, 8  # MAV_TYPE, MAV_AUTOPILOT
_GLOBAL_INT = 5  # MAV_FRAME


@runtime_checkable
class Ordered(Protocol):
    """An autopilot that accepts messages of a ground station in lockstep, and keeps its answers."""

    @property
    def replies(self) -> list[MavlinkMessage]:
        """Its answers and status texts, the latest last."""

    @property
    def telemetry(self) -> dict[str, MavlinkMessage]:
        """The latest of each requested message."""

    def request(self, name: str) -> None:
        """Request a message, which appears in `telemetry` later."""

    def order(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message with the next sample."""


def autopilot_of(run: Simulation, vehicle: str) -> VehicleCoSimulator:
    """Return the co-simulator of a vehicle's autopilot. Raises ValueError if there is none."""
    from sim_node.autopilots import VehicleCoSimulator

    for each in run.co_simulators:
        if isinstance(each, VehicleCoSimulator) and each.name == vehicle:
            return each
    raise ValueError(f"{vehicle!r} is flown by no autopilot of this run")


def ordered(run: Simulation, vehicle: str) -> Ordered:
    """Return the autopilot of a vehicle, to which orders can be sent. Raises ValueError if there is none."""
    found = autopilot_of(run, vehicle).autopilot
    if not isinstance(found, Ordered):
        raise ValueError(f"the autopilot of {vehicle!r} accepts orders over its own links only, and not in lockstep")
    return found


@effect("station")
class _Station(Effect):
    """A ground station in the simulation, which sends heartbeats and orders over a lossy link.

    Packets are numbered. The fate of each is drawn from its number and the run's seed.
    """

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Send the packets that are due at the current step."""
        state: Any = lasting.arguments
        step, step_s = run.steps, run.world.time.step_ns * 1e-9
        if (step - lasting.since) % max(round(BEAT / step_s), 1) == 0 and state.get("beat") != step:
            state["beat"] = step
            send(run, lasting, "HEARTBEAT", {"type": _GROUND_STATION, "autopilot": _INVALID, "mavlink_version": 3})
        if not (due := [each for each in state["queue"] if each[0] <= step]):
            return
        state["queue"] = [each for each in state["queue"] if each[0] > step]
        autopilot = ordered(run, lasting.of)
        for _, _, name, fields in sorted(due, key=lambda each: (each[0], each[1])):
            autopilot.order(name, fields)
            state["delivered"] += 1


def send(run: Simulation, station: Lasting, name: str, fields: Mapping[str, Any]) -> None:
    """Send a packet of a ground station over its link, where it may be lost, delayed, duplicated or reordered."""
    state: Any = station.arguments
    link, number = state["link"], state["sent"]
    state["sent"] = number + 1
    lost, twice, held = stream(timetable_of(run).seed, station.of, f"packet {number}").random(3).tolist()
    if lost < link["loss"]:
        return
    step_s = run.world.time.step_ns * 1e-9
    # A reordered packet arrives after the next heartbeat.
    seconds = link["delay"] + (1.5 * BEAT if held < link["reorder"] else 0.0)
    due = run.steps + round(seconds / step_s)
    for copy in range(2 if twice < link["duplicate"] else 1):
        state["queue"].append([due, 2 * number + copy, name, dict(fields)])


def station_of(run: Simulation, vehicle: str) -> Lasting:
    """Return the ground station of a vehicle, and start it if necessary."""
    table = timetable_of(run)
    found = next((each for each in table.progress.lasting if (each.kind, each.of) == ("station", vehicle)), None)
    if found is None:
        link = {"loss": 0.0, "delay": 0.0, "duplicate": 0.0, "reorder": 0.0}
        begin(run, "station", vehicle, link=link, queue=[], sent=0, delivered=0)
        found = timetable_of(run).progress.lasting[-1]
    return found


def fail_later(run: Simulation, lasting: Lasting, message: str) -> None:
    """Report the later failure of something that an event began."""
    OccurredEvent(run, run.steps).log(lasting.arguments["event"], message, error=True)


@effect("answer")
class _Answer(Effect):
    """A command that awaits its acknowledgement."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Check for the answer, and report a refusal as an error."""
        autopilot, arguments = ordered(run, lasting.arguments["vehicle"]), lasting.arguments
        for reply in list(autopilot.replies):
            if reply.name != "COMMAND_ACK" or reply.fields.command != arguments["command"]:
                continue
            texts, joined = list[StatusText](), StatusTexts()
            for before in autopilot.replies[: autopilot.replies.index(reply)]:
                if before.name == "STATUSTEXT":
                    texts += joined.add(before.fields, 0)
            autopilot.replies.remove(reply)
            timetable_of(run).drop(lasting.kind, lasting.of)
            if reply.fields.result == 0 and (then := arguments.get("then")):
                begin(run, "next", f"{lasting.of} then", vehicle=arguments["vehicle"], event=arguments["event"], **then)
            elif reply.fields.result != 0:
                from sim_node.mavlink.codec import enum_name

                result = enum_name("MAV_RESULT", reply.fields.result).removeprefix("MAV_RESULT_").lower()
                reason = f": {texts[-1].text}" if texts else ""
                fail_later(run, lasting, f"{arguments['what']} is {result}{reason}")
            return
        step_s = run.world.time.step_ns * 1e-9
        if (run.steps - lasting.since) * step_s >= PATIENCE:
            timetable_of(run).drop(lasting.kind, lasting.of)
            fail_later(run, lasting, f"{arguments['what']}: no answer in {PATIENCE:g} s")


@effect("next")
class _Next(Effect):
    """A command that is sent when the autopilot is armed, because it would refuse it before."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Send the command if the autopilot is armed, but not while the effect begins, or it would be sent twice."""
        arguments = lasting.arguments
        if run.steps == lasting.since or not getattr(ordered(run, arguments["vehicle"]), "armed", True):
            return
        timetable_of(run).drop(lasting.kind, lasting.of)
        send_commands(
            run, arguments["vehicle"], arguments["what"], arguments["event"], [CommandPacket(*arguments["packet"])]
        )


class CommandPacket(NamedTuple):
    """A command: MAV_CMD, params, and latitude, longitude (deg) and altitude (m) if it has a position."""

    number: int
    params: Sequence[float]
    at: tuple[float, float, float] | None = None


def send_commands(run: Simulation, vehicle: str, what: str, event: str, packets: Sequence[CommandPacket]) -> None:
    """Send a command and, after it is accepted and the autopilot is armed, the command that follows it."""
    first, *others = packets
    fields: dict[str, Any] = {"target_system": 0, "target_component": 1, "command": first.number}
    fields |= {f"param{count}": value for count, value in enumerate(first.params, 1)}
    name = "COMMAND_LONG"
    if first.at is not None:
        name = "COMMAND_INT"
        latitude, longitude, altitude = first.at
        fields |= {"frame": _GLOBAL_INT, "x": round(latitude * 1e7), "y": round(longitude * 1e7), "z": altitude}
    send(run, station_of(run, vehicle), name, fields)
    then: dict[str, Any] = {"then": {"what": what, "packet": list(others[0])}} if others else {}
    key = f"{vehicle} {first.number} {run.steps}"
    begin(run, "answer", key, vehicle=vehicle, command=first.number, what=what, event=event, **then)


def flown_by(run: Simulation, vehicle: str) -> str:
    """Return px4 or ardupilot: the autopilot of a vehicle, or the one that its built-in autopilot emulates."""
    found = described(run, vehicle).autopilot
    return "px4" if found is None else found.type if found.type in ("px4", "ardupilot") else found.like


def dialect_of(run: Simulation, vehicle: str) -> Dialect:
    """Return the dialect that the autopilot of a vehicle speaks."""
    from sim_node.autopilots.builtin.dialect import DIALECTS, rover

    found, like = described(run, vehicle), flown_by(run, vehicle)
    return DIALECTS[like if isinstance(found, Multirotor) else rover(like)]
