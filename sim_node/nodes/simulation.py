"""The simulation node: a world on /tf, /tf_static and /clock, with services to steer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from sim_node.autopilot.vehicle_peer import attach_autopilots
from sim_node.nodes.bridge_beside import bridges_for, parameters_beside
from sim_node.nodes.diagnostics import Diagnostics
from sim_node.nodes.parameters import SPECS, declare, refuse_unknown
from sim_node.nodes.publishers import Publishers
from sim_node.nodes.recording import recorder_of
from sim_node.nodes.reset_gap import ResetGap
from sim_node.nodes.spin import LoopNode
from sim_node.nodes.typed_transforms import typed
from sim_node.programs.recipes import supervised
from sim_node.simulation import Loop, Refused, Simulation, Sink
from sim_node.viewing.display_sinks import display_sinks
from sim_node.wire.clock import ClockSink, simulation_stamp, wall_stamp
from sim_node.wire.sensor_topics import SensorSink
from sim_node.wire.tf_sink import TfSink, serialised, to_all
from sim_node.wire.topic import Outlet, Tee
from sim_node.world import World, load
from sim_node.world.randomise import randomised

if TYPE_CHECKING:
    from sim_node.recording.recorder import Recorder


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
        refuse_unknown(self, SPECS, parameters_beside(world) if values["bridge"] else ())
        self.world = randomised(world, values["seed"]) if values["randomised"] else world
        prefix, stamp = values["frame_prefix"], wall_stamp() if wall else simulation_stamp
        graph = Publishers(self)
        self.recorder, bag, commits = self._recording(values)
        outlet = Tee(graph, *bag)
        transforms = (
            to_all(typed(self), *map(serialised, bag)) if values["tf_messages"] == "typed" else serialised(outlet)
        )
        self.clock_sink = ClockSink(outlet, enabled=values["clock"] and not wall)
        gap = () if wall else (ResetGap(),)
        tf = TfSink(transforms, prefix=prefix, stamp=stamp)
        sensors = SensorSink(outlet, prefix=prefix, stamp=stamp)
        seen = display_sinks(outlet, values, prefix=prefix, stamp=stamp)
        simulation = Simulation(self.world, values["seed"])
        autopilots = attach_autopilots(simulation, self.get_logger().info)
        self.loop = Loop(
            simulation,
            (self.clock_sink, *gap, tf, sensors, *seen, *commits, *sinks),
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
        # Last: who listens for the programs is there, and nothing that fails leaves one behind.
        self.programs = supervised(self.world, values["recipes"], self.get_logger().info)
        self._diagnostics = Diagnostics(self, self.loop, autopilots, self.programs)
        if values["bridge"]:
            self.beside = bridges_for(self.world, values["frame_prefix"], use_sim_time=not wall)

    def ask_to_end(self) -> None:
        """Programs may take their time to end."""
        self.programs.ask_to_end()

    def destroy_node(self) -> None:
        """Waits for the programs to have ended."""
        self.programs.stop()
        super().destroy_node()

    def _recording(self, values: dict[str, Any]) -> tuple[Recorder | None, tuple[Outlet, ...], tuple[Sink, ...]]:
        """The recording that is asked for, if one is: as an outlet, and as the sink that follows all others."""
        if not values["record"]:
            return None, (), ()
        # Here, because a node that does not record needs none of it.
        from sim_node.recording.provenance import attachments_of, custom_data
        from sim_node.recording.recording_sink import RecordingSink

        attached = attachments_of(self.world, values["seed"], values["randomised"])
        recorder = recorder_of(self, values, attached, custom_data(self.world, values["seed"]))
        return recorder, (recorder,), (RecordingSink(recorder),)

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
