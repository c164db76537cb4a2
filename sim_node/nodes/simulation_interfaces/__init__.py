"""The services and the action of ros-simulation/simulation_interfaces, thin over the requests of sim_node.session."""

from sim_node.nodes.simulation_interfaces.serving import SimulationInterfaces, serve_simulation_interfaces

__all__ = ["SimulationInterfaces", "serve_simulation_interfaces"]
