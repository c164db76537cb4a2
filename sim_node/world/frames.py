"""Frames, sensors and motions as parts of a world."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sim_node import names
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.declared import Fault, data_of, faults
from sim_node.world.fields import pose_faults
from sim_node.world.model import Motion, Sensor, StaticFrame, World
from sim_node.world.part import FrameEntry, Kind, Refer, Rename, part
from sim_node.world.problems import Problem, shown_key
from sim_node.world.readers.yaml_poses import Scale
from sim_node.world.readers.yaml_section import listed
from sim_node.world.sensor_types import is_optical, naming
from sim_node.world.writers.values import plain

# Rotation of an optical frame (z forward, x right, y down) in a frame with x forward, y left, z up.
OPTICAL_POSE = np.array([0.0, 0.0, 0.0, -0.5, 0.5, -0.5, 0.5])


@part("frames", StaticFrame)
class Frames(Kind[StaticFrame]):
    """Frames that do not move in their parents."""

    frame = "name"

    def problems(self, world: World) -> Iterator[Problem]:
        """Yield problems of the poses, then of the scales, of frames, and of sensors, which are also frames."""
        statics: tuple[StaticFrame, ...] = (*world.of(StaticFrame), *world.of(Sensor))
        if statics:
            for row, message in pose_faults(np.array([frame.pose for frame in statics])):
                yield _problem(statics[row], "pose", message)
        for frame in statics:
            if frame.scale is not None:
                yield from (_problem(frame, "scale", message) for _, message in Scale().faults(frame.scale))
            if frame.size is not None and not (frame.size > 0.0).all():
                yield _problem(frame, "size", f"{frame.size.tolist()} must be above zero")


@part("sensors", Sensor)
class Sensors(Kind[Sensor]):
    """Sensors, which are also frames."""

    frame = "name"

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return the sensors, then the optical frames of cameras: z forward, x right (REP 103)."""
        yield from super().entries(world)
        for camera in self.parts(world):
            if is_optical(camera.type):
                name = camera.name + names.OPTICAL
                of = StaticFrame(name, camera.name, OPTICAL_POSE)
                yield FrameEntry(name, camera.name, of, camera.place, camera.place)

    def problems(self, world: World) -> tuple[()]:
        """Return nothing: sensors are checked together with the other frames."""
        return ()

    def renamed(self, part: Sensor, rename: Rename) -> Sensor:
        """Rename its frame, its parent, and the names that its parameters refer to."""
        sensor = cast(Sensor, super().renamed(part, rename))
        given = {key: part.parameters[key] for key in naming(part.type) if key in part.parameters}
        if "topics" in part.parameters:
            given["topics"] = part.parameters["topics"]
        # Values other than lists of names are reported when the sensor is read. Absolute topics keep their names.
        named = {
            key: [rename.under(name) if isinstance(name, str) and name[:1] != "/" else name for name in value]
            for key, value in given.items()
            if isinstance(value, list | tuple)
        }
        return replace(sensor, parameters={**part.parameters, **named}) if named else sensor

    def data(self, part: Sensor, refer: Refer) -> dict[str, Any]:
        """Return its name, parent and pose, and its type and parameters."""
        if part.size is not None or part.description or part.tags:
            raise NotImplementedError("only plain frames have a size, a description and tags")
        return {**data_of(part, refer), **plain(part.parameters)}

    def default_parent(self, name: str, known: Collection[str], fixed_frame: str) -> str:
        """Return the nearest base_link at or above a namespace. If there is none, return the expected one."""
        namespaces = [*names.enclosing(name), ""]
        base = names.BASE_LINK
        candidates = [space if names.last(space) == base else names.prefixed(space, base) for space in namespaces]
        return next((name for name in candidates if name in known), candidates[0])


@part("motions", Motion)
class MotionParts(Kind[Motion]):
    """Frames that follow keyframes."""

    frame = "frame"

    def problems(self, world: World) -> Iterator[Problem]:
        """Yield problems of the modes, poses and times of motions."""
        for motion in self.parts(world):
            yield from (_problem(motion, key, message) for key, message in _motion_faults(motion))


def _motion_faults(motion: Motion) -> Iterator[Fault]:
    yield from faults(motion)
    yield from ((f"poses[{row}]", message) for row, message in pose_faults(motion.poses))
    backwards = np.flatnonzero(np.diff(motion.times_ns) <= 0)
    if len(backwards):
        row = int(backwards[0]) + 1
        found = f"{motion.times_ns[row]} after {motion.times_ns[row - 1]}"
        yield f"times_ns[{row}]", f"{found}; times must increase"
    if np.abs(motion.times_ns).max() > MAX_STAMP_NS:
        yield "times_ns", f"out of range; allowed: {-MAX_STAMP_NS} to {MAX_STAMP_NS}"


def _problem(of: StaticFrame | Motion, part: str, message: str) -> Problem:
    name = of.frame if isinstance(of, Motion) else of.name
    return Problem(of.place.where, f"{shown_key(name)}: {part}", message)


listed("motions", "Frames that move through keyframes.", Motion)
