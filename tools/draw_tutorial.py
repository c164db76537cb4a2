"""Draw docs/images/tutorial-*.png, the pictures of the tutorial, from the files that its pages let their readers write.

Run from the repository: python tools/draw_tutorial.py
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

FILE = re.compile(r"^```\w+\n(# (\S+\.(?:yaml|py))(, continued)?\n.*?)^```$", re.MULTILINE | re.DOTALL)
RENDER = str(Path(sys.executable).parent / "sim_node")
PICTURES = {
    "tutorial-yard.png": (
        "my-first-world",
        "yard.yaml --at 3 --frames crate mast/head dock --camera=6.9,-6.5,4.2@0.7,1,1.45,50 --size 1000x460",
    ),
    "tutorial-drone.png": (
        "my-drone",
        "field.yaml --at 5.5 --trail drone/base_link --frames drone/base_link"
        " --camera=4.6,-3.2,4.2@2.3,0.2,2.4,60 --size 1000x460",
    ),
    "tutorial-hall.png": (
        "my-robot-in-a-warehouse",
        "hall.yaml --at 1 --camera=-6.2,-6,5.4@0,0,0.3,50 --size 1000x460",
    ),
}


def main() -> None:
    images = Path("docs/images").resolve()
    for name, (page, arguments) in PICTURES.items():
        with TemporaryDirectory() as folder:
            for text, file, more in FILE.findall(Path(f"docs/tutorial/{page}.md").read_text(encoding="utf-8")):
                with (Path(folder) / file).open("a" if more else "w", encoding="utf-8") as out:
                    out.write(text.replace("colour:", "color:"))  # the mistake that the first page makes on purpose
            command = [RENDER, "render", *arguments.split(), "-o", str(images / name)]
            subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
