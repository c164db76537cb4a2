"""Render worlds, runs and bags: one view, or the panels of their schematics."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Sequence

from sim_node.viewing.framebuffer import Pixels
from sim_node.viewing.panel_pictures import render_panels
from sim_node.viewing.render_requests import PoseSource, RenderRequest, Watch, render_source, source_of_run
from sim_node.world.model import World


def draw(
    world: World,
    request: RenderRequest,
    times_ns: Sequence[int],
    seed: int = 0,
    watch: Watch = lambda times_ns, what: times_ns,
) -> Generator[Pixels, None, None]:
    """Render a world at instants of its time. The run is simulated first.

    Args:
        world: The world.
        request: What to show.
        times_ns: Ascending simulation times.
        seed: Seed of all random numbers.
        watch: Wraps iterables to show progress.

    Yields:
        Pixels (height, width, 3), uint8, of each instant.

    Raises:
        RenderError: The request is invalid.
        FrameNotFound: A frame does not exist.
        NoOpenGL: Rendering is not possible here.
        WorldError: The world is invalid.
        Diverged: The simulation diverged.
    """
    yield from render_sources([source_of_run(world, seed)], request, times_ns, watch)


def render_sources(
    sources: Sequence[PoseSource],
    request: RenderRequest,
    times_ns: Sequence[int],
    watch: Watch = lambda times_ns, what: times_ns,
) -> Generator[Pixels, None, None]:
    """Yield pixels (height, width, 3) at instants, in order. The world may change: each source lasts until the next.

    An overview shows everything in one world and may therefore jump at a change. Trails and graphs restart.
    """
    render = render_panels if request.panels else render_source
    starts = [source.start_ns for source in sources[1:]]
    for place, source in enumerate(sources):
        part = [time_ns for time_ns in times_ns if bisect_right(starts, time_ns) == place]
        if part:
            yield from render(source, request, part, watch)
