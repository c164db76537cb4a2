"""`lookup` and `tree` for bags."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError
from sim_node.cli.bags import report_damage, shown
from sim_node.cli.terminal import axes, pose_as_dict, pose_lines, short_pose
from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import Bag
from sim_node.recording.changes import change_times
from sim_node.recording.frames import BagFrames
from sim_node.recording.opening import open_bag
from sim_node.recording.transforms import WALL_CLOCK_NS, BagTransforms, Found
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree.describe import FrameInfo, as_dict, as_text, lines_in, remark
from sim_node.spatial.tree.errors import TransformError
from sim_node.world.fields import MAX_NS, nanoseconds
from sim_node.world.problems import counted

if TYPE_CHECKING:
    from sim_node.spatial.tree import TransformTree

USER_MISTAKE = 2


def bag_lookup(path: str, target: str, source: str, arguments: argparse.Namespace) -> int:
    """Print a single pose, or one per period as CSV."""
    with open_bag(path, arguments.chunk_limit) as bag:
        try:
            if arguments.every is not None:
                return _print_every(bag, target, source, arguments)
            stamp, pose, roots = _one(bag, target, source, arguments.at)
        except TransformError as error:
            raise UsageError(str(error)) from None
    if arguments.json:
        print(json.dumps(_as_dict(target, source, stamp, pose, roots)))
    else:
        print("\n".join(pose_lines(target, source, None if stamp is None else stamp / 1e9, pose, roots)))
    return 0


def bag_tree(path: str, at: float | None, as_json: bool, max_bytes: int) -> int:
    """Print the frames with their latest poses up to a time."""
    with open_bag(path, max_bytes) as bag:
        transforms = _transforms(bag)
        tree = transforms.fill(None if at is None else _stamp(transforms, at))
        _report(bag, transforms)
        present = _present(bag, tree, transforms.newest_ns)
        frames = tuple(frame for frame in tree.describe() if frame.name in present)
    if as_json:
        print(json.dumps(as_dict(frames)))
        return 0

    def remark_and_pose(frame: FrameInfo) -> str:
        if frame.parent is None:
            return ""
        return f"{remark(frame)}  {short_pose(tree.lookup(frame.parent, frame.name))}"

    print(f"{path} at {transforms.newest_ns / 1e9:.3f} s: {counted(len(frames), 'frame')}")
    print(as_text(frames, remark_and_pose, lines_in(sys.stdout.encoding)))
    return 0


def _present(bag: Bag, tree: TransformTree, time_ns: int) -> Collection[str]:
    """Return the frames of the world at a time, if it changed during the recording, since the tree keeps all frames."""
    if not change_times(bag):
        return tree.frames
    return BagFrames(bag, Unreadable(lambda line: None)).era_at(time_ns).table.names


def _one(bag: Bag, target: str, source: str, at: float | None) -> tuple[int | None, FloatArray, tuple[str, ...]]:
    transforms = _transforms(bag)
    if at is None:
        found = transforms.fill().lookup_stamped(target, source)
    else:
        answer = next(transforms.lookups(target, source, iter([_stamp(transforms, at)])))
        if isinstance(answer.pose, TransformError):
            raise answer.pose
        found = answer.stamp_ns, answer.pose
    _report(bag, transforms)
    return *found, transforms.tree.roots


def _print_every(bag: Bag, target: str, source: str, arguments: argparse.Namespace) -> int:
    transforms = _transforms(bag)
    start = transforms.first_ns if arguments.at is None else _stamp(transforms, arguments.at)
    if not arguments.json:
        print("time_s,x,y,z,qx,qy,qz,qw,target_convention,source_convention")
    missing: list[Found] = []
    answered = 0
    for found in transforms.lookups(target, source, _stamps(start, round(arguments.every * 1e9), transforms)):
        if isinstance(found.pose, TransformError):
            if found.stamp_ns <= transforms.newest_ns:
                missing.append(found)
            continue
        answered += 1
        roots = transforms.tree.roots
        if arguments.json:
            print(json.dumps(_as_dict(target, source, found.stamp_ns, found.pose, roots)))
        else:
            seconds = f"{found.stamp_ns // 10**9}.{found.stamp_ns % 10**9:09d}"
            numbers = map(repr, (found.pose + 0.0).tolist())
            print(",".join([seconds, *numbers, *axes(target, source, roots)]))
    _report(bag, transforms)
    if missing:
        times = f"{len(missing)} of {len(missing) + answered} times have no result"
        print(f"warning: {times}, the first at {missing[0].stamp_ns / 1e9:.3f} s: {missing[0].pose}", file=sys.stderr)
    return 0 if answered else USER_MISTAKE


def _stamps(stamp: int, step: int, transforms: BagTransforms) -> Iterator[int]:
    """Yield every step from the first on, up to the end of the bag, which is known once it has been read."""
    while stamp <= MAX_NS and not (transforms.is_read and stamp > transforms.newest_ns):
        yield stamp
        stamp += step


def _stamp(transforms: BagTransforms, at: float) -> int:
    stamp = nanoseconds(at)
    return stamp + transforms.first_ns if stamp < WALL_CLOCK_NS <= transforms.first_ns else stamp


def _report(bag: Bag, transforms: BagTransforms) -> None:
    report_damage(bag)
    if transforms.refused:
        more = f", and {len(transforms.refused) - 1} more" if len(transforms.refused) > 1 else ""
        print(f"warning: {transforms.refused[0]}{more}", file=sys.stderr)


def _transforms(bag: Bag) -> BagTransforms:
    return BagTransforms(bag, lambda topics: shown(bag, "reading transforms", topics))


def _as_dict(
    target: str, source: str, stamp: int | None, pose: FloatArray, roots: tuple[str, ...]
) -> dict[str, object]:
    seconds = None if stamp is None else stamp / 1e9
    return pose_as_dict(target, source, pose, roots, stamp=seconds, stamp_ns=stamp)
