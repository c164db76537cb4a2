"""The text of a URDF file for other programs: its meshes and textures found from anywhere."""

from __future__ import annotations

import re
from pathlib import Path

from sim_node.world.locate import LocateError
from sim_node.world.readers.files import Roots
from sim_node.world.xml_text import escape, unescape

_FILENAME = re.compile(r"(\bfilename\s*=\s*)([\"'])(.*?)\2", re.DOTALL)


def with_uris(text: str, path: Path, roots: Roots, folder: str = "") -> str:
    """A URDF text whose relative file names, below `folder` beside the model at `path`, are file:// URIs.

    package:// URIs stay, and so does what leads to no file, as the library of a plugin.
    """

    def found(match: re.Match[str]) -> str:
        reference = unescape(match[3])
        if "://" in reference:
            return match[0]
        try:
            file = roots.resolve(f"{folder}/{reference}" if folder else reference, path)
        except LocateError:
            return match[0]
        return f"{match[1]}{match[2]}{escape(file.resolve().as_uri())}{match[2]}"

    return _FILENAME.sub(found, text)
