"""Single key presses on a terminal while a program runs."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Mapping

from sim_node.simulation import Refused

# Escape sequences of arrows, in both terminal modes (ECMA-48, DEC VT100).
_ARROWS = {
    prefix + letter: name
    for prefix in ("\x1b[", "\x1bO")
    for letter, name in {"A": "up", "B": "down", "C": "right", "D": "left"}.items()
}


class Keyboard:
    """While entered, key presses call their `actions`, by character or as up, down, left and right.

    Active only if standard input is a terminal with this program in the foreground. The terminal is restored at the
    end.
    """

    def __init__(self, actions: Mapping[str, Callable[[], None]]) -> None:
        self._actions = actions

    def __enter__(self) -> Keyboard:
        self._thread: threading.Thread | None = None
        if not sys.stdin.isatty():
            return self
        self._file = sys.stdin.fileno()
        if _in_background(self._file):
            return self
        self._before = termios.tcgetattr(self._file)
        # Ctrl-C still sends a signal.
        tty.setcbreak(self._file)
        self._wake, self._end = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="keyboard", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *of: object) -> None:
        if self._thread is not None:
            os.close(self._end)
            self._thread.join(timeout=1.0)
            os.close(self._wake)
            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def _listen(self) -> None:
        while True:
            ready, _, _ = select.select([self._file, self._wake], [], [])
            if self._wake in ready:
                return
            typed = os.read(self._file, 64).decode(errors="ignore")
            if not typed:
                return
            for key in _keys(typed):
                action = self._actions.get(key)
                if action is not None:
                    try:
                        action()
                    except Refused as refusal:
                        print(f"\r\033[K{refusal}", file=sys.stderr)


def _in_background(terminal: int) -> bool:
    """Return whether accessing the terminal would stop this program."""
    try:
        return os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:  # not the controlling terminal
        return False


def _keys(typed: str) -> list[str]:
    """Split input into keys: arrows by name, everything else by character."""
    keys = []
    while typed:
        arrow = _ARROWS.get(typed[:3])
        keys.append(arrow or typed[0])
        typed = typed[3 if arrow else 1 :]
    return keys
