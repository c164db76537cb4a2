"""Draw docs/images/tutorial-*.png, the pictures of the tutorial, from the files that its pages let their readers write.

Run from the repository: python tools/draw_tutorial.py [NAME ...]
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

FILE = re.compile(r"^```\w+\n(# (\S+\.(?:yaml|py))(, continued)?\n.*?)^```$", re.MULTILINE | re.DOTALL)
SIM_NODE = str(Path(sys.executable).parent / "sim_node")
# Of each picture: the page, and the commands that draw it.
PICTURES = {
    "yard": (
        "my-first-world",
        "render yard.yaml --at 3 --frames crate mast/head dock --camera=6.9,-6.5,4.2@0.7,1,1.45,50 --size 1000x460",
    ),
    "drop": (
        "my-first-world",
        "run yard.yaml --no-ros --speed max --duration 3 --record drop",
        "plot drop /crate/imu/data_raw.linear_acceleration.z",
    ),
    "drone": (
        "my-drone",
        "render field.yaml --at 5.5 --trail drone/base_link --frames drone/base_link"
        " --camera=4.6,-3.2,4.2@2.3,0.2,2.4,60 --size 1000x460",
    ),
    "hall": ("my-robot-in-a-warehouse", "render hall.yaml --at 1 --camera=-6.2,-6,5.4@0,0,0.3,50 --size 1000x460"),
    "rig": ("my-own-parts", "render hover.yaml --frames rig/BEACON --camera=6.6,-7.6,4.2@0,0.1,1.9,46 --size 800x400"),
}
# What differs from the pages: the mistake that the first one makes on purpose; of the last one the sensor, which only
# an installed plug-in makes known to commands, and the height at which its controller holds the rig.
CHANGES = (
    ("colour:", "color:"),
    ("{type: pz, limits: [0, 3.5]}", "{type: pz, limits: [0, 3.5], q: 1.87}"),
    (
        "sensors:\n  - {name: rig/BEACON, type: beacon_range, parent: rig}",
        "frames:\n  - {name: rig/BEACON, parent: rig}",
    ),
)


def main() -> None:
    images = Path("docs/images").resolve()
    for name in sys.argv[1:] or PICTURES:
        page, *commands = PICTURES[name]
        with TemporaryDirectory() as folder:
            for text, file, more in FILE.findall(Path(f"docs/tutorial/{page}.md").read_text(encoding="utf-8")):
                for old, new in CHANGES:
                    text = text.replace(old, new)
                with (Path(folder) / file).open("a" if more else "w", encoding="utf-8") as out:
                    out.write(text)
            commands[-1] += f" -o {images}/tutorial-{name}.png"
            for command in commands:
                subprocess.run([SIM_NODE, *command.split()], cwd=folder, check=True)


if __name__ == "__main__":
    main()
