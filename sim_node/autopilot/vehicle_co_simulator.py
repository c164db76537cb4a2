"""The autopilots of a world's vehicles, each in a process of its own, made to fly them in lockstep with a run."""

from __future__ import annotations

from collections.abc import Callable

from sim_node.autopilot.ports import PortTaken, is_taken
from sim_node.packages import how_to_install
from sim_node.simulation import Simulation
from sim_node.world import Multirotor, WorldError
from sim_node.world.network import refuse_network
from sim_node.world.problems import Problem

Tell = Callable[[str], None]


def attach_autopilots(
    simulation: Simulation, tell: Tell = lambda line: None, *, network: bool = False
) -> tuple[VehicleCoSimulator, ...]:
    """Opens the autopilots of all vehicles that have one, as peers of a run; its `close` closes them.

    tell: takes a line for people whenever one is waited for, comes, or goes. network: whether links of the world may
    leave this machine. Raises WorldError where one does, a vehicle is not fit for its autopilot or a package is
    missing, PortTaken where somebody else has its port; nothing stays open then.
    """
    refuse_network(simulation.world, allowed=network)
    peers: list[VehicleCoSimulator] = []
    problems: list[Problem] = []
    for vehicle in simulation.world.vehicles:
        if vehicle.autopilot is not None:
            try:
                peers.append(VehicleCoSimulator(simulation, vehicle, tell))
            except WorldError as error:
                problems.extend(error.problems)
            except ImportError as error:
                problems.append(missing(vehicle, error))
            except PortTaken:
                for peer in peers:
                    peer.close()
                raise
    if problems:
        for peer in peers:
            peer.close()
        raise WorldError(problems)
    for peer in peers:
        simulation.attach(peer)
        tell(peer.wait.said())
    return tuple(peers)


def missing(vehicle: Multirotor, error: ImportError) -> Problem:
    """Why a vehicle's autopilot cannot be spoken to here: a package is not installed."""
    place = vehicle.place
    message = f"autopilots need a package: {how_to_install(error)}"
    return Problem(place.where, f"{place.key}.autopilot", message)


class VehicleCoSimulator:
    """A vehicle of a run that an autopilot flies: it is told what it senses, and its motors do what it commands.

    Motor commands are by rotor, in the vehicle's order. wait: how it stands. Raises as attach_autopilots.
    """

    def __init__(self, simulation: Simulation, vehicle: Multirotor, tell: Tell = lambda line: None) -> None:
        # Here and not above: worlds without autopilots start without pymavlink.
        from sim_node.autopilot.lockstep import AUTOPILOTS

        assert vehicle.autopilot is not None, "only what has an autopilot is flown by one"
        kind = AUTOPILOTS[vehicle.autopilot.type]
        self.name = vehicle.name
        self._senses = kind.senses(simulation, vehicle)
        self.rate = self._senses.rate
        self._vehicle = simulation.vehicles[vehicle.name]
        self._tell = tell
        self._autopilot = kind.of(simulation, vehicle, self.rate)
        self.wait = self._autopilot.wait
        self.wait.tell = tell
        self._shown = self.wait.peer, self.wait.lockstep
        self._told = False
        try:
            self._autopilot.open()
        except OSError as error:
            place, message = vehicle.place, f"cannot wait for {self.wait.whom}: {error.strerror}"
            if is_taken(error):
                raise PortTaken(
                    f"{place.where}: {place.key}.autopilot: cannot wait for {self.wait.whom}: the port is in use, "
                    "perhaps by another simulation; end it, or give the vehicle another `instance`"
                ) from None
            raise WorldError([Problem(place.where, f"{place.key}.autopilot", message)]) from None

    def send(self, step: int, time_ns: int) -> None:
        """Tells the autopilot how its vehicle is."""
        sample = self._senses.sample(step, time_ns)
        self._told = sample is not None
        if sample is not None:
            self._autopilot.send(sample)

    def receive(self) -> None:
        """Has the motors do what it commands."""
        if not self._told:
            return
        commands = self._autopilot.receive()
        if commands is not None:
            self._vehicle.command[:] = commands
        stands = self.wait.peer, self.wait.lockstep
        if stands != self._shown and not self.wait.stop.is_set():
            self._shown = stands
            self._tell(self.wait.said())

    def interrupt(self) -> None:
        """Ends any waiting at once and for good."""
        self.wait.stop.set()

    def close(self) -> None:
        """Lets go of the sockets."""
        self._autopilot.close()
