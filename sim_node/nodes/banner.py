"""What a simulation node says when it starts: what runs, on which topics, and how to watch it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from sim_node.nodes.bridge_beside import flown_by_builtin
from sim_node.wire.sensor_topics import topics_of

if TYPE_CHECKING:
    from sim_node.nodes.simulation import SimulationNode

# Of sensors, that are shown.
MAX_TOPICS = 12


def banner(node: SimulationNode) -> list[str]:
    """Lines for a person who has just started the node."""
    frames, world = node.loop.simulation.frames, node.world
    moving = int((~frames.static).sum())
    name = node.get_fully_qualified_name()
    rate = f"{node.get_parameter('publish_rate').value:g} Hz"
    watched = frames.names[frames.static.tolist().index(False) if moving else -1]
    if watched != world.fixed_frame:
        watched = node.get_parameter("frame_prefix").value + watched
    follow = " --ros-args -p use_sim_time:=true" if node.clock_sink.enabled else ""
    return [
        headline(node),
        f"  /tf          {rate}, {moving} moving",
        f"  /tf_static   once, latched, {len(frames) - 1 - moving} static",
        *([f"  /clock       {rate}"] if node.clock_sink.enabled else []),
        *_sensors(node),
        f"  services     {name}/pause, resume, reset, step   (std_srvs/Trigger)",
        *(f"  bridge       {line}" for line in _bridged(node)),
        f"  watch        sim_node lookup --live {world.fixed_frame} {watched}",
        f"  rviz         {_rviz(node)}{follow}",
        "  stop         Ctrl-C",
    ]


def _bridged(node: SimulationNode) -> list[str]:
    """Where topics of telemetry are, and commands."""
    vehicles = flown_by_builtin(node.world).values() if node.beside else ()
    return [f"{name}/local_position/pose, {name}/cmd/land, {name}/goto, ..." for name in list(vehicles)[:MAX_TOPICS]]


def headline(node: SimulationNode) -> str:
    """The first of these lines, for logs."""
    speed = node.get_parameter("real_time_factor").value
    pace = "as fast as possible" if speed == 0.0 else f"{speed:g} x real time"
    return f"{node.world.name}: node {node.get_fully_qualified_name()}, fixed frame {node.world.fixed_frame}, {pace}"


def _sensors(node: SimulationNode) -> list[str]:
    """The topics of sensors, the first few where there are many."""
    topics = topics_of(node.world, node.get_parameter("frame_prefix").value)
    more = [f"... {len(topics) - MAX_TOPICS} more"] if len(topics) > MAX_TOPICS else []
    return [f"  {'sensors' if row == 0 else '':12} {topic}" for row, topic in enumerate((*topics[:MAX_TOPICS], *more))]


def _rviz(node: SimulationNode) -> str:
    """What opens rviz on all of this, from here."""
    options = {
        "--frame-prefix": node.get_parameter("frame_prefix").value,
        "--namespace": node.get_namespace().strip("/"),
    }
    given = "".join(f" {option} {shlex.quote(value)}" for option, value in options.items() if value)
    world = shlex.quote(node.get_parameter("world").value)
    return f"sim_node rviz {world}{given} -o sim.rviz && rviz2 -d sim.rviz"
