"""AeroSim scene graphs (entities, components and resources): reading, checking, writing, and conversion of worlds."""

from sim_node.lazy import public

with public(__name__, Entity="SceneEntity"):
    from sim_node.extensions.aerosim.coordinates import consistent as consistent
    from sim_node.extensions.aerosim.from_world import scene_graph_of as scene_graph_of
    from sim_node.extensions.aerosim.graph import Effector as Effector
    from sim_node.extensions.aerosim.graph import Ellipsoid as Ellipsoid
    from sim_node.extensions.aerosim.graph import SceneEntity as SceneEntity
    from sim_node.extensions.aerosim.graph import SceneGraph as SceneGraph
    from sim_node.extensions.aerosim.graph import SensorComponent as SensorComponent
    from sim_node.extensions.aerosim.graph import Transform3D as Transform3D
    from sim_node.extensions.aerosim.graph import WorldCoordinate as WorldCoordinate
    from sim_node.extensions.aerosim.options import Options as Options
    from sim_node.extensions.aerosim.reading import load_scene_graph as load_scene_graph
    from sim_node.extensions.aerosim.reading import scene_graph as scene_graph
    from sim_node.extensions.aerosim.to_world import world_of as world_of
    from sim_node.extensions.aerosim.writing import to_json as to_json
