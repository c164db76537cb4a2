"""Missions: waypoint files, and the protocol that uploads them to an autopilot and downloads them."""

from sim_node.autopilot.mission.plan import Plan, as_json, read_plan
from sim_node.autopilot.mission.transfer import Clear, Download, Upload

__all__ = ["Clear", "Download", "Plan", "Upload", "as_json", "read_plan"]
