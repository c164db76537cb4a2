"""Columns: the state of a run as named arrays with a declared layout, a row for each entity."""

from sim_node.columns.column import Array, AtInstants, Column, Memory, Rows
from sim_node.columns.columns import Columns

__all__ = ["Array", "AtInstants", "Column", "Columns", "Memory", "Rows"]
