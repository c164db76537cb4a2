"""Draw docs/images/page-*.webp: pictures of worlds for the pages of docs/ that show none otherwise.

Run from the repository: python tools/draw_pages.py [NAME ...]
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

RENDER = str(Path(sys.executable).parent / "sim_node")
SIZE = "720x320"
# Of each picture: a shipped world, or the page whose first world file is drawn, and what `sim_node render` is told.
PICTURES = {
    "appearance": ("docs/appearance.md", "--camera=4.5,-5,3@0,0,0.9,48"),
    "arm_pick": ("arm_pick", "--at 6"),
    "cart_pole": ("cart_pole", "--at 0.9 --trail tip"),
    "clock": ("clock", ""),
    "contact": ("docs/contact.md", "--at 1.2 --trail crate ball --camera=2.5,-6,3@0.3,0.6,0.6,48"),
    "four_bar": ("four_bar", "--at 1.5"),
    "harbour": ("buoys", "--at 8"),
    "iris": ("px4", "--at 0 --camera=1.15,-1,0.85@0,0,0.12,42"),
    "rover": ("rover", "--at 0 --camera=3.2,-3.6,2.2@0.6,0.6,0.2,48"),
    "viewport": ("viewports", "--at 4 --viewport Chase"),
    "warehouse": ("warehouse", "--at 4"),
}


def main() -> None:
    images = Path("docs/images").resolve()
    for name in sys.argv[1:] or PICTURES:
        world, arguments = PICTURES[name]
        with TemporaryDirectory() as folder:
            if world.endswith(".md"):
                found = re.search(
                    r"^```yaml\n(world: .*?)^```$", Path(world).read_text("utf-8"), re.MULTILINE | re.DOTALL
                )
                assert found is not None, f"{world} has no world file"
                world = str(Path(folder) / f"{name}.yaml")
                Path(world).write_text(found[1], encoding="utf-8")
            command = [RENDER, "render", world, "--size", SIZE, *arguments.split()]
            subprocess.run([*command, "-o", str(images / f"page-{name}.webp")], check=True)


if __name__ == "__main__":
    main()
