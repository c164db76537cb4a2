"""Annotations of a picture: axes, trails, names of frames, the time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.framebuffer import Pixels
from sim_node.viewing.renderer import Renderer

_INK, _PAPER = (28, 32, 36), (255, 255, 255)
# Text size, as a fraction of the picture's height.
_TEXT_SIZE = 1 / 46
_MIN_TEXT_SIZE = 11.0


def write_names(pixels: Pixels, names: Sequence[str], at: FloatArray, depths: FloatArray) -> Pixels:
    """Write names beside pixels (F, 2) [column, row], nearest first; overlapping ones are left out.

    Frames behind the camera (depths (F,) not above zero) have none.
    """
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    font, size = _font(picture)
    occupied: list[tuple[float, float, float, float]] = []
    for row in np.argsort(depths, kind="stable"):
        if depths[row] <= 0.0 or not _inside(at[row], picture):
            continue
        name, (x, y) = names[row], at[row]
        width = draw.textlength(name, font=font)
        for left, top in ((x + 0.6 * size, y + 0.3 * size), (x - width - 0.6 * size, y + 0.3 * size)):
            box = (left - 2, top - 1, left + width + 2, top + 1.3 * size)
            if all(_apart(box, other) for other in occupied) and box[0] >= 0 and box[2] <= picture.width:
                occupied.append(box)
                draw.text((left, top), name, _INK, font=font, stroke_width=2, stroke_fill=_PAPER)
                break
    return np.asarray(picture)


def write_time(pixels: Pixels, time_s: float) -> Pixels:
    """Write the simulation time in the lower left corner."""
    picture = Image.fromarray(pixels)
    font, size = _font(picture)
    place = (size, picture.height - 2.2 * size)
    ImageDraw.Draw(picture).text(place, f"{time_s:.2f} s", _INK, font=font, stroke_width=2, stroke_fill=_PAPER)
    return np.asarray(picture)


def _font(picture: Image.Image) -> tuple[ImageFont.FreeTypeFont | ImageFont.ImageFont, float]:
    """Return Pillow's own font: the same on every machine."""
    size = max(_MIN_TEXT_SIZE, picture.height * _TEXT_SIZE)
    return ImageFont.load_default(size), size


def _inside(at: FloatArray, picture: Image.Image) -> bool:
    return bool(0 <= at[0] < picture.width and 0 <= at[1] < picture.height)


def _apart(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


# x red, y green, z blue, as in rviz.
AXES = ((0.90, 0.24, 0.26), (0.16, 0.62, 0.38), (0.22, 0.45, 0.95))
TRAILS = ((0.96, 0.60, 0.10), (0.55, 0.30, 0.85), (0.05, 0.62, 0.70), (0.85, 0.25, 0.55))
# Marks are emissive, so that their colours can be told apart in shadows.
_EMISSION = 0.35
# Fractions of an axis' length, and of a view's distance.
_AXIS_RADIUS, _TRAIL_RADIUS = 0.045, 0.0016


def draw_axes(renderer: Renderer, rooted: FloatArray, lengths: FloatArray) -> None:
    """Draw three rods at frames' poses (F, 7) in the fixed frame, of lengths (F,), m."""
    tips = quaternions.to_matrix(rooted[:, 3:])
    for pose, axes, length in zip(rooted, tips, lengths, strict=True):
        for axis, colour in enumerate(AXES):
            _rod(renderer, _AXIS_RADIUS * length, pose[:3], pose[:3] + length * axes[:, axis], colour)


def draw_trail(renderer: Renderer, points: FloatArray, distance: float, index: int) -> None:
    """Draw a line through points (P, 3), with a width for viewing from that distance; index: number of the trail."""
    colour = TRAILS[index % len(TRAILS)]
    for begin, end in pairwise(points):
        if not np.array_equal(begin, end):
            _rod(renderer, _TRAIL_RADIUS * distance, begin, end, colour)


def axis_lengths(rooted: FloatArray, span: float) -> FloatArray:
    """Return axis lengths (F,) for frames at poses (F, 7): shorter if others are near. span: of the picture, m."""
    apart = np.linalg.norm(rooted[:, None, :3] - rooted[None, :, :3], axis=2)
    apart[apart < 1e-3 * span] = np.inf
    nearest = apart.min(axis=1, initial=np.inf)
    return np.asarray(np.clip(0.45 * nearest, 0.025 * span, 0.09 * span))


def _rod(
    renderer: Renderer, radius: float, begin: FloatArray, end: FloatArray, colour: tuple[float, float, float]
) -> None:
    scene = renderer.scene
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    capsule, rgba = mujoco.mjtGeom.mjGEOM_CAPSULE, np.array([*colour, 1.0], dtype=np.float32)
    mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.eye(3).ravel(), rgba)
    mujoco.mjv_connector(geom, capsule, radius, begin - renderer.origin, end - renderer.origin)
    geom.emission, geom.specular, geom.shininess = _EMISSION, 0.2, 0.4
    geom.category = mujoco.mjtCatBit.mjCAT_DECOR
    scene.ngeom += 1
