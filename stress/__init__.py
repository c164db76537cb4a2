"""Hostile inputs for every door of sim_node, and programs that are stopped at random moments."""
