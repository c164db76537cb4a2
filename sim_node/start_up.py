"""What lets a command start sooner: no search for cycles of garbage, and rclpy's libraries loaded beside a world."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause cyclic garbage collection while many objects are created, which it would traverse over and over.

    It takes a twentieth of the time in which a run starts.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def load_rclpy_ahead() -> None:
    """Load the shared libraries of rclpy in a thread, if it is installed; importing it then finds them loaded.

    The dynamic loader does not need the interpreter, so that a world is read meanwhile. Python itself would hold the
    interpreter. An error is left to the import.
    """
    found = importlib.util.find_spec("rclpy")
    folders = (found.submodule_search_locations if found else None) or ()
    load = ctypes.CDLL(None).dlopen
    load.restype = ctypes.c_void_p
    for file in (file for folder in folders for file in Path(folder).glob("_rclpy_pybind11*.so")):
        threading.Thread(target=load, args=(os.fsencode(file), os.RTLD_NOW)).start()
