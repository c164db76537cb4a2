"""A viewer in the browser, by viser: a page of its own, served on this machine, which needs no other host.

viewer = Viewer()
sink = ViewSink(viewer)
loop = Loop(Simulation(load("quadrotor")), (sink,))
sink.steer(loop)
"""

from sim_node.viewing.browser.viewer import Viewer, ViewSink
from sim_node.viewing.ports import PagePortTaken

__all__ = ["PagePortTaken", "ViewSink", "Viewer"]
