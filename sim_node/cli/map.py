"""Write the map of a world for map_server and AMCL: what stands in a slice of height, as PGM and YAML."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_node.assembly import assemble
from sim_node.cli.arguments import UsageError, finite, positive
from sim_node.cli.commands import command
from sim_node.cli.world_arguments import add_world, loaded

_SUFFIXES = (".yaml", ".yml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, the files and the contents of the map."""
    add_world(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="FILE.yaml; the picture is FILE.pgm beside it"
    )
    parser.add_argument("--resolution", metavar="M", type=positive, default=0.05, help="edge of a cell (default 0.05)")
    parser.add_argument(
        "--heights",
        metavar=("LOW", "HIGH"),
        type=finite,
        nargs=2,
        default=(0.05, 1.0),
        help="the slice, m above the origin of the fixed frame (default 0.05 1)",
    )
    parser.add_argument(
        "--start",
        metavar=("X", "Y"),
        type=finite,
        nargs=2,
        action="append",
        default=[],
        help="a place from which free cells are reached; repeat for more (default: where the robots are)",
    )
    parser.add_argument("--moving", action="store_true", help="also map what joints move, where it is at the start")


@command("map", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Write both files."""
    from sim_node.viewing.occupancy import FREE, OCCUPIED, GridFault, occupancy_of, pgm_of, yaml_of
    from sim_node.viewing.pictures import whole_file

    path: Path = arguments.output
    if path.suffix not in _SUFFIXES:
        raise UsageError(f"--output {str(path)!r}: needs the suffix .yaml")
    low, high = arguments.heights
    if not low < high:
        raise UsageError(f"--heights {low:g} {high:g}: LOW has to be below HIGH")
    world = assemble(loaded(arguments))
    starts = [(x, y) for x, y in arguments.start]
    try:
        grid = occupancy_of(world, arguments.resolution, (low, high), starts, moving=arguments.moving)
    except GridFault as fault:
        raise UsageError(f"{world.name}: {fault}") from None
    image = path.with_suffix(".pgm")
    try:
        for file, data in ((image, pgm_of(grid)), (path, yaml_of(grid, image.name).encode())):
            with whole_file(file) as part:
                part.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    rows, columns = grid.cells.shape
    shares = [100.0 * float((grid.cells == kind).mean()) for kind in (FREE, OCCUPIED)]
    print(f"{path}, {image}: {columns} x {rows} cells of {grid.resolution:g} m, ", end="")
    print(f"{shares[0]:.0f} % free, {shares[1]:.0f} % occupied; frame {world.fixed_frame}")
    return 0
