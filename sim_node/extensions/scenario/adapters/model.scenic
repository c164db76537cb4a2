"""Entities of a sim_node world for Scenic. The parameter `world` names the world."""

from sim_node.extensions.scenario.adapters.scenic import SimNodeSimulator, Do

param seed = 0

simulator SimNodeSimulator(globalParameters.world, int(globalParameters.seed))

class Entity:
    entity: None        # its name in the world
    frame: None         # the frame whose pose it has, if that is not the entity's own
    file: None          # what is spawned under this name, if the world has none

def value(signal):
    """Return a signal of the run now, as value("altitude(drone)")."""
    return simulation().run.value(signal)

def holds(formula):
    """Return whether a formula over signals holds now."""
    return simulation().run.holds(formula)
