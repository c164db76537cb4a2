"""Images as textures in a MuJoCo specification: 2D textures, and cube textures with the image on all six sides."""

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

# Prefix of the names of geoms that are going to get a texture, followed by a number and the image's name among assets.
TEXTURED = "sim_node/textured/"
# Edge of each side of a cube texture, pixels.
_SIDE = 512
# Quarter turns that make an image upright on MuJoCo's sides +x, -x, +y, -y (top along z) and +z, -z (top along y, -y).
_UPRIGHT = (1, 3, 2, 0, 0, 2)


def on_sides(image: Path | BytesIO) -> npt.NDArray[np.uint8]:
    """Return an image upright on each side of a cube map (6 x 512, 512, 3)."""
    pixels = colours_of(image, _SIDE)
    return np.concatenate([np.rot90(pixels, turns) for turns in _UPRIGHT])


def downwards(uv: FloatArray) -> FloatArray:
    """Return texture coordinates (V, 2), given as right and up, in MuJoCo's convention: right and down."""
    return np.asarray(uv * (1.0, -1.0) + (0.0, 1.0))


def add_flat(spec: MjSpec, name: str, pixels: npt.NDArray[np.uint8]) -> None:
    """Add an image (height, width, 3) as a 2D texture, which lies flat on a shape or wraps around it."""
    import mujoco

    _add(spec, name, pixels, mujoco.mjtTexture.mjTEXTURE_2D)


def add_material(spec: MjSpec, texture: str) -> str:
    """Add a material that consists of a texture only, unless it exists. Return its name, which is the texture's."""
    import mujoco

    if all(material.name != texture for material in spec.materials):
        spec.add_material(name=texture).textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture
    return texture


def add_texture(spec: MjSpec, source: str, image: Path | BytesIO, *, is_flat: bool) -> str:
    """Add the texture of an image, once for each source. Return its name.

    Args:
        spec: The specification.
        source: The source of the image, which identifies it.
        image: The file of the image, or its content.
        is_flat: Whether it is a 2D texture; otherwise, a cube texture with the image on each side.
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
    """Give a geom whose name refers to a texture this texture, without a colour, and remove the name.

    The image is on each side of a box, and wraps around other shapes.
    """
    import mujoco

    source = geom.name.removeprefix(TEXTURED).partition("/")[2]
    geom.name = ""
    is_flat = geom.type != mujoco.mjtGeom.mjGEOM_BOX
    name = add_texture(spec, source, BytesIO(assets[source]), is_flat=is_flat)
    # With MuJoCo's default colour, the geom has the colour of the material.
    geom.rgba, geom.material = (0.5, 0.5, 0.5, 1.0), add_material(spec, name)
