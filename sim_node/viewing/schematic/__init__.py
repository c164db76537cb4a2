"""Schematics: drawn objects and panel layouts of a world, in KDL or from Python, with formulas (EQL)."""

from sim_node.lazy import public

with public(__name__, Scope="FormulaScope", Signal="FormulaSignal"):
    from sim_node.viewing.schematic.binding import FormulaScope as FormulaScope
    from sim_node.viewing.schematic.binding import FormulaSignal as FormulaSignal
    from sim_node.viewing.schematic.binding import UnknownName as UnknownName
    from sim_node.viewing.schematic.binding import bound as bound
    from sim_node.viewing.schematic.binding import bound_pose as bound_pose
    from sim_node.viewing.schematic.eql import EqlFault as EqlFault
    from sim_node.viewing.schematic.eql import Formula as Formula
    from sim_node.viewing.schematic.eql import formula as formula
    from sim_node.viewing.schematic.model import GlbModel as GlbModel
    from sim_node.viewing.schematic.model import GraphPanel as GraphPanel
    from sim_node.viewing.schematic.model import LiveEllipsoid as LiveEllipsoid
    from sim_node.viewing.schematic.model import Object3d as Object3d
    from sim_node.viewing.schematic.model import Schematic as Schematic
    from sim_node.viewing.schematic.model import Solid as Solid
    from sim_node.viewing.schematic.model import Split as Split
    from sim_node.viewing.schematic.model import Tabs as Tabs
    from sim_node.viewing.schematic.model import Viewport as Viewport
    from sim_node.viewing.schematic.reader import read_schematic as read_schematic
