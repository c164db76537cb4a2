"""Configuration of JAX for simulation: double precision and a compilation cache on disk."""

from __future__ import annotations

import os
from pathlib import Path

from sim_node.extensions.elodin.doubles import imported
from sim_node.extensions.elodin.errors import MissingJax
from sim_node.packages import how_to_install

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise MissingJax(f"worlds in Python need JAX: {how_to_install(error)}") from None

__all__ = ["jax", "jnp"]


def cache_folder() -> Path:
    """Return the compilation cache: `JAX_COMPILATION_CACHE_DIR`, or `sim_node/jax` in the user's cache folder."""
    chosen = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sim_node" / "jax"


imported()
jax.config.update("jax_enable_x64", True)
if jax.config.jax_compilation_cache_dir is None:
    jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
# Steps of small worlds compile in a tenth of a second each, which is still worth caching.
for option, value in (
    ("jax_persistent_cache_min_compile_time_secs", 0.0),
    ("jax_persistent_cache_min_entry_size_bytes", -1),
):
    if option.upper() not in os.environ:
        jax.config.update(option, value)
