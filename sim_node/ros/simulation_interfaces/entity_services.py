"""Services about entities: their names, states, information, bounds, and named poses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import numpy as np
from geometry_msgs.msg import Vector3

from sim_node.ros.publishers import message_class
from sim_node.ros.simulation_interfaces.services import PACKAGE, Requests, service
from sim_node.session.entities import Category, Filters, Rejected
from sim_node.session.entity_bounds import BoundsType
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

T = TypeVar("T")


@service("GetEntities", "ENTITY_TAGS", "ENTITY_CATEGORIES", "ENTITY_BOUNDS_BOX", "ENTITY_BOUNDS_CONVEX")
async def get_entities(requests: Requests, request: Any, response: Any) -> None:
    """Return the names of the entities that match filters."""
    filters = filters_of(request.filters)
    response.entities = await _asked(requests, filters, lambda: requests.entities.names(filters))


@service("GetEntitiesStates")
async def get_entities_states(requests: Requests, request: Any, response: Any) -> None:
    """Return the names and the states of the entities that match filters."""
    filters = filters_of(request.filters)
    names, states, time_ns = await _asked(requests, filters, lambda: requests.entities.states(filters))
    response.entities = names
    for row in range(len(names)):
        state = message_class(f"{PACKAGE}/EntityState")()
        fill_state(state, requests, states, row, time_ns)
        response.states.append(state)


@service("GetEntityState", "ENTITY_STATE_GETTING")
def get_entity_state(requests: Requests, request: Any, response: Any) -> None:
    """Return the state of an entity."""
    states, time_ns = requests.entities.state(request.entity)
    fill_state(response.state, requests, states, 0, time_ns)


@service("GetEntityInfo", "ENTITY_INFO_GETTING")
def get_entity_info(requests: Requests, request: Any, response: Any) -> None:
    """Return the category, description and tags of an entity."""
    info = requests.entities.info(request.entity)
    response.info.category.category = int(info.category)
    response.info.description, response.info.tags = info.description, list(info.tags)


@service("SetEntityInfo", "ENTITY_INFO_SETTING")
def set_entity_info(requests: Requests, request: Any, response: Any) -> None:
    """Replace the category, description and tags of an entity."""
    info = request.info
    requests.entities.set_info(request.entity, info.category.category, info.description, list(info.tags))


@service("GetEntityBounds", "ENTITY_BOUNDS")
def get_entity_bounds(requests: Requests, request: Any, response: Any) -> None:
    """Return the box around an entity, along the axes of its canonical link."""
    set_bounds(response.bounds, requests.entities.bounds(request.entity))


@service("SetEntityState", "ENTITY_STATE_SETTING")
def set_entity_state(requests: Requests, request: Any, response: Any) -> None:
    """Set the pose and the twist of an entity."""
    state = request.state
    # Since version 2.0, each part has to be requested.
    pose, twist, acceleration = (getattr(request, f"set_{part}", True) for part in ("pose", "twist", "acceleration"))
    requests.entities.set_state(
        request.entity,
        state.header.frame_id,
        pose_of(state.pose) if pose else None,
        _pair(state.twist) if twist else None,
        _pair(state.acceleration) if acceleration else (0.0,) * 6,
    )


@service("GetNamedPoses", "NAMED_POSES")
def get_named_poses(requests: Requests, request: Any, response: Any) -> None:
    """Return the static frames of the world."""
    tags = request.tags
    response.poses = [
        _named_pose(each) for each in requests.entities.named_poses(list(tags.tags), all_tags=_all_of(tags))
    ]


@service("GetNamedPoseBounds", "POSE_BOUNDS")
def get_named_pose_bounds(requests: Requests, request: Any, response: Any) -> None:
    """Return the box around a named pose, along its axes; no bounds for a point."""
    sizes = {each.name: each.size for each in requests.entities.named_poses()}
    if request.name not in sizes:
        raise Rejected("NOT_FOUND", f"no named pose {request.name[:100]!r}{did_you_mean(request.name, sizes)}")
    size = sizes[request.name]
    set_bounds(response.bounds, None if size is None else (size / 2.0, -size / 2.0))


def filters_of(message: Any) -> Filters:
    """Convert an EntityFilters message to filters. Raises Rejected for an undefined category."""
    categories = tuple(each.category for each in message.categories)
    for category in categories:
        if category not in Category._value2member_map_:
            allowed = ", ".join(f"{each.value} ({each.name})" for each in Category)
            raise Rejected("OPERATION_FAILED", f"filters.categories: {category}; allowed: {allowed}")
    points = [(point.x, point.y, point.z) for point in message.bounds.points]
    tags = message.tags
    return Filters(message.filter, categories, tuple(tags.tags), _all_of(tags), (message.bounds.type, points))


def pose_of(message: Any) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return the position (3,), m, and quaternion (4,) [x, y, z, w] of a Pose."""
    position, turn = message.position, message.orientation
    return (position.x, position.y, position.z), (turn.x, turn.y, turn.z, turn.w)


def fill_pose(message: Any, pose: FloatArray) -> None:
    """Fill a Pose message from a pose (7,)."""
    numbers = pose.tolist()
    position, turn = message.position, message.orientation
    position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w = numbers


def fill_state(message: Any, requests: Requests, states: FrameState, row: int, time_ns: int) -> None:
    """Fill an EntityState message from a row of states, which are in the fixed frame and along its axes."""
    message.header.frame_id = requests.loop.simulation.frames.names[0]
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(requests.stamp(time_ns), 1_000_000_000)
    fill_pose(message.pose, states.pose[row])
    for pair, numbers in ((message.twist, states.twist[row]), (message.acceleration, states.acceleration[row])):
        linear, angular = pair.linear, pair.angular
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = np.nan_to_num(numbers).tolist()


def set_bounds(message: Any, bounds: tuple[FloatArray, FloatArray] | None) -> None:
    """Fill a Bounds message with a box with an upper and a lower corner (3,), or with no bounds."""
    message.type = int(BoundsType.EMPTY if bounds is None else BoundsType.BOX)
    message.points = [] if bounds is None else [Vector3(x=x, y=y, z=z) for x, y, z in map(FloatArray.tolist, bounds)]


def _asked(requests: Requests, filters: Filters, ask: Callable[[], T]) -> Awaitable[T]:
    """Return an awaitable of a query about entities. Queries with bounds run outside the loop, as they are slow."""
    return requests.preparing.run(ask) if filters.bounds[0] else requests.in_loop(ask)


def _named_pose(pose: Any) -> Any:
    message = message_class(f"{PACKAGE}/NamedPose")(name=pose.name, description=pose.description, tags=list(pose.tags))
    fill_pose(message.pose, pose.pose)
    return message


def _all_of(tags: Any) -> bool:
    """Return whether a TagsFilter requires all tags. Raises Rejected for an undefined mode."""
    if tags.filter_mode not in (tags.FILTER_MODE_ANY, tags.FILTER_MODE_ALL):
        raise Rejected("OPERATION_FAILED", f"tags.filter_mode: {tags.filter_mode}; allowed: 0 (any), 1 (all)")
    return bool(tags.filter_mode == tags.FILTER_MODE_ALL)


def _pair(message: Any) -> tuple[float, ...]:
    """Return a Twist or Accel message as (6,)."""
    linear, angular = message.linear, message.angular
    return (linear.x, linear.y, linear.z, angular.x, angular.y, angular.z)
