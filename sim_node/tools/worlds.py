"""Tools that check, run and draw worlds by the `sim_node` command, in a process of their own."""

from __future__ import annotations

from typing import Annotated, Any

from sim_node.tools.commands import finished, shortened
from sim_node.tools.registry import Call, ToolRefused, tool
from sim_node.world.locate import shipped_worlds

MAX_SIMULATED_S, MAX_WALL_S = 3600.0, 600.0
MAX_PICTURE = 2_000_000

World = Annotated[str, "name of a shipped world, or path of a world file within the folder"]


@tool("check_world")
def check_world(call: Call, *, world: World) -> dict[str, Any]:
    """Check a world file. The report names file, line and column of each fault, and what is allowed there."""
    code, text = finished(call, "check", world_path(call, world), timeout_s=60.0)
    return {"valid": code == 0, "report": shortened(text)}


@tool("run_world", changes=True)
def run_world(
    call: Call,
    *,
    world: World,
    duration: Annotated[float, f"simulated s, up to {MAX_SIMULATED_S:g}"],
    bag: Annotated[str, "name of a new folder for the recording"],
    seed: Annotated[int, "seed of all random numbers"] = 0,
) -> dict[str, Any]:
    """Simulate a world as fast as possible, without ROS, and record it to a bag. See bag_info and bag_query."""
    if not 0.0 < duration <= MAX_SIMULATED_S:
        raise ToolRefused(f"duration is {duration:g} s; needs above 0 and up to {MAX_SIMULATED_S:g} s")
    path, name = call.access.new_path(bag), world_path(call, world)
    options = ("--no-ros", "--speed", "max", "--duration", repr(duration), "--seed", str(seed), "--record", str(path))
    code, text = finished(call, "run", name, *options, timeout_s=MAX_WALL_S)
    if code != 0:
        raise ToolRefused(shortened(text))
    return {"bag": str(path.relative_to(call.access.folder.resolve())), "report": shortened(text)}


@tool("render_picture", changes=True)
def render_picture(
    call: Call,
    *,
    world: Annotated[str, "name of a shipped world, or path of a world file or bag within the folder"],
    picture: Annotated[str, "name of a new .png file"],
    at: Annotated[float, "simulated s"] = 0.0,
    camera: Annotated[
        str, "a camera of the world, or x,y,z@x,y,z in m: from where, at what; empty for an overview"
    ] = "",
    width: Annotated[int, "pixels, 16 to 1920"] = 960,
    height: Annotated[int, "pixels, 16 to 1080"] = 540,
) -> Any:
    """Draw a world or a bag at a time as a PNG picture."""
    if not (16 <= width <= 1920 and 16 <= height <= 1080):
        raise ToolRefused(f"size is {width} x {height}; needs 16 to 1920 by 16 to 1080 pixels")
    path, name = call.access.new_path(picture, (".png",)), world_path(call, world)
    options = ["-o", str(path), "--at", repr(at), "--size", f"{width}x{height}"]
    code, text = finished(call, "render", name, *options, *([f"--camera={camera}"] if camera else []), timeout_s=120.0)
    if code != 0:
        raise ToolRefused(shortened(text))
    return {"picture": str(path.relative_to(call.access.folder.resolve())), "report": shortened(text)}


def world_path(call: Call, given: str) -> str:
    """Return a world as the command takes it: a shipped name, or a path within the folder. Raises ToolRefused."""
    if given in shipped_worlds():
        return given
    path = call.access.path(given)
    if path.suffix == ".py" and not call.access.code:
        raise ToolRefused(f"{given!r} is a program; the user allows worlds in Python by --allow-code")
    if not path.exists():
        raise ToolRefused(f"no world {given!r} (shipped: {', '.join(shipped_worlds())})")
    return str(path)
