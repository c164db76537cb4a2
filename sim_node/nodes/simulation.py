"""The simulation node: a world on /tf, /tf_static and /clock, with services to steer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from sim_node.autopilot.vehicle_peer import attach_autopilots
from sim_node.nodes.bridge_beside import bridges_for
from sim_node.nodes.clock_sink import ClockSink
from sim_node.nodes.diagnostics import Diagnostics
from sim_node.nodes.parameters import declare
from sim_node.nodes.sensor_sink import SensorSink
from sim_node.nodes.spin import LoopNode
from sim_node.nodes.tf_sink import TfSink, simulation_stamp, wall_stamp
from sim_node.simulation import Loop, Refused, Simulation, Sink
from sim_node.world import World, load
from sim_node.world.randomise import randomised


class SimulationNode(LoopNode):
    """Simulates a world.

    Its parameters are sim_node.nodes.parameters.SPECS; `parameters` override what the command line gives. The
    world is loaded from the parameter `world` unless one is handed in. Raises WorldError and ParameterFault.
    """

    loop: Loop

    def __init__(
        self,
        world: World | None = None,
        parameters: dict[str, Any] | None = None,
        *,
        sinks: tuple[Sink, ...] = (),
        duration_ns: int | None = None,
    ) -> None:
        overrides = [Parameter(name, value=value) for name, value in (parameters or {}).items()]
        super().__init__("simulation", parameter_overrides=overrides)
        values = declare(self)
        wall = values["stamp"] == "wall"
        world = world or load(values["world"])
        self.world = randomised(world, values["seed"]) if values["randomised"] else world
        self.clock_sink = ClockSink(self, enabled=values["clock"] and not wall)
        tf = TfSink(
            self,
            prefix=values["frame_prefix"],
            stamp=wall_stamp() if wall else simulation_stamp,
            messages=values["tf_messages"],
        )
        self.sensors = SensorSink(self, prefix=values["frame_prefix"], stamp=wall_stamp() if wall else simulation_stamp)
        simulation = Simulation(self.world, values["seed"])
        autopilots = attach_autopilots(simulation, self.get_logger().info)
        self.loop = Loop(
            simulation,
            (self.clock_sink, tf, self.sensors, *sinks),
            publish_rate=values["publish_rate"],
            real_time_factor=values["real_time_factor"],
            paused=values["start_paused"],
            duration_ns=duration_ns,
        )
        self._wall_stamps = wall
        self.add_on_set_parameters_callback(self._change)
        self._serve("pause", self.loop.pause)
        self._serve("resume", self.loop.resume)
        self._serve("reset", lambda: self.loop.reset(self.get_parameter("seed").value))
        self._serve("step", self.loop.step)
        self._diagnostics = Diagnostics(self, self.loop, autopilots)
        if values["bridge"]:
            self.beside = bridges_for(self.world, values["frame_prefix"], use_sim_time=not wall)

    def _serve(self, name: str, action: Callable[[], None]) -> None:
        """A std_srvs/Trigger service ~/name; its reply says what time it is then, or why it was refused."""

        def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                action()
            except Exception as failure:  # what broke the loop is raised by its stop; whoever asked is told too
                response.success, response.message = False, str(failure)
            else:
                simulation, state = self.loop.simulation, "paused" if self.loop.paused else "running"
                response.success, response.message = True, f"{state} at {simulation.time_ns / 1e9:.9g} s"
            return response

        self.create_service(Trigger, f"~/{name}", serve)

    def _change(self, parameters: list[Parameter]) -> SetParametersResult:
        """Takes over changed parameters; rclpy has checked their types, ranges and read-only marks."""
        for parameter in parameters:
            if parameter.name == "clock" and parameter.value and self._wall_stamps:
                return SetParametersResult(
                    successful=False, reason="clock: stamps are wall time (stamp: wall), so there is no /clock"
                )
        apply: dict[str, Callable[[Any], None]] = {
            "publish_rate": self.loop.set_publish_rate,
            "real_time_factor": self.loop.set_real_time_factor,
            "clock": lambda value: setattr(self.clock_sink, "enabled", value),
        }
        for parameter in parameters:
            if parameter.name in apply:
                try:
                    apply[parameter.name](parameter.value)
                except Refused as refusal:
                    return SetParametersResult(successful=False, reason=str(refusal))
        return SetParametersResult(successful=True)
