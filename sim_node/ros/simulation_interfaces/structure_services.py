"""Services that change the world: spawn and delete entities; list, load and unload worlds."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from sim_node.ros.publishers import message_class
from sim_node.ros.simulation_interfaces.entity_services import pose_of
from sim_node.ros.simulation_interfaces.services import PACKAGE, Requests, service, set_result
from sim_node.session.entities import Rejected
from sim_node.session.resources import Listed
from sim_node.simulation import Refused


@service("SpawnEntity", "SPAWNING", "SPAWNING_RESOURCE_STRING")
async def spawn_entity(requests: Requests, request: Any, response: Any) -> None:
    """Add an entity to the world."""
    response.entity_name = await _spawn(requests, request)


@service("SpawnEntities", "SPAWNING_ENTITIES")
async def spawn_entities(requests: Requests, request: Any, response: Any) -> None:
    """Add several entities, each as far as possible."""
    failed = 0
    for each in request.spawn_requests:
        result = message_class(f"{PACKAGE}/SpawnResult")()
        try:
            result.entity_name = await _spawn(requests, each)
        except (Rejected, Refused) as rejected:
            failed += 1
            set_result(result, rejected)
        else:
            set_result(result, None)
        response.results.append(result)
    if failed:
        raise Rejected("ENTITIES_SPAWN_FAILED", f"{failed} of {len(request.spawn_requests)} were not spawned")


@service("DeleteEntity", "DELETING")
async def delete_entity(requests: Requests, request: Any, response: Any) -> None:
    """Remove an entity and everything attached to it."""
    await requests.preparing.run(lambda: requests.structure.delete(request.entity))


@service("GetSpawnables", "SPAWNABLES")
async def get_spawnables(requests: Requests, request: Any, response: Any) -> None:
    """Return what can be spawned."""
    spawnables, sources = requests.structure.resources.spawnables, request.sources
    found, unknown = await requests.preparing.run(lambda: spawnables(sources))
    for each in found:
        message = message_class(f"{PACKAGE}/Spawnable")(description=each.description)
        _resource(message, "entity_resource").uri = each.uri
        response.spawnables.append(message)
    if unknown:
        response.result.error_message = _unknown(unknown)


@service("GetAvailableWorlds", "AVAILABLE_WORLDS")
async def get_available_worlds(requests: Requests, request: Any, response: Any) -> None:
    """Return the worlds that can be loaded."""
    tags = getattr(request, "filter", None) or request.tags_filter
    if tags.tags:
        raise Rejected("FEATURE_UNSUPPORTED", "worlds have no tags; leave the filter empty")
    worlds, sources = requests.structure.resources.worlds, request.additional_sources
    # Files are read to find out which of them can be loaded.
    found, unknown = await requests.preparing.run(lambda: worlds(sources))
    if unknown and not request.continue_on_error:
        raise Rejected("OPERATION_FAILED", _unknown(unknown))
    response.worlds = [_world(each) for each in found]


@service("GetCurrentWorld", "WORLD_INFO_GETTING")
def get_current_world(requests: Requests, request: Any, response: Any) -> None:
    """Return the name and the URI of the world."""
    if requests.run.unloaded:
        raise Rejected("NO_WORLD_LOADED", "there is no world")
    name, uri = requests.structure.current()
    response.world = _world(Listed(uri, name, ""))


@service("LoadWorld", "WORLD_LOADING", "WORLD_RESOURCE_STRING")
async def load_world(requests: Requests, request: Any, response: Any) -> None:
    """Replace the world by another one."""
    if request.ignore_missing_or_unsupported_assets:
        raise Rejected("FEATURE_UNSUPPORTED", "missing assets are never ignored")
    given = _source(request, "world_resource")
    name, uri = await requests.preparing.run(lambda: requests.structure.load(requests.run, *given))
    response.world = _world(Listed(uri, name, ""))


@service("UnloadWorld", "WORLD_UNLOADING")
async def unload_world(requests: Requests, request: Any, response: Any) -> None:
    """Replace the world by an empty one."""
    await requests.preparing.run(lambda: requests.structure.unload(requests.run))


def _spawn(requests: Requests, request: Any) -> Awaitable[str]:
    """Add an entity and return its name. Raises Rejected."""
    uri, text = _source(request, "entity_resource")
    return requests.preparing.run(
        lambda: requests.structure.spawn(
            request.name,
            uri=uri,
            text=text,
            namespace=request.entity_namespace,
            frame=request.initial_pose.header.frame_id,
            pose=pose_of(request.initial_pose.pose),
            allow_renaming=request.allow_renaming,
        )
    )


def _source(message: Any, field: str) -> tuple[str, str]:
    """Return the URI and the text of a resource: separate fields in 1.x, within the field `field` since 2.0."""
    resource = _resource(message, field)
    return resource.uri, resource.resource_string


def _resource(message: Any, field: str) -> Any:
    return getattr(message, field, message)


def _world(listed: Listed) -> Any:
    message = message_class(f"{PACKAGE}/WorldResource")(name=listed.name, description=listed.description)
    message.world_resource.uri = listed.uri
    return message


def _unknown(sources: Sequence[str]) -> str:
    return "not folders that may be read: " + ", ".join(sources)[:1000]
