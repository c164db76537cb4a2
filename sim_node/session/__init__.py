"""Sessions: the composition of a run, and what needs autopilots, recordings and the viewer together."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.session.errors import MissingExtra as MissingExtra
    from sim_node.session.publishing import Publishing as Publishing
    from sim_node.session.sensor_messages import SensorMessages as SensorMessages
    from sim_node.session.session import Session as Session
    from sim_node.session.shown import Shown as Shown
    from sim_node.session.shown import show as show
