"""Columns: the state of a run as named arrays with a declared layout, one row for each entity."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.columns.columns import Array as Array
    from sim_node.simulation.columns.columns import AtInstants as AtInstants
    from sim_node.simulation.columns.columns import Checkpoint as Checkpoint
    from sim_node.simulation.columns.columns import Column as Column
    from sim_node.simulation.columns.columns import Columns as Columns
    from sim_node.simulation.columns.columns import Rows as Rows
