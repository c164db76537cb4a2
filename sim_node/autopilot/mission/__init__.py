"""Missions: waypoint files, and the protocol that brings them to an autopilot and back."""

from sim_node.autopilot.mission.plan import Plan, as_json, read_plan
from sim_node.autopilot.mission.transfer import Clear, Download, Upload

__all__ = ["Clear", "Download", "Plan", "Upload", "as_json", "read_plan"]
