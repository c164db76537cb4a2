"""Show worlds: the browser viewer, rviz, robot descriptions, pictures and films."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.viewing.framebuffer import NoOpenGL
    from sim_node.viewing.framing import RenderError
    from sim_node.viewing.markers import marker_group
    from sim_node.viewing.pictures import FilmError, film, picture, write_film, write_picture
    from sim_node.viewing.ports import PagePortInUse
    from sim_node.viewing.render_requests import RenderRequest, draw
    from sim_node.viewing.rviz import rviz_config
    from sim_node.viewing.rviz_displays import DISPLAYS
    from sim_node.viewing.sensor_marks import outline

__all__ = [
    "DISPLAYS",
    "FilmError",
    "NoOpenGL",
    "PagePortInUse",
    "RenderError",
    "RenderRequest",
    "draw",
    "film",
    "marker_group",
    "outline",
    "picture",
    "rviz_config",
    "write_film",
    "write_picture",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "DISPLAYS": "rviz_displays",
        "FilmError": "pictures",
        "NoOpenGL": "framebuffer",
        "PagePortInUse": "ports",
        "RenderError": "framing",
        "RenderRequest": "render_requests",
        "draw": "render_requests",
        "film": "pictures",
        "marker_group": "markers",
        "outline": "sensor_marks",
        "picture": "pictures",
        "rviz_config": "rviz",
        "write_film": "pictures",
        "write_picture": "pictures",
    },
)
