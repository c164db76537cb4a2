"""Images as textures in a MuJoCo specification: flat ones, and those on the six sides of a shape."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.image_files import colours_of

if TYPE_CHECKING:
    from mujoco import MjsGeom, MjSpec, mjtTexture

# Names of geoms with a texture begin with it, until they have it; a number and the image's name among assets follow.
TEXTURED = "sim_node/textured/"
# Edge of the images on the six sides of a shape, in pixels.
_SIDE = 512
# Quarter turns that make an image upright on MuJoCo's sides +x, -x, +y, -y (top along z), +z, -z (top along y, -y).
_UPRIGHT = (1, 3, 2, 0, 0, 2)


def on_sides(image: Path | BytesIO) -> npt.NDArray[np.uint8]:
    """Return an image upright on each side of a cube map (6 x 512, 512, 3)."""
    pixels = colours_of(image, _SIDE)
    return np.concatenate([np.rot90(pixels, turns) for turns in _UPRIGHT])


def downwards(uv: FloatArray) -> FloatArray:
    """Return texture coordinates (V, 2), right and up, as MuJoCo has them: right and down."""
    return np.asarray(uv * (1.0, -1.0) + (0.0, 1.0))


def add_flat(spec: MjSpec, name: str, pixels: npt.NDArray[np.uint8]) -> None:
    """Add the texture of an image (height, width, 3) that lies flat or around."""
    import mujoco

    _add(spec, name, pixels, mujoco.mjtTexture.mjTEXTURE_2D)


def add_material(spec: MjSpec, texture: str) -> str:
    """Add the material that has nothing but a texture, once. Return its name, which is the texture's."""
    import mujoco

    if all(material.name != texture for material in spec.materials):
        spec.add_material(name=texture).textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture
    return texture


def add_texture(spec: MjSpec, source: str, image: Path | BytesIO, *, is_flat: bool) -> str:
    """Add the texture of an image, once for each source. Return its name.

    Args:
        spec: The specification.
        source: Where the image comes from.
        image: Its file, or the content of that.
        is_flat: Whether it lies flat or around; otherwise it is on each side of a cube map.
    """
    import mujoco

    name = f"{'flat' if is_flat else 'cube'} {source}"
    if all(texture.name != name for texture in spec.textures):
        if is_flat:
            add_flat(spec, name, colours_of(image))
        else:
            _add(spec, name, on_sides(image), mujoco.mjtTexture.mjTEXTURE_CUBE)
    return name


def _add(spec: MjSpec, name: str, pixels: npt.NDArray[np.uint8], kind: mjtTexture) -> None:
    height, width = pixels.shape[:2]
    texture = spec.add_texture(name=name, type=kind, width=width, height=height, nchannel=3)
    texture.data = pixels.tobytes()


def set_texture(spec: MjSpec, geom: MjsGeom, assets: Mapping[str, bytes]) -> None:
    """Give a geom that is named after its texture this texture, without a colour, and take the name away.

    The image is on each side of a box, and around other shapes.
    """
    import mujoco

    source = geom.name.removeprefix(TEXTURED).partition("/")[2]
    geom.name = ""
    is_flat = geom.type != mujoco.mjtGeom.mjGEOM_BOX
    name = add_texture(spec, source, BytesIO(assets[source]), is_flat=is_flat)
    # MuJoCo's default: the material's colour.
    geom.rgba, geom.material = (0.5, 0.5, 0.5, 1.0), add_material(spec, name)
