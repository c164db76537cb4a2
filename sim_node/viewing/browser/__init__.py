"""A viewer in the browser, based on viser. The page is served on localhost and needs no other host.

viewer = Viewer()
sink = ViewSink(viewer)
loop = Loop(Simulation(load("quadrotor")), (sink,))
sink.steer(loop)
"""

from sim_node.lazy import public

with public(__name__):
    from sim_node.viewing.browser.view_sink import ViewSink as ViewSink
    from sim_node.viewing.browser.viewer import Viewer as Viewer
    from sim_node.viewing.ports import PagePortInUse as PagePortInUse
