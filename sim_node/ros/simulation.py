"""The simulation node: a Session on the graph."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

from sim_node.messages.clock import simulation_stamp, wall_stamp
from sim_node.messages.odometry import odometry_topics
from sim_node.messages.sensor_topics import topics_of
from sim_node.ros.bridge_beside import LaterBridges, bridges_for, parameters_beside
from sim_node.ros.command_topics import CommandSink
from sim_node.ros.diagnostics import Diagnostics
from sim_node.ros.live_topics import follow_estimates
from sim_node.ros.message_triggers import TriggerSink
from sim_node.ros.parameters import SPECS, applied, declare, refuse_unknown
from sim_node.ros.publishers import Publishers, typed
from sim_node.ros.recording import recording_faults, recording_settings, serve_snapshot
from sim_node.ros.simulation_requests import SimulationRequests
from sim_node.ros.spin import LoopNode
from sim_node.session import Publishing, Session
from sim_node.session.run_parts import RUN_PARTS
from sim_node.simulation import Loop, Sink, Snapshot
from sim_node.viewing.browser.ghosts import Ghost
from sim_node.world import World
from sim_node.world.autopilots import flown_by_builtin

# After a reset, /clock goes back first, so that listeners drop future transforms. Transforms that arrive earlier
# would be rejected as old (TF_OLD_DATA), so they are delayed.
RESET_GAP_S = 0.1


class ResetGap(Sink):
    """A sink between /clock and the following sinks that waits when time goes back."""

    def __init__(self) -> None:
        self._last_ns = 0

    def write(self, snapshot: Snapshot) -> None:
        """Wait if the snapshot is earlier than the previous one."""
        if snapshot.time_ns < self._last_ns:
            time.sleep(RESET_GAP_S)
        self._last_ns = snapshot.time_ns


# Maximum number of topics of each kind in the banner.
MAX_TOPICS = 12


def banner(node: SimulationNode) -> list[str]:
    """Return startup messages for the user."""
    frames, world = node.loop.simulation.frames, node.world
    moving = int((~frames.static).sum())
    name = node.get_fully_qualified_name()
    rate = f"{node.get_parameter('publish_rate').value:g} Hz"
    prefix = node.get_parameter("frame_prefix").value
    watched = frames.names[frames.static.tolist().index(False) if moving else -1]
    if watched != world.fixed_frame:
        watched = prefix + watched
    follow = " --ros-args -p use_sim_time:=true" if node.clock_sink.enabled else ""
    return [
        headline(node),
        f"  /tf          {rate}, {moving} moving",
        f"  /tf_static   once, latched, {len(frames) - 1 - moving} static",
        *([f"  /clock       {rate}"] if node.clock_sink.enabled else []),
        *_topics("sensors", topics_of(node.world, prefix)),
        *_topics("odometry", [each.name for each in odometry_topics(node.world, prefix)]),
        *(
            line
            for part in RUN_PARTS.values()
            for line in _topics(part.noun, [each.topic.name for each in part.topics(node.world, prefix)])
        ),
        f"  services     {name}/pause, resume, reset, step   (std_srvs/Trigger)",
        *_interfaces(node),
        *([f"  commands     {', '.join(node.commands[:MAX_TOPICS])}"] if node.commands else []),
        *(f"  bridge       {line}" for line in _bridged(node)),
        f"  watch        sim_node lookup --live {world.fixed_frame} {watched}",
        f"  rviz         {_rviz(node)}{follow}",
        "  stop         Ctrl-C",
    ]


def _interfaces(node: SimulationNode) -> list[str]:
    """Return the line about the services of simulation_interfaces, if they are offered."""
    served = node.requests.interfaces
    names = [] if served is None else [node.resolve_service_name(served.path("GetEntities"))]
    return [f"  interfaces   {name}, spawn_entity, ..." for name in names]


def _bridged(node: SimulationNode) -> list[str]:
    """Return the names of telemetry and command topics."""
    vehicles = flown_by_builtin(node.world).values() if node.beside else ()
    return [f"{name}/local_position/pose, {name}/cmd/land, {name}/goto, ..." for name in list(vehicles)[:MAX_TOPICS]]


def headline(node: SimulationNode) -> str:
    """Return the first line of the banner, for logs."""
    speed = node.get_parameter("real_time_factor").value
    pace = "as fast as possible" if speed == 0.0 else f"{speed:g} x real time"
    return f"{node.world.name}: node {node.get_fully_qualified_name()}, fixed frame {node.world.fixed_frame}, {pace}"


def _topics(of: str, topics: list[str]) -> list[str]:
    """Return a line that lists topics of a kind, up to MAX_TOPICS."""
    more = [f"... {len(topics) - MAX_TOPICS} more"] if len(topics) > MAX_TOPICS else []
    return [f"  {of if row == 0 else '':12} {topic}" for row, topic in enumerate((*topics[:MAX_TOPICS], *more))]


def _rviz(node: SimulationNode) -> str:
    """Return the command that opens rviz with this simulation."""
    options = {
        "--frame-prefix": node.get_parameter("frame_prefix").value,
        "--namespace": node.get_namespace().strip("/"),
    }
    given = "".join(f" {option} {shlex.quote(value)}" for option, value in options.items() if value)
    world = shlex.quote(node.get_parameter("world").value)
    return f"sim_node rviz {world}{given} -o sim.rviz && rviz2 -d sim.rviz"


class SimulationNode(LoopNode):
    """Simulates a world.

    Args:
        world: The world; None to load the one in the parameter `world`.
        parameters: Overrides of the parameters in sim_node.ros.parameters.SPECS.
        sinks: Additional sinks that receive each tick.
        view: Whether to show the run in the browser, or the port to use.
        look_back: How much of the run the viewer keeps for looking back, bytes.
        ghosts: Ghosts that the viewer shows beside the run.
        foxglove: Whether to serve the run to Foxglove, or the port to use.
        duration_ns: Simulated time after which the run ends (ns).

    Attributes:
        session: The run.
        world: The world of the run.

    Raises:
        WorldError: The world is invalid.
        ParameterFault: A parameter is invalid.
    """

    loop: Loop

    def __init__(
        self,
        world: World | None = None,
        parameters: dict[str, Any] | None = None,
        *,
        sinks: tuple[Sink, ...] = (),
        view: bool | int = False,
        look_back: int = 256_000_000,
        ghosts: Sequence[Ghost] = (),
        foxglove: bool | int = False,
        duration_ns: int | None = None,
    ) -> None:
        overrides = [Parameter(name, value=value) for name, value in (parameters or {}).items()]
        super().__init__("simulation", parameter_overrides=overrides)
        values = declare(self)
        self._wall_stamps = values["stamp"] == "wall"
        self._commands = CommandSink(self, values["frame_prefix"], time.time_ns if self._wall_stamps else None)
        self._triggers = TriggerSink(self, values["frame_prefix"])
        self._later_bridges: tuple[LaterBridges, ...] = ()
        if values["bridge"]:
            later = LaterBridges(self, values["frame_prefix"], use_sim_time=not self._wall_stamps)
            self._later_bridges = (later,)
        self.session = session = Session(
            world or values["world"],
            seed=values["seed"],
            randomised=values["randomised"],
            publish_rate=values["publish_rate"],
            real_time_factor=values["real_time_factor"],
            paused=values["start_paused"],
            duration_ns=duration_ns,
            record=values["record"] or None,
            recording=recording_settings(values) if values["record"] else None,
            view=view,
            look_back=look_back,
            ghosts=ghosts,
            foxglove=foxglove,
            processes=values["processes"] or values["recipes"],
            bridged=values["bridge"],
            network=values["allow_network"],
            allow=[folder for folder in values["allow"].split(os.pathsep) if folder],
            sinks=(*sinks, self._commands, self._triggers, *self._later_bridges),
            publishing=self._publishing(values),
            report=self.get_logger().info,
            warn=self.get_logger().error,
        )
        self.world = session.world
        refuse_unknown(self, SPECS, parameters_beside(self.world) if values["bridge"] else ())
        with recording_faults():
            session.open()
        if session.estimates is not None:
            follow_estimates(self, session.estimates)
        try:
            self._set_up(values)
        except BaseException:
            session.close()
            raise

    @property
    def commands(self) -> Sequence[str]:
        """Topics and actions for commands to joints, bodies and vehicles."""
        return self._commands.topics

    def ask_to_end(self) -> None:
        """Ask programs to terminate, because they may take a while, and stop the bridges of vehicles added later."""
        self.session.ask_to_end()
        for bridges in self._later_bridges:
            bridges.stop()

    def destroy_node(self) -> None:
        """Wait for a pending change of the world and for programs, then destroy the node."""
        with ExitStack() as ending:
            ending.callback(super().destroy_node)
            ending.callback(self.session.close)
            ending.callback(self.requests.close)

    def _publishing(self, values: dict[str, Any]) -> Publishing:
        """Return how the run is published on this node's topics."""
        return Publishing(
            outlet=Publishers(self),
            transforms=typed(self) if values["tf_messages"] == "typed" else None,
            clock=values["clock"] and not self._wall_stamps,
            after_clock=() if self._wall_stamps else (ResetGap(),),
            stamp=wall_stamp() if self._wall_stamps else simulation_stamp,
            prefix=values["frame_prefix"],
            displays=values,
            describes=values["publish_description"],
            resolve=self.resolve_topic_name,
            scene_graph_rate=values["scene_graph_rate"],
            rotor_frame_rate=values["rotor_frame_rate"],
        )

    def _set_up(self, values: dict[str, Any]) -> None:
        """Create services, parameters and diagnostics."""
        session, self.loop = self.session, self.session.loop
        assert session.clock is not None, "a node is an outlet"
        self.clock_sink = session.clock
        if session.recorder is not None and session.recorder.settings.snapshot_ns:
            serve_snapshot(self, session.recorder)
        self.add_on_set_parameters_callback(self._change)
        # Separate from the loop's stamps: wall stamps have state and belong to one thread.
        stamp = wall_stamp() if self._wall_stamps else simulation_stamp
        self._diagnostics = Diagnostics(self, session, stamp)
        self._commands.begin(self.loop)
        self._triggers.begin(session)
        self.requests = SimulationRequests(self, session, stamp, values["simulation_interfaces"])
        if values["bridge"]:
            prefix, use_sim_time = values["frame_prefix"], not self._wall_stamps
            self.beside = bridges_for(self.world, prefix, use_sim_time=use_sim_time)

    def _change(self, parameters: list[Parameter]) -> SetParametersResult:
        """Apply changed parameters. rclpy has checked their types, ranges and read-only flags."""
        for parameter in parameters:
            if parameter.name == "clock" and parameter.value and self._wall_stamps:
                return SetParametersResult(
                    successful=False, reason="clock: stamps are wall time (stamp: wall), so there is no /clock"
                )
        apply: dict[str, Callable[[Any], None]] = {
            "seed": lambda value: setattr(self.session, "seed", value),
            "publish_rate": self.loop.set_publish_rate,
            "real_time_factor": self.loop.set_real_time_factor,
            "clock": lambda value: self.loop.call(lambda: setattr(self.clock_sink, "enabled", value)),
        }
        return applied(parameters, apply)
