"""Conveyor belts for sim_node."""
