"""Pictures of pages beside ones that somebody has looked at, by the colours of their parts."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from waiting import PATIENCE

# Kept pictures are smaller by this factor; a part is a square of theirs, pixels.
SMALLER, PART = 4, 4
# Renderers differ by the edges of shapes and by letters, which a part averages. Of all parts, how many may have another
# colour, how much another one is, and how much all may differ on average, of 255.
MAX_SHARE, OTHER, MAX_MEAN = 0.01, 30.0, 4.0

Pixels = npt.NDArray[np.uint8]


def kept(page: Any) -> Image.Image:
    """Return the picture of a page as it is kept."""
    image = Image.open(io.BytesIO(page.screenshot(timeout=1000.0 * PATIENCE))).convert("RGB")
    size = page.viewport_size
    return image.resize((size["width"] // SMALLER, size["height"] // SMALLER), Image.Resampling.BOX)


def difference(seen: Image.Image, expected: Image.Image) -> str:
    """Return how a picture differs from another one; an empty text if it is the same within the tolerance."""
    if seen.size != expected.size:
        return f"is {seen.size[0]} x {seen.size[1]}, expected {expected.size[0]} x {expected.size[1]}"
    apart = np.abs(_parts(seen) - _parts(expected)).max(axis=-1)
    share, mean = float((apart > OTHER).mean()), float(apart.mean())
    return "" if share <= MAX_SHARE and mean <= MAX_MEAN else f"{share:.1%} of it differ, on average by {mean:.1f}"


def assert_as_kept(page: Any, path: Path, folder: Path) -> None:
    """Fail unless a page comes to look as in a file, which is written anew where UPDATE_GOLDEN is set.

    The picture that it comes to and the one that was expected are then in the folder.
    """
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        at_rest(page).save(path, quality=80)
        return
    expected = Image.open(path).convert("RGB")
    said = ""
    for _ in range(round(PATIENCE / 2.0)):
        seen = kept(page)
        if not (said := difference(seen, expected)):
            return
        page.wait_for_timeout(1000)
    seen.save(folder / path.with_suffix(".png").name)
    raise AssertionError(f"{path.name} {said}: now {folder / path.with_suffix('.png').name}; make golden renews it")


def at_rest(page: Any) -> Image.Image:
    """Return the picture of a page, as it is kept, once it has been the same for some seconds."""
    seen, same = kept(page), 0
    for _ in range(round(PATIENCE)):
        page.wait_for_timeout(1000)
        now = kept(page)
        same = same + 1 if now.tobytes() == seen.tobytes() else 0
        seen = now
        if same == 3:
            return seen
    raise AssertionError("the page does not come to rest")


def _parts(image: Image.Image) -> npt.NDArray[np.float64]:
    """Return the mean colours (h, w, 3) of the parts."""
    width, height = image.width // PART, image.height // PART
    pixels = np.asarray(image, dtype=np.float64)[: height * PART, : width * PART]
    return np.asarray(pixels.reshape(height, PART, width, PART, 3).mean(axis=(1, 3)))
