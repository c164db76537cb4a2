"""Vehicles with autopilots: the link of the ground station, its orders, missions and parameters; failures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from sim_node.extensions.scenario.acting import Seconds, action, begin, described, end, lasting, vehicle_of
from sim_node.extensions.scenario.effects import Effect, Lasting, effect
from sim_node.extensions.scenario.ground_station import (
    PATIENCE,
    CommandPacket,
    autopilot_of,
    dialect_of,
    fail_later,
    flown_by,
    ordered,
    send,
    send_commands,
    station_of,
)
from sim_node.extensions.scenario.timetable import OccurredEvent, reason_of, timetable_of
from sim_node.session.entities import Rejected
from sim_node.session.requests import RequestContext
from sim_node.simulation import Simulation
from sim_node.simulation.requests import Floats, VehicleName, request
from sim_node.text import did_you_mean
from sim_node.world import Multirotor, WorldError
from sim_node.world.quantities import Number, Whole
from sim_node.world.vehicles import BUILTIN

Share = Annotated[float, Number(0.0, 1.0)]
# MAV_CMD.
_LAND, _TAKE_OFF, _RETURN, _REPOSITION, _SET_MODE, _START_MISSION, _ARM = 21, 22, 20, 192, 176, 300, 400
_CUSTOM = 1
# Parameters of the batteries that PX4, and the built-in autopilot, simulate: endurance (s), and the floor (%).
_BATTERY = {"px4": ("SIM_BAT_DRAIN", "SIM_BAT_MIN_PCT"), "ardupilot": ("SIM_BATT_TIME", "SIM_BATT_MIN")}
_FULL_CURRENT_A = 50.0
# Of the battery that ArduPilot simulates (SIM_BATT_VOLTAGE), V; of BATTERY_STATUS.
_ARDUPILOT_CELLS, _ARDUPILOT_VOLTAGE = 3, 12.6
_MAX_CELLS, _UNKNOWN_VOLTAGE = 10, 65_535
_TAKE_OFF_HEIGHT = 2.5  # of an order without one, m
Orders = Literal["arm", "disarm", "take_off", "land", "return", "mission", "go_to", "mode"]


@effect("link")
class _Link(Effect):
    """A link to a vehicle with losses."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Let the station send over it."""
        station_of(run, lasting.of).arguments["link"].update(lasting.arguments["link"])

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Let the link be perfect again."""
        station_of(run, lasting.of).arguments["link"].update(dict.fromkeys(lasting.arguments["link"], 0.0))


@action("link")
def link(
    run: Simulation,
    /,
    of: VehicleName,
    *,
    loss: Share = 0.0,
    delay: Annotated[float, Number(0.0, 60.0)] = 0.0,
    duplicate: Share = 0.0,
    reorder: Share = 0.0,
    seconds: Seconds = 0.0,
) -> str:
    """Set what the link of the ground station in the simulation to a vehicle of a running node does to its packets.

    The station sends a heartbeat each second from its first use on, which may be this one, and `order`s.

    Args:
        run: The run.
        of: The vehicle.
        loss: The part of the packets that is lost.
        delay: How much later they come, s.
        duplicate: The part that comes twice.
        reorder: The part that comes after the next one.
        seconds: How long it lasts, s; 0 for as long as the run goes on.
    """
    vehicle = vehicle_of(run, of)
    ordered(run, vehicle)
    station_of(run, vehicle)
    numbers = {"loss": loss, "delay": delay, "duplicate": duplicate, "reorder": reorder}
    begin(run, "link", vehicle, seconds, link=numbers)
    changed = ", ".join(f"{name} {value:g}" for name, value in numbers.items() if value) or "perfect"
    return f"the link to {vehicle}: {changed}{lasting(seconds)}"


@action("order")
def order(
    run: Simulation,
    /,
    order: Orders,
    *,
    of: VehicleName = "",
    height: Annotated[float, Number(0.0, 1e5)] = 0.0,
    position: Annotated[list[float], Floats((3,), "X,Y,Z in the fixed frame, m")] | None = None,
    mode: str = "",
) -> str:
    """Give the autopilot of a vehicle of a running node an order, as a ground station in the simulation.

    It comes at its simulated time, so that flights repeat. It is an error if the autopilot refuses it.

    Args:
        run: The run.
        order: What to do.
        of: The vehicle (default: the only one).
        height: Of take_off, above home, m.
        position: Of go_to.
        mode: Of mode, its name in the autopilot's dialect, such as AUTO.LOITER.
    """
    vehicle = vehicle_of(run, of)
    packets = [CommandPacket(*_command(run, vehicle, order, height, position, mode))]
    ordered(run, vehicle)
    if order == "take_off" and flown_by(run, vehicle) == "ardupilot":
        # It takes off by GUIDED, armed, to a height above home.
        guided = _command(run, vehicle, "mode", 0.0, None, "GUIDED")
        packets = [CommandPacket(*guided), CommandPacket(_TAKE_OFF, [0.0] * 6 + [height or _TAKE_OFF_HEIGHT])]
    what = " ".join(filter(None, (order, mode, f"{height:g} m" if height else "")))
    send_commands(run, vehicle, what, OccurredEvent(run, run.steps).event, packets)
    return f"{vehicle} is ordered to {what}"


def _command(
    run: Simulation, vehicle: str, order: str, height: float, position: list[float] | None, mode: str
) -> tuple[int, list[float], tuple[float, float, float] | None]:
    """Return the number of a command, its params, and latitude, longitude and altitude if it has a position."""
    nan = math.nan
    if order in ("arm", "disarm"):
        return _ARM, [float(order == "arm"), 0.0], None
    if order == "take_off":
        altitude = nan
        if height:
            altitude = height + float(run.bodies[described(run, vehicle).body].pose[2]) + _msl(run)
        return _TAKE_OFF, [0.0, 0.0, 0.0, nan, nan, nan, altitude], None
    if order == "go_to":
        if position is None:
            raise ValueError("go_to needs a position")
        from sim_node.spatial.frames import Frame, Position

        origin = _origin(run)
        place = Position(np.array(position), Frame.ENU, origin).to(Frame.LLA).in_frame(Frame.LLA)
        at = float(place[0]), float(place[1]), float(place[2]) - origin[2] + _msl(run)
        return _REPOSITION, [-1.0, 1.0, 0.0, nan], at
    if order == "mode":
        modes = {flown.name: flown for flown in dialect_of(run, vehicle).modes.values()}
        if mode not in modes:
            raise ValueError(f"no mode {mode!r} (known: {', '.join(modes)})")
        custom = modes[mode].custom
        main, sub = (custom >> 16 & 0xFF, custom >> 24) if custom >> 16 else (custom, 0)
        return _SET_MODE, [float(_CUSTOM), float(main), float(sub)], None
    return {"land": _LAND, "return": _RETURN, "mission": _START_MISSION}[order], [0.0] * 4 + [nan] * 3, None


@request("mission")
def mission(context: RequestContext, /, file: str, *, of: VehicleName = "", start: bool = True) -> str:
    """Send a mission file to the autopilot of a vehicle of a running node, as a ground station, and begin it.

    Files are those of the bridge (YAML or JSON), QGC WPL 110, and .plan of QGroundControl. East, north and up count
    from where the vehicle is.

    Args:
        context: The run.
        file: The file, beside that of the world.
        of: The vehicle (default: the only one).
        start: Whether to arm and to begin the mission once the autopilot has it.
    """
    path = context.structure.resources.file(file)

    def act() -> str:
        try:
            return _send_mission(context.loop.simulation, path, of, start=start)
        except WorldError as error:
            raise Rejected("RESOURCE_PARSE_ERROR", "; ".join(map(str, error.problems[:3]))) from None
        except (KeyError, ValueError) as error:
            raise Rejected("OPERATION_FAILED", reason_of(error)) from None

    return context.loop.call(act)


def _send_mission(run: Simulation, path: Path, of: str, *, start: bool) -> str:
    from sim_node.mavlink.mission.plan import as_messages, fence_messages, rally_messages, read_plan
    from sim_node.mavlink.mission.transfer import FENCE, RALLY, Upload
    from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Home
    from sim_node.spatial.frames import Frame, Position

    vehicle = vehicle_of(run, of)
    ordered(run, vehicle)
    plan = read_plan(path.read_text(encoding="utf-8"), path.name)
    origin = _origin(run)
    at = run.bodies[described(run, vehicle).body].pose[:3]
    latitude, longitude, altitude = Position(at, Frame.ENU, origin).to(Frame.LLA).in_frame(Frame.LLA).tolist()
    home = Home(latitude, longitude, altitude - origin[2] + _msl(run), None)
    items = as_messages(plan, home, ARDUPILOT if flown_by(run, vehicle) == "ardupilot" else PX4)
    upload = Upload(items, {FENCE: fence_messages(plan), RALLY: rally_messages(plan)})
    arguments: dict[str, Any] = {"count": len(items), "start": start, "event": OccurredEvent(run, run.steps).event}
    first = upload.start(run.time_ns)
    begin(run, "mission", vehicle, upload=upload.state(), first=first, **arguments)
    return f"a mission of {len(items)} items is sent to {vehicle}"


@effect("mission")
class _MissionUpload(Effect):
    """A mission on its way to an autopilot, which asks for its items."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Answer what the autopilot asks for; ask again where it is silent; then begin the mission."""
        from sim_node.mavlink.mission.transfer import Upload

        state: Any = lasting.arguments
        autopilot, station = ordered(run, lasting.of), station_of(run, lasting.of)
        upload = Upload(())
        upload.put_state(state["upload"])
        due, state["first"] = list(state["first"]), []
        for reply in [each for each in autopilot.replies if each.name.startswith("MISSION_")]:
            autopilot.replies.remove(reply)
            if upload.result is None:
                due += upload.receive(reply, run.time_ns)
        if upload.result is None:
            due += upload.tick(run.time_ns)
        for name, fields in due:
            send(run, station, name, {"target_system": 0, "target_component": 1, **fields})
        if upload.result is None:
            state["upload"] = upload.state()
            return
        timetable_of(run).drop(lasting.kind, lasting.of)
        if not upload.result.ok:
            fail_later(run, lasting, f"the mission is rejected: {upload.result.text}")
            return
        OccurredEvent(run, run.steps).log(state["event"], f"{lasting.of} has the mission of {state['count']} items")
        if state["start"]:
            self._start(run, lasting.of, state["event"])

    def _start(self, run: Simulation, vehicle: str, event: str) -> None:
        """Begin the mission, as the autopilot accepts it on the ground and in flight."""
        orders = [_command(run, vehicle, "mission", 0.0, None, "")]
        armed = _is_armed(run, vehicle)
        if flown_by(run, vehicle) == "ardupilot":
            guided = _command(run, vehicle, "mode", 0.0, None, "GUIDED")
            orders = orders if armed else [guided, *orders]
        elif not armed:
            orders = [_command(run, vehicle, "mode", 0.0, None, "AUTO.MISSION")]
        send_commands(run, vehicle, "begin the mission", event, [CommandPacket(*each) for each in orders])
        if not armed:
            send_commands(run, vehicle, "arm", event, [CommandPacket(*_command(run, vehicle, "arm", 0.0, None, ""))])


def _is_armed(run: Simulation, vehicle: str) -> bool:
    """Return whether an autopilot is armed: as it says, or, of the built-in one, whether its motors turn."""
    found = getattr(ordered(run, vehicle), "armed", None)
    return bool(np.any(run.vehicles[vehicle].command > 0.0)) if found is None else bool(found)


def _origin(run: Simulation) -> tuple[float, float, float]:
    origin = run.world.origin
    if origin is None:
        raise ValueError("the world has no origin, from which autopilots count")
    return origin.latitude, origin.longitude, origin.altitude


def _msl(run: Simulation) -> float:
    """Return the height of the origin above mean sea level, m."""
    from sim_node.simulation.sensors import air_data

    return float(air_data.altitude_of_origin(run.world))


@action("parameter")
def parameter(
    run: Simulation,
    /,
    name: str,
    value: float,
    *,
    of: VehicleName = "",
    like: Literal["", "px4", "ardupilot"] = "",
) -> str:
    """Set a parameter of the autopilot of a vehicle of a running node, as a ground station in the simulation.

    Args:
        run: The run.
        name: The parameter, such as SIM_BAT_DRAIN.
        value: Its value.
        of: The vehicle (default: the only one).
        like: Leave it alone unless the autopilot is this one, or like it.
    """
    vehicle = vehicle_of(run, of)
    if like and like != flown_by(run, vehicle):
        return f"{name} is one of {like}, which does not fly {vehicle}"
    ordered(run, vehicle)
    if _is_builtin(run, vehicle):
        fields = {"target_system": 0, "target_component": 1, "param_id": name, **_parameter(run, vehicle, name, value)}
        send(run, station_of(run, vehicle), "PARAM_SET", fields)
    else:
        event = OccurredEvent(run, run.steps).event
        begin(run, "parameter", f"{vehicle} {name}", vehicle=vehicle, name=name, value=value, event=event, asked={})
    return f"{name} of {vehicle} is set to {value:g}"


def _is_builtin(run: Simulation, vehicle: str) -> bool:
    found = described(run, vehicle).autopilot
    return found is None or found.type == BUILTIN


@effect("parameter")
class _Parameter(Effect):
    """A parameter of PX4 or ArduPilot: it is asked for, for its type, set, and confirmed."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Ask for it, or set it, and report one that does not exist or is rejected."""
        from sim_node.mavlink.parameters import decoded, encoded
        from sim_node.mavlink.telemetry import ARDUPILOT, PX4

        arguments: Any = lasting.arguments
        name, vehicle, asked = arguments["name"], arguments["vehicle"], arguments["asked"]
        autopilot, station = ordered(run, vehicle), station_of(run, vehicle)
        kind = ARDUPILOT if flown_by(run, vehicle) == "ardupilot" else PX4
        reply = next(
            (each for each in autopilot.replies if each.name == "PARAM_VALUE" and each.fields.param_id == name), None
        )
        if reply is not None:
            autopilot.replies.remove(reply)
            found, wanted = decoded(reply.fields, kind), arguments["value"]
            if "set" in asked and math.isclose(found.value, wanted, rel_tol=1e-6, abs_tol=1e-9):
                timetable_of(run).drop(lasting.kind, lasting.of)
            elif "set" not in asked:
                asked["set"] = run.steps
                fields = {"target_system": 0, "target_component": 1, "param_id": name}
                send(run, station, "PARAM_SET", {**fields, **encoded(wanted, kind, found.type)})
            return
        step_s = run.world.time.step_ns * 1e-9
        if (run.steps - lasting.since) * step_s >= PATIENCE:
            timetable_of(run).drop(lasting.kind, lasting.of)
            what = "is rejected" if "set" in asked else "does not exist, or was not sent"
            OccurredEvent(run, run.steps).log(arguments["event"], f"{name} {what}", error=True)
        elif "read" not in asked:
            asked["read"] = run.steps
            fields = {"target_system": 0, "target_component": 1, "param_id": name, "param_index": -1}
            send(run, station, "PARAM_REQUEST_READ", fields)


def _parameter(run: Simulation, vehicle: str, name: str, value: float) -> dict[str, Any]:
    """Return type and value of a parameter as PARAM_SET has them. Raises ValueError for an unknown one."""
    from sim_node.mavlink.parameters import encoded

    dialect = dialect_of(run, vehicle)
    if name not in dialect.parameters:
        raise ValueError(f"no parameter {name!r}{did_you_mean(name, dialect.parameters)}")
    declared = dialect.parameters[name]
    if fault := declared.fault(value):
        raise ValueError(f"{name}: {fault}")
    return encoded(value, dialect.autopilot, declared.kind)


@action("battery")
def battery(
    run: Simulation,
    /,
    of: VehicleName,
    *,
    endurance: Annotated[float, Number(1.0, 86_400.0)] = 1200.0,
    floor: Share = 0.0,
    failed_cells: Annotated[int, Whole(0, _MAX_CELLS)] = 0,
    seconds: Seconds = 0.0,
) -> str:
    """Let the battery of a vehicle of a running node drain faster or slower, or cells of it fail.

    The autopilot's own parameters set the drain. With failed cells, neither endurance nor floor change.

    Args:
        run: The run.
        of: The vehicle.
        endurance: How long a full battery lasts in hover, s.
        floor: The charge at which it stops draining, of 1.
        failed_cells: How many of its cells have no voltage any more.
        seconds: How long these fail, s; 0 for as long as the run goes on.
    """
    vehicle = vehicle_of(run, of)
    like = flown_by(run, vehicle)
    if failed_cells:
        return _fail_cells(run, vehicle, failed_cells, seconds)
    if like == "ardupilot" and not _is_builtin(run, vehicle):
        if floor:
            raise ValueError("the battery that ArduPilot simulates has no floor")
        # Its current is proportional to the mean throttle of the motors in a mask (SITL_State::_simulator_servos), of
        # which there are none with the JSON interface but those of this parameter.
        found = described(run, vehicle)
        if isinstance(found, Multirotor):
            parameter(run, "SIM_VIB_MOT_MASK", 2 ** len(found.rotors) - 1, of=vehicle)
        ampere_hours = _FULL_CURRENT_A * _hover_command(run, vehicle) * endurance / 3600.0
        parameter(run, "BATT_CAPACITY", round(1000.0 * ampere_hours), of=vehicle)
    else:
        for name, value in zip(_BATTERY[like], (endurance, 100.0 * floor), strict=True):
            parameter(run, name, value, of=vehicle)
    return f"a full battery of {vehicle} lasts {endurance:g} s"


def _fail_cells(run: Simulation, vehicle: str, cells: int, seconds: float) -> str:
    """Let the first cells of a battery fail. Raises ValueError for an autopilot whose battery has none."""
    if not _is_builtin(run, vehicle):
        if flown_by(run, vehicle) != "ardupilot":
            raise ValueError("the battery that PX4 simulates has no cells")
        if seconds or cells >= _ARDUPILOT_CELLS:
            raise ValueError(f"the battery that ArduPilot simulates has {_ARDUPILOT_CELLS} cells, which stay failed")
        left = (_ARDUPILOT_CELLS - cells) / _ARDUPILOT_CELLS
        parameter(run, "SIM_BATT_VOLTAGE", _ARDUPILOT_VOLTAGE * left, of=vehicle)
    else:
        begin(run, "cells", vehicle, seconds, failed=cells)
    return f"{cells} of the cells of the battery of {vehicle} fail{lasting(seconds)}"


@effect("cells")
class _Cells(Effect):
    """Failed cells of a battery, which the simulator sends to the built-in autopilot as BATTERY_STATUS."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Send them now and then: it may have been started again."""
        step_s = run.world.time.step_ns * 1e-9
        if (run.steps - lasting.since) % max(round(0.1 / step_s), 1) == 0:
            self._send_voltages(run, lasting.of, lasting.arguments["failed"])

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Send that all are sound."""
        self._send_voltages(run, lasting.of, 0)

    def _send_voltages(self, run: Simulation, vehicle: str, failed: int) -> None:
        voltages = [0] * failed + [_UNKNOWN_VOLTAGE] * (_MAX_CELLS - failed)
        ordered(run, vehicle).order("BATTERY_STATUS", {"voltages": voltages})


def _hover_command(run: Simulation, vehicle: str) -> float:
    """Return the command of rotors in hover, or of a base's drive at full speed, of 1."""
    if not isinstance(described(run, vehicle), Multirotor):
        return 1.0
    airframe, gravity = run.vehicles[vehicle].airframe, float(np.linalg.norm(run.world.physics.gravity))
    return math.sqrt(min(airframe.mass * gravity / airframe.lift, 1.0))


@effect("autopilot")
class _Autopilot(Effect):
    """An autopilot that is frozen or dead."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Keep it so."""
        autopilot_of(run, lasting.of).condition = lasting.arguments["condition"]

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Let it run."""
        autopilot_of(run, lasting.of).condition = "running"


@action("computer")
def computer(
    run: Simulation,
    /,
    act: Literal["kill", "stop", "restart", "go"],
    *,
    of: VehicleName = "",
    seconds: Seconds = 0.0,
) -> str:
    """Kill, stop or restart the computer of the autopilot of a vehicle of a running node.

    One that is killed commands nothing any more; one that is stopped does not go on, and its last commands stay. A
    process that the run has started is killed, and started again by `restart`.

    Args:
        run: The run.
        act: What happens to it; go lets one go on that was stopped or killed.
        of: The vehicle (default: the only one).
        seconds: After which it runs again, s; 0 for never.
    """
    vehicle = vehicle_of(run, of)
    found = autopilot_of(run, vehicle)
    if act in ("kill", "restart") and (kill := getattr(found.autopilot, "kill", None)) is not None:
        kill()
    if act == "kill":
        begin(run, "autopilot", vehicle, seconds, condition="dead")
    elif act == "stop":
        begin(run, "autopilot", vehicle, seconds, condition="frozen")
    else:
        end(run, "autopilot", vehicle)
    done = {"kill": "killed", "stop": "stopped", "restart": "started again", "go": "running"}[act]
    return f"the autopilot of {vehicle} is {done}{lasting(seconds)}"
