"""The bridge node: autopilots over MAVLink on one side, ENU/FLU topics, services and TF on the other."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.parameter import Parameter

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.connection import Identity
from sim_node.mavlink.prepare import prepare
from sim_node.mavlink.topics import TOPICS, Deviations, VehicleTopic
from sim_node.mavlink.vehicle import BridgeSettings, Vehicle
from sim_node.messages.tf_sink import TF
from sim_node.messages.topic import Outlet, Tee
from sim_node.ros.bridge_diagnostics import BridgeDiagnostics
from sim_node.ros.bridge_parameters import DEVIATIONS, SPECS, connections, names_of, naming, playback
from sim_node.ros.calls import Orders
from sim_node.ros.dialects import ENU, dialect
from sim_node.ros.parameters import SPECS as SIMULATION
from sim_node.ros.parameters import declare, refuse_unknown
from sim_node.ros.publishers import LatePublishers, load_type_support, message_class
from sim_node.ros.recording import recorder_of
from sim_node.ros.spin import LoopNode
from sim_node.ros.vehicle_commands import SERVICE_TYPES, VehicleCommandServices, VehicleMissions, VehicleSetpoints
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf

if TYPE_CHECKING:
    from sim_node.recording.recorder import Recorder
    from sim_node.ros.dialect_vehicles import DialectVehicles

# How often messages are committed to a recording.
COMMIT_S = 0.1
# Maximum time that the bridge's thread waits for the interpreter after each datagram while callbacks run. Python's
# default of 5 ms would add up to 30 ms per cycle of the loop.
SWITCH_S = 0.0005


class BridgeNode(LoopNode):
    """Bridges MAVLink links to the graph.

    Args:
        parameters: Overrides of the parameters in sim_node.ros.bridge_parameters.SPECS.
        beside: The node's name if the command-line arguments, such as a node name, belong to another node.
        keys: Files with the signing keys of individual links, by URL, instead of the parameter signing_key.

    Raises:
        ParameterFault: A parameter is invalid.
    """

    def __init__(
        self,
        parameters: dict[str, Any] | None = None,
        *,
        beside: str = "",
        keys: Mapping[str, Path] | None = None,
    ) -> None:
        overrides = [Parameter(name, value=value) for name, value in (parameters or {}).items()]
        own = ["--ros-args", "-r", f"__node:={beside}"] if beside else None
        super().__init__("bridge", cli_args=own, parameter_overrides=overrides)
        values = declare(self, SPECS)
        refuse_unknown(self, SPECS, SIMULATION if beside else ())
        self.naming = naming(values)
        self._names = names_of(values)
        settings = BridgeSettings(
            frames=self.naming.frames,
            deviations=Deviations(*(values[name] for name in DEVIATIONS)),
            **{field.name: values[field.name] for field in fields(BridgeSettings) if field.name in values},
        )
        simulated = bool(self.get_parameter("use_sim_time").value)
        self._graph_ns = self._clock_ns if simulated else time.time_ns
        self.bridge = Bridge(
            connections(values, keys or {}),
            self,
            settings,
            Identity(values["system_id"], values["component_id"]),
            playback=playback(values),
            graph_ns=self._graph_ns,
        )
        self.bridge.every(1.0 / values["tf_rate"], self._stream_tf)
        # Not in the loop, which must never wait for disk access.
        prepare()
        load_type_support(message_class(type) for type in (TF.type, *(topic.type for topic in TOPICS.values())))
        load_type_support(SERVICE_TYPES)
        self._dialects: list[DialectVehicles] = [
            dialect(name)(self, self.bridge, self.naming) for name in self._names if name != ENU
        ]
        # The first line that rclpy logs looks up the files of all modules, which takes 0.4 s. inspect caches them.
        inspect.getmodule(inspect.currentframe())
        graph = LatePublishers(self)
        recorder = recorder_of(self, values) if values["record"] else None
        self._outlet: Outlet = graph if recorder is None else Tee(graph, recorder)
        if recorder is not None:
            self.bridge.every(COMMIT_S, lambda now_ns: recorder.commit(self._graph_ns()))
        self.loop = _Thread(self.bridge, recorder)
        self._tf_parent = values["tf_parent"]
        self._topics: dict[int, VehiclePublishers] = {}
        self._tf: dict[int, VehicleTf] = {}
        # Services and subscriptions are created in the executor's thread, which may be waiting on the existing ones. So
        # are publishers, because creating them would delay the loop.
        self._orders = Orders(self)
        self._setpoints: list[VehicleSetpoints] = []
        self._missions: list[VehicleMissions] = []
        self._diagnostics = BridgeDiagnostics(self, self.bridge)

    # Called by the bridge, in its thread

    def vehicle_found(self, vehicle: Vehicle) -> None:
        """Schedule the creation of a vehicle's topics, frames and services in the executor's thread.

        Args:
            vehicle: The vehicle.
        """
        system = vehicle.system
        frames = vehicle.telemetry.frames
        self._topics[system] = VehiclePublishers(
            self._outlet, self.naming.name(system), self.naming.sensors, self._graph_ns
        )
        parent = {"map": frames.map, "odom": frames.odom, "none": None}[self._tf_parent]
        self._tf[system] = tf = VehicleTf(self._outlet, vehicle.telemetry, parent)
        tf.publish_static(self._graph_ns())
        vehicle.telemetry.publishes = ENU in self._names
        for names in self._dialects:
            names.found(vehicle, self._outlet, tf, self._graph_ns)
        self._orders.add(lambda: self._serve(vehicle))

    def publish(self, system: int, topic: VehicleTopic, data: bytes) -> None:
        """Publish a message of a vehicle.

        Args:
            system: The vehicle's system id.
            topic: The topic.
            data: The message as CDR.
        """
        self._topics[system].send(topic, data)

    def static_frame(self, system: int, child: str, rotation: Quaternion) -> None:
        """Publish a frame that is fixed to a vehicle's frame.

        Args:
            system: The vehicle's system id.
            child: The name of the frame.
            rotation: Its orientation in the vehicle's frame (FLU), [x, y, z, w].
        """
        self._tf[system].publish_fixed(child, rotation, self._graph_ns())

    def warn(self, text: str) -> None:
        """Log a warning.

        Args:
            text: The warning.
        """
        self.get_logger().error(text)

    def report(self, text: str) -> None:
        """Log information.

        Args:
            text: The information.
        """
        self.get_logger().info(text)

    def _stream_tf(self, now_ns: int) -> None:
        at_ns = self._graph_ns() - round(self.get_parameter("tf_delay").value * 1e9)
        ahead_ns = round(self.get_parameter("tf_ahead").value * 1e9)
        for tf in self._tf.values():
            tf.stream(at_ns, ahead_ns)

    def _clock_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    # Called in the executor's thread

    def _serve(self, vehicle: Vehicle) -> None:
        name = self.naming.name(vehicle.system)
        # Not in the loop, because rclpy takes milliseconds to find the line that logs.
        self.get_logger().info(f"system {vehicle.system} at {vehicle.route.name}: topics below {name or '/'}")
        commands = VehicleCommandServices(self, self.bridge, vehicle, name, self._graph_ns)
        for names in self._dialects:
            names.serve(vehicle, commands)
        if ENU not in self._names:
            return
        commands.offer()
        self._setpoints.append(VehicleSetpoints(self, self.bridge, vehicle, name, commands, self._graph_ns))
        self._missions.append(VehicleMissions(self, vehicle, name, commands))


class _Thread:
    """Runs a bridge, and its recording if any, in a thread."""

    def __init__(self, bridge: Bridge, recorder: Recorder | None) -> None:
        self._bridge, self._recorder = bridge, recorder
        self._thread = threading.Thread(target=self._run, name="bridge", daemon=True)
        self._ended: Callable[[], None] = lambda: None
        self._failure: Exception | None = None

    def start(self, *, ended: Callable[[], None]) -> None:
        """Start the thread. `ended` is called at the end of a log, or if the bridge fails."""
        self._ended = ended
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. Raises the exception that made it fail, if any."""
        if self._thread.is_alive():
            self._ended = lambda: None  # a requested stop does not count as ending by itself
            self._bridge.stop()
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            if self._recorder is None:
                self._bridge.run()
                return
            self._recorder.open()
            try:
                self._bridge.run()
            finally:
                self._recorder.close()
        except Exception as failure:
            self._failure = failure
        finally:
            self._ended()
