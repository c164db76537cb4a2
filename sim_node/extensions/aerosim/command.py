"""Write the scene graph of a world or a bag as JSON, or follow a live one."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sim_node.cli.arguments import UsageError, add_output, put_out
from sim_node.cli.bags import add_chunk_limit, counted_unreadable, report_damage
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.views import add_view, opened
from sim_node.cli.world_arguments import OF_WORLDS, add_at, add_randomised, add_world, drawn, loaded, seek
from sim_node.extensions.aerosim.from_world import SceneLayout
from sim_node.extensions.aerosim.graph import SceneGraph
from sim_node.extensions.aerosim.options import EFFECTOR_CONVENTIONS, ROOTS, Asset, Options
from sim_node.extensions.aerosim.writing import DIALECTS, to_json
from sim_node.messages.rotor_frames import RotorAngles
from sim_node.packages import how_to_install
from sim_node.recording.opening import is_bag, open_bag
from sim_node.recording.transforms import WALL_CLOCK_NS, BagTransforms
from sim_node.simulation import Simulation
from sim_node.world.fields import nanoseconds
from sim_node.world.mesh_files import MESHES, MESHES_SHOWN, mesh_fault
from sim_node.world.problems import quoted
from sim_node.world.readers.registry import READERS

TOPIC = "scene_graph"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD|BAG, or --live."""
    add_world(parser, default="")
    add_at(parser)
    add_randomised(parser)
    add_chunk_limit(parser)
    add_output(parser)
    spelling = "seed: as AeroSim documents it (default); upstream: as its program writes it"
    parser.add_argument("--dialect", choices=DIALECTS, default="seed", help=spelling)
    axes = "of positions: NED with bodies FRD, as AeroSim has it (default), or ENU with bodies FLU"
    parser.add_argument("--convention", choices=tuple(ROOTS), default="NED", help=axes)
    live = parser.add_argument_group("following a live scene graph")
    live.add_argument("--live", action="store_true", help="put the scene graph of a topic on /tf, until Ctrl-C")
    live.add_argument("--topic", metavar="NAME", help=f"the topic of whole graphs (default {TOPIC})")
    live.add_argument("--effectors", choices=tuple(EFFECTOR_CONVENTIONS), help="axes of effectors (with NED: FRD)")
    what = "a mesh for an asset, as in --asset generic-aircrafts/GenericEVtol=evtol.glb; may be given again"
    live.add_argument("--asset", metavar="NAME=FILE", action="append", help=what)
    add_view(parser)
    parser.epilog = "Of a bag (its folder, or an .mcap or .db3 file): its recorded world at its recorded transforms."


@command("scene", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Print the scene graph or write it to a file; with --live, follow one until Ctrl-C or SIGTERM."""
    if arguments.live:
        return _live(arguments)
    goes_with(arguments, "--live", ["topic", "effectors", "asset", "view"])
    if not arguments.world:
        raise UsageError("a world or a bag is needed, or --live")
    graph = _of_bag(arguments) if is_bag(arguments.world) else _of_world(arguments)
    put_out(to_json(graph, arguments.dialect), arguments)
    return 0


def _of_world(arguments: argparse.Namespace) -> SceneGraph:
    """Return the scene graph of a world's run, with the current angles of rotors."""
    goes_with(arguments, "a bag", ["chunk_limit"])
    simulation = Simulation(drawn(loaded(arguments), arguments), arguments.seed or 0, sensors=False)
    layout = SceneLayout(simulation.world, simulation.frames, convention=arguments.convention)
    angles = RotorAngles(layout.rotors)
    start_ns = simulation.world.time.start_ns
    at_ns = start_ns if arguments.at is None else nanoseconds(arguments.at)
    speeds = simulation.history("rotor_speed") if len(layout.rotors) else None
    try:
        snapshot = seek(simulation, at_ns)
    except UsageError as error:
        raise UsageError(f"--at {at_ns / 1e9:g}: {error}") from None
    if speeds is not None:
        for time_ns, rotors in zip(speeds.times_ns.tolist(), speeds["rotor_speed"], strict=True):
            angles.advance(time_ns, rotors)
    return layout.graph(snapshot.poses, angles.angles)


def _of_bag(arguments: argparse.Namespace) -> SceneGraph:
    from sim_node.session.bag_world import sources_of_bag
    from sim_node.world.layout import lay_out

    refuse(arguments, "a bag", OF_WORLDS)
    with open_bag(arguments.world, arguments.chunk_limit) as bag:
        with (
            counted_unreadable() as unreadable,
            sources_of_bag(bag, lambda topics: bag.messages(topics), unreadable) as sources,
        ):
            start_ns, end_ns, zero_ns = sources[0].start_ns, sources[-1].end_ns, sources[0].zero_ns
            time_ns = end_ns
            if arguments.at is not None:
                time_ns = nanoseconds(arguments.at)
                time_ns += 0 if time_ns >= WALL_CLOCK_NS else zero_ns
            if not start_ns <= time_ns <= end_ns:
                first, last = ((each - zero_ns) / 1e9 for each in (start_ns, end_ns))
                raise UsageError(f"--at {arguments.at:g}: the bag has transforms from {first:g} s to {last:g} s")
            # A world that changed while it was recorded has one source for each interval between two changes.
            source = next(each for each in sources if time_ns <= each.end_ns)
            [poses] = source.poses([max(time_ns, source.start_ns)])
            layout = SceneLayout(source.world, lay_out(source.world).frames, convention=arguments.convention)
            recorded = BagTransforms(bag, bag.messages).poses(layout.rotors.ends(), iter([time_ns]))
            graph = layout.graph(np.asarray(poses), layout.rotors.angles(next(recorded)))
        report_damage(bag)
    return graph


def _live(arguments: argparse.Namespace) -> int:
    if arguments.world:
        raise UsageError(f"--live listens to the graph and takes no WORLD, found {arguments.world!r}")
    refuse(arguments, "--live", (*OF_WORLDS, "at", "chunk_limit", "output", "dialect"))
    assets = dict(_asset(text) for text in arguments.asset or ())
    options = Options(arguments.convention, arguments.effectors or "", assets)
    try:
        from sim_node.extensions.aerosim.follower import SceneFollower
    except ImportError as error:
        raise UsageError(f"--live needs ROS 2: {how_to_install(error)}; see `sim_node doctor`") from None
    port = None if arguments.view is True else arguments.view
    viewer = None if arguments.view is False else opened(port, "scene graph")
    follower = SceneFollower(arguments.topic or TOPIC, options, viewer)
    print(f"following {follower.topic}, publishing on /tf and /tf_static", flush=True)
    arguments.interrupt.wait()
    follower.close()
    return 0


def _asset(text: str) -> tuple[str, Asset]:
    name, equals, file = text.partition("=")
    path = Path(file)
    if not (name and equals and file):
        raise UsageError(f"--asset {text}: expected NAME=FILE")
    if not path.is_file():
        raise UsageError(f"--asset {text}: no file {quoted(file)}")
    if path.suffix.lower() in READERS:
        raise UsageError(f"--asset {text}: a mesh is needed ({', '.join((*MESHES, *MESHES_SHOWN))})")
    if fault := mesh_fault(path):
        raise UsageError(f"--asset {text}: {fault}")
    return name, Asset(path)
