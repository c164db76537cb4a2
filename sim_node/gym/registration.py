"""Registration of the shipped environments with Gymnasium, without importing what they need to run."""

from __future__ import annotations

import gymnasium

# Ids of the shipped environments by the names of their files.
SHIPPED = {"cart_pole": "sim_node/CartPole-v0", "hover": "sim_node/Hover-v0", "waypoints": "sim_node/Waypoints-v0"}
# Of any spec: gymnasium.make("sim_node/Environment-v0", spec="my.yaml").
ANY = "sim_node/Environment-v0"
ENTRY_POINT = "sim_node.gym.environment:Environment"


def register() -> None:
    """Register the shipped environments with Gymnasium. `import sim_node.gym` does this."""
    for name, identifier in SHIPPED.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(identifier, entry_point=ENTRY_POINT, kwargs={"spec": name})
    if ANY not in gymnasium.registry:
        gymnasium.register(ANY, entry_point=ENTRY_POINT)
