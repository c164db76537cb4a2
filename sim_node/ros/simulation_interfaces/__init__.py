"""Services and action of ros-simulation/simulation_interfaces, a thin layer over the requests of sim_node.session."""
