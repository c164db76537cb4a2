"""Show worlds: the browser viewer, rviz, robot descriptions, pictures and films."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.viewing.framebuffer import NoOpenGL as NoOpenGL
    from sim_node.viewing.framing import RenderError as RenderError
    from sim_node.viewing.markers import marker_group as marker_group
    from sim_node.viewing.pictures import FilmError as FilmError
    from sim_node.viewing.pictures import film as film
    from sim_node.viewing.pictures import picture as picture
    from sim_node.viewing.pictures import write_film as write_film
    from sim_node.viewing.pictures import write_picture as write_picture
    from sim_node.viewing.ports import PagePortInUse as PagePortInUse
    from sim_node.viewing.render_requests import RenderRequest as RenderRequest
    from sim_node.viewing.rendering import draw as draw
    from sim_node.viewing.rviz import rviz_config as rviz_config
    from sim_node.viewing.rviz_displays import DISPLAYS as DISPLAYS
    from sim_node.viewing.sensor_marks import outline as outline
