"""A program that runs commands with few files, each in a process forked from one that has imported them."""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import sys
from pathlib import Path

from sim_node.cli.commands import COMMANDS
from sim_node.cli.main import main

# What many commands import when they run.
_LATER = ("mujoco", "rclpy", "rosbags.typesys", "sim_node.session.session", "sim_node.ros.participant")
_AT_ONCE = 2


def started(row: int, words: list[str], folder: Path, most: int) -> tuple[int, int]:
    """Start a command. Return its process, and the end of a pipe with its output; FOLDER/ROW has its errors."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    code = 70
    try:
        os.close(read)
        errors = os.open(folder / str(row), os.O_WRONLY | os.O_CREAT)
        for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), write, errors)):
            os.dup2(file, number)
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        sys.argv = ["sim_node", *words]
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(code)


def run(folder: Path, most: int) -> None:
    """Read the rows, and write row and exit code of each. Those that run until then are stopped at their first line."""
    waiting = list(enumerate(json.load(sys.stdin)))
    for word in {words[0] for _, words in waiting}:
        COMMANDS.find(word)
    for name in _LATER:
        importlib.import_module(name)
    running: dict[int, tuple[int, int, bool]] = {}
    while running or waiting:
        while waiting and len(running) < _AT_ONCE:
            row, words = waiting.pop(0)
            child, pipe = started(row, words, folder, most)
            running[pipe] = row, child, COMMANDS[words[0]].until_interrupted
        for pipe in select.select(list(running), [], [])[0]:
            row, child, stops = running[pipe]
            if os.read(pipe, 1 << 16):
                if stops:
                    os.kill(child, signal.SIGINT)
                    running[pipe] = row, child, False
                continue
            os.close(pipe)
            del running[pipe]
            print(json.dumps([row, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]), flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
