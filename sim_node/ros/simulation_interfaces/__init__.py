"""The services and the action of ros-simulation/simulation_interfaces, thin over the requests of sim_node.session."""
