"""Image files of worlds, textures and heightmaps: checks, and their pixels."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.packages import how_to_install
from sim_node.world.problems import quoted

TEXTURES = (".png", ".jpg", ".jpeg")
# Red, green, blue and opacity, 0 to 1.
Colour = tuple[float, float, float, float]
MAX_BYTES = 256 * 1024 * 1024
# Maximum width and height; OpenGL does not support larger textures.
MAX_PIXELS = 16_384


def image_fault(path: Path) -> str:
    """Return why an image cannot be used; empty if it can."""
    if path.suffix.lower() not in TEXTURES:
        return f"{quoted(path.name)} is not a supported image; allowed: {', '.join(TEXTURES)}"
    try:
        if path.stat().st_size > MAX_BYTES:
            return f"{quoted(path.name)} is too large; allowed: up to {MAX_BYTES // 1024**2} MB"
        with _opened(path) as image:
            if max(image.size) > MAX_PIXELS:
                return f"{quoted(path.name)} has {image.size[0]} x {image.size[1]} pixels; allowed: up to {MAX_PIXELS}"
            image.load()
    except ImportError as error:
        return f"images need Pillow: {how_to_install(error)}"
    except Exception as error:  # Pillow may raise nearly anything for damaged files
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        return f"{quoted(path.name)} cannot be read: {reason}"
    return ""


def colours_of(path: Path | BytesIO, edge: int | None = None) -> npt.NDArray[np.uint8]:
    """Return an image as RGB (height, width, 3), rows from top to bottom, scaled to `edge` x `edge` pixels if given."""
    with _opened(path) as image:
        coloured = image.convert("RGB")
        return np.asarray(coloured if edge is None else coloured.resize((edge, edge)))


def mean_colour(path: Path) -> Colour:
    """Return the mean colour of an image, with full opacity."""
    red, green, blue = (colours_of(path, 64).mean(axis=(0, 1)) / 255.0).tolist()
    return (red, green, blue, 1.0)


def brightness_of(path: Path) -> npt.NDArray[np.float64]:
    """Return the brightness (height, width), 0 to 1, of an image with 8 or 16 bits, rows from top to bottom."""
    with _opened(path) as image:
        if image.mode.startswith(("I", "F")):
            return np.asarray(image, dtype=np.float64) / 65535.0
        return np.asarray(image.convert("L"), dtype=np.float64) / 255.0


def _opened(path: Path | BytesIO) -> Any:
    from PIL import Image

    return Image.open(path, formats=("PNG", "JPEG"))
