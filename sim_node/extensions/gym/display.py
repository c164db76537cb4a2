"""Display of an environment: pictures of the current step, and a live page in the browser."""

from __future__ import annotations

import time

import numpy as np

from sim_node.extensions.gym.spec import Spec
from sim_node.session.errors import needing
from sim_node.simulation import Simulation
from sim_node.viewing.framebuffer import Framebuffer, Pixels
from sim_node.viewing.framing import PictureContent, framing_for
from sim_node.viewing.renderer import Renderer
from sim_node.world.layout import lay_out


class Pictures:
    """Renders the current step of an environment.

    Args:
        spec: The spec with the camera and the size.
        simulation: A simulation of its world.

    Raises:
        NoOpenGL: Rendering is not possible here.
        RenderError: The camera of the spec is invalid.
    """

    def __init__(self, spec: Spec, simulation: Simulation) -> None:
        self._frames = simulation.frames
        self._renderer = Renderer(simulation.world, lay_out(simulation.world), spec.size)
        rooted = self._frames.in_root(simulation.present().poses)
        content = PictureContent(self._renderer, self._frames, rooted[None], (), np.zeros((0, 3)))
        self._framing = framing_for(spec.camera, spec.follow, spec.size, simulation.world, content)
        self._renderer.lay_ground(rooted[None])
        self._buffer = Framebuffer(spec.size).__enter__()
        self._buffer.prepare(self._renderer.prepare(self._framing(rooted)))

    def draw(self, simulation: Simulation) -> Pixels:
        """Return the pixels (height, width, 3) of the current step."""
        rooted = self._frames.in_root(simulation.present().poses)
        self._renderer.place(rooted, self._framing(rooted))
        self._renderer.shine(0, 1)
        return self._buffer.draw(self._renderer.scene)

    def close(self) -> None:
        """Free the context."""
        self._buffer.__exit__(None, None, None)


class Page:
    """Shows an environment in the browser, in real time.

    Args:
        spec: The spec.
        simulation: A simulation of its world.

    Attributes:
        url: The URL of the page.

    Raises:
        PagePortInUse: No port is free.
        MissingExtra: A package of the viewer is not installed.
    """

    def __init__(self, spec: Spec, simulation: Simulation) -> None:
        with needing("render mode human"):
            from sim_node.viewing.browser.view_sink import ViewSink
            from sim_node.viewing.browser.viewer import Viewer
        viewer = Viewer(title=spec.name)
        self.url = viewer.url
        self._sink = ViewSink(viewer)
        self._sink.open(simulation.world, simulation.frames)
        self._period, self._due = 1.0 / spec.rate, time.monotonic()
        print(f"{spec.name}: {self.url}", flush=True)

    def show(self, simulation: Simulation) -> None:
        """Send the current step, and wait until it is due."""
        self._sink.write(simulation.present())
        now = time.monotonic()
        time.sleep(max(self._due - now, 0.0))
        # Do not catch up after a delay.
        self._due = max(self._due, now) + self._period

    def close(self) -> None:
        """Close the page."""
        self._sink.close()
