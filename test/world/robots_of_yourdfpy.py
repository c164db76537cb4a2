"""Runs in the environment of peers/models: where yourdfpy has the links of URDF files, as JSON.

From standard input, a list of files, of which those that it cannot read are left out. Joints are at 0.3, -0.3, 0.6 and
so on within their limits, whatever they mimic.
"""

import json
import sys

import yourdfpy  # type: ignore[import-not-found]


def main() -> None:
    found = {}
    for file in json.load(sys.stdin):
        try:
            parsed = yourdfpy.URDF.load(file, build_scene_graph=False, load_meshes=False).robot
            for joint in parsed.joints:
                joint.mimic = None
            robot = yourdfpy.URDF(robot=parsed, build_scene_graph=True, load_meshes=False)
        except Exception:
            continue
        q = {}
        for k, joint in enumerate(robot.actuated_joints):
            value = 0.3 * (1 + k // 2 % 3) * (1 if k % 2 == 0 else -1)
            limit = joint.limit
            if limit is not None and joint.type != "continuous":
                low = limit.lower if limit.lower is not None else value
                high = limit.upper if limit.upper is not None else value
                value = min(max(value, low), high)
            if joint.type in ("revolute", "continuous", "prismatic"):
                q[joint.name] = value
        robot.update_cfg({joint.name: q.get(joint.name, 0.0) for joint in robot.actuated_joints})
        links = {name: robot.get_transform(name, robot.base_link).tolist() for name in robot.link_map}
        found[file] = {"q": q, "links": links}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
