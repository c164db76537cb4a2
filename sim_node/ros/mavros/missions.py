"""MAVROS' services of missions: pull, push, clear, set_current; and the topic of what was pulled or pushed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mavros_msgs import srv

from sim_node.mavlink.mavros.functions import publish_waypoints
from sim_node.mavlink.mavros.waypoints import upload_of, waypoint, waypoint_of
from sim_node.mavlink.mission import Clear, Download, SetCurrent
from sim_node.ros.mavros.services import MavrosServices


def serve_missions(serving: MavrosServices) -> None:
    """Offer mission/pull, push, clear and set_current, and pull once, as MAVROS does."""
    names, commands = serving.names, serving.commands

    def show(points: list[Mapping[str, Any]]) -> None:
        def act(now_ns: int) -> None:
            names.waypoints = points
            publish_waypoints(names)

        serving.bridge.post(act)

    async def pull(request: Any, response: Any) -> None:
        result = await commands.begin(Download, engages=True)
        response.success = result.ok
        if result.ok:
            points = [waypoint(each) for each in result.value]
            response.wp_received = len(points)
            show(list(points))

    async def push(request: Any, response: Any) -> None:
        new = [waypoint_of(each) for each in request.waypoints]
        known = list(names.waypoints or ())
        start = request.start_index
        if start + len(new) > len(known) and start:
            serving.refuse("mission/push", f"waypoints {start} to {start + len(new) - 1} of {len(known)}")
            return
        # The rest of a mission of which a part is replaced is sent again: not all autopilots take parts.
        points = [*known[:start], *new, *known[start + len(new) :]] if start else new
        result = await commands.begin(lambda: upload_of(points), engages=True)
        response.success = result.ok
        if result.ok:
            response.wp_transfered = len(new)
            show(list(points))

    async def clear(request: Any, response: Any) -> None:
        response.success = (await commands.begin(Clear, engages=True)).ok
        if response.success:
            show([])

    async def set_current(request: Any, response: Any) -> None:
        number = request.wp_seq
        response.success = (await commands.begin(lambda: SetCurrent(number), engages=True)).ok

    serving.serve(srv.WaypointPull, "mission/pull", pull)
    serving.serve(srv.WaypointPush, "mission/push", push)
    serving.serve(srv.WaypointClear, "mission/clear", clear)
    serving.serve(srv.WaypointSetCurrent, "mission/set_current", set_current)
    if serving.vehicle.route.accepts_commands:
        first = commands.begin(Download, engages=True)

        def pulled(future: Any) -> None:
            result = future.result()
            if result.ok:
                show([waypoint(each) for each in result.value])

        first.add_done_callback(pulled)
