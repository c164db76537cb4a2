"""The topics and services that a world determines, and conflicts between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sim_node.mavlink.topics import (
    BESIDE_SIMULATION,
    RESULTS,
    SERVICES,
    WAYPOINTS,
    is_namespace,
    telemetry_of,
)
from sim_node.messages.odometry import odometry_topics
from sim_node.messages.sensor_topics import sensor_messages
from sim_node.messages.signal_sink import output_topics
from sim_node.session.run_parts import RUN_PARTS
from sim_node.viewing.display_sinks import MARKERS, description_topic, path_topic
from sim_node.viewing.robots import robots_of
from sim_node.world import World, lay_out
from sim_node.world.autopilots import flown_by_builtin
from sim_node.world.bases import Base
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.signals import NamedSignal

NODE = "simulation"
# Topics of the simulation node itself.
_NODE_TOPICS = ("/tf", "/tf_static", "/clock", "/diagnostics", MARKERS.name.replace("~", f"/{NODE}"))


class GraphName(NamedTuple):
    """A name on the graph, and what publishes or serves it.

    Attributes:
        name: The absolute name.
        kind: topic or service.
        type: The message type of a topic, if known.
        owner: What publishes or serves it, for messages.
        place: Where the world defines the owner.
    """

    name: str
    kind: str
    type: str
    owner: str
    place: Place


def graph_names(world: World) -> Iterator[GraphName]:
    """Yield the topics that a run of a world publishes, and the services that it offers.

    This includes the bridges of built-in autopilots, but not bridges in separate processes, whose names the world does
    not determine.

    Args:
        world: The assembled world.

    Yields:
        Each name, once for each publisher or server.

    Raises:
        WorldError: A sensor is invalid.
        PluginFault: A plug-in's sensor declares invalid messages.
    """
    yield from _services_of_the_node()
    yield from _names_of_world(world)


def _services_of_the_node() -> Iterator[GraphName]:
    from sim_node.simulation.requests import REQUESTS  # here: few worlds have a vehicle with the name of the node

    for name in ("change", "snapshot", *(name for name, each in REQUESTS.items() if each.is_bare)):
        yield GraphName(f"/{NODE}/{name}", "service", "", "the simulation", NO_PLACE)


def _names_of_world(world: World) -> Iterator[GraphName]:
    """Yield all names except the node's services, which would require importing every request."""
    for name in _NODE_TOPICS:
        yield GraphName(name, "topic", "", "the simulation", NO_PLACE)
    vehicles = {vehicle.name: vehicle.place for vehicle in world.vehicles}
    carriers = vehicles | {base.name: base.place for base in world.of(Base)}
    for robot in robots_of(world, lay_out(world).frames):
        topic = description_topic(robot)
        owner = f"the description of {robot.name}"
        yield GraphName(f"/{topic.name}", "topic", topic.type, owner, vehicles.get(robot.name, NO_PLACE))
    for name, place in vehicles.items():
        topic = path_topic(name)
        yield GraphName(f"/{topic.name}", "topic", topic.type, f"the path of vehicle {name}", place)
    places = {sensor.name: sensor.place for sensor in world.sensors}
    for name, topic, _ in sensor_messages(world):
        yield GraphName(f"/{topic.name.lstrip('/')}", "topic", topic.type, f"sensor {name}", places[name])
    for base, topic in zip(world.of(Base), odometry_topics(world), strict=True):
        yield GraphName(f"/{topic.name}", "topic", topic.type, f"the odometry of {base.name}", base.place)
    outputs = (signal for signal in world.of(NamedSignal) if not signal.input)
    for signal, topic in zip(outputs, output_topics(world), strict=True):
        yield GraphName(f"/{topic.name}", "topic", topic.type, f"the signal {signal.name}", signal.place)
    for part in RUN_PARTS.values():
        for topic, owner, place in part.topics(world):
            yield GraphName(f"/{topic.name.lstrip('/')}", "topic", topic.type, owner, place)
    for instance, name in flown_by_builtin(world).items():
        yield from _bridged(instance, name, carriers[name])


def _bridged(instance: int, vehicle: str, place: Place) -> Iterator[GraphName]:
    """Yield the names of a vehicle that the bridge in the simulation's process publishes and serves."""
    namespace = vehicle if is_namespace(vehicle) else f"vehicle{instance + 1}"
    owner = f"the bridge of vehicle {vehicle}"
    try:
        telemetry = telemetry_of(namespace, BESIDE_SIMULATION)
    except ImportError:
        return  # without pymavlink there is no bridge
    for topic in telemetry:
        yield GraphName(f"/{topic.name.lstrip('/')}", "topic", topic.type, owner, place)
    for name in (RESULTS, WAYPOINTS):
        yield GraphName(f"/{namespace}/{name}", "topic", "", owner, place)
    for name in SERVICES:
        yield GraphName(f"/{namespace}/{name}", "service", "", owner, place)


def clashes(world: World) -> list[Problem]:
    """Return a problem for each pair of parts of a world that publish the same topic or serve the same service.

    Args:
        world: The assembled world.

    Returns:
        The problems, each located at the later of the two parts.

    Raises:
        WorldError: A sensor is invalid.
        PluginFault: A plug-in's sensor declares invalid messages.
    """
    first: dict[tuple[str, str], GraphName] = {}
    shared: dict[tuple[str, str], list[tuple[GraphName, GraphName]]] = {}
    found = list(_names_of_world(world))
    if any(each.kind == "service" and each.name.startswith(f"/{NODE}/") for each in found):
        found = [*_services_of_the_node(), *found]
    for each in found:
        other = first.setdefault((each.kind, each.name), each)
        if other is not each:
            # Bridges come last, but a sensor is easier to rename than a vehicle.
            pair = (other, each) if other.owner.startswith("sensor") and each.owner.startswith("the") else (each, other)
            shared.setdefault((pair[0].owner, pair[1].owner), []).append(pair)
    return [_problem(pairs) for pairs in shared.values()]


def _problem(pairs: list[tuple[GraphName, GraphName]]) -> Problem:
    each, other = pairs[0]
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    verb = "publishes on" if each.kind == "topic" else "serves"
    types = f" ({each.type}, there {other.type})" if each.type and other.type and each.type != other.type else ""
    message = f"{each.owner} {verb} {quoted(each.name)}{more}, as does {other.owner}{types}; change one of the names"
    return Problem(each.place.where, each.place.key, message)
