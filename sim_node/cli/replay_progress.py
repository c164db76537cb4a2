"""A replay's progress: a line on a terminal that is redrawn, a line now and then otherwise."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NoReturn

from tqdm import tqdm

if TYPE_CHECKING:
    from sim_node.recording.player import Player

LINE_EVERY_S = 10.0


class ReplayProgress:
    """Shows the position in the bag, and how fast it moves."""

    def __enter__(self) -> ReplayProgress:
        self._bar: tqdm[NoReturn] | None = None
        self._next_line = time.monotonic() + LINE_EVERY_S
        return self

    def __exit__(self, *of: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, player: Player) -> None:
        """Where it is now."""
        position, total = player.position_ns / 1e9, (player.playback.stop_ns - player.playback.bag.start_ns) / 1e9
        if sys.stderr.isatty():
            if self._bar is None:
                layout = "{desc} {bar:30} {n:.1f}/{total:.1f} s{postfix}"
                self._bar = tqdm(total=total, bar_format=layout, mininterval=0.0)
            self._bar.n = position
            self._bar.set_description_str(player.said().partition(" ")[0], refresh=False)
            loops = f", loop {player.loops + 1}" if player.loops else ""
            self._bar.set_postfix_str(f"{player.pace().real_time_factor:.2f}x, {player.sent} messages{loops}")
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            print(f"{player.said()} of {total:.1f} s, {player.sent} messages", file=sys.stderr, flush=True)
