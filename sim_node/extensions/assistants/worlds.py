"""Tools that check, run and render worlds with the `sim_node` command, in a separate process."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from sim_node.extensions.assistants.commands import finished, shortened, staged
from sim_node.extensions.assistants.graph import check_span
from sim_node.extensions.assistants.registry import ToolCall, ToolRefused, TypedDict, tool
from sim_node.world.locate import shipped_worlds

MAX_SIMULATED_S, MAX_WALL_S = 3600.0, 600.0
# Maximum size of a picture in an answer, bytes. Larger pictures are only kept as files.
MAX_PICTURE = 3_500_000

World = Annotated[str, "name of a shipped world, or path of a world file within the folder"]


class Checked(TypedDict):
    """Whether a world is valid, and what sim_node check says."""

    valid: bool
    report: str


class RunAnswer(TypedDict):
    """The bag within the folder, and what sim_node run says."""

    bag: str
    report: str


class PictureAnswer(TypedDict):
    """The picture's file within the folder, empty if it is not kept, and what the command says."""

    picture: str
    report: str


@tool("check_world")
def check_world(call: ToolCall, *, world: World) -> Checked:
    """Check a world file. The report names file, line and column of each fault, and what is allowed there."""
    code, text = finished(call, "check", world_path(call, world), timeout_s=60.0)
    return {"valid": code == 0, "report": shortened(text)}


@tool("run_world", changes=True)
def run_world(
    call: ToolCall,
    *,
    world: World,
    duration: Annotated[float, f"simulated s, up to {MAX_SIMULATED_S:g}"],
    bag: Annotated[str, "name of a new folder for the recording"],
    seed: Annotated[int, "seed of all random numbers"] = 0,
) -> RunAnswer:
    """Simulate a world as fast as possible, without ROS, and record it to a bag. See bag_info and bag_query.

    A run that is cancelled or fails leaves no bag.
    """
    check_span("duration", duration, MAX_SIMULATED_S)
    path, name = call.access.new_path(bag), world_path(call, world)
    with staged(path) as aside:
        options = ("--no-ros", "--speed", "max", "--duration", repr(duration), "--seed", str(seed))
        code, text = finished(call, "run", name, *options, "--record", str(aside), timeout_s=MAX_WALL_S)
        if code != 0:
            raise ToolRefused(_report(text, aside, path))
    return {"bag": str(path.relative_to(call.access.folder.resolve())), "report": _report(text, aside, path)}


@tool("render_picture", changes=True)
def render_picture(
    call: ToolCall,
    *,
    world: Annotated[str, "name of a shipped world, or path of a world file or bag within the folder"],
    picture: Annotated[str, "name of a new .png file to keep it in; empty for none"] = "",
    at: Annotated[float, "simulated s"] = 0.0,
    camera: Annotated[
        str, "a camera of the world, or x,y,z@x,y,z in m: from where, at what; empty for an overview"
    ] = "",
    width: Annotated[int, "pixels, 16 to 1920"] = 960,
    height: Annotated[int, "pixels, 16 to 1080"] = 540,
) -> PictureAnswer:
    """Draw a world or a bag at a time as a PNG picture, and show it."""
    if not (16 <= width <= 1920 and 16 <= height <= 1080):
        raise ToolRefused(f"size is {width} x {height}; needs 16 to 1920 by 16 to 1080 pixels")
    name = world_path(call, world)
    options = ["--at", repr(at), "--size", f"{width}x{height}", *([f"--camera={camera}"] if camera else [])]
    return pictured(call, picture, (".png",), ["render", name, *options], 120.0)


def pictured(
    call: ToolCall, given: str, suffixes: tuple[str, ...], command: list[str], timeout_s: float
) -> PictureAnswer:
    """Show the picture of a command with the option -o, and keep it if a file is given. Raises ToolRefused."""
    kept = call.access.new_path(given, suffixes) if given else None
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder, "picture.png")
        text = _drawn(call, command, drawn, kept or Path("picture.png"), timeout_s)
        if drawn.stat().st_size <= MAX_PICTURE:
            call.pictures.append(drawn.read_bytes())
        else:
            text += f"\nthe picture is not shown: it has {drawn.stat().st_size} bytes, allowed: {MAX_PICTURE}"
        if kept is None:
            return {"picture": "", "report": text}
        with staged(kept) as aside:
            if kept.suffix == ".png":
                shutil.copyfile(drawn, aside)
            else:
                _drawn(call, command, aside, kept, timeout_s)
    return {"picture": str(kept.relative_to(call.access.folder.resolve())), "report": text}


def _drawn(call: ToolCall, command: list[str], path: Path, named: Path, timeout_s: float) -> str:
    """Run a rendering command, and return its report. Raises ToolRefused."""
    code, text = finished(call, *command, "-o", str(path), timeout_s=timeout_s)
    if code != 0:
        raise ToolRefused(_report(text, path, named))
    return _report(text, path, named)


def _report(text: str, aside: Path, path: Path) -> str:
    """Return the output of a command, with the temporary name of its file replaced by the final name."""
    return shortened(text.replace(str(aside), path.name))


def world_path(call: ToolCall, given: str) -> str:
    """Return a world as an argument of the command: a shipped name, or a path within the folder. Raises ToolRefused."""
    if given in shipped_worlds():
        return given
    path = call.access.path(given)
    if path.suffix == ".py" and not call.access.code:
        raise ToolRefused(f"{given!r} is a program; the user allows worlds in Python by --allow-code")
    if not path.exists():
        raise ToolRefused(f"no world {given!r} (shipped: {', '.join(shipped_worlds())})")
    return str(path)
