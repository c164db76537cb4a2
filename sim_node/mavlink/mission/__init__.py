"""Missions: waypoint files, and the protocol that uploads them to an autopilot and downloads them."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.mavlink.mission.plan import Plan as Plan
    from sim_node.mavlink.mission.plan import as_json as as_json
    from sim_node.mavlink.mission.plan import read_plan as read_plan
    from sim_node.mavlink.mission.transfer import Clear as Clear
    from sim_node.mavlink.mission.transfer import Download as Download
    from sim_node.mavlink.mission.transfer import SetCurrent as SetCurrent
    from sim_node.mavlink.mission.transfer import Upload as Upload
