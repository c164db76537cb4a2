"""World formats other than YAML, read and written: x_xy, MJCF, URDF, OpenPLX. YAML is in `world/readers/`."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.formats.x_xy_writer import to_x_xy as to_x_xy
    from sim_node.formats.xml_roots import XmlFile as XmlFile
    from sim_node.formats.xml_roots import xml_reader as xml_reader
    from sim_node.world.readers.files import read_text as read_text
    from sim_node.world.readers.registry import reader as reader
