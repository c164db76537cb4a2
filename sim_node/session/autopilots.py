"""The autopilots of a session: their connections follow changes of the world."""

from __future__ import annotations

from collections.abc import Callable

from sim_node.autopilot.ports import PortInUse
from sim_node.autopilot.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots
from sim_node.packages import how_to_install
from sim_node.simulation import Simulation, Snapshot
from sim_node.world import FrameTable, Multirotor, World, WorldError
from sim_node.world.network import refuse_network


class AutopilotSink:
    """Connects the autopilots of a run's vehicles. A sink of the run, so that it follows changes of the world.

    A vehicle that stays keeps its connection; the run closes that of a vehicle that is gone.

    Args:
        simulation: The run.
        network: Whether autopilot links may leave this machine.
        processes: Whether the session has started the world's processes.
        report: Called with one line of text whenever an autopilot is waited for, connects or disconnects.
        warn: Called with the reason why a vehicle that was added is not connected.

    Attributes:
        connected: The connections, in the order of the vehicles.

    Raises:
        WorldError: A link leaves this machine, a vehicle does not suit its autopilot, or a package is missing.
        PortInUse: The port of an autopilot is in use.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        network: bool,
        processes: bool,
        report: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self._simulation, self._network, self._report, self._warn = simulation, network, report, warn
        self._processes = tuple(each.name for each in simulation.world.processes) if processes else None
        self._is_open = False
        self.connected: tuple[VehicleCoSimulator, ...] = attach_autopilots(simulation, report, network=network)

    def open(self, world: World, frames: FrameTable) -> None:
        """Connect the vehicles that a change of the world has added."""
        if not self._is_open:
            self._is_open = True
            return
        connected = []
        for vehicle in world.vehicles:
            if vehicle.autopilot is not None:
                before = next((each for each in self.connected if each.flies(vehicle)), None)
                connection = before or self._connect(vehicle)
                connected += [] if connection is None else [connection]
        self.connected = tuple(connected)

    def refuses(self, world: World) -> str | None:
        """Return why a world's autopilots and processes cannot be followed, or None if they can."""
        if self._processes is not None and self._processes != tuple(each.name for each in world.processes):
            return "processes cannot be added or removed while the world runs; start them by hand"
        try:
            refuse_network(world, allowed=self._network)
        except WorldError as error:
            return str(error)
        added = [each for each in world.vehicles if each.autopilot and not any(c.flies(each) for c in self.connected)]
        reasons = (self._refused(vehicle, world) for vehicle in added)
        return next((reason for reason in reasons if reason is not None), None)

    def write(self, snapshot: Snapshot) -> None:
        """Do nothing: autopilots exchange with the run itself."""

    def close(self) -> None:
        """Do nothing: the run closes the connections."""

    def _connect(self, vehicle: Multirotor) -> VehicleCoSimulator | None:
        try:
            connection = VehicleCoSimulator(self._simulation, vehicle, self._report)
        except (WorldError, PortInUse, ImportError) as error:
            self._warn(f"vehicle {vehicle.name} has no autopilot: {error}")
            return None
        self._simulation.connect(connection)
        self._report(connection.wait.describe())
        return connection

    def _refused(self, vehicle: Multirotor, world: World) -> str | None:
        """Return why an autopilot cannot be connected, as far as that can be told before its vehicle is there."""
        assert vehicle.autopilot is not None
        try:
            from sim_node.autopilot.lockstep import AUTOPILOTS
        except ImportError as error:
            return f"vehicle {vehicle.name}: autopilots need a package: {how_to_install(error)}"
        of = vehicle.autopilot
        leaving = [each for each in self.connected if not any(each.flies(other) for other in world.vehicles)]
        if any(each.has_ports_of(of) for each in leaving):
            return None
        probe = AUTOPILOTS[of.type](of.instance, len(vehicle.rotors))
        try:
            probe.open()
        except OSError as error:
            return (
                f"vehicle {vehicle.name}: cannot wait for {probe.wait.whom}: {error.strerror}; "
                "give it another `instance`"
            )
        probe.close()
        return None
