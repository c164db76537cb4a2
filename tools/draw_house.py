"""Draw docs/images/house.svg: the rooms of sim_node on their floors, and what imports what, from the code itself.

Run from the repository: python tools/draw_house.py [docs/images/house.svg]
"""

import io
import re
import sys
import tokenize
from pathlib import Path

import grimp
import svg

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FLOOR, ROOM, GAP, TOP = 62, 40, 12, 44
_SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def floors() -> list[list[str]]:
    """The rooms of each floor, from the top: the contract that `make imports` holds."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    floors = [re.findall(r"sim_node\.(\w+)", layer) for layer in layers]
    rooms = [[room for room in floor if (ROOT / "sim_node" / room).is_dir()] for floor in floors]
    above = [f"extensions.{path.parent.name}" for path in sorted((ROOT / "sim_node").glob("extensions/*/__init__.py"))]
    return [above if floor == ["extensions"] else floor for floor in rooms if floor]


def lines_of(room: str) -> int:
    """Lines of code of a room, without blanks and comments."""
    found = 0
    for path in (ROOT / "sim_node" / room.replace(".", "/")).rglob("*.py"):
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        found += len({token.start[0] for token in tokens if token.type not in _SKIPPED})
    return found


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/images/house.svg")
    graph = grimp.build_graph("sim_node", exclude_type_checking_imports=True)
    rows = floors()
    sizes = {room: lines_of(room) for rooms in rows for room in rooms}
    widths = {room: 92 + 0.014 * size for room, size in sizes.items()}
    spans = [sum(widths[room] + GAP for room in rooms) - GAP for rooms in rows]
    svg.WIDTH, svg.HEIGHT = round(max(spans) + 2 * GAP), TOP + FLOOR * len(rows) + 10
    parts, places = [], {}
    for level, rooms in enumerate(rows):
        y = TOP + level * FLOOR
        x = (svg.WIDTH - spans[level]) / 2
        for room in rooms:
            places[room] = (x, y, widths[room])
            colour = "#f6f1e6" if "." in room else "#eef3f8"
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{widths[room]:.1f}" height="{ROOM}" rx="6" fill="{colour}" '
                f'stroke="{svg.FAINT}"/>'
            )
            middle = x + widths[room] / 2
            parts.append(svg.text(middle, y + 18, room.rpartition(".")[2], anchor="middle", bold=True))
            parts.append(svg.text(middle, y + 33, f"{sizes[room] / 1000:.1f} k lines", "#66788a", "middle"))
            x += widths[room] + GAP
    arrows = []
    for room, (x, y, width) in places.items():
        for other, (left, below, breadth) in places.items():
            if room != other and graph.direct_import_exists(
                importer=f"sim_node.{room}", imported=f"sim_node.{other}", as_packages=True
            ):
                start, end = (x + width / 2, y + ROOM), (left + breadth / 2, below)
                if below > y:
                    arrows.append(svg.line([start, end], "#c9d4df", 1))
    what = "Rooms import only from lower floors; extensions, above, import the core"
    title = svg.text(svg.WIDTH / 2, 24, what, anchor="middle", bold=True)
    svg.write_page(
        path, "The rooms of sim_node on their floors, with what imports what", "\n".join([title, *arrows, *parts])
    )


if __name__ == "__main__":
    main()
