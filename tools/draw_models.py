"""Draws docs/images/model-*.png: robots of others, from packages that .venv/peers/models has (make test-peers).

Run from the repository: .venv/bin/python tools/draw_models.py
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv" / "peers" / "models"
ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
GROUND = "ground: {}"
# Of each picture: the model's file, further keys of its include, more of the world, and the camera.
MODELS = {
    "panda": (
        f"{ROBOTS}/panda_description/urdf/panda.urdf",
        "q: {panda_joint1: 0.4, panda_joint2: -0.5, panda_joint4: -2.2, panda_joint6: 1.8, panda_joint7: 0.8, "
        "panda_finger_joint1: 0.04, panda_finger_joint2: 0.04}",
        GROUND,
        "1.55,-1.15,0.95@0.2,0.05,0.42,42",
    ),
    "go2": (
        f"{ROBOTS}/go2_description/urdf/go2.urdf",
        "pose: {position: [0, 0, 0.31]}, balance_inertia: true, q: {"
        + ", ".join(
            f"{leg}_{joint}_joint: {value}"
            for leg in ("FL", "FR", "RL", "RR")
            for joint, value in (("thigh", 0.8), ("calf", -1.5))
        )
        + "}",
        GROUND,
        "0.85,-0.85,0.5@0,0,0.24,40",
    ),
    "crazyflie": (
        "crazyflow/drones/cf2x_L250.xml",
        "pose: {position: [0, 0, 0.04]}",
        GROUND,
        "0.17,-0.17,0.22@0,0,0.1,42",
    ),
    "humanoid": ("dm_control/suite/humanoid.xml", "q: {root: [0, 0, 1.3, 0, 0, 0, 1]}", "", "2.2,-2.4,1.6@0,0,0.85,40"),
    "car": (
        "safety_gymnasium/assets/xmls/racecar.xml",
        "pose: {position: [0, 0, 0.05]}",
        GROUND,
        "0.6,-0.65,0.45@0,0,0.06,45",
    ),
}


def main() -> int:
    folders = sorted(PEERS.glob("lib/python*/site-packages"))
    if not folders:
        print("models of others are not installed: make test-peers sets them up; their pictures stay as they are")
        return 0
    site = folders[0]
    os.environ["AMENT_PREFIX_PATH"] = str(site / "cmeel.prefix")
    work = ROOT / "build" / "models"
    work.mkdir(parents=True, exist_ok=True)
    for name, (file, keys, more, camera) in MODELS.items():
        world = work / f"{name}.yaml"
        entry = f"{{file: {site / file}, {keys}}}" if keys else f"{{file: {site / file}}}"
        world.write_text(f"world: {name}\n{more}\ninclude:\n  - {entry}\n")
        command = [sys.executable, "-m", "sim_node.cli.main", "render", str(world), "--allow", str(site), "--at", "0"]
        command += [
            f"--camera={camera}",
            "--size",
            "600x450",
            "-o",
            str(ROOT / "docs" / "images" / f"model-{name}.png"),
        ]
        subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
