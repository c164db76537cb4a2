"""Files of one picture, by the end of their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from sim_node.registry import Registry
from sim_node.viewing.framebuffer import Pixels
from sim_node.viewing.whole_files import whole_file

# Writes pixels (height, width, 3) to a path, whatever its name ends in.
Writer = Callable[[Pixels, Path], None]
PICTURES: Registry[str, Writer] = Registry(
    "format of pictures", shipped=("sim_node.viewing.pictures",), group="sim_node.pictures"
)
# Registers what writes files of a suffix.
picture = PICTURES.add


def write_picture(pixels: Pixels, path: Path) -> None:
    """Writes a picture by its suffix, whole or not at all: the same bytes for the same pixels. Raises OSError."""
    with whole_file(path) as part:
        PICTURES[path.suffix.lower()](pixels, part)


@picture(".png")
def write_png(pixels: Pixels, path: Path) -> None:
    """Without loss."""
    Image.fromarray(pixels).save(path, "PNG", optimize=True)


@picture(".jpg", ".jpeg")
def write_jpeg(pixels: Pixels, path: Path) -> None:
    """Smaller than a PNG by as much again as it may lose."""
    Image.fromarray(pixels).save(path, "JPEG", quality=90, optimize=True)


@picture(".webp")
def write_webp(pixels: Pixels, path: Path) -> None:
    """Smaller still."""
    Image.fromarray(pixels).save(path, "WEBP", quality=90, method=6)
