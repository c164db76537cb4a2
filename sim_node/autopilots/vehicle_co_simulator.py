"""Autopilots of a world's vehicles, which fly them in lockstep with a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from sim_node.mavlink.ports import PortInUse, is_in_use
from sim_node.packages import how_to_install
from sim_node.simulation import Simulation
from sim_node.simulation.columns import Columns
from sim_node.world import Multirotor, World, WorldError
from sim_node.world.autopilots import Vehicle, autopiloted
from sim_node.world.base_types.channels import BaseChannels
from sim_node.world.network import refuse_network
from sim_node.world.problems import Problem

if TYPE_CHECKING:
    from sim_node.autopilots.lockstep.autopilot import LockstepAutopilot

Report = Callable[[str], None]


def attach_autopilots(
    simulation: Simulation, report: Report = lambda line: None, *, network: bool = False
) -> Sequence[VehicleCoSimulator]:
    """Attach the autopilots of a run's vehicles. Closing the run closes them.

    Args:
        simulation: The run.
        report: Called with a line of text when the run waits for an autopilot, and when one connects or disconnects.
        network: Whether links of the world may leave this machine.

    Returns:
        The attached autopilots, in the order of the vehicles. Those of vehicles that a change of the world adds are
        appended when it is made.

    Raises:
        WorldError: A link leaves this machine, a vehicle does not suit its autopilot, or a package is missing.
        PortInUse: The port of an autopilot is in use. In all these cases nothing stays open.
    """
    attached = list(_opened(simulation, (), report, network=network))
    for other in attached:
        simulation.connect(other)

    def open_new(before: World) -> tuple[VehicleCoSimulator, ...]:
        flown = {vehicle.name: vehicle for vehicle, _ in autopiloted(before)}
        for vehicle, autopilot in autopiloted(simulation.world):
            was = flown.get(vehicle.name)
            if was and (was.autopilot, _outputs(was)) != (autopilot, _outputs(vehicle)):
                place, what = vehicle.place, "number of rotors" if isinstance(vehicle, Multirotor) else "channels"
                message = f"cannot change while it is connected, nor can the {what}; remove the vehicle first"
                raise WorldError([Problem(place.where, f"{place.key}.autopilot", message)])
        opened = _opened(simulation, flown, report, network=network)
        attached[:] = [*(each for each in attached if not each.is_closed), *opened]
        return opened

    simulation.on_change(open_new)
    return attached


def _opened(
    simulation: Simulation, without: Collection[str], report: Report, *, network: bool
) -> tuple[VehicleCoSimulator, ...]:
    """Open the autopilots of all vehicles except some. Nothing stays open if it fails."""
    refuse_network(simulation.world, allowed=network)
    others: list[VehicleCoSimulator] = []
    problems: list[Problem] = []
    for vehicle, _ in autopiloted(simulation.world):
        if vehicle.name not in without:
            try:
                others.append(VehicleCoSimulator(simulation, vehicle, report))
            except WorldError as error:
                problems.extend(error.problems)
            except ImportError as error:
                problems.append(missing(vehicle, error))
            except PortInUse:
                for other in others:
                    other.close()
                raise
    if problems:
        for other in others:
            other.close()
        raise WorldError(problems)
    for other in others:
        if not other.wait.own:
            report(other.wait.describe())
    return tuple(others)


def missing(vehicle: Vehicle, error: ImportError) -> Problem:
    """Return the problem of an autopilot that needs a missing package."""
    place = vehicle.place
    message = f"autopilots need a package: {how_to_install(error)}"
    return Problem(place.where, f"{place.key}.autopilot", message)


def _outputs(vehicle: Vehicle) -> object:
    return vehicle.channels, vehicle.servos if isinstance(vehicle, Multirotor) else ()


def _places(vehicle: Multirotor, kind: str) -> tuple[tuple[int, int], ...]:
    """Return the number and the channel of each rotor, or of each servo, of a vehicle."""
    return tuple(
        (int(role.removeprefix(f"{kind}_")), channel)
        for channel, role in enumerate(vehicle.channels)
        if role.startswith(f"{kind}_")
    )


class VehicleCoSimulator:
    """A vehicle of a run and its autopilot: sends the vehicle's state, and applies the autopilot's commands.

    Commands are in the order of the vehicle's channels.

    Args:
        simulation: The run.
        vehicle: A vehicle with an autopilot.
        report: Called with a line of text when the run waits for the autopilot, and when it connects or disconnects.

    Attributes:
        name: Name of the vehicle.
        rate: Rate of the samples (Hz).
        wait: State of the connection.
        is_closed: Whether its sockets are closed for good.
        autopilot: Interface of the autopilot.
        condition: "running", "frozen" (the autopilot gets no samples, and its last commands stay), or "dead" (all
            commands are zero).

    Raises:
        WorldError: The vehicle does not suit its autopilot.
        PortInUse: The port of the autopilot is in use.
    """

    def __init__(self, simulation: Simulation, vehicle: Vehicle, report: Report = lambda line: None) -> None:
        # Imported here, so that worlds without autopilots run without pymavlink.
        from sim_node.autopilots.lockstep import AUTOPILOTS

        assert vehicle.autopilot is not None, "the vehicle has an autopilot"
        kind = AUTOPILOTS[vehicle.autopilot.type]
        self.name, self._simulation = vehicle.name, simulation
        self.is_closed = False
        self._source = kind.sample_source(simulation, vehicle)
        self.rate = self._source.rate
        self._vehicle, self._restarts = simulation.vehicles[vehicle.name], 0
        self._start = simulation.part_state(vehicle.name) if vehicle.autopilot.reset_vehicle else None
        self._apply = self._command_of(vehicle)
        self._outputs = len(vehicle.channels)
        self._report = report
        made: type[LockstepAutopilot] = kind
        if vehicle.autopilot.installed:
            from sim_node.autopilots.started import StartedAutopilot

            made = StartedAutopilot
        self.autopilot, self.condition = made.of(simulation, vehicle, self.rate), "running"
        self.wait = self.autopilot.wait
        self.wait.report = report
        self._shown = self.wait.peer, self.wait.lockstep
        self._sent = False
        try:
            self.autopilot.open()
        except OSError as error:
            place, message = vehicle.place, f"cannot wait for {self.wait.whom}: {error.strerror}"
            if is_in_use(error):
                raise PortInUse(
                    f"{place.where}: {place.key}.autopilot: cannot wait for {self.wait.whom}: the port is in use, "
                    "perhaps by another simulation; stop it, or give the vehicle's `autopilot` another `instance`"
                ) from None
            raise WorldError([Problem(place.where, f"{place.key}.autopilot", message)]) from None

    def send(self, step: int, time_ns: int) -> None:
        """Send the vehicle's state to the autopilot.

        Args:
            step: The present step.
            time_ns: Simulation time since the start (ns).
        """
        sample = self._source.sample(step, time_ns)
        self._sent = sample is not None and self.condition == "running"
        if sample is not None and self._sent:
            self.autopilot.send(sample)

    def receive(self) -> None:
        """Apply the autopilot's commands."""
        if self.condition == "dead":
            self._apply((0.0,) * self._outputs)
        if not self._sent:
            return
        commands = self.autopilot.receive()
        if self.wait.restarts > self._restarts:
            self._restarts = self.wait.restarts
            if self._start is not None:
                self._simulation.put_back(self._start)
                self._report(f"{self.wait.whom} has started again: {self.name} is back at its start")
        if commands is not None:
            self._apply(commands)
        status = self.wait.peer, self.wait.lockstep
        if status != self._shown and not self.wait.stop.is_set():
            self._shown = status
            self._report(self.wait.describe())

    def _command_of(self, vehicle: Vehicle) -> Callable[[Sequence[float]], None]:
        """Return the function that applies commands to motors and servos, or to a base as a twist."""
        handle = self._vehicle
        if isinstance(vehicle, Multirotor):
            motors, servos = _places(vehicle, "rotor"), _places(vehicle, "servo")
            joints = self._simulation.joints
            if vehicle.channels == vehicle.roles and not vehicle.servos:

                def turn_rotors(commands: Sequence[float]) -> None:
                    handle.command[:] = commands

                return turn_rotors

            def move(commands: Sequence[float]) -> None:
                for number, channel in motors:
                    handle.command[number] = commands[channel]
                for number, channel in servos:
                    servo = vehicle.servos[number]
                    joints[servo.joint].target = servo.low + commands[channel] * (servo.high - servo.low)

            return move
        channels = BaseChannels(vehicle.channels, vehicle.shape, vehicle.limits.linear, vehicle.limits.angular)

        # Without a timeout: in lockstep, commands hold until the next ones, and a lost autopilot commands zeros.
        return lambda commands: handle.cmd_vel(*channels.twist(commands), timeout=0.0)

    def adapt(self, columns: Columns) -> bool:
        """Return whether the vehicle still exists and has an autopilot after a change of the world."""
        return any(vehicle.name == self.name for vehicle, _ in autopiloted(self._simulation.world))

    def interrupt(self) -> None:
        """End all waiting at once and for good."""
        self.wait.stop.set()

    def close(self) -> None:
        """Close the sockets."""
        self.is_closed = True
        self.autopilot.close()
