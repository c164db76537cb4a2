"""Whether MuJoCo can be imported: it takes along the OpenGL that the environment variable MUJOCO_GL names."""

from __future__ import annotations

import os

from sim_node.world.model import World
from sim_node.world.problems import Problem, Where, WorldError

VARIABLE = "MUJOCO_GL"
# What draws without a window or in one, and what Debian and Ubuntu call the libraries.
OPENGL = {"egl": "libegl1 libgl1-mesa-dri libopengl0", "osmesa": "libosmesa6", "glfw": "libglfw3"}
ALLOWED = f"{', '.join(OPENGL)}, off (which draws nothing), or unset"


def mujoco_fault() -> str:
    """Why MuJoCo cannot be imported, to follow `... need MuJoCo, `; empty where it can. Ask before the first import."""
    try:
        import mujoco  # noqa: F401
    except ImportError as error:
        return f"which cannot be imported ({error}); run: pip install 'sim_node[physics]'"
    except Exception as error:  # what MUJOCO_GL names raises any of them where a library is not there
        chosen = os.environ.get(VARIABLE, "")
        if not chosen:
            raise
        known = OPENGL.get(chosen.lower().strip())
        reason = f"its libraries cannot be loaded (apt install {known})" if known else str(error)
        return f"which cannot be imported with {VARIABLE}={chosen}: {reason}; allowed: {ALLOWED}"
    return ""


def need_mujoco(world: World) -> None:
    """Raises WorldError where MuJoCo, which the bodies of a world need, cannot be imported."""
    if fault := mujoco_fault():
        raise WorldError([Problem(Where(world.source), "bodies", f"bodies need MuJoCo, {fault}")])
