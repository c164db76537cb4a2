"""Going to an instant of a run: at once where frames follow functions of time, step by step where bodies are moved."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm

from sim_node.cli.errors import UsageError
from sim_node.simulation import Simulation, Snapshot
from sim_node.world.instants import within

# Longer than this is more likely a mistake than a wish.
MAX_HOURS = 1.0
# So long is stepped before it is said how long all of it takes, and so long between two looks at the clock.
_TRIAL_S, _SLICE_S = 1.0, 0.1


def seek(simulation: Simulation, time_ns: int) -> Snapshot:
    """The world at an instant, with a bar on a terminal while it is on its way. Ctrl-C ends it.

    Raises UsageError for an instant that the run does not have, and for one that takes more than MAX_HOURS.
    """
    grid = simulation.world.time
    try:
        target = (within(time_ns) - grid.start_ns) // grid.step_ns
        if simulation.steps <= target:
            _approach(simulation, target)
        return simulation.seek(time_ns)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _approach(simulation: Simulation, target: int) -> None:
    """Steps to `target`, by more at a time the faster it goes: nothing is known beforehand of what steps cost."""
    begin, began, size = simulation.steps, time.monotonic(), 1
    step_s = simulation.world.time.step_ns / 1e9
    hidden = not sys.stderr.isatty()
    with tqdm(total=target - begin, unit="step", unit_scale=True, delay=_TRIAL_S, leave=False, disable=hidden) as bar:
        while (left := target - simulation.steps) > 0:
            before = time.monotonic()
            simulation.step(min(size, left))
            now = time.monotonic()
            if now - before < _SLICE_S:
                size *= 2
            elif size > 1 and now - before > 4.0 * _SLICE_S:
                size //= 2
            bar.update(simulation.steps - begin - bar.n)
            rate = (simulation.steps - begin) / max(now - began, 1e-9)
            hours = (target - simulation.steps) / rate / 3600.0
            if now - began > _TRIAL_S and hours > MAX_HOURS:
                allowed_s = MAX_HOURS * 3600.0 * rate * step_s
                raise UsageError(
                    f"{target} steps from the start, each of which is integrated, take about {hours:.3g} hours here; "
                    f"allowed: up to {MAX_HOURS:g} hour, about {allowed_s:.2g} s of this world"
                )
