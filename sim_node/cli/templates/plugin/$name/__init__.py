"""What $name adds to sim_node."""
