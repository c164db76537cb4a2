"""Sessions: the composition of a run, and what needs autopilots, recordings and the viewer together."""

from sim_node.session.errors import MissingExtra
from sim_node.session.publishing import Publishing
from sim_node.session.sensor_messages import SensorMessages
from sim_node.session.session import Session

__all__ = ["MissingExtra", "Publishing", "SensorMessages", "Session"]
