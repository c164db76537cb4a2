"""Words on pictures: the names of frames where they are seen, and the time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.framebuffer import Pixels

_INK, _PAPER = (28, 32, 36), (255, 255, 255)
# Of the picture's height.
_TEXT_SIZE = 1 / 46
_SMALLEST = 11.0


def write_names(pixels: Pixels, names: Sequence[str], at: FloatArray, depths: FloatArray) -> Pixels:
    """The names beside places (F, 2), [column, row], the nearest first; one that would lie on another is left out.

    Frames behind the eye (depths (F,) not above zero) have none.
    """
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    font, size = _font(picture)
    taken: list[tuple[float, float, float, float]] = []
    for row in np.argsort(depths, kind="stable"):
        if depths[row] <= 0.0 or not _inside(at[row], picture):
            continue
        name, (x, y) = names[row], at[row]
        width = draw.textlength(name, font=font)
        for left, top in ((x + 0.6 * size, y + 0.3 * size), (x - width - 0.6 * size, y + 0.3 * size)):
            box = (left - 2, top - 1, left + width + 2, top + 1.3 * size)
            if all(_apart(box, other) for other in taken) and box[0] >= 0 and box[2] <= picture.width:
                taken.append(box)
                draw.text((left, top), name, _INK, font=font, stroke_width=2, stroke_fill=_PAPER)
                break
    return np.asarray(picture)


def write_time(pixels: Pixels, time_s: float) -> Pixels:
    """The simulation's time in the lower left corner."""
    picture = Image.fromarray(pixels)
    font, size = _font(picture)
    place = (size, picture.height - 2.2 * size)
    ImageDraw.Draw(picture).text(place, f"{time_s:.2f} s", _INK, font=font, stroke_width=2, stroke_fill=_PAPER)
    return np.asarray(picture)


def _font(picture: Image.Image) -> tuple[ImageFont.FreeTypeFont | ImageFont.ImageFont, float]:
    """Pillow's own: the same on every machine."""
    size = max(_SMALLEST, picture.height * _TEXT_SIZE)
    return ImageFont.load_default(size), size


def _inside(at: FloatArray, picture: Image.Image) -> bool:
    return bool(0 <= at[0] < picture.width and 0 <= at[1] < picture.height)


def _apart(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
