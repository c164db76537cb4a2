"""Draw docs/images/page-*: pictures of worlds, and of runs, for the pages of docs/ that show none otherwise.

Run from the repository: python tools/draw_pages.py [NAME ...]
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

SIM_NODE = str(Path(sys.executable).parent / "sim_node")
SIZE = "720x320"
# Of each picture: a shipped world, or the page whose first world file is drawn, and what `sim_node render` is told.
PICTURES = {
    "appearance": ("docs/appearance.md", "--camera=4.5,-5,3@0,0,0.9,48"),
    "arm_pick": ("arm_pick", "--at 6"),
    "cart_pole": ("cart_pole", "--at 0.9 --trail tip"),
    "clock": ("clock", ""),
    "contact": ("docs/contact.md", "--at 1.2 --trail crate ball --camera=4.2,6.2,2.6@0,0.6,0.75,44"),
    "four_bar": ("four_bar", "--at 1.5"),
    "harbour": ("buoys", "--at 8"),
    "iris": ("px4", "--at 0 --camera=1.15,-1,0.85@0,0,0.12,42"),
    "rover": ("rover", "--at 0 --camera=3.2,-3.6,2.2@0.6,0.6,0.2,48"),
    "viewport": ("viewports", "--at 4 --viewport Chase"),
    "warehouse": ("warehouse", "--at 4"),
}
# Of each picture of a run: its suffix, the page whose Python is run first, if any, and commands.
RUNS = {
    "guided": (
        "webp",
        "",
        "run guided --no-ros --speed max --duration 40 --record flight",
        f"render flight --at 40 --trail drone/base_link --size {SIZE}",
    ),
    "wind": (
        "png",
        "docs/worlds-in-python.md",
        "plot fall /ball/world_vel.twist.linear.x /ball/world_vel.twist.linear.z",
    ),
}
# In place of the lines that run the page's second world in memory.
RECORDED = """
world.run(el.six_dof(sys=gravity | drag), sim_time_step=1 / 240, max_ticks=2400, interactive=False, db_path="fall")
"""


def main() -> None:
    for name in sys.argv[1:] or (*PICTURES, *RUNS):
        if name in RUNS:
            draw_run(name)
        else:
            draw_world(name)


def draw_run(name: str) -> None:
    suffix, page, *commands = RUNS[name]
    commands[-1] += f" -o {Path('docs/images').resolve()}/page-{name}.{suffix}"
    with TemporaryDirectory() as folder:
        if page:
            first, second = re.findall(
                r"^```python\n(.*?)^```$", Path(page).read_text("utf-8"), re.MULTILINE | re.DOTALL
            )[:2]
            program = first.partition("world = ")[0] + second.partition("exec = ")[0] + RECORDED
            subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
        for command in commands:
            subprocess.run([SIM_NODE, *command.split()], cwd=folder, check=True)


def draw_world(name: str) -> None:
    images = Path("docs/images").resolve()
    world, arguments = PICTURES[name]
    with TemporaryDirectory() as folder:
        if world.endswith(".md"):
            found = re.search(r"^```yaml\n(world: .*?)^```$", Path(world).read_text("utf-8"), re.MULTILINE | re.DOTALL)
            assert found is not None, f"{world} has no world file"
            world = str(Path(folder) / f"{name}.yaml")
            Path(world).write_text(found[1], encoding="utf-8")
        command = [SIM_NODE, "render", world, "--size", SIZE, *arguments.split()]
        subprocess.run([*command, "-o", str(images / f"page-{name}.webp")], check=True)


if __name__ == "__main__":
    main()
