"""Space: geometry, frames by convention, and the time-indexed transform tree."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.spatial import frames as frames
    from sim_node.spatial import geometry as geometry
    from sim_node.spatial import tree as tree
